"""Lists of lists and of tuples that the caller has: graphs, edges (src/frame_eval/outside_lists.cpp, pooled_list.h)."""

import heapq
import sys
from collections import deque
from pathlib import Path

import fusewire
import numpy as np
import pytest
from compare import assert_same_call, clone

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
from textbook.graphs import ranks  # noqa: E402


def graph(n, seed, weights=False):
    rng = np.random.default_rng(seed)
    rows = [[int(v) for v in rng.integers(0, n, rng.integers(0, 8))] for _ in range(n)]
    return [[(v, float(rng.random())) for v in row] for row in rows] if weights else rows


def edges(n, seed):
    rng = np.random.default_rng(seed)
    return [(int(a), int(b), float(w)) for a, b, w in zip(*rng.integers(0, n, (2, 4 * n)), rng.random(4 * n))]


def bfs(adj, s):
    n = len(adj)
    dist = [-1] * n
    dist[s] = 0
    queue = [s]
    head = 0
    while head < len(queue):
        u = queue[head]
        head += 1
        for v in adj[u]:
            if dist[v] < 0:
                dist[v] = dist[u] + 1
                queue.append(v)
    return dist


def bfs2(adj, s):
    n = len(adj)
    dist = np.full(n, -1)
    dist[s] = 0
    q = deque([s])
    while q:
        u = q.popleft()
        for v in adj[u]:
            if dist[v] < 0:
                dist[v] = dist[u] + 1
                q.append(v)
    return dist


def dijkstra(adj, s):
    n = len(adj)
    dist = [float("inf")] * n
    dist[s] = 0.0
    heap = [(0.0, s)]
    while heap:
        d, u = heapq.heappop(heap)
        if d > dist[u]:
            continue
        for v, w in adj[u]:
            nd = d + w
            if nd < dist[v]:
                dist[v] = nd
                heapq.heappush(heap, (nd, v))
    return dist


def comps(adj, n):
    comp = np.full(n, -1)
    c = 0
    for s in range(n):
        if comp[s] < 0:
            stack = [s]
            comp[s] = c
            while stack:
                u = stack.pop()
                for v in adj[u]:
                    if comp[v] < 0:
                        comp[v] = c
                        stack.append(v)
            c += 1
    return comp, c


def kruskal(edges, n):
    parent = list(range(n))

    def find(a):
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        return a

    total = 0.0
    for u, v, w in edges:
        a, b = find(u), find(v)
        if a != b:
            parent[a] = b
            total += w
    return total


def writes(adj, n):
    for u in range(n):
        adj[u].append(u)
    return sum(len(a) for a in adj)


def row(adj, n):
    best = adj[0]
    for u in range(n):
        if len(adj[u]) > len(best):
            best = adj[u]
    return best


def copyrows(adj, n):
    out = []
    for u in range(n):
        out.append(list(adj[u]))
    return out


GRAPHS = [pytest.param(f, False, id=f.__name__) for f in (bfs, bfs2, ranks, comps, writes, row, copyrows)]


@pytest.mark.parametrize("function, weights", [*GRAPHS, pytest.param(dijkstra, True, id="dijkstra")])
def test_graphs(function, weights):
    second = (
        (lambda n: 0) if function in (bfs, bfs2, dijkstra) else (lambda n: 20) if function is ranks else (lambda n: n)
    )
    for options in ({}, {"checked": True}):
        compiled = fusewire.compile(function, economy=False, background=False, **options)
        for n in (200, 70, 3, 1, 900, 200):
            for seed in (n, n + 1):
                assert_same_call(function, compiled, (graph(n, seed, weights), second(n)))


def test_edges():
    compiled = fusewire.compile(kruskal, economy=False, background=False)
    for n in (200, 100, 2, 1):
        assert_same_call(kruskal, compiled, (edges(n, n), n))


def total(rows, k):
    n = 0.0
    for _ in range(k):
        for row in rows:
            for v in row:
                n += v
    return n


OTHERS = {
    "ints": [[1, 2], [], [3]] * 40,
    "first_is_empty": [[], [1, 2], [3]] * 40,
    "floats": [[1.0, 2.0], [], [3.0]] * 40,
    "both": [[1, 2.0], [], [3]] * 40,
    "bools": [[True], [], [3, 4]] * 40,
    "great": [[1 << 70], [], [3]] * 40,
    "numpy": [[np.float64(2.0)], [], [np.float64(1.0)]] * 40,
    "tuples_of_rows": [(1, 2), (), (3,)] * 40,
    "one_length": [[1, 2], [3, 4]] * 60,
    "all_empty": [[] for _ in range(120)],
    "none": [],
    "arrays": [np.arange(3.0), np.arange(2.0)] * 60,
    "many": [[float(i) for i in range(20000)], [1.0]] * 60,
}


@pytest.mark.parametrize("first", OTHERS)
def test_lists_of_other_things(first):
    compiled = fusewire.compile(total, economy=False, background=False)
    for name in (first, *OTHERS, first):
        assert_same_call(total, compiled, (OTHERS[name], 1))


def pairs(items, x):
    n, best = 0.0, None
    for i, (a, b) in enumerate(items):
        n += a * x[b % len(x)] + items[-i - 1][1]
        if best is None or a < best:
            best = a
    return n, best, len(items)


def test_tuples():
    compiled = fusewire.compile(pairs, economy=False, background=False)
    x = np.random.default_rng(1).normal(size=9)
    flat = [(float(a), i) for i, a in enumerate(np.random.default_rng(2).normal(size=150))]
    ints = [(i, i % 7) for i in range(150)]
    others = [(*flat[:90], (1, 2)), (*flat[:90], (1.0, 2, 3)), (*flat[:90], 5.0), (*flat[:90], [1.0, 2])]
    for items in (flat, ints, flat[:1], [], *map(list, others), flat, tuple(flat)):
        assert_same_call(pairs, compiled, (items, x))


def changed(rows, row, x):
    n = 0
    for v in x:
        for w in rows[int(v) % len(rows)]:
            n += w
        row.append(n % 7)
    return n


def test_rows_that_are_changed_by_another_name():
    compiled = fusewire.compile(changed, economy=False, background=False)
    x = np.arange(150.0)
    for n in range(4):
        arguments = []
        for _ in range(2):
            rows = graph(100, n)
            arguments.append((rows, rows[3] if n % 2 else [], x.copy()))
        expected = changed(*arguments[0])
        assert compiled(*arguments[1]) == expected
        assert arguments[0][:2] == arguments[1][:2]


def kept(rows, x):
    out = []
    for v in x:
        out.append(rows[int(v) % len(rows)])
    return out


def test_rows_leave_as_they_are():
    compiled = fusewire.compile(kept, economy=False, background=False)
    rows, x = graph(100, 1), np.arange(150.0)
    for _ in range(3):
        assert all(a is b for a, b in zip(kept(rows, x), compiled(rows, x), strict=True))
    assert clone((rows,))[0] == rows


def filled(rows):
    return [row for row in rows if row]


def longest(rows):
    out = []
    for row in rows:
        if len(row) > 2:
            out.append((len(row), row))
    return out


@pytest.mark.parametrize("function", [filled, longest])
def test_some_of_the_rows_leave_as_they_are(function):
    """What the list that leaves holds is the caller's: no pool of our own stands behind it."""
    rows = [[0.5] * (i * 7 % 5) for i in range(67)]
    compiled = fusewire.compile(function, economy=False, background=False)
    for _ in range(3):
        got = compiled(rows)
        assert got == function(rows)
        assert all((a[1] if isinstance(a, tuple) else a) in rows for a in got)
    assert not [b for b in fusewire._fusewire.describe(compiled)["breaks"] if b["reason"] == "internal-error"]
