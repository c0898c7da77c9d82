"""State machines: loops over numbers that change what variables, attributes, items of tuples and counters by name are - strings, None, members of enums, objects - and ask
what they are now: compare them, look them up in tables, read what they hold, call with them.
"""

from __future__ import annotations

import random

from fuzz.program import Program

HEAD = """
import enum
from collections import defaultdict

class Mode(enum.Enum):
    IDLE = 0
    RUN = 1
    STOP = 2

class Kind:
    def __init__(self, name, rate): self.name, self.rate = name, rate
    def scaled(self, v): return self.rate * v

class Box:
    def __init__(self, s): self.s, self.count = s, 0
    def set(self, s):
        if self.s != s: self.count += 1
        self.s = s

SLOW, FAST, DEAD = Kind("slow", 0.5), Kind("fast", 2.0), Kind("dead", 0)
TABLE = {{{table}}}
NEXT = {{{follow}}}
PAIRS = {{({a}, True): 1, ({b}, False): 2}}

def chosen(v, k):
    if v > 0.6: return {a}
    if k % 3 == 0: return {b}
    return {c}

def is_first(s): return s == {a}
def up(v): return v * 2
def down(v): return v - 1
"""
FAMILIES = [("'idle'", "'run'", "'stop'"), ("None", "'run'", "'stop'"), ("Mode.IDLE", "Mode.RUN", "Mode.STOP"), ("SLOW", "FAST", "DEAD"), ("None", "SLOW", "FAST"), ("''", "'a'", "'b'"), ("True", "False", "None"),
            ("None", "Mode.RUN", "'x'"), ("'a'", "...", "b'a'"), ("Kind", "Box", "None"), ("'idle'", "'idle' + str(1)", "'run'"), ("1", "'one'", "None"), ("3", "None", "'a'"), ("np.float64", "np.float32", "None")]
VARIABLES = ["s", "s", "s", "t", "box.s", "pair[0]"]
TESTS = ["best is None", "best is not None and best[1] > 3", "prev", "key is None or i > key[1]", "{l} == {c}", "{l} == {c}", "{l} != {c}", "{l} is {n}", "{l} is not {n}", "{l} in ({c}, {d})", "{l} not in ({c},)", "{l}", "not {l}", "{l} == {m}", "{l} is {m}", "{l} != {m}", "v > 0.5", "v < 0.2", "k % 3 == 1", "is_first({l})", "{l} == k", "{l} == v"]
SIMPLE = ["{l} = {c}", "{l} = {c}", "{l} = {m}", "{l} = chosen(v, k)", "{l} = NEXT[{l}]", "{l} = NEXT.get({l})", "k += 1", "n += TABLE[{l}]", "n += TABLE.get({l}, 0)", "counts[{l}] += 1", "counts[{l}] = v", "s, t = t, s", "box.set({m})", "pair = ({m}, k)", "pair = (pair[0], i)", "{l} = {c} if v > 0.4 else {m}",
          "{l} = {l} or {c}", "{l} = {l} and {c}", "n += v", "n += ({l} == {c}) * v", "n += {l}.rate", "n += {l}.scaled(v)", "k += {l}.value", "y[i % len(y)] = TABLE[{l}]", "box.s = {l}", "box.count += {l} == {m}", "k = len({l})", "{l} = {l} + 'x'", "seen.append(i)", "last = {l}", "n += v if {l} is {n} else -v",
          "side = left if {t} else right", "side.append(v)", "side.append(i)", "(left if {t} else right).append(v)", "groups[{l}].append(v)", "groups[{l}] = [v]", "k += len(groups[{l}])", "n += (up if {t} else down)(v)", "fn = up if {t} else down", "n += fn(v)", "k += isinstance({l}, str)", "k += len(str({l}))",
          "{l} = {l}.upper()", "k += {l}.startswith('i')", "made[{l}] += 1", "made[{l}] += v", "listed[{l}].append(i)", "box = other if {t} else box", "box, other = other, box", "k += len(side)", "side = (left, right)[k % 2]", "n += side[-1]", "side.pop()", "k += TABLE[{l}] > 0", "k += PAIRS.get(({l}, v > 0.5), 3)",
          "best = (v, i)", "best = None", "best = (v, i) if {t} else best", "best = (v, i) if best is None or v < best[0] else best", "n += best[0] if best is not None else 1", "best, prev = prev, best", "prev = best", "prev = ((i, 'x'), v) if {t} else None", "k += prev is not None and prev[1] > 0.5", "k += prev == best", "{l} = (v, k)", "k += {l} == (v, k)", "v, k = best",
          "best = ()", "k += len(best or ())", "k += not best", "first = best or (v, 0)", "{l} = best", "best = {l}", "a, b = prev", "n += max(best)", "best = (v, {l})", "best = (best, i)", "key = (int(v * 9), i)", "if key is None or (int(v * 9), i) < key: key = (int(v * 9), i)", "k += key and key[0]", "box.s = best", "seen.append(best is None)",
          "u = {l}", "box = Box({l})", "{l} = i", "{l} = v", "{l} = [{c}, {d}, {c}][k % 3]", "{l} = ({c}, {d})[int(v * 2)]", "{l} = y", "w.append({l})", "seen.append(({l}, i))"]
LEAVE = ["if {t}: return best", "if {t}: return best, {l}", "if {t}: return (v, i)", "if {t}: break", "if {t}: continue", "if {t}: return {l}, i", "if v > 0.98: raise ValueError(f'{{{l}}} {{k}}')"]
RESULTS = ["(s, t, n, k)", "(s, box.s, box.count, n)", "(pair, n, s)", "(counts, s)", "(y, s, t)", "{'s': s, 't': [t, s]}", "(s is t, s == t, n)", "str(s)", "(last, k, seen)", "box", "(type(s), n)", "(w, seen, s)", "[s, (t, pair)]", "(left, right, n)", "(left, side, groups)", "(dict(made), dict(listed), n)", "(box.s, other.s, box is other, groups)", "(side is left, left, k)", "(best, prev)", "[best, key, n]", "(best is None, prev, k, n)", "{'best': best}", "best"]


def program(r: random.Random) -> Program:
    family = r.choice(FAMILIES)

    def fill(text: str) -> str:
        while "{t}" in text:
            text = text.replace("{t}", fill(r.choice(TESTS)), 1)
        for name, options in (("{l}", VARIABLES), ("{m}", VARIABLES), ("{c}", family), ("{d}", family), ("{n}", ["None", "None", r.choice(family)])):
            while name in text:
                text = text.replace(name, r.choice(options), 1)
        return text

    def block(depth: int) -> list[str]:
        lines: list[str] = []
        for _ in range(r.randint(1, 3)):
            kind = r.random()
            if kind < 0.4 and depth < 3:
                lines += [f"if {fill(r.choice(TESTS))}{r.choice(['', '', ' and v > 0.3', ' or k % 4 == 2'])}:", *inner(depth)]
                while r.random() < 0.4:
                    lines += [f"elif {fill(r.choice(TESTS))}:", *inner(depth)]
                lines += ["else:", *inner(depth)] if r.random() < 0.4 else []
            elif kind < 0.46 and depth < 2:
                lines += [f"for j in range({r.choice(['3', 'i % 3', 'k % 5'])}):", *inner(depth + 1)]
            else:
                lines.append(fill(r.choice(LEAVE)) if kind > 0.96 else fill(r.choice(SIMPLE)))
        return lines

    def inner(depth: int) -> list[str]:
        return ["    " + line for line in block(depth + 1)]

    first = r.choice(family)
    lines = [f"s, t, n, k, last = {first}, {r.choice(family)}, 0.0, 0, None", f"box, pair = Box({r.choice(family)}), ({r.choice(family)}, 0)", "y, seen, w, u = np.zeros(5), [], [], None", f"counts = {{{', '.join(f'{c}: 0' for c in family)}}}",
             f"left, right, made, listed, fn, other = [], [], defaultdict(int), defaultdict(list), up, Box({first})", "side = left; best = prev = key = None", f"groups = {{{', '.join(f'{c}: []' for c in family)}}}"]
    if r.random() < 0.4:
        lines.append(f"if x.sum() > {r.choice(['0', '3', '40'])}: s = {r.choice(family)}")
    lines += [r.choice(["for i, v in enumerate(x):", "for i in range(len(x)):\n    v = x[i]", "i = -1\nwhile i + 1 < len(x):\n    i += 1\n    v = x[i]"])]
    lines += ["    " + line for line in block(0) + block(0)]
    lines += [fill(r.choice(SIMPLE)) for _ in range(r.randint(0, 2))] if r.random() < 0.5 else []
    text = "\n".join(lines).replace("\n", "\n    ")
    values = [r.choice(["1", "0.5", "3", "-2"]) for _ in family]
    head = HEAD.replace("{{{table}}}", "{" + ", ".join(f"{c}: {v}" for c, v in zip(family, values)) + "}").replace("{{{follow}}}", "{" + ", ".join(f"{c}: {r.choice(family)}" for c in family) + "}")
    head = head.replace("{{(", "{(").replace("2}}", "2}")
    for name, c in zip(("{a}", "{b}", "{c}"), family):
        head = head.replace(name, c)
    source = f"{head}\ndef f(x):\n    i, v = 0, 0.5\n    {text}\n    return {r.choice(RESULTS)}\n"
    calls = tuple(f"x = np.random.default_rng({r.randrange(50)}).random({n})\narguments = (x,)" for n in r.sample([70, 1, 0, 90, 3, 71, 2, 66], r.randint(2, 5)))
    return Program(source, calls, ("x",))
