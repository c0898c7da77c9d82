"""itertools.product(), combinations() and permutations(), ndarray.flat, np.ndindex() and np.ndenumerate()
(src/frame_eval/nested_iteration.h): walked by loops of the graph, and item by item."""

from itertools import combinations, permutations, product
from itertools import combinations_with_replacement as repeated

import fusewire
import numpy as np
import pytest
from compare import assert_same_call, run

GRID = np.random.default_rng(0).integers(0, 9, (30, 30))
LINE = np.random.default_rng(1).normal(size=60)
POINTS = np.random.default_rng(2).normal(size=(40, 3))
BLOCK = np.random.default_rng(3).normal(size=(6, 7, 8))


def pairs(g):
    s = 0
    for i, j in combinations(range(len(g)), 2):
        if g[i, j]:
            s += i - j
    return s


def pairs_from(g):
    s = 0
    for i, j in combinations(range(1, len(g)), 2):
        s += g[i, j] * i
    return s


def triples(g):
    s = 0
    n = 0
    for i, j, k in combinations(range(len(g)), 3):
        if g[i, j] > g[j, k]:
            s += g[i, k]
            n += 1
    return s, n


def rep(g):
    s = 0
    for i, j in repeated(range(len(g)), 2):
        s += g[i, j]
    return s


def perms(g):
    s = 0
    for i, j in permutations(range(len(g)), 2):
        s += g[i, j] * (i - j)
    return s


def perms3(g):
    s = 0
    for i, j, k in permutations(range(10), 3):
        s += g[i, j] * g[j, k]
    return s


def of_array(x):
    best = 1e9
    for a, b in combinations(x, 2):
        best = min(best, abs(a - b))
    return best


def of_rows(p):
    s = 0.0
    for a, b in combinations(p, 2):
        s += np.sqrt(((a - b) ** 2).sum())
    return s


def of_list(x):
    s = 0.0
    pts = [x * 2, x + 1, x * x, x - 3, x * 5, x / 2, x + 9, x - 9, x * 7, x * 8, x * 9, x * 11]
    for a, b in combinations(pts, 2):
        s += (a * b).sum()
    return s


def writes(x):
    x = x.copy()
    for a, b in combinations(x, 2):
        x[0] += a
        x[1] -= b
    return x


def brk(g):
    for i, j in product(range(len(g)), range(len(g[0]))):
        if g[i, j] == 8:
            break
    else:
        return None
    return i, j


def ret(g):
    for i, j in np.ndindex(g.shape):
        if g[i, j] == 8:
            return i, j


def cont(g):
    s = 0
    for i, j in product(range(len(g)), repeat=2):
        if g[i, j] % 2:
            continue
        s += g[j, i]
    return s


def comp(g):
    return [i * g[i, j] for i, j in product(range(len(g)), range(5))]


def gensum(g):
    return sum(g[i, j] for i, j in product(range(len(g)), repeat=2) if i != j)


def enum(g):
    s = 0
    for k, (i, j) in enumerate(product(range(len(g)), repeat=2)):
        s += k * g[i, j]
    return s


def nd3(a):
    out = np.zeros_like(a)
    for i, j, k in np.ndindex(a.shape):
        out[i, j, k] = a[i, j, k] * 2 + i
    return out


def ndidx(a):
    out = np.zeros_like(a)
    for idx in np.ndindex(a.shape):
        out[idx] = a[idx] * 2
    return out


def ndidx1(a):
    out = np.zeros_like(a)
    for i in np.ndindex(*a.shape[:2]):
        out[i] = a[i].sum()
    return out


def ndidx_n(a):
    s = 0.0
    for i, j in np.ndindex(len(a), 3):
        s += a[i, j].max()
    return s


def nden(g):
    best = (0, 0)
    v0 = -1
    for (i, j), v in np.ndenumerate(g):
        if v > v0:
            best = (i, j)
            v0 = v
    return best, v0


def nden_idx(g):
    out = np.zeros_like(g)
    for idx, v in np.ndenumerate(g):
        out[idx] = v * v
    return out


def nden_write(g):
    g = g.copy()
    for (i, j), v in np.ndenumerate(g):
        if i + 1 < len(g):
            g[i + 1, j] += v % 3
    return g


def flat(g):
    s = 0
    for v in g.flat:
        s += v * v
    return s


def flatT(g):
    s = 0
    for k, v in enumerate(g.T.flat):
        s += v * k
    return s


def flat_comp(g):
    return [v for v in g.flat if v > 3]


def flat_sum(g):
    return sum(v for v in g.flat)


def flat_next(g):
    it = g.flat
    a = next(it)
    b = next(it)
    return a, b, next(it)


def prod_next(g):
    it = product(range(len(g)), repeat=2)
    return g.sum(), next(it), next(it)


def prod_list(g):
    return np.array(list(product(range(len(g)), repeat=2))).sum() + g.sum()


def lists(g):
    s = 0.0
    for dx, dy in product((-1, 0, 1), repeat=2):
        s += g[dx, dy]
    return s


def grid(g):
    best = None
    for a, b in product([0.1, 0.5, 1.0, 2.0, 5.0, 7.0, 8.0, 9.0], [1, 2, 3, 4, 5, 6, 7, 8, 9]):
        e = float(((g - a) ** 2).sum() * b)
        if best is None or e < best[0]:
            best = (e, a, b)
    return best


def small_n(n, x):
    s = 0.0
    for i, j in combinations(range(n), 2):
        s += x[i] * x[j]
    return s


def neg(x):
    try:
        for i in np.ndindex(-1, len(x)):
            pass
    except ValueError as e:
        return str(e), x.sum()


def zero(x):
    n = 0
    for i in np.ndindex(0, len(x)):
        n += 1
    for i in np.ndindex():
        n += 1
    for i, v in np.ndenumerate(x[:0]):
        n += 1
    return n, x.sum()


def shape_changes(g):
    g = g.copy()
    s = 0
    for k, v in enumerate(g.flat):
        if k == 3:
            g = g[:5]
        s += v * k
    return s, g


def two_walks(g):
    it = g.flat
    s = 0
    for v in it:
        s += v
        if v > 7:
            break
    for v in it:
        s -= v
    return s


def pool_changes(g):
    pool = [1, 2, 3, 4, 5, 6, 7, 8, 9]
    s = 0
    for i, j in product(pool, pool):
        pool[0] = 7
        s += g[i, j]
    return s


def pool_changes_before(g):
    pool, single = [1, 2, 3, 4, 5, 6, 7, 8, 9], [float(v) for v in range(30)]
    a, b = product(pool, pool), combinations(single, 2)
    pool[0], single[0] = 7, 8.0
    return g.sum(), next(a), next(b), next(a)


def nested(g):
    s = 0
    for i, j in product(range(len(g)), repeat=2):
        for k, m in combinations(range(5), 2):
            if g[i, j] > 3:
                s += g[k, m]
    return s


def within_loop(g):
    s = 0
    for i in range(len(g)):
        for (j, k), v in np.ndenumerate(g):
            if v == i:
                break
            s += j - k
    return s


def method_is_kept(g):
    it = np.ndindex(g.shape)
    step = it.__next__
    s = 0
    for i, j in it:
        s += g[i, j]
        if s > 50:
            break
    return s, step()


def raises(g):
    s = 0
    for i, j in product(range(len(g)), range(31)):
        s += g[i, j]
    return s


LOOPS = [
    pairs,
    pairs_from,
    triples,
    rep,
    perms,
    brk,
    ret,
    cont,
    comp,
    gensum,
    enum,
    nden,
    nden_idx,
    nden_write,
    flat,
    flatT,
    flat_comp,
    flat_sum,
    nested,
    within_loop,
]
OTHERS = [
    flat_next,
    prod_next,
    prod_list,
    lists,
    grid,
    zero,
    neg,
    shape_changes,
    two_walks,
    pool_changes,
    pool_changes_before,
    method_is_kept,
    raises,
]
SQUARES = [GRID, GRID.T, GRID[::2, ::2], GRID[:3, :3], GRID[:1, :1], GRID[:0, :0], GRID.astype(float)]


def breaks(compiled):
    return [
        b["detail"]
        for b in fusewire._fusewire.describe(compiled)["breaks"]
        if b["reason"] not in ("nothing-to-compile", "python-exception")
    ]


@pytest.mark.parametrize("function", LOOPS, ids=lambda f: f.__name__)
def test_loops(function):
    compiled = fusewire.compile(function, background=False)
    for _ in range(3):
        assert_same_call(function, compiled, (GRID,))
    assert not breaks(compiled)
    for g in SQUARES:
        assert_same_call(function, compiled, (g,))


@pytest.mark.parametrize("function", [perms3, *OTHERS], ids=lambda f: f.__name__)
def test_others(function):
    for squares in (SQUARES, SQUARES[3:] + SQUARES[:3]):
        compiled = fusewire.compile(function, economy=False, background=False)
        for g in squares:
            for _ in range(2):
                assert_same_call(function, compiled, (g,))


@pytest.mark.parametrize(
    "function, x",
    [
        (of_array, LINE),
        (of_rows, POINTS),
        (of_list, LINE),
        (writes, LINE),
        (nd3, BLOCK),
        (ndidx, BLOCK),
        (ndidx1, BLOCK),
        (ndidx_n, BLOCK),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_arrays(function, x):
    compiled = fusewire.compile(function, economy=False, background=False)
    for array in (x, x[::-1], x[:2], x[:1], x[:0], x.copy(order="F")):
        for _ in range(2):
            assert_same_call(function, compiled, (array,), ulp=0)


def test_numbers_that_decide_how_many():
    compiled = fusewire.compile(small_n, background=False)
    for n in (40, 3, 2, 1, 0, 50):
        assert_same_call(small_n, compiled, (n, LINE), ulp=0)


def leaving(g):
    return (
        g.sum(),
        product(range(len(g)), repeat=2),
        combinations(range(len(g)), 2),
        np.ndindex(g.shape),
        np.ndenumerate(g),
        g.flat,
    )


def test_iterators_leave():
    compiled = fusewire.compile(leaving, economy=False, background=False)
    for g in SQUARES:
        for got, expected in zip(compiled(g)[1:], leaving(g)[1:], strict=True):
            assert type(got) is type(expected)
            assert list(got) == list(expected)


def begun(g):
    it = g.flat
    next(it)
    next(it)
    return g.sum(), it


def test_an_iterator_leaves_that_has_begun():
    compiled = fusewire.compile(begun, economy=False, background=False)
    for _ in range(3):
        got, expected = compiled(GRID)[1], begun(GRID)[1]
        assert type(got) is type(expected)
        assert got.index == expected.index
        assert list(got) == list(expected)


def test_what_an_iterator_has_raised():
    compiled = fusewire.compile(raises, economy=False, background=False)
    for _ in range(3):
        expected, actual = run(raises, (GRID,)), run(compiled, (GRID,))
        assert str(expected.error) == str(actual.error)


def by_map(g):
    s = 0
    for i, j in product(*map(range, g.shape)):
        s += g[i, j] * i
    return s


def data_pools(g):
    s = 0
    for i in range(len(g)):
        for a, b in product(range(g[i, i]), range(3)):
            s += a * b + g[i, 0]
        for a, b in combinations(range(g[i, i]), 2):
            s += a * b - g[i, 0]
    return s


@pytest.mark.parametrize("function", [pairs, cont, enum, nden, flat, by_map, ret], ids=lambda f: f.__name__)
def test_one_variant_serves_all_sizes(function):
    compiled = fusewire.compile(function, background=False)
    for n in (30, 29, 28, 20, 25, 9):
        assert_same_call(function, compiled, (GRID[:n, :n].copy(),))
    assert len(fusewire._fusewire.describe(compiled)["variants"]) <= 2


def test_array_data_decides_how_many():
    compiled = fusewire.compile(data_pools, background=False)
    for g in (GRID, GRID[::-1], GRID * 0, GRID - 4, GRID[:1, :1], GRID[:0, :0]):
        for _ in range(2):
            assert_same_call(data_pools, compiled, (g,))
