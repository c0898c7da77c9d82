"""Functions of NumPy for which loops over numbers stand: what they answer, for whatever they are called with."""

from __future__ import annotations

import numpy as np
import pytest

import fusewire
from compare import assert_same_call

RNG = np.random.default_rng(5)
NAN, INF = float("nan"), float("inf")

VECTORS = {
    "sorted": np.sort(RNG.standard_normal(20)), "unsorted": RNG.standard_normal(17), "equal": np.repeat([0.5, 1.5, 2.5], 4), "none": np.zeros(0), "one": np.array([0.25]), "two": np.array([-1.0, 1.0]),
    "three": np.array([0.0, 1.0, 4.0]), "four": np.array([0.0, 1.0, 1.0, 4.0]), "five": np.array([0.0, 1.0, 2.0, 4.0, 8.0]), "ten": np.sort(RNG.standard_normal(10)), "eleven": np.sort(RNG.standard_normal(11)),
    "reversed": np.arange(9.0)[::-1], "steps": np.arange(24.0)[::3], "zeros": np.array([-0.0, 0.0, -0.0, 0.0, -0.0]), "NaN at the end": np.array([0.0, 1.0, 2.0, NAN, NAN]), "NaN inside": np.array([0.0, NAN, 1.0, NAN, 2.0, 3.0]),
    "infinite": np.array([-INF, -1.0, 0.0, 1.0, INF]), "large": np.array([-1e308, -1e300, 1e300, 1e308, 1.5e308]), "tiny": np.array([5e-324, 1e-310, 1e-300, 1e-3, 1.0]), "whole": np.arange(-5, 6), "unsigned": np.arange(6, dtype="u8"),
    "singles": np.linspace(-1, 1, 6, dtype="f4"), "halves": np.linspace(-1, 1, 6, dtype="f2"), "complex": np.arange(5) + 1j, "flags": np.array([False, False, True]), "table": np.arange(12.0).reshape(3, 4), "other order": np.arange(5.0).astype(">f8"),
    "list": [0.0, 1.0, 2.0, 3.0, 4.0], "text": np.array(["a", "b"]), "square": RNG.standard_normal((20, 20)), "tall": RNG.standard_normal((60, 50)).T, "matrix": np.arange(4.0).reshape(2, 2).view(np.matrix), "locked": np.broadcast_to(np.float64(1.5), 6), "long": RNG.standard_normal(300), "long steps": RNG.standard_normal(900)[::3],
}
NUMBERS = [0.3, 1.0, -0.0, 4.0, -100.0, 100.0, NAN, INF, -INF, 1, -3, True, 2**53 + 1, 2**62, 2**70, np.float64(0.5), np.float32(0.3), np.int64(2), np.int8(2), np.uint64(3), np.bool_(True), 0.5 + 0j, None, np.array(0.5), np.array([0.5, 2.5]), [1.0, 2.0]]

of_numbers = {
    "searchsorted": lambda a, v: np.searchsorted(a, v), "searchsorted right": lambda a, v: np.searchsorted(a, v, side="right"), "searchsorted of the array": lambda a, v: a.searchsorted(v, "right"),
    "interp": lambda a, v: np.interp(v, a, a * 3), "interp with ends": lambda a, v: np.interp(v, a, a[::-1], left=-1.5, right=2.5), "take": lambda a, v: np.take(a, v), "take of the array": lambda a, v: a.take(v),
}
of_vectors = {
    "cumsum": lambda a: np.cumsum(a), "cumsum of the array": lambda a: a.cumsum(), "cumsum of an axis": lambda a: np.cumsum(a, axis=-1), "cumprod": lambda a: np.cumprod(a), "cumprod of the array": lambda a: a.cumprod(axis=0),
    "inner": lambda a: np.inner(a, a[::-1]), "inner with itself": lambda a: np.inner(a, a), "vdot": lambda a: np.vdot(a, a + a), "vdot of strides": lambda a: np.vdot(a[::-1], a * 3), "trace": lambda a: np.trace(a), "trace of the array": lambda a: a.trace(),
    "kron": lambda a: np.kron(a, a[:3]), "tensordot": lambda a: np.tensordot(a, a.T, 1), "several percentiles": lambda a: np.percentile(a, [25, 50.0, 99]),
    "histogram": lambda a: np.histogram(a), "histogram of few": lambda a: np.histogram(a, 3), "histogram of many": lambda a: np.histogram(a, bins=1000),
}
# What nothing stands for.
others = {
    "cumsum in single": lambda a: np.cumsum(a, dtype="f4"), "tensordot of two axes": lambda a: np.tensordot(a, a), "density": lambda a: np.histogram(a, 4, density=True), "histogram of a range": lambda a: np.histogram(a, 4, (0, 1)),
    "histogram by edges": lambda a: np.histogram(a, [0.0, 0.5, 2.0]), "weighted histogram": lambda a: np.histogram(a, 4, weights=a), "lower quantile": lambda a: np.quantile(a, 0.3, method="lower"), "trace beside": lambda a: np.trace(a, 1),
}


@pytest.mark.parametrize("name", of_numbers)
@pytest.mark.parametrize("vector", VECTORS)
def test_calls_with_a_number(name, vector):
    function = of_numbers[name]
    compiled = fusewire.compile(function)
    for number in NUMBERS:
        assert_same_call(function, compiled, (VECTORS[vector], number))


@pytest.mark.parametrize("name", of_vectors)
@pytest.mark.parametrize("vector", VECTORS)
def test_calls_with_a_vector(name, vector):
    function = of_vectors[name]
    compiled = fusewire.compile(function)
    for _ in range(2):
        assert_same_call(function, compiled, (VECTORS[vector],))


@pytest.mark.parametrize("name", others)
@pytest.mark.parametrize("vector", ["sorted", "none", "zeros", "NaN inside", "whole", "table", "list"])
def test_other_calls(name, vector):
    function = others[name]
    assert_same_call(function, fusewire.compile(function), (VECTORS[vector],))


@pytest.mark.parametrize("state", ["raise", "warn", "ignore"])
def test_floating_point_reports(state):
    def sums(x):
        with np.errstate(all=state):
            return np.cumsum(x), np.cumprod(x), np.inner(x, x), np.interp(x[0], x, x * 2)

    compiled = fusewire.compile(sums)
    for name in ("large", "tiny", "infinite", "NaN inside", "sorted"):
        for _ in range(2):
            assert_same_call(sums, compiled, (VECTORS[name],))


def test_many_tables():
    """Of every length, sorted or not, places of all kinds: what NumPy finds."""

    def look_up(xs, xp, fp):
        found = np.zeros((len(xs), 3))
        for i in range(len(xs)):
            found[i, 0] = np.interp(xs[i], xp, fp)
            found[i, 1] = np.searchsorted(xp, xs[i])
            found[i, 2] = xp.searchsorted(xs[i], "right")
        return found

    compiled = fusewire.compile(look_up)
    for n in range(1, 40):
        for xp in (np.sort(RNG.integers(0, 9, n).astype(float)), RNG.integers(0, 9, n).astype(float), RNG.standard_normal(n)):
            xs = np.concatenate([xp, xp + 0.5, [NAN, INF, -INF, -1.0, 10.0]])
            assert_same_call(look_up, compiled, (xs, xp, RNG.standard_normal(n)))


def test_many_histograms():
    """Numbers on the edges of bins, and beside them."""

    def counts(x, edges):
        return np.histogram(x, 7), np.histogram(edges, 13), np.histogram(x[::2], 10)

    compiled = fusewire.compile(counts)
    for k in range(60):
        x = RNG.choice([RNG.standard_normal(50), RNG.integers(0, 8, 50) / 7, RNG.random(50) * 1e-300, RNG.random(50) * 10.0 ** RNG.integers(-20, 20)])
        low, high = x.min(), x.max()
        edges = np.linspace(low, high, 14)
        assert_same_call(counts, compiled, (np.concatenate([x, np.linspace(low, high, 8), [low, high]]), np.concatenate([edges, np.nextafter(edges[1:-1], low), np.nextafter(edges[1:-1], high)])))


def test_they_are_compiled_in_loops():
    """No call is left in a loop: the time of the loop's turns says so, and nothing else would."""

    def walk(table, values, steps):
        total = 0.0
        for i in range(len(steps)):
            total += np.interp(steps[i], table, values) + np.searchsorted(table, steps[i]) + np.take(values, i % 3) + np.trace(np.outer(table, values))
            total += (np.cumsum(table * steps[i])[-1] + np.cumprod(values)[-1]) * np.inner(table, values) - np.vdot(values, table)
        return total

    compiled = fusewire.compile(walk, fullgraph=True, economy=False)
    arguments = (np.sort(RNG.random(6)), RNG.random(6), RNG.random(50))
    assert_same_call(walk, compiled, arguments)
    graph = fusewire._fusewire.describe(compiled)["variants"][0]["graph"]
    assert "library" not in graph and "call(" not in graph, graph


def test_sizes_do_not_make_variants():
    def total(x):
        return np.cumsum(x * 2).max() + np.searchsorted(x, 0.5)

    compiled = fusewire.compile(total)
    for n in (100, 200, 1000, 5000, 70, 300):
        assert_same_call(total, compiled, (np.arange(n) * 0.01,))
    assert len(fusewire._fusewire.describe(compiled)["variants"]) <= 2


def test_a_call_stays_in_the_region_where_its_loop_cannot():
    def summary(x, y):
        counts = np.histogram(x, 5)[0]
        quartiles = np.percentile(x, [25, 75])
        where = np.searchsorted(y, x[0])
        print(end="") if counts[0] < 0 else None
        return counts[0] + quartiles[1] + where, np.cumsum(x)[-1]

    compiled = fusewire.compile(summary)
    arguments = (RNG.standard_normal(500), np.sort(RNG.standard_normal(500)))
    for _ in range(3):
        assert_same_call(summary, compiled, arguments)
    told = [stop["message"] for stop in fusewire._fusewire.describe(compiled)["breaks"]]
    assert not [message for message in told if "loop" in message or "iterations" in message], told


@pytest.mark.parametrize("function", (np.vdot, np.dot, np.inner))
def test_products_of_one_element_keep_their_sign(function):
    def last(w, a, out):
        for row in a:
            out[0] = function(w, row)
        return out

    compiled = fusewire.compile(last, economy=False)
    for w in (-1.5, 1.5):
        assert_same_call(last, compiled, (np.array([w]), np.zeros((3, 1)), np.ones(1)))
