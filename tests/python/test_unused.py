"""Computations whose results nobody uses: their floating-point errors are NumPy's all the same."""

import warnings

import numpy as np
import pytest

import fusewire
from compare import assert_same_outcome, clone, run


def quotient(a, b):
    q = a / b
    return a + b


def logarithm(a, b):
    np.log(a)
    return a - b


def chain(a, b):
    q = np.sqrt(a) / b
    q = np.exp(q * 800)
    return a * 2


def only_its_shape(a, b):
    return np.zeros((a / b).shape) + a.sum()


def overwritten(a, b):
    a[:] = a / b
    a[:] = b * 2
    return a.sum()


def overwritten_scaled(a, b):
    u = a / b
    u = a - b
    return u


def remainder(a, b):
    r = a % b
    return a + b


def reduced(a, b):
    m = (a / b).mean()
    return a + 1


def narrowed(a, b):
    small = (a * 1e300).astype("f4")
    return a + b


def helper(a, b):
    return a * 2, a / b


def inlined(a, b):
    doubled, _ = helper(a, b)
    return doubled + 1


def caught(a, b):
    try:
        a / b
    except FloatingPointError as error:
        return str(error)
    return a + b


FORMS = [quotient, logarithm, chain, only_its_shape, overwritten, overwritten_scaled, remainder, reduced, narrowed,
         inlined, caught]
ARGUMENTS = [
    (np.array([1.0, 0, -1]), np.array([0.0, 0, 1])),
    (np.array([1.0, 2, 3]), np.array([4.0, 5, 6])),
    (np.array([1, 0, -1]), np.array([0, 2, -1])),
    (np.array([1, 2, 3], "f4"), np.array([0, 2, 3], "f4")),
    (np.linspace(-1, 1, 5000), np.linspace(-1, 1, 5000).round(3)),
]


@pytest.mark.parametrize("state", ["warn", "raise", "ignore"])
@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
def test_errors_of_unused_results(form, state):
    compiled = fusewire.compile(form)
    for arguments in ARGUMENTS * 2:
        with np.errstate(all=state):
            assert_same_outcome(run(form, clone(arguments)), run(compiled, clone(arguments)))
    assert fusewire._fusewire.describe(compiled)["variants"], "not compiled"


@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
def test_warnings_as_errors(form):
    compiled = fusewire.compile(form)
    for arguments in ARGUMENTS * 2:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert_same_outcome(run(form, clone(arguments)), run(compiled, clone(arguments)))


def silent(a, b):
    """Nothing here can raise, so nothing of it is computed."""
    np.abs(a)
    m = a > b
    c = np.where(m, a, b)
    r = np.floor(a)
    return a + b


def test_what_raises_nothing_is_dropped():
    a = np.ones(5)
    compiled = fusewire.compile(silent)
    compiled(a, a)
    nodes = fusewire._fusewire.describe(compiled)["variants"][0]["plan"]
    assert not any(op in str(nodes) for op in ("where", "floor", "absolute", "greater")), nodes
