"""Lists and deques that are worked off: stacks, queues and heaps of numbers and tuples, in loops that data ends; what is popped is computed
with, pushed again, compared, used as an index, handed to other lists. Some items are of other kinds; some pops find nothing.
"""

from __future__ import annotations

import random

from fuzz.program import Program

HEAD = """
import bisect
import heapq
from collections import deque
"""
#: by what an item is: a number of Python's, one of NumPy's, a tuple, nested
ITEMS = {
    "int": ["i", "k", "i + 1", "k % 7", "len({l})", "int(v * 10)", "0"],
    "float": ["float(v)", "s", "0.5", "s * 0.5", "float(i)", "-s"],
    "numpy": ["v", "x[k % n]", "v * 2", "z[k % n]", "v - s"],
    "pair": ["(i, k)", "(k % 5, i)", "(v, i)", "(float(v), k)", "(k, v)", "(i % 3, float(v))"],
    "nested": ["(v, (i, k))", "(float(k % 4), (k % 3, i))", "(s, (i, i))"],
    "mixed": ["i", "v", "float(v)", "k", "0.0", "z[k % n]"],
    "others": ["i", "'a'", "(i, k)", "None", "True", "v", "[i]", "x[:2]"],
}
USES = {
    "int": ["k = abs(q) % n", "s += x[q % n]", "z[q % n] += 1", "k += q", "s = s * 0.5 + q"],
    "pair": ["e, w = q\n{i}s += float(e) * 0.5\n{i}k = (k + int(w * 3)) % n", "k = (k + int(q[1])) % n", "s += float(q[0])", "k += 1 if q < (1, 2) else 0", "k += q == (1, 1)", "last = q"],
    "nested": ["d, (e, w) = q\n{i}s += float(d)\n{i}k = (e + w) % n", "k = (k + q[1][0]) % n", "k += q[1] == (1, 1)"],
}
NUMBERS = ["s += float(q)", "s = float(q) * 0.5 + v", "k = int(abs(q) * 3) % n", "z[k % n] = q", "k += 1 if q > 0.5 else 0", "last = q", "s = max(s, float(q))"]
CONDITIONS = ["v > 0.5", "k % 2 == 0", "len({l}) < 6", "s > 1.0", "x[k % n] < 0.4", "{l} and v > 0.3", "len({l}) % 3 == 1", "i % 3 == 0", "t % 2"]
SIMPLE = ["k += 1", "s += v", "s *= 0.5", "z[t % n] += v", "k = (k * 5 + 1) % n"]


class _Generator:
    def __init__(self, r: random.Random):
        self.r = r
        self.kinds = {"a": r.choice(list(ITEMS)[:-1]) if r.random() < 0.95 else "others"}
        self.heap = r.random() < 0.35
        if r.random() < 0.5:
            self.kinds["b"] = r.choice([self.kinds["a"], *ITEMS][:-1])
        self.deque = not self.heap and r.random() < 0.35

    def item(self, l: str) -> str:
        return self.r.choice(ITEMS[self.kinds[l]]).format(l=l)

    def push(self, l: str) -> str:
        return f"heapq.heappush({l}, {self.item(l)})" if self.heap and l == "a" else f"{l}.append({self.item(l)})"

    def pop(self, l: str) -> str:
        if self.heap and l == "a":
            return self.r.choice([f"heapq.heappop({l})"] * 4 + [f"heapq.heappushpop({l}, {self.item(l)})", f"heapq.heapreplace({l}, {self.item(l)})"])
        if self.deque and l == "a":
            return self.r.choice([f"{l}.pop()", f"{l}.popleft()", f"{l}.popleft()"])
        return self.r.choice([f"{l}.pop()"] * 5 + [f"{l}.pop(0)", f"{l}.pop(-1)"])

    def statement(self, depth: int, indent: str, popped: bool) -> list[str]:
        r, kind = self.r, self.r.random()
        l = r.choice(list(self.kinds))
        if kind < 0.3:
            return [self.push(l)]
        if kind < 0.4:
            guard = [f"if {l}:"] if r.random() < 0.9 else []
            pad = "    " if guard else ""
            return [*guard, f"{pad}q = {self.pop(l)}", *(f"{pad}{self.use(self.kinds[l], indent + pad)}" for _ in range(1))]
        if kind < 0.65 and depth < 2:
            lines = [f"if {r.choice(CONDITIONS).format(l=l)}:", *self.inner(depth, indent, popped)]
            return lines + (["else:", *self.inner(depth, indent, popped)] if r.random() < 0.4 else [])
        if kind < 0.72 and depth < 2:
            return [f"for j in {r.choice(['range(2)', 'range(3)', 'range(k % 3)', '(1, -1)', '((1, 0), (0, 1))'])}:", *self.inner(depth, indent, popped)]
        if kind < 0.8 and not (self.heap and l == "a"):
            return [r.choice([f"if {l}: {l}[-1] = {self.item(l)}", f"if len({l}) > 2: {l}.clear()", f"if {l}: last = {l}[0]", f"for w in {l}: k += 1", f"if {l}: {l}[len({l}) // 2] = {l}[0]", *self.rare(l)])]
        if popped and kind < 0.95:
            return [self.use(self.kinds["a"], indent)]
        return [r.choice(SIMPLE) if kind < 0.97 else "if s > 30: break"]

    def rare(self, l: str) -> list[str]:
        item = self.item(l)
        if self.deque and l == "a":
            return [f"{l}.appendleft({item})", f"{l}.appendleft({item})", f"if len({l}) > 1: k += {l}[-1] == {l}[0]"]
        return [f"{l}.insert({self.r.choice(['0', 'k', '-1', f'len({l}) // 2'])}, {item})", f"if len({l}) > 3: del {l}[{self.r.choice(['0', '-1', '1', 'k % 3'])}]", f"if {l}: {l}.remove({l}[-1])",
                f"k += {l}.count({item})", f"{l}.reverse()", f"if len({l}) < 20: {l}.sort({self.r.choice(['', 'reverse=True'])})", f"if {l}: last = sorted({l})[0]", f"if {l}: k += {l}.index({l}[0])", f"if {l}: {l}.pop(len({l}) // 2)"]

    def use(self, kind: str, indent: str) -> str:
        return self.r.choice(USES.get(kind, []) + (NUMBERS if kind not in ("pair", "nested", "others") else ["last = q"])).format(i=indent)

    def inner(self, depth: int, indent: str, popped: bool) -> list[str]:
        return ["    " + line for line in self.statement(depth + 1, indent + "    ", popped)]

    def loop(self) -> list[str]:
        r = self.r
        until = r.random() < 0.65
        body = ["t += 1", "if t > limit: break", "i = t % n", "v = x[t % n]", f"q = {self.pop('a')}"] if until else ["v = x[i]", "t += 1"]
        for _ in range(r.randint(1, 4)):
            body += self.statement(0, "        ", until)
            if r.random() < 0.1:
                body.append(f"if {r.choice(CONDITIONS).format(l='a')}: continue")
        return [r.choice(["while a:", "while len(a) > 0:", "while a and t < limit:"]) if until else "for i in range(n):", *("    " + line for line in body)]


def program(r: random.Random) -> Program:
    g = _Generator(r)
    lines = ["s, k, t, q, last, z, v, i = 0.0, 0, 0, 0, None, x * 0.5, 0.5, 0"]
    for l, kind in g.kinds.items():
        begin = "" if r.random() < 0.4 else ", ".join(r.choice(ITEMS[kind]).format(l="x") for _ in range(r.randint(1, 3)))
        most = f", maxlen={r.randint(3, 9)}" if r.random() < 0.3 else ""
        lines.append(f"{l} = deque([{begin}]{most})" if g.deque and l == "a" else f"{l} = [{begin}]")
    if g.heap:
        lines.append("heapq.heapify(a)")
    for _ in range(r.randint(1, 3)):
        lines += g.loop() if r.random() < 0.85 else [g.push("a")]
    if "b" in g.kinds and not g.deque and r.random() < 0.3:
        lines += ["t = 0", "while b and t < limit:", "    t += 1", "    new = []", "    for q in b:", "        s = s * 0.5 + 1.0", f"        if {r.choice(['t % 3 < 2', 'x[t % n] > 0.4', 's < 1.5'])}:", f"            new.append({r.choice(['q', g.item('b').replace('v', 's')])})", "    b = new"]
    if r.random() < 0.1:
        lines.append("k += bisect.bisect(sorted(x.tolist()), s)")
    names = ["s", "k", "t", "z", "len(a)", *([] if g.deque else ["a"]), *(["b"] if "b" in g.kinds else []), *(["last"] if r.random() < 0.3 else [])]
    source = HEAD + "\ndef f(x, n, limit):\n" + "".join(f"    {line}\n" for line in [*lines, "return " + ", ".join(r.sample(names, r.randint(2, len(names))))])
    calls = tuple(f"n = {n}\nx = np.random.default_rng({r.randrange(50)}).random(n)\narguments = (x, n, {limit})"
                  for n, limit in zip(r.sample([70, 1, 90, 3, 71, 70, 2, 66], r.randint(2, 4)), (200, 5, 1000, 50), strict=False))
    return Program(source, calls, ("x",))
