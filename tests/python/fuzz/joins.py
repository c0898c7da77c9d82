"""Names that are one array or another after branches on array data, in turns of loops that are unrolled and of others; the arrays
are written through those names, views, tuples, lists and attributes, before and behind the branches.
"""

from __future__ import annotations

import random

from fuzz.program import Program

NAMES = ["a", "b", "c", "d"]
PLACES = ["0", "i % 3", ":2", "...", "::-1"]


def _statement(r: random.Random, depth: int) -> list[str]:
    x, y, z = (r.choice(NAMES) for _ in range(3))
    forms = {
        f"{x} = {y}": 4, f"{x} = {y} + {z}": 2, f"{x}[{r.choice(PLACES)}] = {y}[1] * 0.5 + i": 3, f"{x} += {y}": 1, f"{x}, {y} = {y}, {x}": 1, f"t = ({x}, {y}); {z} = t[{r.choice('01')}]": 1, f"{x} = {y}[:]": 1,
        f"h = [{x}]; {y} = h[0]": 1, f"o.x = {x}": 1, f"{x} = o.x": 1, f"{x} = {y} * 1.5": 1, f"{x}[i % 3] = np.sort({y})[0]": 1,
    }
    if depth < 2 and r.random() < 0.25:
        arms = [["    " + line for _ in range(r.randint(1, 3)) for line in _statement(r, depth + 1)] for _ in range(2)]
        limit = r.choice(["0", "3", "-3", f"{y}.sum()", f"np.linalg.norm({y})"])
        return [f"if {x}.sum() > {limit}:", *arms[0], "else:", *arms[1]]
    return [r.choices(list(forms), list(forms.values()))[0]]


def program(r: random.Random) -> Program:
    body = [line for _ in range(r.randint(2, 5)) for line in _statement(r, 0)]
    head = r.choice(["for i in range(3):", "for i in range(n):", "for i in range(4):", "if True:"])
    result = r.choice(["a", "b, c", "None", "a.sum(), d.sum()", "o.x", "c is a, d is b, c"])
    lines = ["i = 0", "c = a + b", f"d = {r.choice(['a', 'b', 'c', 'a * 2'])}", "o.x = d", head, *("    " + line for line in body), f"return {result}"]
    source = "\nclass O:\n    pass\no = O()\n\ndef f(a, b, n):\n" + "".join(f"    {line}\n" for line in lines)
    dtype = r.choice(["f8", "f8", "f4", "i8"])

    def call() -> str:
        second = r.choice(["b", "b", "b", "a", "a[::-1]"])
        return f"rng = np.random.default_rng({r.randrange(99)})\na, b = [(rng.standard_normal(4) * 2).astype({dtype!r}) for _ in '12']\narguments = (a, {second}, {r.choice([1, 3, 9])})"

    return Program(source, tuple(call() for _ in range(r.randint(2, 3))), ("a", "b", "o.x", "o.x is a", "o.x is b"))
