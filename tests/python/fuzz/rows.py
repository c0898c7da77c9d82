"""Lists of numbers and lists of such lists: made by the function or the caller's, read and written by indices of one or two loops, walked,
appended, handed on. The caller's may be the same list, or have the same list twice. Which lists are the same ones is compared besides.
"""

from __future__ import annotations

import random

from fuzz.program import Program

HEAD = """
def shape(value):
    seen = {}

    def walk(v):
        if not isinstance(v, (list, tuple)):
            return None
        if id(v) in seen:
            return seen[id(v)]
        seen[id(v)] = len(seen)
        return [walk(item) for item in v]
    return walk(value)

def total(row):
    s = 0
    for v in row:
        s += v
    return s

def fill(row, v):
    for j in range(len(row)):
        row[j] = v
    return row
"""
MAIN = """
def main(*arguments):
    result = f(*arguments)
    return result, shape((arguments, result))
"""
TABLES = ["t", "t", "t", "g", "g", "u"]
FLAT = ["h", "h", "w", "row", "t[0]", "t[i]", "g[j % len(g)]", "u[i]", "g[0]"]
MADE = ["[[0] * n for _ in range(n)]", "[[0.0] * n for _ in range(n)]", "[[i + j for j in range(n)] for i in range(n)]", "[[0.5 * j for j in range(n)] for i in range(n)]", "[r[:] for r in g]", "[[1, 0.5, 2] for _ in range(n)]",
        "[[0] * 3] * n", "[[0] * (i + 1) for i in range(n)]", "[[v, 2 * v, i] for i, v in enumerate(h)]", "[list(h) for _ in range(n)]", "[h for _ in range(n)]", "[]", "[[x, i] for i, x in enumerate(h) if x > 0]", "[[], [1]]"]
NUMBERS = ["{t}[i][j]", "{t}[i - 1][j]", "{t}[j][i]", "{f}[i]", "{f}[j]", "{f}[-1 - j]", "i", "j", "s", "0.5", "1", "i * j % 7", "-s", "h[i] * {t}[i][j]", "max({t}[i][j], {f}[j])", "abs({f}[0])", "len({t})", "len({t}[i])", "{t}[i][j] / 2",
           "{t}[i][j] // 2", "s % 5", "total({f})", "None", "True"]
CONDITIONS = ["{t}[i][j] > {f}[j]", "i == j", "{f}[i] > s", "s > 10", "(i + j) % 3", "{t}[i] is {t}[j]", "{t}[i] == {t}[j]", "len({t}) > i", "{t}[i][j]"]
WRITES = ["{t}[i][j] = {e}", "{t}[i][j] = {e}", "{t}[i][j] += {e}", "{t}[j][i] -= {e}", "{f}[i] = {e}", "{f}[j] += {e}", "row = {t}[i]", "row = {t}[j]", "row[j] = {e}", "s = {e}", "s += {e}", "s = s * 0.5 + {e}"]
RARE = ["{t}[i] = {f}", "{t}[i] = {f}[:]", "{t}[i], {t}[j] = {t}[j], {t}[i]", "{t}[i][j], {t}[j][i] = {t}[j][i], {t}[i][j]", "u.append([{e}, {e}])", "u.append({f})", "u.append({f}[:])", "w.append({e})", "{f}.append(1)", "fill({f}, {e})", "t = u",
        "t, u = u, t", "w = {f}", "w = {f}[:]", "{t}.append({f})", "row = [{e}, {e}]", "row = [{e}] * n", "u.append(row)", "{f}.pop()", "out.append(s)", "if s > 50: break", "if {c}: continue", "{f}[i + 1] = 0", "s = sum({f})", "s = sum(r[0] for r in {t})"]
BEHIND = ["h.append(1)", "g.append(h)", "g[0][0] = 9", "h[0] = 9", "s = np.array({t})", "s = {t}[0] is {f}", "t = [r[:] for r in {t}]", "u = {t}", "row = t[-1]", "s = [sum(r) for r in {t}]", "w = [r[0] for r in {t}]", "w.sort()", "s = max({f})",
          "s = list(zip(*{t}))", "for r in {t}: r[0] = 5", "for r in {t}: s = s + r[-1]", "t.append([1, 2])", "s = {t} == g", "s = np.asarray(h) * 2", "u = [r for r in {t} if r[0] > 0]"]
RESULTS = ["t", "(t, u)", "(s, t)", "(t, row)", "row", "t[0]", "(g, t[0])", "(h, s)", "(w, u, s)", "s", "(t, t)", "[t, g, h]", "(g[0], row)", "(u, out)", "t[-1][-1]"]


class _Generator:
    def __init__(self, r: random.Random):
        self.r = r

    def text(self, form: str) -> str:
        r = self.r
        while "{e}" in form or "{c}" in form:
            form = form.replace("{e}", r.choice(NUMBERS), 1).replace("{c}", r.choice(CONDITIONS), 1)
        while "{t}" in form or "{f}" in form:
            form = form.replace("{t}", r.choice(TABLES), 1).replace("{f}", r.choice(FLAT), 1)
        return form

    def statement(self, depth: int) -> list[str]:
        kind = self.r.random()
        if kind < 0.2 and depth < 2:
            lines = [f"if {self.text(self.r.choice(CONDITIONS))}:", *self.inner(depth)]
            return lines + (["else:", *self.inner(depth)] if self.r.random() < 0.4 else [])
        return [self.text(self.r.choice(RARE if kind > 0.88 else WRITES))]

    def inner(self, depth: int) -> list[str]:
        return ["    " + line for line in self.statement(depth + 1)]

    def block(self) -> list[str]:
        return ["    " + line for _ in range(self.r.randint(1, 3)) for line in self.statement(0)]

    def loop(self) -> list[str]:
        r = self.r
        head = r.choice(["for i in range(n):", "for i in range(1, n):", "for i in range(len(t)):", "for i, row in enumerate(t):", "for i, row in enumerate(g):", "for i, v in enumerate(h):"])
        if r.random() < 0.4:
            return [head, "    j = n - 1 - i", *self.block()]
        inner = r.choice(["for j in range(n):", "for j in range(i):", "for j in range(len(g[0])):", "for j in range(1, n):", "for j, v in enumerate(h):", "for j in range(2):"])
        lines = self.block() if r.random() < 0.3 else []
        return [head, *(["    j = 0"] if lines else []), *lines, "    " + inner, *("    " + line for line in self.block())]


def program(r: random.Random) -> Program:
    generator = _Generator(r)
    lines = ["s, row, out, w, i, j = 0, h, [], h[:], 0, 0", f"t = {r.choice(MADE)}", f"u = {r.choice(['[]', '[]', 't', *MADE])}", *generator.loop()]
    for _ in range(r.randint(0, 3)):
        lines += generator.loop() if r.random() < 0.5 else [generator.text(r.choice(BEHIND))]
    source = HEAD + "\ndef f(g, h, n):\n" + "".join(f"    {line}\n" for line in [*lines, "return " + r.choice(RESULTS)]) + MAIN
    numbers = r.choice(["r.random() - 0.3", "r.random()", "r.randrange(-5, 9)", "r.randrange(9)", "r.choice([1, 0.5, 2])", "r.randrange(2**62)", "np.float64(r.random())", "float(r.randrange(4))"])
    calls = []
    for n in r.sample([70, 1, 3, 66, 8, 70, 0, 67], r.randint(2, 4)):
        other = r.choice([numbers] * 6 + ["r.random()", "r.randrange(9)"])
        given = r.choice(["(g, h, n)"] * 6 + ["(g, g[0] if n else h, n)", "(g[:1] * n, h, n)", "([h] * n, h, n)", "(g[:-1] + g[:1], h, n)", "(g[:-1] + [h], h, n)", "(g[:-1] + [h + [1]], h, n)"])
        calls.append(f"import random\nr, n = random.Random({r.randrange(50)}), {n}\ng, h = [[{numbers} for _ in range(n)] for _ in range(n)], [{other} for _ in range(n)]\narguments = {given}")
    return Program(source, tuple(calls))
