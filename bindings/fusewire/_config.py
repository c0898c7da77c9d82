"""fusewire.config: the settings of the process, one attribute each."""

from __future__ import annotations

import difflib
import operator
import os

from fusewire import _fusewire
from fusewire._scoped import Scoped

_ROWS = {row["name"]: row for row in _fusewire.settings()}


def did_you_mean(name: str, known) -> str:
    """"; did you mean 'x'?" for the closest of what there is, or ""."""
    close = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {close[0]!r}?" if close else ""


def choices(name: str) -> list[str]:
    """The values that a setting names in its row."""
    head, dash, _ = _ROWS[name]["help"].partition(" - ")
    return head.split("|") if dash else []


def option_text(name: str, value) -> str:
    """A setting's value as the text that the extension reads. ValueError or TypeError if it is none."""
    if name == "backend":
        from fusewire._backends import backend_text

        return backend_text(value)
    if name == "dynamic" and value is None:
        text = "auto"
    elif isinstance(value, (str, os.PathLike)):
        text = os.fspath(value)
    else:
        try:
            text = str(int(operator.index(value)))
        except TypeError:
            kind = type(value).__name__
            raise TypeError(f"fusewire: setting {name!r}: expected a bool, an int or a str, not {kind}") from None
    if problem := _fusewire.setting_problem(name, text):
        raise ValueError(f"fusewire: {problem}{did_you_mean(text, choices(name))}")
    return text


def option_value(name: str, text: str):
    """The inverse, as a Python value."""
    kind = _ROWS[name]["type"]
    if name == "dynamic":
        return {"auto": None, "1": True, "0": False}[text]
    return text == "1" if kind == "bool" else int(text) if kind == "int" else text.removeprefix("@")


def is_setting(name: str) -> bool:
    return name in _ROWS


def unknown_setting(name: str) -> str:
    hint = did_you_mean(name, _ROWS) or f"; there are {', '.join(_ROWS)}"
    return f"fusewire has no setting {name!r}{hint}"


def unknown_variable(name: str) -> str:
    """What is said of a FUSEWIRE_ variable that nothing reads."""
    known = [f"FUSEWIRE_{setting.upper()}" for setting in (*_ROWS, "logs", "trace")]
    known += [f"FUSEWIRE_PASS_{row['name'].upper()}" for row in _fusewire.passes()]
    return f"is not a setting{did_you_mean(name.upper(), known)}"


class _Patch(Scoped):
    def __init__(self, changes: dict):
        for name in changes:
            if name not in _ROWS:
                raise AttributeError(unknown_setting(name))
        self._changes = {name: option_text(name, value) for name, value in changes.items()}

    def _begin(self):
        before = _fusewire.process_settings()
        _fusewire.change_settings(self._changes)
        return {name: before[name] for name in self._changes}

    def _end(self, token) -> None:
        _fusewire.change_settings(token)


class Config:
    """Settings of the process: ``fusewire.config.recompile_limit = 4``.

    They start from the environment (``FUSEWIRE_RECOMPILE_LIMIT``). A decorated function sees a change at its next
    compile; options that were given to ``fusewire.compile`` are fixed for that function and stay above these. ``mode``
    is read when a function is decorated.
    """

    __slots__ = ()

    def __getattr__(self, name: str):
        if name not in _ROWS:
            raise AttributeError(unknown_setting(name))
        return option_value(name, _fusewire.process_settings()[name])

    def __setattr__(self, name: str, value) -> None:
        if name not in _ROWS:
            raise AttributeError(unknown_setting(name))
        _fusewire.change_settings({name: option_text(name, value)})

    def __dir__(self):
        return [*_ROWS, "patch"]

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in _ROWS)
        return f"fusewire.config({values})"

    def patch(self, **changes) -> _Patch:
        """Other settings for a ``with`` block or for the calls of a function, in all threads."""
        return _Patch(changes)


config = Config()
