"""Lists of which an expression makes another one: `path = path + [i]`, where the old one has no other name; the first of a
sorted one (heapq.nlargest); heaps of tuples that leave."""

import heapq
from collections import Counter

import fusewire
import numpy as np
import pytest
from compare import assert_same_call

X = np.random.default_rng(0).normal(size=120)
K = np.random.default_rng(1).integers(0, 5, 120)


def sum_of_lists(k):
    path = []
    for v in k.tolist():
        if v > 2:
            path = path + [v]
    return path


def sum_in_each_turn(k):
    path = [0]
    for i in range(len(k)):
        path = path + [int(k[i]), i]
    return path, len(path)


def with_another_name(k):
    path = []
    seen = path
    for v in k.tolist():
        if v > 2:
            path = path + [v]
    return path, seen


def kept_before(k):
    path, kept = [], []
    for v in k.tolist():
        kept.append(path)
        path = path + [v]
    return path, kept


def in_place_with_another_name(k):
    path = []
    other = path
    more = [int(k[0])] if len(k) else []
    path += more
    for v in k.tolist():
        path += [v]
    return path, other, path is other


def in_a_tuple(k):
    path = [1]
    pair = (path, 2)
    for v in k.tolist():
        if v == 1:
            path = path + [v]
    return path, pair


def of_itself(k):
    path = [1]
    for v in k.tolist():
        if v > 3 and len(path) < 100:
            path = path + path
    return path


def in_another_variable(k):
    path, other = [], []
    for v in k.tolist():
        other = path + [v]
        if v > 2:
            path = path + [v, v]
    return path, other


def of_arguments(k, given):
    for v in k.tolist():
        given = given + [v]
    return given


def of_a_tuple(k):
    path = []
    for v in k.tolist():
        path = path + (v,)
    return path


def behind_the_loop(k):
    path = [int(v) for v in k]
    path = path + [7]
    return path


def by_a_function(k):
    def grown(path, v):
        path = path + [v]
        return path

    out = []
    for v in k.tolist():
        if v:
            out = grown(out, v)
    return out


def tuples_leave(x):
    heap = []
    for i, v in enumerate(x.tolist()):
        heapq.heappush(heap, (v, i))
        if len(heap) > 5:
            heapq.heappop(heap)
    return heap


def tuples_leave_sorted(x):
    heap = []
    for i, v in enumerate(x.tolist()):
        if len(heap) < 6:
            heapq.heappush(heap, (v, i))
        else:
            heapq.heappushpop(heap, (v, i))
    return sorted(heap)


def tuple_in_two_heaps(x):
    low, high = [], []
    for i, v in enumerate(x.tolist()):
        pair = (v, i)
        heapq.heappush(low, pair)
        heapq.heappush(high, pair)
    return low, high, low[0] is high[0]


def largest(x):
    items = []
    for v in x:
        if v > -1:
            items.append(float(v))
    return heapq.nlargest(4, items), heapq.nsmallest(3, items), heapq.nlargest(0, items), heapq.nsmallest(-2, items)


def largest_by(x):
    items = []
    for i, v in enumerate(x.tolist()):
        items.append((i % 7, v))
    return heapq.nlargest(5, items, key=lambda pair: pair[0]), heapq.nsmallest(1, items, key=lambda pair: pair[1])


def most_common(k):
    return Counter(k.tolist()).most_common(2)


LISTS = [
    sum_of_lists,
    sum_in_each_turn,
    with_another_name,
    in_place_with_another_name,
    kept_before,
    in_a_tuple,
    of_itself,
    in_another_variable,
]
LISTS += [of_a_tuple, behind_the_loop, by_a_function, most_common]
HEAPS = [tuples_leave, tuples_leave_sorted, tuple_in_two_heaps, largest, largest_by]


@pytest.mark.parametrize("function", LISTS + HEAPS, ids=lambda f: f.__name__)
def test_as_python(function):
    compiled = fusewire.compile(function, background=False)
    given = X if function in HEAPS else K
    for values in (given, given[:70], given[:1], given[:0], given * 0, given):
        assert_same_call(function, compiled, [values])


def test_of_nan():
    x = X.copy()
    x[::9] = np.nan
    for function in (largest, largest_by):
        compiled = fusewire.compile(function, background=False)
        for _ in range(3):
            assert_same_call(function, compiled, [x])
            assert_same_call(function, compiled, [X])


def test_lists_of_the_caller_stay():
    compiled = fusewire.compile(of_arguments, background=False)
    for n in (90, 70, 1, 0):
        given = [5, 6]
        assert compiled(K[:n], given) == [5, 6, *K[:n].tolist()]
        assert given == [5, 6]


COMPILED = [sum_of_lists, sum_in_each_turn, tuples_leave, tuples_leave_sorted, largest]


@pytest.mark.parametrize("function", COMPILED, ids=lambda f: f.__name__)
def test_is_compiled(function):
    compiled = fusewire.compile(function, background=False)
    for _ in range(3):
        compiled(X if function in HEAPS else K)
    state = fusewire._fusewire.describe(compiled)
    assert state["variants"] and not [b for b in state["breaks"] if b["reason"] != "nothing-to-compile"]
