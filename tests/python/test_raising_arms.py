"""Sides of a branch on array data that end in a raise, and on the way do what Python has to do: format numbers, print. Python
makes the calls that come there; the others are one region."""
import numpy as np
import pytest

import fusewire
from compare import assert_same_call


def formatted(x, tol):
    s = 0.0
    for i in range(len(x)):
        if x[i] > tol:
            raise ValueError(f"element {i} is {x[i]:.3f}, above {tol}")
        s += x[i] * 2
    return s


def of_an_array(x, tol):
    m = x.max()
    if m > tol:
        raise ValueError("too large: %g" % m)
    return x / m


def printed(x, tol):
    m = x.max()
    if m > tol:
        print("too large", m)
        raise ValueError(str(m))
    return x / m


def after_writes(x, tol):
    y = np.zeros_like(x)
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = 0.5 * y[i - 1] + x[i]
        x[i] = y[i]
        if y[i] > tol * 2:
            text = f"{y[i]}"
            raise ArithmeticError("diverged: " + text)
    return y


def handled(x, tol):
    try:
        if x.sum() > tol * len(x) / 2:
            raise ValueError(f"{x.sum():.2f}")
    except ValueError as error:
        return x * 2, str(error)
    return x, ""


def within_a_helper(x, tol):
    def checked(v):
        if v > tol:
            raise ValueError(f"{v:.4f}")
        return v * 2
    s = 0.0
    for v in x:
        s += checked(v)
    return s


def for_ever(x, tol):
    n = 0
    if x.sum() < 0:
        while True:
            n += 1
            print(n)
    return x + n


@pytest.mark.parametrize("function", [formatted, of_an_array, printed, after_writes, handled, within_a_helper, for_ever], ids=lambda f: f.__name__)
def test_as_python(function, capsys):
    compiled = fusewire.compile(function)
    said = []
    for seed in range(3):
        for size in (400, 3, 1):
            for tol in (1.5, 0.9, 0.3):
                x = np.random.default_rng(seed).random(size)
                capsys.readouterr()
                for call in (function, compiled):
                    try:
                        call(x.copy(), tol)
                    except (ValueError, ArithmeticError):
                        pass
                    said.append(capsys.readouterr().out)
                assert said[-1] == said[-2]
                assert_same_call(function, compiled, (x, tol))


@pytest.mark.parametrize("function", [formatted, of_an_array, printed, after_writes, within_a_helper], ids=lambda f: f.__name__)
def test_one_region(function):
    compiled = fusewire.compile(function, fullgraph=True)
    for size in (400, 300):
        assert_same_call(function, compiled, (np.random.default_rng(size).random(size) * 0.5, 1.5))
