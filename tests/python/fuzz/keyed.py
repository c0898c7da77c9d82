"""Dicts and sets whose keys data decides: entries are set, looked for, counted and walked in loops, in branches and in loops inside; dicts
change places, are made anew, begin with something, have other names. Some get keys or items of another kind, some are asked for what is not there.
"""

from __future__ import annotations

import random

from fuzz.program import Program

HEAD = """
from collections import Counter, defaultdict

def look(d, k, other):
    return d[k] if k in d else other

def put(d, k, v):
    if k not in d or v is None:
        d[k] = v
"""
#: by what the keys are: numbers of Python's, NumPy's, both, tuples
KEYS = {
    "int": ["int(v)", "int(v) % 5", "i % 4", "k % 11", "(int(v) * 7 + i) % 13", "-int(v)", "int(v) << 30", "int(v) + 1"],
    "numpy": ["v", "v % 5", "v + 1", "x[i // 2]", "-v"],
    "both": ["int(v)", "v", "k % 7", "x[i // 2]", "v % 3"],
    "pair": ["(int(v), i % 3)", "(i % 4, k % 3)", "(int(v) % 3, int(v))", "(k % 2, int(v) % 4)"],
    "pairs": ["(v, i % 3)", "(int(v), v % 3)", "(k % 2, x[i // 2])"],
    "others": ["int(v)", "'a'", "(i, k)", "v > 3", "v * 0.5", "None"],
}
ITEMS = {
    "int": ["i", "k", "1", "int(v)", "int(v) % 7", "-3"],
    "numpy": ["v", "x[i // 2]", "v % 3"],
    "float": ["i * 0.5", "float(v)", "1.5"],
    "mixed": ["w[i]", "w[i] * 2", "1.5", "0", "i"],
    "none": ["None", "i", "int(v)"],
    "pair": ["(i, k)", "(int(v), 1)", "(k, i)"],
    "bool": ["v > 2", "True", "i % 2 == 0"],
    "others": ["i", "'a'", "[i]", "x[:2]", "(i, 0.5)"],
}
OTHERWISE = {"int": "0", "numpy": "0", "float": "0.0", "mixed": "float('inf')", "none": "None", "pair": "(0, 0)", "bool": "False", "others": "0"}
USES = {"float": "s += {}", "mixed": "s += min({}, 9.0)", "none": "k += 1 if {} is None else 2", "pair": "k = (k + {}[0] * 3) % 1009", "bool": "k += 3 if {} else 1", "others": "k += 1 if {} else 2"}


class _Generator:
    def __init__(self, r: random.Random):
        self.r = r
        self.key_kind = r.choice(list(KEYS)[:-1]) if r.random() < 0.94 else "others"
        self.kinds = {f"d{i}": r.choice(list(ITEMS)[:-1]) if r.random() < 0.94 else "others" for i in range(r.randint(1, 3))}
        self.sets = [f"s{i}" for i in range(r.randint(0, 2))]
        self.makes = {d: self.maker(kind) for d, kind in self.kinds.items()}

    def maker(self, kind: str) -> str:
        special = {"int": ["defaultdict(int)", "Counter()", "defaultdict(lambda: 7)"], "float": ["defaultdict(float)"]}.get(kind, [])
        return self.r.choice(["{}", "{}", "dict()", *special])

    def key(self) -> str:
        return self.r.choice(KEYS[self.key_kind])

    def item(self, d: str) -> str:
        return self.r.choice(ITEMS[self.kinds[d]])

    def use(self, d: str, what: str) -> str:
        return USES.get(self.kinds[d], "k = (k * 3 + int({})) % 1009").format(what)

    def condition(self) -> str:
        r, d = self.r, self.r.choice(list(self.kinds))
        return r.choice(["v % 3 == 0", "int(v) > 4", "i % 5 == 4", "k % 2 == 0", f"{self.key()} in {d}", f"{self.key()} not in {d}", f"len({d}) > {r.choice([3, 8])}",
                         f"{d}", *(f"{self.key()} in {s}" for s in self.sets), *(f"len({s}) % 3 == 1" for s in self.sets)])

    def inner(self, depth: int) -> list[str]:
        return ["    " + line for line in self.statement(depth + 1)]

    def statement(self, depth: int) -> list[str]:
        r, d = self.r, self.r.choice(list(self.kinds))
        kind, other = r.random(), OTHERWISE[self.kinds[d]]
        if kind < 0.22:
            return [f"{d}[{self.key()}] = {self.item(d)}"]
        if kind < 0.3 and self.kinds[d] in ("int", "numpy", "float", "mixed"):
            key = self.key()
            return [f"{d}[{key}] += {self.item(d)}" if self.makes[d] not in ("{}", "dict()") else f"{d}[{key}] = {d}.get({key}, 0) + {self.item(d)}"]
        if kind < 0.4:
            key = self.key()
            return [self.use(d, r.choice([f"{d}.get({key}, {other})", f"look({d}, {key}, {other})", f"{d}.setdefault({key}, {self.item(d)})"]))]
        if kind < 0.46:
            key = self.key()
            return [f"if {key} in {d}:", "    " + self.use(d, f"{d}[{key}]"), *self.inner(depth)]
        if kind < 0.53 and self.sets:
            return [f"{r.choice(self.sets)}.add({self.key()})"]
        if kind < 0.67 and depth < 2:
            return [f"if {self.condition()}:", *self.inner(depth), *(["else:", *self.inner(depth)] if r.random() < 0.4 else [])]
        if kind < 0.75 and depth < 2:
            walk = r.choice([(f"for q in {d}:", f"{d}[q]"), (f"for q, u in {d}.items():", "u"), (f"for u in {d}.values():", "u"), (f"for q in list({d}):", f"{d}[q]")])
            sets = [f"    {d}[q] = {self.item(d)}"] if "q" in walk[0] and r.random() < 0.3 else []
            return ["if i % 6 == 5:", f"    {walk[0]}", "        " + self.use(d, walk[1]), *("    " + line for line in sets), *(["        if k % 5 == 0: break"] if r.random() < 0.2 else [])]
        if kind < 0.79 and depth < 2:
            return [f"for j in range({r.choice(['2', '3', 'min(i, 4)'])}):", *self.inner(depth)]
        if kind < 0.82 and self.key_kind == "int":
            return ["m = int(v)", f"while m in {d}: m += 1", f"{d}[m] = {self.item(d)}"]
        if kind < 0.9:
            return [self.rare(d)]
        return [r.choice(["k += 1", f"k += len({d}) % 5", "s += v * 0.25", "if i == 37: break", f"put({d}, {self.key()}, {self.item(d)})"])]

    def rare(self, d: str) -> str:
        r = self.r
        other = r.choice(list(self.kinds))
        alike = other != d and self.kinds[other] == self.kinds[d] and self.makes[other] == self.makes[d]
        return r.choice([f"if {self.condition()}: {d}.clear()", f"{d} = {self.makes[d]}", f"if {self.condition()}: {d} = {self.makes[d]}",
                         f"{d}, {other} = {other}, {d}" if alike else f"k += {self.key()} in {d}", f"if {self.condition()}: {d}.pop({self.key()}, None)",
                         *(f"{s} = set()" for s in self.sets), *(f"{s}.discard({self.key()})" for s in self.sets), f"k += sum(1 for q in {d}) % 3",
                         f"if k % 7 == 6: k += 1 if {d}[{self.key()}] else 2"])

    def loop(self) -> list[str]:
        body = ["v = x[i]"]
        for _ in range(self.r.randint(1, 4)):
            body += self.statement(0)
            if self.r.random() < 0.1:
                body.append(f"if {self.condition()}: continue")
        return ["for i in range(n):", *("    " + line for line in body)]


def program(r: random.Random) -> Program:
    g = _Generator(r)
    lines = ["s, k, w, v, i = 0.0, 0, x * 0.5, 0, 0"]
    for d, make in g.makes.items():
        begin = r.choice(["{0: 1}", "{1: 0, 2: 3}", "{int(x[0]) if n else 0: 5}"]) if g.kinds[d] == "int" and g.key_kind in ("int", "both") and r.random() < 0.3 else make
        lines.append(f"{d} = {begin}")
        g.makes[d] = make if begin == make else "{}"
    for s in g.sets:
        lines.append(f"{s} = " + (r.choice(["{0}", "{3, 1, 8}", "set(x.tolist())"]) if g.key_kind == "int" and r.random() < 0.3 else "set()"))
    if r.random() < 0.1:
        lines.append(f"{next(iter(g.kinds))} = dict(zip(x.tolist(), range(n)))")
    for _ in range(r.randint(1, 2)):
        lines += g.loop()
    some = next(iter(g.kinds))
    lines += [f"k += len({d})" for d in g.kinds] + ([f"a = list({some}.values())"] if r.random() < 0.2 and g.kinds[some] not in ("pair", "others") else ["a = 0"])
    # Tuples of numbers that are kept are equal to what has been put there, and others: of one dict, each is there once.
    tuples = "pair" in g.key_kind
    whole = [d for d in g.kinds if g.kinds[d] not in ("pair", "others")]
    names = ["s", "k", *(["a", *whole, *g.sets, *(f"list({d})" for d in g.kinds)] if not tuples else r.sample([*whole, *g.sets, "a"], 1))]
    source = HEAD + "\ndef f(x, n):\n" + "".join(f"    {line}\n" for line in [*lines, "return " + ", ".join(r.sample(names, min(len(names), r.randint(2, 5))))])
    calls = tuple(f"n = {n}\nx = np.random.default_rng({r.randrange(50)}).integers({low}, {high}, n)\narguments = (x, n)"
                  for n, low, high in zip(r.sample([70, 1, 90, 3, 71, 70, 2, 0], r.randint(2, 4)), (0, -9, 0, 5), (9, 30, 3, 90), strict=False))
    return Program(source, calls, ("x",))
