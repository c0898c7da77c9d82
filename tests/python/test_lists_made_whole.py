"""Lists of numbers that are made whole - list(range(n)), short comprehensions, short loops of appends - and whose items turns
of loops then read and set by an index: from then on they stand in arrays of the graph."""
import numpy as np
import pytest

import fusewire
from fusewire import _fusewire
from compare import assert_same_call


def find(parent, i):
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


def roots(edges, n):
    parent = list(range(n))
    for a, b in edges:
        ra, rb = a, b
        while parent[ra] != ra: ra = parent[ra]
        while parent[rb] != rb: rb = parent[rb]
        if ra != rb: parent[ra] = rb
    return parent


def roots_of_a_comprehension(edges, n):
    parent = [i for i in range(n)]
    joined = 0
    for k in range(len(edges)):
        ra = find(parent, int(edges[k, 0])); rb = find(parent, int(edges[k, 1]))
        if ra != rb:
            parent[ra] = rb
            joined += 1
    return parent, joined


def taps(edges, n):
    h = [1.0 / (k + 1) for k in range(n)]
    x = edges[:, 0] * 0.5
    out = np.zeros(len(x))
    for i in range(len(x)):
        s = 0.0
        for k in range(min(n, i + 1)): s += h[k] * x[i - k]
        out[i] = s
    return out, h[0], len(h)


def table_of_appends(edges, n):
    squares = []
    for k in range(n): squares.append(k * k + 1)
    total = 0
    for a, b in edges: total += squares[a % n] - squares[b % n]
    return total, squares


def shuffled(edges, n):
    order = list(range(n, 0, -1))
    for a, b in edges:
        a = a % n; b = b % n
        order[a], order[b] = order[b], order[a]
    return order


def floats_among_ints(edges, n):
    values = list(range(n))
    for a, b in edges: values[a % n] = values[b % n] * 0.5 + 1
    return values


def of_bounds(edges, n):
    p = list(range(2, 2 + 3 * n, 3))
    for a, b in edges: p[a % n] += p[b % n]
    return p, p[-1]


def outside(edges, n):
    p = list(range(n))
    try:
        for a, b in edges: p[a + b] = p[a] + 1
    except IndexError as error:
        return str(error), p
    return p


def strings(edges, n):
    names = ["even" if k % 2 == 0 else "odd" for k in range(n)]
    s = 0
    for a, b in edges: s += len(names[a % n])
    return s


def of_arrays(edges, n):
    rows = [edges[:, 0] * k for k in range(n)]
    s = edges[:, 1] * 0
    for a, b in edges[:4]: s = s + rows[a % n]
    return s


def none(edges, n):
    empty = list(range(0))
    for a, b in edges:
        if a < 0: return empty[a]
    return empty, list(range(n))


FUNCTIONS = (roots, roots_of_a_comprehension, taps, table_of_appends, shuffled, floats_among_ints, of_bounds, outside, strings, of_arrays,
             none)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_python(function):
    rng = np.random.default_rng(5)
    for economy in (False, True):
        compiled = fusewire.compile(function, economy=economy)
        for n in (5, 12, 3, 100, 64, 65, 1):
            for count in (40, 0, 1, 300):
                edges = rng.integers(0, n, (count, 2))
                assert_same_call(function, compiled, (edges, n))
        breaks = _fusewire.describe(compiled)["breaks"]
        assert not [b for b in breaks if b["class"] == "bug"], breaks


@pytest.mark.parametrize("function", (roots, roots_of_a_comprehension, taps, table_of_appends, shuffled, floats_among_ints, of_bounds),
                         ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", (12, 100))
def test_one_region(function, n):
    compiled = fusewire.compile(function, economy=False, fullgraph=True)
    edges = np.random.default_rng(6).integers(0, n, (200, 2))
    for _ in range(3): assert_same_call(function, compiled, (edges, n))
