"""What array data decides about, looked for among what is known (src/frame_eval/membership.cpp), and names that it decides
as keys and items of dicts, sets, lists, stacks and queues."""

import enum
import heapq
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from pathlib import Path

import fusewire
import numpy as np
import pytest
from compare import assert_same_call, assert_same_calls

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
from textbook.searches import RULES  # noqa: E402

X = np.random.default_rng(3).normal(size=300)
ARRAYS = [X, -X, abs(X), -abs(X), X[:2], X[:1], X[:0]]
HALTING = {**RULES, ("C", 1): ("H", 1, 1)}
NAN = float("nan")


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


def in_tuple(x):
    n = 0
    for v in x:
        k = int(v * 5)
        n += (k in (1, 2, 7)) + 2 * (k not in [0, -3]) + 4 * (k in {3, 5, -1}) + 8 * (v in (0.5, 1))
    return n


def in_mixed(x):
    n = 0
    for i, v in enumerate(x):
        k = int(v * 5)
        n += (k in (1, "a", None, 2.0)) + 2 * (k in {1, "a", None}) + 4 * (v > 0 in (True, False))
        n += 8 * ((k, i % 2) in ((1, 0), (2, 1), "ab", (1, 2, 3))) + 16 * (k in (i, 1)) + 32 * (k in ())
    return n


def numbers_or_none(x):
    table, t, n = {3: 1, None: 2, "a": 4}, None, 0
    for i, v in enumerate(x):
        t = 3 if v > 0.6 else None
        n += table.get(t, 0) + 10 * (t in ("a", None)) + 100 * (t in {3, "a"}) + 1000 * ((t, i) in ((None, 1), (3, 2)))
        n += table[t]
    return n, t


def in_nans(x):
    n = 0
    s = NAN
    for v in x:
        n += (v in (NAN, 1.0)) + 2 * (s in (NAN,)) + 4 * (np.float64(NAN) in [NAN])
        s = v if v > 0 else NAN
    return n


def in_keys(x):
    table = {1: "one", 2: "two", -1: "minus"}
    n, last = 0, None
    for v in x:
        k = int(v * 2)
        if k in table:
            n += 1
            last = table[k]
        n += table.get(k, "many") == "many"
        n += len(table.get(k, ""))
    return n, last


def not_there(x):
    table = {0: 1, 1: 2, -1: 3}
    return sum(table[int(v)] for v in x[:50])


def states(x):
    table = {("A", True): ("B", 1), ("A", False): ("A", -1), ("B", True): ("A", 1), ("B", False): ("C", 1)}
    s, p = "A", 0
    for v in x:
        s, d = table.get((s, v > 0), ("A", 0))
        p += d
    return s, p


def turing(x):
    tape, at, s, k = np.zeros(len(x) + 1, dtype=np.int64), len(x) // 2, "A", 0
    while s != "H" and k < 2 * len(x) and 0 <= at < len(tape):
        s, written, move = HALTING[(s, int(tape[at]))]
        tape[at] = written
        at += move
        k += 1
    return tape, k, s


def floats_as_keys(x):
    table = {1.0: 3, True: 4, 2: 5, 0: 6}
    n = 0
    for v in x:
        n += table.get(np.round(v), 0) + table.get(float(int(v)), 0)
    return n


def counted(x):
    d = {}
    for v in x:
        k = "lo" if v < -1 else "mid" if v < 1 else "hi"
        d[k] = d.get(k, 0) + 1
    return d, list(d)


def by_default(x):
    d, c = defaultdict(int), Counter()
    for v in x:
        k = "lo" if v < -1 else "mid" if v < 1 else "hi"
        d[k] += 1
        c[k] += v
    return d, dict(d), c, "lo" in d, len(c)


def enums(x):
    d = {}
    for v in x:
        k = Color.RED if v > 0 else Color.BLUE
        d[k] = d.get(k, 0.0) + v
    return d


def int_enums(x):
    d = {}
    for v in x:
        k = Level.HIGH if v > 0 else Level.LOW
        d[k] = d.get(k, 0) + 1
    return d, d.get(1), d.get(2)


def named_values(x):
    d = {}
    for v in x:
        d[int(abs(v) * 10)] = "hi" if v > 0 else "lo"
    return d, dict(d)


def names_seen(x):
    seen, n = set(), 0
    for v in x:
        k = "up" if v > 0.5 else "down"
        if k in seen:
            n += 1
        seen.add(k)
    return n, len(seen), "up" in seen, "other" in seen


def pairs_as_keys(x):
    d, last = {}, "a"
    for v in x:
        s = "a" if v > 0 else "b" if v > -1 else "c"
        d[(last, s)] = d.get((last, s), 0) + 1
        last = s
    return d


def stack(x):
    st, n = [], 0
    for v in x:
        if v > 0.3:
            st.append("up")
        elif v < -0.3 and st and st[-1] == "up":
            st.pop()
            n += 1
        if v > 2:
            st.append("top")
    return st, n


def queue(x):
    q, n = deque(), 0
    for v in x:
        q.append("a" if v > 0 else None)
        if len(q) > 5:
            n += q.popleft() == "a"
    return n, list(q)


def walked(x):
    d = {}
    for v in x:
        k = "lo" if v < -1 else "mid" if v < 1 else "hi"
        d[k] = d.get(k, 0.0) + v
    t, names = 0.0, []
    for k, v in d.items():
        t += v * len(k)
        names.append(k)
    return t, names


def heap(x):
    h, out = [], []
    for i, v in enumerate(x):
        heapq.heappush(h, (v, "a" if i % 2 else "b"))
    while h:
        v, name = heapq.heappop(h)
        if name == "a":
            out.append(v)
    return out


def ordered(x):
    d = OrderedDict()
    for v in x:
        d["a" if v > 0 else "b"] = v
    return d


def copies(x):
    d = {}
    for i, v in enumerate(x):
        d[int(v * 10)] = i
    e, f = dict(d), d.copy()
    d[999] = 0
    e[998] = 1
    return d, e, f, len(f), dict(f) == f


def copies_of_default(x):
    d = defaultdict(int)
    for v in x:
        d[int(v * 10)] += 1
    e = d.copy()
    e[999] += 1
    return dict(d), e, d


PROGRAMS = [
    in_tuple,
    in_mixed,
    in_nans,
    numbers_or_none,
    in_keys,
    not_there,
    states,
    turing,
    floats_as_keys,
    counted,
    by_default,
    enums,
    int_enums,
    named_values,
    names_seen,
    pairs_as_keys,
    stack,
    queue,
    walked,
    heap,
    ordered,
    copies,
    copies_of_default,
]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("options", [{}, {"checked": True}, {"economy": False, "compile_all": True}], ids=str)
def test_programs(function, options):
    assert_same_calls(function, ARRAYS, 3, **options)


WHOLE = [in_tuple, in_keys, states, turing, counted, named_values, names_seen, stack, walked]


@pytest.mark.parametrize("function", WHOLE, ids=lambda f: f.__name__)
def test_is_compiled(function):
    compiled = fusewire.compile(function, background=False)
    for _ in range(3):
        compiled(X)
    assert fusewire._fusewire.describe(compiled)["breaks"] == []


ONE, OTHER = "idle" + str(1), "idle" + str(int("1"))
FOLLOW = {"idle": "run", ONE: "run", "run": OTHER}
PAIRS = {("idle", True): 1, (ONE, False): 2}


def test_equal_strings_that_are_two():
    def looked_up(x):
        s, k, seen = "run", 0, {}
        for v in x:
            s = FOLLOW.get(s)
            if s == "idle" + str(1):
                k += PAIRS.get((s, v > 0), 3) + 10 * ((s, v > 0) in PAIRS) + 100 * (s in FOLLOW)
        return k, s

    def counted_up(x):
        s, seen, names = "run", {}, set()
        for v in x:
            s = ONE if v > 0.5 else OTHER if v < -0.5 else "run"
            seen[s] = seen.get(s, 0) + 1
            names.add(s)
        return seen, len(names)

    assert ONE is not OTHER
    for function in (looked_up, counted_up):
        for options in ({}, {"economy": False, "compile_all": True}):
            compiled = fusewire.compile(function, background=False, **options)
            for x in ARRAYS:
                assert_same_call(function, compiled, (x,))


def test_tables_of_the_caller():
    def look(x, table, names):
        n, t = 0, 0.0
        for v in x:
            k = int(v * 2)
            n += k in table
            t += table.get(k, 0.0)
            s = "a" if v > 0 else "b"
            t += names[s] if s in names else -1.0
        return n, t

    compiled = fusewire.compile(look, background=False)
    for names in ({"a": 1.0, "b": 2.0}, {"a": 1.0}, {}, {"b": 1, "a": 2.5}):
        for table in ({1: 2.0, 2: 3.0}, {1: 2.0}, {0: 1, 1: 2, -1: 3}, {True: 4.0, "x": 1.0}, {}):
            for x in (X, -X, X[:1]):
                assert_same_call(look, compiled, (x, table, names))


SQUARES = {i * 3: i * 0.5 for i in range(40)}
CELLS = {(i, j): i * 7 + j for i in range(6) for j in range(8)}


def squares(x, table):
    s = 0.0
    for v in x:
        k = int(v * 10)
        if k in table:
            s += table[k]
        s += table.get(k + 1, -1.0) + SQUARES.get(k, 0.25)
    return s


def cells(x, table):
    s = 0
    for i, v in enumerate(x):
        s = (s * 3 + table[int(v * 10) % 6, i % 8]) % 1009
    return s


@pytest.mark.parametrize("function, table", [(squares, SQUARES), (cells, CELLS)])
def test_dicts_with_many_keys(function, table):
    compiled = fusewire.compile(function, background=False)
    assert_same_call(function, compiled, (X, table))
    assert not fusewire._fusewire.describe(compiled)["breaks"]
    for x in (-X, X[:1], X[:0], X, X * 3):
        assert_same_call(function, compiled, (x, table))
    changed = {k: v + 1 for k, v in table.items()}
    for other in (changed, dict(list(table.items())[:20]), {**table, (9, 9): 1}, {}):
        assert_same_call(function, compiled, (X, other))
