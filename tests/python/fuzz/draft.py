"""The body of a function under construction: every statement is tried on the plain arguments of the first call as it is added.

What raises, grows without end or drowns in NaN is taken back, so that programs run to their end and what they compute means
something; generators that want errors say so. Variables are real arrays while the program is written: subscripts, partners of
one shape and so on can be chosen by looking.
"""

from __future__ import annotations

import contextlib
import io
import random
import re
import sys
import warnings

import numpy as np

from fuzz.program import scope_of

SLICES = ["1:", ":-1", "::2", "::-1", "1::2", "1:-1", "2:5", ":3", "-3:", "3::-1", ":1", "2:", "5:", ":0", "::3", "::-2", ":", "-1:", "1:2",
          "k:", ":k", "-k:", "len(x) // 2:", ":len(y) - 1", "x.shape[0] - 1:"]


@contextlib.contextmanager
def _quiet():
    """What statements print, warn and do to the error state ends here."""
    with np.errstate(all="ignore", call=lambda *_: None), warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


STEPS = 100_000   # lines that one statement may run, on arrays of a few elements
LONGEST = 10_000   # bits


class _TooLong(BaseException):
    """No error that a statement could catch."""


@contextlib.contextmanager
def _bounded():
    """Ends what runs for too long: range(k) where k has been multiplied by an element, again and again; ints squared in every turn."""
    left, before = STEPS, sys.gettrace()

    def trace(frame, event, argument):
        nonlocal left
        left -= event == "line"
        if left < 0 or any(type(value) is int and value.bit_length() > LONGEST for value in frame.f_locals.values()):
            raise _TooLong
        return trace

    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def working(make, head: str = "", tries: int = 50) -> str:
    """A text that ``make`` makes and that runs: some arguments cannot be had, x[0] of an empty x."""
    scope = scope_of(head)
    for _ in range(tries):
        text = make()
        try:
            with _quiet():
                exec(compile(text, "<call>", "exec"), dict(scope))
            return text
        except Exception:
            continue
    raise AssertionError(f"no arguments: {text}")


def filled(form: str, part) -> str:
    """The form with what ``part`` answers for every {word} of it, and of what it has answered."""
    while (longer := re.sub(r"\{([a-z]+)\}", lambda found: part(found[1]), form)) != form:
        form = longer
    return form


class Draft:
    """`wild`: values may be anything."""

    def __init__(self, r: random.Random, head: str, call: str, parameters: str, wild: bool = False, largest: int = 4000):
        self.r, self.parameters, self.wild, self.largest = r, parameters, wild, largest
        self.lines: list[str] = []
        self.codes: list = []
        self.made = 0
        self.head = head
        self.suite = compile(call, "<call>", "exec")
        self.bind = compile(f"{parameters}, = arguments", "<bind>", "exec")
        self.again()

    def again(self) -> None:
        """Back to the state behind the accepted statements."""
        self.scope = scope_of(self.head)
        with _quiet():
            exec(self.suite, self.scope)
            exec(self.bind, self.scope)
        for code in self.codes:
            with _quiet():   # each by itself, as it was accepted
                exec(code, self.scope)

    def new(self, letter: str) -> str:
        self.made += 1
        return f"{letter}{self.made}"

    def names(self, accept=lambda value: True) -> list[str]:
        """Variables that hold what is wanted; the parameters among them."""
        known = [name.strip() for name in self.parameters.split(",")] + [n for n in self.scope if n[-1].isdigit() or n == "w"]
        return [n for n in dict.fromkeys(known) if n in self.scope and accept(self.scope[n])]

    def arrays(self) -> list[str]:
        return self.names(lambda value: isinstance(value, np.ndarray))

    def value(self, text: str):
        """What the expression is now; None if it raises."""
        try:
            with _quiet():
                return eval(text, self.scope)
        except Exception:
            return None

    def try_statement(self, text: str, keep_error: bool = False) -> bool:
        """Adds the statement if it runs."""
        try:
            code = compile(text, "<statement>", "exec")
        except SyntaxError:
            return False
        try:
            with _quiet(), _bounded():
                exec(code, self.scope)
            good = self.sound()
        except _TooLong:
            good = False
        except Exception:
            good = keep_error
            if good:
                self.lines.append(text)
                self.again()
                return True
        if good:
            self.lines.append(text)
            self.codes.append(code)
            return True
        self.again()
        return False

    def sound(self) -> bool:
        for name in [*self.arrays(), "memory"]:
            value = self.scope.get(name)
            if not isinstance(value, np.ndarray) or value.dtype.kind not in "biufc":
                continue
            if value.size > self.largest or (not self.wild and value.dtype.kind in "fc" and not np.all(np.abs(value) < 30000)):
                return False
        return True

    # ---- pieces of expressions ---------------------------------------------------------------------------------------

    def index(self, size: int) -> str:
        return self.r.choice(["0", "0", "-1", "1", "k", str(size // 2), "-k", "len(x) - 1"] if size > 1 else ["0", "-1", "0"])

    def subscript(self, array: np.ndarray, integers: float = 0.25) -> str:
        """One that fits the array's rank; it may still be out of bounds."""
        if array.ndim == 0:
            return self.r.choice(["[...]", "[()]", "[None]"])
        if self.r.random() < 0.1:
            return self.r.choice(["[...]", "[:]", "[None]", "[..., None]", "[::-1]"])
        parts = []
        for n in array.shape[:self.r.randint(1, array.ndim)]:
            chance = self.r.random()
            parts.append(self.index(n) if chance < integers else ":" if chance < 0.4 and array.ndim > 1 else self.r.choice(SLICES))
        if len(parts) < array.ndim and self.r.random() < 0.3:
            parts.insert(0, "...")
        return f"[{', '.join(parts)}]"

    def place(self, depth: int = 2) -> str:
        """An array that may be written, by way of views."""
        text = self.r.choice(self.arrays() or ["x"])
        for _ in range(self.r.choice([0, 1, 1, 1, 2, depth])):
            array = self.value(text)
            if not isinstance(array, np.ndarray):
                break
            form = self.r.random()
            if form < 0.75:
                longer = text + self.subscript(array)
            else:
                longer = self.r.choice(["{}.T", "{}.T", "{}.reshape(-1)", "{}.ravel()", "{}.swapaxes(0, -1)", "np.flip({})", "{}[...]", "{}.squeeze()",
                                        "np.expand_dims({}, 0)", "{}.view()", "{}.real", "{}.reshape({}.shape[::-1])", "np.atleast_2d({})",
                                        "np.transpose({})", "np.moveaxis({}, 0, -1)"]).replace("{}", text)
            if isinstance(self.value(longer), np.ndarray):
                text = longer
        return text
