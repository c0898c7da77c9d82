"""The decorator. Decisions are made in the extension; this file gives them a Python face."""

from __future__ import annotations

import functools
import inspect
import os
import types
import warnings
import weakref

from fusewire import _fusewire

CompiledFunction = _fusewire.CompiledFunction
is_compiling = _fusewire.is_compiling

# Every live decorated function, for reset().
_compiled: weakref.WeakSet = weakref.WeakSet()


def _start(version: str) -> None:
    """Reads the environment; once, when the package is imported."""
    from fusewire._config import did_you_mean, unknown_variable
    from fusewire._trace import set_versions

    ignored = [(name, why or unknown_variable(name)) for name, why in _fusewire.read_environment()]
    set_versions(version)
    if spec := os.environ.get("FUSEWIRE_LOGS"):
        known = {"all", *(row["name"] for row in _fusewire.log_channels())}
        items = {item: item.strip().lstrip("+-").strip() for item in spec.split(",")}
        _fusewire.configure_logs(",".join(item for item, name in items.items() if name in known))
        ignored += [("FUSEWIRE_LOGS", f"{name!r} is not a log channel{did_you_mean(name, known)}")
                    for name in items.values() if name and name not in known]
    if directory := os.environ.get("FUSEWIRE_TRACE"):
        try:
            _fusewire.open_trace(directory)
        except ValueError as error:
            ignored.append(("FUSEWIRE_TRACE", str(error)))
    if limit := os.environ.get("FUSEWIRE_TRACE_LIMIT"):
        if not limit.replace(".", "", 1).isdecimal() or float(limit) <= 0:
            ignored.append(("FUSEWIRE_TRACE_LIMIT", f"{limit!r} is not a number of MB"))
    if perf := os.environ.get("FUSEWIRE_PERF"):
        if perf not in ("0", "1"):
            ignored.append(("FUSEWIRE_PERF", f"{perf!r} is neither 0 nor 1"))
        elif perf == "1":
            try:
                _fusewire.open_profilers()
            except ValueError as error:
                ignored.append(("FUSEWIRE_PERF", str(error)))
    for name, why in ignored:
        warnings.warn(f"fusewire: environment variable {name}: {why} (ignored)", stacklevel=3)


def configure_logs(spec: str, /) -> None:
    """Choose what is logged on stderr, as FUSEWIRE_LOGS does: ``"graph_breaks,recompiles"``, ``"all,-guards"``, ``""``.

    An unknown channel raises ValueError and changes nothing.
    """
    from fusewire._config import did_you_mean

    if not isinstance(spec, str):
        raise TypeError(f"fusewire.configure_logs: expected names of channels as a str, not {type(spec).__name__}")
    known = [row["name"] for row in _fusewire.log_channels()]
    for item in spec.split(","):
        name = item.strip().lstrip("+-").strip()
        if name and name not in ("all", *known):
            hint = did_you_mean(name, known) or f"; there are all, {', '.join(known)}"
            raise ValueError(f"fusewire.configure_logs: {name!r} is not a log channel{hint}")
    _fusewire.configure_logs(spec)


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
    from fusewire._config import is_setting, option_text, unknown_setting

    for name in options:
        if not is_setting(name):
            raise TypeError(f"fusewire.compile: unknown option: {unknown_setting(name)}")
    texts = {name: option_text(name, value) for name, value in options.items()}
    if function is None:
        return functools.partial(_wrap, options=texts)
    return _wrap(function, options=texts)


def _wrap(function, *, options: dict[str, str]):
    from fusewire import _profile, _summary, _trace
    from fusewire._config import config

    if isinstance(function, type):
        raise TypeError(
            f"fusewire.compile: {function.__qualname__!r} is a class; decorate those of its methods that compute"
        )
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(_wrap(function.__func__, options=options))
    if isinstance(function, types.MethodType):
        return types.MethodType(_wrap(function.__func__, options=options), function.__self__)
    compiled = _compiled_in(function)
    if compiled is not None:
        function = compiled.__wrapped__
    if not callable(function):
        raise TypeError(f"fusewire.compile: {type(function).__name__!r} object is not callable")
    call = getattr(type(function), "__call__", None)
    if isinstance(call, types.FunctionType):
        return types.MethodType(_wrap(call, options=options), function)
    compiled = _fusewire.compile_function(function, options)
    for name in functools.WRAPPER_ASSIGNMENTS:
        if hasattr(function, name):
            setattr(compiled, name, getattr(function, name))
    compiled.__dict__.update({k: v for k, v in getattr(function, "__dict__", {}).items() if k != "__wrapped__"})
    _compiled.add(compiled)
    _profile.apply(compiled)
    _summary.keep(compiled)
    _trace.keep(compiled)
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
    compiled = _compiled_in(getattr(function, "__func__", function))
    if compiled is None:
        raise TypeError(f"fusewire: {_named(function)} is not decorated with fusewire.compile")
    return compiled


def _compiled_in(function):
    """The CompiledFunction that it is or calls, None for what is not decorated."""
    if isinstance(function, CompiledFunction):
        return function
    inner = getattr(function, "__fusewire_compiled__", None)
    return inner if isinstance(inner, CompiledFunction) else None


def _named(value) -> str:
    kind = type(value).__name__
    name = getattr(value, "__qualname__", None)
    return f"{kind} {name!r}" if isinstance(name, str) else f"a {kind!r} object"
