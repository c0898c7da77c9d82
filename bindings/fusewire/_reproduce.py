"""Reproducers: Python files that show by themselves what went wrong in a call."""

from __future__ import annotations

import ast
import base64
import copyreg
import hashlib
import inspect
import io
import os
import pickle
import platform
import re
import sys
import tempfile
import textwrap
import types

import numpy as np

from fusewire import _fusewire
from fusewire._config import config

_HEAD = '''\
import base64
import pickle

import numpy as np

import fusewire


def load(text):
    return pickle.loads(base64.b64decode(text))

'''


def write_reproducer(
    function, args, kwargs: dict, message: str, body: str, store: Pickled, folder: str = "", kind: str = "repro"
) -> str:
    """Writes a file with ``function``, what it names, its arguments, and behind them ``body``; answers its path.

    ``body`` uses ``args``, ``kwargs`` and, in place of the function, ``{function}``.
    """
    folder = folder or config.repro_dir or tempfile.gettempdir()
    os.makedirs(folder, exist_ok=True)
    text = _text(function, args, kwargs, message, body, store)
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    name = re.sub(r"\W+", "_", function.__qualname__).strip("_")
    path = os.path.join(folder, f"fusewire_{kind}_{name}_{digest}.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def _text(function, args, kwargs: dict, message: str, body: str, store: Pickled) -> str:
    import fusewire

    lines = [f"# {line}" for line in message.splitlines()]
    lines.append(
        f"# fusewire {fusewire.__version__}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"{_fusewire.target()}"
    )
    lines.append(_HEAD)
    lines += _surroundings(function, store)
    lines += ["", ""]
    whole = store.expression((args, kwargs))
    if not whole.startswith("..."):
        lines.append(f"args, kwargs = {whole}")  # arrays that share memory still do
    else:
        lines += ["args = (", *(f"    {store.expression(arg, ',')}" for arg in args), ")"]
        lines += ["kwargs = {", *(f"    {name!r}: {store.expression(arg, ',')}" for name, arg in kwargs.items()), "}"]
    lines += ["", body.replace("{function}", function.__name__ if function.__name__.isidentifier() else "function")]
    return "\n".join(lines)


class Pickled:
    """Writes values as expressions that make them."""

    def expression(self, value, end: str = "") -> str:
        """The expression with ``end`` behind it; ``...`` and a comment if there is none."""
        try:
            return f"load({base64.b64encode(self.dumps(value)).decode()!r}){end}"
        except Exception as error:
            why = " ".join(str(error).split())
            return f"...{end}  # {type(value).__name__}, not stored: {why}"

    def dumps(self, value) -> bytes:
        return pickle.dumps(value)


class PickledPlainly(Pickled):
    """The same for the middle of a user's call: runs no code of the user, and stores no more than a few megabytes."""

    limit = 4 << 20

    def expression(self, value, end: str = "") -> str:
        if type(value) is np.ndarray and value.nbytes > self.limit and not value.dtype.hasobject:
            return f"np.ones({value.shape}, {value.dtype.str!r}){end}  # in place of the values, which are too many"
        return super().expression(value, end)

    def dumps(self, value) -> bytes:
        out = _Limited(self.limit)
        _PlainPickler(out).dump(value)
        return out.getvalue()


class _Limited(io.BytesIO):
    def __init__(self, limit: int):
        super().__init__()
        self.limit = limit

    def write(self, data) -> int:
        if self.tell() + len(data) > self.limit:
            raise ValueError("too large")
        return super().write(data)


class _PlainPickler(pickle.Pickler):
    def reducer_override(self, obj):
        kind = type(obj)
        if kind is np.ndarray:
            plain = not obj.dtype.hasobject and obj.nbytes <= PickledPlainly.limit
        elif kind in _BY_NAME:
            plain = obj.__module__ != "__main__"
        elif issubclass(kind, (np.generic, np.dtype)):
            plain = kind.__module__ in ("numpy", "numpy.dtypes")
        else:
            plain = kind in (complex, range, slice, bytearray, np.ufunc) or _keeps_default_pickling(kind)
        if not plain:
            raise pickle.PicklingError(f"a {kind.__qualname__}")
        return NotImplemented


_BY_NAME = (type, type(np.dtype), types.FunctionType, types.BuiltinFunctionType)


def _keeps_default_pickling(kind: type) -> bool:
    """Whether pickling an instance of a class runs none of its code."""
    if type(kind) is not type or kind in copyreg.dispatch_table or kind.__module__ == "__main__":
        return False
    names = "__reduce__", "__reduce_ex__", "__getstate__", "__getattribute__", "__getattr__", "__class__", "__dict__"
    own = any(name in vars(base) for base in kind.__mro__ if base is not object for name in names)
    return not own and not hasattr(kind, "__getnewargs__") and not hasattr(kind, "__getnewargs_ex__")


def _source(function) -> str:
    try:
        source = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        return f"# the source of {function.__qualname__} is not available"
    if not function.__name__.isidentifier():
        return _lambda(source)
    start = re.search(r"^(async )?def |^\w+ = lambda|^.*lambda", source, re.M)
    return source[start.start():] if start else source  # without decorators


def _lambda(source: str) -> str:
    """A statement that calls the only lambda in a piece of source ``function``."""
    try:
        found = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Lambda)]
    except SyntaxError:  # the middle of a statement
        found = []
    if len(found) != 1:
        return "".join(f"# {line}\n" for line in source.splitlines()) + "function = ...  # in the source above"
    return f"function = {ast.unparse(found[0])}"


def _surroundings(function, store: Pickled) -> list[str]:
    """Source of the function and what it names: modules by import, its functions by source, values pickled."""
    lines, done = [], set()

    def add(f) -> None:
        names = [*_names(f.__code__), *f.__code__.co_freevars]
        cells = {n: c.cell_contents for n, c in zip(f.__code__.co_freevars, f.__closure__ or ()) if _filled(c)}
        for name in names:
            if name in done or (name not in cells and name not in f.__globals__):
                continue
            done.add(name)
            value = cells.get(name, f.__globals__.get(name))
            if isinstance(value, types.FunctionType):
                value = value.__dict__.get("__fusewire_compiled__", value)
            value = value.__wrapped__ if isinstance(value, _fusewire.CompiledFunction) else value
            if isinstance(value, types.ModuleType):
                lines.append(f"import {value.__name__} as {name}")
            elif isinstance(value, types.FunctionType) and value.__module__ == f.__module__:
                add(value)
                lines.append(_source(value))
            elif (module := _module_of(value, name)) and module != f.__module__:
                lines.append(f"from {module} import {name}")
            else:
                lines.append(f"{name} = {store.expression(value)}")

    done.add(function.__name__)
    add(function)
    return [*lines, "", _source(function)]


def _module_of(value, name: str) -> str | None:
    """The module that has this value under this name, if the value says so itself."""
    if not isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType, np.ufunc)):
        return None
    module = getattr(value, "__module__", None)
    found = vars(sys.modules[module]).get(name) if module in sys.modules else None
    return module if found is value else None


def _names(code: types.CodeType):
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _filled(cell) -> bool:
    try:
        cell.cell_contents
    except ValueError:
        return False
    return True
