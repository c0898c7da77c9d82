"""Functions of NumPy as loops over numbers and views, for arguments of which the call itself takes most of the time.

As in ``_substitutes``: each answers, bit by bit, what NumPy does, and is never run by Python. What it is not made for goes on
as if nothing stood here.
"""

from __future__ import annotations

import operator

import numpy as np

from fusewire import _fusewire
from fusewire._substitutes import _stands_for as _stands

_WHOLE = 2**53  # ints up to here are floats as they are


def _numpys(function, *args, **kwargs):
    """The call of ``function`` for which nothing stands."""


_fusewire.declare(_numpys, "as_without", None)


def _stands_for(original):
    return _stands(original, "small_call")


def _stands_for_method(name: str):
    """Decorator: for the function of that name, and for the method of arrays."""

    def declare(substitute):
        _fusewire.declare(getattr(np.ndarray, name), "small_call", substitute)
        return _stands_for(getattr(np, name))(substitute)

    return declare


def _is_doubles(a) -> bool:
    return type(a) is np.ndarray and a.dtype == np.float64


def _is_vector(a) -> bool:
    return _is_doubles(a) and a.ndim == 1


def _is_whole(v) -> bool:
    return isinstance(v, (int, np.int64)) and -_WHOLE <= v <= _WHOLE


def _lies_before(at, v, right: bool) -> bool:
    """NaN is above all numbers."""
    if right:
        if v < at or (at != at and v == v):
            return False
        return True
    if at < v or (v != v and at == at):
        return True
    return False


def _between(low, high, a, v, right: bool):
    while low < high:
        middle = low + (high - low) // 2
        if _lies_before(a[middle], v, right):
            low = middle + 1
        else:
            high = middle
    return low


def _by_bisection(a, v, right: bool):
    return _between(0, len(a), a, v, right)


def _by_halves(a, v, right: bool):
    low, high = 0, len(a)
    if high == 0:
        return low
    while high - low > 1:
        half = (high - low) // 2
        if _lies_before(a[low + half], v, right):
            low += half
        else:
            high -= half
    if _lies_before(a[low], v, right):
        low += 1
    return low


def _finds_as_numpy():
    """How this NumPy looks for a number, which is seen in arrays that are not sorted; None if in neither way."""
    table = np.arange(41.0) * 29 % 64
    for search in (_by_halves, _by_bisection):
        if all(search(table, place, False) == np.searchsorted(table, place) for place in (2.5, 9.5, 17.5, 23.5, 31.5, 44.5, 52.5, 60.5)):
            return search
    return None


_search = _finds_as_numpy()


def searchsorted(a, v, side="left", sorter=None):
    if not (type(a) is np.ndarray and a.ndim == 1 and sorter is None and (side == "left" or side == "right")):
        return _numpys(np.searchsorted, a, v, side, sorter)
    if a.dtype == np.float64 and _is_whole(v):
        v = float(v)
    if not (a.dtype == np.float64 and isinstance(v, float)) and not (a.dtype == np.int64 and _is_whole(v)):
        return _numpys(np.searchsorted, a, v, side, sorter)
    return np.int64(_search(a, v, side == "right"))


if _search is not None:
    _stands_for_method("searchsorted")(searchsorted)


@_stands_for(np.interp)
def interp(x, xp, fp, left=None, right=None, period=None):
    if not (
        isinstance(x, float) and _is_vector(xp) and _is_vector(fp) and len(xp) == len(fp) and len(xp) > 1
        and (left is None or isinstance(left, float)) and (right is None or isinstance(right, float)) and period is None
    ):
        return _numpys(np.interp, x, xp, fp, left, right, period)
    x = np.float64(x)
    n = len(xp)
    if x != x:
        return x
    if x > xp[n - 1]:
        return fp[n - 1] if right is None else np.float64(right)
    if x < xp[0]:
        return fp[0] if left is None else np.float64(left)
    # Which of several places is found matters where xp is not sorted: the first ones are asked one by one, then what is near.
    if n < 5:
        low = 0
        while low < n - 1 and x >= xp[low + 1]:
            low += 1
    elif x < xp[1]:
        low = 0
    elif x < xp[2]:
        low = 1
    elif x < xp[3]:
        low = 2
    else:
        high = n
        if n > 10 and x < xp[9]:
            high = 9
        low = _between(3, high, xp, x, True) - 1
    if low == n - 1 or xp[low] == x:
        return fp[low]
    slope = (fp[low + 1] - fp[low]) / (xp[low + 1] - xp[low])
    y = slope * (x - xp[low]) + fp[low]
    if y != y:
        y = slope * (x - xp[low + 1]) + fp[low + 1]
        if y != y and fp[low] == fp[low + 1]:
            y = fp[low]
    return y


def _accumulated(function, combine, start, a, axis, dtype, out):
    """``start`` is a number to which combining the first is exact."""
    if not (_is_vector(a) and (axis is None or axis == 0 or axis == -1) and dtype is None and out is None):
        return _numpys(function, a, axis, dtype, out)
    results = np.empty(len(a))
    total = np.float64(start)
    for i in range(len(a)):
        total = combine(total, a[i])
        results[i] = total
    return results


@_stands_for_method("cumsum")
def cumsum(a, axis=None, dtype=None, out=None):
    return _accumulated(np.cumsum, operator.add, -0.0, a, axis, dtype, out)


@_stands_for_method("cumprod")
def cumprod(a, axis=None, dtype=None, out=None):
    return _accumulated(np.cumprod, operator.mul, 1.0, a, axis, dtype, out)


@_stands_for_method("trace")
def trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    if axis1 != 0 or axis2 != 1:
        return _numpys(np.trace, a, offset, axis1, axis2, dtype, out)
    if not (_is_doubles(a) and a.ndim == 2 and offset == 0 and dtype is None and out is None):
        return _numpys(np.trace, a, offset, dtype=dtype, out=out)
    return np.diagonal(a).sum()


@_stands_for(np.inner)
def inner(a, b, /):
    return np.dot(a, b) if _is_vector(a) and _is_vector(b) else _numpys(np.inner, a, b)


@_stands_for(np.vdot)
def vdot(a, b, /):
    # It adds in another order than np.dot() where they do not lie together.
    packed = _is_vector(a) and _is_vector(b) and np.ascontiguousarray(a) is a and np.ascontiguousarray(b) is b
    # np.dot() of one element each is their product, which may be -0.0; this adds it to 0.0.
    return np.dot(a, b) + 0.0 if packed else _numpys(np.vdot, a, b)


@_stands_for(np.histogram)
def histogram(a, bins=10, range=None, density=None, weights=None):
    plain = _is_doubles(a) and a.size > 0 and type(bins) is int and bins > 0
    if not plain or range is not None or weights is not None or density not in (None, False):
        return _numpys(np.histogram, a, bins, range, density, weights)
    values = a.ravel()
    first, last = values.min(), values.max()
    if not (np.isfinite(first) and np.isfinite(last)):
        raise ValueError("the range is not finite")
    if first == last:
        first, last = first - 0.5, last + 0.5
    step = (last - first) / bins
    edges = np.arange(bins + 1, dtype=np.float64) * step + first
    edges[-1] = last
    if step == 0 or (edges[:-1] >= edges[1:]).any():
        raise ValueError("too many bins")
    counts = np.zeros(bins, dtype=np.int64)
    for value in values:
        at = int((value - first) / (last - first) * bins)
        if at == bins:
            at -= 1
        # What has been rounded may be off by one.
        if value < edges[at]:
            at -= 1
        if at != bins - 1 and value >= edges[at + 1]:
            at += 1
        counts[at] += 1
    return counts, edges[:]  # which np.linspace makes as a view


@_stands_for(np.kron)
def kron(a, b):
    if _is_vector(a) and _is_vector(b):
        return (a[:, None] * b).reshape(len(a) * len(b))
    return _numpys(np.kron, a, b)


@_stands_for(np.tensordot)
def tensordot(a, b, axes=2):
    if type(a) is np.ndarray and type(b) is np.ndarray and a.ndim == 2 and b.ndim == 2 and type(axes) is int and axes == 1:
        return np.dot(a, b)[:]  # which NumPy makes as a view
    return _numpys(np.tensordot, a, b, axes)


def _are_few(places) -> bool:
    """One by one they cost less."""
    if not isinstance(places, (list, tuple)) or not 0 < len(places) < 9:
        return False
    for place in places:
        if type(place) is not float and type(place) is not int:
            return False
    return True


def _quantiles(function, a, q, axis, out, overwrite_input, method, keepdims, weights):
    if out is not None or overwrite_input is not False or method != "linear" or keepdims is not False or weights is not None:
        return _numpys(function, a, q, axis, out, overwrite_input, method, keepdims, weights=weights)
    if axis is not None:
        return _numpys(function, a, q, axis)
    if _is_doubles(a) and _are_few(q):
        found = np.array([function(a, float(place)) for place in q])
        # Of zeros, which have signs, another may stand at a place if others are looked for as well.
        return _numpys(function, a, q) if (found == 0).any() else found
    return _numpys(function, a, q)


@_stands_for(np.percentile)
def percentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    return _quantiles(np.percentile, a, q, axis, out, overwrite_input, method, keepdims, weights)


@_stands_for(np.quantile)
def quantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    return _quantiles(np.quantile, a, q, axis, out, overwrite_input, method, keepdims, weights)


@_stands_for_method("take")
def take(a, indices, axis=None, out=None, mode="raise"):
    if type(a) is np.ndarray and a.ndim == 1 and isinstance(indices, int) and (axis is None or axis == 0) and out is None and mode == "raise":
        return a[indices]
    return _numpys(np.take, a, indices, axis, out, mode)
