"""What CPython's own suite has found, small: each function compiled against itself as plain Python, over kinds of arguments in turn."""

import ctypes
import itertools
import sys
import types

import numpy as np
import pytest

import fusewire

X = np.arange(3.0)
NAN = float("nan")


class AlwaysEqual:
    def __eq__(self, other):
        return True


class Counted(dict):
    def __getitem__(self, key):
        return "mine", dict.__getitem__(self, key)

    def __len__(self):
        return 5

    def both(self):
        return len(self), dict.__len__(self), self["a"], dict.__getitem__(self, "a")


class Base:
    @property
    def size(self):
        return 1


class Derived(Base):
    @property
    def size(self):
        return 2


def name_of_type(x, value):
    return x + 1, type(value).__name__


def equals(x, left, right):
    return x + 1, left == right, right != left


def subclass_of_dict(x, mapping):
    return x + 1, mapping.both()


def long_steps(x, step):
    return x + 1, list(itertools.islice(itertools.count(), 1, 10, step))


def property_of(x, cls, other):
    return x + 1, getattr(cls, "size") is other, cls.size is Base.size


def held(x, item, items):
    return x + 1, item in items, [item] == list(items)


def bases(x, cls):
    return x + 1, cls.__bases__


CASES = [
    (name_of_type, [(1,), (types.CellType(3),), ({1},), (types.CellType(4),), ("s",)]),
    (equals, [(len, AlwaysEqual()), (name_of_type, AlwaysEqual()), (lambda: 0, AlwaysEqual()), (lambda: 0, 3), (AlwaysEqual(), 2)]),
    (subclass_of_dict, [(Counted(a=1, b=2),), (Counted(a=3),)]),
    (long_steps, [(2,), (sys.maxsize,), (sys.maxsize - 1,)]),
    (property_of, [(Base, Base.size), (Derived, Base.size), (Derived, Derived.size), (Base, Derived.size), (Base, 3)]),
    (held, [(NAN, (NAN,)), (NAN, (float("nan"),)), (NAN, (NAN,)), (1.0, (NAN,)), (1.0, (1.0,)), (float("nan"), (NAN,))]),
    (bases, [(Derived,), (Base,), (AlwaysEqual,), (bool,)]),
]


@pytest.mark.parametrize("function, arguments", CASES, ids=[c[0].__name__ for c in CASES])
def test_same_as_python(function, arguments):
    compiled = fusewire.compile(function)
    for _ in range(3):
        for args in arguments:
            (array, *rest), (wanted, *others) = compiled(X, *args), function(X, *args)
            assert np.array_equal(array, wanted)
            assert rest == others, args


@pytest.mark.skipif(not hasattr(ctypes.pythonapi, "PyFunction_SetVectorcall"), reason="new in Python 3.12")
def test_function_with_a_vectorcall_of_its_own():
    def inner(x):
        return x * 2

    def outer(x):
        return inner(x) + 1

    compiled = fusewire.compile(outer)
    x = np.ones(3)
    assert compiled(x)[0] == 3 and not fusewire._fusewire.describe(compiled)["breaks"]
    answer = ctypes.CFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)(
        lambda function, arguments, count, names: 41)
    ctypes.pythonapi.PyFunction_SetVectorcall(ctypes.py_object(inner), answer)
    for _ in range(3):
        assert compiled(x) == 42


@pytest.mark.parametrize("arguments", [
    (0, 1, np.inf), (0, 1, -np.inf), (0, -1, -np.inf), (0, -1, np.inf), (0.0, 5e-324, 1e10), (0.0, -5e-324, 1e10),
    (1e308, 1.5e308, 1e308), (-1.5, 1.0, np.inf), (2.0, 2.0, np.inf), (-0.0, 1.0, 3.0), (0.5, 0.5, -1.0)])
def test_arange_beyond_its_range(arguments):
    """A quotient of 0 over a distance that is none has NumPy look at its sign; one step may leave the floats."""
    start, stop, step = arguments
    for f, given in ((lambda: np.arange(start, stop, step), ()), (lambda a, b, c: np.arange(a, b, c), arguments)):
        expected = f(*given)
        compiled = fusewire.compile(f, economy=False)
        for _ in range(3):
            got = compiled(*given)
            assert got.tobytes() == expected.tobytes() and got.dtype == expected.dtype and got.shape == expected.shape
