"""Pickling of decorated functions: by reference or by value, as the pickler does it with functions.

pickle stores functions by name alone; cloudpickle and dill store by value what no other process can import, such as the
functions of ``__main__``. Neither asks a type of ours. So a decorated function of ``__main__`` is stored as ``restore``
of its stand-in: a plain function with the same code whose qualified name, ``f.__fusewire_function__``, leads to it. Who
stores functions by name stores that name, who stores them by value stores the function itself.
"""

from __future__ import annotations

import functools
import sys
import types
import weakref

from fusewire import _fusewire

_SUFFIX = ".__fusewire_function__"
# Stand-in of each decorated function that was asked for it, and back. A function that was stored by value is a stand-in,
# too, of what restore() made of it.
_stand_ins: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
_owners: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def reduce(compiled, protocol: int):
    """``__reduce_ex__`` of a decorated function."""
    by_name = _found(compiled.__module__, getattr(compiled, "__qualname__", "")) is compiled
    # Before protocol 4 a dotted name is stored as getattr() of what is being stored.
    if by_name and (compiled.__module__ != "__main__" or protocol < 4):
        return compiled.__qualname__
    wrapped = compiled.__wrapped__
    if not by_name or not isinstance(wrapped, types.FunctionType):
        return restore, (wrapped, _options(compiled), _attributes(compiled))
    return restore, (stand_in(compiled), _options(compiled))


def restore(function, options: dict, attributes: dict | None = None):
    """The decorated function that ``function``, a stand-in or what was decorated, stands for."""
    from fusewire._api import _compiled_in, compile

    by_value = False
    if isinstance(function, types.FunctionType):
        if function in _owners and (owner := _owners[function]()) is not None:
            return owner
        by_value = _found(function.__module__, function.__qualname__) is not function
    if by_value:
        function.__qualname__ = function.__qualname__.removesuffix(_SUFFIX)
    compiled = _compiled_in(compile(function, **options))
    compiled.__dict__.update(attributes or {})
    if by_value:
        _owners[function] = weakref.ref(compiled)  # a function that refers to itself comes here twice
    return compiled


def stand_in(compiled):
    """The value of the attribute ``__fusewire_function__``."""
    wrapped = compiled.__wrapped__
    if not isinstance(wrapped, types.FunctionType):
        raise AttributeError(f"{compiled!r} has no Python function")
    # Always the same object: picklers know by it what they have stored, and a function may refer to itself.
    if (made := _stand_ins.get(compiled)) is None:
        made = types.FunctionType(wrapped.__code__, wrapped.__globals__, wrapped.__name__, None, wrapped.__closure__)
        made.__qualname__ = compiled.__qualname__ + _SUFFIX
        _stand_ins[compiled] = made
        _owners[made] = weakref.ref(compiled)
    for name in ("__code__", "__defaults__", "__kwdefaults__", "__annotations__"):
        setattr(made, name, getattr(wrapped, name))
    made.__doc__, made.__module__ = compiled.__doc__, compiled.__module__
    made.__dict__.update(wrapped.__dict__ | _attributes(compiled))
    return made


def _attributes(compiled) -> dict:
    """Those that were set on the decorated function itself."""
    own = getattr(compiled.__wrapped__, "__dict__", {})
    known = (*functools.WRAPPER_ASSIGNMENTS, "__wrapped__")
    return {name: value for name, value in compiled.__dict__.items()
            if name not in known and not (name in own and own[name] is value)}


def _found(module: str, qualname: str):
    """What is there under a name, or None."""
    target = sys.modules.get(module)
    for part in qualname.split("."):
        target = getattr(target, part, None)
    return target


def _options(compiled) -> dict:
    """What compile() was given, in a form that another process understands."""
    from fusewire._backends import registered
    from fusewire._config import option_value

    options = {name: option_value(name, text) for name, text in _fusewire.options_of(compiled).items()}
    if backend := registered(options.get("backend", "")):
        options["backend"] = backend
    return options
