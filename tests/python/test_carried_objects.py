"""Loops whose turns change what lists, dicts, cells and objects hold, and hand that on: as one region."""
import copy

import numpy as np
import pytest

import compare
import fusewire
from compare import assert_same_call


def sums_in_a_list(x, n):
    acc = [0.0, 0.0, 1]
    for v in x:
        acc[0] += v
        acc[1] += v * v
        acc[2] += 1
    return acc, acc[0] / acc[2]


def sums_in_a_dict(x, n):
    acc = {"n": 0, "s": 0.0}
    for v in x:
        acc["n"] += 1
        acc["s"] += v
    return acc


def under_a_condition(x, n):
    acc = [0.0, 0]
    for v in x:
        if v > 0.5:
            acc[0] += v
            acc[1] += 1
        elif v < 0.1:
            acc[0] -= 1.0
    return acc


def tuples_of_arrays(x, n):
    state = (x, x * 0.5)
    for k in range(n):
        a, b = state
        state = (a + 0.1 * b, b - 0.1 * a)
    return state


def nested_tuples(x, n):
    st = ((0.0, 0.0), 0)
    for v in x:
        (a, b), m = st
        st = ((a + v, b + v * v), m + 1)
    return st


def arrays_in_a_list(x, n):
    fields = [x * 1.0, x + 1.0]
    for k in range(n):
        fields[0] = fields[0] + 0.01 * fields[1]
        fields[1] = fields[1] - 0.01 * fields[0]
    return fields


def arrays_in_a_dict_swapped(x, n):
    d = {"old": x * 1.0, "new": np.zeros_like(x)}
    for k in range(n):
        d["new"][1:-1] = 0.5 * (d["old"][:-2] + d["old"][2:])
        d["old"], d["new"] = d["new"], d["old"]
    return d["old"], d["new"]


def a_cell(x, n):
    total = 0.0

    def add(v):
        nonlocal total
        total += v

    for v in x:
        add(v)
    return total


def left_early(x, n):
    acc = [0.0, -1]
    for i in range(len(x)):
        acc[0] += x[i]
        acc[1] = i
        if x[i] > 0.9:
            break
    return acc


def triangle(x, n):
    acc = [0.0, 0]
    for i in range(len(x)):
        for j in range(i):
            acc[0] += x[i] * x[j]
            acc[1] += 1
    return acc


MADE = [sums_in_a_list, sums_in_a_dict, under_a_condition, tuples_of_arrays, nested_tuples, arrays_in_a_list, arrays_in_a_dict_swapped, a_cell, left_early, triangle]


@pytest.mark.parametrize("function", MADE, ids=lambda f: f.__name__)
def test_made_by_the_function(function):
    compiled = fusewire.compile(function, fullgraph=True)
    for n in (70, 120, 71):
        assert_same_call(function, compiled, (np.random.default_rng(n).random(n), n))
    compiled = fusewire.compile(function)
    for n in (0, 1, 2, 3, 80, 0):
        assert_same_call(function, compiled, (np.random.default_rng(n).random(n), n))


class Filter:
    kind = "low"
    gain = 1.0

    def __init__(self):
        self.y = 0.0
        self.n = 0
        self.a = 0.9
        self.seen = [0.0, 0.0]
        self.counts = {"up": 0, "down": 0}
        self.buffer = np.zeros(4)

    def step(self, v):
        self.y = self.a * self.y + (1 - self.a) * v
        self.n += 1
        return self.y

    def run(self, x):
        for v in x:
            self.y = self.a * self.y + (1 - self.a) * v
            self.n += 1
        return self.y

    def run_steps(self, x):
        out = np.zeros_like(x)
        for i in range(len(x)):
            out[i] = self.step(x[i])
        return out

    def branches(self, x):
        for v in x:
            if v > 0.5:
                self.counts["up"] += 1
                self.y = self.y + v
            else:
                self.counts["down"] += 1
                self.seen[0] = v
        return self.y, self.n

    def relax(self, x):
        self.u = x
        for k in range(len(x)):
            self.u = self.u * 0.99 + 0.01
        return self.u.sum()

    def new_attribute(self, x):
        for v in x:
            self.last = v
            self.gain = self.gain * 0.5 + v
        return self.n

    def until(self, x):
        i = 0
        while i < len(x) and self.y < 3.0:
            self.y += x[i]
            i += 1
        return i

    def rings(self, x):
        for i in range(len(x)):
            self.buffer[i % 4] += x[i]
            self.seen[1] = self.seen[1] + self.buffer[i % 4]
        return self.buffer.sum()


class Slots:
    __slots__ = ("v", "n")

    def __init__(self):
        self.v, self.n = 1.0, 0

    def run(self, x):
        for a in x:
            self.v = self.v * 0.5 + a
            self.n += 2
        return self.v


def state(f):
    return {name: copy.deepcopy(getattr(f, name)) for name in (*getattr(f, "__dict__", ()), *getattr(f, "__slots__", ()))}


def breaks(compiled):
    # `until` has nothing to do where it was called before.
    return [b for b in fusewire._fusewire.describe(compiled)["breaks"] if b["reason"] != "nothing-to-compile"]


METHODS = ["run", "run_steps", "branches", "relax", "new_attribute", "until", "rings"]


def assert_same_state(cls, method, x, compiled):
    plain, other = cls(), cls()
    for given in (x, x[::-1].copy()):
        expected, actual = compare.run(getattr(cls, method), (plain, given)), compare.run(compiled, (other, given))
        assert repr(expected.error) == repr(actual.error)
        compare.assert_same_value(expected.result, actual.result, None)
        compare.assert_same_value(state(plain), state(other), None)
        assert expected.warned == actual.warned


@pytest.mark.parametrize("method", METHODS)
def test_attributes_of_an_object_from_outside(method):
    compiled = fusewire.compile(getattr(Filter, method))
    for n in (80, 300, 81):
        assert_same_state(Filter, method, np.random.default_rng(n).random(n), compiled)
    assert not breaks(compiled)
    compiled = fusewire.compile(getattr(Filter, method))
    for n in (0, 1, 2, 3, 90, 0):
        assert_same_state(Filter, method, np.random.default_rng(n).random(n), compiled)


def test_slots():
    compiled = fusewire.compile(Slots.run)
    for n in (80, 300):
        assert_same_state(Slots, "run", np.random.default_rng(n).random(n), compiled)
    assert not breaks(compiled)
    for n in (0, 1, 2, 80):
        assert_same_state(Slots, "run", np.random.default_rng(n).random(n), compiled)


def write_and_fail(f, x, at):
    for i in range(len(x)):
        f.y = f.y + x[i]
        f.seen[0] = x[i]
        if i > 60:
            f.n = f.n + 10 // int(at[i])
    return f.y


def test_what_python_does_again():
    """A turn that fails leaves objects as they were: Python does it all, and fails where it does."""
    compiled = fusewire.compile(write_and_fail)
    x = np.random.default_rng(1).random(200)
    for zero in (-1, 150, 199, 61):
        at = np.ones(200, dtype=np.int64)
        if zero >= 0:
            at[zero] = 0
        plain, other = Filter(), Filter()
        expected, actual = compare.run(write_and_fail, (plain, x, at)), compare.run(compiled, (other, x, at))
        assert repr(expected.error) == repr(actual.error)
        compare.assert_same_value(expected.result, actual.result, None)
        compare.assert_same_value(state(plain), state(other), None)


def two_names(f, g, x):
    for v in x:
        f.y = f.y + v
        g.y = g.y * 0.5
    return f.y


def test_one_object_by_two_names():
    compiled = fusewire.compile(two_names)
    x = np.random.default_rng(1).random(100)
    for same in (False, True, False):
        f, a = Filter(), Filter()
        g, b = (f, a) if same else (Filter(), Filter())
        compare.assert_same_value(two_names(f, g, x), compiled(a, b, x), None)
        compare.assert_same_value([state(f), state(g)], [state(a), state(b)], None)


def appended(held, y):
    if y.sum() > 0:
        held.append(1.0)
    else:
        held.append(2.0)
    return len(held)


def inserted(held, y):
    if y.sum() > 0:
        held.insert(0, 1.0)
    else:
        held.insert(0, 2.0)
    held[1] = 7.0
    return len(held)


def popped(held, y):
    if y.sum() > 0:
        v = held.pop()
    else:
        v = held.pop() * 2
    return v


def emptied(held, y):
    if y.sum() > 0:
        held.clear()
    else:
        del held[:]
    return y * 2


def turned(held, y):
    if y.sum() > 0:
        held.reverse()
    else:
        held.reverse()
        held[0] = 9.0
    return y * 2


def extended(held, y):
    if y.sum() > 0:
        held += [1.0, 2.0]
    else:
        held.extend((3.0, 4.0))
    held.append(y.sum())
    return held


def shortened_behind(held, y):
    if y.sum() > 0:
        if y.sum() > 1:
            pass
        del held[1]
    return held


def new_keys(held, y):
    if y.sum() > 0:
        held["n"] = 1.0
        held["m"] = 2.0
    else:
        held["n"] = 3.0
        held["m"] = 4.0
    return y * 2


def other_keys(held, y):
    if y.sum() > 0:
        held["n"] = 1.0
    else:
        held["m"] = 4.0
    return y * 2


def lost_keys(held, y):
    if y.sum() > 0:
        held.pop("a")
    else:
        del held["a"]
    return y * 2


def default_keys(held, y):
    if y.sum() > 0:
        held.setdefault("q", 1.0)
    else:
        held.setdefault("q", 2.0)
    held["a"] = 5.0
    return list(held)


@pytest.mark.parametrize("function", [appended, inserted, popped, emptied, turned, extended, shortened_behind, new_keys, other_keys, lost_keys, default_keys])
@pytest.mark.parametrize("options", [{}, {"compile_all": True, "economy": False, "warm_up": 0}])
def test_branches_that_change_how_much_an_object_of_the_caller_holds(function, options):
    compiled = fusewire.compile(function, **options)
    for n in (1, -1, 1, -1, -1, 1):
        y = np.full(5, float(n))
        plain, ours = ({"a": 1.0, "b": 2.0}, {"a": 1.0, "b": 2.0}) if "keys" in function.__name__ else ([1.5, 2.5, 3.5], [1.5, 2.5, 3.5])
        want, got = function(plain, y), compiled(ours, y)
        assert str(want) == str(got)
        assert str(plain) == str(ours)
