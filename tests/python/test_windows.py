"""What a sliding window or another queue of numbers becomes where somebody asks for all of it: np.mean(window),
np.array(window), sorted(window), slices (src/frame_eval/work_list.cpp, Collections::fromQueue)."""

from collections import deque

import fusewire
import numpy as np
import pytest
from compare import assert_same_call

X = np.random.default_rng(3).random(300)


def ints(x):
    t = []
    out = []
    for i, v in enumerate(x):
        t.append(i)
        if len(t) > 5:
            t.pop(0)
        out.append(np.mean(t))
    return out


def mixed(x):
    t = [0]
    out = []
    for i, v in enumerate(x):
        t.append(v)
        if len(t) > 5:
            t.pop(0)
        out.append(np.sum(t))
    return out


def pairs(x):
    t = []
    out = []
    for i, v in enumerate(x):
        t.append((i, v))
        if len(t) > 5:
            t.pop(0)
        out.append(np.array(t)[:, 1].sum())
    return out


def kept(x):
    t = []
    keep = []
    for i, v in enumerate(x):
        t.append(v)
        if len(t) > 5:
            t.pop(0)
        if i % 50 == 3:
            keep.append(np.array(t))
    return keep


def std(x):
    d = deque(maxlen=10)
    s = 0.0
    n = 0
    for v in x:
        d.append(v)
        if len(d) == 10 and v > np.mean(d) + np.std(d):
            n += 1
    return n


def slices(x):
    t = []
    s = 0.0
    for v in x:
        t.append(v)
        if len(t) > 9:
            t.pop(0)
        s += sum(t[-3:]) - sum(t[:2]) + len(t[1:-1])
        u = t[:]
        u.append(1.0)
        s += len(u)
    return s, len(t)


def grows(x):
    q = deque([1.0])
    s = 0.0
    for v in x:
        if v > 0.3:
            q.append(v)
            q.append(v / 2)
        elif q:
            s += q.popleft()
        s += np.max(q) if q else 0.0
    return s, len(q)


def sortedq(x):
    q = deque(maxlen=7)
    out = []
    for v in x:
        q.append(v)
        a = sorted(q)
        a.append(2.0)
        out.append(a[len(a) // 2])
    return out, len(q)


def alias(x):
    t = []
    out = 0.0
    for v in x:
        t.append(v)
        if len(t) > 5:
            t.pop(0)
        a = np.array(t)
        a[0] = 99.0
        out += t[0] + a.sum()
    return out


def fresh(x):
    out = []
    for i in range(3):
        t = []
        for v in x:
            t.append(v)
            if len(t) > 4:
                t.pop(0)
        out.append(np.mean(t) if t else 0.0)
    return out


def whole(window, ask):
    """A function that asks for the window in each turn."""
    begin = {"list": "[]", "deque": "deque()", "maxlen": "deque(maxlen=8)"}[window]
    shorten = {"list": "if len(t) > 8: t.pop(0)", "deque": "if len(t) > 8: t.popleft()", "maxlen": "pass"}[window]
    scope = {"deque": deque, "np": np}
    exec(
        f"def f(x):\n    t, out = {begin}, []\n    for v in x:\n        t.append(v)\n        {shorten}\n        out.append({ask})\n    return out",
        scope,
    )
    return scope["f"]


ASKED = [
    "np.mean(t)",
    "np.array(t).std()",
    "sorted(t)[len(t) // 2]",
    "np.max(t) - np.min(t)",
    "sum(t) / len(t)",
    "max(t)",
    "t[-1] - t[0]",
    "v in t",
]
OTHERS = [mixed, pairs, kept, slices, sortedq]


@pytest.mark.parametrize("ask", ASKED)
@pytest.mark.parametrize("window", ["list", "deque", "maxlen"])
def test_windows(window, ask):
    function = whole(window, ask)
    compiled = fusewire.compile(function, background=False)
    for _ in range(3):
        assert_same_call(function, compiled, (X,))
    assert not fusewire._fusewire.describe(compiled)["breaks"]
    for x in (X[::-1], X[:9], X[:8], X[:1], X[:0], np.full(20, 0.5)):
        assert_same_call(function, compiled, (x,))


@pytest.mark.parametrize("function", [ints, std, grows, alias, fresh, *OTHERS], ids=lambda f: f.__name__)
def test_queues(function):
    compiled = fusewire.compile(function, background=False)
    for _ in range(3):
        assert_same_call(function, compiled, (X,))
    if function not in OTHERS:
        assert not fusewire._fusewire.describe(compiled)["breaks"]
    for x in (X[::-1], X[:6], X[:1], X[:0], np.full(20, 0.5)):
        assert_same_call(function, compiled, (x,))
