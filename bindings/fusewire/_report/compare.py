"""What has become worse or better between two traces: for the page, and as JSON with an exit status for CI."""

from __future__ import annotations

import os

from fusewire._errors import counted
from fusewire._report.words import time_text

COMPARISON = 1
# A call has become slower if it takes this much longer, and if that is more than noise of a clock.
_SLOWER, _LEAST_NS = 1.15, 20_000


def _key(model: dict, function: dict) -> str:
    """A function as it is known from one version of the source to the next: not by its line."""
    return function["key"].split(" (")[0] + "@" + (os.path.basename(model["files"][function["file"]]["name"]) if function["file"] >= 0 else "")


def _breaks(model: dict, function: dict) -> dict[tuple, dict]:
    return {(b["reason"], b["detail"], b["runs_in"]): b for b in function["breaks"]}


def _per_call(function: dict) -> float | None:
    """Time of a call without compiling; of the calls that were watched."""
    sampled = function["sampled"]
    return (sampled["ns"] - sampled["own_ns"]) / sampled["calls"] if sampled["calls"] else None


def _kernels(function: dict) -> int:
    return sum(v["kernels"] for v in function["variants"])


def compare(old: dict, new: dict, old_name: str, new_name: str) -> dict:
    before = {_key(old, f): f for f in old["functions"]}
    changes, rows = [], []

    def change(worse: bool, kind: str, function: str, text: str) -> None:
        changes.append({"worse": worse, "kind": kind, "function": function, "text": text})

    seen = set()
    for f in new["functions"]:
        key = _key(new, f)
        seen.add(key)
        was = before.get(key)
        if was is None:
            change(False, "new function", f["key"], f"is {f['state']}")
            continue
        then, now = _per_call(was), _per_call(f)
        ratio = now / then if then and now else None
        if ratio and ratio > _SLOWER and now - then > _LEAST_NS:
            change(True, "slower", f["key"], f"{time_text(then)} per call before, {time_text(now)} now ({ratio:.2f} times)")
        elif ratio and ratio < 1 / _SLOWER and then - now > _LEAST_NS:
            change(False, "faster", f["key"], f"{time_text(then)} per call before, {time_text(now)} now ({ratio:.2f} times)")
        known, here = _breaks(old, was), _breaks(new, f)
        for at in here.keys() - known.keys():
            stop = here[at]
            change(stop["runs_in"] != "numpy", "new break", f["key"], f"line {stop['line']}: {stop['message']}" + (f": {stop['detail']}" if stop["detail"] else ""))
        for at in known.keys() - here.keys():
            change(False, "break gone", f["key"], f"{known[at]['message']}: {known[at]['detail']}")
        if f["recompile_count"] != was["recompile_count"]:
            cause = f["recompiles"][-1]["reason"] if f["recompiles"] else ""
            change(f["recompile_count"] > was["recompile_count"], "recompiles", f["key"], f"{was['recompile_count']} before, {f['recompile_count']} now" + (f": {cause}" if cause else ""))
        if _kernels(f) != _kernels(was):
            change(_kernels(f) > _kernels(was) and f["variant_count"] <= was["variant_count"], "fusion", f["key"],
                   f"{counted(_kernels(was), 'kernel')} before, {counted(_kernels(f), 'kernel')} now")
        rows.append({"key": f["key"], "old_ns": then, "new_ns": now, "ratio": ratio, "old_recompiles": was["recompile_count"], "new_recompiles": f["recompile_count"],
                     "old_breaks": len(known), "new_breaks": len(here), "old_kernels": _kernels(was), "new_kernels": _kernels(f)})
    for key in before.keys() - seen:
        change(False, "function gone", before[key]["key"], "")
    changes.sort(key=lambda c: (not c["worse"], c["kind"], c["function"], c["text"]))
    rows.sort(key=lambda row: -(row["ratio"] or 0))
    worse = sum(c["worse"] for c in changes)
    verdict = f"{counted(worse, 'thing')} {'is' if worse == 1 else 'are'} worse" if worse else "Nothing is worse" if changes else "Nothing has changed"
    return {"comparison": COMPARISON, "old": old_name, "new": new_name, "verdict": verdict, "worse": worse, "changes": changes, "functions": rows}
