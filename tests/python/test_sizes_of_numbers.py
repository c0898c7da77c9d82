"""Sizes of arrays that numbers computed by the program decide: int(np.ceil(x)), counts, elements."""
import numpy as np
import pytest

import fusewire
from compare import assert_same_call


def blocks(x, h):
    n = int(np.ceil(len(x) / 3))
    out = np.zeros(n)
    for i in range(n):
        out[i] = x[i * 3:(i + 1) * 3].sum() * h
    return out


def bins(x, h):
    n = int(np.sqrt(x.sum() + 70))
    counts = np.zeros(n + 1, dtype=np.int64)
    for v in x:
        counts[int(v * n)] += 1
    return counts


def table(x, h):
    reach = int(np.ceil(np.abs(x).max() * h)) + 1
    votes = np.zeros((2 * reach + 1, 3))
    for v in x:
        votes[int(round(v)) + reach, 1] += v
    return votes, votes.shape


def numbers(x, h):
    k = int(x[0] * 20) + 5
    return np.arange(k) * 2, np.ones(k), np.full(k, 2.5), np.linspace(0.0, 1.0, k), np.zeros((k, 2)) + 1


def element(x, h):
    k = np.argmax(x) + 2
    return np.zeros(k) + 1, np.arange(int(k))


def chosen(x, h):
    n = 10 if x[0] > 0.5 else 20
    return np.zeros(n) + h


def negative(x, h):
    return np.zeros(int(x[0]) - h)


@pytest.mark.parametrize("function", [blocks, bins, table, numbers, element, chosen])
def test_program(function):
    compiled = fusewire.compile(function)
    r = np.random.default_rng(1)
    for size in (200, 201, 200, 70, 100, 5, 1):
        for h in (3, 2):
            assert_same_call(function, compiled, (r.random(size), h))
        if size < 70:
            continue
        breaks = fusewire._fusewire.describe(compiled)["breaks"]
        assert not breaks, breaks


def test_sizes_that_are_none():
    compiled = fusewire.compile(negative)
    for first in (5.0, 3.0, 2.5, -1.0, 7.0, 1e30, np.nan):
        with np.errstate(all="ignore"):
            assert_same_call(negative, compiled, (np.array([first]), 3))
