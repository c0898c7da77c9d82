"""Assignments by arrays of indices, and np.add.at, as loops over the places, in the order in which NumPy comes by.

As in ``_small_calls``, but asked for by capture itself (declared_calls.cpp), which has made sure that the places are arrays of
ints, or one such array and an int, as many as the array has axes, and that nothing shares memory with it. An index that is outside of
its array is an exception here, upon which the statement is NumPy's as a whole, which looks at all indices before it assigns anything.
"""

from __future__ import annotations

import numpy as np

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
    if a.ndim == 1:
        index = index[0] if type(index) is tuple else index
        each = _check(a, len(index), value)
        for k in range(len(index)):
            a[index[k]] = value[k] if each else value
        return
    first, second = index
    of_rows, of_columns = _is_places(first), _is_places(second)
    count = len(first) if of_rows else len(second)
    if of_rows and of_columns and len(second) != count:
        _left_to_numpy("an assignment by indices of several lengths")
    each = _check(a, count, value)
    for k in range(count):
        a[first[k] if of_rows else first, second[k] if of_columns else second] = value[k] if each else value


def at(self, a, indices, b=None, /):
    if a.dtype.kind not in "fi" or a.dtype.itemsize < 4 or b is None:
        _left_to_numpy("ufunc.at of these arguments")
    if self is not np.add and self is not np.subtract:
        _left_to_numpy("ufunc.at of this ufunc")
    if a.ndim == 2:
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
    indices = indices[0] if type(indices) is tuple else indices
    each = _check(a, len(indices), b)
    if self is np.add:
        for k in range(len(indices)):
            a[indices[k]] += b[k] if each else b
    else:
        for k in range(len(indices)):
            a[indices[k]] -= b[k] if each else b

