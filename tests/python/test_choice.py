"""One item by choice() of a generator, with and without probabilities: the items, their types, and the numbers drawn behind it."""

from __future__ import annotations

import numpy as np
import pytest

import fusewire

P = np.array([0.1, 0.2, 0.3, 0.4])
T = np.array([[0.5, 0.5, 0], [0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])


def of_a_number(rng, n):
    total = 0
    for _ in range(n):
        total += rng.choice(5)
    return total


def of_a_list(rng, n):
    x = 0
    for _ in range(n):
        x += rng.choice([-1, 1])
    return x


def of_an_array(rng, n):
    values, total = np.linspace(0, 1, 7), 0.0
    for _ in range(n):
        total += rng.choice(values)
    return total


def with_p(rng, n, p=P):
    counts = np.zeros(4)
    for _ in range(n):
        counts[rng.choice(4, p=p)] += 1
    return counts


def items_with_p(rng, n):
    total = 0.0
    for _ in range(n):
        total += rng.choice(np.array([1.5, 2.5, 3.5, -1]), p=P)
    return total


def with_a_list(rng, n):
    total = 0
    for _ in range(n):
        total += rng.choice((10, 20), p=[0.25, 0.75])
    return total


def markov(rng, n):
    state, path = 0, []
    for _ in range(n):
        state = rng.choice(3, p=T[state])
        path.append(state)
    return path


def of_the_module(rng, n):
    total = 0
    for _ in range(n):
        total += np.random.choice([1, 2, 3]) + np.random.choice(6) + np.random.choice(3, p=[0.5, 0.25, 0.25])
    return total


def zeros_among_p(rng, n):
    return with_p(rng, n, np.array([0.0, 1.0, 0.0, 0.0])) + with_p(rng, n, np.array([0.5, 0.0, 0.0, 0.5]))


def sum_is_another(rng, n):
    return with_p(rng, n, np.array([0.1, 0.2, 0.3, 0.5]))


def sum_is_nearly_one(rng, n):
    return with_p(rng, n, np.array([0.1, 0.2, 0.3, 0.4 + 5e-9]))


def negative(rng, n):
    return with_p(rng, n, np.array([0.1, -0.2, 0.7, 0.4]))


def not_a_number(rng, n):
    return with_p(rng, n, np.array([0.1, np.nan, 0.7, 0.4]))


def too_few(rng, n):
    return with_p(rng, n, np.array([0.1, 0.2, 0.7]))


def of_nothing(rng, n):
    return np.zeros(2) + (rng.choice(0) if n % 2 else rng.choice(np.zeros(0)))


def without_replacement(rng, n):
    return np.zeros(2) + rng.choice(4, replace=False) + rng.choice(4, p=P, replace=False)


def of_a_matrix(rng, n):
    return rng.choice(np.ones((3, 2))) + np.zeros(2)


def kinds(rng, n):
    chosen = [rng.choice(5), rng.choice([1, 2]), rng.choice([1.5, 2]), rng.choice(P), rng.choice(4, p=P), rng.choice(P, p=P), rng.choice(np.array([1, 2], "u1")), rng.choice(np.array([True, False]))]
    return [type(item) for item in chosen], [item == item for item in chosen], P * 2


FUNCTIONS = [of_a_number, of_a_list, of_an_array, with_p, items_with_p, with_a_list, markov, of_the_module, zeros_among_p, sum_is_another, sum_is_nearly_one, negative, not_a_number, too_few, of_nothing, without_replacement, of_a_matrix, kinds]
GENERATORS = {"Generator": np.random.default_rng, "RandomState": np.random.RandomState}


def outcome(function, generator, n):
    np.random.seed(n)
    rng = GENERATORS[generator](n)
    try:
        result = repr(function(rng, n))
    except Exception as error:  # noqa: BLE001
        result = repr(error)
    return result, rng.random(), np.random.rand()


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("generator", GENERATORS)
def test_same(function, generator):
    compiled = fusewire.compile(function)
    for n in (300, 0, 1, 2, 3, 70, 301):
        assert outcome(function, generator, n) == outcome(compiled, generator, n)


@pytest.mark.parametrize("function", [of_a_number, of_a_list, of_an_array, with_p, items_with_p, with_a_list, markov])
@pytest.mark.parametrize("generator", GENERATORS)
def test_they_are_compiled(function, generator):
    compiled = fusewire.compile(function, economy=False, background=False)
    for _ in range(3):
        compiled(GENERATORS[generator](1), 300)
    described = fusewire._fusewire.describe(compiled)
    assert not described["breaks"] and sum(variant["hits"] for variant in described["variants"]) >= 2
