"""A comprehension that takes the name of a loop's variable. From 3.12 on it is part of the function, and puts the variable aside."""

from __future__ import annotations

import numpy as np
import pytest

import fusewire
from compare import assert_same_call


def rows(x):
    total = 0.0
    for row in x:
        total += row[0]
    return [row[1] for row in x], total


def made_rows(x):
    total = 0.0
    for i in range(len(x)):
        row = [x[i, 0]] * 90
        total += row[i % 90]
    return [row[1] for row in x], total


def lists(x):
    n = len(x)
    table = [[i * j % 7 for j in range(n)] for i in range(n)]
    total = 0
    for row in table:
        total += row[0]
    return [sum(row) for row in table], total


def looked_at_behind(x):
    for row in x:
        last = row
    copied = [row * 2 for row in x]
    return row, last is row, len(copied)


def in_a_branch(x):
    v = None
    for i in range(len(x)):
        if x[i, 0] > 0.5:
            v = x[i] * 2
    values = [v for v in x[:, 1]]
    return values, v is None


def no_turn(x):
    for v in x[:0]:
        pass
    return [v for v in x[:, 0]]


def deleted_behind(x):
    for v in x:
        w = v.sum()
    del v
    values = [v for v in x[:, 0]]
    try:
        return v, w
    except UnboundLocalError:
        return values, w


FUNCTIONS = [rows, made_rows, lists, looked_at_behind, in_a_branch, no_turn, deleted_behind]


@pytest.mark.parametrize("n", [1, 3, 80])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_same(function, n):
    compiled = fusewire.compile(function, economy=False, background=False)
    for seed in range(3):
        assert_same_call(function, compiled, (np.random.default_rng(seed).random((n, 3)),))


@pytest.mark.parametrize("function", [rows, made_rows, lists], ids=lambda f: f.__name__)
def test_they_are_compiled(function):
    compiled = fusewire.compile(function, economy=False, background=False)
    compiled(np.random.default_rng(1).random((80, 3)))
    assert not fusewire._fusewire.describe(compiled)["breaks"]
