"""Functions of cmath of numbers that a loop computes, or takes from arrays."""

from __future__ import annotations

import cmath
import math

import numpy as np
import pytest

import fusewire
from compare import run

NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -2.5, 1e-320, -1e-310, 1e-200, 1e154, -1e300, 1e308, 700.0, 709.0, 710.0, -800.0, np.inf, -np.inf, np.nan]
FUNCTIONS = {
    "exp": lambda x, y: cmath.exp(complex(x, y)), "exp of a float": lambda x, y: cmath.exp(x), "sqrt": lambda x, y: cmath.sqrt(complex(x, y)), "sqrt of a float": lambda x, y: cmath.sqrt(x), "phase": lambda x, y: cmath.phase(complex(x, y)),
    "polar": lambda x, y: cmath.polar(complex(x, y)), "rect": lambda x, y: cmath.rect(x, y), "imaginary": lambda x, y: cmath.exp(1j * x), "of a product": lambda x, y: cmath.sqrt(complex(x, y) * 2j), "two numbers": lambda x, y: cmath.exp(x, y), "rect of a complex": lambda x, y: cmath.rect(1j, y),
}


def isclose(a, b):
    if isinstance(a, tuple):
        return type(b) is tuple and len(a) == len(b) and all(map(isclose, a, b))
    if isinstance(a, complex):
        return type(b) is complex and isclose(a.real, b.real) and isclose(a.imag, b.imag)
    return type(a) is type(b) and (math.copysign(1, a) == math.copysign(1, b) or a != a) and (a == b or (a != a and b != b) or abs(a - b) <= 1e-15 * abs(a) + 1e-323)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("python", [True, False])
def test_each(name, python):
    """One number at a time in a loop of one turn more, so that a number which Python has to answer spoils no other."""
    function = FUNCTIONS[name]

    def each(xs, ys, n):
        last = None
        for i in range(n):
            last = function(xs[i].item(), ys[i].item()) if python else function(xs[i], ys[i])
        return last

    compiled = fusewire.compile(each)
    for x in NUMBERS:
        for y in (0.0, -0.0, 2.0, -1e-5, 1e200, np.inf, np.nan):
            xs, ys = np.full(70, 1.5), np.full(70, 0.25)
            xs[-1], ys[-1] = x, y
            plain, ours = run(each, (xs, ys, 70)), run(compiled, (xs, ys, 70))
            if plain.error is not None or ours.error is not None:
                assert repr(plain.error) == repr(ours.error)
            else:
                assert isclose(plain.result, ours.result), (x, y, plain.result, ours.result)


def dft(x):
    n, out = len(x), []
    for k in range(n):
        total = 0j
        for t in range(n):
            total += x[t] * cmath.exp(-2j * cmath.pi * k * t / n)
        out.append(total)
    return np.array(out)


def roots(x):
    total = 0j
    for k in range(len(x)):
        total += cmath.sqrt(x[k] - 0.5) + cmath.sqrt(complex(x[k], -x[k]))
    return total


def turned(x):
    total = 0.0
    for k in range(len(x)):
        length, angle = cmath.polar(complex(x[k] - 0.5, x[len(x) - 1 - k]))
        z = cmath.rect(length * 2, angle + 0.5)
        total += z.real - z.imag + cmath.phase(z)
    return total


@pytest.mark.parametrize("function", [dft, roots, turned])
def test_programs(function):
    compiled = fusewire.compile(function, economy=False, background=False)
    x = np.random.default_rng(1).random(80)
    for _ in range(3):
        assert np.allclose(function(x), compiled(x), rtol=1e-12, atol=1e-12)
    described = fusewire._fusewire.describe(compiled)
    assert not described["breaks"] and sum(variant["hits"] for variant in described["variants"]) >= 2
