"""Assignments by arrays of indices and np.add.at inside of loops, which run over the places one after the other."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import fusewire
from compare import assert_same_call

RNG = np.random.default_rng(5)


def votes(total, points, cosines):
    columns = np.arange(len(cosines))
    for k in range(len(points)):
        places = np.round(points[k] * cosines).astype(int) + 10
        total[places, columns] += 1
    return total


def put(a, index, values):
    for k in range(len(values)):
        a[index] = values[k]
        a[index - 1] += values[k] * 0.5
    return a


def put_numbers(a, index, values):
    for k in range(len(values)):
        a[index] = k
        a[index - 2] = values[k, 0]
    return a


def row_by_row(a, index, values):
    for k in range(len(values)):
        a[k % len(a), index] = values[k]
        a[index % len(a), k % 3] = values[k]
    return a


def diagonal(a, index, values):
    for k in range(len(values)):
        a[index % len(a), index] += values[k]
        a[index % len(a), index] = k * 0.25
    return a


def added(a, index, values):
    for k in range(len(values)):
        np.add.at(a, index, values[k])
        np.subtract.at(a, index - 1, 0.5)
    return a


def added_to_matrix(a, index, values):
    for k in range(len(values)):
        np.add.at(a, (index % len(a), index), values[k])
    return a


def from_itself(a, index, values):
    for k in range(len(values)):
        a[index] = a[:len(index)]
        np.add.at(a, index, a[:len(index)])
    return a


def by_other_names(a, index, values):
    for k in range(len(values)):
        operator.setitem(a, index, a[:len(index)])
        np.ufunc.at(np.add, a, index, a[:len(index)])
        np.ufunc.at(np.add, a, index, values[k])
    return a


def in_a_tuple(a, index, values):
    for k in range(len(values)):
        a[(index,)] = values[k]
        np.add.at(a, (index,), values[k])
        a[np.where(a > 0.5)] = 0.25
    return a


def by_itself(a, index, values):
    for k in range(len(values)):
        a[a[:5]] = k % 5
    return a


def longer(a, index, values):
    for k in range(len(values)):
        a[index] = values[k][:-1]
    return a


def counts(n):
    return np.array([3, 0, 3, 7, 7, 7, 1])[:n]


VECTORS = [put, put_numbers, added, from_itself, by_other_names, in_a_tuple]
MATRICES = [row_by_row, diagonal, added_to_matrix]


def check(form, make):
    compiled = fusewire.compile(form, background=False, economy=False)
    for arguments in make:
        assert_same_call(form, compiled, tuple(a.copy() if isinstance(a, np.ndarray) else a for a in arguments))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", VECTORS, ids=lambda form: form.__name__)
def test_of_one_axis(form):
    values = RNG.standard_normal((90, 7))
    index = counts(7)
    makes = [(np.zeros(12), index, values)] * 3
    makes += [(np.zeros(12), -1 - index, values), (np.zeros(12), index + 4, values), (np.zeros(12), index + 5, values), (np.zeros(8), index, values), (np.zeros(7), index, values)]
    makes += [(np.zeros(12), index[:0], values[:, :0]), (np.zeros(12), index[:1], values[:, :1]), (np.zeros(12), index, values[:0]), (np.zeros(12), index, values[:, :6]), (np.zeros(12), index[::-1], values[::-1])]
    makes += [(np.zeros(12, np.float32), index, values), (np.zeros(12, np.float32), index, values.astype(np.float32)), (np.zeros(12, int), index, values), (np.zeros(12, int), index, values.astype(int)), (np.zeros(12, np.int8), index, (values * 90).astype(np.int8))]
    makes += [(np.zeros(12), index.astype(np.int32), values), (np.zeros(12), index.astype(np.uint8), values), (np.zeros(12), index > 2, values), (np.zeros(24)[::2], index, values), (np.zeros(12, complex), index, values + 1j)]
    makes += [(np.full(12, np.nan), index, values), (np.zeros(12), index, np.where(values > 0, np.inf, -np.inf)), (np.full(12, 2**62), index, np.full((90, 7), 2**61))]
    check(form, makes)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", MATRICES, ids=lambda form: form.__name__)
def test_of_two_axes(form):
    values = RNG.standard_normal((90, 7))
    index = counts(7)
    makes = [(np.zeros((4, 12)), index, values)] * 3
    makes += [(np.zeros((4, 12)), -1 - index, values), (np.zeros((12, 4)).T, index, values), (np.zeros((4, 7)), index, values), (np.zeros((4, 12)), index[:0], values[:, :0]), (np.zeros((1, 12)), index, values)]
    makes += [(np.zeros((4, 12), np.float32), index, values.astype(np.float32)), (np.zeros((4, 12), int), index, values), (np.zeros((4, 12)), index, values[:, :3]), (np.zeros((4, 24))[:, ::2], index, values)]
    check(form, makes)


def test_votes():
    compiled = fusewire.compile(votes, background=False, economy=False, fullgraph=True)
    cosines = np.cos(np.linspace(0, 3, 9))
    for n in (80, 90, 100):
        for dtype in (float, np.uint64, np.int32):
            points = RNG.uniform(-9, 9, n)
            assert_same_call(votes, compiled, (np.zeros((21, 9), dtype), points, cosines))
    assert_same_call(votes, compiled, (np.zeros((21, 9)), np.array([1.0] * 80 + [12.0]), cosines))   # outside, half-way
    assert_same_call(votes, compiled, (np.zeros((21, 9)), np.array([1.0] * 80 + [-25.0]), cosines))


def test_values_that_are_of_the_array():
    check(by_itself, [(np.arange(8) % 5, counts(7), np.zeros((80, 7)))] * 3)
    check(longer, [(np.zeros(12), counts(6), RNG.standard_normal((80, 7)))] * 3 + [(np.zeros(12), counts(7), RNG.standard_normal((80, 7)))])
