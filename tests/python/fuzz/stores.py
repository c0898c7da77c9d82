"""Loops over numbers that store to arrays of the caller, and read what they have stored, what they are about to store and what they never
do; long enough for several parts of a transaction, with numbers somewhere that raise, and places outside of an array. What is compared is
above all what the arrays hold when a call has ended half-way.
"""

from __future__ import annotations

import random

from fuzz.program import Program

HEAD = """
import math

def spoilt(a, places, value):
    a = a.copy()
    for p in places:
        a.flat[p % max(a.size, 1):][:1] = value
    return a
"""
# {p}: a place; {e}: an element; {f}: a number; {b}: a condition; {v}: an array that is stored to
PLACES = ["i", "i", "i", "i", "i - 1", "i + 1", "i - 2", "n - 1 - i", "2 * i", "i // 2", "i % 7", "0", "-1", "c"]
GRID = ["i, j", "i, j", "i, j", "i - 1, j", "i, j - 1", "i - 1, j - 1", "i - 1, j + 1", "i + 1, j", "i, j + 1", "j, i", "i, 0", "0, j", "j % 3, i"]
ELEMENTS = ["x[{p}]", "x[{p}]", "x[{p}]", "y[{p}]", "z[{p}]", "w"]
FLOATS = ["{e}", "{e} * 0.5", "{e} + {e}", "{e} - {e}", "{e} * {e}", "1.0 / {e}", "{e} / {e}", "{e} + 0.25 * {e}", "s", "np.sqrt({e})", "max({e}, {e})", "min({e}, 1.0)", "abs({e})", "math.sqrt(abs({e}))", "i", "{e} if {b} else {e}", "2.5", "s + {e}", "c"]
CONDITIONS = ["{e} > 0.5", "{e} < {e}", "i % 3 == 0", "i > n // 2", "not {b}", "{b} and {b}", "s > 3.0"]
SIMPLE = ["{v}[{p}] = {f}", "{v}[{p}] = {f}", "{v}[{p}] = {f}", "{v}[{p}] = {f}", "{v}[{p}] += {f}", "s = {f}", "s += {e}", "s = 0.5 * s + {e}", "c = (c * 5 + 1) % 11", "{v}[{p}] = {v}[{p}]"]
LOOPS = ["for i in range(n):", "for i in range(n):", "for i in range(1, n):", "for i in range(n - 1):", "for i in range(1, n - 1):", "for i in range(n - 1, -1, -1):", "for i in range(2, n):", "for i in range(0, n, 2):", "for i, w in enumerate(x):",
         "for i in range(len(y)):", "for i in range(n + 1):"]
INNER = ["for j in range(m):", "for j in range(1, m):", "for j in range(1, m - 1):", "for j in range(3):", "for j in range(i):", "for j in range(m - 1, 0, -1):"]
STATES = ["", "", "np.seterr(all='raise')\n", "np.seterr(divide='raise', over='raise', invalid='ignore')\n", "np.seterr(all='warn')\n", "np.seterr(all='ignore')\n", "warnings.simplefilter('error')\n"]
VALUES = ["0.0", "1.7e308", "-1.7e308", "np.nan", "np.inf", "-1.0"]


class _Generator:
    def __init__(self, r: random.Random):
        self.r, self.grid = r, r.random() < 0.35
        some = lambda forms, most: r.sample(forms, min(len(forms), most))
        # Few forms that meet again and again: stores and loads of one array at places near each other.
        # What compiled code may rewrite in place: one array that is stored to, read at one other place at most.
        self.tidy = r.random() < 0.7
        self.forms = {"p": some(GRID, 4) if self.grid else some(PLACES, 4), "e": some(ELEMENTS, 4), "f": some(FLOATS, 6), "b": some(CONDITIONS, 3), "v": r.choice([["y"], ["y"], ["y", "z"], ["y", "x"]])}
        if self.tidy:
            place, other = (r.choice(GRID), r.choice(GRID)) if self.grid else (r.choice(PLACES[:8]), r.choice(PLACES))
            read = r.choice(["z[{p}]", "z[{p}]", f"y[{other}]"])
            self.forms |= {"e": ["x[{p}]", "x[{p}]", read], "f": some(FLOATS[:-4], 5), "v": ["y"], "p": [place, *some(GRID if self.grid else PLACES[:8], 2)]}
            self.store = f"y[{place}] = "

    def fill(self, form: str) -> str:
        short = {"p": "i, j" if self.grid else "i", "e": "x[{p}]", "f": "s", "b": "i > 2", "v": "y"}
        for step in range(60):
            at = form.find("{")
            if at < 0:
                break
            key = form[at + 1]
            form = form[:at] + (self.r.choice(self.forms[key]) if step < 12 else short[key]) + form[at + 3:]
        return form

    def block(self, depth: int) -> list[str]:
        lines = []
        for _ in range(self.r.choice([1, 1, 2, 2, 3])):
            if self.r.random() < 0.22 and depth < 2:
                lines += [self.fill("if {b}:"), *("    " + line for line in self.block(depth + 1))]
                if self.r.random() < 0.4:
                    lines += ["else:", *("    " + line for line in self.block(depth + 1))]
            elif self.r.random() < 0.04:
                lines += [self.fill("if {b}:"), "    " + self.r.choice(["break", "continue", "return s"])]
            elif self.tidy:
                lines.append(self.r.choice([self.store, self.store, self.store, "s = "]) + self.fill("{f}"))
            else:
                lines.append(self.fill(self.r.choice(SIMPLE)))
        return lines

    def loop(self) -> list[str]:
        r = self.r
        head = r.choice(LOOPS)
        if self.grid and "w in" in head:
            head = LOOPS[0]
        if not self.grid:
            return [head, *("    " + line for line in self.block(0))]
        before = ["    " + line for line in ("s = 0.0", "c = 0") if r.random() < 0.2]
        return [head, *before, "    " + r.choice(INNER), *("        " + line for line in self.block(0))]


def _call(r: random.Random, grid: bool, spoilt: bool) -> str:
    n = r.choice([3, 8, 40, 70] if grid else [3, 40, 700, 2000, 3000, 5000])
    sizes = [n, n, n]
    if r.random() < 0.25:
        sizes[r.randrange(3)] = r.choice([0, 1, n // 2, n - 1, n + 1, 2 * n])
    shape = lambda size: f"({size}, {r.choice([n, n, n, n + 3, 3])})" if grid else str(size)
    arrays = [f"abs(numbers({shape(size)}, 'f8', {r.randrange(99)})) + 0.125" for size in sizes]
    if spoilt:
        at = r.randrange(3)
        places = [r.randrange(n * n if grid else n) for _ in range(r.choice([1, 1, 2]))]
        arrays[at] = f"spoilt({arrays[at]}, {places}, {r.choice(VALUES)})"
    alias = r.random()
    views = ["x", "x[::-1]", "memory[1:]", "memory[:-1]", "x[::2]"]
    names = f"x = {arrays[0]}\nmemory = x\ny = {r.choice(views) if alias < 0.12 else arrays[1]}\nz = {r.choice(views) if 0.06 < alias < 0.2 else arrays[2]}"
    return f"{r.choice(STATES) if spoilt else ''}{names}\narguments = (x, y, z)"


def program(r: random.Random) -> Program:
    generator = _Generator(r)
    begin = ["n = len(x)", "m = x.shape[1]" if generator.grid else "m = 0", r.choice(["s = 0.0", "s = np.float64(0.5)", "s = np.float64(0.5)", "s = 1"]), "c = 0"]
    if generator.tidy:
        begin[2] = "s = np.float64(0.5)"
    if r.random() < 0.25:
        begin.append(generator.fill(r.choice(["s = z.sum()", "s = float(z.max())", "q = 1.0 / z", "q = x / z", "q = np.sqrt(z)"])))
    body = [line for _ in range(r.choice([1, 1, 1, 2])) for line in generator.loop()]
    behind = [r.choice(["return s", "return s, c", "return y", "return y.sum()", "return y.copy()", "return s, z.sum()", "pass"])]
    if any("q = " in line for line in begin) and r.random() < 0.7:
        behind = [r.choice(["return q", "return s, q.sum()", "return y.sum() + q.sum()"])]
    source = HEAD + "\ndef f(x, y, z):\n" + "".join(f"    {line}\n" for line in [*begin, *body, *behind])
    calls = [_call(r, generator.grid, False) for _ in range(2)] + [_call(r, generator.grid, r.random() < 0.7) for _ in range(r.randint(3, 6))]
    return Program(source, tuple(calls), ("x", "y", "z", "memory"))
