"""ndarray.tolist() of two axes: lists of lists of one length, as arrays (src/frame_eval/list_sites.cpp)."""

import fusewire
import numpy as np
import pytest
from compare import assert_same_call

GRID = np.random.default_rng(0).integers(0, 9, (30, 30))
POINTS = np.random.default_rng(2).normal(size=(40, 3))


def walk(g):
    s = 0
    for r in g.tolist():
        for v in r:
            s += v
    return s


def index(g):
    t = g.tolist()
    s = 0
    for i in range(len(t)):
        for j in range(len(t[0])):
            s += t[i][j] * (i - j)
    return s


def seti(g):
    t = g.tolist()
    for i in range(1, len(t)):
        for j in range(1, len(t[i])):
            t[i][j] = t[i - 1][j - 1] + t[i][j]
    return t


def leaves(g):
    return g.tolist(), g.sum()


def rows(g):
    best = None
    for r in g.tolist():
        if best is None or sum(r) > best:
            best = sum(r)
    return best


def unpack(p):
    s = 0.0
    for x, y, z in p.tolist():
        s += x * y - z
    return s


def sort(g):
    t = g.tolist()
    t[0].sort()
    return t[0]


def kept(g):
    t = g.tolist()
    r = t[2]
    r[1] = 99
    return t, r is t[2]


def app(g):
    t = g.tolist()
    for i in range(len(g)):
        t[i].append(i)
    return t


def app2(g):
    t = g.tolist()
    t.append([1, 2])
    for r in t:
        r.append(1)
    return len(t), t[-1]


def argm(g):
    t = g.tolist()
    b = (0, 0)
    for i, r in enumerate(t):
        for j, v in enumerate(r):
            if v > t[b[0]][b[1]]:
                b = (i, j)
    return b


def mod(g):
    t = g.tolist()
    g[0, 0] = 77
    return t[0][0], sum(t[0])


FUNCTIONS = [walk, index, seti, leaves, rows, unpack, sort, kept, app, app2, argm, mod]
ARRAYS = [
    GRID,
    GRID.T,
    POINTS,
    POINTS > 0,
    GRID[:3, :3],
    GRID[:1, :1],
    GRID[:0],
    GRID[:, :0],
    GRID.astype("u1"),
    POINTS.astype("f4"),
    np.full((3, 3), 2**62 + 1),
    GRID.astype(complex),
    GRID.astype("u8"),
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("first", [0, 2, 4, 7])
def test_lists_of_lists(function, first):
    compiled = fusewire.compile(function, economy=False, background=False)
    for x in [*ARRAYS[first:], *ARRAYS[:first]]:
        for _ in range(2):
            assert_same_call(function, compiled, (x,))


@pytest.mark.parametrize(
    "function, x", [(walk, GRID), (index, GRID), (seti, GRID), (rows, GRID), (argm, GRID), (mod, GRID)]
)
def test_nothing_is_left_to_python(function, x):
    compiled = fusewire.compile(function, background=False)
    for _ in range(3):
        assert_same_call(function, compiled, (x,))
    assert not fusewire._fusewire.describe(compiled)["breaks"]
