"""Loops whose first turn finds a number of another class than it leaves, and in which data decides what happens."""

from __future__ import annotations

import numpy as np
import pytest

import fusewire
from compare import assert_same_call

RNG = np.random.default_rng(3)


def rises(x):
    out, last = [], 0.0
    for i, v in enumerate(x):
        if v > last:
            out.append((i, v - last))
        last = v
    return out, last


def records(x):
    high, n, known = 0, 0, {}
    for v in x:
        if v > high + 1:
            n += 1
            known[int(v)] = known.get(int(v), 0) + 1
        high = v
    return high, n, known


def after_none(x):
    last, runs = None, []
    for v in x:
        if last is not None and v > last:
            runs.append(v)
        last = v
    return runs


def run_lengths(x):
    """The arm that raises in the first turn is Python's."""
    last, runs = 0, []
    for v in x:
        if v == last:
            runs[-1] += 1
        else:
            runs.append(1)
        last = v
    return runs


def switch(x):
    on, out, ups = 0, np.zeros(len(x)), []
    for i in range(len(x)):
        if on == 0 and x[i] > 1:
            on = 1
            ups.append(i)
        elif on == 1 and x[i] < -1:
            on = 0
        out[i] = on
    return out, ups


def prints_behind(x, y):
    last = s = 0.0
    for i in range(len(x)):
        if x[i] > last:
            y[i] = last
            s += 1.0
        last = x[i] * 0.5 + last
    print(end="")
    return s, last


def chained(x, steps):
    """What is left on the stack where a chained comparison ends early is dropped behind the loop."""
    n = 0
    for i in range(len(x) // 10):
        p = 0
        for j in range(10):
            p += steps[i * 10 + j]
            if not (-8 <= p < 8):
                break
            if p == 3 or p == 4:
                n += 1
                break
    return n


ARGUMENTS = {
    rises: lambda n: (RNG.standard_normal(n),),
    records: lambda n: (RNG.standard_normal(n) * 3,),
    after_none: lambda n: (RNG.standard_normal(n),),
    run_lengths: lambda n: (RNG.integers(0, 3, n) + (np.arange(n) == 0),),
    switch: lambda n: (RNG.standard_normal(n),),
    prints_behind: lambda n: (RNG.standard_normal(n), np.zeros(n)),
    chained: lambda n: (np.zeros(n), RNG.integers(-5, 6, n)),
}


@pytest.mark.parametrize("function", ARGUMENTS, ids=lambda f: f.__name__)
def test_loops(function):
    compiled = fusewire.compile(function, economy=False)
    for n in (300, 0, 1, 2, 3, 10, 301):
        assert_same_call(function, compiled, ARGUMENTS[function](n))
    told = fusewire._fusewire.describe(compiled)
    assert told["variants"] or function is prints_behind and told["regions"]


def test_what_raises_in_the_first_turn():
    compiled = fusewire.compile(run_lengths, economy=False)
    for x in ([1, 1, 2], [0, 1], [2], [0], [1, 0, 0, 5], []):
        assert_same_call(run_lengths, compiled, (np.array(x, dtype=int),))
