"""Generators that loops walk and builtins consume: programs of other generators of programs, whose loops over ranges ask a generator for
their numbers, one that data decides about, yields at several places, returns early, walks others, or handles exceptions.
"""

from __future__ import annotations

import random
import re

from fuzz import keyed, stacks
from fuzz.program import Program

#: bodies of generators of numbers below n
BODIES = [
    "for i in range(n):\n    yield i",
    "i = 0\nwhile i < n:\n    if x[i] > {c}:\n        yield i\n    i += 1",
    "for i in range(n):\n    if x[i] < {c}:\n        yield i\n    elif i % 3 == 0:\n        yield n - 1 - i",
    "for a in range(3):\n    for i in range(a, n, 3):\n        if x[i] != {c}:\n            yield i",
    "for i in range(n):\n    if i > 5 and x[i] > {c}:\n        return\n    yield i\nyield 0",
    "last = x[0]\nfor i, v in enumerate(x):\n    if v >= last:\n        yield i\n    last = v",
    "i, t = 0, 0.5\nwhile True:\n    t = t * 0.9 + x[i] * 0.1\n    yield i\n    i += 1\n    if i >= n or t > {c} * 3:\n        break",
    "for i in range(n):\n    got = yield i\n    if got is None and x[i] > {c}:\n        yield i // 2",
    "for i in range(n):\n    for v in (x[i], x[n - 1 - i]):\n        if v > {c}:\n            yield i\n            break",
    "try:\n    for i in range(n):\n        yield i\nfinally:\n    x[0] = 0",
    "k = 0\nfor i in range(n - 1, -1, -1):\n    k += 1 if x[i] > {c} else 2\n    if k % 2:\n        yield i",
    "yield 0\nfor v in x:\n    if v > {c}:\n        yield int(v) % n",
]
#: generators of what another one yields
AROUND = [
    "for i in {w}(n, x):\n    if i % 2 == 0 or x[i] > {c}:\n        yield i",
    "for k, i in enumerate({w}(n, x)):\n    if k % 3 != 1:\n        yield i",
    "yield from {w}(n, x)",
    "for i in {w}(n, x):\n    yield i\n    if x[i] < {c}:\n        yield n - 1 - i",
]
ASKED = ["{w}(n, x)", "{w}(n, x)", "{w}(n, x)", "(i for i in {w}(n, x) if x[i] > {c})", "list({w}(n, x))"]
CONSUMED = ["k += sum({w}(n, x))", "k += len(list({w}(n, x)))", "k += max({w}(n, x), default=1)", "k += any(x[i] > {c} for i in {w}(n, x))", "s += sum(x[i] for i in {w}(n, x))", "k += next({w}(n, x), 0)", "k += min({w}(n, x), default=0)"]
NESTED = ["for i, _ in itertools.product(range(n), range(2)):", "for i, _ in itertools.combinations(range(min(n, 20)), 2):", "for i, _ in itertools.permutations(range(min(n, 12)), 2):",
          "for i, in np.ndindex(n):", "for i, _ in np.ndindex(n, 2):", "for (i,), _ in np.ndenumerate(x):", "for i, _ in enumerate(x.flat):", "for (i, _), _ in np.ndenumerate(x.reshape(-1, 1)):",
          "for _, (i, _) in enumerate(itertools.combinations_with_replacement(range(min(n, 20)), 2)):", "for i in (p for p, q in itertools.product(range(n), (0.5, 1.5)) if q > {c}):"]
LOOP = re.compile(r"^( +)for i in range\(n\):$", re.M)


def program(r: random.Random) -> Program:
    base = r.choice((stacks, keyed)).program(r)
    walks, definitions = [], []
    for number in range(r.randint(1, 3)):
        around = walks and r.random() < 0.4
        body = r.choice(AROUND if around else BODIES).replace("{w}", r.choice(walks) if around else "").replace("{c}", r.choice(["0.3", "0.6", "2"]))
        walks.append(f"walk_{number}")
        definitions.append(f"def {walks[-1]}(n, x):\n" + "".join(f"    {line}\n" for line in body.splitlines()))

    def filled(text: str) -> str:
        return text.replace("{w}", r.choice(walks)).replace("{c}", r.choice(["0.3", "0.6", "2"]))

    def asked(loop: re.Match) -> str:
        indent = loop.group(1)
        consumed = f"{indent}{filled(r.choice(CONSUMED))}\n" if r.random() < 0.25 else ""
        if r.random() < 0.2:
            return f"{consumed}{indent}{filled(r.choice(NESTED))}"
        if r.random() < 0.15:
            return f"{consumed}{indent}for _, i in enumerate({filled(r.choice(ASKED))}):"
        return f"{consumed}{indent}for i in {filled(r.choice(ASKED))}:"

    source = LOOP.sub(asked, base.source)
    return Program(source.replace("\ndef f(", "\nimport itertools\n" + "\n".join(definitions) + "\ndef f(", 1), base.calls, base.watch, tolerance=base.tolerance)
