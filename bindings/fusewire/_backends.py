"""Who computes captured graphs: the ladder of backends that Fusewire has, and callables of the user."""

from __future__ import annotations

from fusewire import _fusewire
from fusewire._config import choices, did_you_mean

_LADDER = tuple(choice for choice in choices("backend") if not choice.startswith("@"))
_registered: dict[str, object] = {}


def list_backends() -> list[str]:
    """Names that ``fusewire.compile(backend=...)`` takes: fastest to simplest, then the registered ones."""
    return [*_LADDER, *_registered]


def register_backend(name: str, backend=None, /):
    """Make ``backend`` known under ``name``; as a call or as a decorator ``@register_backend("mine")``.

    A backend is called with a ``fusewire.Graph`` and answers a callable: that gets the graph's inputs as arrays (and,
    behind them, the values of ``graph.sizes``) and answers the outputs, a sequence of arrays or one array; behind them
    the new contents of ``graph.written`` inputs. If either raises or answers something that does not fit, this is
    reported and Python runs instead. A name that is registered already stands for the new backend from then on.
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"fusewire.register_backend: {name!r} is not a name")
    if name in _LADDER:
        raise ValueError(f"fusewire.register_backend: {name!r} is a backend of Fusewire")
    if backend is None:
        return lambda b: register_backend(name, b)
    if not callable(backend):
        raise TypeError(f"fusewire.register_backend: {type(backend).__name__!r} object is not callable")
    _fusewire.register_backend(name, backend)
    _registered[name] = backend
    return backend


def registered(name: str):
    """The callable that is registered under a name, or None."""
    return _registered.get(name)


def backend_text(backend) -> str:
    """The setting's text for a name or a callable."""
    if isinstance(backend, str):
        if backend in _LADDER:
            return backend
        if backend.removeprefix("@") in _registered:
            return "@" + backend.removeprefix("@")
        hint = did_you_mean(backend, list_backends()) or f"; there are {', '.join(list_backends())}"
        raise ValueError(f"fusewire: {backend!r} is not a backend{hint}")
    if not callable(backend):
        raise TypeError(f"fusewire: a backend is a name or a callable, not {type(backend).__name__}")
    for name, known in _registered.items():
        if known is backend:
            return "@" + name
    base = "".join(c if c.isalnum() else "_" for c in getattr(backend, "__name__", type(backend).__name__))
    name = base if base.isidentifier() and base not in list_backends() else f"backend_{len(_registered)}_{base}"
    register_backend(name, backend)
    return "@" + name


def _numpy(graph):
    from fusewire._graph import numpy_backend

    return numpy_backend(graph)


_fusewire.register_backend("numpy", _numpy)
