"""Least and greatest elements and where they stand, as compiled code finds them: rows of every length, a few of them or many, in every
layout; ties, zeros of both signs, NaN in every place; all types."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import fusewire

RNG = np.random.default_rng(11)
DTYPES = (np.float64, np.float32, np.float16, np.int64, np.int32, np.int16, np.int8, np.uint64, np.uint8, np.bool_)
SHAPES = ((1, 1), (1, 3), (3, 1), (7, 2), (8, 3), (9, 10), (40, 16), (40, 17), (33, 4), (5, 100), (2, 1031), (300, 5), (0, 3))
OPERATIONS = {
    "argmin": lambda x, axis: x.argmin(axis=axis),
    "argmax": lambda x, axis: np.argmax(x, axis=axis),
    "min": lambda x, axis: x.min(axis=axis),
    "max": lambda x, axis: np.max(x, axis=axis),
}
LAYOUTS = {
    "c": lambda x: x,
    "f": np.asfortranarray,
    "rows backwards": lambda x: x[::-1],
    "columns backwards": lambda x: x[:, ::-1],
    "parts": lambda x: np.repeat(np.repeat(x, 2, axis=0), 3, axis=1)[::2, ::3],
}


def numbers(dtype, shape):
    """Few different ones, so that there are ties; of floats also what no order has."""
    x = RNG.integers(0, 2 if dtype is np.bool_ else 5, shape).astype(dtype)
    if np.issubdtype(dtype, np.inexact) and x.size:
        x = x - dtype(2)
        x[RNG.random(shape) < 0.1] = -0.0
        x[RNG.random(shape) < 0.05] = np.nan
        x[RNG.random(shape) < 0.05] = np.inf
        x[RNG.random(shape) < 0.05] = -np.inf
    elif x.size and dtype is not np.bool_:
        x[RNG.random(shape) < 0.1] = np.iinfo(dtype).max
        x[RNG.random(shape) < 0.1] = np.iinfo(dtype).min
    return x


def outcome(function, *arguments):
    try:
        return function(*arguments)
    except ValueError as error:
        return str(error)


def same(got, expected):
    if isinstance(expected, str):
        return got == expected
    return type(got) is type(expected) and got.dtype == expected.dtype and np.array_equal(got, expected, equal_nan=got.dtype.kind == "f")


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.__name__)
def test_against_numpy(name, dtype):
    operation = OPERATIONS[name]
    compiled = fusewire.compile(operation, economy=False, recompile_limit=100)
    for shape, layout, axis in itertools.product(SHAPES, LAYOUTS, (0, 1, None)):
        x = LAYOUTS[layout](numbers(dtype, shape))
        expected = outcome(operation, x, axis)
        assert same(outcome(compiled, x, axis), expected), (shape, layout, axis, x)
    assert sum(variant["hits"] for variant in fusewire._fusewire.describe(compiled)["variants"]) > 100


@pytest.mark.parametrize("name", ["argmin", "argmax"])
@pytest.mark.parametrize("dtype", (np.float64, np.float32, np.int16, np.uint8), ids=lambda d: d.__name__)
def test_every_place(name, dtype):
    """The extreme, and NaN, at each place of rows that are all the same otherwise."""
    operation = OPERATIONS[name]
    compiled = fusewire.compile(operation, economy=False)
    for length in (3, 8, 10, 16, 17, 35):
        x = np.full((2 * length, length), 7, dtype)
        for i in range(length):
            x[i, i] = 0 if name == "argmin" else 9
            x[length + i, i] = np.nan if np.issubdtype(dtype, np.inexact) else 7
        assert same(compiled(x, 1), operation(x, 1)), length
        assert same(compiled(x, 0), operation(x, 0)), length


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 0.0])
def test_nothing_beats_the_worst(value):
    for operation in OPERATIONS.values():
        compiled = fusewire.compile(operation, economy=False)
        for shape in ((20, 5), (20, 50)):
            x = np.full(shape, value)
            assert same(compiled(x, 1), operation(x, 1))


def test_more_elements_than_a_short_position_counts():
    for name, dtype, at in itertools.product(("argmin", "argmax"), (np.int8, np.uint8, np.int16, np.bool_), (3, 32767, 32768, 70000, 99999)):
        operation = OPERATIONS[name]
        compiled = fusewire.compile(operation, economy=False)
        x = np.full((2, 100_000), 1, dtype)
        x[1, at] = 0 if name == "argmin" else np.iinfo(dtype).max if dtype is not np.bool_ else 1
        for axis in (1, None):
            assert same(compiled(x, axis), operation(x, axis)), (name, dtype, at, axis)


@pytest.mark.parametrize("axis", [None, 0, 1, 2])
def test_three_axes(axis):
    x = numbers(np.float64, (6, 5, 4))
    for operation in OPERATIONS.values():
        compiled = fusewire.compile(operation, economy=False)
        for view in (x, x.transpose(2, 0, 1), x[:, ::2], x[::-1, :, ::-1], np.asfortranarray(x)):
            assert same(compiled(view, axis), operation(view, axis))


def nearest(x, centres):
    return ((x[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2).argmin(axis=1)


def flags(x, y):
    return (x / y).argmin(axis=1), (x / y).max(axis=1), (x > y).any(axis=1), (x * y).astype(np.int64).sum(axis=1)


def test_of_what_is_computed():
    x, y = RNG.normal(size=(100, 6)), RNG.normal(size=(100, 6))
    for f, arguments in ((nearest, (x, y[:10].copy())), (flags, (x, y))):
        expected, got = f(*arguments), fusewire.compile(f, economy=False)(*arguments)
        for a, b in zip(*([expected], [got]) if f is nearest else (expected, got)):
            assert same(b, a)


def test_warnings_of_the_rows():
    y = np.ones((100, 5))
    y[63, 2] = 0
    compiled = fusewire.compile(flags, economy=False)
    for a, b in ((np.ones((100, 5)), y), (np.zeros((100, 5)), y)):
        with np.errstate(all="raise"):
            with pytest.raises(FloatingPointError) as plain:
                flags(a, b)
            with pytest.raises(FloatingPointError) as ours:
                compiled(a, b)
        assert str(ours.value) == str(plain.value)
