"""Products of small matrices and vectors, computed by compiled code: every bit as NumPy's BLAS has it on this machine, whatever
the shapes, types, layouts and values; sizes that change; floating-point reports."""

from __future__ import annotations

import itertools
import warnings

import _fw_capture_test
import numpy as np
import pytest

import compare
import fusewire

RNG = np.random.default_rng(5)
SIZES = (1, 2, 3, 4, 5, 8, 13, 16, 17)
DTYPES = (np.float64, np.float32, np.int64, np.int8, np.uint16, np.complex128)


def bound(fn, arguments):
    """Arguments with the function's defaults behind them."""
    missing = fn.__code__.co_argcount - len(arguments)
    return arguments + tuple(fn.__defaults__ or ())[-missing:] if missing else arguments


def capture(fn, *arguments):
    return _fw_capture_test.capture(fn, *bound(fn, arguments))


def matmul(a, b):
    return a @ b


def dot(a, b):
    return np.dot(a, b)


def numbers(dtype, *shape):
    if np.issubdtype(dtype, np.integer):
        return RNG.integers(-100 if np.issubdtype(dtype, np.signedinteger) else 0, 100, shape).astype(dtype)
    x = RNG.standard_normal(shape)
    if np.issubdtype(dtype, np.complexfloating):
        x = x + 1j * RNG.standard_normal(shape)
    return x.astype(dtype)


def strided(x):
    wide = np.zeros([2 * n for n in x.shape], x.dtype)
    part = wide[tuple(slice(None, None, 2) for _ in x.shape)]
    part[...] = x
    return part


LAYOUTS = {
    "c": np.ascontiguousarray,
    "f": np.asfortranarray,
    "strided": strided,
    "reversed": lambda x: np.ascontiguousarray(x[::-1])[::-1],
    "unaligned_row": lambda x: np.concatenate([np.zeros(1, x.dtype), x.ravel()])[1:].reshape(x.shape),
}


def same(got, want):
    assert type(got) is type(want)
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape and got.strides == want.strides
    if np.issubdtype(got.dtype, np.inexact):
        assert np.array_equal(np.isnan(got), np.isnan(want))
        got, want = np.where(np.isnan(got), 0, got), np.where(np.isnan(want), 0, want)
    assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", [matmul, dot])
def test_shapes(function, dtype):
    shapes = list(itertools.product(SIZES, repeat=3))
    for at in RNG.choice(len(shapes), 30, replace=False):
        m, k, n = shapes[at]
        for left, right in (((m, k), (k, n)), ((m, k), (k,)), ((k,), (k, n)), ((k,), (k,))):
            a, b = numbers(dtype, *left), numbers(dtype, *right)
            same(fusewire.compile(function)(a, b), function(a, b))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("short, inner", [(3, 3), (2, 3), (4, 2), (4, 4), (3, 5)])
def test_many_points(short, inner, dtype):
    """One axis is long: points, colours and homogeneous coordinates times a small matrix or vector."""
    for length in (17, 40, 333, 1031, 5003, 100_001):
        a, b, v = numbers(dtype, length, inner), numbers(dtype, inner, short), numbers(dtype, inner)
        for left, right in ((a, b), (a, b.T.copy().T), (b.T, a.T), (np.ascontiguousarray(b.T), np.ascontiguousarray(a.T)), (a, v), (v, np.ascontiguousarray(a.T)), (a[::2], b)):
            for function in (matmul, dot):
                same(fusewire.compile(function)(left, right), function(left, right))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m, k, n", [(3, 3, 3), (2, 2, 2), (4, 4, 4), (3, 3, 1), (1, 3, 3), (2, 5, 3), (8, 8, 8), (9, 3, 3)])
def test_stacks(m, k, n, dtype):
    for stack in ((1,), (2,), (7,), (0,), (300,), (4, 5), (2, 1, 3)):
        a, b = numbers(dtype, *stack, m, k), numbers(dtype, *stack, k, n)
        for left, right in ((a, b), (a, b[(0,) * len(stack)] if all(stack) else b), (numbers(dtype, m, k), b), (a, numbers(dtype, k)), (numbers(dtype, k), b), (a, numbers(dtype, n, k).T),
                            (a, b[:1]), (a[:, None], b), (a[::2], b[::2])):
            try:
                want = left @ right
            except ValueError:
                continue
            same(fusewire.compile(matmul)(left, right), want)


@pytest.mark.parametrize("length", [17, 1500, 4000])
def test_reports_of_many_points(length):
    compiled = fusewire.compile(matmul)
    for value in (np.inf, np.nan, 1e300, -1e-300):
        for at in (0, length // 2, length - 1):
            a, b = numbers(np.float64, length, 3), numbers(np.float64, 3, 3) * 1e10
            a[at, 1] = value
            b[1, 2] = 0
            for state in ("ignore", "warn", "raise"):
                reports = []
                for function in (compiled, matmul):
                    with np.errstate(all=state), warnings.catch_warnings(record=True) as caught:
                        warnings.simplefilter("always")
                        try:
                            reports.append((np.nan_to_num(function(a, b)).tobytes(), [str(w.message) for w in caught]))
                        except FloatingPointError as error:
                            reports.append(str(error))
                assert reports[0] == reports[1]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
@pytest.mark.parametrize("first, second", itertools.product(LAYOUTS, repeat=2))
def test_layouts(first, second, dtype):
    for m, k, n in ((4, 4, 4), (2, 4, 3), (3, 5, 3), (8, 6, 7)):
        for left, right in (((m, k), (k, n)), ((m, k), (k,)), ((k,), (k, n)), ((k,), (k,))):
            a, b = LAYOUTS[first](numbers(dtype, *left)), LAYOUTS[second](numbers(dtype, *right))
            same(fusewire.compile(matmul)(a, b), a @ b)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shapes", [((4, 4), (4, 4)), ((3, 4), (4,)), ((4,), (4, 4)), ((3,), (3,))])
def test_special_values(shapes, dtype):
    special = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e30, 1e-30, np.finfo(dtype).tiny, np.finfo(dtype).max], dtype)
    compiled = fusewire.compile(matmul)
    for _ in range(60):
        a, b = (RNG.choice(special, shape) for shape in shapes)
        with np.errstate(all="ignore"):
            same(compiled(a, b), a @ b)
        for state in ("warn", "raise"):
            reports = []
            for function in (compiled, matmul):
                with np.errstate(all=state), warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    try:
                        function(a, b)
                        reports.append([str(w.message) for w in caught])
                    except FloatingPointError as error:
                        reports.append(str(error))
            assert reports[0] == reports[1]


@pytest.mark.parametrize("n", [2, 3, 4, 7, 16])
def test_a_matrix_and_its_transpose(n):
    def gram(a, b):
        return a @ a.T, a.T @ a, a @ b.T

    a = numbers(np.float64, n, n)
    for x, y in zip(fusewire.compile(gram)(a, a), gram(a, a)):
        same(x, y)
    compiled = fusewire.compile(matmul)
    for b in (numbers(np.float64, n, n).T, a.T):
        same(compiled(a, b), a @ b)


def test_in_loops_and_branches():
    def power(p, f, n):
        for i in range(n):
            p = f @ p @ f.T
            if p[0, 0] > 1.0:
                p = p / p[0, 0]
            f[:] = f @ f / 2
        return p, f

    given = numbers(np.float64, 4, 4), numbers(np.float64, 4, 4) / 2
    for got, want in zip(fusewire.compile(power)(given[0].copy(), given[1].copy(), 30), power(given[0].copy(), given[1].copy(), 30)):
        same(got, want)


def test_out():
    def into(a, b, c):
        np.matmul(a, b, out=c)
        return c + 1

    a, b, c, d = (numbers(np.float64, 4, 4) for _ in range(4))
    same(fusewire.compile(into)(a, b, c), into(a, b, d))
    same(c, d)


def test_small_products_are_no_calls():
    """If the BLAS of this machine adds in an order that is known here."""
    compiled = fusewire.compile(matmul)
    a, long = RNG.integers(0, 9, (4, 4)), RNG.integers(0, 9, (1000, 4))
    same(compiled(a, a), a @ a)
    same(compiled(long, a), long @ a)
    assert " = call(" not in capture(matmul, a, a)
    assert " = call(" not in capture(matmul, long, a)
    assert " = call(" not in capture(matmul, RNG.integers(0, 9, (30, 4, 4)), a)


def test_many_sizes_share_a_variant():
    compiled = fusewire.compile(matmul)
    for n in range(2, 17):
        a, b = numbers(np.float64, n, n), numbers(np.float64, n, n)
        same(compiled(a, b), a @ b)
    assert len(fusewire._fusewire.describe(compiled)["variants"]) <= 4


@pytest.mark.parametrize("dtype", ["f", "d"])
@pytest.mark.parametrize("sizes", [(2, 2, 2), (3, 3, 3), (4, 4, 4), (2, 5, 3), (6, 7, 8), (16, 16, 16)], ids=str)
def test_products_that_are_too_small(sizes, dtype):
    """A sum that becomes -0 by rounding is -0 where NumPy's kernels round it with a zero, and 0 where they add it."""
    m, k, n = sizes
    functions = [lambda a, b: a @ b, np.dot, lambda a, b: a @ b[:, 0], lambda a, b: a[0] @ b, lambda a, b: a[0] @ b[:, 0],
                 lambda a, b: b.T @ a.T]
    least = np.finfo(dtype).minexp
    for function in functions:
        compiled = fusewire.compile(lambda a, b, f=function: f(a, b), economy=False)
        for seed in range(24):
            rng = np.random.default_rng(seed)
            scale = np.ldexp(1.0, least // 2 - seed)
            a, b = (rng.standard_normal(s) * scale for s in ((m, k), (k, n)))
            compare.assert_same_call(lambda a, b: function(a, b), compiled, (a.astype(dtype), b.astype(dtype)))
