"""The timeline in the trace format of Chrome, which Perfetto reads."""

from __future__ import annotations

_NAMES = {"native": "native call", "partly": "call, partly compiled", "python": "call as Python", "compile": "compile", "phase": "phase"}


def trace_events(model: dict) -> dict:
    timeline, events, rows = model["timeline"], [], set()
    for process, thread, at, ns, kind, function, word, count in timeline["items"]:
        name = model["functions"][function]["name"] if function >= 0 else "?"
        text = timeline["words"][word]
        tid = thread if thread >= 0 else 1 - thread
        rows.add((process, thread, tid))
        event = {"name": text if kind == "phase" else name if kind in _NAMES else f"{kind}: {name}", "cat": kind, "pid": process, "tid": tid, "ts": at / 1e3,
                 "args": {"what": _NAMES.get(kind, kind), "text": text, "count": count}}
        events.append({**event, "ph": "X", "dur": ns / 1e3} if kind in _NAMES else {**event, "ph": "i", "s": "t"})
    for p, process in enumerate(model["processes"]):
        events.append({"name": "process_name", "ph": "M", "pid": p, "tid": 0, "args": {"name": f"process {process['pid']}"}})
    for process, thread, tid in sorted(rows):
        name = {-1: "compiling", -2: "phases of compiling", -3: "breaks and recompiles"}.get(thread, f"thread {tid}")
        events.append({"name": "thread_name", "ph": "M", "pid": process, "tid": tid, "args": {"name": name}})
    return {"traceEvents": events, "displayTimeUnit": "ms"}
