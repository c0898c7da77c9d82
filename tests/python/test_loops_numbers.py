"""Loops over elements: numbers live in registers there, and LLVM's passes see the code. What they take for free of effects -
operations on floats - must be reported as often, and from where, as Python does it; and what Python skips must not be."""
import numpy as np
import pytest

import compare
import fusewire

RNG = np.random.default_rng(3)


def last_value(x, y):
    t = np.float64(0)
    for i in range(len(x)):
        t = y[i] / x[i]
    return t


def value_that_nobody_uses(x, y):
    for i in range(len(x)):
        y[i] / x[i]
    return y


def one_place(x, y):
    for i in range(len(x)):
        y[0] = y[1] / x[i]
    return y


def stored_twice(x, y):
    for i in range(len(x)):
        y[i] = y[i] / x[i]
        y[i] = 2.0
    return y


def constant_in_the_first_turn(x, y):
    s = np.float64(0.0)
    for i in range(len(x)):
        y[i] = 1.0 / s
        s = x[i]
    return y


def constant_on_one_side(x, y):
    for i in range(len(x)):
        s = np.float64(0.0)
        if y[i] > 0.5:
            s = x[i]
        y[i] = 1.0 / s
    return y


def compared_only(x, y):
    n = 0.0
    for i in range(len(x)):
        if y[i] / x[i] > 0.5:
            n += 1.0
    return n


def invariant_on_one_side(x, y):
    for i in range(len(x)):
        if x[0] != 0:
            y[i] = y[i] + y[1] / x[0]
    return y


def skipped_where_it_would_warn(x, y):
    for i in range(len(x)):
        if x[i] != 0 and x[i] == x[i]:
            y[i] = y[i] / x[i]
        else:
            y[i] = 0.0
    return y


def empty_inside(x, y):
    for i in range(len(x)):
        for j in range(i - i):
            y[j] += 1.0 / x[i]
    return y


def three_inside(x, y):
    for i in range(len(x) - 3):
        s = 0.0
        for j in range(3):
            s += y[j] / x[i + j]
        y[i] = s
    return y


def sum_of_products(x, y):
    s = np.float64(0)
    for i in range(len(x)):
        s += x[i] * 1e200 * y[i]
    return s


def into_integers(x, y):
    k = np.zeros(len(x), np.int32)
    for i in range(len(x)):
        k[i] = x[i]
    return k


def singles(x, y):
    z = x.astype(np.float32)
    for i in range(1, len(z)):
        z[i] = z[i - 1] * z[i] + np.float32(3e38)
    return z


def complex_numbers(x, y):
    z = complex(0.5, 0.25)
    out = np.zeros(len(x), complex)
    for i in range(len(x)):
        z = z * z + x[i]
        out[i] = z
    return out


def least(x, y):
    low = x[0]
    for i in range(len(x)):
        if x[i] < low:
            low = x[i]
        y[i] = low
    return y


def exchanged(x, y):
    for i in range(len(x) - 1):
        if x[i] > x[i + 1]:
            t = x[i]
            x[i] = x[i + 1]
            x[i + 1] = t
    return x


def taking_turns(x, y):
    a, b = 0.0, 1.0
    for i in range(len(x)):
        a, b = b, a / 2 + x[i]
    return a, b


def overwritten_on_one_side(x, y):
    """What the next turn looks at is stored twice, once under a condition."""
    for i in range(1, len(x)):
        if x[i] > 0.5:
            y[i] = x[i]
        y[i] = max(y[i - 1], 0.5)
    return y


def overwritten_behind(x, y):
    for i in range(1, len(x)):
        y[i] = y[i - 1] * 0.5 + x[i]
        if x[i] > 0.5:
            y[i] = 0.25
    return y


def quotient_that_is_overwritten(x, y):
    for i in range(len(x)):
        y[i] = y[i] / x[i]
        y[i] = 0.5 + y[0]
    return y


def rows_that_change_places(x, y):
    before, row = x.copy(), y.copy()
    for i in range(len(x)):
        for j in range(1, len(x)):
            row[j] = 0.5 * (before[j - 1] + before[j])
        before, row = row, before
    return before


def wrapping(x, y):
    k = np.zeros(len(x), np.uint8)
    c = np.uint8(7)
    for i in range(len(x)):
        for _ in range(8):
            c = (c >> 1) ^ (c << 1) ^ np.uint8(i % 256)
        k[i] = c
    return k


def until_small(x, y):
    e = x[1]
    n = 0
    while e > 1e-3:
        e = e * 0.5
        n += 1
    return e, n


def leaves(x, y):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 0.99:
            break
        s += 1.0 / x[i]
    return s


PROGRAMS = [last_value, value_that_nobody_uses, one_place, stored_twice, constant_in_the_first_turn, constant_on_one_side, compared_only,
            invariant_on_one_side, skipped_where_it_would_warn, empty_inside, three_inside, sum_of_products, into_integers, singles,
            complex_numbers, least, exchanged, taking_turns, overwritten_on_one_side, overwritten_behind,
            quotient_that_is_overwritten, rows_that_change_places, wrapping, until_small, leaves]


def inputs(size):
    x = RNG.random(size)
    yield x
    for value in (0.0, np.nan, np.inf, 1e300) if size < 100 else (0.0,):
        for place in (0, size // 2, size - 1):
            special = x.copy()
            special[place] = value
            yield special


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("size", [66, 2100])
def test_numbers(function, size):
    compiled = fusewire.compile(function)
    for x in inputs(size):
        if function is until_small and not x[1] < 2:
            continue
        y = RNG.random(size)
        for errors in ("warn", "raise", "ignore"):
            with np.errstate(all=errors):
                compare.assert_same_call(function, compiled, (x, y))


@pytest.mark.parametrize("function", [skipped_where_it_would_warn, invariant_on_one_side, empty_inside, leaves, least],
                         ids=lambda f: f.__name__)
def test_nothing_is_reported_that_python_skips(function):
    """A call that declines is done by Python: right, but slow, and for ever."""
    compiled = fusewire.compile(function)
    x, y = RNG.random(500), RNG.random(500)
    compiled(x.copy(), y.copy())
    if function is not leaves:
        x[:] = [0.0, *x[1:]]
    before = sum(v["declines"] for v in fusewire._fusewire.describe(compiled)["variants"])
    for _ in range(5):
        compiled(x.copy(), y.copy())
    assert sum(v["declines"] for v in fusewire._fusewire.describe(compiled)["variants"]) == before


@pytest.mark.parametrize("isa", ["avx512", "avx2", "portable"])
def test_instruction_sets(isa):
    for function in PROGRAMS:
        try:
            compiled = fusewire.compile(function, isa=isa)
        except ValueError:
            pytest.skip(f"this machine has no {isa}")
        for x in (RNG.random(70), np.array([0.0] * 35 + [0.5] * 35)):
            compare.assert_same_call(function, compiled, (x, RNG.random(70)))


def masked_turns(z, n):
    for _ in range(n):
        inside = np.abs(z) <= 2
        z[inside] = z[inside] * z[inside] + 0.25j
    return z


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("isa", ["avx512", "avx2", "portable"])
def test_choices_that_are_neutral_report_nothing(isa, dtype):
    """The magnitude of 0j divides by a 1 that is chosen: nothing is divided by the 0 that is not."""
    for function, arguments in ((masked_turns, lambda n: (np.zeros(n, dtype), 70)), (lambda z: np.abs(z) * 2, lambda n: (np.zeros(n, dtype),))):
        try:
            compiled = fusewire.compile(function, isa=isa)
        except ValueError:
            pytest.skip(f"this machine has no {isa}")
        for n in (1, 3, 8, 100):
            compare.assert_same_call(function, compiled, arguments(n))
        assert not any(v["declines"] for v in fusewire._fusewire.describe(compiled)["variants"])


def rectified(x, out):
    for i in range(len(x)):
        out[i] = max(0, x[i])
    return out


def rectified_sums(x, out):
    for i in range(len(x)):
        out[i] = max(0, x[i]) + min(1, x[i]) * x[i] + (max(0, x[i]) + 1) - max(x[i], 2, x[i] * 3)
    return out


def rectified_and_scaled(x, out):
    """Zeros have a sign only if they are floats."""
    for i in range(len(x)):
        out[i] = max(0, x[i]) * -2 + max(0, x[i]) * -1.0
        out[i] = np.copysign(1, -max(0, x[i])) + out[i]
    return out


def rectified_result(x, out):
    return max(0, x[0]), max(x[1], 0), max(0, x[2]) + 1, abs(min(0, x[3]))


def rectified_carried(x, out):
    s = best = 0.0
    for i in range(len(x)):
        s = max(0, s + x[i])
        best = max(best, s)
    return s, best


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "?", "c16"])
@pytest.mark.parametrize("function", [rectified, rectified_sums, rectified_and_scaled, rectified_result, rectified_carried])
def test_an_int_or_a_float(function, dtype):
    compiled = fusewire.compile(function, economy=False)
    for x in (RNG.normal(size=90), np.array([0.0, -0.0] * 45), RNG.normal(size=90).astype("f4"), np.arange(-45, 45)):
        compare.assert_same_call(function, compiled, (x, np.zeros(90, dtype)))


def test_an_int_or_a_float_is_stored():
    compiled = fusewire.compile(rectified, economy=False)
    compare.assert_same_call(rectified, compiled, (RNG.normal(size=90), np.zeros(90)))
    assert not fusewire._fusewire.describe(compiled)["breaks"]


@pytest.mark.parametrize("term", ["float(x[j])", "x[j] * j", "0.5 * j", "float(x[j]) * float(x[i])"])
def test_sums_that_the_first_turn_leaves_alone(term):
    """The loop inside has no turn in the first one of the loop around."""
    scope = {}
    exec(f"def f(x, n):\n    s = 0.0\n    for i in range(n):\n        for j in range(i):\n            s += {term}\n    return s\n", scope)
    f = scope["f"]
    compiled = fusewire.compile(f, economy=False)
    x = np.linspace(-1, 2, 200)
    for n in (100, 7, 0, 1, 2, 3, 200):
        assert type(compiled(x, n)) is type(f(x, n)) and compiled(x, n) == f(x, n)
    assert {b["reason"] for b in fusewire._fusewire.describe(compiled)["breaks"]} <= {"nothing-to-compile"}
