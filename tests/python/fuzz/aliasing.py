"""Array programs whose arguments share memory: views of views, writes in place, parts saved, overwritten and restored.

All arguments of a call lie in `memory`, with margins that nothing may touch. The calls of a program differ in how the
arguments overlap: the same array, reversed, transposed, shifted, strided, adjacent, windows that overlap themselves, strides
of zero, frozen.
"""

from __future__ import annotations

import random
import re

import numpy as np

from fuzz.draft import Draft, working
from fuzz.program import Program

TYPES = ["f8", "f8", "f8", "f4", "i8", "i4", "u1", "i2", "c16", "?", "f2"]
SIZES = [0, 1, 1, 2, 2, 3, 4, 5, 7, 8, 9, 12, 17, 33]

# What y and z may be, where x is of the rank and of the sizes n, (n, m), (n, m, l). MARGIN words lie before x in memory.
ANY = ["x", "x", "x[::-1]", "x[...]", "x.copy()", "frozen(x)", "x[::-1].copy()", "x[:1]", "x[-1:]", "x[:0]", "memory[{s}:{s} + 1]",
       "memory[{s} + 1:{s} + 2].reshape(())", "x[1:]", "x[:-1]", "x[::2]"]
OVERLAPS = {
    1: ["memory[{s} + {d}:{s} + {d} + {n}]", "memory[{s} - {d}:{s} - {d} + {n}]", "memory[{s}:{s} + 2 * {n}:2]", "window(memory, {s} + {n} + {d}, ({n},), (-1,))",
        "window(memory, {s} + {d}, ({n},), (0,))", "memory[{s} + {n}:{s} + 2 * {n}]", "memory[{s} + {d}:{s} + {d} + 2 * {n}:2]", "ramp({n} + {d}, {t})",
        "memory[{s} + 2 * {n}:{s}:-2]", "window(memory, {s}, ({n}, {n}), (1, 1))", "x[:, None]", "np.broadcast_to(x, (2, {n}))", "memory"],
    2: ["x.T", "x.T", "x[:, ::-1]", "x[::-1, ::-1]", "memory[{s} + {d}:{s} + {d} + {n} * {m}].reshape({n}, {m})", "x[0]", "x[:, 0]", "x[-1]", "x[:, -1]",
        "window(memory, {s}, ({n}, {m}), (1, 1))", "window(memory, {s}, ({n}, {m}), (0, 1))", "window(memory, {s}, ({n}, {m}), (1, {n}))", "x[1:]", "x[:, 1:]",
        "ramp({n} * {m}, {t}).reshape({n}, {m})", "np.asfortranarray(x)", "x.T.copy().T", "x.reshape(-1)", "window(memory, {s}, ({m},), (1,))",
        "memory[{s} + {d}:{s} + {d} + {m}]", "x.T[::-1]", "memory[{s} + {m}:{s} + {m} + {n} * {m}].reshape({n}, {m})", "x[:, :1]", "x[:1, ::-1]"],
    3: ["x.transpose(2, 1, 0)", "x.swapaxes(0, 1)", "x[0]", "x[:, 0]", "x[..., 0]", "x[..., ::-1]", "x[:, ::-1]",
        "memory[{s} + {d}:{s} + {d} + {n} * {m} * {l}].reshape({n}, {m}, {l})", "x[-1]", "x.reshape(-1)", "window(memory, {s}, ({n}, {m}, {l}), (1, 1, 1))",
        "x[:1]", "x[1:]", "window(memory, {s}, ({m}, {l}), ({l}, 1))"],
}
FIRST = {1: ["memory[{s}:{s} + {n}]"] * 4 + ["memory[{s}:{s} + 2 * {n}:2]", "memory[{s}:{s} + {n}][::-1]", "window(memory, {s}, ({n},), (0,))"],
         2: ["memory[{s}:{s} + {n} * {m}].reshape({n}, {m})"] * 5 + ["memory[{s}:{s} + {n} * {m}].reshape({m}, {n}).T", "window(memory, {s}, ({n}, {m}), (1, 1))",
             "memory[{s}:{s} + 2 * {n} * {m}].reshape({n}, 2 * {m})[:, ::2]", "memory[{s}:{s} + {n} * {m}].reshape({n}, {m})[::-1]"],
         3: ["memory[{s}:{s} + {n} * {m} * {l}].reshape({n}, {m}, {l})"] * 3 + ["memory[{s}:{s} + {n} * {m} * {l}].reshape({n}, {m}, {l}).transpose(1, 0, 2)"]}
HEAD = """
def put(a, b):
    a[...] = b
    return a

def exchange(a, b):
    t = a.copy()
    a[...] = b
    b[...] = t

class Box:
    __qualname__ = '<locals>.Box'
    def __init__(self, a):
        self.a = a
    def shift(self, by):
        self.a[1:] = self.a[:-1]
        self.a[:1] = by
"""

OPERATORS = ["+=", "-=", "*=", "+=", "-="]
INTEGER_OPERATORS = ["//=", "^=", "|=", "&=", "<<=", "%="]
# {p}, {q}: places; {v}: a value; {u}: a new variable; {s}, {c}: subscripts. Masks of np.copyto have the target's shape, and
# programs that have one get no read-only arrays: whether NumPy looks at that depends on strides of axes of size 1
# (docs/differences.md).
WRITES = ["{p}[...] = {v}", "{p}[...] = {v}", "{p}[:] = {v}", "{p} {o} {v}", "{p} {o} {v}", "{p} {o} 1", "{p}[...] = {q}", "{p}[...] = {q}[::-1]", "{p} {o} {q}",
          "np.copyto({p}, {v})", "np.copyto({p}, {q})", "np.copyto({p}, {v}, where=np.broadcast_to({q} > k, {p}.shape))", "np.add({q}, {v}, out={p})", "np.multiply({q}, 2, {p})",
          "np.subtract({p}, {q}, out={p})", "np.negative({q}, out={p})", "np.maximum({p}, {q}, {q})", "{p}.fill(k)", "{p}.fill({q}.sum())",
          "{p}[{p} > k] = {n}", "{p}[{p} > k] {o} 1", "{p}[{q} > 1] = {n}", "np.clip({v}, 0, 3, out={p})", "{q}.sum(axis=0, out={p})",
          "np.add.reduce({q}, axis=-1, out={p})", "put({p}, {v})", "put({p}, {q})", "{u} = put({p}, {q}[::-1])", "exchange({p}, {q})",
          "{p}.flat[0] = k", "{p}.sort()", "np.cumsum({p}, out={p})", "np.add({p}, 1, out={p}, where={q} > 0)", "{p}[[0, -1]] = {p}[[-1, 0]]",
          "np.put({p}, 0, k)", "{p}[np.arange(len({p}))[::-1]] = {q}", "{p}[...], {q}[...] = {q}, {p}", "{p}[...], {q}[...] = {q}, {p}.copy()",
          "{p}[...], {q}[...] = {q} + 1, {p} - 1", "{p}[...] = {q} = {v}", "Box({p}).shift({n})", "{u} = Box({p}); {u}.a[...] = {v}; {u}.a += {q}",
          "{u} = [{p}, {q}]; {u}[0][...] = {u}[1]", "{u} = {p}, {q}; {u}[1][...] = {u}[0]", "{p}[...] = {p} + {p}[::-1]", "{p}[1:] = {p}[:-1]", "{p}[:-1] {o} {p}[1:]",
          # masks over the target itself, at a shift
          "np.copyto({p}[1:], {q}[1:], where=np.broadcast_to({p}[:-1] > k, {p}[1:].shape))", "{p}[1:][{p}[:-1] > k] = {n}", "{p}[:-1][{p}[1:] > 1] {o} 1", "np.add({p}[:-1], 1, out={p}[1:], where={p}[1:] > 0)",
          "{p}[::-1][{p} > k] = {n}", "{p}[1:-1] = [{p}[2], *{p}[1:-2]]", "{p}[:2] = {p}[1], {q}[0]",
          "{p}[0], {p}[-1] = {p}[-1], {p}[0]", "{p}[0], {p}[-1] = {p}[-1].copy(), {p}[0].copy()", "{p}[::2] = {p}[1::2]", "{p}.T[...] = {q}.T", "{p}[...] = {q}.T"]
MAKES = ["{u} = {p}", "{u} = {p}", "{u} = {p}", "{u} = {v}", "{u} = {v}", "{u} = {p}.copy()", "{u} = {p} + {q}", "{u} = {p}.sum(axis=0)", "{u} = {p}.sum()",
         "{u} = np.where({p} > k, {p}, {q})", "{u} = {p} * 2 - {q}", "{u} = {p}.max()", "{u} = np.concatenate([{p}, {q}])", "{u} = np.stack([{p}, {p}])",
         "{u} = {p}.astype('f8')", "{u} = np.array({p})", "{u} = np.asarray({p})", "{u} = {p}.astype({p}.dtype, copy=False)", "{u} = np.zeros_like({p}); {u}[...] = {v}",
         "{u} = np.ascontiguousarray({p})", "{u} = np.ravel({p})", "{u} = {p}.flatten()", "{u} = np.broadcast_to({p}, (2, *{p}.shape))", "x, y = y, x", "{u} = {p}.reshape(-1, 1)",
         "{u} = float({p}.sum())", "{u} = {p}.tolist()", "{u} = {p}[0]", "{u} = np.empty_like({p}); {u}[...] = {q}", "{u} = np.roll({p}, 1)", "{u} = {p}.any()"]
SAVES = ["{p}.copy()", "{p}.copy()", "{p}.copy()", "np.array({p})", "{p} + 0", "{p} * 1", "{p}[...]", "np.ascontiguousarray({p})", "{p}.astype({p}.dtype)", "+{p}", "list({p})"]
RESTORES = ["{p}[...] = {u}", "{p}[...] = {u}", "{p}[:] = {u}", "np.copyto({p}, {u})", "{p}[...] = {u}[::-1]", "{p}[1:] = {u}[1:]", "{p}[:1] = {u}[:1]", "{p}[...] = {u} + 0", "{p}[::2] = {u}[::2]",
            "put({p}, {u})", "{p}[::-1] = {u}[::-1]", "np.add({u}, 0, out={p})"]
VALUES = ["{p}", "{p}", "{p}.copy()", "{p} + 1", "{p} - {q}", "{p} * 2", "{p} + {q}", "-{p}", "{n}", "{n}", "{p}.sum(0)", "{p}.sum()", "{p}.T", "{p}[::-1]", "{p} + {q}[::-1]",
          "np.maximum({p}, {q})", "np.where({p} > {q}, {p}, {q})", "{p}.max()", "np.abs({p})", "({p} + {q}) * {q}", "{p}[0]", "{p}.copy()[::-1]", "{p} * k", "{p} - {p}.min()",
          "({p} > k)", "np.roll({p}, 1)", "{p}.mean()", "np.minimum({p}, k)"]


class _Generator:
    def __init__(self, r: random.Random):
        self.r = r
        self.rank = r.choice([1, 1, 1, 2, 2, 2, 3])
        self.dtype = r.choice(TYPES)
        self.integer = np.dtype(self.dtype).kind in "iu"

    def suite(self, small: bool) -> str:
        """Statements that make the arguments of a call."""
        r, rank = self.r, self.rank
        pick = lambda: r.choice([2, 3, 4, 5]) if small else r.choice(SIZES) if rank == 1 else r.choice([0, 1, 1, 2, 2, 3, 3, 4, 5, 9])
        n, m, l = pick(), pick(), pick()
        if r.random() < 0.4:
            m = n   # square: transposes overlap in full
        if not small and rank == 1 and r.random() < 0.05:
            n = r.choice([100, 1000])
        size = {1: n, 2: n * m, 3: n * m * l}[rank]
        dtype = self.dtype if small or r.random() < 0.93 else r.choice(TYPES)
        start = r.choice([4, 4, 5, 8]) + (n if n < 100 else 0)
        words = dict(n=n, m=m, l=l, s=start, d=r.choice([0, 1, 1, 2, 3]), t=repr(dtype))
        other = lambda: r.choice(OVERLAPS[rank] + ANY).format(**words)
        x = r.choice(FIRST[rank][:1] if small else FIRST[rank]).format(**words)
        lines = [f"memory = ramp({start + 3 * size + 3 * n + m + 12}, {dtype!r})", f"x = {x}", f"y = {other()}"]
        k = r.choice(["1", "2", "3", "2", "0"] if self.integer or small else ["1", "2", "0.5", "-1", "0", "np.float32(2)", "True"])
        lines.append(f"arguments = (x, y, {r.choice(['x', 'y', other(), other()])}, {k})")
        return "\n".join(lines)

    def fill(self, form: str, place: str | None = None) -> str:
        draft, r = self.draft, self.r
        parts = {"v": lambda: r.choice(VALUES), "p": lambda: place or draft.place(), "q": draft.place, "u": None, "n": lambda: r.choice(["0", "1", "7", "k", "{q}[0]"]),
                 "o": lambda: r.choice(INTEGER_OPERATORS if self.integer and r.random() < 0.2 else OPERATORS)}
        for key in "vnpqo":
            if key in "p" and "{p}" in form and r.random() < 0.8:   # most often all of one form mean one place
                form = form.replace("{p}", parts["p"]())
            while f"{{{key}}}" in form:
                form = form.replace(f"{{{key}}}", parts[key](), 1)
                place = None if key != "v" else place
        while any(f"{{{key}}}" in form for key in "npq"):
            return self.fill(form)
        return form.replace("{u}", draft.new("t")) if "{u}" in form else form

    def one(self, forms: list[str]) -> bool:
        return any(self.draft.try_statement(self.fill(self.r.choice(forms))) for _ in range(8))

    def save(self) -> None:
        """Something is saved, something is written, something is put back."""
        place, name = self.draft.place(), self.draft.new("s")
        if not self.draft.try_statement(f"{name} = {self.r.choice(SAVES).replace('{p}', place)}"):
            return
        for _ in range(self.r.choice([1, 1, 2, 3])):
            self.one(WRITES)
        for _ in range(4):
            to = place if self.r.random() < 0.85 else self.draft.place()
            if self.draft.try_statement(self.r.choice(RESTORES).replace("{p}", to).replace("{u}", name)):
                return

    def compound(self) -> None:
        draft, r = self.draft, self.r
        over = draft.place()
        head = r.choice(["for w in {}:", "for w in {}:", "for i in range({n}):", "for i in range(len({})):", "if k > 1:", "if {}[0] > k:", "if {}.sum() > 0:", "while k < {n}:",
                         "for i, w in enumerate({}):", "for w in ({}, {q}):", "for w, w1 in zip({}, {q}):", "for i in range(1, len({})):"])
        head = head.replace("{}", over).replace("{n}", r.choice(["2", "3", "5"])).replace("{q}", draft.place())
        bound = [name for name in ("w", "w1", "i") if name in re.split(r"\W+", head.split(" in ")[0])]
        first = draft.value(f"{over}[0]")
        if first is None:
            return
        draft.scope.update({name: 1 if name == "i" else first for name in bound})
        body = [self.fill(r.choice(WRITES + MAKES[:6])) for _ in range(r.choice([1, 1, 2, 3]))]
        if "i" in bound and r.random() < 0.7:
            body.append(self.fill(r.choice(["x[i] {o} {n}", "x[i] = y[i]", "x[i] = x[i - 1] + y[i]", "{p}[i] = {v}", "{p}[i] {o} {q}[-i]", "{p}[i:] {o} 1", "y[:i] = x[:i]", "x[i] = x[-i]"])))
        if "while" in head:
            body.append("k += 1")
        draft.again()
        draft.try_statement("\n    ".join([head, *body]))

    def body(self) -> None:
        for _ in range(self.r.randint(2, 6)):
            chance = self.r.random()
            if chance < 0.25:
                self.save()
            elif chance < 0.62:
                self.one(WRITES)
            elif chance < 0.85:
                self.one(MAKES)
            else:
                self.compound()


def program(r: random.Random) -> Program:
    generator = _Generator(r)
    first = working(lambda: generator.suite(small=True))
    draft = generator.draft = Draft(r, HEAD, first, "x, y, z, k")
    generator.body()
    made = [name for name in draft.names() if name not in ("k", "w", "w1")]
    results = [name for name in made if r.random() < 0.7] or ["x"]
    if r.random() < 0.5:
        results.append(draft.place())
    lines = [line for statement in draft.lines for line in statement.split("\n")]
    source = HEAD + "\ndef f(x, y, z, k):\n" + "\n".join(f"    {line}" for line in lines) + f"\n    return {', '.join(results)},\n"
    suites = [first, *(working(lambda: generator.suite(small=r.random() < 0.4)) for _ in range(r.randint(2, 4)))]
    if "np.copyto" in source:
        suites = [suite.replace("frozen(x)", "x") for suite in suites]
    r.shuffle(suites)
    return Program(source, tuple([suites[0], *suites, *r.sample(suites, 2)]), ("memory",))
