"""Lists that are made whole and worked off then: list(range(n)), [0] * n, copies; bisect.insort; `in` of lists; sorted()
of sets (src/frame_eval/work_list.cpp)."""

import bisect
import math

import fusewire
import numpy as np
import pytest
from compare import assert_same_call

X = np.random.default_rng(3).random(300)
K = np.random.default_rng(1).integers(0, 50, 300)
LL = [i * 3 for i in range(30)]


def pops(x):
    a = list(range(len(x)))
    out = 0
    for v in x:
        out = out * 3 % 1000 + a.pop(int(v * len(a)))
    return out


def few(x):
    a = list(range(10))
    out = 0
    for i in range(min(10, len(x))):
        out = out * 3 % 1000 + a.pop(int(x[i] * len(a)))
    return out


def greedy(x):
    rem = list(range(1, len(x)))
    cur = 0
    tot = 0.0
    order = [0]
    while rem:
        b = min(rem, key=lambda j: abs(x[j] - x[cur])) if len(x) else 0
        rem.remove(b)
        tot += abs(x[b] - x[cur])
        cur = b
        order.append(b)
    return tot, order


def shuffle(x):
    a = list(range(len(x)))
    for i in range(len(x) - 1, 0, -1):
        j = int(x[i] * (i + 1))
        a[i], a[j] = a[j], a[i]
    return a


def copyrem(x):
    a = []
    for v in x:
        a.append(int(v * 100))
    b = a[:]
    n = 0
    for v in x:
        if int(v * 100) in b:
            b.remove(int(v * 100))
            n += 1
    return n, len(a), b


def copyrem2(x):
    a = [1.0, 2.0, 3.0, 4.0, 5.0]
    b = a.copy()
    c = list(a)
    for i in range(min(5, len(x))):
        b.pop(int(x[i] * len(b)))
        c.insert(int(x[i] * len(c)), x[i])
    return a, b, c


def zeros(x):
    a = [0.0] * len(x)
    for i, v in enumerate(x):
        if v > 0.5:
            a.pop()
        else:
            a.insert(int(v * len(a)), v)
    return a


def zeros3(x):
    a = [0.0] * 3
    for i, v in enumerate(x):
        a.pop(0)
        a.append(v)
    return a


def bag(x):
    bag = list(range(7))
    out = []
    for v in x:
        if not bag:
            bag = list(range(7))
        out.append(bag.pop(int(v * len(bag))))
    return out


def josephus(x):
    n = len(x)
    a = list(range(n))
    k = 0
    out = []
    while len(a) > 1:
        k = (k + 6) % len(a)
        out.append(a.pop(k))
    return out, a


def perm(x):
    pool = list(range(8))
    k = int(x[0] * 40320) if len(x) else 5
    out = []
    for i in range(8, 0, -1):
        f = math.factorial(i - 1)
        out.append(pool.pop(k // f))
        k %= f
    return out


def holds(x):
    a = []
    n = 0
    for v in x:
        k = int(v * 50)
        if k not in a:
            a.append(k)
        elif 3 in a:
            n += 1
    return n, a


def holds_np(x):
    a = []
    n = 0
    for v in x:
        if v in a:
            n += 1
        a.append(v)
    return n


def holds_pair(x):
    a = []
    n = 0
    for i, v in enumerate(x):
        p = (int(v * 5), i % 3)
        if p in a:
            n += 1
        else:
            a.append(p)
    return n, a


def holds_tail(x):
    a = [int(v * 9) for v in x]
    return 3 in a, 99 in a, None in a, 2.0 in a


def holds_float(x):
    a = []
    for i, v in enumerate(x):
        a.append(i)
    return sum(1 for v in x if int(v * 400) in a)


def holds_int_in_floats(x):
    a = []
    for v in x:
        a.append(float(int(v * 10)))
    n = 0
    for i in range(20):
        if i in a:
            n += 1
    return n


def holds_str(x):
    a = []
    for v in x:
        a.append("a" if v < 0.3 else "b")
    return "a" in a, "c" in a


def tabu(x):
    t = []
    n = 0
    for v in x:
        k = int(v * 20)
        if k in t:
            n += 1
            continue
        t.append(k)
        if len(t) > 7:
            t.pop(0)
    return n, t


def nan(x):
    a = []
    n = 0
    for i, v in enumerate(x):
        w = v if i % 5 else float("nan")
        if w in a:
            n += 1
        a.append(w)
    return n


def outside(x):
    L = LL
    n = 0
    for v in x:
        if int(v * 100) in L:
            n += 1
    return n


def t1(x):
    t = []
    n = 0
    for v in x:
        k = int(v * 20)
        if k in t:
            n += 1
        else:
            t.append(k)
            if len(t) > 7:
                t.pop(0)
    return n, len(t)


def t2(x):
    t = []
    n = 0
    for v in x:
        k = int(v * 20)
        if v > 0.5:
            n += 1
        else:
            t.append(k)
            if len(t) > 7:
                t.pop(0)
    return n, len(t)


def t3(x):
    t = []
    n = 0
    for v in x:
        k = int(v * 20)
        if v > 0.5:
            n += 1
        else:
            t.append(k)
        if len(t) > 7:
            t.pop(0)
    return n, len(t)


def t4(x):
    t = [0]
    n = 0
    for v in x:
        k = int(v * 20)
        if v > 0.5:
            n += 1
        else:
            t.append(k)
            if len(t) > 7:
                n += t.pop(0)
    return n, len(t)


def t5(x):
    t = []
    n = 0
    for v in x:
        k = int(v * 20)
        t.append(k)
        if len(t) > 7:
            t.pop(0)
        if k in t[:-1]:
            n += 1
    return n, len(t)


def c1(x):
    t = []
    n = 0
    for v in x:
        k = int(v * 20)
        if k in t:
            n += 1
            continue
        t.append(k)
        if len(t) > 7:
            t.pop(0)
    return n, len(t)


def c2(x):
    t = []
    n = 0
    for v in x:
        k = int(v * 20)
        if k in t:
            n += 1
        else:
            t.append(k)
            if len(t) > 7:
                t.pop(0)
    return n, t


def c3(x):
    t = []
    n = 0
    for v in x:
        k = int(v * 20)
        t.append(k)
        if len(t) > 7:
            t.pop(0)
    return n, t


def c4(x):
    t = []
    n = 0
    for v in x:
        k = int(v * 20)
        t.append(k)
        if len(t) > 7:
            t.pop()
    return n, t


def insort(x):
    a = []
    out = []
    for v in x.tolist():
        bisect.insort(a, v)
        out.append(a[len(a) // 2])
    return out


def insort_pairs(x):
    a = []
    for i, v in enumerate(x):
        bisect.insort_left(a, (int(v * 9), i))
    return a[0][1], a[-1][1] if a else None


def window(x):
    w = 8
    win = []
    out = np.zeros(len(x))
    for i in range(len(x)):
        bisect.insort(win, x[i])
        if i >= w:
            del win[bisect.bisect_left(win, x[i - w])]
        out[i] = win[len(win) // 2]
    return out


def srt(k):
    return sorted(set(k.tolist()))


def compress(k):
    rank = {v: i for i, v in enumerate(sorted(set(k.tolist())))}
    return [rank[v] for v in k.tolist()]


def length(k):
    s = set()
    for v in k:
        s.add(int(v) % 7)
    return len(s)


def mm(k):
    s = {int(v) * 3 % 101 for v in k}
    return min(s), max(s), sum(s)


WITHOUT_BREAKS = [
    pops,
    few,
    greedy,
    shuffle,
    copyrem,
    copyrem2,
    zeros,
    josephus,
    holds,
    holds_np,
    holds_pair,
    holds_tail,
    holds_float,
    holds_int_in_floats,
    holds_str,
    t1,
    t2,
    t3,
    t4,
    c1,
    c4,
    insort,
    insort_pairs,
    window,
]
OTHERS = [zeros3, bag, perm, tabu, nan, outside, t5, c2, c3]


@pytest.mark.parametrize("function", WITHOUT_BREAKS + OTHERS, ids=lambda f: f.__name__)
def test_lists(function):
    compiled = fusewire.compile(function, background=False)
    for _ in range(3):
        assert_same_call(function, compiled, (X,))
    if function in WITHOUT_BREAKS:
        assert not fusewire._fusewire.describe(compiled)["breaks"]
    for x in (X[::-1], X[:70], X[:5], X[:2], X[:1], X[:0], np.full(20, 0.5)):
        assert_same_call(function, compiled, (x,))
    for x in (X[:1], X[:0], X[:5]):
        compiled = fusewire.compile(function, economy=False, background=False)
        for y in (x, X, x):
            assert_same_call(function, compiled, (y,))


@pytest.mark.parametrize("function", [srt, compress, length, mm], ids=lambda f: f.__name__)
@pytest.mark.parametrize("k", [K, K[:1], K[:0], -K, K * 2**40], ids=["many", "one", "none", "negative", "large"])
def test_sets_without_an_order(function, k):
    compiled = fusewire.compile(function, economy=False, background=False)
    for x in (k, K, k, K[:2]):
        assert_same_call(function, compiled, (x,))


def test_a_place_in_a_long_list_takes_no_longer_than_pythons():
    """Items behind it are moved by vectors: 100,000 of them took four times as long as Python needs, one by one."""
    import time

    x = np.random.default_rng(3).random(30000)

    def middle(x):
        a = []
        for v in x:
            bisect.insort(a, v)
        return a[len(a) // 2]

    compiled = fusewire.compile(middle, background=False)
    assert compiled(x) == middle(x)

    def best(function):
        times = []
        for _ in range(3):
            begin = time.perf_counter()
            function(x)
            times.append(time.perf_counter() - begin)
        return min(times)

    assert best(compiled) < 1.3 * best(middle)
