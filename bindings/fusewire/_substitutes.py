"""Functions of NumPy that call a function of the user for each element, or each row, as capture follows them.

What stands here does what NumPy's own code does, in the same order, in a form of which capture makes a loop of the graph. It
is never run by Python: where it ends in a call that stands in no graph (``np.frompyfunc``, NumPy's own way), or raises, the
call that it stands for is left to NumPy as a whole.
"""

from __future__ import annotations

import numpy as np

from fusewire._declare import substitute_in_graph

_ELEMENTS = "?bBhHiIlLqQefdFD"  # type characters of elements that Python has a number for
_RESULTS = "?lqdD"  # the same for results: what Python's own numbers become


@substitute_in_graph(np.vectorize.__call__)
def _call_vectorized(self, *args, **kwargs):
    if self.pyfunc is np._NoValue or kwargs or not args or self.signature is not None or self.cache:
        return self._call_as_normal(*args, **kwargs)
    arrays = [np.asarray(argument) for argument in args]
    shape, size = (), 1
    for i, array in enumerate(arrays):
        if i in self.excluded or array.dtype.char not in _ELEMENTS:
            return self._call_as_normal(*args)
        if array.ndim:
            # Calls go by the order of memory, which is that of indices for one axis and for what is packed.
            if (array.ndim > 1 and np.ascontiguousarray(array) is not array) or (shape and array.shape != shape):
                return self._call_as_normal(*args)
            shape = array.shape
        if array.dtype.kind in "fc" and np.isnan(array).any():
            # Python's comparisons set the flag that NumPy looks for when the function has been called for all elements.
            raise FloatingPointError("not a number")
    for length in shape:
        size = size * length
    function = self.pyfunc
    rows = [array.ravel() for array in arrays]
    if self.otypes is not None:
        if len(self.otypes) != 1:
            np.frompyfunc(function, len(args), 2)
        result = np.dtype(self.otypes[0])
    elif size:
        # NumPy asks what the function makes of the first elements, which are NumPy's scalars then and no numbers of Python.
        result = np.asarray(function(*[row[0] for row in rows])).dtype
    else:
        return self._call_as_normal(*args)
    if result.char not in _RESULTS:
        np.frompyfunc(function, len(args), 1)
    out = np.empty(shape, result)
    results = out.reshape(-1)
    for i in range(size):
        results[i] = function(*[(row[i] if array.ndim else row[0]).item() for row, array in zip(rows, arrays)])
    return out


@substitute_in_graph(np.apply_along_axis)
def _apply_along_axis(func1d, axis, arr, *args, **kwargs):
    arr = np.asanyarray(arr)
    if arr.ndim != 2 or axis not in (0, 1, -1, -2) or not arr.size:
        np.frompyfunc(func1d, 1, 1)
    last = axis in (1, -1)
    rows = arr if last else arr.T
    first = np.asanyarray(func1d(rows[0], *args, **kwargs))
    out = np.zeros(rows.shape[:1] + first.shape, first.dtype)
    out[0] = first
    for i in range(1, len(rows)):
        out[i] = np.asanyarray(func1d(rows[i], *args, **kwargs))
    return out[:] if last or out.ndim == 1 else np.moveaxis(out, 0, -1)
