"""Lists of numbers that the function makes ([0] * n) and whose items turns of loops read and set by an index: as one loop of
the graph, whatever their length."""
import numpy as np
import pytest

import fusewire
from compare import assert_same_call


def sieve(x, n):
    p = [True] * (n + 1); p[0] = p[1] = False
    i = 2
    while i * i <= n:
        if p[i]:
            for j in range(i * i, n + 1, i): p[j] = False
        i += 1
    return [i for i in range(n + 1) if p[i]], x.sum()


def knapsack(x, n):
    w = (x * 10 + 1).astype(int); v = (x * 100).astype(int)
    dp = [0] * (n + 1)
    for i in range(len(w)):
        for c in range(n, w[i] - 1, -1):
            dp[c] = max(dp[c], dp[c - w[i]] + v[i])
    return dp, dp[n]


def coins(x, n):
    dp = [0] * (n + 1); dp[0] = 1
    for c in (1, 2, 5, 10):
        for s in range(c, n + 1): dp[s] += dp[s - c]
    return dp[n], x + dp[-1]


def counts(x, n):
    h = [0] * 16
    for v in x: h[int(v * 16)] += 1
    return h


def dist(x, n):
    d = [float("inf")] * n; par = [-1] * n; done = [False] * n; d[0] = 0.0; tot = 0
    for _ in range(n):
        u = -1
        for v in range(n):
            if not done[v] and (u < 0 or d[v] < d[u]): u = v
        done[u] = True; tot += d[u]
        for v in range(n):
            w = abs(x[u % len(x)] - x[v % len(x)])
            if not done[v] and w < d[v]: d[v] = w; par[v] = u
    return d, par, done, tot


def find(p, i):
    while p[i] != i:
        p[i] = p[p[i]]
        i = p[i]
    return i


def unions(x, n):
    p = [0] * n
    for i in range(n): p[i] = i
    k = 0
    for i in range(len(x) - 1):
        a, b = find(p, int(x[i] * n)), find(p, int(x[i + 1] * n))
        if a != b: p[a] = b; k += 1
    return p, k


def swapped(x, n):
    prev = [0] * (n + 1)
    for v in x:
        cur = [0] * (n + 1)
        for j in range(1, n + 1): cur[j] = max(prev[j], cur[j - 1] + (1 if v > 0.5 else 0))
        prev = cur
    return prev


def alias(x, n):
    a = [0.5] * n; b = a
    for i in range(n): b[i] = i * 0.5
    t = (a, b); a[2 % n] = -1.0
    return t, a is b, len(a), max(a), min(b)


def negative(x, n):
    a = [0] * n
    for i in range(1, n + 1): a[-i] = i
    return a, a[-1]


def outside(x, n):
    a = [0] * n
    for i in range(len(x)): a[i] = i
    return a


def walks(x, n):
    a = [1] * n
    for i, v in enumerate(a):
        if i + 1 < n: a[i + 1] = v + 1
    return a, list(a), np.array(a), a[:], sorted(a, reverse=True)[:3]


def mixed(x, n):
    a = [0] * n
    for i in range(n):
        a[i] = x[i % len(x)] if i % 3 == 0 else (i if i % 3 == 1 else 2.5)
    return a


def numpy_ints(x, n):
    a = [0] * n
    for i in range(len(x)):
        k = np.argmax(x)
        a[k % n] = k
        x[k] = -1
    return a, [type(v).__name__ for v in a]


def appended(x, n):
    a = [0] * n
    for i in range(n): a[i] = i
    a.append(7)
    for i in range(n + 1): a[i] += 1
    return a


def stack(x, n):
    st = [0] * (len(x) + 1); top = 0; best = 0
    for i in range(len(x)):
        while top > 0 and x[st[top - 1]] > x[i]: top -= 1
        st[top] = i; top += 1
        best = max(best, top)
    return best, st[:top]


def helper(a, i, v): a[i] = v


def by_helper(x, n):
    a = [0.0] * n
    for i in range(n): helper(a, i, float(x[i % len(x)]))
    return a


def printed(x, n):
    a = [0] * n
    for i in range(n): a[i] = i * i
    print(len(a), a[:3])
    for i in range(n): a[i] += 1
    return a


def same_twice(x, n):
    out = []
    for k in range(3):
        a = [k] * n
        for i in range(n): a[i] += i
        out.append(a)
    return out


def table(x, n):
    d = [[0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n): d[i][j] = i * j
    return d


def inc(x, n):
    a = [0] * n
    i = 0
    while i < n - 1:
        a[i + 1] = a[i] + (1 if x[i % len(x)] > 0.3 else -1)
        i += 1
    return a


def complexes(x, n):
    a = [0j] * n
    for i in range(n): a[i] = complex(x[i % len(x)], i)
    return a


def nones(x, n):
    a = [None] * n
    for i in range(n): a[i] = float(i) if i % 2 else None
    return a


def overflow(x, n):
    a = [1] * n
    for i in range(1, n): a[i] = a[i - 1] * 3
    return a


def zero(x, n):
    a = [0] * (n - n)
    for i in range(n): a[i] = 1
    return a


def deleted(x, n):
    a = [0] * n
    for i in range(n): a[i] = i
    del a[0]; a.insert(1, 99); a.pop(); a.reverse()
    for i in range(len(a)): a[i] += 1
    return a


def closure(x, n):
    a = [0] * n
    def put(i): a[i] = i + 1
    for i in range(n): put(i)
    return a


class Box:
    def __init__(self, n): self.a = [0] * n
    def put(self, i, v): self.a[i] += v


def boxed(x, n):
    b = Box(n)
    for i in range(len(x)): b.put(i % n, i)
    return b.a


def errs(x, n):
    a = [0.0] * n
    for i in range(n):
        if x[i % len(x)] > 0.97: raise ValueError(f"at {i}: {a[i - 1]}")
        a[i] = 1 / (x[i % len(x)] + i)
    return a


ONE_REGION = [sieve, knapsack, coins, counts, dist, unions, alias, negative, by_helper, same_twice, inc, complexes, closure, boxed]
OTHERS = [swapped, outside, walks, mixed, numpy_ints, appended, stack, printed, table, nones, overflow, zero, deleted, errs]


@pytest.mark.parametrize("function", ONE_REGION, ids=lambda f: f.__name__)
def test_one_region(function):
    compiled = fusewire.compile(function, fullgraph=True)
    for seed, (m, n) in enumerate([(100, 90), (50, 120), (100, 91)]):
        assert_same_call(function, compiled, (np.random.default_rng(seed).random(m), n))


@pytest.mark.parametrize("function", ONE_REGION + OTHERS, ids=lambda f: f.__name__)
def test_sizes(function, capsys):
    compiled = fusewire.compile(function)
    for seed, (m, n) in enumerate([(100, 90), (50, 120), (3, 2), (200, 1), (7, 70), (130, 200), (5, 5000 if function not in (dist, table) else 100), (100, 90)]):
        assert_same_call(function, compiled, (np.random.default_rng(seed).random(m), n))
    assert "inside Fusewire" not in capsys.readouterr().err


def test_items_of_another_class_are_found_in_a_later_call():
    def f(x, flag, n):
        a = [0] * n
        for i in range(n):
            a[i] = i
            if flag:
                a[i] = x[i] * 0.5
        return a
    compiled = fusewire.compile(f)
    for flag in (False, True, False):
        assert_same_call(f, compiled, (np.arange(80.0), flag, 80))


def test_the_first_item_may_be_any_number():
    def f(x, first, n):
        a = [first] * n
        for i in range(1, n):
            a[i] = a[i - 1]
        return a, x + 1
    compiled = fusewire.compile(f)
    for first in (1, 2.5, True, None, np.float32(3), np.int64(2), 1j, "a", 2**70, (1, 2), 7):
        assert_same_call(f, compiled, (np.arange(3.0), first, 70))
