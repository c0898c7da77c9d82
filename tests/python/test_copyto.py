"""np.copyto of Python's numbers, which are cast as arrays of the types that they have by default would be; ints by their value."""

from __future__ import annotations

import numpy as np
import pytest

import fusewire
from compare import assert_same_outcome, run


def of_a_constant(y, x, k):
    np.copyto(y, 1.5)


def of_a_float(y, x, k):
    np.copyto(y, float(x[0]))


def of_a_number_of_the_call(y, x, k):
    np.copyto(y, k * 0.5)


def of_an_int(y, x, k):
    np.copyto(y, k)


def of_an_int_of_data(y, x, k):
    np.copyto(y, int(x[0]))


def of_a_complex(y, x, k):
    np.copyto(y, 1j)


def of_a_bool(y, x, k):
    np.copyto(y, x[0] > 1)


def of_a_quotient_of_a_bool(y, x, k):
    np.copyto(y, bool(x[0]) / -1)


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.float32, np.float64, np.complex64, bool])
@pytest.mark.parametrize("function", [of_a_constant, of_a_float, of_a_number_of_the_call, of_an_int, of_an_int_of_data, of_a_complex, of_a_bool,
                                      of_a_quotient_of_a_bool], ids=lambda f: f.__name__)
def test_copyto(function, dtype):
    compiled = fusewire.compile(function, economy=False)
    for _ in range(3):
        args = [(np.array([1, 2, 3]).astype(dtype), np.array([2.0, 3.0]), 3) for _ in range(2)]
        assert_same_outcome(run(function, args[0]), run(compiled, args[1]))
