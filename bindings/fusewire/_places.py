"""Assignments by arrays of indices, and np.add.at, as loops over the places, in the order in which NumPy comes by.

As in ``_small_calls``. An index that is outside of its array is an exception here, upon which the statement is NumPy's as a
whole, which looks at all indices before it assigns anything.
"""

from __future__ import annotations

import operator

import numpy as np

from fusewire import _fusewire
from fusewire._substitutes import _left_to_numpy


def _is_places(index) -> bool:
    return type(index) is np.ndarray and index.ndim == 1 and index.dtype.kind == "i"


def _check(a, count: int, value) -> bool:
    """Whether there is a value for each place; nothing that would have to be converted."""
    if np.ndim(value) == 0:
        if type(value) is np.ndarray or not (isinstance(value, (bool, int, float)) or np.result_type(value) == a.dtype):
            _left_to_numpy("an assignment by indices of a number of another type")
        return False
    if type(value) is not np.ndarray or value.dtype != a.dtype or value.shape != (count,):
        _left_to_numpy("an assignment by indices of an array of another shape or type")
    return True


def setitem(a, index, value):
    if type(index) is not tuple:
        if a.ndim != 1:
            _left_to_numpy("an assignment by indices to rows")
        if _check(a, len(index), value):
            for k in range(len(index)):
                a[index[k]] = value[k]
        else:
            for k in range(len(index)):
                a[index[k]] = value
        return
    first, second = index
    if not _is_places(first):
        if _check(a, len(second), value):
            for k in range(len(second)):
                a[first, second[k]] = value[k]
        else:
            for k in range(len(second)):
                a[first, second[k]] = value
    elif not _is_places(second):
        if _check(a, len(first), value):
            for k in range(len(first)):
                a[first[k], second] = value[k]
        else:
            for k in range(len(first)):
                a[first[k], second] = value
    else:
        if len(first) != len(second):
            _left_to_numpy("an assignment by indices of several lengths")
        if _check(a, len(first), value):
            for k in range(len(first)):
                a[first[k], second[k]] = value[k]
        else:
            for k in range(len(first)):
                a[first[k], second[k]] = value


def at(self, a, indices, b=None, /):
    if type(a) is not np.ndarray or a.dtype.kind not in "fi" or a.dtype.itemsize < 4 or b is None:
        _left_to_numpy("ufunc.at of these arguments")
    if self is not np.add and self is not np.subtract:
        _left_to_numpy("ufunc.at of this ufunc")
    if type(indices) is tuple:
        if a.ndim != 2 or len(indices) != 2:
            _left_to_numpy("ufunc.at of these indices")
        first, second = indices
        if not _is_places(first) or not _is_places(second) or len(first) != len(second):
            _left_to_numpy("ufunc.at of these indices")
        each = _check(a, len(first), b)
        if self is np.add:
            for k in range(len(first)):
                a[first[k], second[k]] += b[k] if each else b
        else:
            for k in range(len(first)):
                a[first[k], second[k]] -= b[k] if each else b
        return
    if a.ndim != 1 or not _is_places(indices):
        _left_to_numpy("ufunc.at of these indices")
    each = _check(a, len(indices), b)
    if self is np.add:
        for k in range(len(indices)):
            a[indices[k]] += b[k] if each else b
    else:
        for k in range(len(indices)):
            a[indices[k]] -= b[k] if each else b


_fusewire.declare(operator.setitem, "small_call", setitem)
_fusewire.declare(np.ufunc.at, "small_call", at)
