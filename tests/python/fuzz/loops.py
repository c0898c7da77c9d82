"""Loops of many turns: what they carry, write, swap, leave and read by their counter; nested, with branches and breaks."""

from __future__ import annotations

import random

from fuzz.draft import Draft, working
from fuzz.program import Program

HEAD = """
import math

def half(a):
    return a * 0.5

def step(a, b):
    c = a * 0.5 + b * 0.25
    c[0] = b[-1]
    return c

class Box:
    pass

box = Box()
box.content = 0
"""
DTYPES = ["f8", "f8", "f8", "f4", "i8", "i4", "c16", "f2"]
# {v}: an array of n elements; {t}: one that the function has made; {s}: a number; {i}: a counter; {e}: an element; {n}: a plain number
ELEMENTS = ["{v}[{i}]", "{v}[{i}]", "{v}[n - 1 - {i}]", "{v}[{i} // 2]", "{v}[-1 - {i}]", "{v}[0]", "{v}[{i} - 1]", "{v}[n // 2]"]
NUMBERS = ["{e}", "{e}", "{s}", "{s} * 0.5", "({s} + {e}) * 0.5", "{n}", "{i}", "{i} * 0.01", "{v}.sum()", "{v}.max()", "({e} if {c} else {e})", "abs({e})", "({e} - {s})", "math.sqrt(abs({e}))", "math.floor({e})", "math.sqrt({e})", "float({e}) // 0.7",
           "float({e}) % (abs({s}) + 0.5)", "max(0, {e})", "min({e}, 1) + {s}", "math.copysign({e}, {s})", "1.0 / float({e})", "math.isfinite({e})"]
CONDITIONS = ["{e} > {n}", "count > {i}", "count & 1", "{s} < {e}", "{i} % 2 == 0", "{i} > 5", "{i} == n - 1", "{e} < {e}", "{s} > {n}", "{i} < n // 2 and {e} > {n}", "not {e} > {s}", "{v}.max() > {n}"]
ARRAYS = ["{v}", "{v}", "({a} + {v}) * 0.5", "({a} - {s})", "half({a})", "step({v}, {v})", "{v}[::-1]", "np.abs({a})", "np.where({v} > {n}, {v}, 0.5)", "{v}.copy()", "np.minimum({v}, {a})"]
SIMPLE = ["{t}[{i}] = {s}", "{v}[{i}] = {e}", "{v}[{i}] = {s}", "{s} = {x}", "{s} = {x}", "{s} += {e}", "{s} = max({s}, {e})", "{s} = {e}", "{t} = {a}", "{t} = {a}", "{v}[1:] = {v}[:-1]", "{v}[1:-1] = ({v}[:-2] + {v}[2:]) * 0.5", "{v} *= 0.5", "{v}[...] = {a}",
          "{t}, {t} = {t}, {t}", "{s}, {s} = {s}, {s}", "{v}[{i}:] *= 0.5", "{v}[:{i}] += {s}", "{v}[{i}], {v}[n - 1 - {i}] = {v}[n - 1 - {i}], {v}[{i}]", "old = {t}", "{t} = {t} + 0.25 * {v}", "np.add({v}, {n}, out={v})",
          "w = {v}[1:]", "w = {v} + 1", "{s} = max({e}, {n})", "count += 1", "count += 2", "{v}[count % n] = {s}", "{e} / {e}", "np.sqrt({v})", "p, q = {e}, {s}", "m[{i} % 3] = {s}", "count = int({e}) % 7", "count = min(count, {i})", "{s} = {v}[count % n]", "{v}[(count * 3 + {i}) % n] = {s}", "{s} = max({e}, {s})", "count = count // 2 - {i}", "m[:, {i} % 2] += {s}", "{s} = m[{i} % 4, 1]"]
# Slices whose bounds data or the turn decides; tuples of numbers that turns hand on; complex numbers of elements.
SIMPLE += ["{v}[count:] *= 0.5", "{s} = {v}[:count].sum()", "{v}[count:count + 3] = {s}", "{v}[{i} - 2:{i} + 2] += {s}", "{s} = {v}[max(0, {i} - 2):{i} + 3].sum()", "{v}[count:{i}] = {v}[count:{i}][::-1]", "{s} = {v}[{i}:count].size",
           "{t}[:int({e}) % 9] = {e}", "{s} += {v}[int({e}) % 5 - 7:count].sum()", "pair = ({i}, count)", "pair = (pair[1], pair[0] + 1)", "count = pair[0]", "pair = ({i}, pair[1])", "{s} += pair[1]", "z = complex({i}, count)", "z = z * 0.5 + 1",
           "z = z * z - 1j if abs(z) < 2 else z", "{s} += z.real"]
RARE = ["kept.append({e})", "box.content = {s}", "print({i})", "{v}[{i} + 1] = 0", "raise ValueError('here')", "return {t}, {s}", "assert {s} < 1e30", "x += {n}"]


class _Generator:
    def __init__(self, r: random.Random):
        self.r = r
        self.counters: list[str] = []
        self.waits = False   # in a while loop

    def fill(self, form: str) -> str:
        r = self.r
        parts = {"v": lambda: r.choice(["x", "y", "a", "b"]), "t": lambda: r.choice(["a", "b"]), "s": lambda: r.choice(["s", "u"]), "i": lambda: r.choice(self.counters or ["3"]),
                 "e": lambda: r.choice(ELEMENTS), "n": lambda: r.choice(["0", "1", "0.5", "k", "2.5"]), "c": lambda: r.choice(CONDITIONS), "x": lambda: r.choice(NUMBERS), "a": lambda: r.choice(ARRAYS)}
        for _ in range(80):
            at = form.find("{")
            if at < 0:
                return form
            form = form[:at] + parts[form[at + 1]]() + form[at + 3:]
        return "pass"

    def header(self, depth: int) -> str:
        name = "ijh"[depth]
        inside = [f"range({self.counters[-1]}, n)", f"range({self.counters[-1]})"] if self.counters else []
        over = self.r.choice(["range(n)", "range(n)", "range(1, n)", "range(n - 2, -1, -1)", "range(0, n, 3)", "range(66)", "range(k + 65)", "range(3)", *inside, *inside])
        if self.r.random() < 0.15:
            return self.r.choice([f"for {name}, z in enumerate(y):", f"for {name}, z in enumerate(m):", f"for {name}, (z, q) in enumerate(zip(x, b)):"])
        return f"for {name} in {over}:"

    def block(self, depth: int, count: int) -> list[str]:
        r, lines = self.r, []
        for _ in range(count):
            form = r.random()
            if form < 0.18:
                lines += [self.fill("if {c}:"), *self.indented(depth, r.randint(1, 2))]
                if r.random() < 0.4:
                    lines += ["else:", *self.indented(depth, 1)]
            elif form < 0.24 and self.counters:
                # What a way out of the loop does before it leaves is no turn's.
                before = ["    " + self.fill(r.choice(SIMPLE)) for _ in range(r.choice([0, 0, 1, 2]))]
                leave = r.choice(["    break", "    continue", "    break", "    return {i}, count"]).replace("{i}", self.counters[-1])
                lines += [self.fill(r.choice(["if {c}:", "if {c}:", "if {c} and {c}:", "if {c} or {c}:"])), *before, leave]
            elif form < 0.34 and depth < 2:
                lines += self.loop(depth)
            elif form < 0.38 and depth < 2 and not self.waits:
                self.waits = True
                lines += ["steps = 0.0", self.fill("while steps < 70.0 and {c}:"), "    steps += 1.0", *self.indented(2, 1)]
                self.waits = False
            else:
                lines.append(self.fill(r.choice(RARE if form > 0.97 else SIMPLE)))
        return lines

    def indented(self, depth: int, count: int) -> list[str]:
        return ["    " + line for line in self.block(depth, count)]

    def loop(self, depth: int) -> list[str]:
        head = self.header(depth)
        self.counters.append("ijh"[depth])
        body = self.indented(depth + 1, self.r.randint(1, 4 - depth))
        self.counters.pop()
        tail = ["else:", "    s = s * 0.5"] if self.r.random() < 0.05 else []
        return [head, *body, *tail]


def _suite(r: random.Random, dtype: str, size: int) -> str:
    array = lambda: f"{r.choice(['edge', 'numbers', 'numbers', 'numbers', 'numbers'])}(({size},), {dtype!r}, {r.randrange(50)})"
    y = r.choice([array, array, array, array, lambda: "x[::-1]", lambda: "x"])()
    return f"x = {array()}\ny = {y}\nm = numbers((6, 4), {dtype!r}, {r.randrange(9)})\nbox.content = 0\narguments = (x, y, m, {r.choice(['0', '1', '2', '0.5', '3'])})"


def program(r: random.Random) -> Program:
    generator = _Generator(r)
    dtype, size = r.choice(DTYPES), r.choice([70, 66, 80])
    draft = generator.draft = Draft(r, HEAD, f"x = numbers(({size},), {dtype!r}, 1)\ny = numbers(({size},), {dtype!r}, 2)\nm = numbers((6, 4), {dtype!r}, 3)\narguments = (x, y, m, 2)", "x, y, m, k", wild=True)
    for first in ("a = x * 0.5", r.choice(["b = y + 0.5", "b = y.copy()", "b = np.zeros_like(x)"]), r.choice(["s = 0.0", "s = x[0]", "s = 0", "s = x.sum()"]), r.choice(["u = y[1]", "u = y[1]", "u = 0", "u = 1", "u = 2.5"]), "n = len(x)", "count = 0", "pair = (0, 0)", "z = 0j", "kept = []", "old = p = q = w = i = j = None"):
        draft.try_statement(first)
    for _ in range(r.randint(1, 3)):
        for _ in range(8):
            text = "\n".join(generator.loop(0) if r.random() < 0.85 else generator.block(0, 1))
            inside = text.replace("return ", "None,").replace("raise ValueError('here')", "pass")
            if draft.try_statement(inside):
                draft.lines[-1] = text
                break
    lines = [line for statement in draft.lines for line in statement.split("\n")]
    made = [name for name in ("a", "b", "s", "u", "x", "y", "m", "i", "old", "p", "w", "count", "pair", "z") if r.random() < 0.4] or ["a"]
    source = HEAD + "\ndef f(x, y, m, k):\n" + "\n".join(f"    {line}" for line in lines) + f"\n    return {', '.join(made)}, kept\n"
    calls = [working(lambda: _suite(r, dtype, size), HEAD) for _ in range(3)]
    calls += [working(lambda: _suite(r, dtype, r.choice([size, 70, 75, 3, 1])), HEAD) for _ in range(2)]
    return Program(source, tuple(calls), ("box.content",))
