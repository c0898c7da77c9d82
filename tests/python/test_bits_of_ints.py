"""int.bit_length() and int.bit_count() of ints that array data or the turn of a loop decides (_substitutes.py)."""

import fusewire
import numpy as np
import pytest
from compare import assert_same_call


def lengths(k):
    return [v.bit_length() for v in k.tolist()]


def counts(k):
    n = 0
    for v in k.tolist():
        n += v.bit_count()
    return n


def of_turns(k):
    n = 0
    for i in range(len(k)):
        n += i.bit_length() * int(k[i] > 0)
    return n


def gray(k):
    s = 0
    for v in k.tolist():
        g = v ^ (v >> 1)
        s += g.bit_count() if g > 3 else g.bit_length()
    return s


def levels(k):
    tree = [0] * 64
    for v in k.tolist():
        tree[v.bit_length()] += 1
    return tree


def of_bools(k):
    n = 0
    for v in (k > 0).tolist():
        n += v.bit_length()
    return n


def of_numpy(k):
    return [int(v).bit_length() for v in k]


FUNCTIONS = [lengths, counts, of_turns, gray, levels, of_bools, of_numpy]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_python(function):
    rng = np.random.default_rng(0)
    compiled = fusewire.compile(function, background=False)
    for n in (200, 1, 0, 3):
        for values in (
            rng.integers(0, 9, n),
            rng.integers(-(2**61), 2**61, n),
            2 ** rng.integers(0, 61, n),
            np.zeros(n, int),
        ):
            assert_same_call(function, compiled, [values])
            assert_same_call(function, compiled, [-values])
            assert_same_call(function, compiled, [values - 1])
    assert_same_call(function, compiled, [np.array([2**62, -(2**63), 2**63 - 1])])


@pytest.mark.parametrize("function", [lengths, counts, of_turns, gray, levels], ids=lambda f: f.__name__)
def test_is_compiled(function):
    compiled = fusewire.compile(function, background=False)
    for _ in range(3):
        compiled(np.arange(300))
    state = fusewire._fusewire.describe(compiled)
    assert state["variants"] and not [b for b in state["breaks"] if b["reason"] != "nothing-to-compile"]
