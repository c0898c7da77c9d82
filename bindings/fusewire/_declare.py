"""What users declare about functions and arrays. It steers compiles that follow; reset() forgets what went before."""

from __future__ import annotations

import functools
import inspect
import operator
import sys
import types
from collections.abc import Iterable

import numpy as np

from fusewire import _fusewire

graph_break = _fusewire.graph_break


def disable(function=None, /, *, reason: str | None = None):
    """Never compile ``function``, neither on its own nor inside a compiled caller. Use as decorator or call.

    ``reason`` is shown where the call breaks a graph.
    """
    if function is None:
        return functools.partial(disable, reason=reason)
    if isinstance(function, _fusewire.CompiledFunction):
        function = function.__wrapped__
    target = getattr(function, "__func__", function)
    if isinstance(target, types.FunctionType):
        _fusewire.disable_code(target.__code__, reason or "")
    elif not callable(function):
        raise TypeError(f"fusewire.disable: {type(function).__name__!r} object is not callable")
    return function


def _callable(function, what: str):
    if not callable(function):
        raise TypeError(f"fusewire.{what}: {type(function).__name__!r} object is not callable")
    return function


def allow_in_graph(function, /):
    """Promise that ``function`` computes its result from its arguments alone, so that compiled code may contain it.

    Capture follows its code; where that cannot be, and where it is written in C, compiled code calls it. To learn what it
    answers, it is called on a few small arrays of the same kinds when a call of it is compiled.
    """
    _callable(function, "allow_in_graph")
    inner = getattr(function, "__wrapped__", None)
    if not isinstance(function, types.FunctionType) and isinstance(inner, types.FunctionType):  # NumPy's dispatchers
        _fusewire.declare(inner, "allow_in_graph", None)
        _fusewire.declare(function, "allow_in_graph", inner)
    else:
        _fusewire.declare(getattr(function, "__func__", function), "allow_in_graph", None)
    return function


def substitute_in_graph(original, /, *, skip_signature_check: bool = False):
    """Decorator: compiled code follows the decorated Python function where ``original`` is called.

    The two must do the same; ``original`` itself still runs where Python runs. Their signatures are compared unless
    ``skip_signature_check`` is given or ``original`` has none.
    """
    _callable(original, "substitute_in_graph")

    def substitute(replacement):
        if not isinstance(replacement, types.FunctionType):
            raise TypeError("fusewire.substitute_in_graph: the substitute must be a Python function")
        if not skip_signature_check:
            _compare_signatures(original, replacement)
        _fusewire.declare(original, "substitute", replacement)
        return replacement

    return substitute


def _compare_signatures(original, replacement) -> None:
    try:
        wanted = inspect.signature(original)
    except (TypeError, ValueError):
        return
    shape = lambda s: [(p.name, p.kind, p.default is p.empty) for p in s.parameters.values()]
    actual = inspect.signature(replacement)
    if shape(wanted) != shape(actual):
        raise TypeError(
            f"fusewire.substitute_in_graph: {replacement.__qualname__}{actual} does not have the signature of the "
            f"original, {wanted} (skip_signature_check=True accepts it)"
        )


def assume_constant_result(function, /):
    """Promise that ``function`` always returns the same for the same arguments.

    It is called while a caller is compiled, on arguments that are then guarded to be these; its result becomes a
    constant.
    """
    _callable(function, "assume_constant_result")
    _fusewire.declare(getattr(function, "__func__", function), "assume_constant", None)
    return function


def mark_dynamic(array, dim, /) -> None:
    """Keep the size of this array along ``dim`` (an int or several) a symbol, whatever ``dynamic`` or a profile says.

    It becomes a constant only where the code cannot do without: a size of 1 that is broadcast, a branch on it. The mark
    belongs to this array object, not to its views and copies.
    """
    _mark(array, dim, "dynamic")


def mark_static(array, dim=None, /) -> None:
    """Make the size of this array along ``dim`` (an int, several, or all) a constant: each size gets a variant.

    It goes before a variant for any size that there is already. The mark belongs to this array object, not to its views
    and copies.
    """
    _mark(array, range(array.ndim) if dim is None and _is_array(array) else dim, "static")


def _is_array(value) -> bool:
    cupy = getattr(sys.modules.get("cupy"), "ndarray", None)
    return isinstance(value, np.ndarray) or (cupy is not None and isinstance(value, cupy))


def _mark(array, dims, policy: str) -> None:
    what = f"fusewire.mark_{policy}"
    if not _is_array(array):
        raise TypeError(f"{what}: expected an array, got {type(array).__name__}")
    axes = []
    for dim in dims if isinstance(dims, Iterable) and not isinstance(dims, (str, bytes)) else (dims,):
        try:
            axis = operator.index(dim)
        except TypeError:
            raise TypeError(f"{what}: expected dimensions as ints, got {type(dim).__name__}") from None
        if not -array.ndim <= axis < array.ndim:
            raise IndexError(f"{what}: array of rank {array.ndim} has no dimension {axis}")
        axes.append(axis % array.ndim)
    for axis in axes:
        _fusewire.mark_size(array, axis, policy)
