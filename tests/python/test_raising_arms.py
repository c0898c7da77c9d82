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


# ---- what the function handles itself

def in_a_turn(x, tol):
    s, bad = 0.0, 0
    for v in x:
        try:
            if v > tol:
                raise ValueError("large")
            s += v
        except ValueError:
            bad += 1
    return s, bad


def around_a_loop(x, tol):
    try:
        s = 0.0
        for i in range(len(x)):
            if x[i] > tol:
                raise ValueError(f"element {i}")
            s += x[i] * x[i]
        return s
    except ValueError as error:
        return str(error)
    finally:
        x[0] = 0.0


def checked_sum(x, tol):
    if not x.max() <= tol:  # as an assertion, which pytest would write anew
        raise AssertionError(f"{x.max()}")
    s = 0.0
    for v in x:
        if v > tol:
            raise ArithmeticError("large")
        s += v
    return s


def of_a_called_function(x, tol):
    try:
        return checked_sum(x, tol)
    except (AssertionError, ArithmeticError) as error:
        return type(error).__name__


def within_errstate(x, tol):
    s = 0.0
    with np.errstate(all="ignore"):
        for v in x:
            if v > tol:
                raise ValueError("large")
            s += 1 / v
    return s


def two_ways(x, tol):
    try:
        y = x * 2 + 1
        if y.max() > tol:
            raise ValueError("large")
        return y
    except ValueError:
        z = np.sqrt(x) + x * 3
        return z * 2


HANDLED = [in_a_turn, around_a_loop, of_a_called_function, within_errstate, two_ways]


@pytest.mark.parametrize("function", HANDLED, ids=lambda f: f.__name__)
def test_handled_as_python(function):
    compiled = fusewire.compile(function)
    for seed in range(3):
        for size in (400, 3, 1):
            for tol in (5.0, 0.9, 0.3, -1.0):
                for _ in range(4):
                    assert_same_call(function, compiled, (np.random.default_rng(seed).random(size), tol))


@pytest.mark.parametrize("function", HANDLED, ids=lambda f: f.__name__)
def test_handled_in_one_region(function):
    compiled = fusewire.compile(function, fullgraph=True)
    for size in (400, 300):
        assert_same_call(function, compiled, (np.random.default_rng(size).random(size), 5.0))


def test_where_all_calls_raise_both_ways_are_compiled():
    compiled, x = fusewire.compile(two_ways, economy=False, background=False), np.random.default_rng(0).random(300)
    for _ in range(60):
        assert_same_call(two_ways, compiled, (x, 0.0))
    found = fusewire._fusewire.describe(compiled)
    assert any(variant["hits"] > 40 for variant in found["variants"])
