"""Memory that runs out: whichever allocation of a call fails, Python's own result comes, or its MemoryError with everything as it was."""

import gc
import sys

import numpy as np
import pytest

import fusewire
from fusewire import _fusewire

SIZE = 6000  # watched commits begin below


def results(x, y):
    return x * 2 + y, np.sqrt(x), (x - y).sum()


def temporaries(x, y):
    z = x * y
    return (z - z.mean()) / z.std()


def in_place(x, y):
    x *= y
    x -= y


def watched(x, y):
    x *= 1e308  # overflows, so that parts are put back and flags looked at
    x -= y


def whole(x, y):
    np.multiply(x, 1e308, out=x)
    return y + 1


def mixed(x, y):
    z = x + y
    x[1:] = z[:-1] * 2
    y += x
    return z[::2], x.sum()


def looped(x, y):
    total = 0.0
    for k in range(3):
        x += y * k
        total = total + x.max()
    return total


def region(x, y):
    z = x * 2 + y
    gc.isenabled()  # ends one region
    x += z
    return z + x


def large(x, y):
    return np.concatenate([x, y] * 400) * 2 + 1  # from the pool of large blocks


def twins(x, y):
    z = x * y
    x += y  # nothing may be written before the copies, which one buffer becomes, have their memory
    return z, x * 0 + 1, z.copy(), z[1:].copy(), (z + 0)[:5]


@pytest.fixture(autouse=True)
def no_failure_left():
    yield
    _fusewire.plant_allocation_failure(0)


def arguments():
    rng = np.random.default_rng(5)
    return rng.random(SIZE) + 1, rng.random(SIZE) + 1


def same(a, b):
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(same, a, b))
    return a is b is None or (type(a) is type(b) and np.array_equal(a, b))


@pytest.mark.parametrize("f", [results, temporaries, in_place, watched, whole, mixed, looped, region, large, twins])
def test_every_allocation_may_fail(f):
    compiled = fusewire.compile(f)
    with np.errstate(over="warn"), pytest.warns(RuntimeWarning) if f in (watched, whole) else np.errstate():
        expected_arguments = arguments()
        expected = f(*expected_arguments)
        for _ in range(3):
            assert same(compiled(*arguments()), expected)
        for number in range(1, 60):
            x, y = arguments()
            kept = sys.getrefcount(x), sys.getrefcount(y)
            _fusewire.plant_allocation_failure(number)
            try:
                result = compiled(x, y)
            except MemoryError:
                after = [arguments()] + [expected_arguments] * (f is region)  # its second half may be what fails
                assert any(same((x, y), a) for a in after), "half done"
            else:
                assert same(result, expected) and same((x, y), expected_arguments), number
                del result
            missing = _fusewire.plant_allocation_failure(0)
            assert (sys.getrefcount(x), sys.getrefcount(y)) == kept
            assert same(compiled(*arguments()), expected), "the next call"
            if missing:
                assert number > 1
                break
        else:
            pytest.fail("there is no end of allocations")
