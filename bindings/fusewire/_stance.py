"""set_stance() and error_on_graph_break(): what decorated functions do until told otherwise."""

from __future__ import annotations

from fusewire import _fusewire
from fusewire._config import did_you_mean
from fusewire._scoped import Scoped

STANCES = tuple(row["name"] for row in _fusewire.stances())


class set_stance(Scoped):
    """Set what decorated functions do, in all threads; at once, for a ``with`` block, or for the calls of a function.

    ``default``
        look up, compile what is missing
    ``force_eager``
        run everything as Python
    ``eager_on_recompile``
        use what is compiled, run everything else as Python; compile nothing
    ``fail_on_recompile``
        raise RecompileError where a function that has been compiled would be compiled again
    ``eager_then_compile``
        run the first call of each function as Python, compile from the second on

    ``skip_guard_eval_unsafe=True`` evaluates, where there is only one variant, no more guards than memory safety needs:
    a promise that what was seen at the compile (globals, constants, classes, aliasing) still holds. If it does not,
    results are wrong.
    """

    def __init__(self, stance: str = "default", /, *, skip_guard_eval_unsafe: bool = False):
        if stance not in STANCES:
            hint = did_you_mean(str(stance), STANCES)
            raise ValueError(f"fusewire.set_stance: {stance!r} is not one of {', '.join(STANCES)}{hint}")
        self.stance = stance
        self.skip_guard_eval_unsafe = bool(skip_guard_eval_unsafe)
        self._before = self._begin()
        self._used = False

    def _begin(self):
        return _fusewire.set_stance(self.stance, self.skip_guard_eval_unsafe)

    def _end(self, token) -> None:
        _fusewire.set_stance(*token)

    def __enter__(self):
        if not self._used:  # in force since it was made: the block ends with what was before that
            self._used = True
            self._tokens = [self._before]
            return self
        return super().__enter__()

    def __call__(self, function):
        if not self._used:  # a decorator changes nothing outside of the function's calls
            self._used = True
            self._end(self._before)
        return super().__call__(function)

    def __repr__(self) -> str:
        return f"fusewire.set_stance({self.stance!r}, skip_guard_eval_unsafe={self.skip_guard_eval_unsafe})"


class error_on_graph_break(Scoped):
    """Raise GraphBreakError where this thread would run a call partly as Python; ``with`` block or decorator.

    Unlike ``fullgraph=True`` it holds for whatever is compiled inside, and can be switched off again for a part of it.
    """

    def __init__(self, on: bool = True, /):
        self.on = bool(on)

    def _begin(self):
        return _fusewire.set_error_on_graph_break(self.on)

    def _end(self, token) -> None:
        _fusewire.set_error_on_graph_break(token)
