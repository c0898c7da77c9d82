"""The decorator. Decisions are made in the extension; this file gives them a Python face."""

from __future__ import annotations

import functools
import inspect
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


def _start(version: str) -> None:
    """Reads the environment; once, when the package is imported."""
    from fusewire._trace import set_versions

    for name in _fusewire.read_environment():
        warnings.warn(f"fusewire: environment variable {name} is not a setting", stacklevel=3)
    set_versions(version)
    if spec := os.environ.get("FUSEWIRE_LOGS"):
        _fusewire.configure_logs(spec)
    if directory := os.environ.get("FUSEWIRE_TRACE"):
        _fusewire.open_trace(directory)


def compile(function=None, /, **options):
    """Compile a function; use as ``@compile`` or ``@compile(option=value)``.

    ``function`` may be a function, lambda, bound method, staticmethod, classmethod or any callable. What is not a
    Python function keeps running as it is. Functions are compiled on their first call, once per kind of arguments;
    where a function cannot be compiled as a whole, its parts are.

    Options are settings (docs/settings.md) and hold for this function whatever ``fusewire.config`` says; among them:

    ``fullgraph=True``
        raise GraphBreakError, which lists the breaks, in place of a call that would run partly as Python
    ``dynamic``
        of sizes of arrays: None and True keep them symbols (None allows for constants where that pays, which at present
        is nowhere); False makes each a constant
    ``backend``
        a name of ``list_backends()``, or a callable (see ``register_backend``)
    ``mode="verify"``
        run every call compiled and as Python, raise VerificationError and write a reproducer when they differ
    ``recompile_limit``
        variants per function and per region

    An unknown option raises TypeError, a bad value ValueError.
    """
    from fusewire._config import option_text

    texts = {name: option_text(name, value) for name, value in options.items()}
    if function is None:
        _fusewire.compile_function(len, texts)  # reports bad options at the decorator, not at its use
        return functools.partial(_wrap, options=texts)
    return _wrap(function, options=texts)


def _wrap(function, *, options: dict[str, str]):
    from fusewire import _profile, _summary
    from fusewire._config import config

    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(_wrap(function.__func__, options=options))
    if isinstance(function, types.MethodType):
        return types.MethodType(_wrap(function.__func__, options=options), function.__self__)
    function = getattr(function, "__fusewire_compiled__", function)
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
    _profile.apply(compiled)
    _summary.keep(compiled)
    verify = options.get("mode", config.mode) == "verify" and isinstance(function, types.FunctionType)
    if verify and not (inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function) or
                       inspect.isasyncgenfunction(function)):
        from fusewire._verify import verified

        return verified(compiled, options.get("repro_dir", ""))
    return compiled


def reset(function=None, /) -> None:
    """Forget the variants and breaks of one compiled function, or of all."""
    for compiled in list(_compiled) if function is None else [_compiled_of(function)]:
        _fusewire.reset(compiled)


def _compiled_of(function):
    """The CompiledFunction behind a decorated function, bound method or static method."""
    target = getattr(function, "__func__", function)
    target = getattr(target, "__fusewire_compiled__", target)
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
