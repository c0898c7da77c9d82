"""Generator expressions that builtins consume: any, all, next, sum, min and max of them, as loops."""
import numpy as np
import pytest

import fusewire
from fusewire import _fusewire
from compare import assert_same_call


def sum_of_some(x):
    return sum(v for v in x if v > 0.5)


def sum_of_all(x):
    return sum(x[i] * x[-1 - i] for i in range(len(x)))


def sum_from(x):
    return sum((v for v in x if v > 0.5), 2.5), sum((1 for v in x), start=3)


def sum_of_floats(x):
    return sum(float(v) for v in x if v > 0.5)


def counted(x):
    return sum(1 for v in x if v > 0.5), sum(v > 0.5 for v in x)


def least(x):
    return min(v for v in x if v > 0.5)


def greatest(x):
    return max(v * v for v in x)


def greatest_or(x):
    return max((v for v in x if v > 0.5), default=-1.0), min((i for i, v in enumerate(x) if v > 0.9), default=None)


def closest(x):
    return min(abs(x[i] - x[j]) for i in range(len(x)) for j in range(i))


def some(x):
    return any(v > 0.99 for v in x), any(x[i] > x[i + 1] for i in range(len(x) - 1))


def every(x):
    return all(v > 0.01 for v in x[:-1]), all(a <= b for a, b in zip(x, x[1:]))


def some_pair(x):
    return any(x[i] == x[j] for i in range(len(x)) for j in range(i))


def first(x):
    return next(i for i, v in enumerate(x) if v > 0.5)


def first_or(x):
    return next((v for v in x if v > 0.9), 0.0), next((i for i in range(len(x)) if x[i] > 2), None)


def within_a_loop(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        if any(x[j] > 0.9 for j in range(i)):
            out[i] = sum(x[j] for j in range(i) if x[j] > x[i])
        else:
            out[i] = max((x[j] for j in range(i)), default=0.0)
    return out


PROGRAMS = [sum_of_some, sum_of_all, sum_from, sum_of_floats, counted, least, greatest, greatest_or, closest, some, every,
            some_pair, first, first_or, within_a_loop]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_as_python(program):
    compiled = fusewire.compile(program, economy=False)
    for n in (100, 0, 1, 2, 3, 70, 200, 100):
        for dtype in ("d", "f", "l"):
            x = (np.random.default_rng(n).random(n) * (3 if dtype == "l" else 1)).astype(dtype)
            assert_same_call(program, compiled, (x,))
            assert_same_call(program, compiled, (np.sort(x),))
            if dtype == "d" and n > 1:
                x[n // 2] = np.nan
                assert_same_call(program, compiled, (x,))
            assert_same_call(program, compiled, (np.zeros_like(x),))
            assert_same_call(program, compiled, (np.full_like(x, 2),))
            assert_same_call(program, compiled, (x.tolist(),))


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p is not sum_of_floats], ids=lambda f: f.__name__)
def test_they_are_loops_of_the_graph(program):
    compiled = fusewire.compile(program, fullgraph=True)
    for n in (100, 300, 150):
        assert_same_call(program, compiled, (np.random.default_rng(n).random(n),))
    assert len(_fusewire.describe(compiled)["variants"]) <= 3


# ---- what stays Python's, or is taken item by item

def held(x):
    g = (v for v in x if v > 0.5)
    a = next(g)
    return a, any(v > 0.9 for v in x), any(g), list(g)


def held_and_exhausted(x):
    g = (v for v in x if v > 0.5)
    return sum(g), sum(g), list(g)


def acts(x, log):
    def note(v):
        log.append(v)
        return v > 0.5
    return any(note(v) for v in x), len(log)


def raises_later(x):
    return any(1 // int(v) > 0 for v in x)


def compares_tuples(x):
    return min((v, i) for i, v in enumerate(x)), max((i for i, v in enumerate(x)), key=lambda i: x[i])


def of_arrays(x):
    return sum(x * i for i in range(3)), max((x[i:].sum() for i in range(3)))


def of_objects(x):
    return (any(isinstance(v, float) for v in (1, 2.0, x)), all(v is not None for v in (1, x)), sum([[1], [2]], []),
            "".join(c for c in "abc" if c != "b"), min(s for s in ("b", "a")), next((s for s in ("b", "a")), 0),
            max((s for s in ()), default="none"), min((None for _ in range(1))))


def of_nothing(x):
    return next(v for v in x[:0])


def least_of_nothing(x):
    return min(v for v in x[:0] if v > 0)


def nones(x):
    return max(None for _ in range(2))


def caught(x):
    try:
        return next(v for v in x if v > 5)
    except StopIteration:
        return -1.0


OTHERS = [held, held_and_exhausted, raises_later, compares_tuples, of_arrays, of_objects, of_nothing, least_of_nothing,
          nones, caught]


@pytest.mark.parametrize("program", OTHERS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", [4, 100])
def test_others(program, n):
    compiled = fusewire.compile(program, economy=False)
    for k in range(3):
        x = np.random.default_rng(n + k).random(n) * 2
        assert_same_call(program, compiled, (x,))
        assert_same_call(program, compiled, (np.sort(x),))


@pytest.mark.parametrize("n", [4, 100])
def test_what_items_do_happens_as_often(n):
    compiled = fusewire.compile(acts, economy=False)
    for k in range(3):
        assert_same_call(acts, compiled, (np.random.default_rng(n + k).random(n) * 0.6, []))


# ---- by a key, and what is left behind the first item

def place_of_the_greatest(x):
    return max(range(len(x)), key=lambda i: x[i])


def least_pair(x):
    return min(enumerate(x), key=lambda pair: pair[1])


def closest_to(x):
    return min(x, key=lambda v: abs(v - 0.5)), max(zip(x, x[1:]), key=lambda pair: pair[0] * pair[1])


def closest_of_each(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = min(range(len(x)), key=lambda j: abs(x[j] - 0.3 * i))
    return out


def behind_the_first(x):
    it = iter(x)
    last = next(it)
    s = 0.0
    for v in it:
        s += abs(v - last)
        last = v
    return s, next(it, None)


@pytest.mark.parametrize("program", [place_of_the_greatest, least_pair, closest_to, closest_of_each, behind_the_first],
                         ids=lambda f: f.__name__)
def test_by_a_key(program):
    compiled = fusewire.compile(program, economy=False)
    for n in (100, 70, 200, 1, 2, 3, 0, 100):
        x = np.random.default_rng(n).random(n)
        for given in (x, np.round(x, 1), np.zeros(n), np.where(x > 0.8, np.nan, x), x.astype("f")):
            assert_same_call(program, compiled, (given,))
    whole = fusewire.compile(program, fullgraph=True)
    for n in (100, 300):
        assert_same_call(program, whole, (np.random.default_rng(n).random(n),))
