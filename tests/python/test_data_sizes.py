"""Sizes that data decides, inside of one region: selections by masks and places, counts, what is computed from them, and
what they are written into; every one against plain Python for sizes from none to many, and for masks of every kind."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import fusewire
from compare import assert_same_call, clone, run
from fusewire import _fusewire


def facts(compiled) -> dict:
    return fusewire._fusewire.describe(compiled)


# Each takes x, y (float64 of one size), g (the same as a matrix of three columns), labels (small ints), s (a float).


def mean_of_chosen(x, y, g, labels, s):
    return x[x > s].mean()
def sum_of_chosen(x, y, g, labels, s):
    m = x > s
    return (x[m] * y[m]).sum(), m.sum()
def rows(x, y, g, labels, s):
    return g[labels == 1].sum(axis=0)
def centre(x, y, g, labels, s):
    return g[labels == 1].mean(axis=0)
def returned(x, y, g, labels, s):
    m = x > s
    return x[m] * 2 + y[m]
def several(x, y, g, labels, s):
    m = x > s
    a = np.sqrt(np.abs(x[m]))
    return a, a - a.sum(), g[m], x[~m] + 1
def two_masks(x, y, g, labels, s):
    return x[x > s] + y[y > s]
def beside_an_array(x, y, g, labels, s):
    m = x > s
    return x[m] * np.array([2.0]) + s
def as_large_as_another(x, y, g, labels, s):
    return x[x > s] + y
def size_as_number(x, y, g, labels, s):
    v = x[x > s]
    return v.size, len(v), v.shape, v.nbytes, v.size / 2 + s
def sizes_beside_arrays(x, y, g, labels, s):
    v = x[x > s]
    return v * 2, len(v), v.size * 3, v.shape, np.where(y > s)[0].nbytes
def built_from_size(x, y, g, labels, s):
    v = x[x > s]
    return np.zeros(v.size) + v, np.arange(len(v)) * 2
def norm_of_matrix(x, y, g, labels, s):
    v = g[x > s]
    return np.sqrt((v * v).sum(axis=1)), v.T * 2
def outer(x, y, g, labels, s):
    v = x[x > s]
    return (v[:, None] - v[None, :]).sum()
def flat_of_matrix(x, y, g, labels, s):
    return g[g > s] * 3
def column_mask(x, y, g, labels, s):
    return g[:, g[0] > s] if len(g) else g
def places(x, y, g, labels, s):
    return np.where(x > s)[0] * 2, np.nonzero(x > s)[0] + 1, np.flatnonzero(g > s) - 1
def argwhere(x, y, g, labels, s):
    return np.argwhere(x > s) + 1, np.argwhere(g > s), np.argwhere(g < s) * 2
def places_in_matrix(x, y, g, labels, s):
    i, j = np.nonzero(g > s)
    return i, j * 2, g[i, j] + x[i]
def matrix_where(x, y, g, labels, s):
    i, j = np.where(g > s)
    return (i + j).sum(), g[g > s] - y[i]
def compressed(x, y, g, labels, s):
    m = x > s
    return np.compress(m, x) + 1, np.compress(m, g, axis=0) * 2, np.extract(m, y) - 1
def unique(x, y, g, labels, s):
    return np.unique(labels) * 2, np.unique(x).size
def unique_counts(x, y, g, labels, s):
    values, counts = np.unique(labels, return_counts=True)
    return values + 1, counts / counts.sum()
def bins(x, y, g, labels, s):
    return np.bincount(labels) * 2 + 1
def weighted_bins(x, y, g, labels, s):
    return np.bincount(labels, weights=x, minlength=5) / 2
def histogram(x, y, g, labels, s):
    h, e = np.histogram(x, bins=16, range=(-3.0, 3.0))
    return h * 2, (e[:-1] + e[1:]) / 2
def histogram_of_data(x, y, g, labels, s):
    h, e = np.histogram(x)
    return h.cumsum(), e * 2
def fancy(x, y, g, labels, s):
    return x[labels] * 2, g[labels].sum(axis=1)
def fancy_of_sorted(x, y, g, labels, s):
    order = np.argsort(x)
    return x[order] * 2, y[order] - x[order], g[order] + 1
def fancy_pairs(x, y, g, labels, s):
    return g[labels, labels % 3] * 2
def fancy_columns(x, y, g, labels, s):
    return g[:, np.array([2, 0])] * 2, g[:, [1, 1]] + 1, g[labels, 1] * s
def fancy_matrix(x, y, g, labels, s):
    return x[labels.reshape(1, -1)].mean(axis=1) if len(x) else None
def element(x, y, g, labels, s):
    return x[np.argmax(y)] * 2, y[labels[0]]
def found_places(x, y, g, labels, s):
    i = np.where(x > s)[0]
    return x[i] * y[i]
def steps_of_places(x, y, g, labels, s):
    i = np.where(x > s)[0]
    return i[1:] - i[:-1], np.diff(i)
def ends(x, y, g, labels, s):
    v = x[x > s]
    return v[0] + v[-1], v[1:] * 2
def sorted_selection(x, y, g, labels, s):
    return np.sort(x[x > s])[::-1] * 2
def extremes(x, y, g, labels, s):
    v = x[x > s]
    return v.max() - v.min(), v.argmax(), v.std()
def branch_on_count(x, y, g, labels, s):
    i = np.where(x > s)[0]
    if len(i) > 3:
        return x[i].sum()
    return y.sum()
def branch_any(x, y, g, labels, s):
    v = x[x > s]
    if v.size:
        r = v.max()
    else:
        r = np.float64(-1.0)
    return r * 2
def chosen_in_branch(x, y, g, labels, s):
    m = x > s
    if x.sum() > 0:
        r = y[m].sum()
    else:
        r = x[m].sum() * 2
    return r + 1
def written(x, y, g, labels, s):
    m = x > s
    v = x[m]
    x[m] = v ** 2 + y[m]
    y[:] = y + v.sum()
def written_half_way(x, y, g, labels, s):
    y += 1
    v = x[x > s]
    x *= v.sum()
    return v
def written_row(x, y, g, labels, s):
    g[0] = g[labels == 1].mean(axis=0)
def written_own_selection(x, y, g, labels, s):
    v = x[x > s]
    x[:] = 0
    v += 1
    return v, x + 1
def stored_through_mask(x, y, g, labels, s):
    m = x > s
    x[m] = np.sqrt(np.abs(x[m])) + 1
    g[m] = g[m] - g[m].sum(axis=0)
    z = y * 2
    z[z > s] = y[z > s][::-1]
    return z
def stored_through_places(x, y, g, labels, s):
    order = np.argsort(y)
    x[order] = y * 2
    z = np.zeros(len(x))
    z[labels] += x
    z[labels] = z[labels] + 1
    return z, x[labels]
def repeated(x, y, g, labels, s):
    return np.repeat(x, labels) * 2, np.repeat(g, labels, axis=0) + 1
def kept_in_containers(x, y, g, labels, s):
    m = x > s
    return {"a": [x[m], x[m]], "b": (y[m],)}
def concatenated(x, y, g, labels, s):
    m = x > s
    return np.concatenate([x[m], y[~m]])
def looped(x, y, g, labels, s):
    out = np.zeros((4, 3))
    for j in range(4):
        out[j] = g[labels == j].sum(axis=0)
    return out
def condition_of_selection(x, y, g, labels, s):
    v = x[x > s]
    w = y[x > s]
    return v[v > w] * 2, np.where(v > w, v, w)


PROGRAMS = {f.__name__: f for f in list(globals().values()) if callable(f) and getattr(f, "__code__", None)
            and f.__code__.co_varnames[:5] == ("x", "y", "g", "labels", "s")}
# Left to Python: numbers alone are not worth it.
NUMBERS = {"size_as_number"}
# Sizes that are taken to be equal, and are not: such calls are declined.
UNEQUAL = {"two_masks", "as_large_as_another"}


def drawn(n: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=n), rng.normal(size=n), rng.normal(size=(n, 3)), rng.integers(0, min(4, n) or 1, n))


SIZES = (0, 1, 2, 3, 17, 1000)
BOUNDS = {"none": 99.0, "all": -99.0, "some": 0.3}


@pytest.mark.parametrize("name", PROGRAMS)
def test_sizes_and_masks(name):
    function = PROGRAMS[name]
    compiled = fusewire.compile(function)
    for n in (1000, 17, 3, 2, 1, 0, 17):
        for s in (0.3, -99.0, 99.0, 0.3):
            assert_same_call(function, compiled, (*drawn(n, n), s))
    assert facts(compiled)["variants"] or name in NUMBERS, facts(compiled)["breaks"]


@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - NUMBERS))
def test_one_region(name):
    function = PROGRAMS[name]
    compiled = fusewire.compile(function, fullgraph=True)
    for _ in range(3):
        assert_same_call(function, compiled, (*drawn(200, 1), 0.3))
    described = facts(compiled)
    assert not described["breaks"]
    hits, declines = (sum(v[key] for v in described["variants"]) for key in ("hits", "declines"))
    assert (hits == 0 and declines > 0) if name in UNEQUAL else (hits > 0 and declines == 0)


def test_sizes_that_are_equal_by_chance():
    def function(x, y, s):
        return x[x > s] + y[y > s], x[x > s] * np.ones(4)

    compiled = fusewire.compile(function, fullgraph=True)
    x, y = np.arange(8.0), np.arange(8.0)[::-1].copy()
    for s in (3.5, 3.5, 6.5, 2.5, 3.5, 99.0):  # 4, 1, 5, none: one element is broadcast
        assert_same_call(function, compiled, (x, y, s))
    described = facts(compiled)
    assert sum(v["hits"] for v in described["variants"]) == 3


@pytest.mark.parametrize("dtype", "?bBhHiIlLefdFD")
def test_types(dtype):
    def function(x, m, i):
        return x[m], x[m] + x[m], x[i] + x[0], np.compress(m, x)

    compiled = fusewire.compile(function)
    rng = np.random.default_rng(3)
    for n in (50, 3, 1):
        x = (rng.normal(size=n) * 5).astype(dtype) if dtype not in "HBIL" else rng.integers(0, 9, n).astype(dtype)
        assert_same_call(function, compiled, (x, rng.random(n) < 0.5, rng.integers(-n, n, 7)))


LAYOUTS = {
    "strided": lambda a: np.repeat(a, 2, axis=0)[::2],
    "reversed": lambda a: a[::-1].copy()[::-1],
    "fortran": np.asfortranarray,
    "columns": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "shifted": lambda a: np.concatenate([a[:1], a])[1:],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["several", "rows", "fancy", "fancy_columns", "written", "flat_of_matrix", "places"])
def test_layouts(layout, name):
    function = PROGRAMS[name]
    compiled = fusewire.compile(function)
    for n in (40, 2, 1):
        x, y, g, labels = drawn(n, 5)
        change = LAYOUTS[layout]
        assert_same_call(function, compiled, (change(x), change(y), change(g), labels, 0.3))
        assert_same_call(function, compiled, (x, change(y), g, change(labels), 0.3))


def test_written_arguments_that_overlap():
    def function(x, y, s):
        m = x > s
        v = y[m]
        x[m] = v * 2
        y[:] = y + v.sum()
        return v

    compiled = fusewire.compile(function)
    for start in (0, 1, 5):
        base = np.linspace(-2, 2, 40)
        assert_same_call(function, compiled, (base[:30], base[start : start + 30], 0.1))


@pytest.mark.parametrize("index", [[0, 5, 40], [-41, 0], [99], [0, -1, 3]])
def test_places_outside_raise(index):
    def function(x, i, out):
        out += 1
        return x[i] * 2

    compiled = fusewire.compile(function)
    for _ in range(3):
        assert_same_call(function, compiled, (np.arange(40.0), np.array(index), np.zeros(3)))


def test_masks_of_another_size_raise():
    def function(x, m):
        return x[m] * 2

    compiled = fusewire.compile(function)
    for n in (40, 39, 40, 41):
        assert_same_call(function, compiled, (np.arange(40.0), np.arange(n) % 2 == 0))


def test_negative_counts_raise():
    def function(i, x):
        return np.bincount(i) * 2, x + 1

    compiled = fusewire.compile(function)
    for values in ([1, 2, 2], [1, -2], [], [7]):
        assert_same_call(function, compiled, (np.array(values, dtype=np.int64), np.ones(3)))


@pytest.mark.parametrize("what", ["warn", "raise", "ignore"])
def test_error_states(what):
    def function(x, m):
        return x[m].mean(), np.sqrt(x[m]).sum(), 1 / x[m]

    compiled = fusewire.compile(function)
    with np.errstate(all=what):
        for x, m in ((np.arange(-3.0, 9), np.arange(12) % 2 == 0), (np.zeros(4), np.ones(4, bool)),
                     (np.ones(5), np.zeros(5, bool)), (np.ones(5), np.ones(5, bool))):
            assert_same_call(function, compiled, (x, m))


def test_one_variant_for_all_sizes():
    def function(x, s):
        v = x[x > s]
        return (v - v.mean()) / (1 + v.std())

    compiled = fusewire.compile(function, fullgraph=True)
    for n in (10, 100, 7, 5000, 33):
        assert_same_call(function, compiled, (np.random.default_rng(n).normal(size=n), 0.0))
    described = facts(compiled)
    assert len(described["variants"]) == 1 and sum(v["declines"] for v in described["variants"]) == 0


def test_results_are_arrays_of_their_own():
    def function(x, s):
        m = x > s
        return x[m] + 1, x[m]

    compiled = fusewire.compile(function, fullgraph=True)
    for n in (0, 1, 50, 100_000, 6_000_000):
        for result in compiled(np.linspace(-1, 1, n), 0.2):
            assert result.flags.owndata and result.flags.writeable and result.base is None
            assert result.flags.c_contiguous


@pytest.mark.parametrize("name", ["several", "written", "written_half_way", "norm_of_matrix", "returned", "looped"])
def test_memory_that_runs_out(name):
    function = PROGRAMS[name]
    compiled = fusewire.compile(function, fullgraph=True)
    arguments = (*drawn(3000, 1), 0.3)
    for _ in range(3):
        assert_same_call(function, compiled, arguments)
    expected = run(function, clone(arguments))
    failed = 0
    for number in range(1, 40):
        given = clone(arguments)
        before = clone(given)
        _fusewire.plant_allocation_failure(number)
        try:
            outcome = run(compiled, given)
        finally:
            missing = _fusewire.plant_allocation_failure(0)
        if missing:
            break
        failed += 1
        if outcome.error is not None:
            assert isinstance(outcome.error, MemoryError)
            for old, new in zip(before[:4], given[:4]):
                assert old.tobytes() == new.tobytes()
        else:
            for old, new in zip(expected.arguments[:4], given[:4]):
                assert old.tobytes() == new.tobytes()
    assert failed > 0
    assert_same_call(function, compiled, arguments)


def test_no_memory_is_lost():
    import gc
    import tracemalloc

    def function(x, s):
        v = x[x > s]
        w = np.sort(v * 2)
        return (w + 1)[w < 1]

    compiled = fusewire.compile(function)
    x = np.random.default_rng(0).normal(size=50_000)
    for _ in range(5):
        compiled(x, 0.1)
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for k in range(200):
        compiled(x, 0.1 if k % 3 else 99.0)
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert after - before < 300_000


# ---- sizes that a branch has asked for

def mean_where_any(x, w):
    out = np.zeros(len(x))
    for i in range(len(x)):
        window = x[max(0, i - w + 1):i + 1]
        window = window[window > 0.5]
        if len(window) >= 1:
            out[i] = np.mean(window)
    return out


def greatest_or(x, w):
    out = np.zeros(len(x))
    for i in range(len(x)):
        window = x[max(0, i - w + 1):i + 1]
        window = window[~np.isnan(window)]
        if window.size:
            out[i] = window.max() - window[0]
        else:
            out[i] = -1
    return out


def spread_or_next(x, w):
    out = []
    for i in range(len(x)):
        window = x[max(0, i - w + 1):i + 1]
        window = window[window > 0.7]
        if window.size == 0:
            continue
        out.append(window.std() + window[-1])
    return np.array(out)


def without_a_loop(x, w):
    found = x[x > w / 4]
    if len(found) > 0:
        return found.mean() + found[0] + found[-1], len(found)
    return 0.0, 0


@pytest.mark.parametrize("function", [mean_where_any, greatest_or, spread_or_next, without_a_loop], ids=lambda f: f.__name__)
def test_a_size_that_a_branch_has_asked_for(function):
    """Nothing is taken for granted outside of the branch: calls with empty parts are compiled code's as well."""
    compiled = fusewire.compile(function, economy=False, background=False)
    for n in (100, 80, 3):
        for w in (1, 2, 3, 5):
            x = np.random.default_rng(n).random(n)
            x[::7] = np.nan
            assert_same_call(function, compiled, (x, w))
            assert_same_call(function, compiled, (np.full(n, np.nan), w))
            assert_same_call(function, compiled, (x * 0.4, w))
    assert all(variant["declines"] == 0 for variant in fusewire._fusewire.describe(compiled)["variants"])
