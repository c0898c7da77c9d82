"""Source lines of a function: where they ran and for how long, as explain() tells it of one call, here of all calls."""

from __future__ import annotations

import contextlib
import linecache
import re

from fusewire import _fusewire
from fusewire._verdict import lines_of, measured, verdict_of

_NODE = re.compile(r"^\s*%(\d+)(?:, %\d+)* = (\w+)\(.*\bline=(\d+)", re.M)
_STEP = re.compile(r"^\s*(?:group (\d+)|call (?:\d+\.)?%(\d+) \"([^\"]*)\"|%(\d+) = )", re.M)
# What an operation weighs where nothing is measured: nothing if it computes nothing, much if it is a function of NumPy's own.
_WEIGHTS = {row["name"]: 0 if row["class"] in ("source", "view") else 8 if row["name"] == "call" else 1 for row in _fusewire.ops()}


@contextlib.contextmanager
def sources(files: dict[str, str]):
    """The source as it was when the trace was written, for what reads it through linecache."""
    before = {name: linecache.cache.get(name) for name in files}
    for name, text in files.items():
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    try:
        yield
    finally:
        for name, entry in before.items():
            if entry is None:
                linecache.cache.pop(name, None)
            else:
                linecache.cache[name] = entry


def _sum_variants(variants: list[dict]) -> list[dict]:
    """Variants of several processes: those with the same guards and graph are one."""
    known: dict[tuple, dict] = {}
    for variant in variants:
        key = (variant.get("guards"), variant.get("graph"), variant.get("end"))
        if key not in known:
            known[key] = {**variant, "ms": dict(variant.get("ms") or {}), "trials": list(variant.get("trials") or [])}
            continue
        one = known[key]
        for part in ("hits", "declines"):
            one[part] = one.get(part, 0) + variant.get(part, 0)
        for phase, ms in (variant.get("ms") or {}).items():
            one["ms"][phase] = one["ms"].get(phase, 0) + ms
        one["trials"] += variant.get("trials") or []
        one["parts"] = _sum_parts(one.get("parts") or [], variant.get("parts") or [])
    return list(known.values())


def _sum_parts(parts: list[dict], more: list[dict]) -> list[dict]:
    known = {part["name"]: dict(part) for part in parts}
    for part in more:
        one = known.setdefault(part["name"], {**part, "runs": 0, "ns": 0, **{key: 0 for key in ("bytes", "operations") if key in part}})
        for key in ("runs", "ns", "bytes", "operations"):
            if key in one and key in part:
                one[key] += part[key]
    return list(known.values())


def merged_facts(function) -> dict:
    """Facts of all processes as those of one; made up of the events where a process has not come to its end."""
    told = list(function.facts.values())
    facts = {"name": function.name, "file": function.file, "line": function.line, "python_calls": 0, "partly_calls": 0,
             "variants": [], "breaks": [], "regions": [], "told": bool(told), "timed": {"calls": 0, "ns": 0},
             "overhead": {"ms": 0.0, "in_vain_ms": 0.0, "ran_ms": 0.0, "told": False, "left_to_python": False}}
    regions: dict[int, dict] = {}
    for one in told:
        facts["python_calls"] += one.get("python_calls", 0)
        facts["partly_calls"] += one.get("partly_calls", 0)
        facts["variants"] += one.get("variants") or []
        for key, value in (one.get("timed") or {}).items():
            facts["timed"][key] = facts["timed"].get(key, 0) + value
        for key, value in (one.get("overhead") or {}).items():
            facts["overhead"][key] = facts["overhead"].get(key, 0) + value if not isinstance(value, bool) else value
        for region in one.get("regions") or []:
            known = regions.setdefault(region["start"], {**region, "variants": [], "hits": 0, "misses": 0})
            known["variants"] = known["variants"] + region["variants"]
            known["hits"] += region["hits"]
            known["misses"] += region["misses"]
        for stop in one.get("breaks") or []:
            key = (stop["line"], stop["reason"], stop["detail"])
            if not any((b["line"], b["reason"], b["detail"]) == key for b in facts["breaks"]):
                facts["breaks"].append(stop)
    for region in regions.values():
        region["variants"] = _sum_variants(region["variants"])
    facts["variants"] = _sum_variants(facts["variants"])
    facts["regions"] = list(regions.values())
    if not told:
        _from_events(function, facts)
    sampled = function.sampled
    facts["call"], facts["own_once_ns"] = None, sampled["own_once_ns"]
    if sampled["count"]:
        stretches = [{"start": start, "native": native, "lines": list(lines), "runs": sums[0], "ns": sums[1], "native_ns": sums[2]}
                     for (start, native, lines), sums in function.stretches.items()]
        facts["call"] = {"ns": sampled["ns"], "own_ns": sampled["own_ns"], "native_ns": sampled["native_ns"], "stretches": stretches,
                         "compiled": sampled["compiled"] == sampled["calls"], "why": ""}
        if not facts["timed"]["calls"]:
            facts["timed"] = {"calls": sampled["calls"], "ns": sampled["ns"]}
    return facts


def _from_events(function, facts: dict) -> None:
    for stop in function.breaks.values():
        facts["breaks"].append({**stop, "kinds": stop["count"], "own_line": stop["line"]})
    facts["overhead"]["ms"] = function.compile_ms
    regions: dict[int, dict] = {}
    for made in function.compiles:
        variant = {"guards": "", "guard_list": made.get("guards", []), "guard_ns": made.get("guard_ns", -1), "sizes": made.get("sizes", []),
                   "graph": "", "plan": "", "graph_text": made.get("graph", -1), "plan_text": made.get("plan", -1), "kernels": 0, "hits": 0,
                   "declines": 0, "trials": [], "ms": made["ms"], "made": made}
        if made["region"] is None:
            facts["variants"].append(variant)
        else:
            region = regions.setdefault(made["region"], {"start": made["region"], "start_line": made["region"], "end_lines": [], "hits": 0,
                                                         "misses": 0, "status": "", "variants": []})
            region["variants"].append(variant)
    facts["regions"] = list(regions.values())


def _node_lines(graph: str) -> dict[str, tuple[int, int]]:
    """By number of a node: its line, and what it weighs."""
    return {number: (int(line), _WEIGHTS.get(op, 1)) for number, op, line in _NODE.findall(graph)}


def name_parts(graph: str, plan: str, parts: list[dict]) -> None:
    """Parts get `lines`, of the source: each with its share of their time. Library calls get the names of their functions."""
    nodes = _node_lines(graph)
    groups: dict[int, list[str]] = {}
    calls, last = [], None
    for group, call, callee, member in _STEP.findall(plan):
        if group:
            last = groups.setdefault(int(group), [])
        elif call:
            calls.append((call, callee))
        elif last is not None:
            last.append(member)
    for part in parts:
        members = groups.get(part["group"], []) if not part["commit"] else []
        if 0 <= part["number"] < len(calls):
            members, part["name"] = [calls[part["number"]][0]], calls[part["number"]][1]
        known = [nodes[one] for one in members if one in nodes]
        whole, shares = sum(weight for _, weight in known), {}
        for line, weight in known:
            shares[line] = shares.get(line, 0) + (weight / whole if whole else 1 / len(known))
        part["lines"] = shares
        part["line"] = next(iter(shares)) if len(shares) == 1 else 0


def weights_of(variants: list[tuple[str, list[dict]]]) -> dict[int, float]:
    """By line: how the time of compiled stretches is shared out among their lines. As kernels and library calls were timed; of
    variants of which none was watched, by their operations. `variants`: (text of the graph, its parts)."""
    weights: dict[int, float] = {}
    others: list[tuple[int, int]] = []
    for graph, parts in variants:
        for part in parts:
            for line, share in part["lines"].items():
                weights[line] = weights.get(line, 0) + part["ns"] * part["runs"] * share
        if not any(part["lines"] for part in parts):
            others += _node_lines(graph).values()
    timed = set(weights)
    scale = sum(weights.values()) / max(len(weights), 1) or 1.0
    for line, weight in others:
        if line not in timed:
            weights[line] = weights.get(line, 0) + weight * scale
    return weights


def source_lines(facts: dict, weights: dict[int, float]) -> dict[int, dict]:
    """By line: state (compiled, python, numpy, mixed), native_ns, python_ns, runs, why. Times are those of all calls."""
    lines: dict[int, dict] = {}
    entries = lines_of(facts) if facts["call"] else []
    groups: dict[int, list[int]] = {}
    for entry in entries:
        if entry["where"] == "native":
            groups.setdefault(entry.get("with", entry["line"]), []).append(entry["line"])
        lines[entry["line"]] = {"state": {"native": "compiled", "NumPy": "numpy"}.get(entry["where"], "python"), "native_ns": entry["native_ns"],
                                "python_ns": entry["python_ns"], "runs": entry["runs"],
                                **{key: entry[key] for key in ("advice", "because", "how") if key in entry}}
    for owner, members in groups.items():
        total = lines[owner]["native_ns"] if owner in lines else 0
        whole = sum(weights.get(n, 0) for n in members)
        if len(members) > 1 and whole and total:
            for n in members:
                lines[n]["native_ns"] = total * weights.get(n, 0) / whole
                lines[n]["shared"] = True
    native = facts["call"]["native_ns"] if facts["call"] else 0
    if not any(line["native_ns"] for line in lines.values()) and weights:
        whole = sum(weights.values()) or 1
        for n, weight in weights.items():
            one = lines.setdefault(n, {"state": "compiled", "native_ns": 0, "python_ns": 0, "runs": facts["timed"]["calls"], "shared": True})
            one["native_ns"] += native * weight / whole
    for stop in facts["breaks"]:
        line = stop.get("own_line") or stop["line"]
        if line > 0 and line not in lines and (not facts["told"] or not facts["call"]):
            lines[line] = {"state": "numpy" if stop["runs_in"] == "numpy" else "python", "native_ns": 0, "python_ns": 0, "runs": 0,
                           "because": stop["message"], "how": stop["hint"], "advice": stop["advice"]}
    owners = {entry["line"]: entry["with"] for entry in entries if "with" in entry}
    for n, line in lines.items():
        owner = lines.get(owners.get(n), line)
        if line["state"] in ("python", "numpy") and weights.get(n):  # one line, several regions; or Python at first
            much = owner["native_ns"] > owner["python_ns"] and "because" not in line
            line["state"] = "compiled" if much else "mixed"
    scale = scale_of(facts)
    for line in lines.values():
        line["native_ns"], line["python_ns"] = round(line["native_ns"] * scale), round(line["python_ns"] * scale)
    return lines


def scale_of(facts: dict) -> float:
    """From the calls that were watched to all of them: every call is timed, compiling is no part of it."""
    call, timed = facts["call"], facts["timed"]
    if not call or call["ns"] <= call["own_ns"] or not timed["ns"]:
        return 1.0
    compiling = max(facts["own_once_ns"], facts["overhead"]["ms"] * 1e6)
    return max(timed["ns"] - compiling, 0) / (call["ns"] - call["own_ns"]) or 1.0


def ways_of(facts: dict) -> tuple[float, int]:
    """(time that runs of regions take beside their native code: guards, results; breaks that are met), of all calls."""
    if not facts["call"]:
        return 0.0, 0
    ways = sum(max(s["ns"] - s["native_ns"], 0) for s in facts["call"]["stretches"] if s["native"])
    return ways * scale_of(facts), len({(b["file"], b["line"]) for b in facts["breaks"]})


def speed_of(facts: dict) -> dict:
    variants = [*facts["variants"], *(v for region in facts["regions"] for v in region["variants"])]
    speed = measured(variants)
    facts["verdict"] = verdict_of(facts)
    lost = [trial for variant in variants for trial in variant["trials"] if not trial["kept"]]
    return {"saved_ns": speed["saved_ns"] if speed else None, "state": facts["verdict"]["state"], "lost_trials": len(lost),
            "ratio": (facts["verdict"].get("speed") or {}).get("ratio")}
