"""Python's module random, random.Random, and np.random's own RandomState in loops: the same numbers, and the generators stand behind them
as they would without.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

import fusewire
from compare import assert_same_outcome, run


def pi(n, rng):
    inside = 0
    for _ in range(n):
        if random.random() ** 2 + random.random() ** 2 < 1:
            inside += 1
    return 4 * inside / n


def uniform(n, rng):
    total = 0.0
    for _ in range(n):
        total += random.uniform(-1, 1) * random.triangular(0, 2)
    return total


def dice(n, rng):
    total = 0
    for _ in range(n):
        total += random.randint(1, 6) + random.randrange(10) + random.randrange(0, 100, 7)
    return total


def bits(n, rng):
    total = 0
    for _ in range(n):
        total ^= random.getrandbits(1) + random.getrandbits(32) + random.getrandbits(33) * random.getrandbits(20) ^ random.getrandbits(60)
    return total


def many_bits(n, rng):
    kept = []
    for _ in range(n):
        kept.append(random.getrandbits(62) ^ random.getrandbits(61))
        kept.append(random.getrandbits(64) + random.getrandbits(100))
    return kept


def walk(n, rng):
    x = y = far = 0
    for _ in range(n):
        x += random.choice((-1, 1))
        y += random.choice([-1, 0, 1])
        far = max(far, x * x + y * y)
    return far


def distributions(n, rng):
    total = 0.0
    for _ in range(n):
        total += random.expovariate(2.0) + random.weibullvariate(1, 2) + random.paretovariate(3) + random.normalvariate(1, 2) + random.vonmisesvariate(0, 1)
    return round(total, 9)


def pairs(n, rng):
    return [random.gauss(0, 1) for _ in range(n)]


def own(n, rng):
    total = 0.0
    for _ in range(n):
        total += rng.random() * rng.uniform(1, 2)
    return total


def both(n, rng):
    total = 0.0
    for _ in range(n):
        total += rng.random() - random.random() + np.random.rand()
    return total


def numpy_legacy(n, rng):
    total = 0.0
    for _ in range(n):
        total += np.random.rand() * np.random.randn() + np.random.normal(1, 2) + np.random.exponential(2.0) - np.random.standard_normal()
    return total


def odd_normals(n, rng):
    total = np.random.standard_normal()
    for i in range(n):
        if np.random.rand() < 0.5:
            total += np.random.normal(loc=0.5)
    return total


def annealing(n, rng):
    x, energy, temperature = 3.0, 9.0, 1.0
    for _ in range(n):
        y = x + random.uniform(-0.3, 0.3)
        new = y * y + abs(y)
        if new < energy or random.random() < temperature:
            x, energy = y, new
        temperature *= 0.99
    return x


def once(n, rng):
    return np.arange(3) * random.random()


FUNCTIONS = [pi, uniform, dice, bits, many_bits, walk, distributions, pairs, own, both, numpy_legacy, odd_normals, annealing, once]


def outcome(function, n):
    random.seed(5)
    np.random.seed(5)
    rng = random.Random(7)
    result = run(lambda n: function(n, rng), (n,))
    return result, random.getstate(), rng.getstate(), np.random.rand(), np.random.randn()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_same_numbers(function):
    compiled = fusewire.compile(function)
    for n in (0, 1, 2, 100, 1999, 2000, 2001):
        plain, ours = outcome(function, n), outcome(compiled, n)
        assert_same_outcome(plain[0], ours[0])
        assert plain[1:] == ours[1:]


@pytest.mark.parametrize("function", [pi, uniform, dice, bits, walk, own, numpy_legacy, odd_normals, annealing])
def test_they_are_compiled(function):
    compiled = fusewire.compile(function, economy=False, background=False)
    for _ in range(3):
        compiled(2000, random.Random(1))
    described = fusewire._fusewire.describe(compiled)
    assert not described["breaks"] and sum(variant["hits"] for variant in described["variants"]) >= 2


def test_numbers_are_put_back():
    """A loop that raises, or that Python has to finish, has drawn what Python draws."""

    def divides(n, rng):
        total = 0
        for i in range(n):
            total += rng.randint(1, 6) // (n - 1 - i)
        return total

    def grows(n, rng):
        total = 1
        for _ in range(n):
            total = total * 10 + rng.getrandbits(3)
        return total

    for function in (divides, grows):
        compiled = fusewire.compile(function)
        for n in (5, 200, 200, 200):
            one, other = random.Random(3), random.Random(3)
            one.gauss(0, 1), other.gauss(0, 1)
            assert_same_outcome(run(lambda n, own=one, f=function: f(n, own), (n,)), run(lambda n, own=other, f=compiled: f(n, own), (n,)))
            assert one.getstate() == other.getstate()


class Loaded(random.Random):
    def random(self):
        return 0.25


def test_others_are_not_followed():
    """Subclasses, instances with a random of their own, and generators of the system."""
    replaced = random.Random(1)
    replaced.random = lambda: 0.75
    compiled = fusewire.compile(own)
    for rng in (Loaded(), replaced, random.Random(2)):
        state = rng.getstate()
        expected = own(300, rng)
        rng.setstate(state)
        assert compiled(300, rng) == expected
    system = fusewire.compile(own)
    assert 0 < system(300, random.SystemRandom()) < 600


def test_a_function_that_is_replaced():
    compiled = fusewire.compile(pi)
    for _ in range(3):
        compiled(500, None)
    was = random.random
    try:
        random.random = lambda: 0.5
        assert compiled(500, None) == 4.0
    finally:
        random.random = was
    assert compiled(500, None) < 4.0


def test_seeds_between_calls():
    compiled = fusewire.compile(pi)
    seen = []
    for seed in (1, 1, 2, 1):
        random.seed(seed)
        seen.append(compiled(1000, None))
    assert seen[0] == seen[1] == seen[3] != seen[2]
