"""Lists of numbers that programs make (`a = [0] * n`, `list(range(n))`, comprehensions, appends) and whose items turns of loops read and set by an index: of the turn,
of array data, of other lists, from the end, outside. Lists have several names, go to helpers, leave, and are used like any list.
"""

from __future__ import annotations

import random

from fuzz.program import Program

HEAD = """
def put(a, i, v):
    a[i] = v

def find(p, i):
    for _ in range(9):
        if p[i] == i: return i
        i = p[i]
    return i

class Box:
    def __init__(self, n): self.a = [0] * n
    def add(self, i, v): self.a[i] += v
"""
FIRST = ["0", "0", "0", "0.0", "0.0", "-1", "1", "True", "False", "float('inf')", "x[0]", "0j", "None", "np.float64(1)", "k", "np.int64(3)", "2**40"]
LISTS = ["a", "a", "a", "b", "c", "box.a"]
PLACES = ["i", "i", "i", "i % m", "n - 1 - i", "-1 - i", "i // 2", "k", "int(v * n)", "int(q[i] % m)", "q[i] % m", "-1", "0", "2", "i + 1", "min(i + 1, m - 1)", "np.argmax(x)", "m - 1"]
NUMBERS = ["i", "i * 2", "v", "float(v)", "int(v * 10)", "k", "s", "{l}[{p}]", "{l}[{p}] + 1", "{l}[{p}] + v", "max({l}[{p}], i)", "max({l}[{p}], {l}[{q}] + i)", "min({l}[{p}], v)", "v > 0.5", "i % 3 == 0", "True", "0", "1.5", "q[i]",
           "-i", "v if v > 0.6 else i", "not {l}[{p}]", "{l}[{p}] - {l}[{q}]", "{l}[{p}] * 2", "None if v > 0.97 else i", "len({l})", "i ** 2", "1j"]
CONDITIONS = ["v > 0.5", "i % 2 == 0", "{l}[{p}]", "{l}[{p}] < i", "{l}[{p}] <= {l}[{q}]", "not {l}[{p}]", "k > 4", "s < 3", "i < m"]
WHOLE = ["list(range(m))", "[j for j in range(m)]", "[j * 0.5 for j in range(n + 1)]", "list(range(m, 0, -1))", "[j % 3 == 0 for j in range(m)]",
         "[x[j % len(x)] for j in range(m)]", "list(range(3, 3 + 2 * m, 2))", "[j for j in range(12)]", "[1 << j for j in range(5)]"]

SIMPLE = ["s += v", "k += 1", "k = i", "s = s + {l}[{p}]", "k = int(v * 5)", "put({l}, {p}, {v})", "k = find(r, {p})", "r[{p}] = r[{q}]", "box.add({p}, i)", "a, b = b, a", "c = a", "b = [0] * m", "a = list(a)", "a = a[:]", "b = list(c)", "c = b.copy()", "b = b + [i]", "a = c[:]", "a = b", "c = b", "a = c", "c = [0] * m", "b = [i] + [0] * (m - 1)", "b = [0.0] * len(a)", "a, b, c = b, c, a", "c[{p}] = b[{q}]", "s += len(a)",
          "a.append({v})", "k = {l}[{p}]", "x[i % len(x)] = {l}[{p}]", "for w in {l}: s = w", "{l}[{p}], {l}[{q}] = {l}[{q}], {l}[{p}]", "e.append({l}[{p}])"]
LEAVE = ["if s > 90: break", "if v > 0.97: continue", "if k > 70: return a, k", "if v > 0.98: raise ValueError(f'{{v}} {{k}}')"]
BEHIND = ["s = sum(a)", "k = len(a) + len(c)", "s = max(a) if m else 0", "y = np.array(a)", "a = a[::-1]", "a.sort()", "a[1:3] = [7, 8]", "b = a[:]", "a.append(1)", "a.pop()", "k = a.index(a[-1])", "s = a[-1]", "c = sorted(b)", "a == b", "a[0] = x[0]",
          "b += a", "a = a + [1]", "d = {'a': a, 'b': b}", "print(a[:2])", "e = [w for w in a if w]", "k = a.count(0)", "del a[0]", "a[-1] = 5", "s = a[m // 2]", "s = b[np.argmin(x)]"]
RESULTS = ["a", "(a, b)", "(a, b, c, r, box.a)", "(a, a is c, s, k)", "(b, a[-1], s)", "(a, [type(w).__name__ for w in a])", "(x, a)", "(e, a, s)", "[a, b, d]"]


class _Generator:
    def __init__(self, r: random.Random):
        self.r = r

    def fill(self, text: str, depth: int = 0) -> str:
        pick = self.r.choice
        value = "0" if depth > 1 else self.fill(pick(NUMBERS), depth + 1)
        return text.format(l=pick(LISTS), p=pick(PLACES), q=pick(PLACES), v=value)

    def statement(self, depth: int) -> list[str]:
        r, kind = self.r, self.r.random()
        if kind < 0.45:
            return [f"{r.choice(LISTS)}[{r.choice(PLACES)}] {r.choice(['=', '=', '=', '+='])} {self.fill(r.choice(NUMBERS))}"]
        if kind < 0.65 and depth < 2:
            lines = [f"if {self.fill(r.choice(CONDITIONS))}:", *self.inner(depth)]
            return lines + (["else:", *self.inner(depth)] if r.random() < 0.4 else [])
        if kind < 0.75 and depth < 2:
            return [f"for j in {r.choice(['range(3)', 'range(i % 4)', 'range(i)', 'range(1, m)'])}:", *("    " + line for line in [self.fill("{l}[") + r.choice(["j", "j", "m - j", "-j"]) + "] = " + self.fill(r.choice(NUMBERS))])]
        return [self.fill(r.choice(LEAVE if kind > 0.96 else SIMPLE))]

    def inner(self, depth: int) -> list[str]:
        return ["    " + line for line in self.statement(depth + 1)]

    def loop(self) -> list[str]:
        head = self.r.choice(["for i in range(n):", "for i, v in enumerate(x):", "for i in range(1, m):", "for i in range(m - 1, -1, -1):"])
        lines = [line for _ in range(self.r.randint(1, 4)) for line in self.statement(0)]
        return [head, *("    " + line for line in (["v = x[i % len(x)]"] if "v in" not in head else []) + lines)]


def program(r: random.Random) -> Program:
    generator = _Generator(r)
    lines = ["s, k, y, d, e = 0.0, 0, 0, 0, []", "a = " + r.choice([f"[{r.choice(FIRST)}] * m", r.choice(WHOLE)]), f"b = {r.choice(['[0] * m', '[0.0] * (n + 1)', 'a', 'm * [False]', '[1] * 3', *WHOLE])}", "c = " + r.choice(["a", "b", "[2] * m", r.choice(WHOLE)]), *r.choice([["r = [0] * m", "for i in range(m): r[i] = i"], ["r = list(range(m))"], ["r = []", "for i in range(m): r.append(i)"]]), "box = Box(m)",
             *generator.loop()]
    for _ in range(r.randint(0, 3)):
        lines += generator.loop() if r.random() < 0.4 else [r.choice(BEHIND)]
    source = HEAD + "\ndef f(x, q, n, m):\n" + "".join(f"    {line}\n" for line in [*lines, "return " + r.choice(RESULTS)])
    calls = tuple(f"n, m = {n}, {max(0, n + r.choice([0, 0, 0, 1, 2, -1, 20]))}\nx = np.random.default_rng({r.randrange(50)}).random(max(n, 1))\nq = (np.random.default_rng(1).random(max(n, m, 1)) * 50).astype(int)\narguments = (x, q, n, m)"
                  for n in r.sample([70, 1, 0, 90, 3, 71, 70, 2, 66], r.randint(2, 5)))
    return Program(source, calls, ("x",))
