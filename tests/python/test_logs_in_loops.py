"""Lists of the caller's that loops append to: histories of objects, lists given as arguments, globals."""

from __future__ import annotations

import numpy as np
import pytest

import fusewire
from compare import assert_same_call, assert_same_outcome, run


class Body:
    def __init__(self):
        self.x, self.v, self.history, self.events, self.log = 0.5, 1.0, [], ["made"], {"x": []}

    def step(self, a):
        self.v += -self.x * 0.1 + a * 0.01
        self.x += self.v * 0.1
        self.history.append(self.x)


COMMON = []


def every_turn(body, a):
    for i in range(len(a)):
        body.history.append(a[i] * 2)


def by_a_method(body, a):
    for v in a:
        body.step(v)


def pairs(body, a):
    for i in range(len(a)):
        body.x = body.x * 0.5 + a[i]
        body.history.append((i, body.x))


def some_turns(body, a):
    for i in range(len(a)):
        if a[i] > 0.5:
            body.history.append(a[i])
            body.events.append(i)


def until(body, a):
    i = 0
    while i < len(a) and a[i] < 0.98:
        body.history.append(float(a[i]))
        i += 1
    return i


def of_arrays(body, a):
    x = np.ones(12)
    while x.max() > 1e-3:
        x = x * 0.9
        body.history.append(x.sum())
        body.events.append(x.copy())


def counted_behind(body, a):
    for i in range(len(a)):
        body.history.append(a[i])
    return len(body.history)


def read_behind(body, a):
    for i in range(len(a)):
        body.history.append(a[i])
    return body.history[-1], sum(body.history)


def read_inside(body, a):
    body.history.append(0.0)
    for i in range(len(a)):
        body.history.append(body.history[-1] * 0.5 + a[i])


def counted_inside(body, a):
    for i in range(len(a)):
        if len(body.history) < 20:
            body.history.append(a[i])


def around(body, a):
    body.history.append("begin")
    body.history.append(a.sum())
    for i in range(len(a)):
        body.history.append(a[i])
    body.history.append("end")
    for i in range(len(a)):
        body.history.append(-a[i])
    body.history.extend(["so", "on"])


def two_loops_deep(body, a):
    for i in range(12):
        for k in range(len(a)):
            body.history.append(a[k] * i)
        body.events.append(i)


def in_a_dict(body, a):
    for i in range(len(a)):
        body.log["x"].append(a[i])


def common(body, a):
    for i in range(len(a)):
        COMMON.append(a[i] + 1)
    return len(COMMON)


def texts(body, a):
    for i in range(len(a)):
        body.events.append("turn")
        body.history.append(a[i])


def popped(body, a):
    for i in range(len(a)):
        body.history.append(a[i])
    return body.history.pop()


def cleared(body, a):
    for i in range(len(a)):
        body.history.append(a[i])
    body.history.clear()
    body.history.append(1.0)


def walked(body, a):
    body.history.append(a[0])
    for v in body.history:
        if len(body.history) > 90:
            break
        body.history.append(v * 0.5)


def printed(body, a):
    for i in range(len(a)):
        body.history.append(a[i])
    str(object)
    for i in range(len(a)):
        body.history.append(-a[i])


def too_far(body, a):
    for i in range(len(a) + (a[0] > 0.9)):
        body.history.append(a[i])


def returning(body, a):
    for i in range(len(a)):
        body.history.append(a[i])
        if a[i] > 0.97:
            return i
    return -1


def extended(body, a):
    for i in range(len(a)):
        body.history.extend([a[i], a[i] * 2])
        body.events += [i]


FORMS = [every_turn, by_a_method, pairs, some_turns, until, of_arrays, counted_behind, read_behind, read_inside, counted_inside, around, two_loops_deep,
         in_a_dict, common, texts, popped, cleared, walked, printed, too_far, returning, extended]
WHOLE = [every_turn, by_a_method, pairs, some_turns, until, counted_behind, two_loops_deep, common]


def state(body):
    return dict(vars(body))


def inputs():
    for n in (80, 81, 120, 80, 5, 1, 70, 200):
        yield np.random.default_rng(n).random(n)
    yield np.concatenate([[0.95], np.full(80, 0.25)])


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_what_is_appended(form):
    compiled = fusewire.compile(form, background=False, economy=False)
    one, other = Body(), Body()
    for a in inputs():
        COMMON.clear()
        expected = run(lambda x: form(one, x), (a,))
        common = COMMON[:]
        COMMON.clear()
        actual = run(lambda x: compiled(other, x), (a,))
        assert common == COMMON
        assert_same_outcome(expected, actual)
        assert_same_outcome(run(lambda: state(one), ()), run(lambda: state(other), ()))


@pytest.mark.parametrize("form", WHOLE, ids=lambda form: form.__name__)
def test_one_variant_serves_all_lengths(form):
    compiled = fusewire.compile(form, background=False, economy=False, fullgraph=True)
    body = Body()
    for n in (100, 150, 200, 250):
        compiled(body, np.random.default_rng(n).random(n))
    assert len(fusewire._fusewire.describe(compiled)["variants"]) <= 2   # numbers of the object are NumPy's behind the first call


def both(first, second, a):
    for i in range(len(a)):
        first.append(a[i])
        second.append(-a[i])


def test_lists_that_are_one():
    compiled = fusewire.compile(both, background=False, economy=False)
    a = np.arange(90.0)
    for order in ((0, 1), (0, 0), (1, 0), (1, 1), (0, 1)):
        lists, others = [[1], [2]], [[1], [2]]
        for _ in range(2):
            both(lists[order[0]], lists[order[1]], a)
            compiled(others[order[0]], others[order[1]], a)
        assert lists == others


def test_lists_of_other_classes():
    class Own(list):
        def append(self, item):
            super().append(item * 10)

    compiled = fusewire.compile(both, background=False, economy=False)
    a = np.arange(90.0)
    for make in (list, Own, list):
        expected, actual = (make(), make()), (make(), make())
        both(*expected, a)
        compiled(*actual, a)
        assert [list(v) for v in expected] == [list(v) for v in actual]


def test_one_list_under_two_names():
    def appended(body, a):
        for i in range(len(a)):
            body.history.append(a[i])
            body.events.append(i)

    compiled = fusewire.compile(appended, background=False, economy=False)
    for same in (False, True, False, True):
        one, other = Body(), Body()
        if same:
            one.events, other.events = one.history, other.history
        for n in (90, 100):
            appended(one, np.arange(n) * 0.5)
            compiled(other, np.arange(n) * 0.5)
        assert one.history == other.history and one.events == other.events


def test_nothing_is_appended_where_the_call_fails():
    def fails(log, a, b):
        for i in range(len(a)):
            log.append(a[i] / b[i])
        return a + b[:3]

    compiled = fusewire.compile(fails, background=False, economy=False)
    for n in (90, 91):
        one, other = [], []
        for function, log in ((fails, one), (compiled, other)):
            with pytest.raises(ValueError):
                function(log, np.arange(n) + 1.0, np.arange(n) + 2.0)
        assert one == other and len(one) == n   # Python has run it


def test_the_length_behind_turns_by_themselves():
    """What the first turns have appended counts in the length that later ones ask for."""

    def counted(x, n, kept):
        k, s = 0, 0.0
        for i in range(n):
            if i % 2 == 1:
                kept.append(k)
            k = len(kept)
            s += x[i]
        return k, s

    compiled = fusewire.compile(counted, economy=False)
    for n in (71, 6, 2, 1, 0, 70):
        for kept in ([1, "a"], []):
            x = np.random.default_rng(n).random(n)
            assert_same_call(counted, compiled, (x, n, kept))
