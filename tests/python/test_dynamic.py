"""Sizes and Python numbers are runtime values: one variant (or a few, by the ways that decisions go) serves them all, and every
call answers what Python answers, exceptions included."""

import math
import time

import numpy as np
import pytest

import fusewire
from compare import assert_same_call


def variants(f):
    facts = fusewire._fusewire.describe(f)
    return len(facts["variants"]) + sum(len(region["variants"]) for region in facts["regions"])


def breaks(f):
    found = [(b["reason"], b["detail"]) for b in fusewire._fusewire.describe(f)["breaks"]]
    return [b for b in found if b[0] != "nothing-to-compile"]   # a branch that answers its argument


def sweep(fn, argument_sets, most, ulp=None, may_break=False):
    """All sets, plain and compiled; at most so many variants, and at least one."""
    compiled = fusewire.compile(fn)
    for arguments in argument_sets:
        assert_same_call(fn, compiled, arguments, ulp)
    assert may_break or not breaks(compiled), breaks(compiled)
    assert 1 <= variants(compiled) <= most, fusewire._fusewire.describe(compiled)["variants"]
    return compiled


SIZES = [5, 7, 2, 12, 20, 3, 33, 64, 100, 6, 9, 17, 31, 128, 4, 11, 50, 81, 63, 65, 24, 2, 257, 1000]


def vectors(*sizes, dtype="f8"):
    return [(np.arange(n, dtype=dtype) - n / 3,) for n in sizes or SIZES]


def matrices():
    return [(np.arange(n * m, dtype="f8").reshape(n, m) - 7,) for n, m in zip(SIZES, SIZES[3:] + SIZES[:3])]


# ---- sizes ------------------------------------------------------------------------------------------------------------

ONE_VARIANT = {
    "slice_tail": lambda x: x[1:] - x[:-1],
    "slice_middle": lambda x: x[1:-1] * 2,
    "slice_step": lambda x: x[::2] + 1,
    "slice_step_three": lambda x: x[1::3] * 2,
    "slice_reversed": lambda x: x[::-1] + x,
    "slice_half": lambda x: x[: len(x) // 2] + 1,
    "slice_other_half": lambda x: x[len(x) // 2 :] + 1,
    "slice_both_halves": lambda x: x[: x.shape[0] // 2].sum() - x[x.shape[0] // 2 :].sum(),
    "slice_none": lambda x: x[None, :, None] + x[:, None],
    "ravel": lambda x: (x[:, None] * x).ravel() + 1,
    "reshape_minus_one": lambda x: (x[:, None] * x).reshape(-1) + 1,
    "reshape_known": lambda x: (x[:, None] * x).reshape(x.size * x.size) + 1,
    "reshape_shape": lambda x: x.reshape(x.shape) + 1,
    "reshape_column": lambda x: x.reshape(-1, 1) + x,
    "reshape_two_rows": lambda x: np.concatenate([x, x]).reshape(2, -1) + 1,
    "reshape_two_columns": lambda x: np.stack([x, x], axis=1).reshape(x.shape[0], 2) + 1,
    "reshape_len_and_minus_one": lambda x: np.concatenate([x, x, x]).reshape(len(x), -1) + 1,
    "concatenate": lambda x: np.concatenate([x, x * 2, x[1:]]),
    "concatenate_zeros": lambda x: np.concatenate([np.zeros(3), x, np.ones(len(x) - 1)]),
    "stack": lambda x: np.stack([x, x + 1]),
    "hstack": lambda x: np.hstack([x, x]) * 2,
    "vstack": lambda x: np.vstack([x, x]) * 2,
    "arange_size": lambda x: np.arange(x.size) * x,
    "arange_bounds": lambda x: np.arange(1, len(x) + 1) * x,
    "arange_step": lambda x: np.arange(0, 2 * len(x), 2) * x,
    "arange_down": lambda x: np.arange(len(x), 0, -1) * x,
    "linspace_size": lambda x: np.linspace(0.0, 1.0, len(x)) * x,
    "zeros_shape": lambda x: np.zeros(x.shape) + x,
    "zeros_tuple": lambda x: np.zeros((len(x), 3)) + x[:, None],
    "ones_expression": lambda x: np.ones(2 * x.shape[0] + 1) * 2,
    "full_shape": lambda x: np.full(x.shape, 2.5) * x,
    "eye_size": lambda x: np.eye(len(x)) * x,
    "mean_by_hand": lambda x: x.sum() / x.size,
    "mean_by_len": lambda x: x.sum() / len(x),
    "size_times": lambda x: x * len(x),
    "size_divided": lambda x: x / x.size,
    "size_floor": lambda x: x + len(x) // 2,
    "size_negative_floor": lambda x: x + -len(x) // 2,
    "size_modulo": lambda x: x + len(x) % 3,
    "size_divmod": lambda x: (x + 1, *divmod(len(x), 4)),
    "size_shifts": lambda x: (x + (len(x) >> 1), len(x) << 3),
    "size_masked": lambda x: (x + (len(x) & 7), len(x) & ~7, len(x) | 1, len(x) ^ 5),
    "size_power": lambda x: (x * len(x) ** 2, x / len(x) ** 0.5),
    "size_sqrt": lambda x: x * math.sqrt(len(x)),
    "size_log": lambda x: x * math.ceil(math.log2(len(x))),
    "size_bits": lambda x: x * len(x).bit_length(),
    "size_float": lambda x: x * float(len(x)),
    "nbytes": lambda x: (x + 1, x.nbytes, x.itemsize, x.ndim),
    "shape_returned": lambda x: (x + 1, x.shape, len(x) - 1),
    "roll": lambda x: np.roll(x, 1) - x,
    "diff": lambda x: np.diff(x) / 2,
    "pad": lambda x: np.pad(x, 1) * 2,
    "repeat_rows": lambda x: np.broadcast_to(x, (3, x.shape[0])) + 1,
    "outer": lambda x: np.outer(x, x),
    "meshgrid": lambda x: sum(np.meshgrid(x, x)),
    "flip": lambda x: np.flip(x) * 2,
    "index_last": lambda x: x[-1] + x[0],
    "index_middle": lambda x: x - x[len(x) // 2],
    "min_of_sizes": lambda x: x[: min(len(x), 1000)] + 1,
    "empty_shape_kept": lambda x: np.empty_like(x).shape == x.shape and x + 1,
}


@pytest.mark.parametrize("name", ONE_VARIANT)
def test_one_variant_for_all_sizes(name):
    sweep(ONE_VARIANT[name], vectors(), 1, ulp=2)


FEW_VARIANTS = {
    "slice_up_to_ten": (lambda x: x[:10] + 1, 2),
    "slice_from_minus_ten": (lambda x: x[-10:] + 1, 2),
    "slice_beyond": (lambda x: x[5:100] + 1, 3),
    "branch_on_size": (lambda x: x + 1 if x.shape[0] > 10 else x - 1, 2),
    "branch_chain": (lambda x: x + 1 if 5 < len(x) <= 50 else x, 3),
    "branch_parity": (lambda x: x[::2] if len(x) % 2 == 0 else x[1::2] * 2, 2),
    "bounded_size": (lambda x: x * min(len(x), 20), 2),
    "larger_size": (lambda x: x * max(len(x), 20), 2),
    "absolute": (lambda x: x * abs(len(x) - 20), 3),
    "linspace_count": (lambda x: np.linspace(0, 1, len(x) - 1), 3),
    "by_tens": (lambda x: (x + len(x) // 10, [None] * 2), 1),
    "shape_compared": (lambda x: x + 1 if x.shape == (7,) else x, 2),
}


@pytest.mark.parametrize("name", FEW_VARIANTS)
def test_few_variants_for_all_sizes(name):
    fn, most = FEW_VARIANTS[name]
    sweep(fn, vectors(), most)


MATRIX = {
    "unpacked": lambda a: a.reshape(a.shape[0] * a.shape[1]) + 1,
    "transposed": lambda a: a.T.reshape(-1) + 1,
    "rows": lambda a: a - a.mean(axis=0),
    "columns": lambda a: a / (1 + np.abs(a).sum(axis=1, keepdims=True)),
    "flattened": lambda a: a.ravel()[::2] + 1,
    "swapped": lambda a: a.reshape(a.shape[1], a.shape[0]) + 1,
    "minus_one_first": lambda a: a.reshape(-1, a.shape[0]) + 1,
    "minus_one_last": lambda a: a.reshape(a.shape[1], -1) + 1,
    "three": lambda a: a.reshape(a.shape[0], 1, a.shape[1]) * 2,
    "tiled": lambda a: np.concatenate([a, a], axis=1).reshape(2 * a.shape[0], -1) + 1,
    "split_columns": lambda a: np.hsplit(np.concatenate([a, a], axis=1), 2)[1] + 1,
    "split_uneven": lambda a: np.array_split(a, 3)[0] + np.array_split(a, 3, axis=1)[1].sum(),
    "split_at": lambda a: [part * 2 for part in np.split(a, [1, -1])],
    "blocks": lambda a: a[: a.shape[0] // 2, a.shape[1] // 2 :] + 1,
    "corners": lambda a: a[0, 0] + a[-1, -1],
    "border": lambda a: a[1:-1, 1:-1] - a[:-2, 1:-1],
    "outer_sum": lambda a: a.sum(axis=1)[:, None] + a.sum(axis=0),
    "scaled": lambda a: a / a.size + a.shape[0] / a.shape[1],
    "half_split": lambda a: np.concatenate(np.split(np.concatenate([a, a]), 2), axis=1),
}


@pytest.mark.parametrize("name", MATRIX)
def test_one_variant_for_all_matrices(name):
    most = 2 if name == "split_uneven" else 1   # a part of one column is added in another order
    sweep(MATRIX[name], matrices(), most, ulp=2)


COLUMNS = {
    "sum": lambda a: (a * 2 + 1).sum(axis=0),
    "mean": lambda a: a.mean(axis=0),
    "var": lambda a: a.var(axis=0),
    "rows": lambda a: a.sum(axis=1),
    "scores": lambda a: (a - a.mean(axis=0)) / a.std(axis=0),
    "pairs": lambda a: (a[:, :, None] + a[:, None, :]).sum(axis=(0, 2)),
    "every_second": lambda a: a[::2].sum(),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("columns", [(1, 3, 2, 1), (3, 1, 2, 3)])
def test_a_column_is_as_good_as_a_matrix(name, columns):
    """NumPy adds along an axis of one element in another order: that is a guard, and no call is left to Python for it."""
    compiled = fusewire.compile(COLUMNS[name])
    rng = np.random.default_rng(1)
    for n in columns:
        for rows in (300, 40):
            assert_same_call(COLUMNS[name], compiled, (rng.random((rows, n)),))
            assert_same_call(COLUMNS[name], compiled, (np.asfortranarray(rng.random((rows, n))),))
    assert not breaks(compiled)
    assert not any(v["declines"] for v in fusewire._fusewire.describe(compiled)["variants"])


def test_unpacked_shape():
    def f(a):
        n, m = a.shape
        total = np.zeros((n, m))
        total += a * n - m
        return total.reshape(m, n)

    sweep(f, matrices(), 1)


def test_broadcast_of_one_and_many():
    pairs = [(n, n) for n in SIZES[:8]] + [(1, n) for n in SIZES[:8]] + [(n, 1) for n in SIZES[:8]] + [(1, 1)]
    sweep(lambda x, y: x * y + 1, [(np.arange(n) + 0.5, np.arange(m) + 1.5) for n, m in pairs], 3)


def test_sizes_that_do_not_broadcast():
    sets = [(np.ones(n), np.ones(m)) for n, m in [(4, 4), (4, 5), (2, 3), (1, 4), (7, 7), (0, 1), (0, 3)]]
    sweep(lambda x, y: x + y, sets, 3, may_break=True)


BOUNDS = [(0, 5), (1, 4), (2, 100), (-3, None), (None, -2), (-100, 3), (5, 2), (None, None), (-4, -1), (3, 3), (0, 0), (100, 200)]


def test_runtime_slice_bounds():
    """Each bound may be None, negative, or beyond the end: as many ways as the clipping of slices has."""
    sets = [(np.arange(n) * 1.5, i, j) for n in (8, 9, 15, 40) for i, j in BOUNDS]
    sweep(lambda x, i, j: x[i:j] + 1, sets, 14)


def test_runtime_slice_bounds_inside():
    sets = [(np.arange(100) * 1.5, i, i + 10 + i % 7) for i in range(40)]
    sweep(lambda x, i, j: x[i:j] + 1, sets, 1)


def test_runtime_index():
    sets = [(np.arange(50) * 1.5, i) for i in range(50)] + [(np.arange(50) * 1.5, -i) for i in range(1, 51)]
    sweep(lambda x, i: x * x[i], sets, 2)


def test_runtime_index_out_of_range():
    sweep(lambda x, i: x * x[i], [(np.arange(5) * 1.5, i) for i in (0, 4, 5, -5, -6, 100, 2)], 2, may_break=True)


@pytest.mark.parametrize("name, fn, most", [
    ("arange", lambda n: np.arange(n) * 2, 2),
    ("arange_three", lambda n: np.arange(1, n, 3) * 2, 2),
    ("zeros", lambda n: np.zeros(n) + 1, 1),
    ("eye", lambda n: np.eye(n) * 2, 1),
    ("identity", lambda n: np.identity(n) * 2, 1),
    ("linspace", lambda n: np.linspace(0, 1, n), 3),
    ("linspace_wide", lambda n: np.linspace(-2.5, n, 7) * 2, 1),
    ("half", lambda n: np.zeros((n // 2, n)) + n, 1),
    ("half_of_negative", lambda n: np.arange(30) + -n // 2, 1),
    ("rest", lambda n: np.arange(30) + n % 7, 1),
    ("reshape", lambda n: np.arange(n * 3).reshape(n, 3) + 1, 2),
    ("reshape_minus_one", lambda n: np.arange(n * 4).reshape(n, -1) + 1, 2),
])
def test_runtime_counts(name, fn, most):
    sweep(fn, [(n,) for n in [*SIZES, 0, 1, 1, 0]] if name != "reshape_minus_one" else [(n,) for n in SIZES], most, ulp=1)


def test_runtime_divisors():
    sets = [(np.arange(60.0), n, k) for n in (60, 17, 100, -9) for k in (1, 2, 3, 7, 60, 5)]
    sweep(lambda x, n, k: (x + n // k, x * (n % k), divmod(n, k)), sets, 1)
    negative = [(np.arange(60.0), n, -k) for n in (60, 17, 100, -9) for k in (1, 2, 3, 7, 60, 5)]
    sweep(lambda x, n, k: (x + n // k, x * (n % k), divmod(n, k)), sets + negative, 2)
    sweep(lambda x, n, k: x + n // k, [*sets, (np.arange(3.0), 5, 0), (np.arange(3.0), 0, 0), *sets], 2, may_break=True)


def test_runtime_rows():
    """As many columns as fit: the size is a quotient of a size and a runtime number."""
    sets = [(np.arange(n * k * 1.0), k) for n in (3, 7, 10) for k in (2, 5, 9, 4)]
    sweep(lambda x, k: x.reshape(-1, k).sum(axis=1), sets, 2)
    sweep(lambda x, k: x.reshape(k, -1).sum(axis=1), sets, 2)
    sweep(lambda x, k: x.reshape(x.size // k, k).sum(axis=1), sets, 2)


def test_ints_that_grow_are_pythons():
    """Capture does not compute what may take for ever."""
    def f(x, n, turns):
        for _ in range(turns):
            n *= n * 7
        return x * 2, n % 10

    compiled, x = fusewire.compile(f), np.ones(3)
    for turns in (16, 3, 17):
        begin = time.perf_counter()
        expected = f(x, 3, turns)
        plain = time.perf_counter() - begin
        assert compiled(x, 3, turns)[1] == expected[1]
        assert time.perf_counter() - begin < 3 * plain + 2


def test_huge_sizes_fail_as_in_python():
    sets = [(4, 4), (2**31 - 1, 2**31 - 1), (2**31, 2**31), (2**40, 2**40), (2**62, 4), (3, 5)]
    sweep(lambda n, m: np.zeros((n, m)) + 1, sets, 3, may_break=True)


# ---- Python numbers ----------------------------------------------------------------------------------------------------

X = np.linspace(-3, 3, 13)
FLOATS = [float(v) for v in np.random.default_rng(5).normal(0, 3, 200)] + [0.5, 2.0, 1e300, -1e-300, 3.0, 7.25]


def decide_ladder(x, c):
    if c > 1.5:
        return x * c
    if c < -1.5:
        return x - c
    return x + c


def decide_nested(x, c, d):
    y = x * 2
    if c * d > 1:
        y = y + c
        if c + d < 0.5:
            y = y - d
    return y


def name_of(x, c):
    kind = "large" if abs(c) > 2 else "small"
    return kind, x * c


def mixed(x, c, n):
    return x * (c * n + n // 2) if c > n else x / (n + 1)


FLOAT_CASES = {
    "scale": (lambda x, c: x * c + c, 1),
    "divide": (lambda x, c: x / c, 1),
    "divide_scalars": (lambda x, c: x * (1.0 / c), 1),
    "divide_by_square": (lambda x, c: x / (c * c + 1), 1),
    "floor_divide": (lambda x, c: x + c // 0.7, 1),
    "modulo": (lambda x, c: x + c % 1.5, 1),
    "divmod": (lambda x, c: (x * 2, divmod(c, 0.3)), 1),
    "power_of_scalar": (lambda x, c: x * abs(c) ** 0.3, 2),
    "power_square": (lambda x, c: x * (c % 100) ** 2, 1),
    "scalar_exponent": (lambda x, c: x * 1.5 ** (c % 100), 1),
    "branch": (lambda x, c: x * 2 if c > 0.5 else x - 1, 2),
    "branch_equal": (lambda x, c: x * 2 if c == 0.5 else x - c, 2),
    "branch_not": (lambda x, c: x * 2 if not c < 0.5 else x - c, 2),
    "branch_truth": (lambda x, c: x * 2 if c - 0.5 else x - 1, 2),
    "branch_and": (lambda x, c: x * 2 if c > -1 and c < 1 else x - 1, 3),
    "branch_chained": (lambda x, c: x * 2 if -1 < c < 1 else x - 1, 3),
    "ladder": (decide_ladder, 3),
    "named": (name_of, 2 * 2),
    "int_of": (lambda x, c: x * int(c / 1e290), 2),
    "int_of_ratio": (lambda x, c: x + int(c % 10), 1),
    "round_of": (lambda x, c: x + round(c % 10), 1),
    "round_digits": (lambda x, c: x + round(c % 10, 2), 1),
    "math_unary": (lambda x, c: x * math.sin(c) + math.cos(c), 1),
    "math_exp": (lambda x, c: x * math.exp(-abs(c) / 1e300), 2),
    "math_sqrt": (lambda x, c: x * math.sqrt(c * c), 1),
    "math_floor": (lambda x, c: x + math.floor(c % 7), 1),
    "math_atan2": (lambda x, c: x + math.atan2(c, 2.0), 1),
    "math_hypot": (lambda x, c: x + math.hypot(c % 3, 4.0), 1),
    "math_isfinite": (lambda x, c: x * c if math.isfinite(c) else x, 1),
    "absolute": (lambda x, c: x * abs(c), 1),
    "minimum": (lambda x, c: x * min(c, 1.0), 2),
    "maximum": (lambda x, c: x * max(c, 1.0, -c), 3),
    "clip_scalar": (lambda x, c: x * max(-1.0, min(1.0, c)), 3),
    "clip_array": (lambda x, c: np.clip(x, -c, c), 1),
    "compare_array": (lambda x, c: (x > c).sum(), 1),
    "where": (lambda x, c: np.where(x > c, x, c), 1),
    "returned": (lambda x, c: (x * 2, c, -c, c * 2, c > 1, c % 7, math.cos(c)), 1),
    "bool_arithmetic": (lambda x, c: x * (c > 0) + (c < 1) * 2, 1),
    "bool_sum": (lambda x, c: x + ((c > 0) + (c > 1) + (c > 2)), 1),
    "is_none": (lambda x, c: x if c is None else x * c, 1),
    "full": (lambda x, c: np.full(5, c), 1),
    "linspace": (lambda x, c: np.linspace(0, c, 7), 1),
    "count": (lambda x, c: np.zeros(int(c % 10) + 1) + c, 1),
    "arange": (lambda x, c: np.arange(0.0, c % 10, 0.25), 2),
    "slice": (lambda x, c: x[: int(c % 10)] + 1, 1),
    "formatted": (lambda x, c: (x * c, "ok" if c >= 0 else "low"), 2),
}


@pytest.mark.parametrize("name", FLOAT_CASES)
def test_float_arguments(name):
    fn, most = FLOAT_CASES[name]
    sweep(fn, [(X, c) for c in FLOATS], most, ulp=2)


def test_two_floats_and_an_int():
    rng = np.random.default_rng(2)
    sets = [(X, float(c), float(d)) for c, d in rng.normal(0, 2, (100, 2))]
    sweep(decide_nested, sets, 3)
    sweep(mixed, [(X, float(c), int(n)) for c, n in zip(rng.normal(3, 3, 100), rng.integers(0, 9, 100))], 2)


SPECIAL_FLOATS = [0.0, -0.0, 1.0, math.inf, -math.inf, math.nan, 5e-324, 1.7976931348623157e308, -1.0, 0.1, 2.0**53, 1e16]


@pytest.mark.parametrize("fn", [
    lambda x, c: (x * c, c > 1, c == c, not c),
    lambda x, c: x * 2 if c > 0 else x,
    lambda x, c: x * 2 if c else x,
    lambda x, c: x * 2 if c != c else x + c,
    lambda x, c: (x, 1.0 / c),
    lambda x, c: (x, c // 2.0, c % 2.0),
    lambda x, c: (x, 5.0 // c),
    lambda x, c: (x, -7.5 % c),
    lambda x, c: (x, c ** 0.5),
    lambda x, c: (x, 0.0 ** c),
    lambda x, c: (x, 2 ** c),
    lambda x, c: (x, int(c)),
    lambda x, c: (x, round(c)),
    lambda x, c: (x, round(c, 1)),
    lambda x, c: (x, math.exp(c)),
    lambda x, c: (x, math.log(c)),
    lambda x, c: (x, math.sqrt(c)),
    lambda x, c: (x, math.floor(c)),
    lambda x, c: (x, max(c, 0.5), min(0.5, c), max(0.5, c)),
    lambda x, c: (x, abs(c), -c, +c),
    lambda x, c: (x, c < 2**53 + 1, c == 2**53 + 1, c >= 10**16 + 1),
    lambda x, c: (x, c * 10, c + 1, c - 1e308),
    lambda x, c: (x, c.is_integer()),
    lambda x, c: (x, divmod(c, 3)),
    lambda x, c: (x, float(c), bool(c)),
])
def test_special_floats(fn):
    compiled = fusewire.compile(fn)
    for c in SPECIAL_FLOATS * 2:
        assert_same_call(fn, compiled, (X, c))


EDGES = [2**31 - 1, 2**31, 2**31 + 1, -(2**31) - 1, 2**32, 2**53, 2**53 + 1, 2**61, 2**62 - 1, 2**62, 2**62 + 1, 2**63 - 1, 2**63,
         -(2**63), -(2**63) - 1, 2**64 - 1, 2**64, -(2**64), 3, 0, -1, 1, 2**40, 10**30]


@pytest.mark.parametrize("fn", [
    lambda x, n: (x, n + 1, n - 1, n * 2, -n, ~n, abs(n)),
    lambda x, n: (x, n * n, n**3),
    lambda x, n: (x, n << 1, n << 40, n >> 3, n >> 100),
    lambda x, n: (x, n & 0xFFFF, n | 1, n ^ 255, n & -n),
    lambda x, n: (x, n // 7, n % 7, n // -7, n % -7, divmod(n, 10)),
    lambda x, n: (x, n / 3, n / 2**53),
    lambda x, n: (x, 100 / n, 100 // n, 100 % n),
    lambda x, n: (x, n ** 2, n ** 0, n ** 1),
    lambda x, n: (x, 2.5 * n, n + 0.5, n - 1e10, n / 2.5),
    lambda x, n: (x, n < 2.0**53, n == 2.0**53, n >= 1e18, 0.5 < n),
    lambda x, n: (x, float(n)),
    lambda x, n: (x, int(n), bool(n), not n, n > 0, n == 2**63, n <= 2**31),
    lambda x, n: (x, min(n, 5), max(n, 2**35)),
    lambda x, n: (x, n.bit_length(), n.real, n.imag, n.numerator),
    lambda x, n: (x, math.sqrt(abs(n)), math.floor(n), math.gcd(n, 12)),
    lambda x, n: x * 2 if n > 2**32 else x,
    lambda x, n: (x, (n * 3) % 1000 + n // 2),
    lambda x, n: (x, hash(n), str(n)),
    lambda x, n: (x, [n, n + 1], {n: 1}),
    lambda x, n: (x, n * 2**31 * 4, n + 2**62 + 2**62),
    lambda x, n: (x, round(n), round(n, -2)),
    lambda x, n: (x, pow(n, 2, 7)),
    lambda x, n: (x, (n + 1) * (n - 1) == n * n - 1),
])
def test_ints_at_the_edges(fn):
    compiled = fusewire.compile(fn)
    for n in EDGES * 2:
        assert_same_call(fn, compiled, (X, n))


@pytest.mark.parametrize("fn", [
    lambda x, n: x * n,
    lambda x, n: x + n // 3,
    lambda x, n: x.astype("i4") + n,
    lambda x, n: x.astype("i8") * n,
    lambda x, n: x.astype("u1") + n,
    lambda x, n: x.astype("f4") * n,
    lambda x, n: x.astype("i4") > n,
    lambda x, n: np.full(3, n),
    lambda x, n: np.array([n, n + 1]),
    lambda x, n: x[:n],
    lambda x, n: x[n:],
    lambda x, n: x[::n],
    lambda x, n: np.arange(n, n + 5),
])
def test_arrays_with_ints_at_the_edges(fn):
    compiled = fusewire.compile(fn)
    for n in EDGES * 2:
        assert_same_call(fn, compiled, (X, n))


def test_shifts_and_powers():
    compiled = fusewire.compile(shift := lambda x, n, k: (x, n << k, n >> k))
    for n in (1, -5, 2**40, 0):
        for k in (0, 1, 5, 31, 62, 63, 64, 200, -1):
            assert_same_call(shift, compiled, (X, n, k))
    compiled = fusewire.compile(power := lambda x, n, k: (x, n**k))
    for n in (2, -3, 0, 1, -1, 10, 2**31):
        for k in (0, 1, 2, 3, 20, 62, 63, 64, -1, -2, 0.5, -0.5):
            assert_same_call(power, compiled, (X, n, k))


def test_a_thousand_floats():
    def f(x, c):
        y = x * c + math.tanh(c)
        if c > 0.25:
            y = y / c
        return y ** 2 if c < 0.75 else y

    rng = np.random.default_rng(11)
    sweep(f, [(X, float(c)) for c in rng.uniform(-1, 1.5, 1000)], 3, ulp=2)


def test_two_hundred_ints():
    def f(x, n):
        k = (n * 7 + 3) % 11
        return x * k + (n >> 2) - (n ^ 21) if n % 2 else x - n // 3

    sweep(f, [(X, int(n)) for n in np.random.default_rng(3).integers(-1000, 1000, 200)], 2)
    sweep(f, [(X, int(n)) for n in np.random.default_rng(4).integers(-(2**58), 2**58, 200)], 2)


def test_branches_without_arrays_first():
    """A way that has nothing to compile does not keep the others from being compiled."""
    sets = [(X, c) for c in (0.0, 2.0, 3.0, 0.1, -1.0, 5.0)]
    sweep(lambda x, c: x * c if c > 1 else x, sets, 1)
    sweep(lambda x, c: x * c if c > 1 else None, sets, 1)


def test_empty_arrays_for_long():
    """Calls that had nothing to compile because their arrays were empty do not decide about later ones."""
    def f(x):
        total = 0.0
        for v in x:
            total += v * v
        return total

    compiled = fusewire.compile(f, economy=False)
    for _ in range(40):
        assert compiled(np.zeros(0)) == 0.0
    breaks = fusewire._fusewire.describe(compiled)["breaks"]
    assert [b["reason"] for b in breaks] == ["nothing-to-compile"]
    for n in range(200):
        assert compiled(X[:9]) == f(X[:9])
    described = fusewire._fusewire.describe(compiled)
    assert len(described["variants"]) == 1 and not described["breaks"]
    assert compiled(np.zeros(0)) == 0.0


def test_fifty_shapes():
    def f(a, b):
        n, m = a.shape
        c = np.concatenate([a, b]).reshape(-1, m)
        return c[: n // 2].sum(axis=0) + c[n // 2 :].mean(axis=0) * (n + m)

    rng = np.random.default_rng(8)
    sweep(f, [(rng.normal(size=(n, m)), rng.normal(size=(k, m))) for n, k, m in rng.integers(2, 40, (50, 3))], 1, ulp=4)


def test_exponents():
    """NumPy computes some exponents by other functions; the classes are guarded, not each exponent."""
    x = np.linspace(0.1, 4, 9)
    exponents = [2.0, 0.5, 1.0, 0.0, -1.0, 3.0, 2, 0, 1, -1, 3, *np.random.default_rng(1).uniform(-3, 3, 60).tolist()]
    sweep(lambda x, p: x**p, [(x, p) for p in exponents], 12, ulp=4)
    sweep(lambda x, p: np.power(x, p), [(x, p) for p in exponents], 12, ulp=4)
    sweep(lambda x, p: x**p, [(x.astype("f4"), p) for p in exponents], 12, ulp=4)


def test_int_exponents():
    sets = [(np.arange(1, 6), p) for p in (0, 1, 2, 3, 4, 5, 6, 7, 3, 2, 1)]
    sweep(lambda x, p: x**p, sets, 8, may_break=True)


def test_bools():
    sweep(lambda x, flag: x * flag + (1 - flag), [(X, v) for v in (True, False) * 4], 2)
    sweep(lambda x, flag: x if flag else -x, [(X, v) for v in (True, False) * 4], 2)
    sweep(lambda x, a, b: x * (a and b) + (a or b) + (a ^ b), [(X, a, b) for a in (True, False) for b in (True, False)] * 2, 4)


def test_loops_over_runtime_counts():
    """A loop that is unrolled takes its trip count for a constant; what is computed from the count outside does not."""
    def f(x, n):
        x = x * n
        for i in range(n):
            x = x * 0.5 + i
        return x

    sweep(f, [(X, n) for n in (0, 1, 2, 3, 1, 2, 0, 3)], 4)


def test_while_on_a_float():
    def f(x, c):
        while c > 1.0:
            c = c / 2
            x = x + 1
        return x * c

    sweep(f, [(X, float(c)) for c in np.random.default_rng(7).uniform(0.1, 7.9, 60)], 4)


# ---- NumPy scalars ------------------------------------------------------------------------------------------------------

SCALARS = [np.float64(3.5), np.float32(0.1), np.int32(2), np.int64(-7), np.uint8(200), np.bool_(True), np.float16(1.5), np.complex64(1 + 2j),
           np.int8(-3), np.uint64(5)]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1", "?", "c16"])
def test_numpy_scalars_promote_exactly(dtype):
    x = np.arange(1, 7).astype(dtype)
    fns = [lambda x, s: x * s, lambda x, s: s + x, lambda x, s: x > s, lambda x, s: np.where(x > 1, x, s)]
    for fn in fns:
        for convert in (lambda s: s, np.array):
            compiled = fusewire.compile(fn)
            for s in SCALARS:
                assert_same_call(fn, compiled, (x, convert(s)), 2)


def test_profile_keeps_no_values(tmp_path):
    """Decisions on numbers are those of the calls that make them: a profile holds sizes and breaks, and serves other values."""
    f = fusewire.compile(decide_ladder)
    for c in (2.0, 0.5):
        f(X, c)
    fusewire.save_profile(tmp_path / "profile.json")
    fusewire.load_profile(tmp_path / "profile.json")
    sweep(decide_ladder, [(X, c) for c in (0.1, 7.0, -9.0)], 3)


@pytest.mark.parametrize("make", [np.float64, np.float32])
def test_numpy_floats_are_not_specialised(make):
    sets = [(X.astype(make), make(c)) for c in np.random.default_rng(3).normal(0, 2, 100)]
    sweep(lambda x, s: x * s + s, sets, 1)
    sweep(lambda x, s: x * 2 if s > 0.1 else x - s, sets, 2)
    sweep(lambda x, s: x * float(s), sets, 1)
    sweep(lambda x, s: x * 2 if 0 < s < 1 else x, sets, 3)
    sweep(lambda x, s: x if s * 2 > s + 1 else -x, sets, 2)


@pytest.mark.parametrize("make", [np.int64, np.int32, np.int8, np.uint8, np.uint16])
def test_numpy_ints_are_not_specialised(make):
    sets = [(X, make(n)) for n in range(1, 100)]
    sweep(lambda x, s: x * s, sets, 1)
    sweep(lambda x, s: x * 2 if s > 17 else x + 1, sets, 2)
    sweep(lambda x, s: np.zeros(int(s)) + 1, sets, 1)
    sweep(lambda x, s: x * int(s) + int(s) // 2, sets, 1)


def test_numpy_bools():
    sweep(lambda x, s: x * 2 if s else x, [(X, np.bool_(v)) for v in (1, 0, 1, 0)], 2)


def test_arrays_without_dimensions():
    sweep(lambda x, s: x * s + s, [(X, np.array(float(c))) for c in range(50)], 1)


# ---- control ---------------------------------------------------------------------------------------------------------------

def test_static_and_dynamic_variants_exclude_each_other():
    f = fusewire.compile(lambda x: x * 2 + len(x))
    static = np.arange(4.0)
    fusewire.mark_static(static, 0)
    for n in (8, 9):
        assert np.array_equal(f(np.arange(float(n))), np.arange(float(n)) * 2 + n)
    assert variants(f) == 1
    for x in (static, np.arange(5.0), static, np.arange(4.0)):
        assert np.array_equal(f(x), x * 2 + len(x))
    assert variants(f) == 2


def test_dynamic_false_specialises_and_true_does_not():
    for dynamic, expected in ((False, 3), (True, 1), (None, 1)):
        f = fusewire.compile(lambda x: x * 2 + len(x), dynamic=dynamic)
        for n in (3, 4, 5, 4, 3):
            assert np.array_equal(f(np.arange(float(n))), np.arange(float(n)) * 2 + n)
        assert variants(f) == expected


def test_guards_name_the_decision():
    f = fusewire.compile(decide_ladder)
    for c in (2.0, 0.0):
        f(X, c)
    guards = " ".join(v["guards"] for v in fusewire._fusewire.describe(f)["variants"])
    assert "c > 1.5 is True" in guards and "c > 1.5 is False" in guards and "c < -1.5 is False" in guards


def strided_and_generated(n, k):
    a = np.arange(n * k)
    return a[::k], np.arange(0, n, k)


def twins(n, m):
    a, b = np.arange(n) * 2.0, np.arange(m) * 2.0
    return a[1:], b[1:], a, b, a[::-1], b[:2]


@pytest.mark.parametrize("form", [strided_and_generated, twins], ids=lambda f: f.__name__)
def test_equal_values_are_arrays_of_their_own(form):
    """Sizes may make two computations one; what they return is two arrays, each with its own views."""
    compiled = fusewire.compile(form)
    shared = lambda arrays: [[np.shares_memory(a, b) for a in arrays] for b in arrays]
    for sizes in ((4, 2), (1, 1), (3, 1), (3, 3), (5, 5)):
        expected, actual = form(*sizes), compiled(*sizes)
        assert shared(actual) == shared(expected)
        assert all(np.array_equal(a, b) for a, b in zip(actual, expected))
        assert [a.base is None for a in actual] == [a.base is None for a in expected]
    assert fusewire._fusewire.describe(compiled)["variants"]


def test_bounds_that_meet_are_guarded():
    """Opposite guards pin a number to one value, which then counts as that constant; the guards themselves must not."""
    def last(x, n):
        return x + [i for i in range(n)][-1]

    def between(x, n):
        return x * 2 if 1 < n < 3 else x * 3 if 3 <= n <= 3 else x

    x = np.arange(3.0)
    for plain in (last, between):
        f = fusewire.compile(plain)
        for n in (5, 2, 3, 2, 4, 5, 1, 6, 7, 3, 2, 8, 3, 1):
            np.testing.assert_array_equal(f(x, n), plain(x, n), err_msg=f"{plain.__name__}, n = {n}")


def columns_of_patches(x, w):
    """im2col, as convolutions are written everywhere."""
    filters, channels, kh, kw = w.shape
    images, _, height, width = x.shape
    oh, ow = height - kh + 1, width - kw + 1
    col = np.zeros((images, channels, kh, kw, oh, ow))
    for i in range(kh):
        for j in range(kw):
            col[:, :, i, j] = x[:, :, i:i + oh, j:j + ow]
    col = col.transpose(0, 4, 5, 1, 2, 3).reshape(images * oh * ow, -1)
    return (col @ w.reshape(filters, -1).T).reshape(images, oh, ow, filters), col.shape


def untouched_columns(x, w):
    filters, channels, kh, kw = w.shape
    images, _, height, width = x.shape
    oh, ow = height - kh + 1, width - kw + 1
    return np.zeros((images, channels, kh, kw, oh, ow)).reshape(images * oh * ow, -1)


def rows_of_products(x, w):
    images, channels, height, width = x.shape
    flat = x.reshape(images * channels, -1)
    return flat, x.reshape(-1, height * width), (x + 1).reshape(channels * images, width, -1), np.ones((width, 2 * images, 3)).reshape(6, -1)


@pytest.mark.parametrize("form", [columns_of_patches, untouched_columns, rows_of_products], ids=lambda f: f.__name__)
def test_sizes_left_over_of_products(form):
    shapes = [((4, 3, 12, 11), (2, 3, 3, 3)), ((2, 3, 9, 7), (2, 3, 3, 3)), ((5, 3, 20, 16), (4, 3, 3, 3)), ((3, 3, 8, 31), (7, 3, 3, 3))]
    began = time.process_time()
    filled = lambda shape, modulus: np.reshape(np.arange(math.prod(shape)) * 0.5 % modulus, shape)
    sweep(form, [(filled(a, 7), filled(b, 3)) for a, b in shapes], 1)
    assert time.process_time() - began < 4   # a proof of where the elements are once never came to an end


def test_sizes_left_over_that_do_not_fit():
    compiled = fusewire.compile(lambda x, n: x.reshape(n * len(x), -1))
    for shape, n in [((4, 6), 1), ((4, 6), 2), ((4, 6), 5), ((0, 6), 2), ((4, 0), 2), ((4, 6), 0), ((3, 7), 7), ((3, 7), 3), ((1, 1), 1)]:
        assert_same_call(lambda x, n: x.reshape(n * len(x), -1), compiled, (np.ones(shape), n))
