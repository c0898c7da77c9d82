"""Loops over ranges and iterators that nobody knows in advance: what they walk, and where they are behind the loop."""
import numpy as np
import pytest

import fusewire
from fusewire import _fusewire
from compare import assert_same_call


def enumerated_pairs(x, y, k):
    s = 0.0
    for i, (a, b) in enumerate(zip(x, y)):
        s += i * a - b
    return s


def zip_of_enumerated(x, y, k):
    s = 0.0
    for (i, a), b in zip(enumerate(x, k), reversed(y)):
        s += i * a - b
    return s


def backwards(x, y, k):
    s = 0.0
    for i in reversed(range(len(x))):
        s = s * 0.5 + x[i]
    return s


def backwards_by_steps(x, y, k):
    s = 0.0
    for i in reversed(range(1, len(x), 3)):
        s = s * 0.5 + x[i] * i
    return s


def counted_range(x, y, k):
    s = 0.0
    for n, i in enumerate(range(0, len(x), 2)):
        s += n * x[i]
    return s


def zipped_range(x, y, k):
    s = 0.0
    for i, a in zip(range(len(x)), y):
        s += x[i] * a * i
    return s


def steps(x, y, k):
    s = 0.0
    for i in range(0, len(x), k):
        s += x[i]
    for i in range(len(x) - 1, -1, -k):
        s -= 0.5 * x[i] * i
    return s


def kept_range(x, y, k):
    r = range(len(x))
    s = 0.0
    for i in r:
        s += x[i]
    for i in r:
        s -= 0.5 * y[i]
    return s, len(r), r


def returned_range(x, y, k):
    return x + 1, range(k, 2 * len(x) - 1, 2)


def triangle(x, y, k):
    s = 0.0
    for i in range(len(x)):
        for j in reversed(range(i)):
            s = s * 0.75 + x[j] * y[i]
    return s


ONE_LOOP = [enumerated_pairs, zip_of_enumerated, backwards, backwards_by_steps, counted_range, zipped_range, steps, triangle]


@pytest.mark.parametrize("function", ONE_LOOP, ids=lambda f: f.__name__)
def test_one_loop(function):
    compiled = fusewire.compile(function, fullgraph=True)
    for n in (70, 500, 71, 70):
        x = np.random.default_rng(n).random(n)
        for k in (3, 7):
            assert_same_call(function, compiled, (x, x[::-1] - 0.25, k))


@pytest.mark.parametrize("function", [*ONE_LOOP, kept_range, returned_range], ids=lambda f: f.__name__)
def test_sizes(function):
    compiled = fusewire.compile(function)
    for n in (0, 1, 2, 5, 100, 3):
        x = np.random.default_rng(n).random(n)
        for k in (1, 2, 200):
            assert_same_call(function, compiled, (x, x[::-1] - 0.25, k))


def rest_of_an_array(x, limit):
    it = iter(x)
    s = 0.0
    for v in it:
        s += v
        if v > limit:
            break
    return s, next(it, -1.0)


def rest_of_enumerate(x, limit):
    it = enumerate(x)
    s = 0.0
    for _, v in it:
        s += v
        if v > limit:
            break
    return s, list(it)[:2]


def rest_of_what_was_zipped(x, limit):
    it = iter(range(len(x)))
    s = 0.0
    for i, v in zip(it, x):
        s += v * i
        if v > limit:
            break
    for i in it:
        s -= x[i]
    return s


def used_up(x, limit):
    it = iter(x)
    s = 0.0
    for v in it:
        s += v
    for v in it:
        s += 1000.0
    return s, next(it, -1.0)


def used_up_inside(x, limit):
    it = iter(x)
    s = 0.0
    for k in range(100):
        for v in it:
            s += v
        s *= 0.5
    return s


def twice_the_same(x, limit):
    it = iter(x)
    s = 0.0
    for a, b in zip(it, it):
        s = s * 0.5 + a - b
    return s


@pytest.mark.parametrize("limit", [0.25, 0.97, 2.0])
@pytest.mark.parametrize("function", [rest_of_an_array, rest_of_enumerate, rest_of_what_was_zipped, used_up, used_up_inside, twice_the_same], ids=lambda f: f.__name__)
def test_where_an_iterator_is_behind_the_loop(function, limit):
    """A loop that is left from inside has taken as many items as it had turns: who goes on with the iterator finds the rest."""
    compiled = fusewire.compile(function)
    for n in (100, 71, 3, 0):
        for seed in range(3):
            assert_same_call(function, compiled, (np.random.default_rng(seed).random(n), limit))


# ---- what an iterator asks for an item runs code with branches of its own

def changed(x, flags):
    for i, flag in enumerate(flags):
        y, z = np.copy(x), np.copy(x)
        if flag:
            y[i] = x[i] * 2
            z[i] = x[i] * 3
        else:
            y[i] = x[i] - 1
        yield y
        yield z


def of_map(x, flags):
    items = map(lambda y: y.sum() * 2, changed(x, flags))
    return [next(items) for _ in range(4)]


def of_enumerate(x, flags):
    items = enumerate(changed(x, flags), 5)
    return next(items), next(items), next(items), next(items)


def of_zip(x, flags):
    items = zip(changed(x, flags), range(10), changed(x + 1, flags))
    return next(items), next(items), next(items)


def of_filter(x, flags):
    items = filter(lambda y: y.shape[0] == 3, changed(x, flags))
    return next(items) + next(items), next(items)


def of_enumerated_map(x, flags):
    total = 0.0
    items = enumerate(map(np.sin, changed(x, flags)))
    for _ in range(5):
        i, y = next(items)
        total = total + i * y.sum()
    return total


def of_itself(x, flags):
    items = map(lambda y: next(items), changed(x, flags))
    try:
        return next(items)
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize("function", (of_map, of_enumerate, of_zip, of_filter, of_enumerated_map, of_itself), ids=lambda f: f.__name__)
def test_branches_on_data_inside_of_next(function):
    compiled = fusewire.compile(function, economy=False)
    for flags in ([True, False, True], [False, False, False], [True, True, True], [False, True, False]):
        for scale in (1.0, 0.1):
            assert_same_call(function, compiled, (np.array([0.3, 0.6, 0.9]) * scale, np.array(flags)))
    breaks = _fusewire.describe(compiled)["breaks"]
    assert not [b for b in breaks if b["class"] == "bug"], breaks


# ---- what stands in front of a loop is compiled with it

def total_as_text(x):
    s = 0.0
    for v in x:
        s += v * v / (v + 2)
    return str(s)


def totals_by_weight(x):
    totals = {}
    for w in [0.1, 0.5, 2.0]:
        s = 0.0
        for v in x:
            s += v * v / (v + w)
        totals[w] = s
    return min(totals, key=totals.get), totals


@pytest.mark.parametrize("program", [total_as_text, totals_by_weight], ids=lambda f: f.__name__)
def test_a_loop_that_begins_a_function_is_compiled_in_front_of_a_break(program):
    compiled = fusewire.compile(program, economy=False)
    for n in (100, 300, 2, 70):
        assert_same_call(program, compiled, (np.random.default_rng(n).random(n),))
    found = _fusewire.describe(compiled)
    assert found["partly_calls"] == 4 and found["regions"][0]["variants"]


# ---- ranges that exist outside

def sum_over(r, x):
    s = 0.0
    for i in r:
        s += x[i]
    return s


def crossed(r, x):
    a = x.copy()
    for i, j in zip(r, reversed(r)):
        a[i] += x[j]
    return a, r.step


def looked_into(r, x):
    return x + len(r), r, r[1:], r.start, 3 in r, bool(r), list(r)[-2:]


RANGES = [range(200), range(3), range(4, 100, 3), range(50, 2, -1), range(1, 5), range(290, 310), range(5, 2),
          range(2 ** 70, 2 ** 70 + 2)]


@pytest.mark.parametrize("program", [sum_over, crossed, looked_into], ids=lambda f: f.__name__)
def test_ranges_of_the_caller(program):
    compiled = fusewire.compile(program, economy=False)
    for r in RANGES + RANGES[::-1]:
        assert_same_call(program, compiled, (r, np.random.default_rng(0).random(300)))
    kept = range(9)
    assert fusewire.compile(looked_into)(kept, np.ones(3))[1] is kept


def test_one_variant_serves_ranges_that_are_walked():
    compiled = fusewire.compile(sum_over, fullgraph=True)
    x = np.random.default_rng(0).random(300)
    for r in RANGES[:5]:
        assert compiled(r, x) == sum_over(r, x)
    assert len(_fusewire.describe(compiled)["variants"]) <= 2
