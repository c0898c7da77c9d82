"""What array data decides in the methods that stand behind operators and builtins: __bool__, __contains__, __eq__,
__abs__, __float__, __int__, __round__ (src/frame_eval/interpret_protocol.cpp)."""

import math

import fusewire
import numpy as np
import pytest
from compare import assert_same_call

X = np.random.default_rng(3).random(300)


class V:
    def __init__(s, x, y):
        s.x = x
        s.y = y

    def __sub__(a, b):
        return V(a.x - b.x, a.y - b.y)

    def __abs__(s):
        return math.hypot(s.x, s.y)

    def __neg__(s):
        return V(-s.x, -s.y)

    def __float__(s):
        return float(s.x)

    def __int__(s):
        return int(s.x * 10)

    def __round__(s, n=None):
        return round(float(s.x * 10))

    def __matmul__(a, b):
        return a.x * b.x + a.y * b.y

    def __mul__(a, k):
        return V(a.x * k, a.y * k)

    def __rmul__(a, k):
        return a * k

    def __iadd__(a, b):
        a.x += b.x
        a.y += b.y
        return a

    def __iter__(s):
        yield s.x
        yield s.y

    def __getitem__(s, i):
        return (s.x, s.y)[i]

    def __len__(s):
        return 2

    def __lt__(a, b):
        return a.x < b.x

    def __eq__(a, b):
        return a.x == b.x

    def __bool__(s):
        return bool(s.x > 0.5)

    def __call__(s, k):
        return s.x * k


def o_abs(x):
    t = 0.0
    for i in range(len(x) - 1):
        t += abs(V(x[i], 0.5) - V(x[i + 1], 0.2))
    return t


def o_neg(x):
    t = 0.0
    for v in x:
        t += (-V(v, 1.0)).x
    return t


def o_float(x):
    t = 0.0
    for v in x:
        t += float(V(v, 1.0))
    return t


def o_int(x):
    t = 0
    for v in x:
        t += int(V(v, 1.0))
    return t


def o_round(x):
    t = 0
    for v in x:
        t += round(V(v, 1.0))
    return t


def o_mat(x):
    t = 0.0
    for v in x:
        t += V(v, 1.0) @ V(1.0, v)
    return t


def o_mul(x):
    t = 0.0
    for v in x:
        t += (2 * V(v, 1.0) * 3).y
    return t


def o_iadd(x):
    a = V(0.0, 0.0)
    for v in x:
        a += V(v, 1.0)
    return a.x, a.y


def o_iter(x):
    t = 0.0
    for v in x:
        p, q = V(v, 1.0)
        t += p * q
    return t


def o_item(x):
    t = 0.0
    for v in x:
        p = V(v, 1.0)
        t += p[0] * p[1] + len(p)
    return t


def o_lt(x):
    b = V(2.0, 0.0)
    for v in x:
        c = V(v, 1.0)
        if c < b:
            b = c
    return b.x


def o_min(x):
    return min(V(x[i], 0.0) for i in range(len(x))).x


def o_bool(x):
    t = 0
    for v in x:
        if V(v, 1.0):
            t += 1
    return t


def o_call(x):
    f = V(2.0, 1.0)
    t = 0.0
    for v in x:
        t += f(v)
    return t


def o_ge(x):
    t = 0
    for v in x:
        if V(v, 1.0) > V(0.5, 0.0):
            t += 1
        if V(v, 0.0) != V(0.5, 0.0):
            t += 1
    return t


class W:
    def __init__(s, x):
        s.x = x

    def __lt__(a, b):
        return a.x < b.x

    def __eq__(a, b):
        return a.x == b.x

    def __le__(a, b):
        return a.x <= b.x

    def __bool__(s):
        return bool(s.x > 0.5)

    def __contains__(s, v):
        return v < s.x

    def __hash__(s):
        return 1


def lt(x):
    t = 0
    for v in x:
        if W(v) < W(0.5):
            t += 1
    return t


def gt(x):
    t = 0
    for v in x:
        if W(v) > W(0.5):
            t += 1
    return t


def ne(x):
    t = 0
    for v in x:
        if W(v) != W(0.5):
            t += 1
    return t


def eq(x):
    t = 0
    for v in x:
        if W(v) == W(0.5):
            t += 1
    return t


def isin(x):
    t = 0
    for v in x:
        if 0.5 in W(v):
            t += 1
    return t


def notb(x):
    t = 0
    for v in x:
        if not W(v):
            t += 1
    return t


def tern(x):
    t = 0
    for v in x:
        t += 1 if W(v) else 2
    return t


def andb(x):
    t = 0
    for v in x:
        if W(v) and v < 0.7:
            t += 1
    return t


def whileb(x):
    w = W(9.0)
    n = 0
    for v in x:
        w = W(1.0 + v)
        while w:
            w.x -= 0.3
            n += 1
    return n


def boolof(x):
    t = 0
    for v in x:
        t += bool(W(v))
    return t


class Wrong:
    def __init__(self, x):
        self.x = x

    def __bool__(self):
        return self.x > 0.5

    def __float__(self):
        return self.x

    def __int__(self):
        return self.x

    def __abs__(self):
        return "a"


def wrong_bool(x):
    t = 0
    for v in x:
        if Wrong(v):
            t += 1
    return t


def wrong_float(x):
    t = 0.0
    for v in x:
        t += float(Wrong(v))
    return t


def wrong_int(x):
    t = 0
    for v in x:
        t += int(Wrong(v))
    return t


def text_of_abs(x):
    return [abs(Wrong(v)) for v in x]


class Counts:
    def __init__(self, x):
        self.x, self.asked = x, 0

    def __bool__(self):
        self.asked += 1
        return bool(self.x > 0.5)


def asked_once(x):
    c, n = Counts(0.0), 0
    for v in x:
        c.x = v
        if c:
            n += 1
        if not c:
            n += 2
        n += 3 if c else 4
        n += bool(c)
    return n, c.asked


FUNCTIONS = [
    o_abs,
    o_neg,
    o_float,
    o_int,
    o_round,
    o_mat,
    o_mul,
    o_iadd,
    o_iter,
    o_item,
    o_bool,
    o_call,
    o_ge,
    lt,
    gt,
    ne,
    eq,
    isin,
    notb,
    tern,
    andb,
    whileb,
    boolof,
    asked_once,
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_protocols(function):
    compiled = fusewire.compile(function, background=False)
    ulp = 8 if function is o_abs else None  # math.hypot
    for _ in range(3):
        assert_same_call(function, compiled, (X,), ulp=ulp)
    assert not fusewire._fusewire.describe(compiled)["breaks"]
    for x in (X[::-1], X[:2], X[:1], X[:0], np.full(5, 0.5), X.astype("f4")):
        assert_same_call(function, compiled, (x,), ulp=ulp)


@pytest.mark.parametrize(
    "function", [wrong_bool, wrong_float, wrong_int, text_of_abs, o_lt, o_min], ids=lambda f: f.__name__
)
def test_others(function):
    compiled = fusewire.compile(function, economy=False, background=False)
    for x in (X, X[:2], X[:0], X.astype(complex)):
        for _ in range(2):
            assert_same_call(function, compiled, (x,))
