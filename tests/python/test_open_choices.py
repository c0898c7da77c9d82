"""A tuple or None, a number or a string: what array data decides about, and of which one is another in each turn
(src/frame_eval/choices.h: the payload of a choice)."""

import fusewire
import numpy as np
import pytest
from compare import assert_same_call, assert_same_calls

X = np.random.default_rng(3).normal(size=300)
ARRAYS = [X, -X, abs(X), -abs(X), X[:2], X[:1], X[:0]]


def best_pair(x):
    best = None
    for i, v in enumerate(x):
        if best is None or v < best[0]:
            best = (v, i)
    return best


def best_with_continue(x):
    best = None
    for i, v in enumerate(x):
        if v < -0.5:
            continue
        if best is None or v < best[0]:
            best = (v, i)
    if best is None:
        return -1
    v, i = best
    return v * 2 + i


def closest(x):
    best, least = None, float("inf")
    for i in range(min(len(x), 40)):
        for j in range(i + 1, min(len(x), 40)):
            d = (x[i] - x[j]) ** 2
            if d < least:
                least, best = d, (i, j)
    return best, least


def order_of_keys(x):
    best = key = None
    for i, v in enumerate(x):
        if i % 3 == 0:
            continue
        k = (int(v * 2), i)
        if key is None or k < key:
            key, best = k, (i, v, v * v)
    i, v, w = best
    return i, v, w, key


def order_without_question(x):
    key = None
    for i, v in enumerate(x):
        if v > 1:
            key = (i, v)
        elif v < -2 and key < (3, 0.0):
            return i, key
    return key


def straight(x):
    t = None
    if x.sum() > 0:
        t = (x[0], x.max())
    return t, x * 2


def nested(x):
    t, n = None, 0
    for i, v in enumerate(x):
        if v > 1:
            t = (i, (v, "a" if i % 2 else "b"))
        elif v < -1:
            t = None
        if t is not None:
            n += t[0] + (t[1][1] == "a")
    return t, n


def number_or_name(x):
    s, n = "idle", 0
    for i, v in enumerate(x):
        if v > 1:
            s = i
        elif v < -1:
            s = "run"
        n += s == "run"
        n += s == 3
    return s, n


def runs(x):
    start, out = None, []
    for i, v in enumerate(x):
        if v > 0:
            if start is None:
                start = (i, v)
        elif start is not None:
            out.append((start[0], i, start[1]))
            start = None
    return out, start


def previous(x):
    prev, t = None, 0.0
    for i, v in enumerate(x):
        if prev is not None:
            t += v - prev[1]
        prev = (i, v) if v > -1 else None
    return t, prev


def equal_to_last(x):
    last, n = None, 0
    for v in x:
        k = (int(v), int(v * 2) % 2)
        if k == last:
            n += 1
        last = k
    return n, last


def empty_or_pair(x):
    t, n = (), 0
    for i, v in enumerate(x):
        n += len(t)
        if v > 1:
            t = (i, v)
        elif v < -1:
            t = ()
        if t:
            n += t[0]
    return t, n


def swapped(x):
    a, b, n = None, (0, 0.5), 0
    for i, v in enumerate(x):
        if v > 0.5:
            a, b = b, a
        if v > 1.5:
            b = (i, v)
        n += a is None
    return a, b, n


def left_with(x):
    for i, v in enumerate(x):
        if v > 2:
            return "high", i, v
        if v < -2:
            return None
    return "none", i, 0.0


def in_attribute(x):
    class Box:
        def __init__(self):
            self.best = None

        def see(self, i, v):
            if self.best is None or v > self.best[1]:
                self.best = (i, v)

    box = Box()
    for i, v in enumerate(x):
        box.see(i, v)
    return box.best


def in_list(x):
    held = [None, None]
    for i, v in enumerate(x):
        k = i % 2
        if held[k] is None or v > held[k][0]:
            held[k] = (v, i)
    return held


def lists_of_them(x):
    out, t = [], None
    for i, v in enumerate(x):
        out.append(t)
        if v > 1:
            t = (i, v)
    return out


def two_hold_one(x):
    best = prev = None
    for i, v in enumerate(x):
        if v > 1:
            best = ((i, "x"), v)
        if v > 1.5:
            prev = best
    return best, prev, [best, (prev,)]


def three_variables(x):
    s = t = "none"
    last = None
    for v in x:
        if v > 0.5:
            last = t
        t = (v, 0)
        s = "none" if v > 0.4 else t
    return s, t, last


def one_name(x):
    seen, last, n = [], None, 0
    for i, v in enumerate(x):
        seen.append(("x", i))
        last = "x"
        n += v
    return last, seen, n


def known_to_others(x):
    a, last = [(0,)], None
    for v in x:
        if v > -9:
            last = a[0]
    return last, a, last is a[0]


def unpacked_too_early(x):
    t = None
    for v in x:
        a, b = t if v < 2 else (1, 2)
        t = (a, b)
    return t


def deep(x):
    t = ()
    for _ in range(100):
        t = (t,)
    return t, x + 1


PROGRAMS = [
    best_pair,
    best_with_continue,
    closest,
    order_of_keys,
    order_without_question,
    straight,
    nested,
    number_or_name,
    runs,
    previous,
    equal_to_last,
    empty_or_pair,
    swapped,
    left_with,
    in_attribute,
    in_list,
    lists_of_them,
    two_hold_one,
    three_variables,
    one_name,
    known_to_others,
    unpacked_too_early,
    deep,
]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("options", [{}, {"checked": True}, {"economy": False, "compile_all": True}], ids=str)
def test_programs(function, options):
    assert_same_calls(function, ARRAYS, 2, **options)


WHOLE = [best_pair, best_with_continue, closest, order_of_keys, nested, number_or_name, runs, previous, equal_to_last]


@pytest.mark.parametrize("function", WHOLE, ids=lambda f: f.__name__)
def test_is_compiled(function):
    compiled = fusewire.compile(function, background=False)
    for _ in range(3):
        compiled(X)
    assert fusewire._fusewire.describe(compiled)["breaks"] == []


def test_many_turns():
    x = np.random.default_rng(7).normal(size=100_000)
    for function in (best_pair, runs, nested):
        compiled = fusewire.compile(function, background=False)
        for _ in range(2):
            assert_same_call(function, compiled, (x,))
