"""Python scalars: integers that overflow, floats with signs and NaN, bools, complex; runtime arguments. Part of corpus_lang."""

import numpy as np

from corpus_case import Corpus

corpus = Corpus()
case, group = corpus.case, corpus.group

INTS = [0, 1, -1, 7, 2**31, -(2**63), 2**63 - 1, 2**64]
FLOATS = [0.0, -0.0, 1.5, -2.5, float("inf"), float("nan"), 1e308, 5e-324]
PAIRS = [3, 3.0, True, -2, 2**62, 0, 1e200, None]

group("scalars")


@case(a=INTS, b=INTS[::-1])
def integer_arithmetic(a, b):
    return a + b, a - b, a * b, -a, +a, ~a, abs(a), a & b, a | b, a ^ b


@case(a=INTS, b=[3, -3, 2, -2, 7, 10, -1, 0])
def integer_division(a, b):
    return a // b, a % b, divmod(a, b), a / b


@case(a=[0, 1, -1, 5, 2**40, 3, -7, 1], n=[0, 1, 62, 63, 64, 200, 3, -1])
def integer_shifts(a, n):
    return a << n, a >> n


@case(a=[2, -2, 3, 0, 10, 2, 7, 0], n=[3, 5, 40, 0, -1, 100, -2, -1])
def integer_powers(a, n):
    return a**n


@case(a=INTS)
def integer_mixed_with_array(v, a):
    return v + a, v.sum() * 2 if a == 0 else a


@case(n=INTS)
def integer_overflow_in_loop(v, n):
    for _ in range(4):
        n = n * n + 1
    return n, v * 2


@case(a=INTS)
def integer_compared(v, a):
    return a < 5, a == 7, a >= 2**63, a != 0, (v if a > 0 else -v), bool(a), 0 < a < 2**62


@case(a=INTS)
def integer_methods(a):
    return a.bit_length(), a.real, a.numerator, a.bit_count(), int(a), float(a), str(a), hash(a)


@case(a=FLOATS, b=[1.0, 0.0, -0.0, 3.0, 2.0, 1.0, 10.0, 2.0])
def float_arithmetic(a, b):
    return a + b, a - b, a * b, -a, abs(a), a < b, a == a, a != b


@case(a=FLOATS, b=[1.0, 0.5, -3.0, 0.7, 2.0, 1.0, 1e-308, 2.0])
def float_division(a, b):
    return a / b, (a // b, a % b) if abs(a) < 1e300 else None


@case(a=[1.0, 0.0, -0.0, 2.5, -7.5, 1e300, 3.0, 0.1], b=[0.0, 0.0, 1.0, -1.0, 2.0, 1e-300, -0.0, 0.3])
def float_division_by_zero(v, a, b):
    y = v + a
    return y, a / b


@case(a=[2.0, -8.0, 0.0, 4.0, -2.0, 1e200, 2.5, 0.0], b=[0.5, 1 / 3, 0.0, -0.5, 3.0, 2.0, 2, -1.0])
def float_powers(a, b):
    return a**b


@case(a=FLOATS)
def float_signs_and_branches(v, a):
    y = v * 2 if a else v
    return y, a or "zero", not a, a is a, min(a, 0.0), max(a, -0.0), str(a)


@case(a=FLOATS)
def float_as_array_operand(v, a):
    with np.errstate(all="ignore"):
        return v * a, v + a, a - v


@case(a=[1.5, 2.5, -1.5, 0.5, 1e10, 3.14159, -0.0, 7.0])
def float_methods(a):
    return round(a), round(a, 1), int(a), a.is_integer(), a.hex(), divmod(a, 1.0), a.as_integer_ratio(), f"{a:.3f}"


@case(a=PAIRS, b=PAIRS[::-1])
def mixed_arithmetic(a, b):
    return a + b, a * b, a - b


@case(a=PAIRS, b=PAIRS[::-1])
def mixed_comparison(a, b):
    return a == b, a != b, a is b, (a, 1) == (b, 1)


@case(a=[True, False, True, False] * 2, b=[True, True, False, 3, 2.5, None, -1, 0])
def bool_arithmetic(a, b):
    return a and b, a or b, not a, a + 1, a & True, a | False, a ^ True, a * 2.5, ~int(a), a == 1, a is True


@case(a=[1j, 1 + 2j, 2, 0j, -1.5, 3 - 1j, True, 1e200j])
def complex_arithmetic(a):
    return a * (1 + 1j), a + 1, abs(a), a == 1j, (a * 2).imag, complex(a).conjugate()


@case(k=[1, 2.5, True, np.float64(1.5), np.float32(2), np.int64(3), np.bool_(True), np.int8(-4)])
def numpy_scalars_mixed(v, k):
    return k + 1, k * 2.0, v * k, -k if not isinstance(k, (bool, np.bool_)) else k, type(k + 1).__name__, k == 1


@case(k=[np.int8(127), np.uint8(255), np.int32(2**31 - 1), np.int64(2**63 - 1), np.float32(3e38), np.uint64(2**64 - 1), np.int16(-32768), np.float16(60000)])
def numpy_scalars_overflow(k):
    return k + k, k * 2 if k.dtype.kind == "f" else k - 1


@case(k=[np.float64(0.0), np.int64(0), np.float32(-0.0), 0.0, 0, np.float64(2), np.uint8(0), np.int32(3)])
def numpy_scalars_divided(k):
    return np.float64(1) / k, k


@case
def elements_of_arrays(v):
    a, b = v[0], v[-1]
    return a + b, a > b, float(a), int(a), a.item(), (a * 2).dtype, [a, b], max(a, b)


@case
def scalar_from_reduction_branches(v):
    s = v.sum()
    if s > 0:
        return s * 2
    elif s == 0:
        return 0
    return -s, round(float(s), 2)


@case(n=[3, 0, -2, 2**40, 5, 7, True, 2.0])
def scalar_as_size(n):
    if isinstance(n, float) or n > 1000:
        return n
    return np.zeros(n) + 1, np.arange(n) * 2


@case(a=[1, 2, 3, 4, 5, 6, 7, 8])
def scalar_changes_every_call(v, a):
    return v * a + a, a * 2


@case(a=[1.5, 2.5, -3.5, 4.25, 1e10, -0.0, 6.5, 7.5])
def scalar_float_changes_every_call(v, a):
    return v * a + a, a * 2


@case(a=[1, 1.0, True, 2, 2.0, 1, False, 0])
def scalar_equal_but_of_other_type(v, a):
    return v + a, [a], {a: 1}, a


@case(a=[0, 1, 255, 256, 257, 10**5, -5, -6])
def small_integers_and_identity(a):
    b = a + 0
    return b == a, b, [b, b][0] is b


@case(n=[0, 1, 2, 3, 4, 5, 6, 7])
def scalar_as_index(v, n):
    w = v * 2
    return w[n], w[-n - 1]


@case(n=[0, 1, 2, 3, -1, -2, 6, 100])
def scalar_as_slice_bound(v, n):
    return v[n:], v[:n], v[n::2] * 2, len(v[:n])


@case(n=[0, 1, 2, 5, 12, 3, -1, 4])
def scalar_as_shape(n):
    a = np.arange(12.0)
    return a.reshape(n, -1)


@case(n=[0, 1, 2, 3, 4, 5, 6, 7])
def collatz(n):
    steps = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps, np.full(2, steps)


@case
def augmented_on_all(x, n):
    a, b, c, e = 10, 10, 10, 3
    a += n
    b -= n
    c *= n
    e **= 2
    a //= 3
    b %= 4
    c <<= 1
    c >>= 1
    c |= 1
    c &= 7
    c ^= 2
    f = 1
    f /= 4
    return a, b, c, e, f, x + a


@case
def bitwise_on_bools_and_masks(v, n):
    mask = (v > 0) & (v < n) | ~(v != 2)
    return mask, mask.sum(), bool(mask.any()) & True, (n & 1) | 2


RATES = [0.25, 2.0, -1.5, 0.5, 1e-3, 3.0, 0.0, 7.5]


@case(a=RATES, ulp=2)
def float_ladder(v, a):
    if a > 1:
        return v * a
    elif a > 0.1:
        return v / a
    return v - a


@case(a=RATES, n=[1, 2, 3, 0, 5, -2, 7, 4], ulp=2)
def float_compared_with_int(v, a, n):
    if n < a <= 10:
        return v * n
    return v + (a if a >= n else n)


@case(a=RATES, n=[2, 0.5, 3, 1, -1, 0.3, 2.5, 0], ulp=4)
def exponents(v, a, n):
    with np.errstate(all="ignore"):
        return np.abs(v) ** n, (abs(a) + 1) ** n, v**2


@case(a=RATES, ulp=2)
def math_of_floats(v, a):
    import math

    return v * math.exp(a), math.floor(a), math.sqrt(abs(a)), math.atan2(a, 1.0), math.copysign(2.0, a), math.isnan(a), math.hypot(a, 3)


@case(a=[*RATES[:6], float("inf"), float("nan")])
def math_that_raises(v, a):
    import math

    return v + 1, math.sqrt(a), math.log(a), math.floor(a)


@case(a=RATES)
def divisors_that_may_be_zero(v, a):
    try:
        return v * (1.0 / a), 7 // a, 7 % a
    except ZeroDivisionError as error:
        return v, str(error)


@case(a=RATES)
def conversions(v, a):
    return v * int(a * 4), v[: int(abs(a)) + 1] * 2, round(a), round(a, 1), float(int(a)), bool(a), a.is_integer(), int(a) // 2


@case(a=RATES, ulp=1)
def ranges_of_floats(a):
    return np.arange(0.0, a, 0.125), np.linspace(a, 2 * a + 1, 5), np.full(3, a)


@case(a=RATES)
def while_on_a_float(v, a):
    steps = 0
    while a > 0.3:
        a *= 0.5
        steps += 1
    return v * a, steps


@case(a=RATES)
def bools_of_floats(v, a):
    return v * (a > 0) + (a < 1), (a > 0) + (a > 1), (a > 0) & (a < 3), (a > 0) | (a == 0), not a > 0, max(a > 0, a > 2)


@case(n=[1, 5, 2**31, 2**40 + 1, 2**62, 2**63 - 1, -(2**50), 2**64])
def wide_ints(v, n):
    return v + n % 1000, n * 2 + 1, n >> 5, n ^ 0xFF, n // 3 - n, n * n, -n, n / 2, n < 2.0**40


@case(n=[6, 1, 12, 3, 60, 4, 2, 5], k=[2, 1, 5, -3, 7, 4, 6, 0])
def divided_by_runtime(v, n, k):
    return v * (n // k) + n % k, divmod(n, k), n / k


@case(n=[6, 1, 12, 3, 60, 4, 2, 5], k=[2, 1, 5, 3, 7, 4, 6, 1])
def shapes_of_runtime_numbers(n, k):
    a = np.arange(n * k)
    return a.reshape(n, k) + 1, a.reshape(-1, k).sum(axis=1), a[::k], np.zeros((n // k + 1, n % k)), np.arange(-1, n, k)


@case(m=[lambda n=n: np.arange(12.0 * n).reshape(3, 4 * n) for n in (1, 2, 3, 4, 5, 6, 7, 8)])
def split_sizes(m):
    left, right = np.hsplit(m, 2)
    first, *rest = np.array_split(m, 5, axis=1)
    return left + right, first * 2, [r.shape for r in rest], np.split(m, [1, 2])[1] + 1, [p.base is None for p in rest]


@case(k=[np.float64(0.25), np.float32(2.5), np.int64(3), np.uint8(7), np.bool_(True), np.int16(-2), np.float64("nan"), np.float32(-0.0)])
def numpy_scalars_in_branches(v, k):
    if k > 1:
        return v * k, float(k)
    return (v - float(k)) * 2, 0 if k else 1


@case(c=[2.5 + 1j, 1j, 0j], k=[np.float64(1.5), np.float64(-0.0), np.float32(2.5), 3.5])
def complex_and_numpy_floats(v, c, k):
    return [type(x).__name__ for x in (c + k, k + c, c * k, c - k, k - c)], c + k, k * c, v * 2


@case(n=[None, "a", 1j, 2.5, 7, True])
def rounded(v, n):
    try:
        return round(n), v + 1
    except TypeError as error:
        return str(error), v
