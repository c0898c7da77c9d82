"""fusewire.config: the settings of the process, one attribute each."""

from __future__ import annotations

import difflib

from fusewire import _fusewire
from fusewire._scoped import Scoped

_ROWS = {row["name"]: row for row in _fusewire.settings()}


def option_text(name: str, value) -> str:
    """A setting's value as the text that the extension reads."""
    if name == "backend":
        from fusewire._backends import backend_text

        return backend_text(value)
    if name == "dynamic" and value is None:
        return "auto"
    if isinstance(value, bool):
        return str(int(value))
    return str(value)


def option_value(name: str, text: str):
    """The inverse, as a Python value."""
    kind = _ROWS[name]["type"]
    if name == "dynamic":
        return {"auto": None, "1": True, "0": False}[text]
    return text == "1" if kind == "bool" else int(text) if kind == "int" else text.removeprefix("@")


def unknown_setting(name: str) -> str:
    close = difflib.get_close_matches(name, _ROWS, 1)
    return f"fusewire has no setting {name!r}" + (
        f"; did you mean {close[0]!r}?" if close else f"; there are {', '.join(_ROWS)}"
    )


class _Patch(Scoped):
    def __init__(self, changes: dict):
        for name in changes:
            if name not in _ROWS:
                raise AttributeError(unknown_setting(name))
        self._changes = {name: option_text(name, value) for name, value in changes.items()}
        before = _fusewire.process_settings()
        _fusewire.change_settings(self._changes)  # bad values are reported here, not at the block
        _fusewire.change_settings({name: before[name] for name in changes})

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
