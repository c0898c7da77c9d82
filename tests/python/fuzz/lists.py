"""What loops leave in lists, dicts and objects: appends of numbers and arrays, of their own and of the caller's, under conditions and in
loops inside; sums in items and attributes. Arrays that lists hold are written, handed on and returned besides.
"""

from __future__ import annotations

import random

from fuzz.program import Program

HEAD = """
class Box:
    gain = 0.5

box = Box()
box.total, box.n, box.seen, box.state = 0.0, 0, [0.0, 0], {"n": 0}
log = []
"""
NUMBERS = ["v", "float(v)", "i", "x[i] * 2", "s", "k", "v > 0.5", "1.5", "0", "int(v * 10)", "-v", "abs(v - 0.5)", "np.sqrt(v)", "(i, v)", "(v, (i, s))", "len({l})", "{l}[-1] if {l} else v", "max(v, 0.3)",
           "min(s, v)", "v if v > 0.4 else 0", "None if v > 0.9 else v", "box.total", "np.float32(v)", "v + 1j", "'a'"]
ARRAYS = ["y * v", "y + i", "u", "u", "u", "u * 0.5", "w", "np.ones(2) * v", "y.copy()", "x", "x[1:4]", "m[0]", "(i, y * v)", "u", "y[:2] * v"]
LISTS = ["a", "a", "a", "b", "d['a']"]
CONDITIONS = ["v > 0.5", "i % 2 == 0", "len(a) < 20", "s > 3", "k > 4", "x[i] < 0.3", "i < k"]
SIMPLE = ["s = s + v", "s += float(v)", "k += 1", "s = v", "k = len(a)", "t[0] += v", "t[1] += 1", "d['n'] += 1", "box.total += v", "box.total = box.gain * box.total + v", "box.n += 1", "box.seen[0] = v", "box.state['n'] += i",
          "u = u * 0.5 + v", "w = u", "u[0] = v", "u *= 0.9", "u = y * v", "w, u = u, u + 1", "s += len(a)", "s += a[-1] if a and isinstance(a[-1], float) else 0", "k += len(b)", "a = []", "b = a", "b = list(a)", "log.append(i)"]
OF_ARRAYS = ["u = u * 0.5 + v", "u = y + v", "u = y + v", "u = y * i", "w = u", "u[0] = v", "u *= 0.9", "w, u = u, u + 1"]
LEAVE = ["if s > 20: break", "if v > 0.95: continue", "if k > 60: return a"]
BEHIND = ["a.append(1.0)", "a.append(s)", "a.append(u)", "a.append(2)", "u[1] = 3.0", "for v in b: s = v", "c = np.array(a) if a and isinstance(a[0], float) else 0", "s = (len(a), len(b))", "b = [v * 2 for v in x]",
          "s = sum(v * 0.5 for v in x)", "c = max(a) if a and all(type(v) is np.float64 for v in a) else 0", "if b: b.pop()", "w = np.array([v + 1 for v in y])", "c = np.stack([y * v for v in x]) if n else 0"]
WRITES = ["u[1] = 3.0", "w[0] = s", "u += 1", "if a and isinstance(a[-1], np.ndarray): a[-1][0] = 5.0", "c = a[0] is a[-1] if a else 0", "c = u is a[-1] if a else 0"]
RESULTS = ["a", "(a, b)", "(a, s, k)", "(a, b, u, w)", "(a, a)", "(b, len(a), u)", "[a, b]", "(a, a[-1] if a else 0)", "d", "(a, w)", "(a, t, c)", "(u, t, d)"]


class _Generator:
    def __init__(self, r: random.Random):
        self.r = r
        self.arrays = r.random() < 0.35

    def item(self, to: str) -> str:
        return self.r.choice(ARRAYS if self.arrays and self.r.random() < 0.8 else NUMBERS).format(l=to)

    def statement(self, depth: int, loops: int) -> list[str]:
        r, kind = self.r, self.r.random()
        if kind < 0.4:
            to = r.choice(LISTS)
            return [f"{to}.append({self.item(to)})"]
        if kind < 0.55 and depth < 2:
            lines = [f"if {r.choice(CONDITIONS)}:", *self.inner(depth, loops)]
            return lines + (["else:", *self.inner(depth, loops)] if r.random() < 0.4 else [])
        if kind < 0.62 and depth < 2:
            # Arrays are compared with each other, for what they share: not too many of them.
            over = "range(2)" if loops > 1 else r.choice(["range(3)", "range(i % 4)", "x[:4]"] if self.arrays else ["range(3)", "range(i)", "range(n)", "x[:4]"])
            return [f"for j in {over}:", *self.inner(depth, loops + 1)]
        return [r.choice(LEAVE if kind > 0.96 else OF_ARRAYS if self.arrays and kind < 0.85 else SIMPLE)]

    def inner(self, depth: int, loops: int) -> list[str]:
        return ["    " + line for line in self.statement(depth + 1, loops)]

    def loop(self) -> list[str]:
        head = self.r.choice(["for i in range(n):", "for i, v in enumerate(x):"])
        lines = [line for _ in range(self.r.randint(1, 4)) for line in self.statement(0, 1)]
        return [head, *("    " + line for line in (["v = x[i]"] if "v in" not in head else []) + lines)]


def program(r: random.Random) -> Program:
    generator = _Generator(r)
    lines = ["s, k, c, y = 0.0, 0, 0, x[:3]", "u = y * 1.0", "w, m, t = u, np.outer(x, y), [0.0, 0]", "a = " + r.choice(["[]", "[]", "[1.0]", "[x[0]] if n else []", "[0]"]), "b = " + r.choice(["[]", "a", "[]", "log"]), "d = {'a': a, 'n': 0}",
             *generator.loop()]
    for _ in range(r.randint(0, 3)):
        kind = r.random()
        lines += generator.loop() if kind < 0.3 else ["if n and x[0] > 0.5:", *("    " + line for line in generator.loop())] if kind < 0.4 else [r.choice(WRITES if generator.arrays and kind < 0.7 else BEHIND)]
    source = HEAD + "\ndef f(x, n):\n" + "".join(f"    {line}\n" for line in [*lines, "return " + r.choice(RESULTS)])
    calls = tuple(f"n = {n}\nx = np.random.default_rng({r.randrange(50)}).random(n)\narguments = (x, n)" for n in r.sample([70, 1, 0, 90, 3, 71, 70, 2, 66], r.randint(2, 5)))
    return Program(source, calls, ("x", "log", "vars(box)"))
