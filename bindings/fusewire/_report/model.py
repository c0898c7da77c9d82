"""What the page is told, as plain data: the summary, things to do, functions with their variants, source lines, the timeline."""

from __future__ import annotations

import os
import time

from fusewire._errors import counted
from fusewire._report.advice import Graph, things_to_do
from fusewire._report.collect import Collector
from fusewire._report.lines import merged_facts, name_parts, scale_of, source_lines, sources, speed_of, ways_of, weights_of
from fusewire._report.read import Reading, events
from fusewire._report.words import time_text
from fusewire._verdict import times

MODEL = 1
# Items of the timeline that a page draws; beyond that, neighbours of one kind become one.
_DRAWN = 16_000
_VARIANTS, _GUARDS, _PARTS = 60, 300, 200


def build(path: str) -> dict:
    """The model of a folder of traces, or of one file. OSError if there is nothing to read."""
    reading, collector = Reading(), Collector()
    for process, at, event in events(path, reading):
        try:
            collector.add(process, at, event)
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            reading.warn(f"an event of kind {str(event['kind'])[:40]!r} does not have the form that is expected ({type(error).__name__})", process.file)
    return model_of(collector, reading)


def model_of(collector: Collector, reading: Reading) -> dict:
    for name in {f.file for f in collector.functions.values() if f.file} | {
            b["file"] for f in collector.functions.values() for b in f.breaks.values() if b["file"]}:
        if name not in collector.sources and os.path.isfile(name):
            try:
                with open(name, encoding="utf-8", errors="replace") as file:
                    collector.sources[name] = file.read(1 << 20)
                reading.warn("the trace has no source text, as of a process that was killed; files are shown as they are now", name)
            except OSError:
                pass
    files: dict[str, int] = {}

    def file_id(name: str) -> int:
        return files.setdefault(name, len(files)) if name else -1

    functions, graphs = [], {}
    with sources(collector.sources):
        for one in sorted(collector.functions.values(), key=lambda f: (f.file, f.line, f.name)):
            function, used = _function(one, len(functions), collector.texts, file_id, reading)
            graphs[function["id"]] = used
            functions.append(function)
        items = things_to_do(functions, graphs)
    for item in items:
        item["source"] = _line_of(collector.sources, list(files), item["file"], item["line"])
    timeline = _timeline(collector, {f["key"]: f["id"] for f in functions}, reading)
    if collector.texts.left_out:
        reading.warn("texts of graphs and code are left out beyond 256 MB", counted(collector.texts.left_out, "text"))
    names = list(files)
    common = os.path.commonpath([os.path.dirname(n) for n in names if os.path.isabs(n)]) if any(os.path.isabs(n) for n in names) else ""
    return {
        "model": MODEL, "made": time.strftime("%Y-%m-%d %H:%M"), "warnings": reading.warnings(), "events": reading.events, "bytes": reading.bytes,
        "processes": [_process(p, collector.process_facts.get(p.number, {})) for p in reading.processes],
        "ceiling": next((known for facts in collector.process_facts.values() if (known := _ceiling(facts))), None),
        "summary": _summary(functions, items, collector), "todo": items, "functions": functions, "timeline": timeline,
        "files": [{"name": n, "short": os.path.relpath(n, common) if common and os.path.isabs(n) else n, "text": collector.texts.add(collector.sources.get(n, ""))}
                  for n in names],
        "texts": collector.texts.texts,
    }


def _line_of(texts: dict[str, str], names: list[str], file: int, line: int) -> str:
    text = texts.get(names[file], "") if 0 <= file < len(names) else ""
    lines = text.splitlines() if text else []
    return lines[line - 1].strip()[:200] if 0 < line <= len(lines) else ""


def _process(process, facts: dict) -> dict:
    return {"pid": process.pid, "file": process.file, "versions": process.versions, "ns": process.last_ns, "ended": bool(facts),
            "arguments": [str(a) for a in facts.get("arguments", [])], "machine": str(facts.get("machine", "")), "events": process.events}


def _ceiling(facts: dict) -> dict | None:
    """What the machine can do at most, per second: operations, and bytes from memory and from the cache."""
    known = facts.get("ceiling")
    if not isinstance(known, dict) or not all(isinstance(known.get(key), (int, float)) and 0 < known[key] < 1e18 for key in ("operations", "memory", "cache")):
        return None
    return {"processor": str(known.get("processor", ""))[:100], **{key: known[key] for key in ("operations", "memory", "cache")}}


def _variant(variant: dict, region: dict | None, texts, made: dict) -> dict:
    return {"region": region["start_line"] if region else None, "ends": region["end_lines"] if region else [], "end": variant.get("end"),
            "hits": variant["hits"], "declines": variant["declines"], "guard_ns": variant["guard_ns"], "kernels": variant["kernels"],
            "symbols": _symbols(variant), "ms": variant["ms"], "trials": variant["trials"], "sizes": variant["sizes"], "guards": variant["guard_list"][:_GUARDS],
            "graph": texts.add(variant["graph"]) if variant["graph"] else variant.get("graph_text", -1),
            "plan": texts.add(variant["plan"]) if variant["plan"] else variant.get("plan_text", -1),
            "planned": made.get("planned", -1), "passes": made.get("passes", []), "kernel": made.get("kernels", -1), "llvm": made.get("llvm", -1),
            "assembly": made.get("assembly", -1), "effects": made.get("effects", -1), "parts": _parts(variant), "narrow": _narrow(variant)}


def _parts(variant: dict) -> list[dict]:
    """Kernels and library calls as they were timed: of one run each, {name, group, commit, runs, ns, bytes, operations}."""
    known = []
    for part in variant.get("parts") or []:
        runs = part.get("runs") if isinstance(part, dict) else 0
        if not isinstance(runs, int) or runs <= 0 or not isinstance(part.get("ns"), (int, float)) or not isinstance(part.get("group"), int):
            continue
        of_one = {key: part[key] / runs if isinstance(part.get(key), (int, float)) else None for key in ("bytes", "operations")}
        name = str(part.get("name", ""))[:200]
        number = int(name[5:]) if part["group"] < 0 and name.startswith("call ") and name[5:].isdecimal() else -1
        known.append({"name": name, "number": number, "line": 0, "lines": {}, "group": part["group"], "commit": part.get("commit") is True, "runs": runs,
                      "ns": part["ns"] / runs, **of_one, "best": _best(part)})
    return known[:_PARTS]


def _best(part: dict) -> dict | None:
    """Of the fastest run of usual size: {ns, bytes, operations}."""
    best = part.get("best")
    good = isinstance(best, dict) and all(isinstance(best.get(key), (int, float)) and 0 <= best[key] < 1e18 for key in ("ns", "bytes", "operations")) and best["ns"] > 0
    return {key: best[key] for key in ("ns", "bytes", "operations")} if good else None


def _symbols(variant: dict) -> dict[str, int]:
    """Sizes of the last run that was watched."""
    known = variant.get("symbols")
    return {str(name)[:40]: value for name, value in list(known.items())[:200] if isinstance(value, int) and abs(value) < 1 << 62} if isinstance(known, dict) else {}


def _narrow(variant: dict) -> list[float] | None:
    """Times of a trial: in float64, in float32."""
    times = variant.get("narrow")
    good = isinstance(times, list) and len(times) == 2 and all(isinstance(ns, (int, float)) and 0 < ns < 1e12 for ns in times)
    return times if good else None


def _function(one, number: int, texts, file_id, reading: Reading) -> tuple[dict, list]:
    facts = merged_facts(one)
    made = {}  # by the text of its graph: what else the events told of a variant
    for compile in one.compiles:
        made.setdefault((compile["region"], compile.get("graph", -1)), compile)
    variants, used = [], []
    sources_of = [(None, v) for v in facts["variants"]] + [(r, v) for r in facts["regions"] for v in r["variants"]]
    for region, variant in sources_of:
        shown = _variant(variant, region, texts, {})
        found = made.get((shown["region"], shown["graph"])) or variant.get("made") or {}
        shown = _variant(variant, region, texts, found)
        trial_ns = sum(max(t["runs"], 1) * t["compiled_ns"] for t in variant["trials"] if t["kept"])
        shown["native_ns"] = trial_ns or None
        variants.append(shown)
        if shown["graph"] >= 0:
            used.append((texts.texts[shown["graph"]], shown))
    text = lambda index: texts.texts[index] if index >= 0 else ""
    for _, v in used:
        name_parts(text(v["planned"]) or text(v["graph"]), text(v["plan"]), v["parts"])
    weights = weights_of([(graph, v["parts"]) for graph, v in used])
    try:
        lines, speed, ways = source_lines(facts, weights), speed_of(facts), ways_of(facts)
    except (KeyError, TypeError, ValueError, ZeroDivisionError, IndexError) as error:
        reading.warn(f"what is told of a function does not fit together ({type(error).__name__}: {error})", one.name)
        ways = (0.0, 0)
        lines, speed = {}, {"saved_ns": None, "state": "unknown", "lost_trials": 0, "ratio": None}
    compiles = sorted(one.compiles, key=lambda c: (c["process"], c["at"]))
    recompiles = []
    for miss in one.recompiles:
        then = next((c for c in compiles if c["process"] == miss["process"] and c["region"] == miss["region"] and c["at"] >= miss["at"]), None)
        recompiles.append({**miss, "ms": then["ms"].get("total") if then else None})
    timed, sampled = facts["timed"], one.sampled
    native_hits = sum(v["hits"] for v in facts["variants"])
    calls = native_hits + facts["python_calls"] or timed["calls"] or sampled["calls"]
    told = {(b["line"], b["reason"], b["detail"]): b for b in facts["breaks"]}
    for stop in one.breaks.values():
        told.setdefault((stop["line"], stop["reason"], stop["detail"]), {**stop, "own_line": stop["line"]})
    counts = {(b["line"], b["reason"], b["detail"]): b["count"] for b in one.breaks.values()}
    breaks = [{**{k: b.get(k, "") for k in ("reason", "class", "message", "detail", "hint", "advice", "runs_in")}, "line": b["line"],
               "file_id": file_id(b.get("file", "")), "own_line": b.get("own_line") or b["line"], "count": counts.get(key, b.get("kinds", 1))}
              for key, b in told.items()]
    native_ns = sum(line["native_ns"] for line in lines.values())
    function = {
        "id": number, "key": one.name, "name": one.name, "file": file_id(one.file), "line": one.line, "told": facts["told"],
        "calls": calls, "native": native_hits, "partly": facts["partly_calls"], "python": max(facts["python_calls"] - facts["partly_calls"], 0),
        "ns": timed["ns"], "native_ns": native_ns, "python_ns": sum(line["python_ns"] for line in lines.values()),
        "compile_ms": one.compile_ms, "first_ms": next((c["ms"].get("total", 0.0) for c in compiles if c["region"] is None), 0.0), "compiles": one.compile_count or len(variants), "overhead": {k: facts["overhead"].get(k, 0) for k in ("ms", "in_vain_ms")},
        "left_to_python": bool(facts["overhead"].get("left_to_python")) or one.left is not None, "sampled": sampled, "scale": scale_of(facts), "ways_ns": ways[0], "stops": ways[1], **speed,
        "variants": variants[:_VARIANTS], "variant_count": len(variants), "recompiles": recompiles, "recompile_count": one.recompile_count, "breaks": breaks, "lines": lines,
        "regions": [{"line": r["start_line"], "ends": r["end_lines"], "hits": r["hits"], "misses": r["misses"], "status": r["status"]}
                    for r in facts["regions"] if r["hits"] or r["variants"]],
        "failures": one.failures[:20]}
    if not told and function["python"] and function["state"] == "python" and not variants:
        function["state"] = "idle"
    # The native time of the function, shared out as its variants were timed: their kernels, else in trials, else evenly.
    times = [sum(part["ns"] * part["runs"] for part in v["parts"]) for _, v in used]
    if not any(times):
        times = [v["native_ns"] or 0 for _, v in used]
    whole = sum(times)
    return function, [Graph(graph, native_ns * ns / whole if whole else native_ns / len(used), v["narrow"]) for (graph, v), ns in zip(used, times)]


def _summary(functions: list[dict], items: list[dict], collector: Collector) -> dict:
    called = [f for f in functions if f["calls"] or f["compiles"]]
    states = {state: sum(f["state"] == state for f in called) for state in ("compiled", "mostly", "partly", "numpy", "python", "unknown")}
    known = [f["saved_ns"] for f in functions if f["saved_ns"] is not None]
    overheads = [p.get("overhead") or {} for p in collector.process_facts.values()]
    spent = sum(o.get("ms", 0) for o in overheads) or sum(max(f["overhead"]["ms"], f["compile_ms"]) for f in functions)
    saved = sum(known) if known else None
    good = states["compiled"] + states["mostly"] + states["numpy"]
    if not called:
        verdict = "No decorated function was called"
    elif states["compiled"] == len(called):
        verdict = "Compiled" if len(called) == 1 else f"All {len(called)} functions are compiled"
    elif good == len(called):
        verdict = "Mostly compiled"
    elif good or states["partly"]:
        verdict = (f"{good} of {counted(len(called), 'function')} {'is' if good == 1 else 'are'} compiled or mostly so" if good else "Partly compiled" if states["partly"] == len(called)
                   else f"{states['partly']} of {counted(len(called), 'function')} {'is' if states['partly'] == 1 else 'are'} compiled in parts")
        verdict += f", {states['partly']} in parts" if good and states["partly"] else ""
    else:
        verdict = "Everything runs as Python"
    if saved is None:
        detail = f"What that saves is not measured; {time_text(spent * 1e6)} went into compiling."
    else:
        net = saved - spent * 1e6
        detail = (f"{time_text(max(saved, 0))} saved against plain Python where trials have measured it, {time_text(spent * 1e6)} spent on compiling: "
                  f"{time_text(abs(net))} {'gained' if net >= 0 else 'not earned back'}.")
    worth = [item for item in items if not item["ignore"]]
    if worth and worth[0]["cost_ns"]:
        detail += f" The biggest remaining cost is {time_text(worth[0]['cost_ns'])}."
    elif called and not worth:
        detail += " Nothing else is worth a change."
    return {"verdict": verdict, "detail": detail, "saved_ns": saved, "compile_ms": spent, "calls": sum(f["calls"] for f in functions),
            "native": sum(f["native"] for f in functions), "partly": sum(f["partly"] for f in functions), "python": sum(f["python"] for f in functions),
            "ns": sum(f["ns"] for f in functions), "native_ns": sum(f["native_ns"] for f in functions),
            "python_ns": sum(f["python_ns"] for f in functions), "functions": len(called), "states": states, "worth": len(worth),
            "variants": sum(f["variant_count"] for f in functions), "recompiles": sum(f["recompile_count"] for f in functions),
            "breaks": sum(len(f["breaks"]) for f in functions), "ratio": times(max((f["ratio"] or 0 for f in functions), default=0))}


def _timeline(collector: Collector, ids: dict[str, int], reading: Reading) -> dict:
    """Columns of items in order of time. Neighbours that a screen could not tell apart are one where there are too many."""
    items = sorted(collector.timeline, key=lambda item: (item[0], item[2]))
    count = len(items) + collector.timeline_left_out
    if collector.timeline_left_out:
        reading.warn("the timeline shows the beginning of a long trace", f"{collector.timeline_left_out} more items")
    words: dict[str, int] = {}
    rows = [[process, thread, at, duration, kind, ids.get(function, -1), words.setdefault(text[:160], len(words)), 1]
            for process, thread, at, duration, kind, function, text in items]
    if len(rows) > _DRAWN:
        rows = _thinned(rows)
        used = sorted({row[6] for row in rows})
        again = {old: new for new, old in enumerate(used)}
        known = list(words)
        words = {known[old]: new for old, new in again.items()}
        rows = [[*row[:6], again[row[6]], row[7]] for row in rows]
    return {"items": rows, "words": list(words), "count": count}


def _thinned(rows: list[list]) -> list[list]:
    end = max(row[2] + row[3] for row in rows)
    cell = max(end // 4000, 1)
    while True:
        merged, last = [], {}
        for row in rows:
            key = (row[0], row[1], row[4], row[5])
            before = last.get(key)
            if before is not None and row[2] // cell == before[2] // cell and row[3] < cell:
                before[3] = max(before[3], row[2] + row[3] - before[2])
                before[7] += row[7]
            else:
                last[key] = copy = list(row)
                merged.append(copy)
        if len(merged) <= _DRAWN or cell > end:
            return merged
        rows, cell = merged, cell * 2
