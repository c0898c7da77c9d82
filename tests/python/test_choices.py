"""Strings, None, members of enums and objects of which array data decides which one a variable is (src/frame_eval/choices.h)."""

import enum

import fusewire
import numpy as np
import pytest
from compare import assert_same_call

X = np.random.default_rng(3).normal(size=300)
ARRAYS = [X, -X, X + 2, X[:1], X[:0]]


class Mode(enum.Enum):
    IDLE = 0
    RUN = 1
    STOP = 2


class Kind:
    def __init__(self, name, rate):
        self.name, self.rate, self.asked = name, rate, 0

    @property
    def counted(self):
        self.asked += 1
        return self.rate


class Thermostat:
    def __init__(self):
        self.state, self.starts, self.t = "off", 0, 20.0

    def step(self, dt):
        if self.state == "off" and self.t < 19:
            self.state = "heat"
            self.starts += 1
        elif self.state == "heat" and self.t > 21:
            self.state = "off"
        self.t += (0.3 if self.state == "heat" else -0.2) + dt


def traffic(x):
    state, wait, total = "red", 0, 0.0
    for v in x:
        if state == "red":
            wait += 1
            if v > 0.5 or wait > 5:
                state, wait = "green", 0
        elif state == "green":
            total += v
            if v < -0.5:
                state = "yellow"
        else:
            state = "red"
    return total, wait, state


def modes(x):
    m, n, out = Mode.IDLE, 0, np.zeros(len(x))
    for i in range(len(x)):
        if m is Mode.IDLE and x[i] > 0.3:
            m = Mode.RUN
        elif m == Mode.RUN:
            out[i] = x[i] * 2
            if x[i] < -1:
                m = Mode.STOP
        elif m is Mode.STOP:
            n += 1
            if n % 3 == 0:
                m = Mode.IDLE
        out[i] += m.value
    return out, m, n


def thermostat(x):
    t = Thermostat()
    for v in x:
        t.step(0.05 * v)
    return t.t, t.starts, t.state


def positions(x):
    side, pnl, entry = None, 0.0, 0.0
    for p in x:
        if side is None:
            if p > 0.8:
                side, entry = "short", p
            elif p < -0.8:
                side, entry = "long", p
        elif side == "long" and p > 0:
            pnl += p - entry
            side = None
        elif side == "short" and p < 0:
            pnl += entry - p
            side = None
    return pnl, side


def turns(x):
    trend, count, last = None, 0, 0.0
    for v in x:
        new = "up" if v > last else "down"
        if trend is not None and new != trend:
            count += 1
        trend, last = new, v
    return count, trend


def counters(x):
    counts = {"low": 0, "mid": 0, "high": 0}
    for v in x:
        key = "low" if v < -0.5 else "mid" if v < 0.5 else "high"
        counts[key] += 1
    return counts


def rates(x):
    table, gear, s = {"slow": 0.1, "fast": 2.5}, "slow", 0.0
    for v in x:
        s += table[gear] * v
        if v > 1:
            gear = "fast"
        elif v < -1:
            gear = "slow"
    return s, gear


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


@pytest.mark.parametrize("function", [traffic, modes, thermostat, positions, turns, counters, rates, followed, labels, events, named, unread, objects], ids=lambda f: f.__name__)
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
        one, other = Thermostat(), Thermostat()
        for _ in range(3):
            assert f(x, one) == compiled(x, other)
            assert vars(one) == vars(other) and one.state is other.state
