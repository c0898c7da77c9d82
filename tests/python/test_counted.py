"""Counters of long lists as a whole (`Counter(labels.tolist()).most_common(1)`), tuples of rows, sorted pairs, lists whose
items are known not to be None: what everyday code makes of arrays' lists."""

import collections
import math
from collections import Counter

import fusewire
import numpy as np
import pytest
from compare import assert_same_call

K = np.random.default_rng(1).integers(0, 5, 200)
X = np.random.default_rng(0).normal(size=200)
P = np.random.default_rng(2).random((100, 2))


def counted(k):
    return Counter(k.tolist())


def majority(k):
    return Counter(k.tolist()).most_common(1)[0][0] if len(k) else None


def most_common(k):
    c = Counter(k.tolist())
    return c.most_common(), c.most_common(2), c.most_common(0), c.most_common(-1), c.most_common(None)


def counted_common(k):
    c = Counter(k.tolist())
    return c, c.most_common(2)


def counted_on(k):
    c = Counter(k.tolist())
    for v in (k * 2).tolist():
        c[v] += 2
    return c, c[99], len(c)


def counted_turns(k):
    c = Counter()
    for v in k.tolist():
        c[v] += 1
    return c.most_common(3)


def of_array(k):
    c = Counter(k)
    return c, sum(c.values())


def of_generator(k):
    return Counter(v % 3 for v in k.tolist())


def of_pairs(k):
    return Counter(zip(k.tolist(), (k % 2).tolist()))


def entropy(k):
    c = Counter(k.tolist())
    n = len(k)
    return -sum(v / n * math.log2(v / n) for v in c.values())


def in_turns(k):
    out = []
    for i in range(0, len(k), 40):
        out.append(Counter(k[i : i + 40].tolist()).most_common(1)[0])
    return out


def keywords(k):
    return Counter(k.tolist(), a=2), Counter(a=1), Counter({1: 2, 3: 4})


class Louder(Counter):
    def __init__(self, *args):
        super().__init__(*args)
        self["made"] = 1


def derived(k):
    return Louder(k.tolist())


def runs(k):
    out = []
    prev = None
    n = 0
    for v in k.tolist():
        if v == prev:
            n += 1
        else:
            if prev is not None:
                out.append((prev, n))
            prev = v
            n = 1
    out.append((prev, n))
    return out


def runs_of_floats(x):
    out = []
    last = None
    for v in x.tolist():
        if last is not None and v > last:
            out.append(last)
        last = v
    out.append(last)
    return out


def tuples_of_rows(p):
    rows = [tuple(r) for r in p.tolist()]
    return min(rows, key=lambda q: q[0] + q[1]) if rows else None, rows[:2]


def sorted_pairs(x):
    order = sorted(zip(x.tolist(), range(len(x))))
    return [i for _, i in order], [v for v, _ in sorted(enumerate((x * 4).astype(int).tolist()), key=lambda t: t[1])]


def copied(x):
    items = []
    for v in x:
        if v > 0:
            items.append(float(v))
    other = list(items)
    other.append(7.0)
    return items, other, len(list(items))


INTS = [counted, majority, most_common, counted_on, counted_turns, of_array, of_generator, of_pairs, entropy, in_turns]
INTS += [keywords, derived, runs]
FLOATS = [runs_of_floats, sorted_pairs, copied]


@pytest.mark.parametrize("function", INTS, ids=lambda f: f.__name__)
def test_ints(function):
    compiled = fusewire.compile(function, background=False)
    for values in (K, K[:90], K[:1], K[:0], K * 0, K - 3, K * 2**40, K):
        assert_same_call(function, compiled, [values], ulp=1)


@pytest.mark.parametrize("function", FLOATS, ids=lambda f: f.__name__)
def test_floats(function):
    compiled = fusewire.compile(function, background=False)
    for values in (X, X[:90], X[:1], X[:0], X * 0, -np.abs(X), X):
        assert_same_call(function, compiled, [values])


def test_rows():
    compiled = fusewire.compile(tuples_of_rows, background=False)
    for values in (P, P[:70], P[:1], P[:0], P[:, :1], P, np.hstack([P, P]), P[:, :0]):
        if values.shape[1] >= 2 or len(values) == 0:
            assert_same_call(tuples_of_rows, compiled, [values])


@pytest.mark.parametrize("function", [counted, majority, counted_turns, runs, sorted_pairs], ids=lambda f: f.__name__)
def test_is_compiled(function):
    compiled = fusewire.compile(function, background=False)
    for _ in range(3):
        compiled(X if function in FLOATS else K)
    state = fusewire._fusewire.describe(compiled)
    assert state["variants"] and not [b for b in state["breaks"] if b["reason"] != "nothing-to-compile"]


@pytest.mark.parametrize("name", ["most_common", "update", "__init__", "_count_elements"])
def test_what_is_replaced(name, monkeypatch):
    compiled = fusewire.compile(counted_common, background=False)
    for _ in range(5):
        assert_same_call(counted_common, compiled, [K])
    if name == "_count_elements":
        monkeypatch.setattr(collections, name, lambda counts, items: counts.__setitem__("p", 1))
    else:
        old = getattr(Counter, name)
        monkeypatch.setattr(Counter, name, lambda self, *args: ["new"] if name == "most_common" else old(self, "abc"))
    for _ in range(5):
        assert_same_call(counted_common, compiled, [K])
