"""Lists and deques that are worked off: stacks, queues, heaps, windows. Graphs, grids, events, orders."""

import heapq
from collections import deque
from heapq import heappop, heappush

import numpy as np

from .common import RNG, r

STEPS = ((1, 0), (-1, 0), (0, 1), (0, -1))


def flood(g, r, c, new):
    h, w = g.shape
    out = g.copy()
    old = out[r, c]
    if old == new:
        return out
    stack = [(r, c)]
    while stack:
        y, x = stack.pop()
        if y < 0 or y >= h or x < 0 or x >= w:
            continue
        if out[y, x] != old:
            continue
        out[y, x] = new
        stack.append((y + 1, x))
        stack.append((y - 1, x))
        stack.append((y, x + 1))
        stack.append((y, x - 1))
    return out


def breadth_first(g, start):
    h, w = g.shape
    dist = np.full((h, w), -1)
    dist[start] = 0
    q = deque([start])
    while q:
        r, c = q.popleft()
        for dr, dc in STEPS:
            rr, cc = r + dr, c + dc
            if 0 <= rr < h and 0 <= cc < w and g[rr, cc] == 0 and dist[rr, cc] < 0:
                dist[rr, cc] = dist[r, c] + 1
                q.append((rr, cc))
    return dist


def levels(g, start):
    seen = np.zeros(g.shape, bool)
    seen[start] = True
    front, depth = [start], 0
    h, w = g.shape
    while front:
        new = []
        for r, c in front:
            for dr, dc in STEPS:
                a, b = r + dr, c + dc
                if 0 <= a < h and 0 <= b < w and not seen[a, b] and g[a, b] == 0:
                    seen[a, b] = True
                    new.append((a, b))
        front = new
        depth += 1
    return depth, seen


def components(w):
    n = w.shape[0]
    label = np.zeros(n, dtype=int)
    k = 0
    for s in range(n):
        if label[s]:
            continue
        k += 1
        stack = [s]
        label[s] = k
        while stack:
            u = stack.pop()
            for v in range(n):
                if w[u, v] > 0 and not label[v]:
                    label[v] = k
                    stack.append(v)
    return k, label


def dijkstra(w, s):
    n = len(w)
    dist = np.full(n, np.inf)
    dist[s] = 0.0
    heap = [(0.0, s)]
    while heap:
        d, u = heapq.heappop(heap)
        if d > dist[u]:
            continue
        for v in range(n):
            if w[u, v] > 0:
                nd = d + w[u, v]
                if nd < dist[v]:
                    dist[v] = nd
                    heapq.heappush(heap, (nd, v))
    return dist


def relax(indptr, indices, data, s):
    n = len(indptr) - 1
    dist = np.full(n, np.inf)
    done = np.zeros(n, dtype=bool)
    dist[s] = 0
    heap = []
    heappush(heap, (0, s))
    while heap:
        d, u = heappop(heap)
        if done[u]:
            continue
        done[u] = True
        for k in range(indptr[u], indptr[u + 1]):
            v = indices[k]
            nd = d + data[k]
            if nd < dist[v]:
                dist[v] = nd
                heappush(heap, (nd, v))
    return dist


def astar(g, start, goal):
    h, w = g.shape
    cost = np.full((h, w), np.inf)
    cost[start] = 0
    closed = np.zeros((h, w), bool)
    parent = -np.ones((h, w, 2), int)
    heap = [(abs(start[0] - goal[0]) + abs(start[1] - goal[1]), start)]
    while heap:
        _, now = heappop(heap)
        if now == goal:
            break
        if closed[now]:
            continue
        closed[now] = True
        for dr, dc in [(-1, 0), (1, 0), (0, -1), (0, 1)]:
            r, c = now[0] + dr, now[1] + dc
            if r < 0 or r >= h or c < 0 or c >= w or g[r, c]:
                continue
            new = cost[now] + 1
            if new < cost[r, c]:
                cost[r, c] = new
                parent[r, c, 0] = now[0]
                parent[r, c, 1] = now[1]
                heappush(heap, (new + abs(r - goal[0]) + abs(c - goal[1]), (r, c)))
    if not np.isfinite(cost[goal]):
        return None
    path = [goal]
    r, c = goal
    while (r, c) != start:
        r, c = parent[r, c]
        path.append((int(r), int(c)))
    return path[::-1]


def largest(x, k):
    heap = []
    for v in x:
        if len(heap) < k:
            heapq.heappush(heap, v)
        elif v > heap[0]:
            heapq.heapreplace(heap, v)
    out, i = np.zeros(len(heap)), len(heap)
    while heap:
        i -= 1
        out[i] = heapq.heappop(heap)
    return out


def events(rate, end, x):
    queue = [0.1 * k for k in range(5)]
    heapq.heapify(queue)
    n, total = 0, 0.0
    while queue:
        t = heapq.heappop(queue)
        if t > end:
            break
        n += 1
        total += t
        x = (1103515245 * x + 12345) % 2147483648
        heapq.heappush(queue, t + rate * x / 2147483648)
    return n, total


def next_greater(x):
    out = np.full(len(x), -1)
    stack = []
    for i in range(len(x)):
        while stack and x[stack[-1]] < x[i]:
            out[stack.pop()] = i
        stack.append(i)
    return out


def histogram_rectangle(x):
    best, stack = 0.0, []
    for i in range(len(x) + 1):
        h = x[i] if i < len(x) else 0.0
        while stack and x[stack[-1]] >= h:
            top = stack.pop()
            width = i if not stack else i - stack[-1] - 1
            best = max(best, x[top] * width)
        stack.append(i)
    return best


def quicksort(x):
    a = x.copy()
    stack = [(0, len(a) - 1)]
    while stack:
        lo, hi = stack.pop()
        if lo >= hi:
            continue
        pivot, i = a[hi], lo
        for j in range(lo, hi):
            if a[j] < pivot:
                a[i], a[j] = a[j], a[i]
                i += 1
        a[i], a[hi] = a[hi], a[i]
        stack.append((lo, i - 1))
        stack.append((i + 1, hi))
    return a


def median_of_a_window(x, k):
    window, out = [], np.zeros(len(x))
    for i in range(len(x)):
        window.append(x[i])
        if len(window) > k:
            window.pop(0)
        out[i] = sorted(window)[len(window) // 2]
    return out


def mean_of_a_window(x, k):
    window, out = deque(maxlen=k), np.zeros(len(x))
    for i in range(len(x)):
        window.append(x[i])
        out[i] = sum(window) / len(window)
    return out


def delay_line(x, k):
    buffer, y = deque([0.0] * k), np.zeros(len(x))
    for i in range(len(x)):
        buffer.append(x[i])
        y[i] = 0.5 * buffer.popleft() + x[i]
    return y


def primes(n):
    found = []
    for k in range(2, n):
        isprime = True
        for p in found:
            if p * p > k:
                break
            if k % p == 0:
                isprime = False
                break
        if isprime:
            found.append(k)
    return found


def longest_orbit(n):
    best, at = 0, 0
    for s in range(1, n):
        orbit = [s]
        while orbit[-1] != 1:
            v = orbit[-1]
            orbit.append(v // 2 if v % 2 == 0 else 3 * v + 1)
        if len(orbit) > best:
            best, at = len(orbit), s
    return best, at


def bisection_of_intervals(a, b, tol):
    """An adaptive Simpson rule without recursion."""
    def f(x):
        return 1.0 / (1.0 + 25.0 * x * x)

    total, stack = 0.0, [(a, b)]
    while stack:
        lo, hi = stack.pop()
        mid = 0.5 * (lo + hi)
        whole = (hi - lo) / 6 * (f(lo) + 4 * f(mid) + f(hi))
        left = (mid - lo) / 6 * (f(lo) + 4 * f(0.5 * (lo + mid)) + f(mid))
        right = (hi - mid) / 6 * (f(mid) + 4 * f(0.5 * (mid + hi)) + f(hi))
        if abs(left + right - whole) < tol or hi - lo < 1e-6:
            total += left + right
        else:
            stack.append((lo, mid))
            stack.append((mid, hi))
    return total



def grid(h, w, blocked=0.25):
    """Cells that are blocked, but for two corners."""
    g = (RNG.random((h, w)) < blocked).astype(int)
    if g.size:
        g[:2, :2] = g[-1, -1] = 0
    return g


def weights(n, degree=6.0):
    """Of the edges of a graph, 0 where there is none."""
    return np.where(RNG.random((n, n)) * max(n, 1) < degree, RNG.random((n, n)), 0.0)


def rows_of(w):
    """The same by rows: where each begins, where its edges lead, and what they weigh."""
    present = w > 0
    return np.concatenate([[0], np.cumsum(present.sum(axis=1))]), np.nonzero(present)[1], w[present]


PROGRAMS = {
    "flood": (flood, lambda n: (grid(n, n + 3), 0, 0, 7), 80),
    "breadth_first": (breadth_first, lambda n: (grid(n, n + 3), (0, 0)), 80),
    "levels": (levels, lambda n: (grid(n, n + 3), (0, 0)), 80),
    "components": (components, lambda n: (weights(n, 1.5),), 120),
    "dijkstra": (dijkstra, lambda n: (weights(n), 0), 150),
    "relax": (relax, lambda n: (*rows_of(weights(n)), 0), 400),
    "astar": (astar, lambda n: (grid(n, n + 3, 0.15), (0, 0), (n - 1, n + 2)), 60),
    "largest": (largest, lambda n: (r(n), 20), 5000),
    "events": (events, lambda n: (0.5, float(n), 7), 300),
    "next_greater": (next_greater, lambda n: (r(n),), 5000),
    "histogram_rectangle": (histogram_rectangle, lambda n: (r(n),), 3000),
    "quicksort": (quicksort, lambda n: (r(n),), 2000),
    "mean_of_a_window": (mean_of_a_window, lambda n: (r(n), 9), 3000),
    "median_of_a_window": (median_of_a_window, lambda n: (r(n), 9), 3000),
    "delay_line": (delay_line, lambda n: (r(n), 30), 5000),
    "primes": (primes, lambda n: (n,), 3000),
    "longest_orbit": (longest_orbit, lambda n: (n,), 200),
    "bisection_of_intervals": (bisection_of_intervals, lambda n: (-1.0, 1.0 + n / 1000, 1e-9), 100),
}
