"""Random numbers of the user's generators: drawn in loops and branches, by calls that raise, warn or are given up half-way, used or
not. The generators' states are compared as well.
"""

from __future__ import annotations

import random

from fuzz.program import Program

HEAD = """
import random
pr = random.Random(4)
g = np.random.default_rng(1)
h = np.random.Generator(g.bit_generator)
r = np.random.RandomState(2)

class Box:
    pass

box = Box()
box.g = np.random.default_rng(3)
"""
GENERATORS = ["g", "g", "g", "h", "box.g"]
# {g}: a Generator; {s}: a number; {n}: a size; {a}: an array; {c}: a condition
NUMBERS = ["{g}.random()", "{g}.random()", "{g}.normal()", "{g}.normal({s}, 1.5)", "{g}.uniform(-1, 2)", "{g}.integers(5)", "{g}.integers({n} + 1)", "{g}.poisson(2.0)", "{g}.exponential()", "{g}.standard_normal()", "{g}.uniform({s}, 3)", "{g}.integers(-3, {n} + 2)", "{g}.laplace({s}, 2)", "{g}.lognormal()", "{g}.poisson({s})", "{g}.exponential(scale={s})", "r.uniform(-1, {s})", "r.randint(-3, 9)", "r.rand()", "r.randn()", "r.randint(4)",
           "{g}.choice(4)", "{g}.choice(x)", "{g}.choice([0.25, 3.0])", "{g}.choice(3, p=[0.25, 0.25, 0.5])", "pr.random()", "pr.uniform(-1, {s})", "pr.randint(0, 3)", "pr.choice([0.5, 1.5, 2.0])", "r.randn()", "r.normal({s}, 2)", "r.exponential(2.0)",
           "[0.5, 2.0, -1.0][{g}.integers(3)]",  "s", "s", "x.sum()", "{a}.max()", "0.5", "2", "k", "float({g}.integers(3))"]
ARRAYS = ["x", "x", "y", "{g}.random(len(x))", "{g}.normal(size=len(x))", "{g}.normal(x)", "{g}.random(x.shape)", "{g}.integers(0, 9, len(x))", "r.rand(len(x))", "r.normal(0, 1, len(x))", "{g}.permutation(x)", "({a} + {a})",
          "({a} * {s})", "({a} - {s})", "np.sqrt(np.abs({a}))", "{g}.choice(x, len(x))", "np.where({a} > {s}, {a}, x)", "({a} / {s})", "{g}.standard_normal(len(x), dtype='f4')"]
CONDITIONS = ["{s} > {s}", "{g}.random() < 0.5", "k > 1", "{a}.sum() > {s}", "not {c}", "{c} and {c}", "{c} or {c}"]
SIMPLE = ["y = {a}", "y = {a}", "s = {s}", "s += {s}", "s = s * 0.5 + {s}", "x[0] = {s}", "x[{g}.integers(0, len(x))] = {s}", "x[1:] += {a}[1:]", "x[...] = {a}", "{g}.random({n})", "{g}.normal()", "y = {a}[{a} > {s}]; s += y.sum(); y = x",
          "y = {a} / ({s} - {s})", "s = np.log({s})", "x[k] = {s}", "{g}.normal(0, {s})", "s = {s} / {s}", "y = {a} if {c} else {a}", "s = {s} if {c} else {s}", "print(k)", "np.linalg.inv(np.outer(x, x))", "y = y.copy()"]
LOOPS = ["for i in range({n}):", "for v in x:", "for i in range(len(x)):", "for i in range(70):", "for i in range(1, {n} + 1):"]
IN_LOOPS = ["x[i % len(x)] = {s}", "s += x[i % len(x)] * {g}.random()", "x[i % len(x)] += {g}.normal()", "s += {g}.random()", "s -= r.rand()", "s += pr.random() * r.randn()", "x[pr.randrange(len(x))] += pr.choice((-1, 1))", "{g}.normal(size=2)", "y = y + {g}.random(len(y))", "s = max(s, {g}.random())"]


class _Generator:
    def __init__(self, source: random.Random):
        self.r = source

    def fill(self, form: str, depth: int = 0) -> str:
        r = self.r
        parts = {"g": lambda: r.choice(GENERATORS), "n": lambda: r.choice(["0", "1", "3", "k", "len(x)"]), "s": lambda: r.choice(NUMBERS if depth < 4 else ["s", "0.5", "g.random()"]),
                 "a": lambda: r.choice(ARRAYS if depth < 4 else ["x", "y", "g.random(len(x))"]), "c": lambda: r.choice(CONDITIONS if depth < 4 else ["s > 0.5", "k > 1"])}
        for _ in range(60):
            at = form.find("{")
            if at < 0:
                return form
            key = form[at + 1]
            form = form[:at] + parts[key]() + form[at + 3:]
            depth += 1 if key in "sac" else 0
        return "pass"

    def block(self, depth: int, count: int, turns: bool = False) -> list[str]:
        lines: list[str] = []
        for _ in range(count):
            kind = self.r.random()
            if kind < 0.2 and depth < 2:
                lines += [self.fill("if {c}:"), *self.inner(depth, turns)]
                if self.r.random() < 0.5:
                    lines += ["else:", *self.inner(depth, turns)]
            elif kind < 0.4 and depth < 2:
                form = self.fill(self.r.choice(LOOPS))
                lines += [form, *self.inner(depth, " i " in form)]
                if self.r.random() < 0.2:
                    lines += [f"    {self.fill('if {c}:')}", "        break"]
            elif turns and kind < 0.8:
                lines.append(self.fill(self.r.choice(IN_LOOPS)))
            else:
                lines.append(self.fill(self.r.choice(SIMPLE)))
        return lines

    def inner(self, depth: int, turns: bool) -> list[str]:
        return ["    " + line for line in self.block(depth + 1, self.r.randint(1, 3), turns)]


def program(r: random.Random) -> Program:
    generator = _Generator(r)
    lines = ["y = x * 2", "s = 0.25", *generator.block(0, r.randint(2, 6))]
    source = HEAD + "\ndef f(x, k):\n" + "".join(f"    {line}\n" for line in lines) + "    return y, s, g.random(), r.rand()\n"
    calls = tuple(f"x = numbers({r.choice([1, 2, 4, 4, 4, 9, 30])}, 'f8', {r.randrange(50)})\narguments = (x, {r.choice([0, 1, 2, 3])})" for _ in range(r.randint(1, 4)))
    watch = ("x", "g.bit_generator.state['state']", "box.g.bit_generator.state['state']", "r.get_state()[1]", "r.get_state()[2]", "r.get_state()[3:]", "pr.getstate()[1]")
    return Program(source, calls, watch, tolerance=1e-5 if "'f4'" in source else 1e-9)
