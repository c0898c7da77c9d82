"""What Fusewire takes for itself is counted, per function and for the process: code that is looked into in vain for longer than
a tenth of its own run time is left to Python until it has run for longer, whoever decorated it, and explain() and the summary
say so."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import fusewire
from fusewire import _fusewire


def loser(regions=60, items=1500):
    """A function of many regions, each of which reads a large dict and has nothing to do with arrays."""
    lines = ["def planted_loser(table, idle):", "    total = len(table)", "    pause(idle)"]
    for i in range(regions):
        lines += [f"    total += table['k{i}']", "    opaque()"]
    namespace = {"opaque": lambda: print(end=""), "pause": time.sleep}
    exec("\n".join([*lines, "    return total"]), namespace)
    return namespace["planted_loser"], {f"k{i}": i for i in range(items)}


def overhead(f):
    return _fusewire.describe(f)["overhead"]


def test_looking_in_vain_ends():
    function, table = loser()
    f = fusewire.compile(function)
    expected = function(table, 0)
    for _ in range(20):
        assert f(table, 0) == expected
    counted = overhead(f)
    assert counted["told"] and counted["in_vain_ms"] == counted["ms"] >= 30
    most = 30 + counted["ran_ms"] / 10
    assert counted["ms"] < most + 50  # the last capture began before


def test_without_economy_nothing_ends():
    function, table = loser()
    f = fusewire.compile(function, economy=False)
    for _ in range(3):
        f(table, 0)
    assert not overhead(f)["told"]


def test_it_is_told():
    function, table = loser()
    f = fusewire.compile(function)
    for _ in range(5):
        f(table, 0)
    assert "left to Python: it was looked into for" in str(fusewire.explain(f)(table, 0))
    last = fusewire.summary().splitlines()[-1]
    assert "left to Python" in last and "planted_loser" in last


def test_code_that_runs_for_longer_is_looked_into_again():
    function, table = loser()
    f = fusewire.compile(function)
    while not overhead(f)["left_to_python"]:
        f(table, 0)
    f(table, 0.5)
    assert not overhead(f)["left_to_python"]


def test_code_that_nobody_has_decorated_is_left_alone_too():
    function, table = loser()
    before = len(_fusewire.overhead()["left_to_python"])

    @fusewire.compile
    def main(x):
        print(end="")
        return x + function(table, 0)

    for _ in range(10):
        assert main(np.ones(2)).tolist() == [1 + function(table, 0)] * 2
    assert "planted_loser" in _fusewire.overhead()["left_to_python"][before:]


def test_the_trace_tells_when(tmp_path):
    """The event has the form that the schema wants: a function, and times."""
    program = "import test_overhead as t, fusewire\nf, table = t.loser()\ng = fusewire.compile(f)\nfor _ in range(9): g(table, 0)"
    environment = {**os.environ, "FUSEWIRE_TRACE": str(tmp_path), "PYTHONPATH": str(Path(__file__).parent)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    events = [json.loads(line) for file in tmp_path.glob("*.jsonl") for line in file.read_text().splitlines()]
    (told,) = [e["data"] for e in events if e["kind"] == "left_to_python"]
    assert told["function"] == "planted_loser" and told["in_vain_ms"] >= 30 and told["ran_ms"] >= 0


def test_what_pays_is_not_lost():
    @fusewire.compile
    def f(x, y):
        return (x * 2 + y).sum()

    for dtype in (np.float32, np.float64, np.int32, np.int64, np.uint8):
        assert f(np.ones(3, dtype), np.ones(3, dtype)) == 9
    assert overhead(f)["ms"] > 0 and overhead(f)["in_vain_ms"] < 1 and not overhead(f)["left_to_python"]


def test_containers_of_collections_are_not_read_without_end():
    """A list in a defaultdict that has grown past what is read item by item stays closed."""
    from collections import defaultdict

    def f(groups, x):
        groups["a"].append(x.sum())
        return x * len(groups["a"])

    plain, groups = defaultdict(list), defaultdict(list)
    plain["a"], groups["a"] = list(range(5000)), list(range(5000))
    g = fusewire.compile(f)
    for _ in range(4):
        assert np.array_equal(g(groups, np.arange(4.0)), f(plain, np.arange(4.0)))
    assert plain == groups
    assert not any(len(v["guard_list"]) > 100 for v in _fusewire.describe(g)["variants"])


def test_keys_of_large_dicts():
    """Dicts of a trace have an index from 16 keys on: overwriting, erasing, moving and merging keep it right."""

    def f(x, keys):
        table = {}
        for i, key in enumerate(keys):
            table[key] = i
        for key in keys[::3]:
            del table[key]
        table[keys[0]] = -1
        table.update({keys[1]: -2, "new": 5})
        other = dict(table)
        first = other.pop(keys[4])
        merged = {**other, **{keys[4]: first, 1: "int", 1.0: "float", True: "bool"}}
        return x * len(merged), list(merged.items()), keys[2] in merged, merged.get(keys[3])

    keys = tuple(f"k{i}" for i in range(30))
    g = fusewire.compile(f, fullgraph=True)
    for _ in range(2):
        got, want = g(np.ones(2), keys), f(np.ones(2), keys)
        assert got[0].tolist() == want[0].tolist() and got[1:] == want[1:]
        assert [type(v) for pair in got[1] for v in pair] == [type(v) for pair in want[1] for v in pair]


def test_sets_keep_their_order():
    def f(x, items):
        seen = set(items)
        for item in items[::4]:
            seen.discard(item)
        seen |= {"a", "b"}
        return x * 2, list(seen), sorted(map(str, seen & {"a", items[1]}))

    items = tuple(range(3, 60, 2))
    g = fusewire.compile(f)
    for _ in range(2):
        assert g(np.ones(2), items)[1:] == f(np.ones(2), items)[1:]


def test_objects_written_are_told_apart():
    """Every written object is guarded to be none of the others of its type."""

    class Box:
        def __init__(self, v):
            self.v = v

    def f(a, b, c, x):
        a.v = a.v + 1
        b.v = b.v * 2
        return x * c.v

    g = fusewire.compile(f)
    for _ in range(2):
        boxes, others = [Box(1.0), Box(2.0), Box(3.0)], [Box(1.0), Box(2.0), Box(3.0)]
        for pick in ((0, 1, 2), (0, 0, 2), (0, 1, 0), (1, 2, 2), (1, 1, 1)):
            got = g(*(boxes[i] for i in pick), np.ones(2))
            want = f(*(others[i] for i in pick), np.ones(2))
            assert got.tolist() == want.tolist() and [b.v for b in boxes] == [b.v for b in others]
