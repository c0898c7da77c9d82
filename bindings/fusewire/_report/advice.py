"""Things to do, ranked by what they cost. A cost is measured where the trace has measured it; where it is worked out from what
was measured it says so, and where nothing is known it is left open. Tried: the change itself was timed (narrow.py)."""

from __future__ import annotations

import re
from typing import NamedTuple

from fusewire._report.examples import GUARDS, example
from fusewire._report.narrow import upcasts
from fusewire._report.words import time_text

MEASURED, TRIED, ESTIMATED, UNKNOWN = "measured", "tried", "estimated", "not measured"
# Below this a thing is not worth a change, whatever it is.
_LEAST_NS = 20_000
_KEEPS_CHANGING = ("changing-value", "recompile-limit")
_FINDS = re.compile(r"callee=\"np\.(?:nonzero|argwhere|flatnonzero|where)\".*? line=(\d+)")
_FINDERS = ("np.nonzero", "np.argwhere", "np.flatnonzero", "np.where")
_COMPILED_FOR = re.compile(r", compiled for (.+)$")
_CONSTANT = re.compile(r"(?:[\w.\[\]']+ == )?-?\d+")
# Variants for ways that code goes are no loss, unless they are many.
_WAYS, _MANY_WAYS = ("relation", "branch"), 5
_WIDENED = re.compile(r"dtype is (float64, compiled for float32|complex128, compiled for complex64)")


class Graph(NamedTuple):
    """Of a variant."""

    text: str
    ns: float  # that its native code has taken
    narrow: list[float] | None  # times of a trial (narrow.py)


def _item(kind: str, function: dict, line: int, **more) -> dict:
    calls = function["calls"] or 1
    cost = more.get("cost_ns")
    return {"kind": kind, "function": function["id"], "file": more.pop("file", function["file"]), "line": line, "hint": "", "count": 0,
            "example": example(more.pop("example", kind)), "per_call_ns": cost / calls if cost is not None else None, "basis": MEASURED, **more}


def _python_share(function: dict) -> tuple[float, float]:
    """(time lost by calls that ran as Python where others ran compiled, calls that did): by the calls that were watched."""
    sampled = function["sampled"]
    compiled, others = sampled["compiled"], sampled["calls"] - sampled["compiled"]
    if not compiled or others <= 0:
        return 0.0, 0.0
    per_compiled = sampled["compiled_ns"] / compiled
    per_python = (sampled["ns"] - sampled["own_ns"] - sampled["compiled_ns"]) / others
    share = others / sampled["calls"] * function["calls"]
    return max(per_python - per_compiled, 0.0) * share * min(function["scale"] * sampled["calls"] / function["calls"], 1.0), share


def _recompiles(function: dict) -> list[dict]:
    groups: dict[tuple, list[dict]] = {}
    for one in function["recompiles"]:
        kind = _kind_of(one)
        groups.setdefault((kind, "" if kind in ("size", "relation") else one["source"] or one["reason"]), []).append(one)
    all_of_them = sum(len(group) for group in groups.values())
    stops = [b for b in function["breaks"] if b["reason"] in _KEEPS_CHANGING]
    items, one_kind = [], len(groups) == 1
    for (kind, source), group in sorted(groups.items(), key=lambda g: -len(g[1])):
        share = len(group) / all_of_them
        count = round(function["recompile_count"] * share)
        made = sum(one["ms"] or 0 for one in group) * 1e6
        if function["told"]:
            made = min(made, function["overhead"]["ms"] * 1e6)  # by the clock of the thread: others were not waited for
        # Beside the variants themselves: what was looked into and thrown away, and calls that Python runs meanwhile.
        vain = function["overhead"]["in_vain_ms"] * 1e6 * share
        if stops and one_kind:  # what was given up as a whole was compiled in parts besides; the first variant is no loss
            made = max(made, (function["overhead"]["ms"] - function["first_ms"]) * 1e6 - vain)
        lost, python = _python_share(function)
        cost = made + vain + lost * share
        items.append(_item(
            "recompile", function, group[0]["line"], example=kind, count=count, cost_ns=cost,
            title=_title(kind, source, count), why=group[-1]["reason"], hint=(group[-1]["advice"] if kind not in _WAYS else "") or _hint(kind, source), ignore=kind in _WAYS and count < _MANY_WAYS,
            note=f"{time_text(made)} for compiling more variants" + (f", {time_text(vain)} looking in vain" if vain > 1e5 else "") +
                 (f", {time_text(lost * share)} in {round(python)} calls that Python ran meanwhile" if lost * share > 1e5 else "")))
    if stops and items:
        first, stop = items[0], stops[0]
        lines = {one["own_line"] for one in stops}
        python = sum(function["lines"].get(line, {}).get("python_ns", 0) for line in lines) if not _python_share(function)[0] else 0
        first["cost_ns"] += python
        first["hint"] = first["hint"] or stop["hint"]
        first["line"] = first["line"] or stop["own_line"]
        first["note"] += f"; then Fusewire gave it up ({stop['message']})" + (f", and Python takes {time_text(python)}" if python else "")
    return items


def _kind_of(recompile: dict) -> str:
    """A size or number that was a constant, and one of which only the way counts that it sends a branch."""
    kind = GUARDS.get(recompile["guard"], "value")
    found = _COMPILED_FOR.search(recompile["reason"])
    if kind != "size" or not found or _CONSTANT.fullmatch(found[1]):
        return kind
    return "relation" if ".shape[" in found[1] else "branch"


def _title(kind: str, source: str, count: int) -> str:
    name = f"`{source}`" if source else "A value"
    more = f"{count} more {'variant was' if count == 1 else 'variants were'}"
    return {"size": f"A size changes: {more} compiled",
            "relation": f"Sizes relate in another way to each other: {more} compiled",
            "branch": f"A branch on a number goes another way: {more} compiled",
            "array": f"{name} is another kind of array or type from call to call: {more} compiled",
            "object": f"{name} is a new object for every call: {more} compiled",
            "value": f"{name} changes from call to call and was compiled in: {more} compiled"}[kind]


def _hint(kind: str, source: str) -> str:
    return {"size": "leave sizes dynamic: drop dynamic=False, or fusewire.mark_dynamic(array, axis)",
            "relation": "nothing, where there are a few ways: each is compiled once. Where there are many, keep what depends on sizes out of the function",
            "branch": "nothing, where there are a few ways: each is compiled once. Where there are many, decide outside of the function, or by np.where",
            "array": "convert the array once, before the calls",
            "object": f"make {source or 'the object'} once, outside of the loop of calls, and pass what changes as an argument of its own",
            "value": "pass it as a float or in an array if it changes often"}[kind]


def _finding_ns(function: dict, line: int, graphs: list[Graph]) -> float:
    """Native time of looking for elements, and of what the line does with those that were found: a choice would need neither."""
    parts = [(variant, part) for variant in function["variants"] for part in variant["parts"]]
    if any(part["name"] in _FINDERS for _, part in parts):
        # From the calls that were watched to all of them, which other processes have held up more, or less.
        all_calls = function["scale"] * function["sampled"]["calls"] / max(function["calls"], 1)
        times = [(part["ns"] * max(variant["hits"], part["runs"]), part["name"] in _FINDERS or (part["line"] == line and not part["commit"]))
                 for variant, part in parts]
        ns, whole = sum(ns for ns, wanted in times if wanted), sum(ns for ns, _ in times)
        return min(all_calls * ns, function["native_ns"] * ns / max(whole, 1))  # never more than native code has taken
    lines = {int(line) for graph in graphs for line in _FINDS.findall(graph.text)}
    return sum(function["lines"].get(line, {}).get("native_ns", 0) for line in lines)


def _breaks(function: dict, graphs: list[Graph]) -> list[dict]:
    items, seen = [], set()
    for stop in sorted(function["breaks"], key=lambda b: b["reason"] == "unsupported-attribute"):
        if stop["reason"] in _KEEPS_CHANGING and function["recompiles"]:
            continue
        at = stop["own_line"]
        line = function["lines"].get(at, {})
        if at in seen and stop["reason"] == "unsupported-attribute":
            continue  # reading a method and calling it are one
        shared = at in seen
        seen.add(at)
        known = bool(function["sampled"]["count"]) and not shared
        ways = function["ways_ns"] / max(function["stops"], 1) if known and line.get("runs") else 0
        detail = f": {stop['detail']}" if stop["detail"] else ""
        numpys = stop["runs_in"] == "numpy"
        indexed = numpys and stop["detail"].startswith("assignment by")  # a choice among elements, most often
        finding = _finding_ns(function, at, graphs) if indexed and known else 0
        items.append(_item(
            "break", function, stop["line"] if stop["line"] > 0 else at, example="indexed-write" if indexed else stop["reason"], count=stop["count"], file=stop["file_id"],
            cost_ns=line.get("python_ns", 0) + ways + finding if known else None, basis=ESTIMATED if finding else MEASURED if known else UNKNOWN, own_line=at, ignore=(numpys or stop["advice"] == "ignore") and not indexed,
            title=("An assignment to chosen elements splits the compiled code" if indexed else f"NumPy computes {stop['detail'] or 'a call'} itself" if numpys else f"{stop['detail'] or stop['message']} runs as Python"),
            why=stop["message"] + detail,
            hint="write the choice as np.where(condition, new, old): it is fused with what stands around it" if indexed else stop["hint"],
            note=f"{time_text(line.get('python_ns', 0))} in its line" + (f", {time_text(ways)} for leaving compiled code and coming back" if ways > 1e4 else "") +
                 (f", {time_text(finding)} for finding the elements" if finding else "") if known else
                 ("counted with the other break of this line" if shared else "the trace tells no times of this function")))
    return items


def _upcasts(function: dict, graphs: list[Graph]) -> list[dict]:
    """Where a trial has timed both, its ratio counts."""
    def gain(graph: Graph) -> float:
        if graph.narrow:
            return graph.ns * max(1 - graph.narrow[1] / graph.narrow[0], 0)
        return 0.5 * graph.ns if " = call(" not in graph.text else 0  # NumPy's own functions take what they take

    lines: dict[int, float] = {}
    for graph in graphs:
        found = upcasts(graph.text)
        work = found.pop(-1, 0)
        if graph.narrow and found:
            lines[min(found)] = lines.get(min(found), 0) + gain(graph)
            continue
        for line, operations in found.items():
            # Half of the memory and twice the elements per instruction: half the time of what is wider than need be.
            lines[line] = lines.get(line, 0) + graph.ns * 0.5 * max(operations, 1) / max(work, 1)
    # What is returned comes back as an argument: after the first call there is nothing left to convert.
    returns = bool(lines) and any(_WIDENED.search(one["reason"]) for one in function["recompiles"])
    if returns:
        lines = {min(lines): sum(map(gain, graphs))}
    ratios = [graph.narrow[1] / graph.narrow[0] for graph in graphs if graph.narrow]
    if ratios:
        note = f"the same operations were timed in both on arrays of these sizes: float32 takes {min(ratios):.2f} of the time of float64"
    else:
        note = "half of the native time of " + ("what is fused: the result comes back as an argument, and so stays float64" if returns else
                                                "the operations that are wider than their arguments")
    return [_item("upcast", function, line, cost_ns=cost, basis=TRIED if ratios else ESTIMATED, count=function["calls"], title="float32 arrays are computed as float64 from here on",
                  why="a float64 array or NumPy scalar meets float32 arrays: NumPy converts them, and everything that follows is float64",
                  hint="make the other operand float32, or a plain Python number, which takes the type of the array", note=note)
            for line, cost in lines.items()]


def _others(function: dict) -> list[dict]:
    items = []
    declines = sum(v["declines"] for v in function["variants"])
    if declines:
        gains = [max(t["python_ns"] - t["compiled_ns"], 0) for v in function["variants"] for t in v["trials"] if t["kept"]]
        cost = declines * max(gains) if gains else None
        items.append(_item("declines", function, function["line"], cost_ns=cost, count=declines, basis=ESTIMATED if gains else UNKNOWN,
                           title=f"Python warns or raises in {declines} calls, or needs more room, and so computes them itself",
                           why="compiled code gives way where NumPy would warn (division by zero, overflow, invalid values), where code raises, and where ints or lists outgrow its own",
                           hint="keep such values out before the computation, or np.errstate(...) where they are meant",
                           note="the gain of a call, as trials have measured it, for each of these calls"))
    spent, saved = function["overhead"]["ms"] * 1e6, function["saved_ns"] or 0
    if function["told"] and spent > saved + 1e6 and not function["recompiles"] and spent > 0.2 * function["ns"]:
        items.append(_item("few-calls", function, function["line"], cost_ns=spent - max(saved, 0), count=function["calls"],
                           title=f"Compiling {function['name']} is not earned back by its {function['calls']} calls",
                           why=f"it took {time_text(spent)}, and calls saved {time_text(max(saved, 0))} so far",
                           hint="decorate what is called often; longer runs earn it back", note="compile time less what was saved"))
    small = [(v, t) for v in function["variants"] for t in v["trials"]
             if v["region"] is None and t["compiled_ns"] < 3000 and v["hits"] > 5000]
    if small:
        cost = sum(v["hits"] * min(t["compiled_ns"], 700) for v, t in small)
        items.append(_item("small", function, function["line"], cost_ns=cost, basis=ESTIMATED, count=function["calls"],
                           title=f"{function['name']} is called {function['calls']} times on few elements",
                           why="a call costs more than the arithmetic inside it", hint="pass many rows at once, or decorate the function around the loop",
                           note="the fixed cost of a call, for each call"))
    return items


def things_to_do(functions: list[dict], graphs: dict[int, list[Graph]]) -> list[dict]:
    """Ranked; those to ignore at the end. `graphs`: by function."""
    items = []
    for function in functions:
        used = graphs.get(function["id"], [])
        items += _recompiles(function) + _breaks(function, used) + _upcasts(function, used) + _others(function)
    for item in items:
        item.setdefault("ignore", False)
        if item["cost_ns"] is not None and item["cost_ns"] < _LEAST_NS:
            item["ignore"] = True
        item["per_call_ns"] = item["cost_ns"] / (functions[item["function"]]["calls"] or 1) if item["cost_ns"] is not None else None
    items.sort(key=lambda item: (item["ignore"], -(item["cost_ns"] if item["cost_ns"] is not None else 1)))
    for i, item in enumerate(items):
        item["id"] = i
    return items
