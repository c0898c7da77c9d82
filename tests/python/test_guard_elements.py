"""Guards about what deques, tuples of any class, iterators and dicts of any class hold; see test_guards for the module under test."""

from collections import Counter, OrderedDict, defaultdict, deque, namedtuple

import pytest

from test_guards import GuardSet

Point = namedtuple("Point", "x y")


class Swapped(dict):
    def __getitem__(self, key):
        raise AssertionError("guards run no Python code")


def elements(count, keys=None, limit=-1, take=()):
    s = GuardSet()
    x = s.arg(0)
    s.guard("elements", x, object=keys, lo=count, hi=limit)
    for i in take:
        s.object(s.source("element", x, i))
    s.build()
    return s


def test_deques():
    s = elements(2, limit=3, take=(0, 1))
    a, b = object(), object()
    assert s.check(deque([a, b], 3))[1][2] == [a, b]
    for bad in (deque([a, b]), deque([a], 3), deque([a, b], 4), deque([a, b, a], 3), [a, b], (a, b), None):
        assert not s.passes(bad)
    assert "elements" in s.reason(deque([a]))
    long = deque(range(1000))
    long.rotate(300)
    assert elements(1000, take=(0, 64, 999)).check(long)[1][2] == [long[0], long[64], long[999]]


def test_tuples_of_any_class():
    s = elements(2, take=(1,))
    assert s.check(Point(1, "b"))[1][2] == ["b"] and s.check((1, 2))[1][2] == [2]
    assert not s.passes((1,)) and not s.passes([1, 2])


@pytest.mark.parametrize("make", [list, tuple])
def test_items_ahead_of_iterators(make):
    over = make("abcd")
    for taken in range(6):
        it = iter(over)
        for _ in range(taken):
            next(it, None)
        left = over[taken:]
        for count in range(5):
            assert elements(count).passes(it) == (count == len(left))
        ahead = elements(len(left), take=range(len(left)))
        assert ahead.check(it)[1][2] == list(left) and list(it) == list(left)
    beyond = GuardSet()
    beyond.object(beyond.source("element", beyond.arg(0), 1))
    beyond.build()
    assert beyond.passes(iter(over)) and not beyond.passes(iter(make("a"))) and not beyond.passes({1, 2})


@pytest.mark.parametrize("make", [dict, OrderedDict, Counter, Swapped, lambda d: defaultdict(int, d)])
def test_dicts_of_any_class(make):
    keys = ("a", 1, (2, 3))
    d = make(dict.fromkeys(keys, 7))
    s = elements(3, keys)
    x = s.arg(0)
    s.object(s.source("held_item", x, 0, "a"))
    s.object(s.source("held_item", x, 0, (2, 3)))
    s.build()
    dict.__setitem__(d, "a", "held") if type(d) is not OrderedDict else d.__setitem__("a", "held")
    assert s.check(d)[1][2] == ["held", 7]
    assert not s.passes(make(dict.fromkeys(keys[:2], 7))) and not s.passes(make(dict.fromkeys((1, "a", (2, 3)), 7)))
    assert not s.passes(make({"a": 1, 1.0: 2, (2, 3): 3})) and not s.passes(list(keys))


def test_order_of_ordered_dicts():
    d = OrderedDict(a=1, b=2)
    s = elements(2, ("a", "b"))
    assert s.passes(d)
    d.move_to_end("a")
    assert not s.passes(d) and elements(2, ("b", "a")).passes(d)


def test_parts():
    factory = GuardSet()
    factory.object(factory.source("element", factory.arg(0), 0))
    factory.build()
    assert factory.check(defaultdict(list))[1][2] == [list] and factory.check(defaultdict())[1][2] == [None]
    assert not factory.passes({}) and not factory.passes(Counter())
    a, b = iter([1]), iter((2,))
    assert elements(2, take=(0, 1)).check(zip(a, b))[1][2] == [a, b]
    assert elements(3, take=(0, 2)).check(map(max, a, b))[1][2] == [max, b]
    assert elements(2, take=(0, 1)).check(filter(None, a))[1][2] == [None, a]
