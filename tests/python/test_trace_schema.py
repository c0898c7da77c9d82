"""Events: every line of a trace follows docs/trace.schema.json, and what logs promise is in them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs" / "trace.schema.json").read_text())

PROGRAM = """
import warnings
import numpy as np, fusewire
warnings.simplefilter("ignore")
scale = 2.0

@fusewire.compile
def f(x):
    y = np.tanh(x) * scale
    print(end="")
    return y + x.shape[0]

for x in (np.ones(4), np.ones((2, 2)), np.ones(4, "f4")):
    for _ in range(3):
        f(x)
scale = 3.0
f(np.ones(4))

@fusewire.compile(backend=lambda graph: 1 / 0)
def g(x):
    return x + 1
g(np.ones(3))

@fusewire.compile(dynamic=False)
def h(x):
    return x * 2
h(np.ones(3))
h(np.ones(4))

@fusewire.compile
def w(x, seen):
    seen.append(x.shape[0])
    x += 1
    return x.sum()
w(np.ones(3), [])
"""

TYPES = {"boolean": bool, "object": dict, "array": list, "string": str, "integer": int, "number": (int, float)}


def problems(value, schema: dict, path: str = "$") -> list[str]:
    """What of the value breaks the schema; for the part of JSON Schema that ours uses. Unknown keywords are a problem too."""
    found = []
    for keyword, wanted in schema.items():
        if keyword == "type":
            if not isinstance(value, TYPES[wanted]) or (isinstance(value, bool) and wanted in ("integer", "number")):
                return [f"{path}: {value!r} is not of type {wanted}"]
        elif keyword == "const" and value != wanted:
            found.append(f"{path}: {value!r} is not {wanted!r}")
        elif keyword == "enum" and value not in wanted:
            found.append(f"{path}: {value!r} is not one of {wanted}")
        elif keyword == "required":
            found += [f"{path}: {name} is missing" for name in wanted if name not in value]
        elif keyword == "properties" and isinstance(value, dict):
            for name, part in wanted.items():
                found += problems(value[name], part, f"{path}.{name}") if name in value else []
        elif keyword == "additionalProperties" and isinstance(value, dict):
            for name in value.keys() - schema.get("properties", {}).keys():
                found += [f"{path}: {name} is too much"] if wanted is False else problems(value[name], wanted, f"{path}.{name}")
        elif keyword == "items":
            for i, item in enumerate(value):
                found += problems(item, wanted, f"{path}[{i}]")
        elif keyword == "allOf":
            for part in wanted:
                found += problems(value, part, path)
        elif keyword == "if":
            found += problems(value, schema["then"], path) if not problems(value, wanted, path) else []
        elif keyword not in ("const", "enum", "properties", "additionalProperties", "then", "title", "description", "$schema"):
            found.append(f"schema: unknown keyword {keyword}")
    return found


@pytest.fixture(scope="module")
def events(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trace")
    result = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True,
                            env={**os.environ, "FUSEWIRE_TRACE": str(folder), "FUSEWIRE_LOGS": ""})
    assert result.returncode == 0, result.stderr
    (file,) = folder.glob("*.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_the_checker_can_fail():
    assert problems({"schema": 1}, SCHEMA)
    good = {"schema": 1, "pid": 1, "time_ns": 1, "channel": "trace", "kind": "start", "text": "", "data": {"versions": {}}}
    assert not problems(good, SCHEMA)
    for change in ({"schema": 2}, {"pid": "1"}, {"channel": "none"}, {"data": {}}, {"more": 1}):
        assert problems(good | change, SCHEMA), change


def test_every_event_follows_the_schema(events):
    wrong = [problem for event in events for problem in problems(event, SCHEMA)]
    assert not wrong, wrong[:10]


def test_first_line_tells_versions(events):
    assert events[0]["kind"] == "start" and events[0]["schema"] == 1
    assert {"fusewire", "python", "numpy", "target"} <= events[0]["data"]["versions"].keys()


def test_kinds_of_events(events):
    kinds = {event["kind"] for event in events}
    assert {"graph_break", "recompile", "guards", "graph", "plan", "compiled", "sizes", "side_effects", "call", "function", "process"} <= kinds, kinds
    failed = [e for e in events if e["kind"] == "graph_break" and e["data"]["reason"] == "backend-failed"]
    assert failed and "ZeroDivisionError" in failed[0]["text"]


def test_recompiles_tell_what_changed_and_what_to_do(events):
    misses = [miss for e in events if e["kind"] == "recompile" for miss in e["data"]["misses"]]
    assert any("ndim" in m["reason"] for m in misses) and any("dtype" in m["reason"] for m in misses), misses
    assert any(m["guard"] == "array" and m["advice"] for m in misses), misses
    sized = [m for m in misses if m["guard"] == "sym"]
    assert sized and "mark_dynamic" in sized[0]["advice"], misses


def test_guards_tell_lines_and_cost(events):
    guards = [e["data"] for e in events if e["kind"] == "guards"]
    assert any(g["line"] > 0 for e in guards for g in e["guards"])
    assert any(e.get("ns", 0) > 0 for e in guards)


def test_sizes(events):
    sizes = [s for e in events if e["kind"] == "sizes" for s in e["data"]["sizes"]]
    assert {s["policy"] for s in sizes} == {"static", "dynamic"}
    assert {s["value"] for s in sizes if s["policy"] == "static"} == {3, 4}


CALLS = """
import sys, threading
import numpy as np, fusewire

@fusewire.compile
def f(x, n):
    y = np.tanh(x) * 2
    if n == 77:
        raise KeyError("as ever")
    print(end="")
    return y + (f(x, n - 1) if 0 < n < 5 else 0)

@fusewire.compile
def g(x):
    return x * 2 + 1

x = np.ones(100)
for i in range(50):
    f(x, 3 if i % 10 == 0 else 0)
    g(x)
for _ in range(3):
    try:
        f(x, 77)
    except KeyError as error:
        assert error.args == ("as ever",)
threads = [threading.Thread(target=lambda: [g(x) for _ in range(200)]) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
explanation = fusewire.explain(g)(x)
assert explanation.facts["call"]["compiled"], explanation

@fusewire.compile
def asks(x):
    return fusewire.explain(g)(x).facts["call"]["ns"] + x.sum()
for _ in range(6):
    assert asks(x) > 0
"""


def test_calls_are_timed_and_some_are_watched(tmp_path):
    result = subprocess.run([sys.executable, "-c", CALLS], capture_output=True, text=True, env={**os.environ, "FUSEWIRE_TRACE": str(tmp_path), "FUSEWIRE_LOGS": ""})
    assert result.returncode == 0, result.stderr
    (file,) = tmp_path.glob("*.jsonl")
    events = [json.loads(line) for line in file.read_text().splitlines()]
    assert not [problem for event in events for problem in problems(event, SCHEMA)]
    facts = {e["data"]["name"]: e["data"] for e in events if e["kind"] == "function"}
    assert facts["f"]["timed"]["calls"] == 53  # a call from within a call is part of it
    assert facts["g"]["timed"]["calls"] == 50 + 4 * 200 + 1 + facts["asks"]["timed"]["calls"] and facts["g"]["timed"]["ns"] > 0
    calls = [e["data"] for e in events if e["kind"] == "call"]
    assert 4 <= sum(c["function"] == "f" for c in calls) <= 53 and {"f", "g"} <= {c["function"] for c in calls}
    for call in calls:
        assert 0 <= call["native_ns"] <= call["ns"] and 0 <= call["own_ns"]
    native = [c for c in calls if c["function"] == "f" and any(s["native"] for s in c["stretches"])]
    assert native and {3, 5, 6, 7, 8} & {n - 1 for c in native for s in c["stretches"] for n in s["lines"]}


def test_nothing_is_timed_without_a_trace():
    program = CALLS + "\nassert 'timed' not in fusewire._fusewire.describe(g) and not fusewire._fusewire.trace_path()\n"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, env={**os.environ, "FUSEWIRE_TRACE": ""}).returncode == 0
