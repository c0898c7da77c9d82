"""The decorator and its companions. Decisions are made in the extension; this file gives them a Python face."""

from __future__ import annotations

import functools
import os
import sys
import types
import warnings
import weakref

from fusewire import _fusewire

CompiledFunction = _fusewire.CompiledFunction
configure_logs = _fusewire.configure_logs
is_compiling = _fusewire.is_compiling

# Every live decorated function, for reset().
_compiled: weakref.WeakSet = weakref.WeakSet()


def _start() -> None:
    for name in _fusewire.read_environment():
        warnings.warn(f"fusewire: environment variable {name} is not a setting", stacklevel=3)
    if spec := os.environ.get("FUSEWIRE_LOGS"):
        _fusewire.configure_logs(spec)
    if directory := os.environ.get("FUSEWIRE_TRACE"):
        _fusewire.open_trace(directory)


_start()


def compile(function=None, /, **options):
    """Compile a function; use as ``@compile`` or ``@compile(option=value)``.

    ``function`` may be a function, lambda, bound method, staticmethod, classmethod or any callable. What is not a
    Python function keeps running as it is. Functions are compiled on their first call, once per kind of arguments.

    Options are the settings of ``fusewire._fusewire.settings()`` and override the environment for this function:
    for example ``recompile_limit=4`` or ``enable=False``. An unknown option raises TypeError, a bad value ValueError.
    """
    texts = {name: _option_text(value) for name, value in options.items()}
    if function is None:
        _fusewire.compile_function(len, texts)  # reports bad options at the decorator, not at its use
        return functools.partial(_wrap, options=texts)
    return _wrap(function, options=texts)


def _option_text(value) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def _wrap(function, *, options: dict[str, str]):
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(_wrap(function.__func__, options=options))
    if isinstance(function, types.MethodType):
        return types.MethodType(_wrap(function.__func__, options=options), function.__self__)
    if isinstance(function, CompiledFunction):
        function = function.__wrapped__
    if not callable(function):
        raise TypeError(f"fusewire.compile: {type(function).__name__!r} object is not callable")
    call = getattr(type(function), "__call__", None)
    if isinstance(call, types.FunctionType) and not isinstance(function, type):
        return types.MethodType(_wrap(call, options=options), function)
    compiled = _fusewire.compile_function(function, options)
    for name in functools.WRAPPER_ASSIGNMENTS:
        if hasattr(function, name):
            setattr(compiled, name, getattr(function, name))
    compiled.__dict__.update({k: v for k, v in getattr(function, "__dict__", {}).items() if k != "__wrapped__"})
    _compiled.add(compiled)
    return compiled


def disable(function=None, /, *, reason: str | None = None):
    """Never compile ``function``, neither on its own nor inside a compiled caller. Use as decorator or call.

    ``reason`` is shown by explain().
    """
    if function is None:
        return functools.partial(disable, reason=reason)
    if isinstance(function, CompiledFunction):
        function = function.__wrapped__
    target = getattr(function, "__func__", function)
    if isinstance(target, types.FunctionType):
        _fusewire.disable_code(target.__code__)
    elif not callable(function):
        raise TypeError(f"fusewire.disable: {type(function).__name__!r} object is not callable")
    return function


def reset(function=None, /) -> None:
    """Forget the variants and breaks of one compiled function, or of all."""
    for compiled in list(_compiled) if function is None else [_compiled_of(function)]:
        _fusewire.reset(compiled)


def _compiled_of(function):
    """The CompiledFunction behind a decorated function, bound method or static method."""
    target = getattr(function, "__func__", function)
    if not isinstance(target, CompiledFunction):
        raise TypeError(f"{function!r} is not decorated with fusewire.compile")
    return target


def _reduce(compiled):
    """Pickle support: by name where the name leads back to the object, as a new compile() of the function otherwise."""
    target = sys.modules.get(compiled.__module__)
    for part in compiled.__qualname__.split("."):
        target = getattr(target, part, None)
    if target is compiled:
        return compiled.__qualname__
    return compile, (compiled.__wrapped__,)
