"""moves[k] of short tuples and lists of numbers, where the turn of a loop or array data decides about k."""

from __future__ import annotations

import numpy as np
import pytest

import fusewire
from compare import assert_same_outcome, run

MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))


def by_turn(v, n):
    directions = [(0, 1), (1, 0), (0, -1), (-1, 0)]
    x = y = 0
    for i in range(n):
        a, b = directions[i % 4]
        x += a * i
        y += b * i
    return x, y


def by_turn_of_a_constant(v, n):
    weights, total = (1, 4, 2.5, 4, 1), 0.0
    for i in range(n):
        total += weights[i % 5]
    return total


def simpson(v, n):
    weights, total = (1.0, 4.0, 2.0), 0.0
    for i in range(n):
        total += weights[i % 3] * v[i % len(v)]
    return total


def by_data(v, n):
    table, total = (3, 1, 4, 1, 5), 0
    for k in v:
        total = total * 3 % 1001 + table[k]
    return total


def of_a_list(v, n):
    table, total = [0.5, 1.5, -2.0, 3.5, 0.25], 0.0
    for i in range(len(v)):
        total += table[int(v[i])]
    return total


def ant(v, n):
    grid = np.zeros((40, 40), dtype=bool)
    x = y = 20
    d = 0
    for _ in range(n):
        d = (d + 1) % 4 if grid[x, y] else (d - 1) % 4
        grid[x, y] = not grid[x, y]
        x = (x + MOVES[d][0]) % 40
        y = (y + MOVES[d][1]) % 40
    return grid, x, y


def nested(v, n):
    table, total = (((1, 2.0), 3), ((4, 5.0), 6)), 0.0
    for k in v:
        (a, b), c = table[k % 2]
        total += a * b - c
    return total


def changing(v, n):
    table, total = [1, 2, 3], 0
    for k in v:
        total += table[k % 3]
        table[1] = total % 7
    return total, table


def mixed(v, n):
    table, total = (1, None, "a"), 0
    for k in v:
        total += 1 if table[k % 3] is None else 2
    return total


def different_lengths(v, n):
    table, total = ((1, 2), (3,)), 0
    for k in v:
        total += sum(table[k % 2])
    return total


def many(v, n):
    table, total = tuple(range(100)), 0
    for k in v:
        total += table[k * 7 % 100]
    return total


def large(v, n):
    table, total = (2**40, -(2**61), 2**70, 0, 1), 0
    for k in v:
        total ^= table[k]
    return total


FUNCTIONS = [by_turn, by_turn_of_a_constant, simpson, by_data, of_a_list, ant, nested, changing, mixed, different_lengths, many, large]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["i8", "u1", "f8"])
def test_same(function, dtype):
    compiled = fusewire.compile(function)
    draw = np.random.default_rng(2)
    for v in (draw.integers(0, 5, 300), draw.integers(-5, 5, 300), draw.integers(0, 5, 3), np.array([0, 1, 5] * 50), np.array([4, -6] * 50), np.array([0]), np.array([0, 2**40])):
        v = v.astype(dtype)
        for n in (0, 1, 5, 300):
            assert_same_outcome(run(function, (v, n)), run(compiled, (v, n)))


@pytest.mark.parametrize("function", [by_turn, simpson, by_data, of_a_list, ant, nested])
def test_they_are_compiled(function):
    compiled = fusewire.compile(function, economy=False, background=False)
    v = np.random.default_rng(2).integers(0, 5, 300)
    for _ in range(3):
        assert_same_outcome(run(function, (v, 300)), run(compiled, (v, 300)))
    described = fusewire._fusewire.describe(compiled)
    assert not described["breaks"] and sum(variant["hits"] for variant in described["variants"]) >= 2


ONE = 1


def with_a_default(x, step=ONE):
    return x * 2 if step is ONE else x


def test_small_ints_are_one_object():
    """As random.Random.randrange asks for its default."""
    compiled = fusewire.compile(with_a_default, economy=False, background=False)
    x = np.arange(4.0)
    for arguments in ((x,), (x,), (x, 1), (x, 300), (x, 2)):
        assert_same_outcome(run(with_a_default, arguments), run(compiled, arguments))
    assert fusewire._fusewire.describe(compiled)["variants"]
