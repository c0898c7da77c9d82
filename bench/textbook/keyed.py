"""Dicts and sets with keys from data: visited places, scores, parents, counts, memos, sparse vectors."""

import heapq
from collections import Counter, defaultdict, deque

import numpy as np

from .common import RNG, r
from .worklists import grid, weights

STEPS = ((1, 0), (-1, 0), (0, 1), (0, -1))


def visited_places(g, start, goal):
    h, w = g.shape
    visited, ready = {start}, deque([(start[0], start[1], 0)])
    while ready:
        y, x, d = ready.popleft()
        if (y, x) == goal:
            return d
        for dy, dx in STEPS:
            p, q = y + dy, x + dx
            if 0 <= p < h and 0 <= q < w and g[p, q] == 0 and (p, q) not in visited:
                visited.add((p, q))
                ready.append((p, q, d + 1))
    return -1


def depth_first(w, start):
    n = len(w)
    seen, order, stack = set(), [], [start]
    while stack:
        u = stack.pop()
        if u in seen:
            continue
        seen.add(u)
        order.append(u)
        for v in range(n):
            if w[u, v] > 0 and v not in seen:
                stack.append(v)
    return np.array(order)


def scores(g, start, goal):
    """A*, which keeps the scores in a dict and what is done in a set."""

    def distance(p):
        return abs(p[0] - goal[0]) + abs(p[1] - goal[1])

    h, w = g.shape
    ready, best, closed = [(distance(start), 0, start)], {start: 0}, set()
    while ready:
        _, cost, here = heapq.heappop(ready)
        if here == goal:
            return cost
        if here in closed:
            continue
        closed.add(here)
        for dy, dx in STEPS:
            there = (here[0] + dy, here[1] + dx)
            if not (0 <= there[0] < h and 0 <= there[1] < w):
                continue
            if g[there] == 1:
                continue
            new = cost + 1
            if new < best.get(there, float("inf")):
                best[there] = new
                heapq.heappush(ready, (new + distance(there), new, there))
    return -1


def shortest(w, start):
    n = len(w)
    far = {i: np.inf for i in range(n)}
    far[start] = 0.0
    ready, done = [(0.0, start)], set()
    while ready:
        d, u = heapq.heappop(ready)
        if u in done:
            continue
        done.add(u)
        for v in range(n):
            if w[u, v] > 0 and v not in done:
                new = d + w[u, v]
                if new < far[v]:
                    far[v] = new
                    heapq.heappush(ready, (new, v))
    return far


def counts(x):
    found = {}
    for v in x:
        k = int(v)
        found[k] = found.get(k, 0) + 1
    return found


def counted(x):
    found = Counter()
    for v in x:
        found[int(v)] += 1
    at, most = -1, 0
    for k, c in found.items():
        if c > most:
            most, at = c, k
    return at, most


def sums_of_groups(keys, x):
    sums, sizes = defaultdict(float), defaultdict(int)
    for k, v in zip(keys.tolist(), x.tolist()):
        sums[k] += v
        sizes[k] += 1
    return {k: sums[k] / sizes[k] for k in sums}


def pair_with_sum(x, target):
    seen = {}
    for i in range(len(x)):
        v = int(x[i])
        if target - v in seen:
            return seen[target - v], i
        seen[v] = i
    return -1, -1


def first_repeated(x):
    seen = set()
    for v in x:
        v = int(v)
        if v in seen:
            return v
        seen.add(v)
    return None


def without_repeats(x):
    seen, out = set(), []
    for v in x:
        if int(v) not in seen:
            seen.add(int(v))
            out.append(v)
    return np.array(out)


def longest_without_repeat(x):
    last, start, best = {}, 0, 0
    for i in range(len(x)):
        k = int(x[i])
        if k in last and last[k] >= start:
            start = last[k] + 1
        last[k] = i
        best = max(best, i - start + 1)
    return best


def longest_memo(n):
    """Collatz, with the steps of what has been met."""
    best, at, steps_of = 0, 1, {1: 1}
    for i in range(1, n):
        k, steps = i, 0
        while k not in steps_of:
            k = k // 2 if k % 2 == 0 else 3 * k + 1
            steps += 1
        total = steps + steps_of[k]
        steps_of[i] = total
        if total > best:
            best, at = total, i
    return best, at


def places_of_a_walk(moves):
    x = y = 0
    seen = {(0, 0)}
    for m in moves:
        if m == 0:
            x += 1
        elif m == 1:
            x -= 1
        elif m == 2:
            y += 1
        else:
            y -= 1
        seen.add((x, y))
    return len(seen)


def spanning_tree(edges, w, n):
    parent = {i: i for i in range(n)}

    def root(u):
        while parent[u] != u:
            parent[u] = parent[parent[u]]
            u = parent[u]
        return u

    total = 0.0
    for k in np.argsort(w, kind="stable"):
        a, b = root(int(edges[k, 0])), root(int(edges[k, 1]))
        if a != b:
            parent[a] = b
            total += w[k]
    return total


def sparse_product(at, x, other, y):
    known, total = dict(zip(at.tolist(), x.tolist())), 0.0
    for i, v in zip(other.tolist(), y.tolist()):
        if i in known:
            total += known[i] * v
    return total


def ant(n):
    """Langton's: cells that are black are in a set of numbers."""
    black, x, y, dx, dy = {}, 0, 0, 0, 1
    for _ in range(n):
        if black.get((x, y), 0) == 1:
            black[(x, y)] = 0
            dx, dy = -dy, dx
        else:
            black[(x, y)] = 1
            dx, dy = dy, -dx
        x, y = x + dx, y + dy
    return x, y, len(black)


def ints(n, most):
    return RNG.integers(0, max(most, 1), n)


PROGRAMS = {
    "visited_places": (visited_places, lambda n: (grid(n, n + 3), (0, 0), (n - 1, n + 2)), 60),
    "depth_first": (depth_first, lambda n: (weights(n, 3.0), 0), 120),
    "scores": (scores, lambda n: (grid(n, n + 3, 0.15), (0, 0), (n - 1, n + 2)), 50),
    "shortest": (shortest, lambda n: (weights(n), 0), 100),
    "counts": (counts, lambda n: (ints(n, 40),), 3000),
    "counted": (counted, lambda n: (ints(n, 40),), 3000),
    "sums_of_groups": (sums_of_groups, lambda n: (ints(n, 40), r(n)), 3000),
    "pair_with_sum": (pair_with_sum, lambda n: (RNG.permutation(n) * 3, 6 * n), 3000),
    "first_repeated": (first_repeated, lambda n: (RNG.permutation(n),), 3000),
    "without_repeats": (without_repeats, lambda n: (ints(n, n // 4),), 3000),
    "longest_without_repeat": (longest_without_repeat, lambda n: (ints(n, 200),), 3000),
    "longest_memo": (longest_memo, lambda n: (n,), 1000),
    "places_of_a_walk": (places_of_a_walk, lambda n: (ints(n, 4),), 3000),
    "spanning_tree": (spanning_tree, lambda n: (ints(2 * n, n).reshape(n, 2), r(n), n), 500),
    "sparse_product": (sparse_product, lambda n: (RNG.permutation(4 * n)[:n], r(n), RNG.permutation(4 * n)[:n], r(n)), 1000),
    "ant": (ant, lambda n: (n,), 3000),
}
