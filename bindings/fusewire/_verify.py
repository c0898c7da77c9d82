"""mode="verify": every call runs compiled and as Python, on arguments of its own each; what they do is compared."""

from __future__ import annotations

import base64
import functools
import hashlib
import inspect
import json
import os
import pickle
import platform
import re
import sys
import tempfile
import textwrap
import types
import warnings

import numpy as np

from fusewire import _fusewire
from fusewire._config import config
from fusewire._copies import copy_arguments, difference
from fusewire._errors import GraphBreakError, RecompileError, VerificationError

_ULP_OPS = frozenset(row["name"] for row in _fusewire.ops() if row["contract"] == "ulp")


def verified(compiled, folder: str = ""):
    """A function that calls ``compiled`` on copies and the function behind it on the arguments themselves.

    The caller gets what Python gives. Side effects other than on arguments happen twice.
    """
    plain = compiled.__wrapped__

    @functools.wraps(plain)
    def verify(*args, **kwargs):
        try:
            ours = copy_arguments(args, kwargs)
            kept = copy_arguments(args, kwargs)
        except Exception as error:  # what cannot be copied cannot be run twice
            _fusewire.emit_event(
                "graph_breaks",
                "not_verified",
                f"{plain.__qualname__}: not verified: arguments cannot be copied: {error}",
                json.dumps({"function": plain.__qualname__}),
                True,
            )
            return plain(*args, **kwargs)
        with warnings.catch_warnings(record=True):  # those of the second run are the user's
            actual = _outcome(compiled, *ours)
        if isinstance(actual, (GraphBreakError, RecompileError)):  # asked for, in place of the call
            raise actual
        expected = _outcome(plain, args, kwargs)
        problem = _compare(expected, actual, (args, kwargs), ours, _is_exact(compiled))
        if problem:
            message = f"{plain.__qualname__}: compiled code and Python differ: {problem}"
            path = write_reproducer(plain, *kept, message, folder)
            _fusewire.emit_event(
                "graph_breaks",
                "verify_mismatch",
                message,
                json.dumps({"function": plain.__qualname__, "reproducer": path}),
                False,
            )
            raise VerificationError(message, path)
        if isinstance(expected, BaseException):
            raise expected
        return expected

    verify.__fusewire_compiled__ = compiled
    return verify


def _outcome(function, args, kwargs):
    """What it returns, or the exception it raises."""
    try:
        return function(*args, **kwargs)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        return error


def _compare(expected, actual, theirs, ours, exact: bool) -> str | None:
    if isinstance(expected, BaseException) or isinstance(actual, BaseException):
        if type(expected) is not type(actual) or str(expected) != str(actual):
            return f"it {_told(actual)}, Python {_told(expected)}"
    elif problem := difference(expected, actual, exact):
        return problem
    args = difference(theirs[0], ours[0], exact, "args")
    return args or difference(theirs[1], ours[1], exact, "kwargs")


def _told(outcome) -> str:
    return (
        f"raises {type(outcome).__name__}: {outcome}"
        if isinstance(outcome, BaseException)
        else f"returns a {type(outcome).__name__}"
    )


def _is_exact(compiled) -> bool:
    """Whether everything compiled so far is bitwise NumPy's by contract."""
    facts = _fusewire.describe(compiled)
    variants = facts["variants"] + [v for region in facts.get("regions", ()) for v in region["variants"]]
    return not any(op in _ULP_OPS for v in variants for op in re.findall(r"= (\w+)\(", v["graph"]))


def write_reproducer(function, args: tuple, kwargs: dict, message: str, folder: str = "") -> str:
    """A Python file that shows the difference by itself; answers its path."""
    folder = folder or config.repro_dir or tempfile.gettempdir()
    os.makedirs(folder, exist_ok=True)
    text = _reproducer(function, args, kwargs, message)
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    name = re.sub(r"\W+", "_", function.__qualname__).strip("_")
    path = os.path.join(folder, f"fusewire_repro_{name}_{digest}.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def _reproducer(function, args: tuple, kwargs: dict, message: str) -> str:
    import fusewire

    lines = [f"# {line}" for line in message.splitlines()]
    lines.append(
        f"# fusewire {fusewire.__version__}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"{_fusewire.target()}"
    )
    lines += [
        "import base64",
        "import pickle",
        "",
        "import fusewire",
        "from fusewire._copies import copy_arguments, difference",
        "",
    ]
    lines += _surroundings(function)
    lines += [
        "",
        f"args, kwargs = pickle.loads(base64.b64decode({_pickled((args, kwargs))!r}))",
        "",
        "for _ in range(2):",
        "    expected, actual = copy_arguments(args, kwargs), copy_arguments(args, kwargs)",
        f"    expected_result = {function.__name__}(*expected[0], **expected[1])",
        f"    actual_result = fusewire.compile({function.__name__})(*actual[0], **actual[1])",
        "    print(difference((expected_result, expected), (actual_result, actual), exact=True) or 'no difference')",
        "",
    ]
    return "\n".join(lines)


def _pickled(value) -> str:
    try:
        return base64.b64encode(pickle.dumps(value)).decode()
    except Exception as error:
        return f"cannot be pickled: {error}"


def _source(function) -> str:
    try:
        source = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        return f"# the source of {function.__qualname__} is not available"
    start = re.search(r"^(async )?def |^\w+ = lambda|^.*lambda", source, re.M)
    return source[start.start():] if start else source  # without decorators


def _surroundings(function) -> list[str]:
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
            value = getattr(value, "__fusewire_compiled__", value)
            value = value.__wrapped__ if isinstance(value, _fusewire.CompiledFunction) else value
            if isinstance(value, types.ModuleType):
                lines.append(f"import {value.__name__} as {name}")
            elif isinstance(value, types.FunctionType) and value.__module__ == f.__module__:
                add(value)
                lines.append(_source(value))
            elif (
                getattr(sys.modules.get(getattr(value, "__module__", None) or ""), name, None) is value
                and value.__module__ != f.__module__
            ):
                lines.append(f"from {value.__module__} import {name}")
            else:
                lines.append(f"{name} = pickle.loads(base64.b64decode({_pickled(value)!r}))")

    done.add(function.__name__)
    add(function)
    return [*lines, "", _source(function)]


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
