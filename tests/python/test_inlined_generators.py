"""Generators that a `for` walks: their code stands in that of the loop, so that data decides what they yield."""

from __future__ import annotations

import sys
from collections import deque
from pathlib import Path

import numpy as np
import pytest

import fusewire
from compare import assert_same_call, assert_same_outcome, places_of_warnings, run

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
from textbook import generators  # noqa: E402 - what is measured is what is tested
from textbook.worklists import grid  # noqa: E402

RNG = np.random.default_rng(5)


def close_pairs(x, cut):
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            d = x[j] - x[i]
            if abs(d) < cut:
                yield i, j, d


def windows(x, w):
    for i in range(len(x) - w + 1):
        yield x[i : i + w]


def by_steps(g, r, c):
    h, w = g.shape
    for dr, dc in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        p, q = r + dr, c + dc
        if 0 <= p < h and 0 <= q < w and not g[p, q]:
            yield p, q


def above(x, level=0.0):
    for v in x:
        if v > level:
            yield v


def doubled(x):
    for v in above(x, level=0.2):
        yield 2 * v


# ---- programs that are one compiled function


def breadth_first_to(g, goal):
    dist = np.full(g.shape, -1)
    dist[0, 0] = 0
    ready = deque([(0, 0)])
    while ready:
        r, c = ready.popleft()
        for p, q in by_steps(g, r, c):
            if (p, q) == goal:
                return dist[r, c] + 1
            if dist[p, q] < 0:
                dist[p, q] = dist[r, c] + 1
                ready.append((p, q))
    return -1


def count_with_break(x, cut):
    k, found = 0, False
    for i, j, d in close_pairs(x, cut):
        if d < 0:
            continue
        k += 1
        if k > 50:
            found = True
            break
    else:
        k = -k
    return k, found


def nested(x):
    s = 0.0
    for v in doubled(x):
        s += v
    return s


def expression(x):
    s = 0.0
    for v in (a * a for a in x if a > 0):
        s += v
    return s


def comprehension(x, cut):
    return [i * j for i, j, d in close_pairs(x, cut)]


def two_loops(x, cut):
    s = 0.0
    for _, _, d in close_pairs(x, cut):
        s += d
    for i, j, d in close_pairs(x, cut / 2):
        s -= d * (j - i)
    return s


def loop_in_body(x, cut):
    s = 0.0
    for i, j, d in close_pairs(x, cut):
        for k in range(i, j):
            s += x[k] * d
            if s > 1e3:
                break
        w = j
        while w > i and x[w] > 0.5:
            s -= 0.25
            w -= 1
    return s


def writes_what_it_reads(x):
    for i in halves(x):
        x[i] += 1
    return x


def halves(x):
    for i in range(len(x)):
        if x[i] < 3:
            yield i
        if x[i] < 1:
            yield len(x) - 1 - i


def early_return(x):
    s = 0.0
    for v in until_negative(x):
        s += v
    return s


def until_negative(x):
    for v in x:
        if v < -1.5:
            return
        yield v
    yield 100.0


def same_names(x):
    i, v, n = 3, 7.0, 0
    for k in same_names_within(x, v):
        n += k
    return i, v, n


def same_names_within(x, i):
    for v in range(len(x)):
        if x[v] > 0:
            yield v + i
        i += 1


def sent(x):
    s = 0.0
    for v in with_answers(x):
        s += v
    return s


def with_answers(x):
    for v in x:
        if v > 0:
            got = yield v
            if got is None:
                yield 2.0


def numbered(x):
    s = 0.0
    for i, v in enumerate(above(x), start=2):
        s += i * v
    return s


def of_an_expression(x):
    s = 0.0
    for v in (w * w for w in doubled(x)):
        s += v
    return s


def squares(x, cut):
    for _, _, d in close_pairs(x, cut):
        yield d * d


def consumed_whole(x, cut):
    return sum(squares(x, cut)), max(squares(x, cut), default=0.0), min(squares(x, cut), default=None)


def consumed_by_expressions(x, cut):
    return sum(d for _, _, d in close_pairs(x, cut)), any(d > 0.09 for _, _, d in close_pairs(x, cut))


def as_list(x, cut):
    return list(squares(x, cut)), np.array(list(i for i, _, _ in close_pairs(x, cut)))


COMPILED = [
    (breadth_first_to, lambda n: (grid(n, n), (n - 1, n - 1))),
    (count_with_break, lambda n: (RNG.random(n), 0.3)),
    (nested, lambda n: (RNG.random(10 * n),)),
    (expression, lambda n: (RNG.standard_normal(10 * n),)),
    (comprehension, lambda n: (RNG.random(n), 0.1)),
    (two_loops, lambda n: (RNG.random(n), 0.2)),
    (loop_in_body, lambda n: (RNG.random(n), 0.2)),
    (writes_what_it_reads, lambda n: (RNG.random(3 * n) * 4,)),
    (early_return, lambda n: (RNG.standard_normal(3 * n),)),
    (same_names, lambda n: (RNG.standard_normal(10 * n),)),
    (sent, lambda n: (RNG.standard_normal(10 * n),)),
    (numbered, lambda n: (RNG.standard_normal(10 * n),)),
    (of_an_expression, lambda n: (RNG.random(10 * n),)),
    (consumed_whole, lambda n: (RNG.random(n), 0.1)),
    (consumed_by_expressions, lambda n: (RNG.random(n), 0.1)),
    (as_list, lambda n: (RNG.random(n), 0.1)),
]


@pytest.mark.parametrize("name", generators.PROGRAMS)
def test_programs(name):
    function, arguments, size = generators.PROGRAMS[name]
    compiled = fusewire.compile(function, economy=False)
    for n in (size // 3, 2, 3, 10, size // 5, 1):
        assert_same_call(function, compiled, arguments(n))
    assert fusewire._fusewire.describe(compiled)["variants"]


@pytest.mark.parametrize("function, arguments", COMPILED, ids=lambda v: getattr(v, "__name__", ""))
def test_compiled(function, arguments):
    compiled = fusewire.compile(function, economy=False)
    assert_same_call(function, compiled, arguments(24))
    told = fusewire._fusewire.describe(compiled)
    assert told["variants"] and not told["breaks"]
    for n in (30, 1, 2, 0 if function is not breadth_first_to else 3, 25):
        assert_same_call(function, compiled, arguments(n))


# ---- what is Python's as a whole, or in parts


class Trail(list):
    pass


LOG: list = []


def finalised(x):
    for v in with_finally(x):
        if v > 0:
            break
    return len(LOG)


def with_finally(x):
    try:
        for v in x:
            yield v
    finally:
        LOG.append(len(LOG))


def in_try(x):
    s = 0.0
    try:
        for v in above(x):
            s += 1 / (v - x[3])
            s += x[len(x) if v > 2 else 0]
    except IndexError:
        s = -1.0
    return s


def try_in_body(x):
    s = 0.0
    for v in above(x):
        try:
            s += int(v) // int(v > 0.5)
        except ZeroDivisionError:
            s += 0.5
    return s


def held(x):
    walk = above(x)
    s = 0.0
    for v in walk:
        s += v
        if s > 2:
            break
    return s, list(walk)


def walked_twice(x):
    walk = above(x)
    a = sum(v for v in walk)
    b = 0.0
    for v in walk:
        b += v
    return a, b


def begun(x):
    walk = above(x)
    first = next(walk, -1.0)
    s = 0.0
    for v in walk:
        s += v * first
    return s


def chosen(x, way):
    s = 0.0
    for v in above(x) if way else doubled(x):
        s += v
    return s


def chosen_by_data(x):
    s = 0.0
    walk = above(x) if x.sum() > 0 else doubled(x)
    for v in walk:
        s += v
    return s


def in_both_arms(x):
    s = 0.0
    if x.sum() > 0:
        for v in above(x):
            s += v
    else:
        for v in doubled(x):
            s -= v
    return s


def any_iterable(walk):
    s = 0.0
    for v in walk:
        s += v
    return s


def of_many(x):
    return any_iterable(above(x)) + any_iterable([1.0, 2.0]) + any_iterable(doubled(x)) + any_iterable(x)


def stops(x):
    s = 0
    for v in takes_next(x):
        s += v
    return s


def takes_next(x):
    rest = iter([1, 2, 3])
    for v in x:
        if v > 0:
            yield next(rest)


def divides(x):
    s = 0
    for v in quotients(x):
        s += v
    return s


def quotients(x):
    for i in range(len(x)):
        yield 10 // int(x[i])


def unbound(x):
    out = []
    for v in maybe_unbound(x):
        out.append(v)
    return out


def maybe_unbound(x):
    for i in range(len(x)):
        if x[i] > 0:
            last = i
        yield last


def unbound_again(x, times):
    s = 0
    for k in range(times):
        for v in maybe_unbound(x[k:]):
            s += v
    return s


def prints(x):
    s = 0.0
    for v in above(x):
        s += v
        Trail([s])
        LOG.append(s)
        LOG.pop()
    return s


def warns(x):
    s = 0.0
    for v in reciprocals(x):
        s += v
    return s


def reciprocals(x):
    for v in x:
        if v < 1:
            yield 1 / v


def recursive(n, x):
    s = 0.0
    for v in down(n, x):
        s += v
    return s


def down(n, x):
    if n > 0:
        yield x[n]
        for v in down(n - 1, x):
            yield v * 0.5


def delegates(x):
    s = 0.0
    for v in on_behalf(x):
        s += v
    return s


def on_behalf(x):
    yield from above(x)
    yield -1.0


class Walker:
    def __init__(self, x):
        self.x, self.seen = x, 0

    def positive(self):
        for v in self.x:
            self.seen += 1
            if v > 0:
                yield v

    def total(self, scale=1.0):
        def scaled(*factors, plus=0.0):
            for v in self.positive():
                yield v * scale * factors[0] + plus

        s = 0.0
        for v in scaled(2.0, 3.0, plus=0.5):
            s += v
        return s, self.seen


def of_an_object(x):
    return Walker(x).total(scale=2.0)


def zipped(x):
    s = 0.0
    for v, w in zip(above(x), windows(x, 2)):
        s += v * w[0]
    return s


def closes_over(x):
    level = 0.1

    def raised():
        nonlocal level
        for v in x:
            if v > level:
                level += 0.01
                yield v

    s = 0.0
    for v in raised():
        s += v
        level *= 0.99
    return s, level


def last_of(x):
    v = None
    for v in above(x):
        pass
    return v


def within_errstate(x):
    s = 0.0
    with np.errstate(divide="ignore"):
        for v in reciprocals(x):
            s += v
    return s


def changed_under_way(x):
    out = []
    for v in windows(x, 3):
        out.append(v)
        x = x * 2
    return out


def arrays_of_loops(x):
    best = x[:1]
    for v in windows(x, 3):
        if v.sum() > best.sum():
            best = v
    return best, best.base is x


def first_of(x):
    for v in above(x):
        return v
    return None


def sums_what_is_left(x):
    walk = above(x)
    first = next(walk, 0.0)
    return first, sum(walk), list(walk), max(walk, default=-1.0)


def list_of_arrays(x):
    parts = list(windows(x, 4))
    parts[0][:] = 0.0
    return parts, x


def unpacked(x):
    a, *rest = windows(x[:6], 3)
    return a, rest


def listed_with_finally(x):
    return list(with_finally(x[:3])), sum(with_finally(x)), len(LOG)


def in_containers(x):
    return tuple(above(x[:5])), set(above(x[:4])), [*above(x[:4])], dict(enumerate(above(x[:4])))


def two_deep(x):
    for v in above(x):
        for w in above(x, v):
            if w > 2 * v:
                return v, w
    return 0.0, 0.0


SIGNED = [RNG.standard_normal(n) for n in (40, 41, 1, 0, 2, 3)]
OTHERS = [
    (function, [(x,) for x in SIGNED])
    for function in (
        finalised,
        try_in_body,
        held,
        walked_twice,
        begun,
        chosen_by_data,
        in_both_arms,
        of_many,
        stops,
        delegates,
        of_an_object,
        closes_over,
        last_of,
        within_errstate,
        changed_under_way,
        arrays_of_loops,
        first_of,
        two_deep,
        sums_what_is_left,
        list_of_arrays,
        unpacked,
        listed_with_finally,
        in_containers,
        prints,
        unbound,
    )
] + [
    (in_try, [(x,) for x in SIGNED if len(x) > 3] + [(np.full(9, 3.5),)]),
    (zipped, [(x,) for x in SIGNED]),
    (chosen, [(x, way) for x in SIGNED for way in (True, False)]),
    (divides, [(np.array(v),) for v in ([1, 2, 3] * 30, [1, 2, 0, 4], [], [5])]),
    (unbound_again, [(x, 3) for x in (np.array([1.0, -1, -2, 1, -1]), np.array([-1.0]), np.ones(200))]),
    (warns, [(np.array(v),) for v in ([0.5, 2.0] * 40, [0.5, 0.0, 2.0], [], [0.0])]),
    (recursive, [(n, SIGNED[0]) for n in (0, 1, 3, 30)]),
]


@pytest.mark.parametrize("function, calls", OTHERS, ids=lambda v: getattr(v, "__name__", ""))
def test_same_as_python(function, calls):
    compiled = fusewire.compile(function, economy=False)
    for _ in range(2):
        for arguments in calls:
            LOG.clear()
            expected = run(function, arguments)
            log = list(LOG)
            LOG.clear()
            assert_same_outcome(expected, run(compiled, arguments))
            assert log == LOG
            assert places_of_warnings(function, arguments) == places_of_warnings(compiled, arguments)


def test_other_code_under_the_name():
    """The loop meets another generator than the one whose code stands in it."""
    names = {"np": np}
    exec(
        "def walk(x):\n    for v in x:\n        if v > 0:\n            yield v\n"
        "def total(x):\n    s = 0.0\n    for v in walk(x):\n        s += v\n    return s\n",
        names,
    )
    compiled = fusewire.compile(names["total"], economy=False)
    for x in SIGNED:
        assert compiled(x) == names["total"](x)
    exec("def walk(x):\n    for v in x:\n        if v < 0:\n            yield -2 * v\n", names)
    for x in SIGNED:
        assert compiled(x) == names["total"](x)
    names["walk"] = abs
    assert compiled(SIGNED[0]) == names["total"](SIGNED[0])
    names["walk"] = list
    assert compiled(SIGNED[0]) == names["total"](SIGNED[0])
