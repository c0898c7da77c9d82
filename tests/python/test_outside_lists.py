"""Lists of the caller's, of numbers or of lists of numbers, of which loops ask for items: copied into arrays by each call."""

from __future__ import annotations

import copy
import random

import numpy as np
import pytest

import fusewire
from compare import assert_same_call


def squares(x, n):
    total = 0.0
    for v in x:
        total += v * v
    return total


def neighbours(x, n):
    total = 0
    for i in range(1, len(x)):
        total += x[i] * x[i - 1]
    return total


def from_both_ends(x, n):
    worst = 0
    for i in range(len(x) // 2):
        worst = max(worst, abs(x[i] - x[-1 - i]))
    return worst


def pairs(x, n):
    total = 0
    for i, a in enumerate(x):
        for b in x[: 3]:
            total += a * b if i % 2 else a
    return total


def zipped(x, n):
    y = [0.5 * v for v in x]
    return sum(a * b for a, b in zip(x, y)), y


def filled(x, n):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    return out


def searched(x, n):
    for i in range(len(x)):
        if x[i] > 0.9:
            return i, x[i]
    return None


def to_array(x, n):
    total = np.zeros(len(x))
    for i in range(len(x)):
        total[i] = x[i] / 3
    return total, np.array(x)


def made_an_array(x, n):
    a = np.array(x)
    return np.sqrt(np.abs(a)).sum(), a.dtype, np.asarray(x) * 2, np.mean(x)


def given_to_the_library(x, n):
    y = []
    for v in x:
        y.append(v * 0.5)
    return np.percentile(x, 50), np.dot(x, y), np.argsort(x), np.median(y), np.cumsum(x), np.sort(y), np.outer(x, x[:2])[0, 0]


def itself(x, n):
    total = 0
    for i in range(len(x)):
        total += x[i]
    return x, total, x is x, len(x)


def too_far(x, n):
    total = 0
    for i in range(len(x) + 1):
        total += x[i]
    return total


def written(x, n):
    for i in range(1, len(x)):
        x[i] = x[i] + x[i - 1]
    return x


def appended(x, n):
    for i in range(n):
        x.append(x[i % len(x)])
    return len(x)


def changed_before(x, n):
    x.append(x[0])
    x[1] = x[0]
    total = 0
    for i in range(len(x)):
        total += x[i] * i
    return total


def changed_behind(x, n):
    total = 0
    for i in range(len(x)):
        total += x[i] * i
    x.append(total)
    x[0] = total
    return x[-1] + x[0]


def sorted_in_place(x, n):
    count = 0
    for i in range(min(len(x), 60)):
        for j in range(min(len(x), 60) - 1 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
                count += 1
    return count


def written_in_a_branch(x, n):
    last = None
    for i in range(len(x)):
        if x[i] > 0:
            x[i] -= x[i // 2]
        elif i % 3:
            x[-1 - i] = x[i]
    last = x[0]
    return last, x


def written_to_itself(x, n):
    for i in range(len(x)):
        x[i] = x[i]
    return x


def other_number(x, n):
    for i in range(1, len(x)):
        x[i] = 7 if i == 5 else x[i - 1] / 2
    return x


def fails_half_way(x, n):
    for i in range(len(x)):
        x[i] = x[i] * 2
        if i == len(x) - 2:
            x[i + 2]
    return x


def read_again(x, n):
    total = 0
    for _ in range(3):
        for i in range(len(x)):
            total += x[i]
        print(end="")
    return total


FLAT = [made_an_array, given_to_the_library, squares, neighbours, from_both_ends, pairs, zipped, filled, searched, to_array, itself, too_far, written, appended, changed_before,
        changed_behind, read_again, sorted_in_place, written_in_a_branch, written_to_itself, other_number, fails_half_way]  # fmt: skip

rng = random.Random(1)
LISTS = {
    "floats": lambda n: [rng.random() - 0.3 for _ in range(n)],
    "ints": lambda n: [rng.randrange(-50, 50) for _ in range(n)],
    "large": lambda n: [rng.randrange(-(2**62), 2**62) for _ in range(n)],
    "too large": lambda n: [2**70 if i == n - 1 else i for i in range(n)],
    "mixed": lambda n: [i if i % 3 else 0.5 * i for i in range(n)],
    "last is int": lambda n: [1 if i == n - 1 else 0.5 * i for i in range(n)],
    "bools": lambda n: [bool(i % 3) for i in range(n)],
    "numpy": lambda n: [np.float64(i) for i in range(n)],
    "special": lambda n: [[float("nan"), float("inf"), -0.0, 5e-324, 1e308][i % 5] for i in range(n)],
}


@pytest.mark.parametrize("function", FLAT, ids=lambda f: f.__name__)
def test_lists(function):
    """Of all classes in turn, so that one variant meets what it was not made for."""
    compiled = fusewire.compile(function, economy=False, background=False)
    for n in (100, 1, 70, 5, 300, 2000):
        for make in LISTS.values():
            x = make(n)
            for _ in range(2):
                assert_same_call(function, compiled, (list(x), 7))
    for _ in range(2):
        assert_same_call(function, compiled, ([], 0))


@pytest.mark.parametrize("kind", ["floats", "ints"])
@pytest.mark.parametrize("function", [squares, neighbours, from_both_ends, filled, to_array, itself], ids=lambda f: f.__name__)
def test_they_are_compiled(function, kind):
    compiled = fusewire.compile(function, economy=False, background=False)
    for n in (300, 400, 200):
        x = LISTS[kind](n)
        assert_same_call(function, compiled, (x, 7))
    described = fusewire._fusewire.describe(compiled)
    assert described["breaks"] == [] and len(described["variants"]) <= 2 and described["variants"][-1]["hits"] >= 1


# ---- lists of lists -------------------------------------------------------------------------------------------------


def product(a, b):
    c = [[0.0] * len(b[0]) for _ in range(len(a))]
    for i in range(len(a)):
        for j in range(len(b[0])):
            for k in range(len(b)):
                c[i][j] += a[i][k] * b[k][j]
    return c


def made_arrays(a, b):
    return np.array(a) @ np.asarray(b).T if len(a[0]) == len(b[0]) else 0, np.sum(a, axis=0)


def by_rows(a, b):
    total = 0
    for row in a:
        for x, y in zip(row, b[0]):
            total += x * y
    return total


def transposed(a, b):
    return [[a[i][j] for i in range(len(a))] for j in range(len(a[0]))]


def row_leaves(a, b):
    best = 0
    for i in range(len(a)):
        if a[i][0] > a[best][0]:
            best = i
    return a[best], best


def row_is_written(a, b):
    for i in range(len(a)):
        a[i][0] = b[i % len(b)][0]
    return a


def rows_copied(a, b):
    own = [row[:] for row in a]
    for i in range(len(own)):
        own[i][0] += 1
        own[i][-1] -= a[i][0]
    return own, a


def also_written(a, b):
    total = 0
    for i in range(len(a)):
        total += a[i][0]
    b.append(total)
    return len(a), len(b), total


def eliminated(a, b):
    n = min(len(a), len(a[0]))
    for k in range(n - 1):
        if a[k][k] == 0:
            continue
        for i in range(k + 1, n):
            f = a[i][k] / a[k][k]
            for j in range(k, n):
                a[i][j] = a[i][j] - f * a[k][j]
    return a


def both_written(a, b):
    for i in range(len(a)):
        for j in range(len(a[i])):
            a[i][j] += 1
            b[i % len(b)][j % len(b[0])] -= a[i][j]
    return a


def row_written_elsewhere(a, b):
    total = 0
    for i in range(len(a)):
        total += a[i][-1]
    b[0][-1] = 100
    for i in range(len(a)):
        total += a[i][-1]
    return total


NESTED = [made_arrays, product, by_rows, transposed, row_leaves, row_is_written, rows_copied, also_written, row_written_elsewhere, eliminated, both_written]


@pytest.mark.parametrize("function", NESTED, ids=lambda f: f.__name__)
def test_lists_of_lists(function):
    compiled = fusewire.compile(function, economy=False, background=False)
    for n in (66, 1, 3):
        for make in LISTS.values():
            a, b = [make(n) for _ in range(n)], [make(n) for _ in range(n)]
            shared = a[:2] + a[:1]
            for arguments in ((a, b), (a, a), (a, [a[0]] * n), ([a[0]] * n, a), (shared * n, b), ([make(n)] * (n - 1) + [make(n + 1)], b)):
                expected, actual = run_both(function, compiled, arguments)
                assert actual == expected


def run_both(function, compiled, arguments):
    """What came out, with the identity of all lists in it."""
    results = []
    for f in (function, compiled):
        given = copy.deepcopy(arguments)
        try:
            outcome = f(*given)
        except Exception as error:
            outcome = repr(error)
        seen: dict = {}

        def walk(value):
            if isinstance(value, (list, tuple)):
                if id(value) in seen:
                    return seen[id(value)]
                seen[id(value)] = len(seen)
                return [type(value).__name__, *map(walk, value)]
            return repr(value)

        results.append(walk((given, outcome)))
    return results


@pytest.mark.parametrize("function", [product, by_rows, transposed, rows_copied, eliminated, both_written], ids=lambda f: f.__name__)
def test_lists_of_lists_are_compiled(function):
    compiled = fusewire.compile(function, economy=False, background=False)
    for n in (80, 90, 70):
        a, b = ([[rng.random() for _ in range(n)] for _ in range(n)] for _ in range(2))
        own, other = copy.deepcopy((a, b)), copy.deepcopy((a, b))
        assert compiled(*own) == function(*other) and own == other
    described = fusewire._fusewire.describe(compiled)
    assert described["breaks"] == [] and len(described["variants"]) == 1 and described["variants"][0]["hits"] >= 2


def test_a_list_of_which_little_is_read_is_left_to_python():
    """Copying all of it costs more than what is done with it."""

    def bisect(x, wanted):
        low, high = 0, len(x)
        while low < high:
            middle = (low + high) // 2
            if x[middle] < wanted:
                low = middle + 1
            else:
                high = middle
        return low

    compiled = fusewire.compile(bisect)
    x = [float(i) for i in range(200_000)]
    for k in range(60):
        assert compiled(x, 3000.0 * k) == bisect(x, 3000.0 * k)
    import time

    def seconds(f):
        best = 1.0
        for _ in range(20):
            begin = time.perf_counter()
            f(x, 777.5)
            best = min(best, time.perf_counter() - begin)
        return best

    assert seconds(compiled) < 5 * seconds(bisect) + 1e-5
