"""Sums of ints in loops, of which the code asks for what they are made of rather than for each: near the ends of what 62, 63 and 64 bits
hold, the answers and warnings are Python's and NumPy's all the same.
"""

from __future__ import annotations

import numpy as np
import pytest

import fusewire
from compare import assert_same_outcome, run

LARGE = [2**60, 2**61 - 2, 2**61 - 1, 2**61, 2**62 - 1, 2**62, 2**62 + 1, 2**63 - 1]


def edit_row(a, b):
    row = np.zeros(len(a) + 1, dtype=np.int64)
    row[0] = b[0]
    for i in range(len(a)):
        cost = b[i] if a[i] == b[i] else b[i] + 1
        row[i + 1] = min(cost, a[i] + 1, row[i] + 1)
    return row


def total(a, b):
    s = 0
    for i in range(len(a)):
        s = s + a[i] - b[i]
    return s


def alternating(a, b):
    s = a[0]
    for i in range(len(a)):
        s = b[i] - s
    return s


def total_of_ints(a, b):
    s = 0
    for i in range(len(a)):
        s += int(a[i]) + int(b[i])
    return s


def largest_sum(a, b):
    best = here = a[0]
    for i in range(1, len(a)):
        here = max(a[i], here + a[i])
        best = max(best, here - b[i])
    return best, here


def chosen(a, b):
    s = t = 0
    for i in range(len(a)):
        if a[i] > b[i]:
            s = s + a[i]
        else:
            t = t + b[i] - 1
    return s, t


def weighted(a, b):
    s = 0
    for i in range(len(a)):
        s = max(s, 3 * a[i] - 2 * b[i]) - 1
    return s


def doubled(a, b):
    s = t = a[0]
    for i in range(len(a)):
        s, t = t, s + t
        s = min(s, b[i])
    return s, t


def products(a, b):
    best = 2**62
    for i in range(len(a)):
        best = min(best, a[0] * b[i] * a[-1] + a[i] + b[i] + 1)
    return best


def offset(a, b):
    out = np.zeros(len(a), dtype=np.int64)
    first, last = a[0], b[-1]
    for i in range(len(a)):
        out[i] = first + last + a[i] + (first - last)
    return out


def both_ways(a, b):
    s = t = u = 0
    for i in range(len(a)):
        s = s + a[i]
        t = t - a[i]
        u = min(u + a[i], b[0] + 5)
    return s, t, u


def around(a, b):
    out = np.zeros((4, len(a)), dtype=np.int64)
    first = b[0] + 1
    for i in range(len(a)):
        out[0, i] = a[i] + first
        out[1, i] = a[i] - first
        out[2, i] = a[i] + 7 + first
        out[3, i] = a[i] + a[i]
    return out


def unchanging(a, b):
    s = 0
    first, last = a[0], b[-1]
    for i in range(len(a)):
        s = max(s - a[i] - b[i], first + last)
    return s


def bits_of_the_program(a, b):
    """Collected by the program itself."""
    seen = last = both = 0
    for i in range(len(a)):
        last = seen
        seen |= b[0]
        both |= a[i] + b[0]
    return seen, last, both


def bits_in_some_turns(a, b):
    seen = other = 0
    most = int(b[0])
    for i in range(len(a)):
        if a[i] > 4:
            seen |= most
        other = other | most if a[i] < -4 else other
    return seen, other


def sign_of_the_program(a, b):
    seen = flags = 0
    for i in range(len(a)):
        seen |= a[i] + b[0]
        flags |= a[i] - b[0]
    if seen < 0:
        return "negative"
    return flags > 2**62 - 1


FUNCTIONS = [bits_in_some_turns, bits_of_the_program, sign_of_the_program, unchanging, both_ways, around, edit_row, total, alternating, total_of_ints, largest_sum, chosen, weighted, doubled, products, offset]


def small(n, seed):
    rng = np.random.default_rng(seed)
    return rng.integers(-5, 6, n), rng.integers(-5, 6, n)


def check(function, calls):
    """The first calls are met by code that expects small numbers, which code that does not takes over from."""
    compiled = fusewire.compile(function, background=False)
    for arguments in [small(max(len(calls[0][0]), 1), 1)] * 2 + calls:
        given = tuple(map(np.copy, arguments)), tuple(map(np.copy, arguments))
        assert_same_outcome(run(function, given[0]), run(compiled, given[1]))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", [1, 2, 7, 1025])
def test_one_large_number(function, n):
    a, b = small(n, n)
    numbers = [*LARGE, *(-v for v in LARGE), -2**63]
    for k, number in enumerate(numbers):
        calls = []
        for which in (0, 1):
            pair = [a.copy(), b.copy()]
            pair[which][[0, -1, n // 2][k % 3]] = number
            calls.append(tuple(pair))
        check(function, calls if k % 2 else calls[::-1])


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", [3, 1000, 2100])
def test_all_are_large(function, n):
    a, b = small(n, n)
    for by in (2**40, 2**48, 2**50, 2**52, 2**54, 2**56, 2**58):
        check(function, [(a * by, b * by), (a * by, b)])
        check(function, [(np.full(n, 2 * by), np.full(n, -2 * by)), (np.full(n, by), np.full(n, -by))])
    for number in LARGE:
        check(function, [(np.full(n, number), np.full(n, number))])
        check(function, [(np.full(n, number), np.full(n, -number))])
        check(function, [(np.full(n, -number), b)])


def test_it_stays_compiled():
    compiled = fusewire.compile(edit_row, fullgraph=True)
    a, b = np.arange(50), np.arange(50) % 7
    for large in (3, 2**61, 2**62, 2**63 - 1):
        b[20] = large
        for _ in range(4):
            assert_same_outcome(run(edit_row, (a, b)), run(compiled, (a, b)))
