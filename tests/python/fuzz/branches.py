"""Decisions on array data: what is joined, what is written on one side only, which array it is afterwards, and whose flags are
reported.
"""

from __future__ import annotations

import random

from fuzz.draft import Draft, filled, working
from fuzz.program import Program

HEAD = """
class Box:
    pass

box = Box()
box.content = 0

def pick(a, b):
    if a.sum() > b.sum():
        return a * 1.0
    return b + 0.0

def clipped(a, most):
    if a.max() > most:
        a = a / a.max() * most
    return a + 0.0

def steps(a):
    for i in range(3):
        if a.max() < 1:
            return a
        a = a * 0.5
    return a - 1
"""
DTYPES = ["f8", "f8", "f8", "f8", "f4", "i8", "i4"]
SHAPES = ["(4,)", "(4,)", "(4,)", "(1,)", "(0,)", "(2, 3)", "(9,)", "(17,)"]
# {a}: an array; {s}: a number of array data; {n}: a number; {c}: a condition; {v}: a variable that is an array; {u}: a new name
CONDITIONS = ["{s} > {n}", "{s} < {s}", "{s} >= {n}", "{s} == {s}", "{a}.any()", "({a} > {n}).all()", "not {c}", "{c} and {c}", "{c} or {c}", "-{n} < {s} < {n}", "{s}", "k > 1", "len({a}) > 2", "np.any({a} != {n})",
              "{s} > k", "bool({s})", "{v} is {v}", "{s} != {s} or {c}", "float({s}) > {n}", "{a}.size and {c}"]
NUMBERS = ["{a}.sum()", "{a}.max()", "{a}.min()", "{a}.mean()", "abs({a}).sum()", "float({a}.sum())", "(1.5 if {c} else 2.5)", "({s} + {n})", "max({s}, {n})", "({a}.sum() or {n})",
           "({s} and {n})", "np.float64({n})"]
PLAIN = ["0", "1", "2", "0.5", "-1", "3.0", "k", "1e3", "10"]
ARRAYS = ["x", "y", "{v}", "{v}", "{v}", "({a} + {a})", "({a} * {n})", "({a} - {s})", "np.maximum({a}, {n})", "np.where({a} > {n}, {a}, {v})", "{v}[::-1]", "({a} if {c} else {a})", "pick({a}, {a})", "clipped({a}, {n})", "-{a}",
          "np.sqrt({a})", "({a} / {a})", "np.zeros_like(x)", "({a} / {s})", "steps({a})", "abs({a})", "{v}.copy()"]
SIMPLE = ["{u} = {a}", "{u} = {a}", "{v} = {a}", "{v} = {a}", "{v} = {v}", "{v} += {n}", "{v} *= {a}", "{v}[1:] = {n}", "{v}[:1] = {s}", "{v}[...] = {a}", "{u} = {v}[1:]", "{u} = {s}", "{v} -= {v}", "np.add({v}, {n}, out={v})",
          "{a} / {n}", "np.sqrt({a})", "kept.append({a})", "kept = [{a}, {s}]", "{v}, {v} = {v}, {v}", "{u} = ({a}, {s})", "{u} = {a} if {c} else {a}", "{u} = {n} if {c} else {n}", "{v} = {v} if {c} else {a}", "pass",
          "{u} = {v}.T", "{v} = np.abs({v})"]
SIMPLE += ["{u} = np.diag(np.outer({a}.ravel()[:3], {a}.ravel()[:3]))", "{u} = {a}.ravel()[:int(abs({v}).sum()) % 4]", "{u} = {a}.ravel()[np.argmax({v}):]", "{v}.ravel()[int(abs({v}).sum()) % 3:] *= 2", "{u} = np.zeros(int(abs({v}).sum()) % 5)"]
RARE = ["box.content = {a}", "print({n})", "assert {c}", "raise ValueError('here')", "return {v}", "return {a}, {s}", "return None", "del kept[:]", "x += {n}", "x[...] = {a}", "y *= 2"]


class _Generator:
    def __init__(self, r: random.Random):
        self.r = r
        self.nested = 0   # blocks around: names that one side alone binds are p1 and p2, which begin as None

    def fill(self, form: str, depth: int = 0) -> str:
        r = self.r
        parts = {"c": lambda: r.choice(CONDITIONS if depth < 3 else ["{s} > {n}", "{v}.any()"]), "s": lambda: r.choice(NUMBERS if depth < 3 else ["{v}.sum()"]), "n": lambda: r.choice(PLAIN),
                 "a": lambda: r.choice(ARRAYS if depth < 3 else ["x", "{v}", "{v}"]), "v": lambda: r.choice(self.draft.arrays() or ["x"]), "u": lambda: r.choice(["p1", "p2"]) if self.nested else self.draft.new("t")}
        for _ in range(60):
            at = form.find("{")
            if at < 0:
                return form
            key = form[at + 1]
            form = form[:at] + parts[key]() + form[at + 3:]
            depth += 1 if key in "acs" else 0
        return "pass"

    def block(self, depth: int, count: int) -> list[str]:
        lines: list[str] = []
        for _ in range(count):
            form = self.r.random()
            lines += self.compound(depth) if form < 0.35 and depth < 3 else [self.fill(self.r.choice(RARE if form > 0.96 else SIMPLE))]
        return lines

    def indented(self, depth: int, count: int) -> list[str]:
        self.nested += 1
        lines = ["    " + line for line in self.block(depth + 1, count)]
        self.nested -= 1
        return lines

    def compound(self, depth: int) -> list[str]:
        r = self.r
        form = r.random()
        first = [self.fill("if {c}:"), *self.indented(depth, r.randint(1, 3))]
        if form < 0.3:
            return first
        if form < 0.65:
            return [*first, "else:", *self.indented(depth, r.randint(1, 3))]
        if form < 0.75:
            return [*first, self.fill("elif {c}:"), *self.indented(depth, 1), "else:", *self.indented(depth, 1)]
        if form < 0.93:
            leave = [self.fill("    if {c}:"), r.choice(["        break", "        continue", self.fill("        {v} = {a}; break")])]
            tail = ["else:", *self.indented(depth, 1)] if r.random() < 0.3 else []
            return [r.choice(["for i in range(2):", "for i in range(3):", "for w in (1, 0.5):"]), *self.indented(depth, 1), *leave, *self.indented(depth, 1), *tail]
        if form < 0.97:
            return ["try:", *self.indented(depth, 1), *["    " + line for line in first], "except ValueError:", *self.indented(depth, 1)]
        return [self.fill("while {c}:"), *self.indented(depth, 1), "    break"]


def _suite(r: random.Random, dtype: str, shape: str) -> str:
    array = lambda: f"{r.choice(['edge', 'numbers', 'numbers', 'numbers'])}({shape}, {dtype!r}, {r.randrange(50)}) * {r.choice(['1', '-1', '1', '2'])}"
    y = r.choice([array, array, array, lambda: "x[::-1]", lambda: "x"])()
    return f"x = np.asarray({array()})\ny = np.asarray({y})\nbox.content = 0\narguments = (x, y, {r.choice(['0', '1', '2', '3', '0.5'])})"


# Of focused programs: names for one of several arrays, which is written by one of its names and read by others.
# {p}: such a name; {w}: any name; {h}: a condition
FOCUS_CONDITIONS = ["x.sum() > {n}", "x.max() > y.max()", "x[0] > {n}", "(x > y).any()", "y.min() < {n}", "x.sum() > y.sum()", "abs(x).sum() > {n}", "y[-1] > {n} or x[0] > {n}", "not x[0] > {n}"]
FOCUS_JOINS = ["{p} = {w} if {h} else {w}", "if {h}:\n    {p} = {w}\nelse:\n    {p} = {w}", "if {h}:\n    {p} = {w}", "if {h}:\n    {p} = {w}\nelse:\n    {p} = {w}[::-1]", "{p} = {w}\nif {h}:\n    {p} = {w}\n    {w} += {n}", "if {h}:\n    p1, p2 = {w}, {w}", "{p} = {w}[1:] if {h} else {w}[:-1]"]
FOCUS_WRITES = ["{w} += {n}", "{w}[...] = {n}", "{w}[1:] = {n}", "{w} *= {w}", "{w}[:1] -= {n}", "np.add({w}, {n}, out={w})", "if {h}:\n    {w} += {n}", "{w}[...] = {w}[::-1] * {n}", "{p} += {w}", "{p}[:] = {n}", "{p} *= {n}"]
FOCUS_READS = ["{u} = {w} * {n}", "{u} = {w} + {w}", "{u} = {w}.sum()", "kept.append({w} - {n})", "{u} = {p} * 2", "{u} = {p} - {w}", "kept.append({p} + 0)", "if {p}.sum() > {n}:\n    kept.append({w} * 1)"]


def _focused_fill(r: random.Random, draft: Draft, form: str) -> str:
    parts = {"h": FOCUS_CONDITIONS, "n": ["1", "2", "0.5", "3", "k"], "p": ["p1", "p2"], "w": ["a1", "a1", "b1", "b1", "c1", "p1", "p2"]}
    name = draft.new("t")
    return filled(form, lambda word: name if word == "u" else r.choice(parts[word]))


def _focused(r: random.Random) -> Program:
    draft, dtype, shape = _begun(r, ["p1 = a1", "p2 = b1"])
    for forms in (FOCUS_JOINS, r.choice([FOCUS_JOINS, FOCUS_WRITES]), FOCUS_WRITES, r.choice([FOCUS_READS, FOCUS_WRITES]), FOCUS_READS):
        any(draft.try_statement(_focused_fill(r, draft, r.choice(forms))) for _ in range(8))
    return _finished(r, draft, dtype, shape)


def program(r: random.Random) -> Program:
    if r.random() < 0.3:
        return _focused(r)
    generator = _Generator(r)
    draft, dtype, shape = _begun(r, ["p1 = p2 = None"])
    generator.draft = draft
    for _ in range(r.randint(2, 6)):
        for _ in range(5):
            text = "\n".join(generator.block(0, 1))
            inside = text.replace("return ", "None,").replace("raise ValueError('here')", "pass")
            if draft.try_statement(inside):  # what does not run at all tells nothing
                draft.lines[-1] = text
                break
    return _finished(r, draft, dtype, shape)


def _begun(r: random.Random, more: list[str]) -> tuple[Draft, str, str]:
    """Names and what they are at first."""
    dtype, shape = r.choice(DTYPES), r.choice(SHAPES)
    draft = Draft(r, HEAD, f"x = numbers({shape}, {dtype!r}, 1)\ny = numbers({shape}, {dtype!r}, 2)\narguments = (x, y, 2)", "x, y, k", wild=True)
    for first in ("a1 = x * 1.0", "b1 = y + 0.5", "kept = []", *more, r.choice(["c1 = a1", "c1 = a1[1:]", "c1 = x", "c1 = b1"])):
        draft.try_statement(first)
    return draft, dtype, shape


def _finished(r: random.Random, draft: Draft, dtype: str, shape: str) -> Program:
    lines = [line for statement in draft.lines for line in statement.split("\n")]
    always = {name.strip(" ,") for line in lines if line[0] != " " for name in line.split(" = ")[0].split(",")}
    made = [name for name in draft.names() if name in always | {"x", "y"} and r.random() < 0.6] or ["a1"]
    source = HEAD + "\ndef f(x, y, k):\n" + "\n".join(f"    {line}" for line in lines) + f"\n    return {', '.join(made)}, kept\n"
    calls = [working(lambda: _suite(r, dtype, shape), HEAD) for _ in range(r.randint(3, 6))]
    calls += [working(lambda: _suite(r, dtype, r.choice(SHAPES)), HEAD) for _ in range(2)]
    return Program(source, tuple(calls), ("box.content",))
