"""Lists and deques that are worked off in loops: stacks, queues, heaps; and what is searched by bisect."""

from __future__ import annotations

import bisect
import heapq
import sys
from collections import deque
from pathlib import Path

import numpy as np
import pytest

import fusewire
from compare import assert_same_call

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
from textbook.worklists import (  # noqa: E402 - what is measured is what is tested
    astar, bisection_of_intervals, breadth_first, components, delay_line, dijkstra, events, flood, histogram_rectangle, largest, levels,
    longest_orbit, mean_of_a_window, median_of_a_window, next_greater, primes, quicksort, relax, rows_of)


def rng():
    return np.random.default_rng(3)


def grid(h, w, blocked=0.3):
    g = (rng().random((h, w)) < blocked).astype(int)
    if g.size:
        g[0, 0] = g[-1, -1] = 0
    return g


def graph(n, share):
    w = np.where(rng().random((n, n)) < share, rng().random((n, n)), 0.0)
    return w


def moves_in_a_list(g, start):
    h, w = g.shape
    seen = np.zeros((h, w), bool)
    seen[start] = True
    moves = [(1, 1), (-1, -1), (1, -1), (-1, 1), (0, 1), (1, 0), (0, -1), (-1, 0)]
    q, longest = [start], 0
    while len(q) > 0:
        longest = max(longest, len(q))
        r, c = q.pop(0)
        for dr, dc in moves:
            rr, cc = r + dr, c + dc
            if rr < 0 or rr >= h or cc < 0 or cc >= w or g[rr, cc] or seen[rr, cc]:
                continue
            seen[rr, cc] = True
            q.append((rr, cc))
    return seen, longest


def added_to(g, start):
    """A list that gets several items by one statement, also under a condition."""
    h, w = g.shape
    seen, n = np.zeros((h, w), bool), 0
    stack = [start]
    while stack:
        y, x = stack.pop()
        if not (0 <= y < h) or not (0 <= x < w) or seen[y, x] or g[y, x]:
            continue
        seen[y, x] = True
        n += 1
        stack += [(y + 1, x), (y - 1, x)]
        if x > 0:
            stack += [(y, x - 1)]
        stack += [(y, x + 1)]
    return seen, n


def order_of_a_queue(w, s):
    n = len(w)
    d = np.full(n, -1)
    d[s] = 0
    queue, head, order = [s], 0, []
    while head < len(queue):
        u = queue[head]
        head += 1
        order.append(u)
        for v in range(n):
            if w[u, v] > 0 and d[v] < 0:
                d[v] = d[u] + 1
                queue.append(v)
    return d, order


def from_an_empty_one(w, s):
    n = len(w)
    d = np.full(n, -1)
    d[s] = 0
    queue = []
    queue.append(s)
    while queue:
        u = queue.pop(0)
        for v in np.nonzero(w[u])[0]:
            if d[v] < 0:
                d[v] = d[u] + 1
                queue.append(v)
    return d


def topological(w):
    n = len(w)
    indegree = np.zeros(n, dtype=int)
    for i in range(n):
        for j in range(i + 1, n):
            if w[i, j] > 0:
                indegree[j] += 1
    ready = deque()
    for i in range(n):
        if indegree[i] == 0:
            ready.append(i)
    order = []
    while ready:
        u = ready.popleft()
        order.append(u)
        for v in range(u + 1, n):
            if w[u, v] > 0:
                indegree[v] -= 1
                if indegree[v] == 0:
                    ready.append(v)
    return order


def pushed_and_popped(x):
    heap = [0.25, 0.75, 0.5, 0.125]
    heapq.heapify(heap)
    total = 0.0
    for v in x:
        total = total * 0.5 + heapq.heappushpop(heap, v)
    return total, len(heap)


def intervals(x):
    """Tuples whose first items are often equal: the second ones decide."""
    heap, out = [], []
    for i in range(len(x)):
        heapq.heappush(heap, (int(x[i] * 4), i))
        if len(heap) > 5:
            out.append(heapq.heappop(heap)[1])
    return out


def window_maxima(x, k):
    out, q = [], deque()
    for i in range(len(x)):
        while q and x[q[-1]] <= x[i]:
            q.pop()
        q.append(i)
        if q[0] <= i - k:
            q.popleft()
        if i >= k - 1:
            out.append(x[q[0]])
    return np.array(out)


def hanoi(n):
    """Numbers alone; the items are tuples of four."""
    moves, stack = 0, [(n, 0, 2, 1)]
    while stack:
        k, a, b, c = stack.pop()
        if k == 0:
            continue
        if k == 1:
            moves += a + 3 * b
            continue
        stack.append((k - 1, c, b, a))
        stack.append((1, a, b, c))
        stack.append((k - 1, a, c, b))
    return moves


def two_stacks(x):
    """Items go from one to the other."""
    inbox, outbox, out = [], [], []
    for i in range(len(x)):
        inbox.append((i, x[i]))
        if x[i] > 0.6:
            if not outbox:
                while inbox:
                    outbox.append(inbox.pop())
            out.append(outbox.pop()[0])
    return out, len(inbox), len(outbox)


def changed_in_place(x):
    stack = [0.0]
    for v in x:
        if v > 0.5:
            stack.append(v)
        else:
            stack[-1] = stack[-1] * 0.5 + v
        if len(stack) > 6:
            stack.pop()
            stack[0] += 1.0
        if v > 0.97:
            stack.clear()
            stack.append(v)
    return stack, len(stack)


def left_as_a_list(x):
    stack = []
    for i in range(len(x)):
        if x[i] > 0.3:
            stack.append(i)
        elif stack:
            stack.pop()
    return stack


def ints_then_floats(x):
    stack, s = [0], 0
    while stack and s < 60:
        v = stack.pop()
        s += 1
        if v < 4:
            stack.append(v + x[s])
            stack.append(v)
        elif x[s] > 0.5:
            stack.append(1)
    return stack, s


def from_empty(x):
    stack = [1]
    for v in x:
        if v > 0.2:
            stack.pop()
        else:
            stack.append(2)
    return len(stack)


def searched(x):
    edges = [0.1, 0.2, 0.45, 0.7, 0.9]
    counts = np.zeros(6, dtype=int)
    for v in x:
        counts[bisect.bisect(edges, v)] += 1
        counts[bisect.bisect_left(edges, v, 1, 4)] += 2
    return counts


def searched_array(x):
    s, total = np.sort(x), 0
    for i in range(len(x)):
        total += bisect.bisect_left(s, x[i]) * i
    return total


def longest_increasing(x):
    tails = []
    for v in x:
        at = bisect.bisect_left(tails, v)
        if at == len(tails):
            tails.append(v)
        else:
            tails[at] = v
    return len(tails)


def compared(x):
    """Tuples of data, by each operator."""
    n = np.zeros(6, dtype=int)
    last = (0.0, 0)
    for i in range(len(x)):
        now = (np.floor(x[i] * 3), i % 2)
        n[0] += 1 if now < last else 0
        n[1] += 1 if now <= last else 0
        n[2] += 1 if now > last else 0
        n[3] += 1 if now >= last else 0
        n[4] += 1 if now == last else 0
        n[5] += 1 if now != last else 0
        last = now
    return n


def greatest_of_a_window(x, k):
    window, out = [], np.zeros(len(x))
    for i in range(len(x)):
        window.append(x[i])
        if len(window) > k:
            window.pop(0)
        out[i] = max(window) - min(window)
    return out


def taps(x):
    h, y = deque([0.0] * 4, maxlen=4), np.zeros(len(x))
    for i in range(len(x)):
        h.appendleft(x[i])
        y[i] = 0.4 * h[0] + 0.3 * h[1] + 0.2 * h[2] + 0.1 * h[-1]
    return y


def peaks(x):
    found = []
    for i in range(1, len(x) - 1):
        if x[i] > x[i - 1] and x[i] > x[i + 1]:
            if found and i - found[-1] < 4:
                if x[i] > x[found[-1]]:
                    found[-1] = i
            else:
                found.append(i)
    return np.array(found)


def stretches(x):
    out, start = [], None
    for i in range(len(x)):
        if x[i] > 0.5:
            if start is None:
                start = i
        elif start is not None:
            out.append((start, i))
            start = None
    if start is not None:
        out.append((start, len(x)))
    return out


def stack_machine(x):
    stack = []
    for i in range(len(x)):
        op = int(x[i] * 1000) % 4
        if op == 0:
            stack.append(x[i])
        elif len(stack) >= 2:
            b, a = stack.pop(), stack.pop()
            if op == 1:
                stack.append(a + b)
            elif op == 2:
                stack.append(a * b)
            else:
                stack.append(a - b)
    return stack[-1] if stack else 0.0


def inserted(x):
    out = []
    for v in x:
        j = len(out)
        while j > 0 and out[j - 1] > v:
            j -= 1
        out.insert(j, v)
    return out


def deleted(x):
    s, t = [0.0], 0.0
    for v in x:
        s.append(v)
        if len(s) > 5:
            t += s[-1]
            del s[-1]
        if len(s) > 4:
            del s[0]
    return t


def all_methods(x):
    q, t = [0.5, 0.2], 0.0
    for i in range(len(x)):
        q.append(x[i])
        if len(q) > 6:
            q.sort(reverse=i % 2 == 0)
            q.pop(2)
            q.remove(q[1])
            q.insert(-1, 0.5 * t)
            q.reverse()
            t = 0.0
        t += q[0] * q.count(q[0]) + q.index(q[-1])
        q[0] = t * 0.25
    return t, q


def pairs_sorted(x):
    window, t = [], 0
    for i in range(len(x)):
        window.append((int(x[i] * 8), i))
        if len(window) > 9:
            window.pop(0)
        s = sorted(window, reverse=True)
        t += s[0][1] - s[-1][1]
    return t


W = graph(40, 0.08)
X = rng().random(300)
PROGRAMS = [
    (flood, (grid(20, 25), 0, 0, 5)), (breadth_first, (grid(21, 20), (0, 0))), (moves_in_a_list, (grid(15, 18, 0.5), (0, 0))),
    (components, (graph(40, 0.03),)), (order_of_a_queue, (W, 0)), (from_an_empty_one, (W, 2)), (topological, (W,)),
    (dijkstra, (W, 0)), (relax, (*rows_of(W), 1)), (astar, (grid(16, 20, 0.2), (0, 0), (15, 19))), (largest, (X, 9)),
    (pushed_and_popped, (X,)), (events, (0.5, 30.0, 7)), (intervals, (X,)), (next_greater, (X,)),
    (histogram_rectangle, (X,)), (window_maxima, (X, 7)), (quicksort, (X,)), (hanoi, (7,)),
    (bisection_of_intervals, (0.0, 2.0, 1e-7)), (two_stacks, (X,)), (changed_in_place, (X,)), (left_as_a_list, (X,)),
    (ints_then_floats, (X,)), (from_empty, (X,)), (searched, (X,)), (searched_array, (X,)), (longest_increasing, (X,)),
    (compared, (X,)), (mean_of_a_window, (X, 7)), (median_of_a_window, (X, 7)), (greatest_of_a_window, (X, 5)),
    (delay_line, (X, 9)), (taps, (X,)), (peaks, (X,)), (stretches, (X,)), (longest_orbit, (70,)), (primes, (300,)),
    (levels, (grid(16, 17, 0.2), (0, 0))), (stack_machine, (X,)), (inserted, (X,)), (deleted, (X,)), (all_methods, (X,)),
    (pairs_sorted, (X,)), (added_to, (grid(17, 18), (0, 0))),
]
OF_A_NUMBER = (largest, window_maxima, mean_of_a_window, median_of_a_window, greatest_of_a_window, delay_line)
IDS = [program.__name__ for program, _ in PROGRAMS]
#: what does not become one piece of native code
IN_PARTS = {"from_an_empty_one", "searched_array"}


@pytest.mark.parametrize(("program", "arguments"), PROGRAMS, ids=IDS)
def test_programs(program, arguments):
    compiled = fusewire.compile(program, background=False)
    for _ in range(3):
        assert_same_call(program, compiled, arguments)
    if program.__name__ not in IN_PARTS | {"from_empty"}:  # which raises
        assert fusewire._fusewire.describe(compiled)["breaks"] == []


@pytest.mark.parametrize("size", [0, 1, 2, 3, 70])
@pytest.mark.parametrize("program", [largest, pushed_and_popped, intervals, next_greater, histogram_rectangle, window_maxima,
                                     quicksort, two_stacks, changed_in_place, left_as_a_list, from_empty, searched,
                                     longest_increasing, compared, mean_of_a_window, median_of_a_window, greatest_of_a_window,
                                     delay_line, taps, peaks, stretches, stack_machine, inserted, deleted, pairs_sorted])
def test_other_sizes(program, size):
    compiled = fusewire.compile(program, background=False)
    more = (3,) if program in OF_A_NUMBER else ()
    for x in (X[:size], -X[:size], X[:size] * 0, X[:size][::-1], (X[:size] * 9).astype(int)):
        assert_same_call(program, compiled, (x, *more))


@pytest.mark.parametrize("size", [(1, 1), (1, 7), (2, 2), (9, 30)])
def test_other_grids(size):
    for program in (flood, breadth_first, moves_in_a_list, astar, levels, added_to):
        compiled = fusewire.compile(program, background=False)
        for blocked in (0.0, 0.3, 0.9):
            g = grid(*size, blocked)
            more = {flood: (0, 0, 7), astar: ((0, 0), (size[0] - 1, size[1] - 1))}.get(program, ((0, 0),))
            assert_same_call(program, compiled, (g, *more))


def test_numbers_that_are_none():
    x = X.copy()
    x[5::7] = np.nan
    for program in (largest, pushed_and_popped, intervals, next_greater, window_maxima, quicksort, compared, longest_increasing, mean_of_a_window,
                    median_of_a_window, greatest_of_a_window, delay_line, taps, inserted, deleted, all_methods):
        compiled = fusewire.compile(program, background=False)
        assert_same_call(program, compiled, (x, 4) if program in OF_A_NUMBER else (x,))


def test_more_than_there_is_room_for():
    def doubled(n):
        stack, turns = [0], 0
        while stack and turns < n:
            v = stack.pop()
            turns += 1
            stack.append(v + 1)
            stack.append(v + 2)
        return len(stack), stack[-1]

    compiled = fusewire.compile(doubled, background=False)
    for n in (10, 200_000, 50):
        assert_same_call(doubled, compiled, (n,))


def test_a_ring_goes_round():
    def circulate(n, k):
        q, s = deque(range(k)), 0
        for i in range(n):
            v = q.popleft()
            q.append(v + 1)
            if i % 3 == 0:
                q.appendleft(q.pop())
            s += v
        return s, q[0], q[-1], len(q)

    compiled = fusewire.compile(circulate, background=False)
    for n, k in ((300_000, 5), (100, 5), (200_000, 3)):
        assert_same_call(circulate, compiled, (n, k))


def test_items_that_are_no_numbers():
    class Node:
        def __init__(self, k):
            self.k = k

    def objects(x):
        stack, s = [Node(0)], 0
        while stack:
            node = stack.pop()
            s += node.k
            if x[node.k] > 0.4:
                stack.append(Node(node.k + 1))
        return s

    def texts(x):
        stack, out = ["a"], []
        for v in x:
            if v > 0.5:
                stack.append("b")
            elif stack:
                out.append(stack.pop())
        return out, stack

    def arrays(x):
        stack, s = [x], 0.0
        while stack:
            part = stack.pop()
            if len(part) < 4 or part.max() < 0.9:
                s += part.sum()
            else:
                stack.append(part[: len(part) // 2])
                stack.append(part[len(part) // 2:])
        return s

    for program in (objects, texts, arrays):
        compiled = fusewire.compile(program, background=False)
        for x in (X, X[::-1].copy(), X[:9]):
            assert_same_call(program, compiled, (x,))


def test_what_is_popped_from_nothing():
    def bottom(x):
        stack = [1.0]
        for v in x:
            if v > 0.5:
                stack.append(v)
            else:
                stack.pop()
        return stack

    def queue(x):
        q = deque([1.0])
        try:
            for v in x:
                if v > 0.5:
                    q.append(v)
                else:
                    q.popleft()
        except IndexError:
            return -1
        return len(q)

    for program in (bottom, queue):
        compiled = fusewire.compile(program, background=False)
        for x in (X, X * 0, X * 0 + 1, X * 0.5 + 0.5):
            assert_same_call(program, compiled, (x,))


def test_arguments_that_share_memory():
    def paint(a, b):
        stack = [0]
        while stack:
            i = stack.pop()
            if i >= len(a) or b[i] > 0.8:
                continue
            a[i] = b[i] + 1.0
            stack.append(i + 1)
            if i % 5 == 0:
                stack.append(len(a))
        return a

    compiled = fusewire.compile(paint, background=False)
    for shift in (0, 1, 2):
        x = X * 0.5
        y = x.copy()
        expected, actual = paint(x[shift:], x[:len(x) - shift]), compiled(y[shift:], y[:len(y) - shift])
        np.testing.assert_array_equal(expected, actual)
        np.testing.assert_array_equal(x, y)


def test_heaps_of_things_that_are_no_numbers():
    class Job:
        def __init__(self, k):
            self.k = k

        def __lt__(self, other):
            return self.k < other.k

    def jobs(x):
        heap = [Job(3.0), Job(1.0)]
        heapq.heapify(heap)
        heapq.heappush(heap, Job(float(x[0])))
        return [heapq.heappop(heap).k for _ in range(3)]

    def refused(x, other):
        heap = [[x[0]], other]
        heapq.heapify(heap)
        return heap

    def nothing(x):
        heap = []
        for v in x:
            if v > 2.0:
                heapq.heappush(heap, v)
        try:
            return heapq.heappop(heap)
        except IndexError as error:
            return str(error)

    def negative(x):
        return bisect.bisect_left([0.1, 0.5], x[0], -1)

    for program, arguments in ((jobs, (X,)), (refused, (X, 2)), (refused, (X, [0.5])), (nothing, (X,)), (nothing, (X + 2,)), (negative, (X,))):
        compiled = fusewire.compile(program, background=False)
        for _ in range(3):
            assert_same_call(program, compiled, arguments)


def listed(x):
    return x.tolist()


def walked_as_a_list(x):
    s = 0.0
    for v in x.tolist():
        s = s * 0.5 + v
    return s, sum(x.tolist())


def picked_from_a_list(x):
    for u, v in zip(x.tolist(), (x * 2).tolist()):
        if v > 1.2:
            return u, v
    return None


def popped_from_a_list(x):
    q, t = x.tolist(), 0.0
    while q:
        t = t * 0.5 + q.pop()
    return t, q


@pytest.mark.parametrize("program", [listed, walked_as_a_list, picked_from_a_list, popped_from_a_list])
def test_arrays_as_lists(program):
    compiled = fusewire.compile(program, background=False)
    for x in (X, X[:3], X[:0], (X * 20).astype(int) - 9, np.array([2**62 + 5, -2**63]), X > 0.5, X.astype("f4"), X[::-2],
              X[:12].reshape(3, 4), np.array([1 + 2j]), np.array([1, 2], "u1"), np.array(2.0)):
        for _ in range(2):
            assert_same_call(program, compiled, (x,))
