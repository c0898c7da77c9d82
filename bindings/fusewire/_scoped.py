"""What is in force for the time of a ``with`` block or of a function's calls."""

from __future__ import annotations

import functools


class Scoped:
    """Context manager and decorator; subclasses define ``_begin() -> token`` and ``_end(token)``. Blocks may nest."""

    _tokens: list

    def __enter__(self):
        self._tokens = [*getattr(self, "_tokens", ()), self._begin()]
        return self

    def __exit__(self, *exception) -> None:
        *self._tokens, token = self._tokens
        self._end(token)

    def __call__(self, function):
        if not callable(function):
            raise TypeError(f"{type(self).__name__}: {type(function).__name__!r} object is not callable")

        @functools.wraps(function)
        def scoped(*args, **kwargs):
            token = self._begin()
            try:
                return function(*args, **kwargs)
            finally:
                self._end(token)

        return scoped

    def _begin(self):
        raise NotImplementedError

    def _end(self, token) -> None:
        raise NotImplementedError
