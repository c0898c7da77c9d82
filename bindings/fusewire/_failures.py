"""Failures of Fusewire itself. The extension (internal_failures.cpp) calls ``reproducer`` once per function and place."""

from __future__ import annotations

import inspect

from fusewire import _fusewire
from fusewire._reproduce import PickledPlainly, write_reproducer

_RUN = """\
function = fusewire.compile({function})
for _ in range(3):
    try:
        function(*args, **kwargs)
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
print(fusewire.summary())
"""


def reproducer(function, values: dict, message: str) -> str:
    """Writes a file that shows the failure and answers its path; ``values`` are those of the function's parameters."""
    args, kwargs = _arguments(function.__code__, values)
    return write_reproducer(function, args, kwargs, message, _RUN, PickledPlainly(), kind="failure")


def _arguments(code, values: dict):
    """Arguments of a call that binds them to these values; parameters that have none by now get None."""
    names = code.co_varnames
    keyword_end = code.co_argcount + code.co_kwonlyargcount
    args = [values.get(name) for name in names[:code.co_argcount]]
    kwargs = {name: values.get(name) for name in names[code.co_argcount:keyword_end]}
    more = iter(names[keyword_end:])
    if code.co_flags & inspect.CO_VARARGS and isinstance(rest := values.get(next(more)), tuple):
        args += rest
    if code.co_flags & inspect.CO_VARKEYWORDS and isinstance(rest := values.get(next(more)), dict):
        kwargs |= rest
    return tuple(args), kwargs


def lines() -> list[str]:
    """What summary() says about them."""
    failures = _fusewire.internal_failures()
    if not failures:
        return []
    told = [f"  failures of Fusewire itself: {len(failures)}; Python ran in their place; please report them"]
    for failure in failures:
        told.append(f"    {failure['function']}: {failure['message']}: {failure['detail'].splitlines()[0][:100]}")
        if failure["reproducer"]:
            told.append(f"      reproducer: {failure['reproducer']}")
    return told
