"""Loops whose bounds data decides, so that places are asked for while they run: in front of a strip of turns, where they are linear in
the turn. What raises, counts from the end or leaves the loop before it would raise is Python's answer all the same.
"""

from __future__ import annotations

import numpy as np
import pytest

import fusewire
from compare import run, assert_same_outcome


def upwards(x, bounds):
    out = np.zeros(len(x))
    for k in range(len(bounds)):
        for i in range(int(bounds[k])):
            out[i] += x[2 * i + 1] - x[2 * i]
    return out


def downwards(x, bounds):
    s = 0.0
    for k in range(len(bounds)):
        for i in range(int(bounds[k]), -1, -1):
            s = s * 0.5 + x[i]
    return s


def from_the_end(x, bounds):
    s = 0.0
    for k in range(len(bounds)):
        n = int(bounds[k])
        for i in range(n):
            s = s * 0.5 + x[i - n]
    return s


def shifted(x, bounds):
    for k in range(len(bounds)):
        n = int(bounds[k])
        for i in range(n):
            x[i] = x[i] + x[n + i]
    return x


def until_found(x, bounds):
    """The way out comes before what would raise."""
    found = np.zeros(len(bounds), dtype=np.int64)
    for k in range(len(bounds)):
        for i in range(int(bounds[k])):
            if x[i] > 2.5:
                found[k] = i
                break
    return found


def halves(x, bounds):
    out = x.copy()
    n = int(bounds[0])
    while n > 1:
        half = n // 2
        t = out[:n].copy()
        for i in range(half):
            out[i] = t[2 * i] + t[2 * i + 1]
            out[half + i] = t[2 * i] - t[2 * i + 1]
        n = half
    return out


def rows(x, bounds):
    table = x[: len(x) // 7 * 7].reshape(-1, 7)
    s = 0.0
    for k in range(len(bounds)):
        for i in range(int(bounds[k])):
            for j in range(int(bounds[k]) % 9):
                s += table[i, j] * table[i, 6 - j]
    return s


def in_threes(x, bounds):
    count = 0
    for k in range(len(bounds)):
        for i in range(0, int(bounds[k]), 3):
            count += 1 if x[i] > x[i + 2] else 0
    return count


BOUNDS = [[0], [1], [3], [5, 0, 7], [40], [41], [100], [101], [1000, 20], [2500], [2600, 3], [5200], [5201], [-4], [1, 1, 1, 2]]


@pytest.mark.parametrize("function", [upwards, downwards, from_the_end, shifted, until_found, halves, rows, in_threes], ids=lambda f: f.__name__)
def test_bounds_that_data_decides(function):
    compiled = fusewire.compile(function, economy=False)
    rng = np.random.default_rng(3)
    for size in (5200, 100, 41, 1, 0):
        x = rng.standard_normal(size)
        for bounds in BOUNDS:
            given = (x.copy(), np.array(bounds))
            for _ in range(2):
                assert_same_outcome(run(function, given), run(compiled, given))


@pytest.mark.parametrize("function", [upwards, shifted, halves], ids=lambda f: f.__name__)
def test_many_calls_that_raise(function):
    """A call that is in doubt begins anew; one that raises is Python's, the next one is not."""
    compiled = fusewire.compile(function, economy=False)
    x = np.random.default_rng(3).standard_normal(64)
    for turn in range(60):
        given = (x.copy(), np.array([[32], [33], [70], [16]][turn % 4]))
        assert_same_outcome(run(function, given), run(compiled, given))
