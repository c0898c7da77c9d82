"""A program: source, calls, and what to look at afterwards. All of it text, so that it can be kept, printed and shrunk.

The source is a module that defines `f`, the function under test, or `main`, which is never compiled and calls `f`; functions
and methods under `@compiled` are compiled too. A call is a list of statements that run in the module and bind `arguments`.
`watch` are expressions whose values are compared after every call, beside result and arguments.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import importlib
import marshal
import random
import sys
import warnings
import zlib

import numpy as np

from fuzz import values

SOURCE_NAME = "<fuzzed>"
CALL_MARK = "# ---- call"


@dataclasses.dataclass(frozen=True)
class Program:
    source: str
    calls: tuple[str, ...]
    watch: tuple[str, ...] = ()
    tolerance: float | None = None   # how far floats may be apart, as a fraction of the largest of their array
    settings: tuple[tuple[str, object], ...] = ()   # of the compiler, below those of the mode

    def text(self, heading: str = "") -> str:
        """As a file of finds/, which is a Python file too."""
        facts = [f"watch: {'; '.join(self.watch)}"] if self.watch else []
        facts += [f"tolerance: {self.tolerance}"] if self.tolerance is not None else []
        facts += [f"settings: {dict(self.settings)}"] if self.settings else []
        head = "\n".join(['"""' + heading, *([""] if facts else []), *facts, '"""'])
        return "\n".join([head, self.source.strip("\n"), *(f"{CALL_MARK}\n{call.strip()}" for call in self.calls), ""])


def parse(text: str) -> Program:
    """The inverse of Program.text."""
    source, *calls = text.split(CALL_MARK + "\n")
    heading, _, source = source.removeprefix('"""').partition('"""\n')
    facts = dict(line.split(": ", 1) for line in heading.splitlines() if line.startswith(("watch: ", "tolerance: ", "settings: ")))
    return Program(source, tuple(calls), tuple(w for w in facts.get("watch", "").split("; ") if w),
                   float(facts["tolerance"]) if "tolerance" in facts else None,
                   tuple(ast.literal_eval(facts.get("settings", "{}")).items()))


def generate(generator: str, seed: int) -> Program:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return importlib.import_module(f"fuzz.{generator}").program(random.Random(f"{generator} {seed}"))


NAMES = {name: getattr(values, name) for name in values.__all__} | {
    "np": np, "sys": sys, "suppress": contextlib.suppress, "contextlib": contextlib, "warnings": warnings}


@functools.lru_cache(maxsize=16)
def _stored(source: str) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")   # SyntaxWarning, which would come once and not twice
        return marshal.dumps(compile(source, SOURCE_NAME, "exec", dont_inherit=True))


def scope_of(source: str, compiled=lambda function: function) -> dict:
    """A fresh module, whose code objects are no other module's: what is compiled is found by them. Each program has a module of
    its own: of one name, the classes of a few programs are taken for one that every call makes anew, which is left to Python."""
    scope = {**NAMES, "compiled": compiled, "__name__": f"fuzzed_{zlib.crc32(source.encode())}"}
    exec(marshal.loads(_stored(source)), scope)
    return scope
