"""Loops over elements and rows of arrays that share memory, with numbers of every class: Python's, NumPy's, and such of which data
decides the class; places, slices and swaps that data decides; small products, powers, joins and calls of libraries in turns; and what
surrounds them: error states, handlers, returns, helpers, closures.
"""

from __future__ import annotations

import random

from fuzz.draft import Draft, working
from fuzz.program import Program

HEAD = """
import math

def lerp(a, b, t=0.5):
    return a + (b - a) * t

def least(a, start):
    best, at = None, start
    for j in range(start, len(a)):
        if best is None or a[j] < best:
            best, at = a[j], j
    return at

def swap(a, i, j):
    a[i], a[j] = a[j], a[i]

def clamp(v, low, high):
    if v < low:
        return low
    return high if v > high else v

def adder(start):
    total = start
    def add(v):
        nonlocal total
        total += v
        return total
    return add

class State:
    __qualname__ = '<locals>.State'
    def __init__(self, a):
        self.a, self.n, self.best = a, 0, None
    def push(self, v):
        self.a[self.n % max(len(self.a), 1)] = v
        self.n += 1
        if self.best is None or v > self.best:
            self.best = v
"""
DTYPES = ["f8", "f8", "f8", "f8", "f4", "i8", "i8", "i4", "u1", "u8", "i2", "?", "c16", "f2"]
SIZES = [70, 70, 70, 66, 90, 3, 2, 1, 0, 8]
# {i}: a place; {e}: an element; {f}: a number; {n}: an int; {b}: a condition; {v}: an array that may be written; {r}: any array;
# {s}: a variable that is a number; {t}: one that is a tuple; {c}: a plain constant
PLACES = ["i", "i", "i", "i - 1", "-1 - i", "n - 1 - i", "i // 2", "i % 3", "(i * 3 + 1) % n", "0", "-1", "{n}", "{n} % n", "min(i + 1, n - 1)", "c", "c % n", "q[i % len(q)]", "least(x, i)", "n // 2", "t[0]"]
ELEMENTS = ["x[{i}]", "x[{i}]", "y[{i}]", "z[{i}]", "m[{i} % 4, {i} % 3]", "m[i % 4][1]", "x.item({i})", "w"]
INTS = ["i", "c", "int({e})", "int({f})", "n - i", "len(x)", "i % 5", "i // 3", "-i // 3", "-i % 4", "i & 3", "i ^ c", "i << 1", "c >> 1", "round({e})", "int({b})", "c * 2 + 1", "q[i % len(q)]", "np.argmax(x)", "int(np.argmin(z))",
        "int(q[i % len(q)]) - 2", "max(i, c)", "min(c, 7)", "abs(c - i)", "2 ** (i % 5)", "(-1) ** i", "t[0]", "x.size", "divmod(i, 3)[1]", "~i", "np.searchsorted(q, i)", "bool(c)", "(c or i)", "c + i if {b} else c - 1", "len(x[c:])",
        "np.count_nonzero(x[:{n}])", "math.floor({f})", "st.n", "np.int64(i)", "int(x.sum())"]
FLOATS = ["{e}", "{e}", "{e}", "{s}", "{s}", "{c}", "{e} + {e}", "{e} - {s}", "{e} * 0.5", "({e} + {s}) / 2", "{e} * {c}", "{s} * 0.5 + {e}", "i * 0.25", "i / 4", "{n}", "{n} * 1.0", "abs({e})", "-{e}", "max({e}, {c})", "min({e}, {s})",
          "max({s}, {e}, {c})", "({e} if {b} else {c})", "lerp({e}, {s})", "clamp({e}, {c}, 3)", "float({e})", "{e} ** 2", "{s} ** 2", "{e} ** 3", "abs({e}) ** 0.5", "{e} % 3", "{e} // 2", "{f} % 1.5", "float({e}) / 3", "{e} / (abs({e}) + 1)",
          "np.float32({e})", "np.float64({s})", "np.int64({n})", "np.uint8({n} % 200)", "x[:{n}].sum()", "x[{n}:].sum()", "x[{i}:{i} + 3].mean()", "np.dot(x[:3], y[:3])", "(m @ m.T)[1, 2]", "x.max()", "x.sum()", "m.sum(axis=0)[1]",
          "(q * 2)[0]", "math.sqrt(abs({e}))", "np.sqrt(abs({e}))", "{b}", "np.maximum({e}, {s})", "m[i % 4].sum()", "m[:, 1].max()", "t[1]", "sum(x[:3])", "st.best or 0", "add({c})", "np.diag(m[:3])[1]", "m.trace()", "np.sort(x)[0]",
          "x[[0, -1]].sum()", "z[::-1][{i}]", "({e} > {c}) * 2", "np.where({b}, {e}, {s})", "round({f}, 1)", "complex({c}, i).real", "abs(complex({c}, i))", "x[{i}].real", "x.mean()", "{e} * {e} - {s}", "np.median(x[:3])"]
CONDITIONS = ["{e} > {c}", "{e} > {c}", "{e} < {e}", "{s} > {e}", "i % 2", "i % 3 == 0", "i > n // 2", "{n} > 2", "{e} == {e}", "{e} != {s}", "c < i", "{c} < {e} <= 3", "not {b}", "{b} and {b}", "{b} or {b}", "{e}", "st.best is None", "i in (1, 3)",
              "{s} is None", "isinstance({s}, int)", "x is z", "np.isnan({e})", "{e} >= 0", "(x > {c}).any()", "i == n - 1", "{n} & 1", "k", "type({s}) is float", "math.isfinite({e})"]
CONSTANTS = ["0", "1", "2", "-1", "0.5", "k", "2.5", "0.0", "3", "1e3", "True", "-0.0", "np.float32(1.5)", "10"]
READS = ["{v}", "{v}", "{v}[1:]", "{v}[::-1]", "{v}[:{n}]", "({v} * 0.5)", "({v} - {f})", "np.abs({v})", "{v}[[0, -1]]", "m[i % 4]", "m[:, i % 3]", "np.where({v} > {c}, {v}, {c})", "np.zeros_like(x)", "np.cumsum({v})", "np.sort({v})", "{v}.copy()",
         "({v} + {v}[::-1])", "(m @ m.T)[0]", "np.roll({v}, 1)", "{v}[{v} > {c}]", "np.diag(m[:3, :3])", "{v} ** 2"]
SIMPLE = ["{v}[{i}] = {f}", "{v}[{i}] = {f}", "{v}[{i}] = {e}", "{v}[{i}] += {f}", "{v}[{i}] -= {e}", "{v}[{i}] *= {c}", "{s} = {f}", "{s} = {f}", "{s} += {f}", "{s} -= {e}", "{s} = max({s}, {f})", "{s} = {f} if {b} else {s}", "c += 1", "c = {n}", "c += {n}",
          "c = c % 7", "c ^= i", "{v}[{i}], {v}[{i}] = {v}[{i}], {v}[{i}]", "swap({v}, {i}, {i})", "{v}[[{i}, {i}]] = {v}[[{i}, {i}]]", "{v}[[{i}, {i}]] += {c}", "{v}[[0, -1]] = {c}", "m[[0, {n} % 4]] = m[[{n} % 4, 0]]", "{v}[{n}:] = {c}",
          "{v}[:{n}] += {e}", "{v}[{i}:{i} + 2] = {f}", "{v}[1:] = {v}[:-1]", "{v}[{n}:{n} + 3] = {v}[{n}:{n} + 3][::-1]", "{v}[{n}:] -= {v}[:len({v}[{n}:])]", "{v} *= 0.5", "{v} += {e}", "{v}[...] = {r}", "z = {r}", "z = z + {f}", "t = (i, {f})",
          "t = ({n}, t[1])", "t = (t[0] + 1, {e})", "s, u = u, s", "t = (t[1], t[0]) if {b} else t", "m[i % 4] = {f}", "m[:, i % 3] += {e}", "m[i % 4, i % 3] = {f}", "m += np.outer(m[:, 0], m[0])  * 0.01", "np.fill_diagonal(m, {f})",
          "m[:3, :3] = m[:3, :3] @ m[:3, :3] * 0.1", "m[0] = m[i % 4] @ m[:3, :3]", "w = {e}", "st.push({f})", "kept.append({f})", "{s} = None if {b} else {f}", "{s} = 0 if {s} is None else {s}", "q[{i} % len(q)] += 1", "q[int({e}) % 5] += 1",
          "old = z; z = x.copy()", "x, y = y, x", "np.add({v}, {c}, out={v})", "{v}[{v} > {f}] = {c}", "{s} = add({e})", "{v}.sort()", "{v}[{i}] = {v}[{i}] > {c}", "{v}[{i}] = {v}[{i}] / {f}", "{s} = {e} / {e}", "{v}[{i}] //= 2", "{s} = {s} ** 2",
          "z = np.concatenate([z[1:], x[{i}:{i} + 1]])", "{s} = {r}.sum()", "z[1:-1] = (z[:-2] + z[2:]) * 0.5", "{v}[{i}][...] = 0", "u = np.uint8(u) + np.uint8({n} % 9) if {b} else {c}"]
RARE = ["print({n})", "return {s}, i", "assert {b}", "raise ValueError({n})", "x[n] = 1", "{s} = 1 // {n}", "{s} = {e} / 0", "kept.append(z)", "del kept[:]", "{s} = math.sqrt({e})", "{s} = math.log({e})", "{s} = 2 ** ({n} % 80)", "{s} = {s} * 2 ** 62",
        "global G; G = {s}", "yielded.append({s})", "{s} = str({s})[:3]"]
LOOPS = ["for i in range(n):"] * 4 + ["for i in range(n - 1):", "for i in range(1, n):", "for i in range(n - 1, -1, -1):", "for i in range(0, n, 2):", "for i, w in enumerate(x):", "for i, w in enumerate(z):", "for i, (w, e) in enumerate(zip(x, y)):",
         "for i in range(66):", "for i in range({n}):", "for i in q:", "for i in range(k * 40):", "for i, w in enumerate(x[::-1]):", "for i in reversed(range(n)):", "for i in range(3):", "for i in [0, 2, 1]:"]
INNER = ["for j in range(i):", "for j in range(i, n):", "for j in range(3):", "for j in range(i + 1, min(i + 4, n)):", "for row in m:", "for j in range({n}):"]
STATES = ["np.errstate(all='raise')", "np.errstate(divide='ignore', invalid='ignore')", "np.errstate(over='raise')", "np.errstate(all='warn')", "warnings.catch_warnings()"]
ERRORS = ["IndexError", "ZeroDivisionError", "ValueError", "FloatingPointError", "(IndexError, ValueError)", "Exception", "OverflowError", "TypeError"]
ROUGH = ["** 3", "** 0.5", "** c", "math.log(", "abs(complex("]   # right to the last places only
# What y and z may be
OTHERS = ["x", "x", "x[::-1]", "x[...]", "memory[{s} + 1:{s} + 1 + {n}]", "memory[{s} - 1:{s} - 1 + {n}]", "memory[{s}:{s} + 2 * {n}:2]", "window(memory, {s}, ({n},), (0,))", "frozen(x)", "x[1:]", "x[:-1]", "x[::2]", "memory", "x.copy()"]


class _Generator:
    def __init__(self, r: random.Random):
        self.r = r
        # Few forms that meet again and again find more than all of them that never do.
        some = lambda forms, most: r.sample(forms, min(len(forms), r.randint(most // 2, most)))
        self.forms = {"i": some(PLACES, 8), "e": some(ELEMENTS, 6), "n": some(INTS, 8), "f": some(FLOATS, 14), "b": some(CONDITIONS, 8), "c": some(CONSTANTS, 5), "v": ["x", "x", "y", "z", "a"], "r": some(READS, 8), "s": ["s", "s", "u"]}
        self.simple = some(SIMPLE, 24)
        self.turns = 0   # loops around

    def fill(self, form: str) -> str:
        short = {"i": "0", "e": "x[0]", "n": "i", "f": "s", "b": "i > 2", "c": "1", "v": "x", "r": "x", "s": "s"}
        for step in range(60):
            at = form.find("{")
            if at < 0:
                return form
            key = form[at + 1]
            form = form[:at] + (self.r.choice(self.forms[key]) if step < 14 else short[key]) + form[at + 3:]
        return "pass"

    def block(self, depth: int, count: int) -> list[str]:
        r, lines = self.r, []
        for _ in range(count):
            form = r.random()
            if form < 0.2 and depth < 4:
                lines += [self.fill("if {b}:"), *self.indented(depth, r.randint(1, 2))]
                if r.random() < 0.3:
                    lines += [self.fill("elif {b}:"), *self.indented(depth, 1)]
                if r.random() < 0.5:
                    lines += ["else:", *self.indented(depth, r.randint(1, 2))]
            elif form < 0.26 and self.turns:
                before = ["    " + self.fill(r.choice(self.simple)) for _ in range(r.choice([0, 1, 2]))]
                lines += [self.fill("if {b}:"), *before, "    " + r.choice(["break", "break", "continue", "continue", "return s, i, c"])]
            elif form < 0.34 and self.turns == 1:
                lines += self.loop(depth, self.fill(r.choice(INNER)))
            elif form < 0.37 and depth < 3:
                lines += [f"with {r.choice(STATES)}:", *self.indented(depth, 1)]
            elif form < 0.4 and depth < 3:
                lines += ["try:", *self.indented(depth, r.randint(1, 2)), f"except {r.choice(ERRORS)} as error:", r.choice(["    pass", "    s = -1.0", "    kept.append(type(error).__name__)", "    break" if self.turns else "    c = 99"])]
                if r.random() < 0.2:
                    lines += ["finally:", "    c += 1"]
            elif form < 0.44 and self.turns < 2:
                self.turns += 1
                lines += ["steps = 0", self.fill("while steps < 70 and {b}:"), "    steps += 1", *self.indented(depth, 1)]
                self.turns -= 1
            else:
                lines.append(self.fill("if {b}: " + r.choice(RARE)) if form > 0.97 else self.fill(r.choice(self.simple)))
        return lines

    def indented(self, depth: int, count: int) -> list[str]:
        return ["    " + line for line in self.block(depth + 1, count)]

    def loop(self, depth: int, head: str) -> list[str]:
        self.turns += 1
        body = self.indented(depth, self.r.randint(1, 4))
        self.turns -= 1
        tail = ["else:", "    s = 77"] if self.r.random() < 0.08 else []
        return [head, *body, *tail]


def _suite(r: random.Random, dtype: str, size: int, plain: bool) -> str:
    start = size + 3
    words = {"s": start, "n": size}
    memory = f"memory = {r.choice(['ramp', 'ramp', 'numbers', 'numbers'])}({4 * size + 9}, {dtype!r})"
    x = f"memory[{start}:{start} + {size}]" if plain or r.random() < 0.8 else f"memory[{start}:{start} + 2 * {size}:2]"
    fresh = lambda: f"{r.choice(['edge', 'numbers', 'numbers'])}({size}, {dtype!r}, {r.randrange(50)})"
    other = lambda: fresh() if plain or r.random() < 0.5 else r.choice(OTHERS).format(**words)
    k = r.choice(["0", "1", "2", "2"] if plain else ["0", "1", "2", "3", "0.5", "-1", "np.int64(2)", "True", "np.float32(0.5)"])
    # Where a report is due the call is Python's again: most want none, so that what was computed is what is compared.
    state = r.choice(["", "", *["np.seterr(all='ignore')\n"] * 6, "np.seterr(all='raise')\n", "np.seterr(divide='raise', over='ignore')\n"])
    return f"{state}{memory}\nx = {x}\nyielded = []\nG = 0\narguments = (x, {other()}, {other()}, numbers((4, 3), {dtype!r}, {r.randrange(9)}), {k})"


def program(r: random.Random) -> Program:
    generator = _Generator(r)
    dtype = r.choice(DTYPES)
    first = working(lambda: _suite(r, dtype, 70, True), HEAD)
    draft = Draft(r, HEAD, first, "x, y, z, m, k", wild=True)
    begin = ["n = len(x)", r.choice(["s = 0", "s = 0.0", "s = 0.0", "s = None", "s = x[0]", "s = 1"]), r.choice(["u = 0", "u = 1.5", "u = y[0]", "u = False", "u = np.float64(0)", "u = np.int64(3)"]), "c = 0", "t = (0, 0.0)",
             r.choice(["a = x.copy()", "a = np.zeros_like(x)", "a = x", "a = y * 0.5", "a = x[1:]"]), "q = np.arange(5) % 3", "kept = []", "st = State(x.copy())", "add = adder(0)", "w = e = 0.5", "i = j = 0", "old = row = error = None"]
    for line in begin:
        draft.try_statement(line)
    for _ in range(r.randint(1, 2)):
        for _ in range(8):
            text = "\n".join(generator.loop(0, generator.fill(r.choice(LOOPS))) if r.random() < 0.9 else generator.block(0, 2))
            inside = text.replace("return ", "None,")
            for word in ("raise ", "assert ", "global G; "):
                inside = inside.replace(word, "None," if word != "global G; " else "")
            if draft.try_statement(inside):
                draft.lines[-1] = text
                break
    lines = [line for statement in draft.lines for line in statement.split("\n")]
    globals_ = ["    global G"] if any("global G" in line for line in lines) else []
    lines = [line.replace("global G; ", "") for line in lines]
    made = [name for name in ("x", "y", "z", "a", "m", "s", "u", "c", "t", "q", "i", "w", "kept", "st", "old") if r.random() < 0.45] or ["s"]
    source = HEAD + "\ndef f(x, y, z, m, k):\n" + "\n".join([*globals_, *(f"    {line}" for line in lines)]) + f"\n    return {', '.join(made)},\n"
    calls = [first, *(working(lambda: _suite(r, dtype, r.choice(SIZES[:5]), r.random() < 0.5), HEAD) for _ in range(3))]
    calls += [working(lambda: _suite(r, dtype if r.random() < 0.8 else r.choice(DTYPES), r.choice(SIZES), False), HEAD) for _ in range(r.randint(2, 4))]
    rough = any(word in source for word in ROUGH)
    return Program(source, tuple(calls), ("memory", "yielded", "G"), 1e-9 if rough else None)
