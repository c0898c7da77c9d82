"""What array data decides about and nobody knows behind a branch - one list or another, a function or another, a method
of a string or another - is known in its arms, which then end behind the statement that asks (src/frame_eval/late_joins.cpp).
"""

import warnings
from collections import Counter, defaultdict, deque

import fusewire
import numpy as np
import pytest
from compare import assert_same_call, assert_same_calls

X = np.random.default_rng(5).normal(size=300)
ARRAYS = [X, -X, X + 3, X - 3, X[:2], X[:1], X[:0]]


class Account:
    def __init__(self, name):
        self.name, self.total, self.moves = name, 0.0, 0

    def add(self, v):
        self.total += v
        self.moves += 1


def sides(x):
    left, right = [], []
    for v in x:
        side = left if v < 0 else right
        side.append(v)
    return left, right


def called(x):
    left, right = [], []

    def put(side, v):
        side.append(v * 2)

    for v in x:
        put(left if v < 0 else right, v)
    return left, right


def groups(x):
    g = {"a": [], "b": [], "c": []}
    for v in x:
        k = "a" if v > 0.5 else "b" if v > -0.5 else "c"
        g[k].append(v)
    return g


def names(x):
    compass, k, out = ["n", "e", "s", "w"], 0, []
    for v in x:
        k = (k + (1 if v > 0 else 3)) % 4
        out.append(compass[k])
    return out


def methods(x):
    s, n = "abc", 0
    for v in x:
        n += len(s)
        s = "abc" if v > 0 else "de"
        if s.startswith("a") and not s.endswith("e"):
            n += 10
        n += ord(s.upper()[0])
    return n


def isinstances(x):
    s, n = None, 0
    for v in x:
        if isinstance(s, str):
            n += 1
        s = "x" if v > 0 else None
    return n, s


def functions(x):
    f, t = np.sin, 0.0
    for v in x:
        t += f(v)
        f = np.sin if v > 0 else np.cos
    return t


def dispatched(x):
    def half(v):
        return v / 2

    def double(v):
        return v * 2

    f, t = half, 0.0
    for v in x:
        f = half if v > 0 else double
        t += f(v)
    return t


def formatted(x):
    s = "a" if x.sum() > 0 else "b"
    return f"{s}!", s + "x", x * 2


def arrays_of_sizes(x):
    y = x[:3] if x.sum() > 0 else x
    return y.sum(), y.shape[0]


def first_or_none(x):
    best = None
    if x.sum() > 0:
        best = x.max()
    return 0.0 if best is None else best * 2


def lists_chosen(x):
    z = [1, 2, 3] if x.sum() > 0 else [4]
    return sum(z), len(z), x + 1


def objects(x):
    a, b = Account("a"), Account("b")
    for v in x:
        one = a if v > 0 else b
        one.add(v)
    return a.total, b.total, a.moves, b.moves


def counted(x):
    d = defaultdict(int)
    k = "a" if x.sum() > 0 else "b"
    d[k] += 1
    return dict(d), x * 2


def listed(x):
    d = defaultdict(list)
    k = "a" if x.sum() > 0 else "b"
    d[k].append(3)
    return dict(d), x * 2


def both_counted(x):
    d = defaultdict(int)
    for v in x:
        d["a" if v > 0 else "b"] += 1
    return dict(d)


def counter(x):
    c = Counter()
    k = "a" if x.sum() > 0 else "b"
    c[k] += 2
    return dict(c), x * 2


def got(x):
    d = {"a": 1, "b": 2}
    k = "a" if x.sum() > 0 else "c"
    return d.get(k, 7), d.get(k), k in d, x * 2


def missing(x):
    d = {"a": 1}
    k = "a" if x.sum() > 0 else "c"
    return d[k], x * 2


def deques(x):
    a, b = deque([0.0], maxlen=5), deque([0.0])
    for v in x:
        q = a if v > 0 else b
        q.append(v)
    return list(a), list(b)


def unpacked(x):
    lo, hi = 0.0, 0.0
    for v in x:
        pair = (v, 0.0) if v < 0 else [0.0, v]
        a, b = pair
        lo += a
        hi += b
    return lo, hi


def chosen_twice(x):
    f = np.sin if x.sum() > 0 else np.cos
    g = abs if x.sum() > 1 else float
    return f(x), g(x[:1].sum()), f(2.0), g(-3)


def in_loop_of_loops(x):
    n = 0
    for i in range(len(x)):
        s = "ab" if x[i] > 0 else "cde"
        for c in s:
            n += ord(c)
        for j in range(i % 3):
            n += len(s) * j
    return n


def returned_in_arm(x):
    for v in x:
        s = "up" if v > 1 else "down"
        if s.upper() == "UP":
            return s.title(), v
    return None


def raised_in_arm(x):
    for v in x:
        s = None if v > 2.5 else "ab"
        x[0] += len(s)
    return x


def kept(x, logs):
    for v in x:
        log = logs[0] if v > 0 else logs[1]
        log.append(v)
    return len(logs[0])


PROGRAMS = [
    sides,
    called,
    groups,
    names,
    methods,
    isinstances,
    functions,
    dispatched,
    formatted,
    arrays_of_sizes,
    first_or_none,
    lists_chosen,
    objects,
    counted,
    listed,
    both_counted,
    counter,
    got,
    missing,
    deques,
    unpacked,
    chosen_twice,
    in_loop_of_loops,
    returned_in_arm,
    raised_in_arm,
]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_programs(function):
    assert_same_calls(function, ARRAYS, 2, ulp=4 if function in (functions, chosen_twice) else 0)


WHOLE = [sides, groups, names, methods, isinstances, functions, formatted, lists_chosen, unpacked, first_or_none]


@pytest.mark.parametrize("function", WHOLE, ids=lambda f: f.__name__)
def test_is_compiled(function):
    compiled = fusewire.compile(function, background=False)
    for x in ARRAYS[:3]:
        compiled(x)
    assert fusewire._fusewire.describe(compiled)["breaks"] == []


def test_lists_of_the_caller():
    compiled = fusewire.compile(kept, background=False)
    for x in ARRAYS:
        for given in ([[], []], [[1.0], [2]], [[], ["a"]]):
            assert_same_call(kept, compiled, (x, given))
        one: list = []
        assert_same_call(kept, compiled, (x, [one, one]))


def test_warnings_that_are_errors():
    """The limit of variants is no error of the user's."""

    def f(x, k):
        s = 0.0
        for i in range(len(x)):
            s += x[i] * k
        return s

    compiled = fusewire.compile(f, background=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for dtype in (np.float32, np.float64, np.int8, np.int16, np.int32, np.int64):
            for k in (1, 1.0, np.float32(1), np.int64(1), True):
                x = np.ones(4, dtype)
                assert compiled(x, k) == f(x, k)
