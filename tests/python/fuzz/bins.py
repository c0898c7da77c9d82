"""Lists in lists and in dicts, of lengths that data decides: bins, groups, adjacency. They grow, shrink, are walked, sorted, replaced and
known by several names, in loops, in branches and in loops inside; some leave.
"""

from __future__ import annotations

import random

from fuzz.program import Program

HEAD = """
from collections import defaultdict

def put(row, v):
    row.append(v)
    return len(row)
"""
ITEMS = {
    "int": ["i", "k % 100", "int(v)", "int(v) % 7", "-3", "j"],
    "numpy": ["v", "x[i // 2]", "v % 3"],
    "float": ["i * 0.5", "float(v)", "1.5", "s"],
    "mixed": ["v", "i", "0.5 * k", "float(v)"],
    "pair": ["(i, k % 50)", "(int(v), j)", "(k % 9, i)"],
    "weighted": ["(i, v * 0.5)", "(int(v), 1.5)", "(j, i * 0.25)"],
    "bool": ["v > 2", "True", "i % 2 == 0"],
    "name": ["'a' if v > 2 else 'b'", "'a'", "'b'"],
}
USES = {
    "pair": "k = (k + {0}[0] * 3 + {0}[1]) % 1009",
    "weighted": "s += {0}[0] * {0}[1]",
    "bool": "k += 3 if {0} else 1",
    "name": "k += 3 if {0} == 'a' else 1",
    "float": "s += {0} * 0.25",
    "mixed": "s += {0} * 0.125",
}
PLACES = ["int(v) % m", "i % m", "k % m", "(i * 7 + 3) % m", "j % m", "-1 - i % m", "0"]
KEYS = ["int(v) % 5", "int(v)", "i % 4", "k % 7", "(i % 3, int(v) % 2)"]


class _Generator:
    def __init__(self, r: random.Random):
        self.r = r
        self.outers = {}  # name: (what it is, the kind of items)
        for number in range(r.randint(1, 2)):
            what = r.choice(["list", "list", "list", "dict", "default", "groups", "records"])
            self.outers[f"{what[0]}{number}"] = (what, r.choice(list(ITEMS)))
        self.key = r.choice(KEYS)

    def records(self, name: str) -> list[str]:
        """Lists of three numbers, or a name among them, that come and go."""
        r, third = self.r, self.r.choice(["v * 0.5", "v", "'a' if v > 2 else 'b'", "i"])
        last = f"{name}[{r.choice(['-1', '-1', '0', f'k % len({name})'])}]"
        return r.choice([[f"{name}.append([i, int(v) * 0.5, {third}])"], [f"{name}.append([i, int(v) * 0.5, {third}])"], [f"{name}.append([k % 9, v, {third}])"],
                         [f"while {name} and {name}[-1][1] < v: k += {name}.pop()[0]"], [f"if {name}: {last}[0] += {r.choice(['1', 'k % 5', '0.5'])}"],
                         [f"if {name}: {last}[1] = {r.choice(['s', 'v', 'i'])}"], [f"if len({name}) > 4: k += {name}.pop(0)[0]"], [f"for q, u, w in {name}:", "    k = int(k * 3 + q + u) % 1009"],
                         [f"if {name}:", f"    p = {last}", "    p[0] = i", "    s += p[1]"], [f"if {name}: k += len({last}) + ({last}[2] == 'a')"],
                         [f"if {name} and v > 5: {last}.append(1)"] if r.random() < 0.2 else [f"if {name}: s += {last}[k % 2]"], [f"if {name}: {last} = [1, 2.0, {third}]"] if r.random() < 0.3 else ["k += 1"]])

    def row(self, name: str) -> str:
        what = self.outers[name][0]
        if what == "groups":
            return f"c{name}"
        return f"{name}[{self.r.choice(PLACES) if what == 'list' else self.key}]"

    def item(self, name: str) -> str:
        return self.r.choice(ITEMS[self.outers[name][1]])

    def use(self, name: str, what: str) -> str:
        return USES.get(self.outers[name][1], "k = (k * 3 + int({0})) % 1009").format(what)

    def condition(self, row: str) -> str:
        return self.r.choice(["v % 3 == 0", "int(v) > 4", "i % 5 == 4", "k % 2 == 0", f"len({row}) > {self.r.choice([1, 3, 6])}", f"{row}", f"not {row}"])

    def inner(self, name: str, depth: int) -> list[str]:
        return ["    " + line for line in self.statement(name, depth + 1)]

    def safe(self, name: str, lines: list[str]) -> list[str]:
        """What stands for a key is asked for where the key is."""
        return [f"if {self.key} in {name}:", *("    " + line for line in lines)] if self.outers[name][0] == "dict" else lines

    def statement(self, name: str, depth: int = 0) -> list[str]:
        r = self.r
        what, kind = self.outers[name]
        if what == "records":
            return self.records(name)
        row, item, choice = self.row(name), self.item(name), r.random()
        if choice < 0.25:
            if what == "dict":
                return r.choice([[f"{name}.setdefault({self.key}, []).append({item})"], [f"if {self.key} not in {name}: {name}[{self.key}] = []", f"{row}.append({item})"],
                                 [f"if {self.key} in {name}: {row}.append({item})", f"else: {name}[{self.key}] = [{item}]"]])
            return r.choice([[f"{row}.append({item})"], [f"k += put({row}, {item})"], [f"{row} += [{item}, {item}]"], [f"{row}.extend([{item}])"]])
        if choice < 0.32 and what == "groups":
            end = [f"    {name}.append({row})", f"    {row} = {r.choice(['[]', f'[{item}]'])}"]
            return [f"if {self.condition(row)}:", *end]
        if choice < 0.4:
            return self.safe(name, [f"if len({row}) > {r.randint(0, 3)}: " + self.use(name, r.choice([f"{row}.pop()", f"{row}.pop(0)", f"{row}[-1]", f"{row}[len({row}) // 2]"]))])
        if choice < 0.46:
            return self.safe(name, [f"if len({row}) > 1: {row}[{r.choice(['0', '-1', '1', f'k % len({row})'])}] = {item}"])
        if choice < 0.58 and depth < 2:
            walk = f"for u in {r.choice([row, row, f'reversed({row})', f'list({row})'])}:"
            inside = r.choice([[], [], [f"    if len({row}) < 90: {self.row(name)}.append({item})"] if what == "list" and r.random() < 0.3 else [], ["    if k % 5 == 0: break"], ["    j += 1"]])
            return self.safe(name, [walk, "    " + self.use(name, "u"), *inside])
        if choice < 0.7 and what == "list":
            other = r.choice(["", f"q = {self.row(name)}", f"q = p if len(p) > 2 else {self.row(name)}"])
            if r.random() < 0.6:
                return r.choice(self.names(name, row, item))
            return [f"p = {row}", *([other] if other else []), f"p.append({item})", *([f"q.append({item})", "k += len(q)"] if other else []), "k += len(p)"]
        if choice < 0.76 and depth < 2:
            return self.safe(name, [f"if {self.condition(row)}:", *self.inner(name, depth), *(["else:", *self.inner(name, depth)] if r.random() < 0.4 else [])])
        if choice < 0.8 and depth < 2:
            return [f"for j in range({r.choice(['2', '3', 'min(i, 4)'])}):", *self.inner(name, depth)]
        if choice < 0.86:
            return [r.choice(["k += 1", "s += v * 0.25", "if i == 37: break", "j = i % 3"])]
        return self.safe(name, [self.rare(name, row, item)])

    def names(self, name: str, row: str, item: str) -> list[list[str]]:
        """What a name stands for whose place another list takes, in this turn or in one before; of one list or of another."""
        r = self.r
        same = [other for other, (what, kind) in self.outers.items() if what == "list" and kind == self.outers[name][1]]
        made = r.choice([f"[{item}]", "[]", f"[{item}, {item}]"])
        return [[f"p = {row}", f"{row} = {made}", f"p.append({item})", f"k += len(p) * 3 + len({row})"],
                ["k += len(p) * 3", f"if i % 4 == 1: p = {row}", f"if i % 4 == 3: {row} = {made}"],
                [f"p.append({item})", f"p = {row}", f"if {self.condition('p')}: {self.row(name)} = {made}"],
                [f"p = {row} if {self.condition(row)} else {self.row(r.choice(same))}", f"p.append({item})", f"k += len({row})"],
                [f"p = {row}", "for u in p:", f"    if len(p) > {r.choice(['6', '9', 'i'])}: break", f"    p.append({item})", "    k += 1"]]

    def rare(self, name: str, row: str, item: str) -> str:
        r = self.r
        what, kind = self.outers[name]
        numbers = kind in ("int", "numpy", "float")
        other = self.row(name)
        return r.choice([f"k += len({row})", f"if {self.condition(row)}: {row}.clear()", f"{row}.reverse()", f"if len({row}) < 9: {row}.insert({r.choice(['0', '-1', '2'])}, {item})",
                         f"if len({row}) < 40: {row}.extend({other})" if what == "list" else f"{row}.extend([{item}])", f"k += {item} in {row}", *([f"{row}.sort()", f"k += len(sorted({row})[:2])"] if kind not in ("mixed", "bool") else []),
                         *([f"s += sum({row}) * 0.5", f"s += max({row}, default=1) - min({row}, default=2)", f"k += np.array({row}).size"] if numbers else []),
                         f"{row} = []", f"{row} = [{item}]", f"if {self.condition(row)}: {row} = [{item}, {item}]", f"k += len({row}[1:]) + len({row}.copy())", f"a = {row}[:]",
                         *([f"if len({row}) > len(b): b = {row}", f"k += len(b) + (b[0] == b[-1] if b else 2); b = {row}"] * 2 if what == "list" else []), *([f"{name}.append([{item}])", f"m = min(m + 1, 90); {name}.append([])"] if what == "list" else [])])

    def loop(self) -> list[str]:
        body = ["v = x[i]"]
        for _ in range(self.r.randint(1, 4)):
            body += self.statement(self.r.choice(list(self.outers)))
            if self.r.random() < 0.08:
                body.append("if v % 7 == 6: continue")
        return ["for i in range(n):", *("    " + line for line in body)]

    def begin(self, name: str) -> list[str]:
        r = self.r
        what, _ = self.outers[name]
        item = self.item(name).replace("s", "1.0") if self.outers[name][1] == "float" else self.item(name)
        if what == "groups":
            return [f"{name}, c{name} = [], []"]
        if what == "records":
            return [f"{name} = []"]
        if what != "list":
            return [f"{name} = " + ("{}" if what == "dict" else "defaultdict(list)")]
        return r.choice([[f"{name} = [[] for _ in range(m)]"], [f"{name} = []", "for _ in range(m):", f"    {name}.append([])"], [f"{name} = [[{item}] for i in range(m)]"],
                         [f"{name} = [[{item} for i in range(j % 4)] for j in range(m)]"], [f"{name} = [[], [], []]", "m = 3"], [f"{name} = [[i for i in range(m) if x[(i * j) % len(x)] > 3] for j in range(m)] if n else [[]] * m"]])


def program(r: random.Random) -> Program:
    g = _Generator(r)
    m = r.choice(["70", "66", "5", "n // 3 + 1", "3"])
    lines = [f"s, k, v, i, j, m, a, b, p = 0.0, 0, 0, 0, 0, {m}, 0, [], []"]
    for name in g.outers:
        lines += g.begin(name)
    for _ in range(r.randint(1, 2)):
        lines += g.loop()
    for name, (what, _) in g.outers.items():
        rows = f"{name}.values()" if what in ("dict", "default") else name
        lines += [f"k += len({name})"] if what == "records" else r.choice([[f"for row in {rows}:", "    k += len(row)", "    for u in row:", "        " + g.use(name, "u")], [f"k += len({name})"], [f"a = [len(row) for row in {rows}]"],
                           [f"a = max(len(row) for row in {rows}) if {name} else 0"]])
    # Tuples in what leaves are equal to those of Python, not the same.
    leaving = [name for name, (what, kind) in g.outers.items() if kind not in ("pair", "weighted") or what == "records"]
    names = r.sample(["s", "k", "a", "m", *leaving, *leaving, "len(b)"], r.randint(2, 4))
    source = HEAD + "\ndef f(x, n):\n" + "".join(f"    {line}\n" for line in [*lines, "return " + ", ".join(names)])
    calls = tuple(f"n = {n}\nx = np.random.default_rng({r.randrange(50)}).integers({low}, {high}, n)\narguments = (x, n)"
                  for n, low, high in zip(r.sample([70, 1, 90, 3, 71, 200, 2, 0], r.randint(2, 4)), (0, -9, 0, 5), (9, 30, 3, 90), strict=False))
    return Program(source, calls, ("x",))
