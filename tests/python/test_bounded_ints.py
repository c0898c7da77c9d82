"""Ints that turns hand on and that stay within bounds: where a turn tells by itself where they are, nothing is checked."""

from __future__ import annotations

import numpy as np
import pytest

import fusewire
from compare import assert_same_outcome, run


def glibc(n, s):
    total = 0
    for _ in range(n):
        s = (1103515245 * s + 12345) % 2**31
        total += s / 2**31
    return s, total


def glibc_from_a_constant(n, s):
    s = 12345
    for _ in range(n):
        s = (1103515245 * s + 12345) & 0x7FFFFFFF
    return s


def numerical_recipes(n, s):
    out = 0
    for _ in range(n):
        s = 1664525 * s + 1013904223 & 0xFFFFFFFF
        out ^= s
    return out


def park_miller(n, s):
    for _ in range(n):
        s = 16807 * s % 2147483647
    return s


def xorshift(n, s):
    for _ in range(n):
        s ^= s << 13 & 0xFFFFFFFF
        s ^= s >> 17
        s ^= s << 5 & 0xFFFFFFFF
    return s


def negative(n, s):
    for _ in range(n):
        s = (7 * s - 3) % -1000
    return s


def two_that_feed_each_other(n, s):
    a, b = s % 97, 1
    for _ in range(n):
        a, b = (a * b + 1) % 10007, (a + b) % 10009
    return a, b


def one_grows(n, s):
    steps = 0
    for i in range(n):
        s = (s * 5 + i) % 1000
        if s < 500:
            steps += 1
    return s, steps


def in_a_loop(n, s):
    total = 0
    for i in range(n % 50):
        k = i
        while k != 1 and k > 0:
            k = k * k % 61 + 1 if k % 2 else k // 2
            total += 1
            if total > 100000:
                return total
    return total


def power(n, s):
    base, result, modulus = s % 1000003, 1, 1000003
    while n:
        if n % 2:
            result = result * base % modulus
        base = base * base % modulus
        n //= 2
    return result


def grows_in_the_end(n, s):
    h = 1
    for i in range(n):
        h = h * 3 % 1000 if i < 3000 else h * 3
    return h


def bounded_by_data(x, n):
    k, total = 0, 0
    for i in range(n):
        k = min(max(k + x[i % len(x)], 0), 50)
        total += x[k % len(x)]
    return k, total


def looks_like_a_counter(n, s):
    k = 4
    for _ in range(n):
        k = k * 3 - 4
        k %= 17
    return k


def digits(n, s):
    best = 0
    for k in range(n):
        m, total = k, 0
        while m:
            total += (m % 10) ** 3
            m //= 10
        if total == k:
            best = k
    return best


def powers(n, s):
    total = 0
    for i in range(n):
        total = (total + i**3 - (i % 7) ** 1 + (s % 11 - i % 5) ** 4 + (i % 3) ** 9) % 1000003
    return total


def steps_of_one_number(n, s):
    count = 0
    while s != 1 and count < n and s > 0:
        s = 3 * s + 1 if s % 2 else s // 2
        count += 1
    return count, s


FUNCTIONS = [digits, powers, steps_of_one_number, glibc, glibc_from_a_constant, numerical_recipes, park_miller, xorshift, negative, two_that_feed_each_other, one_grows, in_a_loop, power, grows_in_the_end, looks_like_a_counter]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_recurrences(function):
    compiled = fusewire.compile(function)
    for n, s in [(3000, 7), (3000, 8), (0, 5), (1, 5), (70, 2**31 - 1), (70, 0), (70, -1), (3000, 2**31), (70, 2**40), (70, -(2**62)), (70, 2**62), (70, 2**63 - 1), (70, -(2**63)), (70, 2**70), (3050, 12)]:
        assert_same_outcome(run(function, (n, s)), run(compiled, (n, s)))


def test_places():
    compiled = fusewire.compile(bounded_by_data)
    for x in (np.arange(-5, 60), np.arange(3), np.array([2**62, -(2**62), 5]), np.array([2**63 - 1, 1, -(2**63)])):
        for n in (0, 1, 100, 3000):
            assert_same_outcome(run(bounded_by_data, (x, n)), run(compiled, (x, n)))


@pytest.mark.parametrize("function", [digits, powers, glibc, glibc_from_a_constant, numerical_recipes, park_miller, xorshift, one_grows, looks_like_a_counter])
def test_they_are_compiled(function):
    compiled = fusewire.compile(function, economy=False, background=False)
    for _ in range(3):
        assert compiled(3000, 7) == function(3000, 7)
    described = fusewire._fusewire.describe(compiled)
    assert not described["breaks"] and described["variants"][0]["hits"] >= 2


def test_first_calls_of_few_turns():
    """A loop of few turns is not worth compiled code; the same function with many is, whenever that is found out."""

    def total(n, factor):
        s = 0.0
        for i in range(n):
            s += i * factor
        return s

    compiled = fusewire.compile(total, background=False)
    for n in [1, 2, 3, 0, 5] * 20:
        assert compiled(n, 0.5) == total(n, 0.5)
    for _ in range(600):
        assert compiled(500, 0.5) == total(500, 0.5)
    assert fusewire._fusewire.describe(compiled)["variants"]


def test_numbers_that_many_operations_compute():
    """Of the caller's numbers, in a loop of fewer turns than are unrolled."""

    def adaptive(y, end):
        t, h, steps = 0.0, 0.1, 0
        while t < end:
            h = min(h, end - t)
            a = h * (1.5 - y * t)
            b = h * (1.5 - (y + a / 2) * (t + h / 2))
            error = abs(a - b)
            if error < 1e-3:
                t += h
                y += b
                steps += 1
            h *= min(2.0, max(0.3, 0.9 * 1e-3 / (error + 1e-12)))
        return y, steps

    compiled = fusewire.compile(adaptive, economy=False, background=False)
    for y, end in [(1.0, 5.0), (0.5, 5.0), (1.0, 0.0), (1.0, 0.01), (2.0, 1.0)]:
        assert compiled(y, end) == adaptive(y, end)
    assert fusewire._fusewire.describe(compiled)["variants"]


def sums_of_items(a, n):
    out, above = [], 0
    for i in range(n):
        x, y = int(a[i % len(a)]), int(a[(i + 1) % len(a)])
        s, d = x + y, x - y
        if s + d > 2**62 or s - y - y < -(2**61):
            above += 1
        out.append(s)
        out.append(d + 5)
    return out, above


def products_of_items(a, n):
    total, most = 0, 0
    for i in range(n):
        x = int(a[i % len(a)])
        p = 3 * x + 1
        q = x * -2 - (5 * x - 1)
        most = max(most, p, -q) if p > q else max(most, q)
        total ^= (p if p > 0 else -p) & 0xFFFF
    return total, most


def halved_or_tripled(a, n):
    steps = 0
    for i in range(n):
        m = int(a[i % len(a)])
        while m > 1 and steps < 5000:
            m = 3 * m + 1 if m % 2 else m // 2
            steps += 1
    return steps


def walking(a, n):
    place, error, least = 0, 0, 0
    for i in range(n):
        x = int(a[i % len(a)])
        if 2 * error >= x:
            error += x
            place += 1
        if 2 * error <= place:
            error -= x // 3
            place -= 2
        least = min(least, place)
    return place, error, least


@pytest.mark.parametrize("function", [sums_of_items, products_of_items, halved_or_tripled, walking])
def test_ends_of_64_bits(function):
    """Sums and products that fit are not looked at; those that do not are Python's."""
    compiled = fusewire.compile(function)
    for _ in range(4):
        assert_same_outcome(run(function, (np.arange(1, 90), 80)), run(compiled, (np.arange(1, 90), 80)))
    for bits in (59, 60, 61, 62, 63):
        for by in (-2, -1, 0, 1, 2):
            for sign in (1, -1):
                end = min(max(sign * (2**bits + by), -(2**63)), 2**63 - 1)
                a = np.array([end, 3, end // 3, -end - 1, end - 1 if end > 0 else end + 1, 7, end // 2])
                assert_same_outcome(run(function, (a, 80)), run(compiled, (a, 80)))


def divided_by_turns(n, m):
    out = []
    for i in range(n):
        out.append((m - i) % (i + 2) + (m + 5 * i) // (i + 1) - (i - 40) % (n + 1))
    return out


def divided_down(n, m):
    total = 0
    for i in range(n):
        total += (m + i) % (n - i) - (m - i) // (-1 - i)
    return total


def divided_through_zero(n, m):
    total = 0
    for i in range(n):
        total += m % (i - 90)
    return total


@pytest.mark.parametrize("function", [divided_by_turns, divided_down, divided_through_zero])
def test_divisors_that_turns_tell(function):
    compiled = fusewire.compile(function)
    for n, m in [(80, 1000), (80, 1001), (85, -7), (120, 3), (90, 0), (91, 5), (80, 2**40), (80, -(2**61)), (80, 2**62), (80, -(2**63)), (0, 1), (1, 1)]:
        assert_same_outcome(run(function, (n, m)), run(compiled, (n, m)))


def strides(x, bounds):
    """Places whose first one, end and step data decides."""
    for k in range(len(bounds)):
        for j in range(int(bounds[k, 0]), int(bounds[k, 1]), int(bounds[k, 2])):
            x[j] += k
    return x


def strides_and_sums(x, bounds):
    total = 0
    for k in range(len(bounds)):
        step = int(bounds[k, 2])
        place = int(bounds[k, 0])
        for j in range(int(bounds[k, 1])):
            total += int(x[place]) + 3 * j + place
            place += step
    return total


BOUNDS = [[0, 40, 1], [3, 40, 7], [39, -1, -1], [39, 0, -9], [5, 5, 1], [5, 3, 1], [5, 6, 2**40], [0, 40, 2**62], [39, 5, -(2**62)], [10, 12, 10]]


@pytest.mark.parametrize("more", [[], [[-3, 10, 2]], [[-40, 0, 1]], [[-41, 0, 1]], [[0, 41, 1]], [[1, 42, 4]], [[38, -5, -1]], [[38, -42, -1]], [[2**62, 2**62 + 1, 1]], [[0, 100, 60]]])
def test_strides(more):
    compiled = fusewire.compile(strides)
    warm = np.array([[0, 40, 1]] * 20)
    for bounds in (warm, np.array(BOUNDS + more), np.array(more + BOUNDS), warm, np.array(BOUNDS * 3 + more), np.array(more * 12 + BOUNDS)):
        given = np.arange(40), np.arange(40)
        assert_same_outcome(run(strides, (given[0], bounds.reshape(-1, 3))), run(compiled, (given[1], bounds.reshape(-1, 3))))
        assert (given[0] == given[1]).all()


@pytest.mark.parametrize("more", [[], [[0, 40, 1]], [[39, 40, -1]], [[0, 41, 1]], [[5, 3, 17]], [[0, 1, 2**61]], [[0, 2, 2**61]], [[-1, 39, -1]], [[-1, 40, -1]], [[-1, 41, -1]]])
def test_strides_of_a_variable(more):
    compiled = fusewire.compile(strides_and_sums)
    warm = np.array([[0, 40, 1]] * 20)
    for x in (np.arange(40), np.full(40, 2**60), np.full(40, 2**62 - 9), np.full(40, -(2**62))):
        for bounds in (warm, np.array(more + [[3, 5, 4]] * 9), np.array([[3, 5, 4]] * 9 + more)):
            assert_same_outcome(run(strides_and_sums, (x, bounds)), run(compiled, (x, bounds)))
