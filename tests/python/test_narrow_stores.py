"""Numbers stored into arrays of a narrower type: a float as int() of it, an integer where it fits. Everything else is NumPy's."""
import numpy as np
import pytest

import fusewire
from compare import assert_same_call


def one(a, v):
    a[1] = v
    return a + a


def some(a, v):
    a[1:3] = v
    return a + a


def sums(a, x):
    a[0] = x.mean()
    a[1:] = x.sum()
    return a * 1


def scaled(a, x):
    for i in range(len(a)):
        a[i] = x[i] * 10
    return a


def means(a, x):
    for i in range(len(a)):
        a[i] = np.mean(x[i:i + 2])
    return a


def moved(a, b):
    for i in range(len(a)):
        a[i] = b[i] + 1
    return a


INTEGERS = "bBhHiIlLqQ?"
NUMBERS = [3.7, -1.5, 300.7, float("nan"), float("inf"), 1e30, np.float64(3.7), np.float64(-1.5), np.float64(300.7),
           np.float64("nan"), np.float32(2.5), np.float16(-7.5), np.int64(5), np.int64(300), np.int8(-4), np.uint64(2 ** 63),
           2.0 ** 63, True, 7, -7, 300, -0.0, 127.9999, -128.99, 255.999, 256.0, 2.0 ** 62, -2.0 ** 63]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("program", [one, some], ids=lambda f: f.__name__)
def test_numbers(program, dtype):
    compiled = fusewire.compile(program, economy=False)
    for v in NUMBERS:
        assert_same_call(program, compiled, (np.arange(4).astype(dtype), v))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("program", [sums, scaled, means], ids=lambda f: f.__name__)
def test_floats_of_arrays(program, dtype):
    compiled = fusewire.compile(program, economy=False)
    for kind in "dfe":
        for x in ([.1, .2, .3], [.1, -.2, 5], [1, np.nan, 3.], [1, 100, 3.], [0, 0, 0], [1e19, 1, 2], [12.8, -12.8, 3]):
            with np.errstate(all="ignore"):
                assert_same_call(program, compiled, (np.arange(3).astype(dtype), np.array(x).astype(kind)))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_wider_integers(dtype):
    compiled = fusewire.compile(moved, economy=False)
    for kind in INTEGERS:
        for x in ([1, 2, 3], [1, -2, 100], [254, 0, 0], [126, 127, 128]):
            assert_same_call(moved, compiled, (np.arange(3).astype(dtype), np.array(x).astype(kind)))


def test_they_are_compiled():
    x = np.random.default_rng(0).random(300)
    for program in (scaled, means):
        compiled = fusewire.compile(program, fullgraph=True)
        assert_same_call(program, compiled, (np.zeros(300, np.uint8), x))
    assert_same_call(sums, fusewire.compile(sums, fullgraph=True), (np.zeros(300, np.int32), x))
