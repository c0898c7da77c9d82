"""Runs a program plain and compiled in lockstep, and compares whatever a user could see."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import gc
import os
import re
import signal
import sys
import tempfile

import numpy as np

import failures
import fusewire
from fuzz.modes import MODES
from fuzz.program import Program, scope_of
from observe import assert_same_observation, observe


PLAIN_SECONDS = 20
# Which of two zeros of different sign they pick is nobody's promise (docs/differences.md): it depends on NumPy's vectors.
PICKS_ZEROS = re.compile(r"\.(max|min|clip|ptp)\(")


@dataclasses.dataclass
class Report:
    difference: str   # "" if none
    kind: str         # a word for what differs, which is kept while the program is made smaller; "unsettled": plain Python does, from itself
    compiled: bool    # compiled code ran: without that, nothing was tested


class _Side:
    """A program's module, and the process-wide state that its calls leave to the next of them."""

    def __init__(self, program: Program, spoken: _Spoken, compiled=lambda function: function):
        self.scope = scope_of(program.source, compiled)
        self.watch = [compile(expression, "<watch>", "eval") for expression in program.watch]
        self.spoken = spoken
        self.lost: list[str] = []   # exceptions that nobody could catch: of finalizers

    def look(self):
        return [self.lost[:], *(eval(code, self.scope) for code in self.watch)]

    def call(self, suite):
        before = sys.unraisablehook
        sys.unraisablehook = lambda report: self.lost.append(repr(report.exc_value))
        try:
            with np.errstate():
                exec(suite, self.scope)
                seen = observe(self.scope.get("main") or self.scope["f"], self.scope["arguments"], self.look)
            seen.output += self.spoken.take()
            return seen
        finally:
            sys.unraisablehook = before


class _Spoken:
    """What is written to stderr: by NumPy, where the error state says "print", and by the compiler about failures of its
    own, which are findings whatever the result is."""

    def __enter__(self):
        sys.stderr.flush()
        self.kept = os.dup(2)
        self.file = tempfile.TemporaryFile()
        self.failures = ""
        os.dup2(self.file.fileno(), 2)
        return self

    def take(self) -> str:
        """What was written since; what the compiler wrote goes to `failures`."""
        sys.stderr.flush()
        if not os.fstat(2).st_size:
            return ""
        lines = os.pread(2, 1 << 20, 0).decode(errors="replace").splitlines(keepends=True)
        os.ftruncate(2, 0)
        os.lseek(2, 0, os.SEEK_SET)
        self.failures += "".join(line for line in lines if line.startswith("[fusewire"))
        return "".join(line for line in lines if not line.startswith("[fusewire"))

    def __exit__(self, *exception):
        os.dup2(self.kept, 2)
        os.close(self.kept)
        self.file.close()


class _TooLong(BaseException):
    """In plain Python."""


def check(program: Program, mode: str = "default") -> Report:
    try:
        return _check(program, mode)
    except _TooLong:   # such a program is none
        return Report("", "unsettled", False)


def _check(program: Program, mode: str) -> Report:
    compiled: list = []

    def compile_it(function):
        made = fusewire.compile(function, **{"background": False, **dict(program.settings), **MODES[mode]})
        compiled.append(made)
        return made

    fusewire._fusewire.forget_failures()  # told once, and a program may run again
    watch = failures.Watch()
    with _Spoken() as spoken:
        problem, kind = _differences(program, compile_it, spoken)
    told = "\n".join(watch.new()) or spoken.failures
    if not problem and told:
        problem, kind = "internal failure: " + told, "internal"
    return Report(problem, kind, any(_has_run(function) for function in compiled))


def _differences(program: Program, compile_it, spoken: _Spoken) -> tuple[str, str]:
    """What differs first, and a word for it."""
    with _deadline():
        plain = _Side(program, spoken)
    other = _Side(program, spoken, compile_it)
    with _collecting(program) as collect:
        problem, kind = _calls_differ(program, plain, other, compile_it, spoken, collect)
    if problem and not _is_settled(program, spoken):
        return "", "unsettled"
    return problem, kind


def _calls_differ(program: Program, plain: _Side, other: _Side, compile_it, spoken: _Spoken, collect) -> tuple[str, str]:
    if not isinstance(other.scope["f"], fusewire.CompiledFunction):
        other.scope["f"] = compile_it(other.scope["f"])
    suites = [compile(text, "<call>", "exec", dont_inherit=True) for text in program.calls]
    for i, suite in enumerate(suites):
        with _deadline():
            expected = plain.call(suite)
        actual = other.call(suite)
        # Documented: what a user can act on, if there are more variants than the limit. Everything else is compared.
        actual.warned = [warning for warning in actual.warned if "recompile limit" not in warning[1]]
        try:
            assert str(expected.error) == str(actual.error), f"raised {actual.error!r}, expected {expected.error!r}"
            assert_same_observation(expected, actual, relative=program.tolerance, any_zero=bool(PICKS_ZEROS.search(program.source)))
            spoken.take()   # generators are asked for what they still have
        except AssertionError as error:
            return f"call {i}: {error}", str(error).split()[0].split("[")[0].split(".")[0].strip(":")
        del expected, actual   # and with them the frames of an exception, whose generators may have something to say
        collect()
    return "", ""


@contextlib.contextmanager
def _collecting(program: Program):
    """When a generator in a cycle ends is the garbage collector's business, and what it does then is seen: such programs
    get their collections between calls, after the same calls on both sides. Everything else runs with the collector as
    it is, which may come in the middle of a compilation."""
    if "yield" not in program.source or not gc.isenabled():
        yield lambda: None
        return
    _freeze()
    gc.collect()
    gc.disable()
    try:
        yield gc.collect
    finally:
        gc.enable()


@functools.cache
def _freeze() -> None:
    """What is there already is no program's: collections need not look at it."""
    gc.collect()
    gc.freeze()


def _is_settled(program: Program, spoken: _Spoken) -> bool:
    """Whether plain Python agrees with itself. It does not where NumPy hands out memory that nobody has written: what an
    in-place operation that fails half-way leaves behind, if its output is of another type than its loop."""
    with _deadline():
        sides = [_Side(program, spoken) for _ in range(4)]
    try:
        suites = [compile(text, "<call>", "exec", dont_inherit=True) for text in program.calls]
        for suite in suites:
            seen = []
            for number, side in enumerate(sides):
                _stir(number)
                with _deadline():
                    seen.append(side.call(suite))
            for one, other in zip(seen[::2], seen[1::2]):   # each once: that uses iterators up
                assert str(one.error) == str(other.error)
                assert_same_observation(one, other, relative=program.tolerance)
    except AssertionError:
        return False
    return True


def _stir(number: int) -> None:
    """Fills memory that is free with other bytes each time."""
    held = [np.full(size, 37 * number + 1, "u1") for size in (*range(8, 1024, 8), *(1 << k for k in range(10, 20))) for _ in range(12)]
    del held


def _too_long(*_):
    raise _TooLong


@contextlib.contextmanager
def _deadline():
    """A program that does not end in plain Python is no program."""
    before = signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(PLAIN_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _has_run(function) -> bool:
    facts = fusewire._fusewire.describe(function)
    variants = facts["variants"] + [variant for region in facts["regions"] for variant in region["variants"]]
    return any(variant["hits"] for variant in variants)
