"""Independent copies of a call's arguments, and comparison of what two calls did to theirs."""

from __future__ import annotations

import copy
import math

import numpy as np


def copy_arguments(args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """Copies that share among each other what the originals share: arrays that view one memory do so again."""
    memo: dict = {}
    seen: set[int] = set()
    for value in (*args, *kwargs.values()):
        _seed(value, memo, seen)
    return copy.deepcopy((args, kwargs), memo)


def _seed(value, memo: dict, seen: set[int]) -> None:
    """Puts copies of the arrays in builtin containers into deepcopy's memo, which would give each its own memory."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if type(value) is np.ndarray:
        memo[id(value)] = _copy_array(value, memo)
    elif isinstance(value, dict):
        for item in value.values():
            _seed(item, memo, seen)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _seed(item, memo, seen)
    elif (
        isinstance(attributes := getattr(value, "__dict__", None), dict)
        and not isinstance(value, type)
        and not callable(value)
    ):
        for item in attributes.values():
            _seed(item, memo, seen)


def _copy_array(array: np.ndarray, memo: dict) -> np.ndarray:
    if array.dtype.hasobject:
        return copy.deepcopy(array, memo)
    root = array
    while type(root.base) is np.ndarray:
        root = root.base
    lowest, highest = np.lib.array_utils.byte_bounds(root)
    if not root.size or not array.size or root.dtype.hasobject:
        return array.copy(order="K")
    if ("memory", id(root)) not in memo:
        # The span of the root as bytes: gaps between elements included, so that views find their places.
        span = np.ndarray((highest - lowest,), np.uint8, buffer=None)
        if root.flags.contiguous or root.flags.f_contiguous:
            span[:] = np.ndarray((root.nbytes,), np.uint8, buffer=root.reshape(-1, order="A").view(np.uint8).data)
        else:
            window = np.ndarray(root.shape, root.dtype, span, _start(root, lowest), root.strides)
            window[...] = root
        memo["memory", id(root)] = span, lowest, root
    span, lowest, _ = memo["memory", id(root)]
    first, last = np.lib.array_utils.byte_bounds(array)
    if first < lowest or last > lowest + span.size:
        return array.copy(order="K")
    result = np.ndarray(array.shape, array.dtype, span, _start(array, lowest), array.strides)
    result.flags.writeable = array.flags.writeable
    return result


def _start(array: np.ndarray, lowest: int) -> int:
    return array.__array_interface__["data"][0] - lowest


def difference(expected, actual, exact: bool, path: str = "result", seen: set | None = None) -> str | None:
    """The first place where two values differ, in words, or None. ``exact``: floating numbers must agree bit by bit (up
    to the signs of NaNs); otherwise within what functions of 1 or 2 ULP and operations on their results may differ by.
    """
    seen = set() if seen is None else seen
    if (id(expected), id(actual)) in seen:
        return None
    seen.add((id(expected), id(actual)))
    if type(expected) is not type(actual):
        return f"{path} is a {type(actual).__name__}, Python gives a {type(expected).__name__}"
    if isinstance(expected, (np.ndarray, np.generic)):
        return _array_difference(np.asarray(expected), np.asarray(actual), exact, path)
    if isinstance(expected, (list, tuple)):
        if len(expected) != len(actual):
            return f"{path} has {len(actual)} items, Python gives {len(expected)}"
        return next(
            filter(
                None, (difference(e, a, exact, f"{path}[{i}]", seen) for i, (e, a) in enumerate(zip(expected, actual)))
            ),
            None,
        )
    if isinstance(expected, dict):
        if list(expected) != list(actual):
            return f"{path} has keys {list(actual)!r}, Python gives {list(expected)!r}"
        return next(
            filter(None, (difference(e, actual[k], exact, f"{path}[{k!r}]", seen) for k, e in expected.items())), None
        )
    if isinstance(expected, (float, complex)):
        return _array_difference(np.asarray(expected), np.asarray(actual), exact, path)
    if expected is None or isinstance(expected, (int, str, bytes, bool, set, frozenset, slice, range)):
        return None if expected == actual else f"{path} is {actual!r}, Python gives {expected!r}"
    if isinstance(attributes := getattr(expected, "__dict__", None), dict) and not callable(expected):
        return difference(attributes, actual.__dict__, exact, f"{path}.__dict__", seen)
    return None  # nothing is known of its parts


def _array_difference(expected: np.ndarray, actual: np.ndarray, exact: bool, path: str) -> str | None:
    for what in ("dtype", "shape"):
        if getattr(expected, what) != getattr(actual, what):
            return f"{path}.{what} is {getattr(actual, what)}, Python gives {getattr(expected, what)}"
    if expected.dtype.hasobject or expected.dtype.kind not in "fc":
        same = np.asarray(expected == actual)
    else:
        with np.errstate(all="ignore"):
            same = (expected == actual) | (np.isnan(expected) & np.isnan(actual))
            if not exact:
                same |= _close(expected, actual)
    if same.all():
        return None
    at = tuple(int(i) for i in np.unravel_index(int(np.argmin(same)), same.shape))
    where = f"{path}[{', '.join(map(str, at))}]" if at else path
    wrong = int(same.size - np.count_nonzero(same))
    return f"{where} is {actual[at]!r}, Python gives {expected[at]!r}" + (
        f" ({wrong} of {same.size} elements differ)" if at else ""
    )


def _close(expected: np.ndarray, actual: np.ndarray) -> np.ndarray:
    epsilon = np.finfo(expected.dtype).eps
    finite = np.abs(expected[np.isfinite(expected)])
    scale = float(finite.max()) if finite.size else 0.0
    tolerance = 1024 * epsilon
    return np.isclose(actual, expected, rtol=tolerance, atol=tolerance * scale if math.isfinite(scale) else 0.0)
