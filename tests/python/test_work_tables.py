"""Dicts and sets whose keys array data decides: what they hold, in which order, and what else code does with them."""

from __future__ import annotations

import copy
import os
import re
import subprocess
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

import fusewire
from compare import assert_same_call, assert_same_outcome, run

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
from textbook import keyed  # noqa: E402 - what is measured is what is tested


@pytest.mark.parametrize("name", keyed.PROGRAMS)
def test_programs(name):
    function, arguments, size = keyed.PROGRAMS[name]
    compiled = fusewire.compile(function, economy=False)
    for n in (size // 3, 2, 3, 10, size // 5, 1):
        assert_same_call(function, compiled, arguments(n))
    assert fusewire._fusewire.describe(compiled)["variants"]


# ---- what is done with them


def one_after_the_other(x):
    d = {}
    for v in x:
        d[int(v)] = d.get(int(v), 0) + 1
    t = 0
    for k in d:
        t = t * 3 % 1000 + k
    for k, v in d.items():
        d[k] = v * 2
        t += v
    for v in d.values():
        t += v
    return d, t, len(d)


def from_pairs(x):
    d = dict(zip(x.tolist(), range(len(x))))
    return sum([d[int(v)] for v in x]), d


def distinct(x):
    s = set(x.tolist())
    return len(s), s


def comprehensions(x):
    last, rests = {int(v): i for i, v in enumerate(x)}, {int(v) % 5 for v in x}
    return last, rests, len(rests)


def a_counter(x):
    c, t = Counter(), 0
    for v in x:
        c[int(v)] += 2
        t += c[int(v) + 1]
    return c, t


def default_numbers(x):
    sums, n = defaultdict(float), defaultdict(int)
    for v in x:
        sums[int(v) % 7] += v * 0.5
        n[int(v) % 3] += 1
    return sums, n


def default_is_made_once(x):
    made = 0

    def new():
        nonlocal made
        made += 1
        return made

    d, s = defaultdict(new), 0
    for v in x:
        s += d[int(v)]
    return s, made, d


def reading_makes_entries(x):
    d, s = defaultdict(lambda: 5), 0
    for v in x:
        s += d[int(v) % 7]
        d[int(v) % 7] = s % 11
    return d, s


def set_defaults(x):
    first = {}
    s = 0
    for i in range(len(x)):
        s += first.setdefault(int(x[i]), i)
    return first, s


def last_or_none(x):
    last, gap = {}, 0
    for i in range(len(x)):
        p = last.get(int(x[i]))
        if p is not None:
            gap = max(gap, i - p)
        last[int(x[i])] = i
    return gap


def scalars_are_keys(x):
    d = {}
    for v in x:
        if v in d:
            d[v] += 1
        else:
            d[v] = 1
    return d


def of_both_classes(x):
    """np.int64(1) finds the key 1, and leaves it as it is."""
    d = {0: 1}
    for v in x:
        d[v] = d.get(v, 0) + 1
    return d


def ints_beside_infinity(x):
    best = {0: 0}
    for i in range(len(x)):
        new = best.get(int(x[i]) - 1, 3) + 1
        if new < best.get(int(x[i]), float("inf")):
            best[int(x[i])] = new
    return best


def pairs_are_keys(x):
    d, n = {}, 0
    for i in range(1, len(x)):
        pair = (int(x[i - 1]), int(x[i]))
        d[pair] = d.get(pair, 0) + 1
        if (pair[1], pair[0]) in d:
            n += 1
    return d, n


def pairs_are_values(x):
    d, s = {}, 0
    for i in range(len(x)):
        k = int(x[i])
        if k in d:
            a, b = d[k]
            d[k] = (a + 1, b + i)
        else:
            d[k] = (1, i)
    for k, (a, b) in d.items():
        s += a * b
    return d, s


def missing(x):
    d, s = {1: 2.0}, 0.0
    for v in x:
        d[int(v) * 2] = float(v)
    for v in x:
        try:
            s += d[int(v)]
        except KeyError:
            s -= 1
    return s


def missing_raises(x):
    d = {}
    for v in x:
        d[int(v)] = 1
    return d[int(x[0])] + d[int(x[-1]) + 7]


def emptied(x):
    d, n = {}, 0
    for v in x:
        if len(d) > 5:
            n += len(d)
            d.clear()
        d[int(v)] = n
    return d, n


def made_in_each_turn(x):
    n = 0
    for i in range(len(x) - 3):
        seen = set()
        for j in range(4):
            seen.add(int(x[i + j]) % 6)
        n += len(seen)
    return n


def two_names(x):
    a = {}
    b = a
    for v in x:
        a[int(v)] = 1
        b[int(v) + 100] = 2
    return a, b, a is b


class Seen:
    def __init__(self):
        self.where = {}
        self.n = 0

    def note(self, k, i):
        if k in self.where:
            self.n += i - self.where[k]
        self.where[k] = i


def in_an_object(x):
    seen = Seen()
    for i in range(len(x)):
        seen.note(int(x[i]), i)
    return seen.where, seen.n


def on_one_side(x):
    d = {}
    if x.sum() > 0:
        for v in x:
            d[int(v)] = 1
    return d


def a_known_key(x):
    d = {}
    for i in range(len(x)):
        if x[i] > 3:
            d[3] = i
        elif x[i] < 2:
            d[2] = i
    return d


def removed(x):
    """Left to Python, and right."""
    s = set()
    for v in x:
        if int(v) in s:
            s.remove(int(v))
        else:
            s.add(int(v))
    return s


def ordered_by_a_literal(x):
    s = {100, 1, 8}
    for v in x:
        s.add(int(v))
    return s, list(s)


def ordered_by_another_set(x):
    a = {33, 1, 65, 97, 2}
    s = set(a)
    for v in x:
        s.add(int(v))
    return list(s)


def unpacked(x):
    s = {*(33, 1, 65), 7}
    for v in x:
        s.add(int(v))
    return s, list(s)


def updated(x):
    s = set()
    s.add(int(x.sum()))
    s.update(x.tolist())
    return s, len(s)


def item_of_a_set(x):
    s = set()
    for v in x:
        s.add(int(v))
    for v in x:
        s[int(v)] = 1
    return s


def far_apart(x):
    d = {}
    for v in x:
        d[int(v) << 40] = d.get(int(v) << 40, 0) + 1
    return d


def two_keys_in_a_turn(x):
    d = {}
    for i in range(1, len(x)):
        a, b = int(x[i - 1]), int(x[i])
        if a not in d:
            d[a] = 0
        d[a] += 1
        d[b] = d[a] + d.get(b, 0)
    return d


def bools_and_data(x):
    n = 0
    for i in range(len(x)):
        k = int(x[i])
        if (k > 2) & (k < 9) | (k == 20):
            n += 1
        n += (k > 3) ^ (k > 4)
    return n


USES = [one_after_the_other, from_pairs, distinct, comprehensions, a_counter, default_numbers, default_is_made_once, reading_makes_entries, set_defaults,
        last_or_none, scalars_are_keys, of_both_classes, ints_beside_infinity, pairs_are_keys, pairs_are_values, emptied, made_in_each_turn, two_names,
        in_an_object, on_one_side, a_known_key, removed, ordered_by_a_literal, ordered_by_another_set, unpacked, updated, item_of_a_set, far_apart,
        two_keys_in_a_turn, bools_and_data, missing, missing_raises]


def without_addresses(outcome):
    return re.sub("0x[0-9a-f]+", "", repr(outcome))


@pytest.mark.parametrize("function", USES, ids=lambda f: f.__name__)
def test_uses(function):
    compiled = fusewire.compile(function, economy=False)
    rng = np.random.default_rng(5)
    for n, most in ((40, 10), (40, 10), (300, 60), (0, 1), (1, 5), (2, 5), (3, 2), (100, 3), (200, 2**40), (5, 1)):
        x = rng.integers(-most // 2, most, n)
        expected, actual = run(function, (x,)), run(compiled, (x,))
        assert_same_outcome(expected, actual)
        assert without_addresses(expected) == without_addresses(actual)  # the order, too


@pytest.mark.parametrize("function", [counts for counts in USES if counts not in (
    removed, ordered_by_a_literal, ordered_by_another_set, unpacked, item_of_a_set, missing, missing_raises, default_is_made_once)], ids=lambda f: f.__name__)
def test_native(function):
    compiled = fusewire.compile(function, economy=False)
    x = np.random.default_rng(5).integers(0, 50, 400)
    for _ in range(3):
        compiled(x)
    assert fusewire._fusewire.describe(compiled)["variants"], fusewire._fusewire.describe(compiled)["breaks"]


# ---- changed while it is walked


def becomes_longer(x):
    d = {}
    for v in x:
        d[int(v)] = 1
    for k in d:
        d[k + 1000] = 2
    return d


def longer_behind_enumerate(x):
    d = {}
    for v in x:
        d[int(v)] = 1
    for i, k in enumerate(d):
        if i == 1:
            d[k + 1000] = 3
    return d


def cleared_behind_enumerate(x):
    d, n = {}, 0
    for v in x:
        d[int(v)] = 1
    for i, (k, v) in enumerate(d.items()):
        n += v
        if i == 1:
            d.clear()
    return n


def longer_behind_zip(x):
    d, n = {}, 0
    for v in x:
        d[int(v)] = 1
    for k, v in zip(d.keys(), d.values()):
        n += v
        if k == 2:
            d[k + 1000] = 3
    return n


@pytest.mark.parametrize("function", [becomes_longer, longer_behind_enumerate, cleared_behind_enumerate, longer_behind_zip], ids=lambda f: f.__name__)
def test_changed_while_walked(function):
    compiled = fusewire.compile(function, economy=False)
    for n in (0, 1, 2, 5, 50):
        x = np.arange(n)
        assert_same_outcome(run(function, (x,)), run(compiled, (x,)))


# ---- sizes


def test_many_keys():
    """More than there is room for are Python's; some that share their places in the index are found."""

    def count(x):
        d = {}
        for v in x:
            d[int(v)] = d.get(int(v), 0) + 1
        return len(d), d

    compiled = fusewire.compile(count)
    for x in (np.arange(70_000), np.arange(60_000) << 17, np.arange(200) << 50, -np.arange(3000), np.arange(300) + 2**62, np.arange(300) + np.iinfo(np.int64).min):
        assert_same_outcome(run(count, (x,)), run(compiled, (x,)))


def test_time_does_not_bend_up():
    """Keys whose lower bits are equal take no more than a few steps each."""

    def distinct(x):
        s = set()
        for v in x:
            s.add(int(v))
        return len(s)

    compiled = fusewire.compile(distinct, economy=False)
    def best(x):
        least = 9.0
        for _ in range(5):
            begin = time.perf_counter()
            assert compiled(x) == len(x)
            least = min(least, time.perf_counter() - begin)
        return least

    best(np.arange(100))
    one_by_one, shifted = best(np.arange(30_000)), best(np.arange(30_000) << 24)
    assert shifted < 40 * one_by_one


def test_arguments_stay():
    """The caller's dict is no such dict."""

    def fill(d, x):
        for v in x:
            d[int(v)] = d.get(int(v), 0) + 1

    compiled = fusewire.compile(fill, economy=False)
    x, first, second = np.arange(20) % 7, {1: 5}, {1: 5}
    fill(first, x)
    compiled(second, x)
    assert first == second and list(first) == list(second)


def test_results_are_fresh():
    def count(x):
        d = {}
        for v in x:
            d[int(v)] = 1
        return d

    compiled = fusewire.compile(count, economy=False)
    x = np.arange(50)
    first = compiled(x)
    kept = copy.deepcopy(first)
    second = compiled(x)
    second[0] = 100
    assert first == kept and first is not second and type(first) is dict


# ---- left by `return` and `continue`


def left_or_gone_on(g, start, goal):
    stack, steps = [(0, start)], 0
    while stack:
        cost, here = stack.pop()
        if here == goal:
            return cost
        if g[here] == 1:
            continue
        steps += 1
        stack.append((cost + 1, (here[0] + 1, here[1] + 1)))
    return -1


def read_behind_the_loop(x):
    """`v` has no value where there was no turn."""
    stack = [3]
    while stack:
        k = stack.pop()
        v = x[k] * 2
        if v > 1.5:
            return v
        if v > 1.0:
            continue
        if k > 0:
            stack.append(k - 1)
    return v


def test_left_or_gone_on():
    g = np.zeros((30, 30), int)
    g[20, 20] = 1
    compiled = fusewire.compile(left_or_gone_on, economy=False)
    for goal in ((25, 25), (10, 10), (0, 0), (20, 20), (5, 6)):
        assert_same_call(left_or_gone_on, compiled, (g, (0, 0), goal) if goal != (5, 6) else (g[:25], (0, 0), (24, 23)))
    assert fusewire._fusewire.describe(compiled)["variants"]


def test_read_behind_the_loop():
    compiled = fusewire.compile(read_behind_the_loop, economy=False)
    for x in np.random.default_rng(1).random((40, 4)):
        assert_same_call(read_behind_the_loop, compiled, (x,))


# ---- as lists, from data, and handed from turn to turn


def as_lists(x):
    d = {}
    for v in x:
        d[int(v)] = d.get(int(v), 0) + 1
    if len(x) == 0:
        return d
    return list(d), list(d.values()), list(d.items()), max(d.values()), min(d), sum(d.values())


def lists_are_copies(x):
    d = {}
    for i in range(len(x)):
        d[int(x[i])] = x[i] * 0.5
    a = list(d.values())
    for k in d:
        d[k] = 0.25
    return np.array(a), np.array(list(d.keys())), len(a), a, d


def literals_of_data(x):
    if len(x) < 2:
        return None
    d, s = {int(x[0]): 1, int(x[-1]): 2}, {int(x[0])}
    for v in x:
        d[int(v)] = d.get(int(v), 0) + 1
        s.add(int(v) % 5)
    return d, s, len({int(x[0]), int(x[1])})


def ways_to_sums(x):
    now = {0: 1}
    for v in x:
        new = {}
        for k, c in now.items():
            new[k] = new.get(k, 0) + c
            m = (k + int(v)) % 50
            new[m] = (new.get(m, 0) + c) % 1000003
        now = new
    return now


def two_change_places(x):
    a, b = {1: 1}, {}
    for v in x:
        b.clear()
        for k in a:
            b[(k * int(v)) % 17] = a[k] + 1
        a, b = b, a
    return a, len(b)


def fronts(x):
    front, seen, steps = {0}, {0}, 0
    while len(front) > 0:
        new = set()
        for i in range(len(x)):
            if i in front:
                j = int(x[i]) % len(x)
                if j not in seen:
                    seen.add(j)
                    new.add(j)
        front = new
        steps += 1
    return steps, len(seen)


def made_in_front_of_while(x):
    n = 0
    for v in x:
        seen, k = set(), int(v)
        while k > 3:
            seen.add(k % 7)
            k //= 2
        n += len(seen)
    return n


def changed_and_then_another(x):
    """What a turn begins with is of another length when it is replaced."""
    d, n = {}, 0
    for i in range(len(x)):
        if x[i] > 1:
            d[int(x[i])] = i
        n += len(d)
        d = {}
    return n


MORE = [changed_and_then_another, as_lists, lists_are_copies, literals_of_data, ways_to_sums, two_change_places, fronts, made_in_front_of_while]


@pytest.mark.parametrize("function", MORE, ids=lambda f: f.__name__)
def test_more_uses(function):
    compiled = fusewire.compile(function, economy=False)
    rng = np.random.default_rng(7)
    for n, most in ((40, 10), (40, 10), (200, 60), (0, 1), (1, 5), (2, 5), (3, 2), (100, 3), (5, 1)):
        x = rng.integers(0, most, n)
        expected, actual = run(function, (x,)), run(compiled, (x,))
        assert_same_outcome(expected, actual)
        assert without_addresses(expected) == without_addresses(actual)
    assert fusewire._fusewire.describe(compiled)["variants"]


def test_a_table_of_a_turn_is_not_copied():
    """Where a branch ends the life of what it is given, it is the branch's own."""
    compiled = fusewire.compile(made_in_front_of_while, economy=False)

    def best(f, x):
        least = 9.0
        for _ in range(5):
            begin = time.perf_counter()
            f(x)
            least = min(least, time.perf_counter() - begin)
        return least

    x = np.random.default_rng(0).integers(0, 1000, 300)
    compiled(x)
    assert best(compiled, x) < best(made_in_front_of_while, x)


UNCLEARED = """
import sys
sys.path[:0] = {paths!r}
import fusewire
from textbook import keyed, worklists
for field in (keyed, worklists):
    for name, (function, arguments, size) in field.PROGRAMS.items():
        compiled = fusewire.compile(function, economy=False)
        for _ in range(3):
            compiled(*arguments(size // 4))
        for variant in fusewire._fusewire.describe(compiled)["variants"]:
            assert variant["declines"] == 0, name
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc fills memory")
def test_what_stands_in_memory_makes_no_difference():
    paths = [str(Path(__file__).resolve().parents[2] / "bench"), str(Path(__file__).resolve().parent)]
    subprocess.run([sys.executable, "-c", UNCLEARED.format(paths=paths)], check=True, env={**os.environ, "MALLOC_PERTURB_": "165"})


@pytest.mark.parametrize("options", ({}, {"checked": True}, {"checked": True, "backend": "llvm_o0"}), ids=str)
def test_what_a_loop_in_an_arm_counts_in_is_not_read_behind_it(options):
    """The arm may count in the memory of what it is given; who computes with that again behind it would read the count."""

    def places(x):
        d = {}
        for v in x:
            if v == 0:
                for j in range(2):
                    m = int(v)
                    while m in d:
                        m += 1
                    d[m] = 0.5 * v + j
        return d

    compiled = fusewire.compile(places, economy=False, **options)
    for n in (71, 3, 0):
        assert_same_call(places, compiled, (np.random.default_rng(0).integers(0, 3, n),))
