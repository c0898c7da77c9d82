"""What was compiled in this process, as a table: printed at exit with the setting ``summary``, and by summary()."""

from __future__ import annotations

import atexit
import sys

from fusewire import _failures, _fusewire
from fusewire._config import config
from fusewire._errors import counted
from fusewire._verdict import measured, time_text

# With the setting on, decorated functions stay alive until they have been counted.
_kept: list = []

_COUNTS = ("calls", "native", "partly", "as Python", "variants", "breaks")
_TIMES = ("ms compiling", "ms in vain", "ms saved")


def keep(compiled) -> None:
    if config.summary:
        _kept.append(compiled)


def _row(facts: dict) -> dict | None:
    """Of a function that has been called. Saved is what trials have measured, times the calls of those sizes."""
    regions = [r for r in facts["regions"] if r["variants"]]
    variants = [*facts["variants"], *(v for r in regions for v in r["variants"])]
    native = sum(v["hits"] for v in facts["variants"])
    calls = native + facts["python_calls"]
    if not calls and not variants:
        return None
    overhead = facts.get("overhead", {"ms": 0.0, "in_vain_ms": 0.0})
    speed = measured(variants)
    if duel := facts.get("whole"):
        of_parts = measured(facts["variants"]) or {"saved_ns": 0.0}
        speed = {"saved_ns": of_parts["saved_ns"] + max(duel["python_ns"] - duel["compiled_ns"], 0.0) * facts["partly_calls"]}
    return {"function": facts["name"], "calls": calls, "native": native, "partly": facts["partly_calls"],
            "as Python": facts["python_calls"] - facts["partly_calls"], "variants": len(variants), "breaks": len(facts["breaks"]),
            "ms compiling": overhead["ms"], "ms in vain": overhead["in_vain_ms"],
            "ms saved": speed["saved_ns"] / 1e6 if speed else None, "pending": any(v["pending"] for v in variants)}


def summary() -> str:
    """Functions, calls that were native, partly compiled or Python's, variants, breaks, and the time that compiling took and saved."""
    from fusewire._api import _compiled

    rows, reasons = [], {}
    for compiled in {id(c): c for c in [*_kept, *_compiled]}.values():
        facts = _fusewire.describe(compiled)
        if row := _row(facts):
            rows.append(row)
            for stop in facts["breaks"]:
                reasons[stop["reason"]] = reasons.get(stop["reason"], 0) + 1
    rows.sort(key=lambda row: (-row["ms compiling"], row["function"]))
    total: dict = {"function": "total", **{name: sum(row[name] for row in rows) for name in (*_COUNTS, *_TIMES[:2])}}
    known = [row["ms saved"] for row in rows if row["ms saved"] is not None]
    total["ms saved"] = sum(known) if known else None
    lines = [f"fusewire: {counted(len(rows), 'function')}", *_table([*rows, total])]
    if reasons:
        lines.append(
            "  breaks: "
            + ", ".join(f"{n} {reason}" for reason, n in sorted(reasons.items(), key=lambda r: (-r[1], r[0])))
        )
    if pending := [row["function"] for row in rows if row["pending"]]:
        lines.append("  being compiled in the background, while Python runs the calls: " + ", ".join(pending))
    lines += _failures.lines()
    process = _fusewire.overhead()
    lines.append(_balance(process["ms"], total["ms compiling"], total["ms saved"]))
    if process["left_to_python"]:
        lines.append("  left to Python, since this took more than a tenth of their run time: " + ", ".join(process["left_to_python"]))
    return "\n".join(lines)


def _table(rows: list[dict]) -> list[str]:
    head = ("function", *_COUNTS, *_TIMES)
    cells = [head]
    for row in rows:
        times = ("-" if row[name] is None else f"{row[name]:.1f}" for name in _TIMES)
        cells.append((row["function"][-48:], *(str(row[name]) for name in _COUNTS), *times))
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    return ["  " + "  ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths))) for row in cells]


def _balance(spent: float, here: float, saved: float | None) -> str:
    """`spent`: of the process; `here`: in the functions of the table."""
    text = f"  {spent:.1f} ms altogether for looking into code and compiling it"
    if spent - here > max(1.0, 0.05 * spent):
        text += f", {spent - here:.1f} of it for functions that are called from these, or are gone"
    if saved is None:
        return text + "; what that saves is not measured yet"
    net = saved - spent
    return text + f"; {time_text(saved * 1e6)} saved where it is measured: {time_text(abs(net) * 1e6)} {'gained' if net > 0 else 'not earned back yet'}"


@atexit.register
def _at_exit() -> None:
    if config.summary and sys.stderr is not None:
        print(summary(), file=sys.stderr)
