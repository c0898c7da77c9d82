"""Products of vectors and matrices by the loops of NumPy's functions (bindings/direct_products.h): bits, reports, memory."""

from __future__ import annotations

import itertools
import threading
import warnings

import numpy as np
import pytest

import compare
import fusewire

SHAPES = [((0,), (0,)), ((1,), (1,)), ((2,), (2,)), ((17,), (17,)), ((100,), (100,)),
          ((0, 2), (2,)), ((1, 18), (18,)), ((20, 18), (18,)), ((20, 1), (1,)), ((3, 0), (0,)),
          ((2,), (2, 0)), ((18,), (18, 1)), ((18,), (18, 20)), ((1,), (1, 20)),
          ((1, 18), (18, 1)), ((20, 18), (18, 19)), ((20, 1), (1, 19)), ((20, 2), (2, 1)), ((3, 0), (0, 4))]


def layouts(rng, shape, dtype):
    """Arrays of this shape in several layouts."""

    def numbers(shape):
        x = 10 * rng.standard_normal(shape)
        return (x + 1j * rng.standard_normal(shape) if dtype.kind == "c" else x).astype(dtype)

    yield numbers(shape)
    yield numbers(shape)[tuple(slice(None, None, -1) for _ in shape)]
    yield numbers([2 * n for n in shape])[tuple(slice(None, None, 2) for _ in shape)]
    yield numbers(shape[::-1]).T
    if shape[0]:
        yield np.broadcast_to(numbers(shape)[:1], shape)


def products(a, b):
    r = a @ b
    for _ in range(3):
        r = r + a @ b
    return r, np.matmul(b.T, a.T)


def dots(a, b):
    return np.dot(a, b) + 0, a.dot(b), np.dot(b, b)


@pytest.mark.parametrize("dtype", "?bhilefdFD")
@pytest.mark.parametrize("function", [products, dots])
def test_bits(function, dtype):
    rng = np.random.default_rng(1)
    for left, right in SHAPES:
        for a, b in itertools.product(layouts(rng, left, np.dtype(dtype)), layouts(rng, right, np.dtype(dtype))):
            if function is dots and len(left) + len(right) > 2:
                continue
            compiled = fusewire.compile(function, economy=False)
            with np.errstate(all="ignore"):
                for expected, result in zip(function(a, b), compiled(a, b)):
                    compare.assert_same_value(expected, result, 0)


def steps(a, x, n):
    lengths = []
    for _ in range(n):
        x = a @ x
        x = x / np.sqrt(x @ x)
        lengths.append(np.dot(x, x))
    return x, lengths


def test_what_numpy_reports():
    """inf * 0 and overflows in a product are Python's to warn of, as often as it does."""
    compiled = fusewire.compile(steps, economy=False)
    rng = np.random.default_rng(2)
    for bad in (None, np.inf, np.nan, 1e200):
        a, x = rng.random((20, 20)), rng.random(20)
        if bad is not None:
            a[3, 4] = bad
            x[4] = 0
        seen = []
        for function in (steps, compiled):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                seen.append((function(a, x, 4), [(str(w.message), w.lineno) for w in caught]))
        compare.assert_same_value(seen[0][0], seen[1][0], 0)
        assert seen[0][1] == seen[1][1]
        with np.errstate(all="raise"):
            errors = []
            for function in (steps, compiled):
                try:
                    errors.append(repr(function(a, x, 4)))
                except FloatingPointError as e:
                    errors.append(str(e))
            assert errors[0] == errors[1]


@pytest.mark.parametrize("dtype", "efd")
def test_overflows(dtype):
    """Those of half precision are raised by the C library, in another unit of the processor."""

    def rows(m, n):
        for i in range(n):
            m[0] = m[1] @ m[:3]
        return m, m[2] @ m[0, :3].copy().repeat(1) if m.shape[1] == 3 else m

    m = np.full((4, 4), np.finfo(dtype).max / 2, dtype)
    compiled = fusewire.compile(rows, economy=False)
    with np.errstate(all="raise"):
        for given in (m[:, :3], np.asfortranarray(m)[:3, :3]):
            for n in (4, 20):
                compare.assert_same_outcome(compare.run(rows, (given.copy(), n)), compare.run(compiled, (given.copy(), n)))


def kept(a, x, n):
    """Results that are still there when the same call is made again."""
    before, all_of_them = x, []
    for i in range(n):
        after = a @ before
        change = after - before
        all_of_them.append(after)
        before = after
        if i % 2:
            before = before - change
    return after, change, np.array(all_of_them)


def test_results_of_turns_are_apart():
    compiled = fusewire.compile(kept, economy=False)
    rng = np.random.default_rng(3)
    for n in (1, 2, 5, 40):
        a, x = rng.random((18, 18)) / 9, rng.random(18)
        for expected, result in zip(kept(a, x, n), compiled(a, x, n)):
            compare.assert_same_value(expected, result, 0)


def powers(a, x, n):
    p, m = a, x
    for i in range(n):
        x = a @ x
        p = p @ a
        m, x = x, m
    return x, p, m, a @ p @ p


@pytest.mark.parametrize("size", [17, 40, 130])
def test_the_result_of_the_last_turn_is_an_operand(size):
    """It is there until the call is done, and when the call is made by Python after all."""
    rng = np.random.default_rng(10)
    compiled = fusewire.compile(powers, economy=False)
    for bad in (None, 1e300, np.inf):
        a, x = rng.standard_normal((size, size)) / size**0.5, rng.standard_normal(size)
        if bad:
            x[3] = bad
            a[1, 3] = 1e60
        for n in (1, 2, 9, 20):
            compare.assert_same_outcome(compare.run(powers, (a, x, n)), compare.run(compiled, (a, x, n)))


def handed_out(a, x):
    one, other = a @ x, a @ x
    return one, other, one[2:], x


def test_results_belong_to_who_gets_them():
    compiled = fusewire.compile(handed_out, economy=False)
    a, x = np.random.default_rng(4).random((20, 20)), np.arange(20.0)
    results = [compiled(a, x) for _ in range(4)]
    for one, other, part, same in results:
        assert one.flags.owndata and one.base is None and same is x
        one[:] = 0
        assert part.base is one and not part.any() and other.all()


def test_threads():
    compiled = fusewire.compile(steps, economy=False)
    rng = np.random.default_rng(5)
    inputs = [(rng.random((20, 20)), rng.random(20), 300) for _ in range(4)]
    expected = [steps(*given) for given in inputs]
    results = [None] * len(inputs)

    def run(i):
        for _ in range(5):
            results[i] = compiled(*inputs[i])

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(inputs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one, other in zip(expected, results):
        compare.assert_same_value(one, other, 0)


SOLVERS = ["np.linalg.inv(a)", "np.linalg.det(a)", "np.linalg.solve(a, b)", "np.linalg.solve(a, b[:, None])", "np.linalg.solve(a, a @ a)",
           "np.linalg.cholesky(a)", "np.linalg.eigvalsh(a)", "np.linalg.eigh(a)[0]", "np.linalg.eigh(a)[1]", "np.linalg.eigh(a, 'U')[0]"]


@pytest.mark.parametrize("call", SOLVERS)
def test_solvers(call):
    """In turns of which one has no answer, or has conditions to report: with exceptions and warnings of Python's."""
    scope = {"np": np}
    exec(f"def f(s, b, kept):\n    for i in range(len(s)):\n        a = s[i]\n        kept.append({call})\n    return np.array(kept)", scope)
    rng = np.random.default_rng(7)
    for dtype in "dDf":
        for n in (1, 3, 60):
            x = rng.standard_normal((4, n, n)) * 3
            stack = (x @ x.transpose(0, 2, 1) + np.eye(n) * n).astype(dtype)
            singular, bad, large, negative = stack.copy(), stack.copy(), stack.copy(), stack.copy()
            singular[2] = 1 if n > 1 else 0
            negative[1] *= -1
            bad[1, 0, 0] = np.nan
            large[3] *= 1e30 if dtype == "f" else 1e300
            other = np.asfortranarray(stack.transpose(0, 2, 1))
            for given in (stack, singular, bad, large, negative, other, stack[::-1, ::-1, ::-1], stack[:0]):
                compiled = fusewire.compile(scope["f"], economy=False)
                b = rng.standard_normal(n).astype(dtype)
                for _ in range(2):
                    expected, result = compare.run(scope["f"], (given, b, [])), compare.run(compiled, (given, b, []))
                    compare.assert_same_outcome(expected, result)


def medians(stack, kept):
    for i in range(len(stack)):
        kept.append(np.median(stack[i]))
    return kept


@pytest.mark.parametrize("dtype", "bBhHiIlLfd?eD")
def test_medians(dtype):
    rng = np.random.default_rng(9)
    for shape in [(9,), (1,), (2,), (3, 3), (4, 5), (2, 2, 2), (300,), (50, 50), (0,)]:
        x = rng.integers(0, 100, (3, *shape)).astype(dtype)
        fractions = (rng.standard_normal((3, *shape)) * 9).astype(dtype) if dtype in "fde" else x
        nan, zeros, large = fractions.copy(), x.copy() * 0, fractions.copy()
        if dtype in "fd" and x.size:
            nan[1, ..., 0] = np.nan
            zeros[0, ..., ::2] = -0.0
            large *= np.finfo(dtype).max
            large[2] = np.finfo(dtype).tiny * fractions[2]
        for given in (x, fractions, nan, zeros, large, x[:, ..., ::-1], x[:, ..., ::2], np.asfortranarray(x)):
            compiled = fusewire.compile(medians, economy=False)
            for _ in range(2):
                expected, result = compare.run(medians, (given, [])), compare.run(compiled, (given, []))
                compare.assert_same_outcome(expected, result)


def in_order(stack, kept):
    for i in range(len(stack)):
        kept.append((np.sort(stack[i]), np.argsort(stack[i]), stack[i].argsort()))
    return kept


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "i8", "u8", "f2", "f4", "f8", "c16"])
def test_sorted(dtype):
    """Which of equal numbers stands first is NumPy's choice, and seen in their places."""
    rng = np.random.default_rng(11)
    for n in (0, 1, 2, 3, 7, 16, 17, 40, 300, 5000):
        x = rng.integers(0, 9, (3, n)).astype(dtype)
        others = [rng.standard_normal((3, n)).astype(dtype)] if dtype[0] in "fc" else []
        if others and n > 2:
            others.append(np.where(rng.random((3, n)) < 0.3, np.nan, x).astype(dtype))
            others.append(np.where(rng.random((3, n)) < 0.5, -0.0, 0.0).astype(dtype))
        for given in (x, x[:, ::-1], x[:, ::2], *others):
            compiled = fusewire.compile(in_order, economy=False)
            expected, result = compare.run(in_order, (given, [])), compare.run(compiled, (given, []))
            compare.assert_same_outcome(expected, result)


@pytest.mark.parametrize("place", ["0", "100", "50", "37.5", "1e-300", "[25, 75]", "(0.0, 50, 99.9)", "[]", "[50]", "np.float64(20.0)", "np.array([1.0, 2.0])", "101", "-1", "True", "x[0]", "50, axis=-1", "50, method='lower'", "30, keepdims=True"])
def test_quantiles(place):
    scope = {"np": np}
    other = "0.3" if place[0] not in "[(" else "[0.25, 1]"
    exec(f"def f(s, kept):\n    for x in s:\n        kept.append((np.percentile(x, {place}), np.quantile(x, {other})))\n    return kept", scope)
    rng = np.random.default_rng(12)
    for dtype in ("f8", "f4", "i8"):
        for shape in [(1,), (2,), (3,), (10,), (101,), (4, 5), (3000,), (0,)]:
            x = (rng.standard_normal((3, *shape)) * 50).astype(dtype)
            nan, infinite, zeros = x.copy(), x.copy(), x * 0
            if dtype != "i8" and x.size:
                nan[1, ..., 0], infinite[0, ..., -1], infinite[2, ..., -1] = np.nan, np.inf, -np.inf
            large = np.where(x > 0, 1.7e308, -1.7e308) if dtype == "f8" else x
            for given in (x, nan, infinite, zeros, large, x[..., ::-1]):
                compiled = fusewire.compile(scope["f"], economy=False)
                expected, result = compare.run(scope["f"], (given, [])), compare.run(compiled, (given, []))
                compare.assert_same_outcome(expected, result)
