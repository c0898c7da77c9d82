"""Exceptions of Fusewire. The extension raises them through the functions at the end, which get facts as dicts."""

from __future__ import annotations

import linecache


class FusewireError(Exception):
    """Base of the exceptions that a user asks Fusewire to raise. Without being asked it raises none."""


class GraphBreakError(FusewireError, RuntimeError):
    """A call cannot be compiled as a whole, under ``fullgraph=True`` or ``error_on_graph_break(True)``.

    ``function`` is its name, ``breaks`` a list of dicts with reason, message, detail, hint, file, line and source.
    """

    def __init__(self, function: str, breaks: list[dict]):
        self.function = function
        self.breaks = [dict(b, source=source_line(b)) for b in breaks]
        count = counted(len(breaks), "graph break")
        super().__init__(
            "\n".join([f"{function} has {count}:"] + [line for b in self.breaks for line in break_lines(b)])
        )

    def __reduce__(self):
        return type(self), (self.function, self.breaks)


class RecompileError(FusewireError, RuntimeError):
    """A function that has been compiled would be compiled again, under ``set_stance("fail_on_recompile")``.

    ``misses`` tells for each variant which guard failed, on what, and what to do about it.
    """

    def __init__(self, function: str, misses: list[dict]):
        self.function = function
        self.misses = misses
        cause = misses[-1]  # against the newest variant; the others mostly say the same of older values
        advice = f"\n  {cause['advice']}" if cause.get("advice") else ""
        super().__init__(f"{function} would be compiled again, since {cause['reason']}{advice}")

    def __reduce__(self):
        return type(self), (self.function, self.misses)


class VerificationError(FusewireError, AssertionError):
    """Compiled code and Python disagreed, under ``mode="verify"``. ``reproducer`` is the file that shows it."""

    def __init__(self, message: str, reproducer: str | None = None):
        self.reproducer = reproducer
        super().__init__(message + (f"\nreproducer: {reproducer}" if reproducer else ""))


def counted(number: int, what: str) -> str:
    """"1 call", "2 calls"."""
    return f"{number} {what}" + ("" if number == 1 else "s")


def left_calls(number: int) -> str:
    """Of calls that compiled code has begun and given up."""
    return f"{counted(number, 'call')} left to Python: it warns or raises there, or they need what compiled code has no room for"


def source_line(stop: dict) -> str:
    """The user's source line of a break, "" if there is none."""
    return linecache.getline(stop["file"], stop["line"]).strip() if stop.get("file") else ""


def break_lines(stop: dict, indent: str = "  ") -> list[str]:
    """A break in words: where, the source line, why, what to do."""
    where = f"{stop['file']}:{stop['line']}: " if stop.get("file") else ""
    detail = f": {stop['detail']}" if stop.get("detail") else ""
    lines = [f"{indent}{where}{stop['reason']}: {stop['message']}{detail}"]
    if source := stop.get("source", source_line(stop)):
        lines.append(f"{indent}    {source}")
    if stop.get("hint"):
        lines.append(f"{indent}  hint: {stop['hint']}")
    return lines


# Called by the extension (stance.cpp).
def graph_break_error(function: str, breaks: list[dict]) -> GraphBreakError:
    return GraphBreakError(function, breaks)


def recompile_error(function: str, misses: list[dict]) -> RecompileError:
    return RecompileError(function, misses)
