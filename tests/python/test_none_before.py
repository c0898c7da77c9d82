"""Variables that are None until a turn of a loop has found something: `best = None`, and in each turn `if best is None
or x[i] < x[best]: best = i`. In each arm of a decision about None it is known which one it is
(src/frame_eval/branching_place.h, Told)."""

import fusewire
import numpy as np
import pytest
from compare import assert_same_call

X = np.random.default_rng(0).normal(size=300)
K = np.random.default_rng(1).integers(0, 5, 300)


def least(x):
    best = None
    for i in range(len(x)):
        if best is None or x[i] < x[best]:
            best = i
    return best


def least_elif(x):
    best = None
    for i in range(len(x)):
        if best is None:
            best = i
        elif x[i] < x[best]:
            best = i
    return best


def least_positive(x):
    best = None
    for i in range(len(x)):
        if x[i] > 0:
            if best is None or x[i] < x[best]:
                best = i
    return best


def least_with_value(x):
    best = None
    bv = None
    for i, v in enumerate(x.tolist()):
        if bv is None or v < bv:
            best = i
            bv = v
    return best, bv


def least_pair(x):
    best = None
    for i, v in enumerate(x.tolist()):
        if best is None or v < best[1]:
            best = (i, v)
    return best


def gaps(x):
    last = None
    g = []
    for i in range(len(x)):
        if x[i] > 0.5:
            if last is not None:
                g.append(i - last)
            last = i
    return g


def cross(x):
    prev = None
    n = 0
    for v in x:
        if prev is not None and prev < 0 <= v:
            n += 1
        prev = v
    return n


def runs(k):
    start = None
    best = (0, 0)
    for i in range(len(k)):
        if k[i] > 1:
            if start is None:
                start = i
        elif start is not None:
            if i - start > best[1] - best[0]:
                best = (start, i)
            start = None
    return best


def two_greatest(x):
    a = b = None
    for v in x:
        if a is None or v > a:
            b = a
            a = v
        elif b is None or v > b:
            b = v
    return a, b


def extremes(x):
    lo = None
    hi = None
    for i in range(len(x)):
        if lo is None or x[i] < x[lo]:
            lo = i
        if hi is None or x[i] > x[hi]:
            hi = i
    return lo, hi, x[lo], x[hi]


class Tracker:
    def __init__(self):
        self.best = None
        self.at = None

    def see(self, i, v):
        if self.best is None or v < self.best:
            self.best = v
            self.at = i


def least_of_object(x):
    t = Tracker()
    for i in range(len(x)):
        t.see(i, x[i])
    return t.best, t.at


def first(x):
    f = None
    for i, v in enumerate(x):
        if f is None and v > 1:
            f = i
    return f


def ring(x):
    out = np.zeros(len(x))
    pv = None
    for i in range(len(x)):
        if pv is None:
            out[i] = x[i]
        else:
            out[i] = 0.9 * pv + 0.1 * x[i]
        pv = out[i]
    return out


def argnone(x):
    b = None
    for i in range(len(x)):
        if x[i] > 10:
            b = i
    return b


def closest_pair(p):
    best = None
    bp = None
    for i in range(len(p)):
        for j in range(i + 1, len(p)):
            d = abs(p[i] - p[j])
            if best is None or d < best:
                best = d
                bp = (i, j)
    return best, bp


def least_product(p):
    b = None
    for i in range(len(p)):
        for j in range(i + 1, len(p)):
            if b is None or p[i] * p[j] < p[b[0]] * p[b[1]]:
                b = (i, j)
    return b


def name(k):
    st = None
    n = 0
    for v in k:
        if st is None or st == "lo" and v > 3:
            st = "hi"
        elif st == "hi" and v < 1:
            st = "lo"
            n += 1
    return st, n


def stepnone(x, thr):
    ref = None
    out = []
    for v in x.tolist():
        if ref is None:
            ref = v
        elif abs(v - ref) > thr:
            out.append(v)
            ref = v
    return out


def none_to_zero(x):
    acc = None
    for v in x:
        acc = v if acc is None else acc + v
    return acc


def none_int(k):
    acc = None
    for v in k.tolist():
        acc = v if acc is None else acc + v
    return acc


def none_reset(k):
    acc = None
    out = []
    for v in k.tolist():
        if v == 0:
            if acc is not None:
                out.append(acc)
            acc = None
        else:
            acc = v if acc is None else acc * v % 7
    return out, acc


def set_before(x, best=None):
    for i in range(len(x)):
        if best is None or x[i] < x[best]:
            best = i
    return best


FLOATS = [
    least,
    least_elif,
    least_positive,
    least_with_value,
    least_pair,
    gaps,
    cross,
    two_greatest,
    extremes,
    least_of_object,
    first,
    ring,
    argnone,
    closest_pair,
    least_product,
]
FLOATS += [none_to_zero, set_before]


def differences(x):
    return stepnone(x, 0.5)


@pytest.mark.parametrize("function", [*FLOATS, differences], ids=lambda f: f.__name__)
def test_floats(function):
    compiled = fusewire.compile(function, background=False)
    for size in (2, 60, 1, 0, 61, 3):
        if size == 0 and function is extremes:
            continue
        for values in (X[:size], np.zeros(size), -np.arange(float(size)), np.full(size, 20.0)):
            assert_same_call(function, compiled, [values], ulp=1)


@pytest.mark.parametrize("function", [runs, name, none_int, none_reset], ids=lambda f: f.__name__)
def test_ints(function):
    compiled = fusewire.compile(function, background=False)
    for size in (2, 60, 1, 0, 61, 3):
        for values in (K[:size], np.zeros(size, int), np.full(size, 4)):
            assert_same_call(function, compiled, [values])


@pytest.mark.parametrize(
    "function",
    [least, least_elif, least_positive, cross, two_greatest, least_of_object, differences],
    ids=lambda f: f.__name__,
)
def test_is_one_region(function):
    compiled = fusewire.compile(function, background=False)
    for _ in range(3):
        compiled(X)
    state = fusewire._fusewire.describe(compiled)
    assert not [b for b in state["breaks"] if b["reason"] != "nothing-to-compile"]
    assert state["variants"]


@pytest.mark.parametrize("begin", [None, 3, None, 0, 3])
def test_what_it_is_before_the_loop_may_differ(begin):
    compiled = fusewire.compile(set_before, background=False)
    for before in (begin, None, 5, begin):
        assert_same_call(set_before, compiled, [X, before])
