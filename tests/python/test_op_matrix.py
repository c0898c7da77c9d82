"""Every row of the op table that NumPy has a function for, times element types, layouts and special values, against NumPy.

Exact rows must agree bit for bit; others within the bound of the contract of the true value, which is computed one precision up.
Combinations that NumPy rejects must be rejected alike. What is compiled and what is left to Python is written down in
ledgers/ops.txt, so that coverage cannot shrink unnoticed.
"""

import warnings

import numpy as np
import pytest

import fusewire
import ledger
from compare import same_bits

DTYPES = [np.dtype(c) for c in "?bBhHiIlLefdFD"]

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, -3.0, np.inf, -np.inf, np.nan, 1e-3, -1e-3, 0.1, 10.0, 100.0, -100.0, 1e-7,
           127.0, -128.0, 1e4, -7.25, 6.5, 5e-324, 2.2250738585072014e-308, 1.1754943508222875e-38, 65504.0, 3e38, 1.7e308]


def values(dtype: np.dtype, count: int, seed: int) -> np.ndarray:
    """`count` elements of the type, special values first."""
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.random(count) < 0.5
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        special = [v for v in (0, 1, 2, 3, 7, limits.max, limits.max - 1, limits.min, -1, -2, 100) if limits.min <= v <= limits.max]
        drawn = rng.integers(max(limits.min, -50), min(limits.max, 50), count, dtype=np.int64)
        out = drawn.astype(dtype)
        out[: min(len(special), count)] = np.array(special[:count], dtype=dtype)
        return rng.permutation(out)
    if dtype.kind == "c":
        part = np.dtype("f4") if dtype == np.complex64 else np.dtype("f8")
        return (values(part, count, seed) + 1j * values(part, count, seed + 1)).astype(dtype)
    with np.errstate(all="ignore"):
        out = (rng.standard_normal(count) * 10.0 ** rng.integers(-3, 3, count)).astype(dtype)
        special = np.array(SPECIAL[:count]).astype(dtype)
    out[: len(special)] = special
    return rng.permutation(out)


LAYOUTS = {
    "contiguous": lambda d, s: values(d, 60, s),
    "two-d": lambda d, s: values(d, 63, s).reshape(9, 7),
    "fortran": lambda d, s: np.asfortranarray(values(d, 63, s).reshape(9, 7)),
    "strided": lambda d, s: values(d, 126, s)[::2].reshape(9, 7),
    "columns": lambda d, s: values(d, 90, s).reshape(9, 10)[:, 1:8],
    "reversed": lambda d, s: values(d, 63, s).reshape(9, 7)[::-1, ::-1],
    "zero-d": lambda d, s: values(d, 1, s).reshape(()),
    "empty": lambda d, s: values(d, 0, s).reshape(0, 7),
    "one": lambda d, s: values(d, 1, s).reshape(1, 1),
    "long": lambda d, s: values(d, 1000, s),
}


def elementwise_rows():
    """(name, function, operand count, exact) of every op row with a NumPy ufunc or function of arrays alone."""
    for row in fusewire._fusewire.ops():
        names = [n.removeprefix("np.") for n in row["numpy"].split("|") if n.startswith("np.") and n.count(".") == 1]
        ufuncs = [n for n in names if isinstance(getattr(np, n), np.ufunc)]
        if ufuncs:
            yield ufuncs[0], getattr(np, ufuncs[0]), getattr(np, ufuncs[0]).nin, row["contract"] == "exact"


ROWS = list(elementwise_rows())


def scope(source: str, function):
    """A Python function compiled from text, so that it has bytecode of its own; `fn` is the NumPy function under test."""
    made = {"fn": function, "np": np}
    exec(source, made)
    return made["f"]


def call(function, arguments):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*arguments)
        except Exception as error:
            return None, error, []
    return result, None, sorted(str(w.message).split(" in ")[0] for w in caught)


def true_value(function, arguments, dtype):
    """The function one precision up."""
    wider = {"f": np.float64, "d": np.longdouble, "e": np.float32}[dtype.char]
    with np.errstate(all="ignore"):
        return function(*[a.astype(wider) for a in arguments])


def ulps_from(true, actual) -> float:
    """Distance in units in the last place of the actual type; specials must agree."""
    actual, true = np.atleast_1d(actual), np.atleast_1d(true)
    with np.errstate(all="ignore"):
        rounded = true.astype(actual.dtype)
        special = ~np.isfinite(rounded) | ~np.isfinite(actual)
        assert np.array_equal(rounded[special & ~np.isfinite(true)], actual[special & ~np.isfinite(true)], equal_nan=True)
        spacing = np.maximum(np.abs(np.spacing(rounded)), np.finfo(actual.dtype).smallest_subnormal).astype(true.dtype)
        return float((np.abs(actual.astype(true.dtype) - true) / spacing)[~special].max(initial=0))


def close_enough(function, arguments, expected, actual) -> str:
    """'' or what is wrong with a result that need not be bitwise equal."""
    if expected.dtype.kind == "c":
        return "" if np.allclose(expected, actual, rtol=1e-5 if expected.dtype == np.complex64 else 1e-13, equal_nan=True) else "far off"
    bound = {"e": 1.0, "f": 2.0, "d": 1.0}[expected.dtype.char]
    arguments = [np.broadcast_to(np.asarray(a).astype(expected.dtype), expected.shape) for a in arguments]
    mine = ulps_from(true_value(function, arguments, expected.dtype), np.asarray(actual))
    return "" if mine <= bound else f"{mine:.2f} ULP from the true value, bound {bound}"


def compare(name, function, compiled, plain, arguments, exact) -> str:
    expected, error, warned = call(plain, arguments)
    actual, actual_error, actual_warned = call(compiled, arguments)
    if error or actual_error:
        same = type(error) is type(actual_error) and str(error) == str(actual_error)
        return "" if same else f"raised {actual_error!r}, NumPy {error!r}"
    if type(expected) is not type(actual) or expected.dtype != actual.dtype or expected.shape != actual.shape:
        return f"{type(actual)} {actual.dtype} {actual.shape}, NumPy {type(expected)} {expected.dtype} {expected.shape}"
    if expected.ndim and expected.size > 1 and expected.strides != actual.strides and 1 not in expected.shape:
        return f"strides {actual.strides}, NumPy {expected.strides}"
    if warned != actual_warned:
        return f"warnings {actual_warned}, NumPy {warned}"
    if same_bits(np.asarray(expected), np.asarray(actual)):
        return ""
    if exact or expected.dtype.kind not in "fc":
        bad = np.flatnonzero(np.atleast_1d(~((expected == actual) | ((expected != expected) & (actual != actual)))).ravel())[:3]
        fits = all(np.shape(a) in (expected.shape, ()) for a in arguments)
        given = [[np.broadcast_to(a, expected.shape).ravel()[i] for a in arguments] for i in bad] if fits else "reduction"
        return f"{np.ravel(actual)[bad]} for {given}, NumPy {np.ravel(expected)[bad]}"
    return close_enough(function, arguments, expected, actual)


def compile_it(function):
    return fusewire.compile(function, recompile_limit=64, economy=False)


def is_captured(compiled) -> bool:
    facts = fusewire._fusewire.describe(compiled)
    bugs = [b for b in facts["breaks"] if b["reason"] in ("internal-error", "compile-failed")]
    assert not bugs, bugs
    return bool(facts["variants"])


def write_down(name: str, compiled) -> None:
    is_captured(compiled)
    ledger.check("ops", name, compiled)


@pytest.mark.parametrize("name, function, count, exact", ROWS, ids=[r[0] for r in ROWS])
def test_elementwise(name, function, count, exact):
    plain = scope(f"def f({', '.join('abc'[:count])}):\n    return fn({', '.join('abc'[:count])})", function)
    wrong = []
    for dtype in DTYPES:
        compiled = compile_it(plain)
        for layout, make in LAYOUTS.items():
            arguments = tuple(make(dtype, 10 * i + 1) for i in range(count))
            if what := compare(name, function, compiled, plain, arguments, exact):
                wrong.append(f"{dtype} {layout}: {what}")
        if call(plain, (LAYOUTS["long"](dtype, 1),) * count)[1] is None:
            write_down(f"{name} {dtype}", compiled)
    assert not wrong, "\n".join(wrong[:12]) + f"\n{len(wrong)} in all"


@pytest.mark.parametrize("name, function, count, exact", [r for r in ROWS if r[2] == 2], ids=[r[0] for r in ROWS if r[2] == 2])
def test_mixed_types_and_scalars(name, function, count, exact):
    plain = scope("def f(a, b):\n    return fn(a, b)", function)
    wrong = []
    with np.errstate(all="ignore"):
        for left in DTYPES:
            compiled = compile_it(plain)
            x = LAYOUTS["two-d"](left, 3)
            others = [LAYOUTS["contiguous"](right, 5)[:7] for right in DTYPES]
            for y in [*others, 2, -3, True, 0.5, 1.5 - 2j, np.float32(2.5), np.int16(3)]:
                for arguments in ((x, y), (y, x)):
                    result_exact = exact
                    if what := compare(name, function, compiled, plain, arguments, result_exact):
                        wrong.append(f"{[getattr(a, 'dtype', a) for a in arguments]}: {what}")
            write_down(f"{name} {left} mixed", compiled)
    assert not wrong, "\n".join(wrong[:12]) + f"\n{len(wrong)} in all"


REDUCTIONS = ["sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "mean", "var", "std", "ptp", "count_nonzero"]
AXES = {"zero-d": [None], "contiguous": [None, 0, -1], "long": [None, 0]}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name):
    function = getattr(np, name)
    wrong = []
    for dtype in DTYPES:
        tried = captured = 0
        for layout, make in LAYOUTS.items():
            x = make(dtype, 7)
            if x.dtype.kind in "fc" and name in ("var", "std", "mean", "sum", "prod"):
                x = np.where(np.isfinite(x) & (np.abs(x) < 1e3), x, np.array(1.5, dtype)).astype(dtype)
                x = np.asfortranarray(x) if layout == "fortran" else x
            for axis in AXES.get(layout, [None, 0, 1, -2, (0, 1)]):
                for keepdims in (False, True):
                    if name in ("argmax", "argmin", "count_nonzero") and isinstance(axis, tuple):
                        continue
                    plain = scope(f"def f(x):\n    return fn(x, axis={axis}, keepdims={keepdims})", function)
                    compiled = compile_it(plain)
                    if what := compare(name, function, compiled, plain, (x,), True):
                        wrong.append(f"{dtype} {layout} axis={axis} keepdims={keepdims}: {what}")
                    tried += 1
                    captured += is_captured(compiled)
        ledger.check_text("ops", f"{name} {dtype}", f"{captured} of {tried}")
    assert not wrong, "\n".join(wrong[:12]) + f"\n{len(wrong)} in all"


@pytest.mark.parametrize("left", [str(d) for d in DTYPES])
def test_casts(left):
    left = np.dtype(left)
    wrong = []
    for right in DTYPES:
        plain = scope(f"def f(x):\n    return x.astype({right.str!r})", None)
        compiled = compile_it(plain)
        for layout, make in LAYOUTS.items():
            x = make(left, 11)
            if what := compare("astype", None, compiled, plain, (x,), True):
                wrong.append(f"to {right}, {layout}: {what}")
        write_down(f"astype {left} {right}", compiled)
    assert not wrong, "\n".join(wrong[:12]) + f"\n{len(wrong)} in all"
