"""sorted(), list.sort(), min() and max() of what array data decides, by a key as well (src/frame_eval/work_list.cpp)."""

import fusewire
import numpy as np
import pytest
from compare import assert_same_calls, run

X = np.random.default_rng(5).normal(size=300)
ZEROS = X.copy()
ZEROS[::7], ZEROS[::11] = 0.0, -0.0
NANS = X.copy()
NANS[5] = np.nan
ARRAYS = [X, -X, ZEROS, X[:70], X[:2], X[:1], X[:0], NANS]


def counted(x):
    d = {}
    for v in x:
        k = int(v * 10)
        d[k] = d.get(k, 0) + 1
    return d


def floats(x):
    a = []
    for i, v in enumerate(x):
        if v > 0:
            a.append(float(v))
    a.sort()
    return a


def pairs(x):
    a = []
    for i, v in enumerate(x):
        a.append((v, i))
    a.sort()
    t = 0
    for k, (v, i) in enumerate(a):
        t += k * i
    return t


def pairs_by_key(x):
    a = [(i, v) for i, v in enumerate(x)]
    a.sort(key=lambda p: p[1])
    return [i for i, v in a]


def descending(x):
    a = [(i, v) for i, v in enumerate(x)]
    b = sorted(a, key=lambda p: -p[1])
    t = 0
    for k, (i, v) in enumerate(b):
        t += k * i
    return t


def edges(x):
    e = []
    for i in range(len(x) - 1):
        for j in (1, 2, 5):
            if i + j < len(x):
                e.append((abs(x[i] - x[i + j]), i, i + j))
    e.sort()
    p = list(range(len(x)))
    tot = 0.0
    for w, a, b in e:
        while p[a] != a:
            a = p[a]
        while p[b] != b:
            b = p[b]
        if a != b:
            p[a] = b
            tot += w
    return tot


def reverse_and_tolist(x):
    return sorted([int(v * 10) for v in x], reverse=True)[:5], sorted(x.tolist())[3]


def items_by_count(x):
    d = {}
    for v in x:
        k = int(v * 10)
        d[k] = d.get(k, 0) + 1
    return sorted(d.items(), key=lambda kv: -kv[1])[:3]


def keys_of_a_dict(x):
    d = {}
    for v in x:
        k = int(v * 10)
        d[k] = d.get(k, 0) + 1
    return sorted(d), sorted(d.items()), max(d, key=d.get), sorted(d, key=d.get)[-1]


def indices_by_value(x):
    order = sorted(range(len(x)), key=lambda i: x[i])
    return order


def longest_job_first(x):
    jobs = [(int(abs(v) * 20) + 1, i) for i, v in enumerate(x)]
    jobs.sort(key=lambda j: (-j[0], j[1]))
    load = [0] * 5
    for d, i in jobs:
        k = load.index(min(load))
        load[k] += d
    return load


def intervals(x):
    iv = [(float(v), float(v) + 0.02) for v in x]
    iv.sort()
    out = [iv[0]]
    for a, b in iv[1:]:
        if a <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], b))
        else:
            out.append((a, b))
    return out


def extremes_of_a_dict(x):
    d = counted(x)
    return max(d.values()), sum(d.values()), min(d), max(d, key=lambda k: d[k])


def most_frequent(x):
    d = counted(x)
    return max(d.items(), key=lambda kv: kv[1])


def balanced(x):
    jobs = [int(abs(v) * 20) + 1 for v in x]
    load = [0] * 5
    for d in jobs:
        k = load.index(min(load))
        load[k] += d
    return load


def balanced_floats(x):
    load = [0.0] * 70
    for v in x:
        k = load.index(min(load))
        load[k] += abs(v)
    return max(load)


def both_leave(x):
    a = [(v, i) for i, v in enumerate(x)]
    b = sorted(a)
    return a, b


def each_twice(x):
    a = []
    for i, v in enumerate(x):
        t = (int(v), i)
        a.append(t)
        a.append(t)
    a.sort()
    return a


def by_remainder(x):
    a = [(v, i) for i, v in enumerate(x)]
    return sorted(a, key=lambda p: p[1] % 7)


def in_place(x):
    a = [(v, i) for i, v in enumerate(x)]
    a.sort()
    return a


EVERY = [
    floats,
    pairs,
    pairs_by_key,
    descending,
    edges,
    reverse_and_tolist,
    items_by_count,
    keys_of_a_dict,
    indices_by_value,
    longest_job_first,
    intervals,
    extremes_of_a_dict,
    most_frequent,
    balanced,
    balanced_floats,
    both_leave,
    each_twice,
    by_remainder,
    in_place,
]


@pytest.mark.parametrize("function", EVERY, ids=lambda f: f.__name__)
def test_as_python(function):
    for options in ({}, {"checked": True}):
        assert_same_calls(function, ARRAYS, 3, economy=False, **options)


def identities(lists):
    """Which of the items are one object."""
    seen = {}
    return [seen.setdefault(id(item), len(seen)) for items in lists for item in items]


@pytest.mark.parametrize("function", [both_leave, each_twice])
def test_tuples_are_the_same_as_in_python(function):
    compiled = fusewire.compile(function, economy=False, background=False)
    for _ in range(3):
        outcomes = [run(f, (X,)).result for f in (function, compiled)]
        expected, actual = (identities(r if function is both_leave else [r]) for r in outcomes)
        assert expected == actual
