"""The schema of trace files (FUSEWIRE_TRACE): JSON lines, one event each, the first of kind "start"."""

from __future__ import annotations

import atexit
import json
import linecache
import os
import platform
import sys

import numpy as np

from fusewire import _fusewire

VERSION = 1

_TEXT, _NUMBER, _INT = {"type": "string"}, {"type": "number"}, {"type": "integer"}


def _object(required: dict, **optional) -> dict:
    return {"type": "object", "required": list(required), "properties": {**required, **optional}}


def _list(items: dict) -> dict:
    return {"type": "array", "items": items}


_BREAK = {
    "function": _TEXT,
    "reason": _TEXT,
    "class": _TEXT,
    "message": _TEXT,
    "detail": _TEXT,
    "hint": _TEXT,
    "file": _TEXT,
    "line": _INT,
    "advice": {"enum": ["fix", "ignore"]},
    "runs_in": {"enum": ["numpy", "python"]},
}
_GUARD = _object({"text": _TEXT, "kind": _TEXT, "line": _INT, "cost": _INT})
_MISS = _object({"variant": _INT, "reason": _TEXT}, guard=_TEXT, source=_TEXT, line=_INT, advice=_TEXT)
_SIZE = _object({"argument": _TEXT, "axis": _INT, "policy": _TEXT}, value=_INT)

# What `data` holds, per kind of event. Kinds that are not listed may hold anything.
KINDS = {
    "start": _object({"versions": {"type": "object"}}, part=_INT),
    "graph_break": _object(_BREAK),
    "internal_failure": _object({**_BREAK, "reproducer": _TEXT}),
    "recompile": _object({"function": _TEXT, "misses": _list(_MISS)}),
    "guards": _object({"function": _TEXT, "guards": _list(_GUARD)}, ns=_NUMBER),
    "sizes": _object({"function": _TEXT, "sizes": _list(_SIZE)}),
    "graph": _object({"function": _TEXT, "text": _TEXT}),
    "plan": _object({"function": _TEXT, "text": _TEXT}),
    "kernels": _object({"text": _TEXT}),
    "code": _object({"llvm": _TEXT, "assembly": _TEXT}),
    "side_effects": _object({"function": _TEXT, "text": _TEXT}),
    "compiled": _object({"function": _TEXT, "ms": {"type": "object", "additionalProperties": _NUMBER}}),
    "left_to_python": _object({"function": _TEXT, "ran_ms": _NUMBER, "in_vain_ms": _NUMBER}),
    "backend_failed": _object({"backend": _TEXT, "error": _TEXT}),
    "not_verified": _object({"function": _TEXT}),
    "verify_mismatch": _object({"function": _TEXT, "reproducer": _TEXT}),
    # Of some calls: where their time went. `stretches` as in explain().
    "call": _object({"function": _TEXT, "file": _TEXT, "line": _INT, "thread": _INT, "number": _INT, "start_ns": _INT, "ns": _INT,
                     "own_ns": _INT, "native_ns": _INT, "compiled": {"type": "boolean"}, "stretches": _list({"type": "object"})}),
    # When the process ends, and when it makes a report: what is known of every function, the source, the process.
    "function": _object({"name": _TEXT, "variants": _list({"type": "object"}), "regions": _list({"type": "object"}),
                         "breaks": _list({"type": "object"}), "python_calls": _INT, "partly_calls": _INT}),
    "source": _object({"file": _TEXT, "text": _TEXT}),
    "process": _object({"arguments": _list(_TEXT), "overhead": {"type": "object"}, "machine": _TEXT},
                       ceiling=_object({"processor": _TEXT, "operations": _NUMBER, "memory": _NUMBER, "cache": _NUMBER})),
}

# Functions that are kept alive for the end of a trace, files that are told, and characters of one.
_KEPT, _FILES, _FILE_SIZE = 2000, 200, 1 << 20
_kept: dict[int, object] = {}


def schema() -> dict:
    """JSON Schema of one line of a trace file."""
    channels = [row["name"] for row in _fusewire.log_channels()] + ["trace"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "one line of a fusewire trace",
        "type": "object",
        "required": ["schema", "pid", "time_ns", "channel", "kind", "text", "data"],
        "properties": {
            "schema": {"const": VERSION},
            "pid": _INT,
            "time_ns": {**_INT, "description": "of a steady clock"},
            "channel": {"enum": channels},
            "kind": _TEXT,
            "text": {**_TEXT, "description": "the event in words, as FUSEWIRE_LOGS prints it"},
            "data": {},
        },
        "additionalProperties": False,
        "allOf": [
            {"if": {"properties": {"kind": {"const": kind}}}, "then": {"properties": {"data": data}}}
            for kind, data in KINDS.items()
        ],
    }


def set_versions(version: str) -> None:
    versions = {
        "fusewire": version,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "target": _fusewire.target(),
    }
    _fusewire.set_trace_versions(json.dumps(versions))


def keep(compiled) -> None:
    """While a trace is written, decorated functions stay alive until it has been told what became of them."""
    if len(_kept) < _KEPT and _fusewire.trace_path():
        _kept[id(compiled)] = compiled


def facts_events():
    """(kind, data) of every decorated function that has been called, their source, and the process."""
    from fusewire._api import _compiled

    files: dict[str, None] = {}
    told = [_fusewire.describe(compiled) for compiled in {id(c): c for c in [*_kept.values(), *_compiled]}.values()]
    told = [facts for facts in told if facts["variants"] or facts["python_calls"] or facts["breaks"]]
    _try_narrow(told)
    for facts in told:
        yield "function", facts
        for file in (facts.get("file"), *(stop.get("file") for stop in facts["breaks"])):
            if file and len(files) < _FILES:
                files[file] = None
    for file in files:
        if (lines := linecache.getlines(file)) and len(text := "".join(lines)) <= _FILE_SIZE:
            yield "source", {"file": file, "text": text}
    process = {"arguments": [str(argument) for argument in sys.argv[:20]], "overhead": _fusewire.overhead(), "machine": machine()}
    if any(variant["parts"] for facts in told for variant in _variants(facts)):
        from fusewire._ceiling import ceiling

        process["ceiling"] = ceiling()
    yield "process", process


def _variants(facts: dict) -> list[dict]:
    return [*facts["variants"], *(variant for region in facts["regions"] for variant in region["variants"])]


def _try_narrow(told: list[dict]) -> None:
    """Functions in which float32 meets float64: their variants get `narrow`, ns in float64 and in float32."""
    from fusewire._report.narrow import tried, upcasts

    variants = [variant for facts in told if any(upcasts(variant["graph"]) for variant in _variants(facts))
                for variant in _variants(facts) if variant["parts"] and variant["symbols"] and ": f64[" in variant["graph"]]
    variants.sort(key=lambda variant: -sum(part["ns"] for part in variant["parts"]))
    for variant, times in zip(variants, tried([{"graph": v["graph"], "symbols": v["symbols"]} for v in variants])):
        if times:
            variant["narrow"] = times


def machine() -> str:
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, {_fusewire.target()}"


def write_facts() -> None:
    """Into the trace, if one is written."""
    if _fusewire.trace_path():
        for kind, data in facts_events():
            _fusewire.record_event(kind, json.dumps(data))


atexit.register(write_facts)
