"""Strings, None, members of enums and objects of which array data decides which one a variable is (src/frame_eval/choices.h)."""

import sys
from pathlib import Path

import fusewire
import numpy as np
import pytest
from compare import assert_same_call

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
from textbook.machines import Thermostat, classes, gears, heating, pump, trades, traffic_light  # noqa: E402

X = np.random.default_rng(3).normal(size=300)
ARRAYS = [X, -X, X + 2, X[:1], X[:0]]


class Kind:
    def __init__(self, name, rate):
        self.name, self.rate, self.asked = name, rate, 0

    @property
    def counted(self):
        self.asked += 1
        return self.rate


def turns(x):
    trend, count, last = None, 0, 0.0
    for v in x:
        new = "up" if v > last else "down"
        if trend is not None and new != trend:
            count += 1
        trend, last = new, v
    return count, trend


def followed(x):
    follow, s, n = {"a": "b", "b": "c", "c": "a"}, "a", 0
    for v in x:
        if v > 0:
            s = follow[s]
        n += s in ("a", "b")
    return n, s


def labels(x):
    return ["pos" if v > 0 else "neg" for v in x]


def events(x):
    out, s = [], "flat"
    for i in range(1, len(x)):
        d = x[i] - x[i - 1]
        new = "up" if d > 0.5 else "down" if d < -0.5 else "flat"
        if new != s:
            out.append((i, new))
            s = new
    return out


def named(x):
    if x.sum() > 10:
        return "high"
    if x.sum() < -10:
        return "low"
    return None


def unread(x):
    s = ""
    for v in x:
        s = "" if v < -0.3 else "b"
        if not s and v > 5:
            return "never"
    return s or "none"


SLOW, FAST = Kind("slow", 0.5), Kind("fast", 2.0)


def objects(x):
    kind, s = SLOW, 0.0
    for v in x:
        s += kind.rate * v
        kind = FAST if v > 0.5 else SLOW if v < -0.5 else kind
    return s, kind, kind.name


@pytest.mark.parametrize("function", [traffic_light, pump, heating, trades, turns, classes, gears, followed, labels, events, named, unread, objects], ids=lambda f: f.__name__)
def test_state_that_data_decides(function):
    compiled = fusewire.compile(function, economy=False)
    for x in ARRAYS:
        assert_same_call(function, compiled, (x,))
    fresh = fusewire.compile(function, economy=False)
    fresh(X), fresh(-X)
    facts = fusewire._fusewire.describe(fresh)
    assert not facts["breaks"], facts["breaks"]


def test_what_leaves_is_the_very_object():
    kept = {"".join(["r", "un"]): 1}
    name = next(iter(kept))   # equal to a constant of the code, and another object

    def f(x, name):
        s = name
        if x.sum() > 0:
            s = "run"
        return s is name, s == "run", s

    compiled = fusewire.compile(f, economy=False)
    for x in (X - 5, X + 5):
        expected, result = f(x, name), compiled(x, name)
        assert result == expected and result[2] is expected[2]


def test_code_that_is_asked_runs_for_one_thing_only():
    def f(x, slow, fast):
        kind = slow
        if x.sum() > 0:
            kind = fast
        return kind.counted

    compiled = fusewire.compile(f, economy=False)
    for x in (X + 5, X - 5, X + 5):
        things, others = (Kind("s", 1.0), Kind("f", 2.0)), (Kind("s", 1.0), Kind("f", 2.0))
        assert f(x, *things) == compiled(x, *others)
        assert [t.asked for t in things] == [t.asked for t in others]


def test_a_thing_for_which_it_raises():
    def f(x):
        s = None
        for v in x:
            if v > 0.9:
                s = "spike"
            elif v < -0.9:
                s = "dip"
            if v > 3:
                return s.upper()
        return {"spike": 1, "dip": 2}[s]

    compiled = fusewire.compile(f, economy=False)
    for x in (X, np.array([0.95]), np.array([-2.0, 0.0]), np.array([0.0]), np.array([5.0]), X[:0]):
        assert_same_call(f, compiled, (x,))


def test_it_raises_for_all_of_them():
    def f(x):
        s = "a"
        if x.sum() > 0:
            s = "b"
        try:
            return {"c": 1}[s]
        except KeyError as e:
            return e.args

    compiled = fusewire.compile(f, economy=False)
    for x in (X + 5, X - 5):
        assert_same_call(f, compiled, (x,))


def test_a_list_gets_other_names_behind():
    def f(x):
        out = []
        for v in x:
            if v > 0.5:
                out.append("high")
            elif v < -0.5:
                out.append("low")
        out.append("end")
        return out, out[0], out.count("low"), "high" in out

    compiled = fusewire.compile(f, economy=False)
    for x in (X, -X, X[:1], X * 0):
        assert_same_call(f, compiled, (x,))


def test_many_things():
    def f(x):
        s = "a"
        for v in x:
            for k in range(20):
                if v > k / 10:
                    s = "abcdefghijklmnopqrstuvwxyz"[k]
        return s

    compiled = fusewire.compile(f, economy=False)
    for x in (X, -X, X[:3]):
        assert_same_call(f, compiled, (x,))


def test_a_state_of_an_object_of_the_callers():
    def f(x, machine):
        for v in x:
            machine.step(v)
        return machine.t

    compiled = fusewire.compile(f, economy=False)
    for x in (X, -X, X[:2]):
        one, other = Thermostat(20.0), Thermostat(20.0)
        for _ in range(3):
            assert f(x, one) == compiled(x, other)
            assert vars(one) == vars(other) and one.state is other.state
