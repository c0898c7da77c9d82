"""Programs with lists in lists and in dicts, of lengths that data decides: graphs, bins, groups, and what is sorted."""

from collections import defaultdict

import numpy as np

from .common import RNG, ints


def distances(tails, heads, n):
    """Steps from node 0, by the lists of neighbours."""
    neighbours = [[] for _ in range(n)]
    for u, v in zip(tails, heads):
        neighbours[u].append(v)
        neighbours[v].append(u)
    distance = np.full(n, -1)
    distance[0] = 0
    queue, head = [0], 0
    while head < len(queue):
        u = queue[head]
        head += 1
        for v in neighbours[u]:
            if distance[v] < 0:
                distance[v] = distance[u] + 1
                queue.append(v)
    return distance


def topological(tails, heads, n):
    children, waiting = [[] for _ in range(n)], [0] * n
    for u, v in zip(tails, heads):
        if u < v:
            children[u].append(v)
            waiting[v] += 1
    ready, order = [u for u in range(n) if waiting[u] == 0], []
    while ready:
        u = ready.pop()
        order.append(u)
        for v in children[u]:
            waiting[v] -= 1
            if waiting[v] == 0:
                ready.append(v)
    return np.array(order)


def ranks(graph, turns):
    """PageRank of a graph of the caller's."""
    n = len(graph)
    rank = np.full(n, 1.0 / n)
    for _ in range(turns):
        after = np.full(n, 0.15 / n)
        for u in range(n):
            if graph[u]:
                share = 0.85 * rank[u] / len(graph[u])
                for v in graph[u]:
                    after[v] += share
        rank = after
    return rank


def spanning(points):
    """Length of the least spanning tree, by Kruskal's algorithm."""
    n, edges = len(points), []
    for i in range(n):
        for j in range(i + 1, n):
            edges.append(((points[i, 0] - points[j, 0]) ** 2 + (points[i, 1] - points[j, 1]) ** 2, i, j))
    edges.sort()
    parent, length = list(range(n)), 0.0
    for d, i, j in edges:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        while parent[j] != j:
            parent[j] = parent[parent[j]]
            j = parent[j]
        if i != j:
            parent[i] = j
            length += d**0.5
    return length


def contacts(points, radius):
    """Pairs that are closer than the radius, by a grid of cells."""
    cells = defaultdict(list)
    for i in range(len(points)):
        cells[int(points[i, 0] // radius), int(points[i, 1] // radius)].append(i)
    pairs = 0
    for i in range(len(points)):
        a, b = int(points[i, 0] // radius), int(points[i, 1] // radius)
        for da in (-1, 0, 1):
            for db in (-1, 0, 1):
                if (a + da, b + db) in cells:
                    for j in cells[a + da, b + db]:
                        if j > i:
                            d = (points[i, 0] - points[j, 0]) ** 2 + (points[i, 1] - points[j, 1]) ** 2
                            if d < radius**2:
                                pairs += 1
    return pairs


def bucket_sort(x, count):
    low, high = x.min(), x.max()
    buckets = [[] for _ in range(count)]
    for v in x:
        buckets[min(count - 1, int((v - low) / (high - low) * count))].append(v)
    out = []
    for bucket in buckets:
        bucket.sort()
        out.extend(bucket)
    return np.array(out)


def rising(x):
    """Runs that rise: how many, and the mean of the longest."""
    runs, current = [], [x[0]]
    for i in range(1, len(x)):
        if x[i] > x[i - 1]:
            current.append(x[i])
        else:
            runs.append(current)
            current = [x[i]]
    runs.append(current)
    longest = runs[0]
    for run in runs:
        if len(run) > len(longest):
            longest = run
    return len(runs), np.mean(longest)


def envelope(x):
    """Points of the upper envelope from the right, on a stack of records."""
    stack = []
    for i, v in enumerate(x):
        while stack and stack[-1][1] < v:
            stack.pop()
        stack.append([i, v])
    return sum(i for i, _ in stack), len(stack)


def _graph(n):
    return [[int(v) for v in RNG.integers(0, n, RNG.integers(0, 8))] for _ in range(n)]


PROGRAMS = {
    "distances": (distances, lambda n: (ints(n, 3 * n), ints(n, 3 * n), n), 1000),
    "topological": (topological, lambda n: (ints(n, 3 * n), ints(n, 3 * n), n), 1000),
    "ranks": (ranks, lambda n: (_graph(n), 10), 1000),
    "spanning": (spanning, lambda n: (RNG.random((n, 2)),), 60),
    "contacts": (contacts, lambda n: (RNG.random((n, 2)), 0.05), 1000),
    "bucket_sort": (bucket_sort, lambda n: (RNG.normal(size=n), 100), 4000),
    "rising": (rising, lambda n: (RNG.normal(size=n),), 4000),
    "envelope": (envelope, lambda n: (RNG.normal(size=n),), 4000),
}
