"""Strict comparison of what plain Python and a compiled function do with the same arguments."""

from __future__ import annotations

import copy
import dataclasses
import warnings

import fusewire
import numpy as np


@dataclasses.dataclass
class Outcome:
    """Result or exception of a call, the warnings it gave, and its arguments afterwards."""

    result: object
    error: BaseException | None
    warned: list[str]
    arguments: tuple


def clone(arguments: tuple) -> tuple:
    """Deep copy that keeps memory layout, aliasing between arguments and types."""
    memo: dict = {}

    def visit(value):
        if id(value) in memo:
            return memo[id(value)]
        if type(value) is np.ndarray and value.dtype != object:
            base = value
            while type(base.base) is np.ndarray:
                base = base.base
            if base is value:
                made = np.empty_like(value, order="K")
                made[...] = value
                if made.strides != value.strides:
                    made = copy.deepcopy(value)
                made.flags.writeable = value.flags.writeable
            else:
                owner = visit(base)
                offset = value.__array_interface__["data"][0] - base.__array_interface__["data"][0]
                raw = owner.reshape(-1, order="A").view(np.uint8) if owner.size else owner
                made = np.ndarray(value.shape, value.dtype, raw.data if owner.size else None, offset if owner.size else 0,
                                  value.strides) if value.size else value.copy()
                made.flags.writeable = value.flags.writeable
        elif isinstance(value, (list, tuple)) and type(value) in (list, tuple):
            made = type(value)(visit(v) for v in value)
        elif type(value) is dict:
            made = {k: visit(v) for k, v in value.items()}
        else:
            made = value
        memo[id(value)] = made
        return made

    return tuple(visit(a) for a in arguments)


def run(function, arguments: tuple) -> Outcome:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result, error = function(*arguments), None
        except Exception as raised:
            result, error = None, raised
    return Outcome(result, error, sorted(f"{w.category.__name__}: {w.message}" for w in caught), arguments)


def places_of_warnings(function, arguments: tuple) -> list[tuple[str, str, int]]:
    """What a call warns about, and where, in order; of one that raises until then."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            function(*arguments)
        except Exception:
            pass
    return [(str(w.message), w.filename, w.lineno) for w in caught]


def ulp_distance(a: np.ndarray, b: np.ndarray) -> float:
    """Largest distance in units in the last place; NaNs must stand at the same places."""
    if np.iscomplexobj(a):
        return max(ulp_distance(a.real.copy(), b.real.copy()), ulp_distance(a.imag.copy(), b.imag.copy()))
    nan = np.isnan(a)
    if not np.array_equal(nan, np.isnan(b)):
        return float("inf")
    a, b = a[~nan], b[~nan]
    integer = {2: np.int16, 4: np.int32, 8: np.int64}[a.dtype.itemsize]

    def ordered(x):
        bits = np.ascontiguousarray(x).view(integer).astype(object)
        return np.where(bits < 0, -(bits & int(np.iinfo(integer).max)), bits)

    return float(np.abs(ordered(a) - ordered(b)).max()) if a.size else 0.0


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal values bit by bit, any NaN equal to any NaN."""
    if a.dtype.kind not in "fc":
        return np.array_equal(a, b)
    if (a.dtype, a.shape) == (b.dtype, b.shape) and a.tobytes() == b.tobytes():
        return True   # most often, and much quicker
    if a.dtype.kind == "c":
        return same_bits(a.real, b.real) and same_bits(a.imag, b.imag)
    nan = np.isnan(a)
    return np.array_equal(nan, np.isnan(b)) and bool(
        np.all((a == b) | nan) and np.array_equal(np.signbit(a[~nan]), np.signbit(b[~nan])))


def assert_same_value(expected, actual, ulp: int | None, where: str = "result") -> None:
    assert type(expected) is type(actual), f"{where}: type {type(actual).__name__}, expected {type(expected).__name__}"
    if isinstance(expected, (np.ndarray, np.generic)):
        assert expected.dtype == actual.dtype, f"{where}: dtype {actual.dtype}, expected {expected.dtype}"
        assert expected.shape == actual.shape, f"{where}: shape {actual.shape}, expected {expected.shape}"
        if expected.dtype == object:
            assert expected.tolist() == actual.tolist(), where
            return
        if ulp is None or expected.dtype.kind not in "fc":
            assert same_bits(np.asarray(expected), np.asarray(actual)), f"{where}: {actual!r}\nexpected {expected!r}"
        else:
            distance = ulp_distance(np.asarray(expected), np.asarray(actual))
            assert distance <= ulp, f"{where}: {distance} ULP apart: {actual!r}\nexpected {expected!r}"
    elif isinstance(expected, (list, tuple)):
        assert len(expected) == len(actual), f"{where}: length {len(actual)}, expected {len(expected)}"
        for i, (e, a) in enumerate(zip(expected, actual)):
            assert_same_value(e, a, ulp, f"{where}[{i}]")
    elif isinstance(expected, dict):
        assert list(expected) == list(actual), f"{where}: keys"
        for key in expected:
            assert_same_value(expected[key], actual[key], ulp, f"{where}[{key!r}]")
    elif isinstance(expected, float):
        assert_same_value(np.float64(expected), np.float64(actual), ulp, where)
    elif isinstance(expected, complex):
        assert_same_value(np.complex128(expected), np.complex128(actual), ulp, where)
    else:
        assert expected == actual or expected is actual, f"{where}: {actual!r}, expected {expected!r}"


def assert_close_value(expected, actual, tolerance: float, where: str = "result") -> None:
    """As assert_same_value, floats within `tolerance` times the largest magnitude of the array: for programs in which
    differences of transcendental functions cancel."""
    if isinstance(expected, (np.ndarray, np.generic)) and expected.dtype.kind in "fc" and expected.size:
        assert (type(expected), expected.dtype, expected.shape) == (type(actual), actual.dtype, actual.shape), where
        finite = np.isfinite(expected)
        assert np.array_equal(expected[~finite], actual[~finite], equal_nan=True), f"{where}: infinities or NaN differ"
        scale = np.abs(expected[finite]).max(initial=0)
        worst = np.abs(expected[finite] - actual[finite]).max(initial=0)
        assert worst <= tolerance * scale, f"{where}: {worst} apart where the largest value is {scale}"
    elif isinstance(expected, (list, tuple)):
        assert type(expected) is type(actual) and len(expected) == len(actual), where
        for i, (e, a) in enumerate(zip(expected, actual)):
            assert_close_value(e, a, tolerance, f"{where}[{i}]")
    else:
        assert_same_value(expected, actual, None, where)


def assert_same_arrays(expected, actual, where: str = "result") -> None:
    """Memory layout, writeability and view-ness of arrays anywhere in the result."""
    if type(expected) is np.ndarray:
        if expected.size > 1:
            keep = [i for i, n in enumerate(expected.shape) if n > 1]
            strides = lambda x: [x.strides[i] for i in keep]
            assert strides(expected) == strides(actual), f"{where}: strides {actual.strides}, expected {expected.strides}"
        assert expected.flags.writeable == actual.flags.writeable, f"{where}: writeable"
        assert (expected.base is None) == (actual.base is None), f"{where}: base {type(actual.base)}, expected {type(expected.base)}"
    elif isinstance(expected, (list, tuple)):
        for i, (e, a) in enumerate(zip(expected, actual)):
            assert_same_arrays(e, a, f"{where}[{i}]")
    elif isinstance(expected, dict):
        for key in expected:
            assert_same_arrays(expected[key], actual[key], f"{where}[{key!r}]")


def assert_same_call(function, compiled, arguments: tuple, ulp: int | None = None) -> Outcome:
    """Calls both with equal arguments and compares everything that can be seen."""
    expected, actual = run(function, clone(arguments)), run(compiled, clone(arguments))
    if expected.error is not None or actual.error is not None:
        assert type(expected.error) is type(actual.error) and str(expected.error) == str(actual.error), (
            f"raised {actual.error!r}, expected {expected.error!r}")
        return actual
    assert_same_value(expected.result, actual.result, ulp)
    assert_same_arrays(expected.result, actual.result)
    assert expected.warned == actual.warned, f"warnings {actual.warned}, expected {expected.warned}"
    assert_same_value(expected.arguments, actual.arguments, None, "arguments")
    return actual


def assert_same_calls(function, arrays: list, every: int, ulp: int | None = None, **options) -> None:
    """Compiled by the first of some calls, and called with all of the arrays; again from each `every`-th one on."""
    for first in range(0, len(arrays), every):
        compiled = fusewire.compile(function, background=False, **options)
        for x in [*arrays[first:], *arrays[:first]]:
            assert_same_call(function, compiled, (x,), ulp=ulp)


def assert_same_outcome(expected: Outcome, actual: Outcome) -> None:
    """For calls that write: warnings and what became of the arguments also where an exception ended them."""
    assert type(expected.error) is type(actual.error) and str(expected.error) == str(actual.error), actual.error
    assert expected.warned == actual.warned
    assert_same_value(expected.arguments, actual.arguments, None, "arguments")
    if expected.error is None:
        assert_same_value(expected.result, actual.result, None)
        assert_same_arrays(expected.result, actual.result)
