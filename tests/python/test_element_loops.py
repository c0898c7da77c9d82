"""Element loops as textbooks have them: early exits with a value, Python ints that array data decides, places that it decides,
minima and maxima. Plain against compiled, whether one region or not; those of ONE are one."""
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import compare
import fusewire

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
from textbook.images import histogram, otsu  # noqa: E402 - what is measured is what is tested
from textbook.matrices import spmv  # noqa: E402
from textbook.sequences import (  # noqa: E402
    argbest, binary_search, collatz, count, crc, edit_distance, first_above, insertion, knapsack, lcs, permuted, rle, search2, sieve,
)
from textbook.signals import random_walk, viterbi  # noqa: E402
from textbook.stencils import life_elements  # noqa: E402

RNG = np.random.default_rng(9)


def reals(*shape):
    return RNG.random(shape)


def ints(most, *shape, dtype=np.int64):
    return RNG.integers(0, most, shape).astype(dtype)


def rows_of(n):
    """indptr, indices and data of a sparse matrix, rows of which are empty, and a vector."""
    indptr = np.concatenate([[0], np.cumsum(RNG.integers(0, 4, n))])
    return indptr, ints(n, indptr[-1]), reals(indptr[-1]), reals(n)


def first_value(x, t):
    for v in x:
        if v > t:
            return v
    return None


def all_positive(x):
    for i in range(len(x)):
        if x[i] <= 0:
            return False
    return True


def newton(x, n):
    for i in range(n):
        step = (x * x - 2.0) / (2.0 * x)
        x = x - step
        if np.abs(step).max() < 1e-12:
            return x
    return x


def broken(x, t):
    k = 0
    for i in range(len(x)):
        if x[i] > t:
            k = i
            break
    return k


def count2(x, lo, hi):
    n = 0
    m = 0
    for i in range(len(x)):
        if x[i] < lo:
            n += 1
        elif x[i] > hi:
            m += 2
    return n, m


def histogram_f(x, k):
    h = np.zeros(k)
    for i in range(len(x)):
        h[int(x[i] * k)] += 1
    return h


def walk(a, n):
    k = 0
    steps = 0
    while k < n:
        k += int(a[k])
        steps += 1
    return k, steps


def mandelbrot(c, limit):
    out = np.zeros(c.shape, dtype=np.int64)
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            z = 0j
            k = 0
            for k in range(limit):
                z = z * z + c[i, j]
                if z.real * z.real + z.imag * z.imag > 4.0:
                    break
            out[i, j] = k
    return out


def bubble(a):
    n = len(a)
    for i in range(n):
        swapped = False
        for j in range(n - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
                swapped = True
        if not swapped:
            break
    return a


def best_of(x):
    best = x[0]
    for i in range(1, len(x)):
        best = max(best, x[i])
    return best


def periodic(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i % 4] * x[i // 2]
    return s


def rolling_rows(c, n):
    d = np.zeros((2, len(c)))
    for i in range(1, n):
        for j in range(1, len(c)):
            d[i % 2, j] = d[(i - 1) % 2, j - 1] + c[j]
    return d


def collected(x):
    out = []
    for i in range(len(x)):
        out.append(x[i] * 2)
    return np.array(out)


CASES = {
    "first_above": (first_above, lambda n: (reals(n), 0.98)),
    "first_of_none": (first_above, lambda n: (reals(n), 1.5)),
    "first_value": (first_value, lambda n: (reals(n), 0.98)),
    "all_positive": (all_positive, lambda n: (reals(n) - 0.005,)),
    "search2": (search2, lambda n: (reals(n, n + 3), 0.9995)),
    "newton": (newton, lambda n: (reals(10) + 1, n)),
    "broken": (broken, lambda n: (reals(n), 0.99)),
    "count": (count, lambda n: (reals(n) - 0.5,)),
    "count2": (count2, lambda n: (reals(n), 0.3, 0.8)),
    "histogram": (histogram, lambda n: (ints(16, n), 16)),
    "histogram_small_ints": (histogram, lambda n: (ints(16, n, dtype=np.uint8), 16)),
    "histogram_f": (histogram_f, lambda n: (reals(n), 16)),
    "permuted": (permuted, lambda n: (reals(50), ints(50, n) - 25)),
    "spmv": (spmv, rows_of),
    "binary_search": (binary_search, lambda n: (np.sort(reals(n)), 0.3)),
    "walk": (walk, lambda n: (ints(5, n) + 1, n - 8)),
    "collatz": (collatz, lambda n: (np.arange(1, n),)),
    "mandelbrot": (mandelbrot, lambda n: (3 * reals(9, 8) - 2 + 1j * reals(9, 8), n)),
    "edit_distance": (edit_distance, lambda n: (ints(4, n), ints(4, n + 5))),
    "lcs": (lcs, lambda n: (ints(4, n), ints(4, n + 5))),
    "knapsack": (knapsack, lambda n: (ints(30, 20) + 1, reals(20), n)),
    "crc": (crc, lambda n: (ints(256, n, dtype=np.uint8),)),
    "sieve": (sieve, lambda n: (n * n,)),
    "argbest": (argbest, lambda n: (reals(n),)),
    "viterbi": (viterbi, lambda n: (reals(n, 5), reals(5, 5))),
    "otsu": (otsu, lambda n: (ints(1000, n).astype(float),)),
    "rle": (rle, lambda n: (np.repeat(ints(4, n), 3),)),
    "life_elements": (life_elements, lambda n: (ints(2, n, n + 2),)),
    "random_walk": (random_walk, lambda n: (ints(3, n) - 1, 20)),
    "bubble": (bubble, lambda n: (reals(n),)),
    "insertion": (insertion, lambda n: (reals(n),)),
    "best_of": (best_of, lambda n: (reals(n),)),
    "periodic": (periodic, lambda n: (reals(n),)),
    "rolling_rows": (rolling_rows, lambda n: (reals(n), n)),
    "collected": (collected, lambda n: (reals(n),)),
}


# Not one compiled region yet, and why.
BROKEN = {
    "first_value": "a number or None",
    "rle": "slices whose bounds array data decides",
    "collected": "appends",
}


@pytest.mark.parametrize("name", CASES)
def test_element_loops(name):
    function, arguments = CASES[name]
    compiled = fusewire.compile(function, fullgraph=name not in BROKEN)
    for n in (80, 81, 95, 80, 120):
        compare.assert_same_call(function, compiled, arguments(n))


@pytest.mark.parametrize("name", CASES)
def test_few_elements(name):
    function, arguments = CASES[name]
    compiled = fusewire.compile(function)
    for n in (20, 10, 12, 70):
        compare.assert_same_call(function, compiled, arguments(n))


def sum_of(a):
    total = 0
    for i in range(len(a)):
        total += int(a[i])
    return total


def product_of(a):
    total = 1
    for i in range(len(a)):
        total *= int(a[i])
    return total


def test_ints_beyond_64_bits_are_pythons():
    big = np.full(80, 2**62)
    for function, a in ((sum_of, big), (sum_of, -big), (product_of, np.full(80, 3)), (product_of, np.full(80, -1)),
                        (sum_of, np.full(80, 2**64 - 1, dtype=np.uint64)), (sum_of, np.full(80, -2**63))):
        compiled = fusewire.compile(function)
        compare.assert_same_call(function, compiled, (np.arange(80),))
        compare.assert_same_call(function, compiled, (a,))
        compare.assert_same_call(function, compiled, (np.arange(80),))


def raised(a):
    for i in range(1, len(a)):
        a[i] = a[i - 1] + a[i]
    return a


def negated(a):
    out = np.zeros_like(a)
    for i in range(len(a)):
        out[i] = abs(-a[i]) - 1
    return out


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64])
def test_numpy_ints_that_wrap_warn(dtype):
    for function in (raised, negated):
        compiled = fusewire.compile(function)
        for value in (0, 1, 3, np.iinfo(dtype).max, np.iinfo(dtype).min, 2):
            compare.assert_same_call(function, compiled, (np.full(80, value, dtype=dtype),))


def test_places_out_of_range():
    for function, first, wrong in ((permuted, (reals(50), ints(50, 100)), (reals(50), np.full(100, 50))),
                                   (permuted, (reals(50), ints(50, 100)), (reals(50), np.full(100, -51))),
                                   (histogram, (ints(16, 100), 16), (np.append(ints(16, 99), 16), 16)),
                                   (walk, (ints(5, 100) + 1, 90), (ints(5, 100) + 1, 120))):
        compiled = fusewire.compile(function)
        for arguments in (first, wrong, first):
            compare.assert_same_call(function, compiled, arguments)


def test_zero_divisors_and_no_numbers():
    def quotients(a, b):
        total = 0
        for i in range(len(a)):
            total += int(a[i]) // int(b[i]) + int(a[i]) % int(b[i])
        return total

    def whole(x):
        total = 0
        for v in x:
            total += int(v)
        return total
    compiled = fusewire.compile(quotients)
    a, b = ints(100, 80) - 50, ints(20, 80) + 1
    for divisor in (b, -b, np.where(np.arange(80) == 70, 0, b), b):
        compare.assert_same_call(quotients, compiled, (a, divisor))
    compiled = fusewire.compile(whole)
    for last in (1.5, -2.5, np.nan, np.inf, 1e300, 2.0**62, -2.0**63, 3):
        compare.assert_same_call(whole, compiled, (np.append(reals(80) * 100 - 50, last),))


def test_remainders_near_and_far():
    def ring(a, n):
        total = 0
        for i in range(len(a)):
            total = total * 3 % 1009 + a[(i - 1) % len(a)] - a[(i + 1) % len(a)] + (i - 3) % n
        return total

    def remainders(a, b):
        out = np.zeros(len(a), dtype=np.int64)
        for i in range(len(a)):
            out[i] = int(a[i]) % int(b[i])
        return out

    compiled = fusewire.compile(ring)
    for size in (1, 2, 3, 80):
        for n in (1, 2, -2, 7, -7, 100, 2**62, -2**62):
            compare.assert_same_call(ring, compiled, (ints(9, size), n))
    most = 2**63 - 1
    near = [0, 1, -1, 2, -2, 5, -5, 6, 7, -7, 13, 14, -14, 15, 2**60, 2**61, 2**61 - 1, -2**61, 2**62, most - 1, most, -most]
    pairs = np.array([(a, b) for a in [*near, -most - 1] for b in near if b != 0])
    compiled = fusewire.compile(remainders, background=False)
    small = (ints(9, 40), ints(9, 40) + 1)
    for arguments in (small, small, (pairs[:, 0].copy(), pairs[:, 1].copy()), small, (np.array([5, -3]), np.array([2, 0]))):
        compare.assert_same_call(remainders, compiled, arguments)
    for a, b in pairs[::7]:   # each by itself: large ones have the loop run in another way
        compare.assert_same_call(remainders, compiled, (np.array([a]), np.array([b])))


def bits(x, n):
    h = 5381
    for i in range(len(x)):
        h = ((h << 5) + h ^ int(x[i])) & 0xFFFFFFFF
        if h & 1 and not h >> 3 & 2:
            h |= 1 << i % n
    return h, ~h, -h, h ** 2, h / 3, h < 10, bool(h)


def test_bits():
    compiled = fusewire.compile(bits)
    for n in (5, 31, 17):
        compare.assert_same_call(bits, compiled, (ints(256, 90), n))


def either(x, n):
    s = 0.0
    for i in range(len(x)):
        t = 0.0
        for k in range(int(n[i])):
            t += x[k]
        s = max(s, t)
        x[i] = t * 2 + s
    return x


def class_of(x, n):
    t = 0.0
    for k in range(int(n[0])):
        t += x[k]
    return t


def test_floats_that_may_be_numpys():
    compiled = fusewire.compile(either)
    for _ in range(3):
        compare.assert_same_call(either, compiled, (reals(90), ints(6, 90)))
    compiled = fusewire.compile(class_of)
    for n in (0, 1, 80, 0):
        compare.assert_same_call(class_of, compiled, (reals(90), np.array([n])))


def kept_over_turns(x):
    """A slot that a turn may leave as it was, which only the code behind the loop reads."""
    last = -1
    seen = False
    for i in range(len(x)):
        if x[i] > 0.9:
            last = i
            seen = True
    return last, seen


def flags_by_rows(x):
    rows = np.zeros(len(x))
    for i in range(len(x)):
        found = False
        for j in range(x.shape[1]):
            if x[i, j] > 0.99:
                found = True
        rows[i] = found
    return rows


def several_ways(x, limit):
    total = 0.0
    for i in range(len(x)):
        total += x[i]
        if total > limit:
            return "over", i, total
        if x[i] < -1:
            break
        if total < -limit:
            return "under", -i, total
    else:
        total = total * 2
    return "behind", i, total


def until_found(a, value):
    lo, hi = 0, len(a) - 1
    while lo <= hi:
        mid = (lo + hi) // 2
        if a[mid] == value:
            return mid
        if a[mid] < value:
            lo = mid + 1
        else:
            hi = mid - 1
    return None if value < 0 else -1


def test_what_turns_leave():
    compiled = [fusewire.compile(f) for f in (kept_over_turns, flags_by_rows, several_ways, until_found)]
    for n in (80, 90, 100, 80):
        x = reals(n)
        compare.assert_same_call(kept_over_turns, compiled[0], (x,))
        compare.assert_same_call(kept_over_turns, compiled[0], (x * 0,))
        compare.assert_same_call(flags_by_rows, compiled[1], (reals(n, 70),))
        for y, limit in ((x, 10.0), (-x, 10.0), (x - 0.5, 1e9), (np.append(x - 0.5, -2), 1e9), (x[:0], 1.0), (x[:3], 0.1)):
            compare.assert_same_call(several_ways, compiled[2], (y, limit))
        a = np.sort(ints(1000, n))
        for value in (a[0], a[n // 2], a[-1], -1, 1001):
            compare.assert_same_call(until_found, compiled[3], (a, int(value)))


def counted_if(b, x, h):
    for i in range(len(b)):
        if x[i] > 0.5:
            h[b[i]] += 1
        elif x[i] > 0.2:
            h[b[i] - 1] -= 1
    return h


def test_places_found_out_in_an_arm():
    compiled = fusewire.compile(counted_if, fullgraph=True)
    for _ in range(4):
        compare.assert_same_call(counted_if, compiled, (ints(16, 90), reals(90), np.zeros(16, dtype=np.int64)))
    compare.assert_same_call(counted_if, compiled, (ints(16, 90), reals(90) * 0, np.zeros(0, dtype=np.int64)))


def relaxed(d, q):
    """The ranges of ints are looked at where d is read, and d is written in the same turn."""
    n = len(d)
    for i in range(n):
        for j in range(n):
            for k in range(j):
                c = d[i, k] + q[k]
                if c < d[i, j]:
                    d[i, j] = c
    return d


def test_ints_change_arrays_where_they_are():
    """A copy of the array in every turn takes 200 times as long."""
    compiled = fusewire.compile(relaxed, fullgraph=True)
    times = []
    for dtype in (float, np.int64):
        for n in (70, 71, 70):
            compare.assert_same_call(relaxed, compiled, (ints(9, n, n, dtype=dtype), ints(9, n, dtype=dtype) - 4))
        given = ints(9, 100, 100, dtype=dtype), ints(9, 100, dtype=dtype)
        begin = time.process_time()
        compiled(*given)
        times.append(time.process_time() - begin)
    assert times[1] < 10 * times[0] + 0.01, times


def looked_at_before(d, n):
    total = 0
    for i in range(n):
        total = total + int(d[i])
        for j in range(n):
            d[j] = d[j] + 1
    return total, d


def test_what_is_looked_at_before_a_loop_writes():
    compiled = fusewire.compile(looked_at_before)
    for n in (80, 90, 80):
        compare.assert_same_call(looked_at_before, compiled, (np.arange(100), n))
        compare.assert_same_call(looked_at_before, compiled, (np.arange(100.0), n))


def handed_on(x, y, p, q):
    """What a turn stores and the next one reads: alone, behind a check, beside other stores, over it, two turns later."""
    n = len(x)
    for i in range(1, n):
        x[i] = x[i - 1] * 0.5 + y[i]
    for i in range(1, n):
        k = int(p[i])
        x[i] = x[i - 1] + y[k]
    for i in range(1, n - 1):
        x[i] = x[i - 1] - 1
        x[i + 1] = y[i]
    for i in range(1, n - 1):
        x[i + 1] = y[i]
        x[i] = x[i - 1] - 1
    for i in range(2, n):
        x[i] = x[i - 1] + x[i - 2] * 0.25
        y[i] = y[i] - x[i - 1]
    for i in range(n - 2, -1, -1):
        x[i] = x[i + 1] * 0.75 + q[i, 0]
    for i in range(1, n):
        if y[i] > 0.5:
            x[i] = x[i - 1] + 1
    for i in range(1, n):
        q[i, 1] = q[i - 1, 1] + q[i, 0]
        q[i, 0] = q[i - 1, 1]
    for i in range(1, n):
        x[i] = y[i]
        y[i] = x[i - 1] * 2
    return x


def joined(d, x, y):
    """Neighbours in two directions, and elements that are as far apart as rows are long."""
    n, m = d.shape
    for i in range(1, n):
        for j in range(1, m):
            d[i, j] = min(d[i - 1, j], d[i, j - 1], d[i - 1, j - 1]) + abs(x[i] - y[j])
    for i in range(1, n):
        for j in range(m):
            d[i, j] = d[i, j] + d[i - 1, j]
            d[i - 1, j] = d[i, m - 1 - j]
    return d


@pytest.mark.parametrize("isa", ["host", "portable"])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 17, 1200, 2100])
def test_elements_that_turns_hand_on(n, isa):
    for function, made in ((handed_on, lambda: (reals(n), reals(n), ints(max(n, 1), n), reals(n, 2))),
                           (joined, lambda: (reals(min(n, 70), min(n, 41)), reals(n), reals(n)))):
        compiled = fusewire.compile(function, isa=isa)
        for _ in range(3):
            compare.assert_same_call(function, compiled, made())
        x, *rest = made()
        for shared in (x, x[::-1]) if x.ndim == 1 else (x[:, 0], x[0][::-1]) if n else ():
            compare.assert_same_call(function, compiled, (x, shared, *rest[1:]) if function is handed_on else (x, *rest))
        if function is handed_on:
            both = reals(2 * n + 1)
            compare.assert_same_call(function, compiled, (both[1:][:n], both[:n], *rest[1:]))
            compare.assert_same_call(function, compiled, (both[::2][:n], both[1::2][:n], *rest[1:]))
