"""Tuples of numbers that turns of a loop hand on, and that branches decide about: as one region."""
import numpy as np
import pytest

import fusewire
from compare import assert_same_call


def best_pair(a, n):
    best, place = -1.0, (0, 0)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] > best:
                best = a[i, j]
                place = (i, j)
    return best, place


def closest(a, n):
    least, pair = np.inf, (-1, -1)
    for i in range(len(a)):
        for j in range(i + 1, len(a)):
            d = abs(a[i, 0] - a[j, 0])
            if d < least:
                least, pair = d, (i, j)
    return pair, least


def state(a, n):
    s = (0.0, 1.0)
    for k in range(n):
        x, v = s
        s = (x + 0.01 * v, v - 0.01 * x)
    return s


def range_of(a, n):
    limits = (a[0, 0], a[0, 0])
    for i in range(len(a)):
        limits = (min(limits[0], a[i, 0]), max(limits[1], a[i, 0]))
    return limits[1] - limits[0], limits


def last(a, n):
    p = None
    for k in range(n):
        q = (k, a[k % 3, 0])
    return q if n else p


def branch(a, n):
    p = (1, 2.0)
    if a[0, 0] > 0.5:
        p = (3, 4.0)
    return p, p[0] + p[1]


def three(a, n):
    t = (0, 0.0, 1)
    for i in range(len(a)):
        if a[i, 0] > t[1]:
            t = (i, a[i, 0], t[2] + 1)
    return t


def while_loop(a, n):
    at, steps = (0, 0), 0
    while steps < n and at[0] < len(a) - 1 and at[1] < a.shape[1] - 1:
        if a[at[0] + 1, at[1]] > a[at[0], at[1] + 1]:
            at = (at[0] + 1, at[1])
        else:
            at = (at[0], at[1] + 1)
        steps += 1
    return at, steps


def left_early(a, n):
    where = (-1, -1)
    for i in range(len(a)):
        for j in range(a.shape[1]):
            if a[i, j] > 0.97:
                where = (i, j)
                break
        if where[0] >= 0:
            break
    return where


def grows(a, n):
    t = (0,)
    for k in range(3):
        t = t + (k,)
    return t


def of_another_kind(a, n):
    t = (0, 0)
    for k in range(n):
        t = (k, "a") if k % 2 else (k, 1)
    return t


ONE_REGION = [best_pair, closest, state, range_of, last, branch, three, while_loop, left_early]


@pytest.mark.parametrize("function", [*ONE_REGION, grows, of_another_kind])
def test_program(function):
    compiled = fusewire.compile(function)
    r = np.random.default_rng(4)
    for shape, n in (((70, 71), 100), ((71, 70), 101), ((70, 71), 100), ((66, 3), 70)):
        assert_same_call(function, compiled, (r.random(shape), n))
    breaks = fusewire._fusewire.describe(compiled)["breaks"]
    assert function not in ONE_REGION or not breaks, breaks
    for shape, n in (((2, 2), 2), ((1, 1), 1), ((3, 3), 0), ((90, 80), 200)):
        assert_same_call(function, compiled, (r.random(shape), n))
