"""Small functions over NumPy arrays with makers of arguments: what every part of the compiler is run against.

A case holds a function, makers of argument tuples (fresh arrays on every call, always the same values), the distance in
units in the last place that its floats may have (None: bit for bit), and whether it has to compile without a break.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    fn: Callable
    make_args: list[Callable[[], tuple]]
    ulp: int | None = None
    must_compile: bool = True


CASES: list[Case] = []


def case(name, fn, make_args, ulp=None, must_compile=True):
    assert all(c.name != name for c in CASES), name
    CASES.append(Case(name, fn, list(make_args), ulp, must_compile))


# ---- arguments -----------------------------------------------------------------------------------------------------


def values(shape, dtype="f8", seed=0):
    """Reproducible values: integers over a small range, floats around zero."""
    rng = np.random.default_rng([seed, *np.atleast_1d(shape)])
    d = np.dtype(dtype)
    if d.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if d.kind in "iu":
        return rng.integers(0 if d.kind == "u" else -50, 100, shape).astype(d)
    real = rng.standard_normal(shape)
    return np.asarray(real + 1j * rng.standard_normal(shape) if d.kind == "c" else real).astype(d)


def positive(shape, dtype="f8", seed=0):
    return np.asarray(np.abs(values(shape, dtype, seed)) + np.dtype(dtype).type(0.5)).astype(dtype)


def f_order(x):
    return np.asfortranarray(x)


def strided(x):
    """The same values with gaps in memory along every axis."""
    big = np.zeros([2 * n for n in x.shape], x.dtype)
    view = big[tuple(slice(None, None, 2) for _ in x.shape)]
    view[...] = x
    return view


def inner(x):
    """The same values, contiguous along the last axis only."""
    big = np.zeros(x.shape[:-1] + (x.shape[-1] + 3,), x.dtype)
    view = big[..., 1 : 1 + x.shape[-1]]
    view[...] = x
    return view


def negative(x):
    """The same values walked backwards in memory along the first axis."""
    return x[::-1].copy()[::-1]


SHAPES_1D = [(7,), (1,), (300,)]
SPECIALS = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, 1e308, -2.5, 0.5, 1.5])


def ones_d(dtype="f8", seed=0):
    """Vectors of several layouts."""
    return [lambda: (values(7, dtype, seed),), lambda: (strided(values(7, dtype, seed)),),
            lambda: (negative(values(9, dtype, seed)),), lambda: (values(1000, dtype, seed),)]


def twos(dtype="f8", seed=0, shape=(5, 6)):
    """Matrices of several layouts."""
    return [lambda: (values(shape, dtype, seed),), lambda: (f_order(values(shape, dtype, seed)),),
            lambda: (strided(values(shape, dtype, seed)),), lambda: (inner(values(shape, dtype, seed)),),
            lambda: (negative(values(shape, dtype, seed)),)]


def packed(dtype="f8", shape=(5, 6)):
    return [lambda: (values(shape, dtype),), lambda: (f_order(values(shape, dtype)),), lambda: (values((40, 33), dtype),)]


def c_only(dtype="f8", shape=(5, 6)):
    return [lambda: (values(shape, dtype),), lambda: (values((12, 7), dtype),)]


def pairs(dtype="f8", other=None):
    other = other or dtype
    return [lambda: (values(7, dtype), values(7, other, 1)),
            lambda: (strided(values(7, dtype)), values(7, other, 1)),
            lambda: (values((4, 5), dtype), f_order(values((4, 5), other, 1))),
            lambda: (values((4, 5), dtype), values(5, other, 1)),
            lambda: (values((4, 1), dtype), values((1, 5), other, 1))]


def positive_pairs(dtype="f8"):
    return [lambda: (positive(7, dtype), positive(7, dtype, 1)), lambda: (positive((4, 5), dtype), positive(5, dtype, 1))]


def with_scalar(scalar, dtype="f8"):
    return [lambda: (values(7, dtype), scalar), lambda: (strided(values((3, 4), dtype)), scalar)]


def specials(dtype="f8"):
    return [lambda: (SPECIALS.astype(dtype) if dtype == "f8" else np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2.5], dtype),)]


# ---- arithmetic ----------------------------------------------------------------------------------------------------

OPERATORS = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
}
for _name, _fn in OPERATORS.items():
    for _d in ("f8", "f4", "i8", "i4", "u1"):
        case(f"{_name}_{_d}", _fn, pairs(_d))
    case(f"{_name}_float", _fn, with_scalar(0.25))
    case(f"{_name}_int", _fn, with_scalar(3))
    case(f"{_name}_int_i2", _fn, with_scalar(3, "i2"))
for _name in ("add", "mul", "eq"):
    case(f"{_name}_c16", OPERATORS[_name], pairs("c16"))
for _name in ("add", "mul", "lt"):
    case(f"{_name}_f4_f8", OPERATORS[_name], pairs("f4", "f8"))
    case(f"{_name}_i4_f4", OPERATORS[_name], pairs("i4", "f4"))
    case(f"{_name}_bool_i8", OPERATORS[_name], pairs("?", "i8"))
case("add_bool", lambda x, y: x + y, pairs("?"))
case("div_f8", lambda x, y: x / y, positive_pairs())
case("div_f4", lambda x, y: x / y, positive_pairs("f4"))
case("div_i4", lambda x: x / 7, ones_d("i4"))
case("floordiv_f8", lambda x, y: x // y, positive_pairs())
case("floordiv_i8", lambda x: x // 7, ones_d("i8"))
case("mod_f8", lambda x, y: x % y, positive_pairs())
case("mod_i8", lambda x: x % 7, ones_d("i8"))
case("rsub_float", lambda x: 1.0 - x, ones_d())
case("rdiv_float", lambda x: 1.0 / (x * x + 1.0), ones_d())
case("neg", lambda x: -x, twos())
case("neg_i4", lambda x: -x, ones_d("i4"))
case("pos", lambda x: +x, twos())
case("invert_bool", lambda x: ~x, ones_d("?"))
case("invert_i8", lambda x: ~x, ones_d("i8"))
case("and_bool", lambda x, y: x & y, pairs("?"))
case("or_i4", lambda x, y: x | y, pairs("i4"))
case("xor_u1", lambda x, y: x ^ y, pairs("u1"))
case("lshift", lambda x: x << 2, ones_d("i8"))
case("rshift", lambda x: x >> 1, ones_d("i8"))
case("abs_builtin", lambda x: abs(x), twos())
case("pow_2", lambda x: x**2, twos())
case("pow_2_i4", lambda x: x**2, ones_d("i4"))
case("pow_2_bool", lambda x: x**2, ones_d("?"))
case("pow_2_0", lambda x: x**2.0, ones_d(), ulp=1)
case("pow_half", lambda x: (x * x) ** 0.5, ones_d())
case("pow_minus_1", lambda x: (x * x + 1) ** -1, ones_d())
for _e in (0, 1, 2, -1, 0.0, 0.5, 1.0, 2.0, -1.0):
    # The exponent has to be a literal of the function.
    case(f"pow_special_{_e}", eval(f"lambda x: np.power(np.abs(x) + 0.5, {_e}) + (np.abs(x) + 0.5) ** {_e}"), twos())
    case(f"pow_special_{_e}_f4", eval(f"lambda x: (np.abs(x) + 0.5) ** {_e}"), ones_d("f4"))
case("pow_half_negative_zero", lambda x: x**0.5, [lambda: (np.array([0.0, -0.0, 4.0]),)])
case("pow_3_i8", lambda x: x**3, ones_d("i8"))
case("pow_float", lambda x, p: (x * x + 0.5) ** p, with_scalar(1.7), ulp=1)
case("pow_arrays", lambda x, y: x**y, positive_pairs(), ulp=1)
case("polynomial", lambda x: ((2.0 * x + 1.0) * x - 3.0) * x + 0.5, twos())
case("axpy", lambda x, y: 2.5 * x + y, pairs())
case("weak_f4", lambda x: x * 2 + 0.1, twos("f4"))
case("weak_f2", lambda x: x * 2 + 0.1, ones_d("f2"))
case("numpy_scalar_constant", lambda x: x * np.float64(0.1), twos("f4"))
case("numpy_scalar_f4", lambda x: x * np.float32(0.1), twos())
case("scalar_argument", lambda x, a: x * a + a, [lambda: (values(5), 2.5), lambda: (values(5), -1.0)])
case("int_argument", lambda x, n: x * n, [lambda: (values(5), 3), lambda: (values(5), -7)])
case("numpy_scalar_argument", lambda x, a: x * a, [lambda: (values(5, "f4"), np.float32(2.5))])
case("zero_d", lambda x, y: x + y, [lambda: (np.array(2.5), np.array(1.5)), lambda: (np.array(2.5), 1.0)])
case("zero_d_with_vector", lambda x, y: x * y, [lambda: (np.array(2.5), values(4))])
case("empty", lambda x: x * 2 + 1, [lambda: (np.zeros(0),), lambda: (np.zeros((0, 3)),)])
case("list_operand", lambda x: x + [1.0, 2.0, 3.0], [lambda: (values(3),)])
case("tuple_operand", lambda x: (1, 2, 3) * x, [lambda: (values(3),)])
case("divmod_builtin", lambda x: np.divmod(x, 3), ones_d("i8"))

# ---- ufuncs --------------------------------------------------------------------------------------------------------

for _name in ("negative", "absolute", "sign", "floor", "ceil", "trunc", "rint", "square", "signbit", "isnan", "isinf", "isfinite",
              "logical_not", "positive", "conjugate", "fabs"):
    case(f"np_{_name}", lambda x, f=getattr(np, _name): f(x), [*twos(), *specials()])
for _name in ("negative", "absolute", "sign", "floor", "ceil", "trunc", "square", "isfinite", "logical_not"):
    case(f"np_{_name}_i4", lambda x, f=getattr(np, _name): f(x), ones_d("i4"))
case("np_sqrt", lambda x: np.sqrt(x), [lambda: (positive(7),), lambda: (positive((4, 5), "f4"),)])
case("np_sqrt_int", lambda x: np.sqrt(x), [lambda: (np.arange(9),), lambda: (np.arange(9, dtype="i2"),)])
case("np_reciprocal", lambda x: np.reciprocal(x), [lambda: (positive(7),)])
for _name in ("exp", "exp2", "expm1", "sin", "cos", "tan", "arctan", "tanh", "sinh", "cosh", "cbrt"):
    case(f"np_{_name}", lambda x, f=getattr(np, _name): f(x), [lambda: (values(50),), lambda: (f_order(values((4, 5))),)], ulp=2)
    case(f"np_{_name}_f4", lambda x, f=getattr(np, _name): f(x), [lambda: (values(50, "f4"),)], ulp=3)
for _name in ("log", "log2", "log10", "log1p"):
    case(f"np_{_name}", lambda x, f=getattr(np, _name): f(x), [lambda: (positive(50),)], ulp=2)
for _name in ("arcsin", "arccos"):
    case(f"np_{_name}", lambda x, f=getattr(np, _name): f(np.sin(x)), [lambda: (values(50) / 4,)], ulp=64)
case("np_arctan2", lambda x, y: np.arctan2(x, y), pairs(), ulp=2)
case("np_hypot", lambda x, y: np.hypot(x, y), pairs(), ulp=1)
for _name in ("add", "subtract", "multiply", "maximum", "minimum", "fmax", "fmin", "copysign", "logical_and", "logical_or",
              "logical_xor", "equal", "less"):
    case(f"np_{_name}", lambda x, y, f=getattr(np, _name): f(x, y), pairs())
case("np_maximum_nan", lambda x: np.maximum(x, 0.5), specials())
case("np_maximum_i4", lambda x, y: np.maximum(x, y), pairs("i4"))
case("np_divide", lambda x, y: np.divide(x, y), positive_pairs())
case("np_floor_divide", lambda x, y: np.floor_divide(x, y), positive_pairs())
case("np_remainder", lambda x, y: np.remainder(x, y), positive_pairs())
case("np_fmod", lambda x, y: np.fmod(x, y), positive_pairs())
case("np_power", lambda x, y: np.power(x, y), positive_pairs(), ulp=1)
case("np_bitwise", lambda x, y: np.bitwise_and(x, y) | np.bitwise_xor(x, 3), pairs("i8"))
case("np_abs_complex", lambda x: np.abs(x), [lambda: (values(9, "c16"),)], ulp=1, must_compile=False)
case("ufunc_default_keywords", lambda x: np.add(x, 1, out=None, where=True, dtype=None), ones_d())
case("ufunc_of_python_float", lambda x, a: x * np.sin(a), [lambda: (values(5), 0.3)], ulp=2)
case("sigmoid", lambda x: 1 / (1 + np.exp(-x)), twos(), ulp=2)
case("gelu", lambda x: 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3))), twos("f4"), ulp=64)

# ---- functions element by element ----------------------------------------------------------------------------------

case("where", lambda c, x, y: np.where(c > 0, x, y), [lambda: (values(7), values(7, seed=1), values(7, seed=2)),
                                                      lambda: (values((3, 4)), values(4, seed=1), 0.0)])
case("where_scalars", lambda x: np.where(x > 0, 1.0, -1.0), twos())
case("where_f4_weak", lambda x: np.where(x > 0, x, 0), twos("f4"))
case("where_int_condition", lambda x: np.where(x, 1, 2), ones_d("i4"))
case("where_0d", lambda x: np.where(x > 0, x, -x), [lambda: (np.array(-2.5),)])
case("clip", lambda x: np.clip(x, -0.5, 0.5), [*twos(), *specials()])
case("clip_method", lambda x: x.clip(-0.5, 0.5), twos("f4"))
case("clip_low", lambda x: np.clip(x, 0, None), twos())
case("clip_high", lambda x: x.clip(max=0.25), twos())
case("clip_keywords", lambda x: np.clip(x, min=-1, max=1), ones_d())
case("clip_int", lambda x: np.clip(x, 3, 40), ones_d("i8"))
case("clip_int_float", lambda x: np.clip(x, 1.5, 30), ones_d("i8"))
case("clip_arrays", lambda x, y: np.clip(x, y - 1, y + 1), pairs())
case("round", lambda x: np.round(x), [*twos(), *specials()])
case("round_2", lambda x: np.round(x, 2), c_only())
case("round_method", lambda x: (x * 100).round(-1), c_only())
case("round_int", lambda x: np.round(x), ones_d("i4"))
case("fix", lambda x: np.fix(x), [*twos(), *specials()], must_compile=False)
case("diff", lambda x: np.diff(x), twos())
case("diff_axis", lambda x: np.diff(x, axis=0), twos())
case("diff_2", lambda x: np.diff(x, n=2), ones_d())
case("diff_bool", lambda x: np.diff(x), ones_d("?"))
case("outer", lambda x, y: np.outer(x, y), [lambda: (values(4), values(5, seed=1)), lambda: (strided(values(4)), values(5, "f4", 1))])
case("isclose", lambda x, y: np.isclose(x, y), pairs())
case("isclose_nan", lambda x: np.isclose(x, x, equal_nan=True), [lambda: (np.array([1.0, np.nan, 2.0]),)])
case("allclose", lambda x: np.allclose(x, x + 1e-12), twos())
case("real_complex", lambda x: x.real + x.imag, [lambda: (values(9, "c16"),), lambda: (f_order(values((3, 4), "c8")),)])
case("real_real", lambda x: np.real(x) * 2, ones_d())
case("conj", lambda x: x.conj() + np.conj(x), [lambda: (values(9, "c16"),)])
case("conj_real_is_self", lambda x: x.conj() * 2 if x.conj() is x else None, [lambda: (values(9),)])
case("angle", lambda x: np.angle(x), [lambda: (values(9, "c16"),), lambda: (values(9),)], ulp=2)

# ---- reductions ----------------------------------------------------------------------------------------------------

for _name in ("sum", "mean", "max", "min", "var", "std", "any", "all"):
    case(f"{_name}_1d", lambda x, f=getattr(np, _name): f(x), ones_d())
    case(f"{_name}_all", lambda x, f=getattr(np, _name): f(x), packed())
    case(f"{_name}_axis_0", lambda x, f=getattr(np, _name): f(x, axis=0), packed())
    case(f"{_name}_axis_last", lambda x, f=getattr(np, _name): f(x, axis=-1), packed())
    case(f"{_name}_keepdims", lambda x, f=getattr(np, _name): f(x, axis=1, keepdims=True), packed())
    case(f"{_name}_f4", lambda x, f=getattr(np, _name): f(x, axis=1), packed("f4"))
    case(f"{_name}_3d_axes", lambda x, f=getattr(np, _name): f(x, axis=(0, 2)), [lambda: (values((3, 4, 5)),)])
for _name in ("sum", "prod", "mean", "max", "min", "any", "all", "var"):
    case(f"{_name}_i4", lambda x, f=getattr(np, _name): f(x // 20, axis=0), packed("i4"))
    case(f"{_name}_bool", lambda x, f=getattr(np, _name): f(x), ones_d("?"))
case("sum_u1", lambda x: x.sum(), ones_d("u1"))
case("sum_method", lambda x: x.sum(axis=0) + x.mean(0), packed())
case("sum_tail", lambda x: np.sqrt((x * x).sum()), packed())
case("sum_dtype", lambda x: np.sum(x, dtype=np.float64), packed("f4"))
case("sum_initial_int", lambda x: np.sum(x, initial=10), ones_d("i8"))
case("sum_empty", lambda x: np.sum(x), [lambda: (np.zeros(0),), lambda: (np.zeros((0, 3)),)])
case("sum_0d", lambda x: np.sum(x), [lambda: (np.array(2.5),)])
case("sum_f2", lambda x: np.sum(x), [lambda: (values(300, "f2"),)])
case("sum_c16", lambda x: np.sum(x), [lambda: (values(300, "c16"),)])
case("mean_f2", lambda x: np.mean(x), [lambda: (values(300, "f2"),)])
case("prod_f8", lambda x: np.prod(x), [lambda: (values(20),)])
case("max_nan", lambda x: np.max(x), [lambda: (np.array([1.0, np.nan, 2.0]),)])
case("var_ddof", lambda x: np.var(x, ddof=1), packed())
case("std_correction", lambda x: np.std(x, axis=0, correction=1), packed())
case("argmax", lambda x: np.argmax(x), ones_d())
case("argmin_axis", lambda x: np.argmin(x, axis=1), packed())
case("argmax_nan", lambda x: x.argmax(), [lambda: (np.array([1.0, np.nan, 2.0]),)])
case("argmax_first", lambda x: x.argmax(), [lambda: (np.array([1, 3, 3, 2]),)])
case("count_nonzero", lambda x: np.count_nonzero(x > 0), twos())
case("count_nonzero_axis", lambda x: np.count_nonzero(x > 0, axis=0), twos())
case("ptp", lambda x: np.ptp(x, axis=0), packed())
case("normalize", lambda x: (x - x.mean(axis=0)) / x.std(axis=0), [lambda: (values((20, 4)),)])
case("softmax", lambda x: np.exp(x - x.max(axis=1, keepdims=True)) / np.exp(x - x.max(axis=1, keepdims=True)).sum(axis=1, keepdims=True),
     c_only(), ulp=8)
case("layer_norm", lambda x, g, b: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * g + b,
     [lambda: (values((4, 16), "f4"), values(16, "f4", 1), values(16, "f4", 2))])

# ---- indexing ------------------------------------------------------------------------------------------------------

case("index_int", lambda x: x[2], [lambda: (values(7),), lambda: (values((4, 5)),)])
case("index_negative", lambda x: x[-1], [lambda: (values(7),), lambda: (values((4, 5)),)])
case("index_full", lambda x: x[1, -2], twos())
case("index_symbolic", lambda x, i: x[i], [lambda: (values(7), 3), lambda: (values(7), -2), lambda: (values(9), 0)])
case("slice", lambda x: x[1:4] * 2, twos())
case("slice_returns_view", lambda x: x[1:4], twos())
case("slice_negative_bounds", lambda x: x[-3:-1] + 0.0, twos())
case("slice_clipped", lambda x: x[2:100] + 0.0, twos())
case("slice_empty", lambda x: x[3:1] + 0.0, [lambda: (values(7),)])
case("slice_step", lambda x: x[::2] - x[1::2][:1], [lambda: (values(7),)])
case("slice_backwards", lambda x: x[::-1] - x, twos())
case("slice_backwards_part", lambda x: x[4:1:-1] * 1.0, ones_d())
case("slice_backwards_view", lambda x: x[::-2], ones_d())
case("slice_symbolic", lambda x, a, b: x[a:b] * 2, [lambda: (values(9), 2, 5), lambda: (values(9), -4, -1), lambda: (values(9), 0, 100)])
case("slice_2d", lambda x: x[1:-1, 2:] + 1, twos())
case("stencil_1d", lambda x: x[2:] - 2 * x[1:-1] + x[:-2], ones_d())
case("stencil_2d", lambda x: x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2] - 4 * x[1:-1, 1:-1], twos())
case("newaxis", lambda x: x[:, None] - x[None, :], ones_d()[:3])
case("ellipsis", lambda x: x[..., 0] + x[..., -1], [lambda: (values((3, 4)),), lambda: (values((2, 3, 4)),)])
case("ellipsis_0d", lambda x: x[...], [lambda: (np.array(3.0),)])
case("empty_tuple", lambda x: x[()], [lambda: (np.array(3.0),), lambda: (values(4),)])
case("index_then_slice", lambda x: x[1][2:] + x[:, 2:][0], twos())
case("column", lambda x: x[:, 1], twos())
case("chained_views", lambda x: x.T[1:][::2], twos())
case("unpack_rows", lambda x: _rows(x), [lambda: (values((2, 3)),)])
case("length", lambda x: x * len(x), twos())
case("shape_arithmetic", lambda x: x / x.shape[0] + x.shape[1], twos())
case("size_ndim", lambda x: (x.sum() / x.size, x.ndim, x.size, x.nbytes, x.itemsize, x.dtype), packed())


def _rows(x):
    a, b = x
    return a - b


def _assign(x):
    y = np.zeros(x.shape)
    y[1:-1] = x[2:] - x[:-2]
    y[0] = x[0]
    y[-1] = 7
    return y


def _assign_2d(x):
    y = np.zeros_like(x)
    y[1:-1, 1:-1] = x[1:-1, 2:] * 0.5
    y[:, 0] = 1.0
    y[0] += 2.0
    return y


def _assign_view(x):
    y = x * 2
    z = y[1:]
    z[...] = 0.5
    z += x[:-1]
    return y, z


def _assign_through_transpose(x):
    y = x + 0.0
    y.T[1] = 3.0
    return y


def _assign_overlap(x):
    y = x.copy()
    y[1:] = y[:-1]
    return y


def _inplace(x):
    y = x + 1
    y *= 2
    y -= x
    y /= 3
    y **= 2
    return y


def _inplace_alias(x):
    y = x + 1
    z = y
    y += 1
    return y, z


def _inplace_broadcast(x):
    y = x + 1
    y += x[0]
    return y


def _write_argument(x):
    x[0] = 1.0
    return x


case("assign", _assign, ones_d())
case("assign_2d", _assign_2d, twos())
case("assign_view", _assign_view, [lambda: (values(7),)])
case("assign_through_transpose", _assign_through_transpose, twos())
case("assign_overlap", _assign_overlap, ones_d())
case("inplace", _inplace, [*ones_d(), *twos()])
case("inplace_alias", _inplace_alias, ones_d())
case("inplace_broadcast", _inplace_broadcast, twos())
case("inplace_f4", lambda x: _inplace(x), ones_d("f4"))
case("write_argument", _write_argument, [lambda: (values(5),)], must_compile=False)

# ---- shapes --------------------------------------------------------------------------------------------------------

case("T", lambda x: x.T, twos())
case("T_used", lambda x: x.T + 1, twos())
case("transpose_axes", lambda x: np.transpose(x, (2, 0, 1)), [lambda: (values((2, 3, 4)),)])
case("transpose_method", lambda x: x.transpose(1, 0) * 2, twos())
case("swapaxes", lambda x: x.swapaxes(0, -1), [lambda: (values((2, 3, 4)),)])
case("moveaxis", lambda x: np.moveaxis(x, 0, -1), [lambda: (values((2, 3, 4)),)])
case("reshape", lambda x: x.reshape(6, 5) + 1, c_only(shape=(5, 6))[:1])
case("reshape_view", lambda x: x.reshape(2, -1), [lambda: (values((4, 5)),)])
case("reshape_flat", lambda x: np.reshape(x, -1), [lambda: (values((4, 5)),), lambda: (f_order(values((4, 5))),)])
case("reshape_columns", lambda x: x.reshape(x.shape[0], -1), [lambda: (values((4, 5, 6)),)])
case("reshape_column_vector", lambda x: x.reshape(-1, 1) * x, ones_d()[:2])
case("reshape_transposed", lambda x: x.T.reshape(-1), [lambda: (values((4, 5)),)])
case("ravel", lambda x: x.ravel(), [lambda: (values((4, 5)),), lambda: (f_order(values((4, 5))),), lambda: (strided(values(5)),)])
case("flatten", lambda x: x.flatten(), twos())
case("expand_dims", lambda x: np.expand_dims(x, 1) - x, ones_d()[:3])
case("squeeze", lambda x: np.squeeze(x) + 1, [lambda: (values((1, 5)),), lambda: (values((3, 5)),)])
case("squeeze_view", lambda x: x.squeeze(), [lambda: (values((1, 5)),)])
case("squeeze_axis", lambda x: x.squeeze(0) * 2, [lambda: (values((1, 5)),)])
case("broadcast_to", lambda x: np.broadcast_to(x, (3, 7)), [lambda: (values(7),)])
case("broadcast_to_used", lambda x: np.broadcast_to(x, (3,) + x.shape) * 2, ones_d())
case("flip", lambda x: np.flip(x), twos())
case("flip_axis", lambda x: np.flip(x, axis=1) + 1, twos())
case("fliplr", lambda x: np.fliplr(x) - np.flipud(x), twos())
case("roll", lambda x: np.roll(x, 2), [lambda: (values(7),), lambda: (values((3, 4)),)])
case("roll_axis", lambda x: np.roll(x, -1, axis=0) - np.roll(x, 1, axis=0), twos())
case("atleast", lambda x: np.atleast_2d(x) + np.atleast_1d(x), ones_d()[:2])
case("concatenate", lambda x, y: np.concatenate((x, y)), [lambda: (values(3), values(4)), lambda: (values((2, 3)), values((4, 3), "f4"))])
case("concatenate_axis", lambda x: np.concatenate([x, x * 2, x[:, :1]], axis=1), twos())
case("concatenate_flat", lambda x: np.concatenate([x, x], axis=None), c_only())
case("stack", lambda x, y: np.stack([x, y], axis=-1), [lambda: (values(3), values(3, seed=1))])
case("stack_0", lambda x: np.stack((x, -x)), twos())
case("vstack", lambda x, y: np.vstack([x, y]), [lambda: (values(3), values(3)), lambda: (values((2, 3)), values(3))])
case("hstack", lambda x, y: np.hstack((x, y)), [lambda: (values(3), values(4)), lambda: (values((3, 2)), values((3, 4)))])
case("column_stack", lambda x, y: np.column_stack((x, y)), [lambda: (values(3), values(3, seed=1))])
case("append", lambda x: np.append(x, 1.0), ones_d())
case("stack_scalars", lambda x: np.array([x.min(), x.max(), 0.5]), ones_d())
case("pad", lambda x: np.pad(x, 1), c_only())
case("pad_edge", lambda x: np.pad(x, ((1, 2), (0, 1)), mode="edge"), c_only())
case("pad_value", lambda x: np.pad(x, (2, 1), constant_values=1.5), [lambda: (values(5),)])
case("copy", lambda x: np.copy(x), twos())
case("copy_method", lambda x: x.copy(), twos())
case("astype_f4", lambda x: x.astype(np.float32), twos())
case("astype_i4", lambda x: x.astype("i4"), twos())
case("astype_no_copy", lambda x: x.astype(np.float64, copy=False) + 1, ones_d())
case("astype_bool", lambda x: x.astype(bool), twos())
case("asarray", lambda x: np.asarray(x) + 1, twos())
case("asarray_dtype", lambda x: np.asarray(x, dtype=np.float32), twos())
case("array_copy", lambda x: np.array(x), twos())
case("ascontiguousarray", lambda x: np.ascontiguousarray(x), twos()[1:])
case("type_call", lambda x: np.float32(x), ones_d())
case("type_call_scalar", lambda x: np.float64(x.sum()), ones_d("f4"))
case("item", lambda x: x.sum().item(), ones_d("f4"))

# ---- creation ------------------------------------------------------------------------------------------------------

case("zeros", lambda x: np.zeros(x.shape) + x, twos())
case("zeros_f4", lambda n: np.zeros((n, 2), dtype=np.float32), [lambda: (3,), lambda: (5,)])
case("ones_like", lambda x: np.ones_like(x), twos())
case("zeros_like_dtype", lambda x: np.zeros_like(x, dtype="i8"), twos())
case("full", lambda x: np.full(x.shape, 2.5) - x, twos())
case("full_like", lambda x: np.full_like(x, 3), twos("f4"))
case("arange", lambda x: np.arange(x.shape[0]) * x, ones_d())
case("arange_steps", lambda n: (np.arange(2, n, 3), np.arange(n, 0, -2)), [lambda: (10,), lambda: (11,)])
case("arange_float", lambda x: np.arange(0.1, 2.0, 0.3) + x, [lambda: (2.0,)])
case("arange_dtype", lambda n: np.arange(n, dtype=np.float32) / 3, [lambda: (7,)])
case("linspace", lambda n: np.linspace(0.0, 1.0, n), [lambda: (5,), lambda: (50,), lambda: (7,)])
case("linspace_bounds", lambda a, b: np.linspace(a, b, 11, endpoint=False), [lambda: (0.3, 2.7), lambda: (-1.0, 0.1)])
case("eye", lambda x: x + np.eye(4), [lambda: (values((4, 4)),)])
case("eye_k", lambda n: np.eye(n, 5, k=1, dtype=int), [lambda: (4,)])
case("identity", lambda n: np.identity(n), [lambda: (3,)])
case("meshgrid", lambda x, y: np.meshgrid(x, y), [lambda: (values(3), values(4))])
case("distance_matrix", lambda x, y: np.sqrt(((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=-1)),
     [lambda: (values((4, 3)), values((5, 3), seed=1))])

# ---- scalars and arrays of rank 0 ------------------------------------------------------------------------------------

ZERO_D = [lambda: (np.array(2.5),), lambda: (np.float64(-1.25),), lambda: (np.array(-0.5, "f4"),)]
for _name, _fn in {
    "arithmetic": lambda x: x * 2 - 1.0,
    "compare": lambda x: x > 1,
    "sum": lambda x: np.sum(x),
    "sum_keepdims": lambda x: x.sum(keepdims=True),
    "mean": lambda x: np.mean(x),
    "clip": lambda x: np.clip(x, 0, 1),
    "round": lambda x: np.round(x),
    "where": lambda x: np.where(x > 0, 1, 2),
    "astype": lambda x: x.astype("f4"),
    "np_copy": lambda x: np.copy(x),
    "array": lambda x: np.array(x),
    "asarray_list": lambda x: np.asarray([x, x * 2]),
    "flip": lambda x: np.flip(x) + 1,
    "ravel": lambda x: np.ravel(x),
    "reshape": lambda x: np.reshape(x, (1, 1)),
    "atleast_1d": lambda x: np.atleast_1d(x),
    "expand_dims": lambda x: np.expand_dims(x, 0),
    "isclose": lambda x: np.isclose(x, 2.5),
    "abs": lambda x: np.abs(x),
    "stack": lambda x: np.stack([x, x]),
    "append": lambda x: np.append([1.0, 2.0], x),
    "outer": lambda x: np.outer(x, [1, 2]),
    "full": lambda x: np.full((2, 2), x),
    "type_call": lambda x: np.float64(x),
    "max_of_list": lambda x: np.max([x, 1.0]),
}.items():
    case(f"rank_0_{_name}", _fn, ZERO_D)
case("rank_0_transpose", lambda x: x.T + x[...], ZERO_D[:1])
case("rank_0_int", lambda x: np.round(x) * 1.5, [lambda: (np.array(3),), lambda: (np.int64(3),)])
case("python_numbers", lambda x, a: np.maximum(a, 0.5) + x, [lambda: (values(3), 0.25)])
case("promote_scalar_types", lambda x: (x + np.array(1.0), x + np.float64(1), x + 1.0), ones_d("f4"))
case("divide_small_ints", lambda x: x / np.int8(2), ones_d("i2"))
case("bool_times_float", lambda x: (x > 0) * 2.0, twos())
case("sqrt_bool", lambda x: np.sqrt(x), ones_d("?"))
case("std_wider_dtype", lambda x: np.std(x, dtype="f8"), packed("f4"))
case("sum_bool_dtype", lambda x: np.sum(x, dtype="f4"), ones_d("?"))
case("safe_divide", lambda x: x / (np.abs(x) + 1e-12), twos())
case("three_d_K_order", lambda x: x.transpose(1, 0, 2).astype("f4"), [lambda: (values((2, 3, 4)),)])
case("copy_C_order", lambda x: x.T.copy(), twos())
case("zeros_like_F_order", lambda x: np.zeros_like(x.T), twos())
case("mixed_orders", lambda x, y: x + y.T, [lambda: (values((4, 4)), values((4, 4), seed=1)), lambda: (f_order(values((4, 4))), values((4, 4)))])
case("linspace_one", lambda n: np.linspace(0.5, 1.0, n), [lambda: (1,), lambda: (0,), lambda: (2,)])
case("result_type", lambda x: np.zeros(3, np.result_type(x, np.float32)), ones_d("i4"))
case("broadcast_shapes", lambda x, y: np.zeros(np.broadcast_shapes(x.shape, y.shape)), pairs())
case("rollaxis", lambda x: np.rollaxis(x, 2), [lambda: (values((2, 3, 4)),)])
case("pad_2d_value", lambda x: np.pad(x, ((1, 0), (0, 2)), constant_values=-1), c_only("i8"))
case("roll_symbolic", lambda x, k: np.roll(x, k, axis=0), [lambda: (values(7), 2), lambda: (values(7), -3), lambda: (values(7), 0)])
case("assign_symbolic", lambda n, i: _assign_at(n, i), [lambda: (6, 2), lambda: (6, -1)])
case("assign_step", lambda x: _assign_step(x), ones_d()[:2])
case("assign_column_view", lambda x: _assign_column(x), twos())


def _assign_at(n, i):
    y = np.zeros(n)
    y[i] = 1.5
    y[i:] += 1
    return y


def _assign_step(x):
    y = np.ones_like(x)
    y[::2] = x[::2]
    y[::-1][:2] = 0
    return y


def _assign_column(x):
    y = x.copy()
    column = y[:, 1]
    column *= -1
    y[:, 0] = column
    y[None, 2] = 4
    return y


# ---- what has to run as Python, with the same outcome --------------------------------------------------------------


def _python(name, fn, make_args, ulp=None):
    case(name, fn, make_args, ulp, must_compile=False)


_python("raises_broadcast", lambda x, y: x + y, [lambda: (values(3), values(4))])
_python("raises_axis", lambda x: np.sum(x, axis=2), [lambda: (values((3, 4)),)])
_python("raises_index", lambda x: x[10], [lambda: (values(3),)])
_python("raises_max_empty", lambda x: np.max(x), [lambda: (np.zeros(0),)])
_python("raises_reshape", lambda x: x.reshape(4, 2), [lambda: (values(7),)])
_python("raises_bool_subtract", lambda x: x - x, [lambda: (values(3, "?"),)])
_python("raises_int_out_of_range", lambda x: x + 300, [lambda: (values(3, "u1"),)])
_python("raises_negative_power", lambda x: x**-1, [lambda: (values(3, "i8"),)])
_python("raises_inplace_cast", lambda x: _inplace(x), [lambda: (values(3, "i8"),)])
_python("raises_read_only", lambda x: _fill_broadcast(x), [lambda: (values(3),)])
_python("warns_mean_empty", lambda x: np.mean(x), [lambda: (np.zeros(0),)])
_python("warns_divide", lambda x: 1.0 / x, [lambda: (np.array([1.0, 0.0]),)])
_python("warns_integer_divide", lambda x: x // 0, [lambda: (values(3, "i8"),)])
_python("warns_sqrt", lambda x: np.sqrt(x), [lambda: (np.array([-1.0, 4.0]),)])
_python("warns_overflow", lambda x: np.exp(x), [lambda: (np.array([1000.0]),)], ulp=1)
_python("warns_scalar_overflow", lambda x: x.max() + x.max(), [lambda: (np.array([2**62 + 5]),)])
_python("boolean_mask", lambda x: x[x > 0], ones_d())
_python("integer_index", lambda x: x[[0, 2, 1]], [lambda: (values(5),)])
_python("matmul", lambda x: x @ x, [lambda: (values((3, 3)),)], ulp=16)
_python("dot", lambda x: np.dot(x, x), [lambda: (values(5),)], ulp=16)
_python("sort", lambda x: np.sort(x), ones_d())
_python("cumsum", lambda x: np.cumsum(x), ones_d())
_python("out_argument", lambda x: np.add(x, 1, out=np.zeros(x.shape)), ones_d())
_python("where_keyword", lambda x: np.sum(x, where=x > 0), ones_d())
_python("nonzero", lambda x: np.where(x > 0), ones_d())
_python("complex_part_returned", lambda x: x.real, [lambda: (values(5, "c16"),)])
_python("nansum", lambda x: np.nansum(x), specials())
_python("clip_out_of_range", lambda x: np.clip(x, 1, 300), [lambda: (values(5, "i1"),)])
_python("compare_out_of_range", lambda x: x < 1000, [lambda: (values(5, "i1"),)])


def _fill_broadcast(x):
    y = np.broadcast_to(x, (2, 3))
    y[0, 0] = 1.0
    return y
# Exponents decide which function NumPy runs, and the edges differ: sqrt(-0.0) is -0.0, power(-0.0, 0.5) is 0.0.
case("runtime_exponent", lambda x, p: x**p, [
    (lambda p=p: (np.array([-0.0, 0.0, 1.5, np.inf, 3.0, 0.25]), p)) for p in (0.5, 2, 2.0, -1, 1, 0, 3, 1.7)], ulp=1)
