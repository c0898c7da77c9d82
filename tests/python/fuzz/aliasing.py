"""Array programs whose arguments share memory: views of views, writes in place, parts saved, overwritten and restored.

All arguments of a call lie in `memory`, with margins that nothing may touch. The calls of a program differ in how the
arguments overlap: the same array, reversed, transposed, shifted, strided, adjacent, windows that overlap themselves, strides
of zero, frozen. A third of the programs is focused: a few statements over arrays that meet in one way, and calls that differ
in nothing but that.
"""

from __future__ import annotations

import random
import re

import numpy as np

from fuzz.draft import Draft, filled, working
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


# Of focused programs. {t}: what is written; {q}: what is read; {u}, {v}: new names; others: see FOCUS_PARTS. {f}, {g}: a way to look at an array;
# {one}, {other}: as many elements in other places
FOCUS_PARTS = {
    "t": ["x", "x", "y"], "q": ["x", "y", "y", "z"], "o": ["+", "-", "*", "+"], "r": ["z", "y", "z", "x"], "n": ["k", "1", "2", "7"], "i": ["0", "1", "2", "-1"], "s": ["1:", ":-1", "::2", "1::2", ":3", "2:", "::-1", "-3:", "::3", "1:4"],
    "f": [".T", ".T", "[::-1].T", ".T[::-1]", ".swapaxes(0, 1)", "[:, ::-1]", ".transpose(1, 0)", "[::-1]", ""], "g": ["[None]", ".T", ".reshape(-1)", "[..., None]", ".T", "[:, None]", "", ".swapaxes(0, -1)"],
    "c": [".ravel()", ".flatten()", ".reshape(-1)", ".T.ravel()", "[::2].ravel()", "[::-1].ravel()", ".T.reshape(-1)", "[::2].flatten()", ".ravel()[::2].ravel()", ".T.flatten()", "[1:].reshape(-1)", ".copy()", "[::-1].reshape(-1).ravel()"],
}
# Words that are chosen together
FOCUS_PAIRS = {
    ("left", "right"): [("[:-1]", "[1:]"), ("[1:]", "[:-1]"), ("[:2]", "[1:3]"), ("[::2]", "[::2]"), ("[2:]", "[:-2]"), ("[0]", "[1]"), ("[1:3]", "[:2]"), ("[:-2]", "[2:]")],
    ("one", "other"): [(":3", ":6:2"), (":6:2", ":3"), ("1:4", "1:7:2"), ("1:7:2", "1:4"), (":2", ":4:3"), ("::2", ":3"), (":2", ":4:2"), ("2:0:-1", "2:4")],
}
# Name: statements, ranks, whether the arguments are apart in the first calls
FOCI = {
    "met later": (["x[...] = y + z", "x {o}= y", "x[...] = y {o} z", "x[1:] = y[:-1] {o} z[1:]", "x {o}= y {o} z", "x[...] = z[::-1]; x += y", "np.add(y, z, out=x)", "y[...] = x {o} z", "x[:-1] {o}= y[1:]; y[0] = z[0]", "{u} = y + z; x[...] = y; {u} += z",
                   "x[...] = {n}; {u} = y + z", "z[...] = x {o} y", "x[1:] {o}= {n}; {u} = y * 1 + z", "{u} = x {o} y; x {o}= z", "z[::2] = x[::2]; {u} = y + x"], [1, 1, 2], True),
    "shared": (["{t} {o}= {n}", "{t}[...] = {q} {o} {n}", "{t} {o}= {q}", "{t}[1:] {o}= {q}[:-1]", "x[...] = {n}; y[...] = {n}", "x {o}= {n}; y {o}= {n}", "x[1:] {o}= {n}; y[:-1] {o}= {n}", "{u} = {q} {o} {q}", "x[...] = y; y[...] = {n}", "x[...] = y {o} {n}; y[...] = x {o} {n}",
                "{t}[{s}] = {n}", "{t}[::-1] {o}= {q}", "np.add({q}, {n}, out={t})", "{u} = {q}.copy(); {t} {o}= {n}", "{u} = {q}.sum()"], [1, 1, 2, 2], False),
    "turned": (["{t}[...] = {t}{f}", "{t} {o}= {t}{f}", "{u} = {t}[:3, :3]; {u} {o}= {u}{f}", "{u} = {t}[:3, :3]; {u}[...] = {u}{f} {o} {n}", "{u} = {t}[:2, :2]; {u}[...] = {u}{f}", "np.add({t}, {t}{f}, out={t})", "{u} = x * 1; {u} {o}= {u}{f}", "{u} = {t}[1:3, 1:3]; {u}{f}[...] = {u} {o} {u}.T",
                "{t}{f}[...] = {t}{f}", "{u} = np.zeros((3, 3)) + {t}[:3, :3]; {u}[...] = {u}{f}; {u} {o}= {u}{f}", "{t}[:2, :2] = {t}[:2, :2]{f}", "{t}[:3, :3] {o}= {t}[:3, :3]{f}", "{t} {o}= {t}{f}{f}", "{u} = {t}[:2, :2]; {t}[:2, :2] = {n}; {u} = {u}{f} * 1"], [2], False),
    "steps": (["{u} = {t}[{s}]{g}; {u}[{s}] {o}= {n}", "{u} = {t}[{s}]{g}[{s}]; {u}[...] = {t}[{s}].sum()", "{t}[{s}]{g}[{s}] = {n}; {u} = {t}[{s}] * 1", "{u} = {t}[{s}][{s}]; {t}[{s}] {o}= {n}; {u} = {u} + 0", "{u} = {t}[{s}]{f}[{s}]; {t}[{i}] = {n}; {u} = {u} {o} 1",
               "{u} = {t}[{s}]{f}; {u}[{s}] = {n}; {u} = {t}[{s}]{f}[{s}] + 0", "{u} = {t}{f}[{s}]{f}; {u}[{s}] {o}= {u}[{s}]", "{t}[{s}]{f}[{s}] {o}= {t}[{s}]{f}[{s}]", "{u} = {t}[{s}]{f}[{s}]; {u}[...] = {n}; {t}[{i}] {o}= {n}", "{t}[{s}]{f}[{i}] = {t}[{s}]{f}[{i}] {o} {n}",
               "{u} = {t}[{s}]{f}[{s}].copy(); {t}[{s}]{f}[{s}] = {n}; {t}[{s}]{f}[{i}] = {u}[0]", "{t}[{s}] {o}= {n}; {t}[{s}] {o}= {n}", "{t}[{i}] {o}= {n}; {t}[{i}] {o}= {t}[{i}]"], [1, 2, 2], False),
    "once computed": (["w = {q} {o} {r}; {t}{left} = w{left}; {t}{right} = w{right} {o} {r}{right}", "w = {q}{left} {o} {r}{left}; {t}{left} = w; {t}{right} = w", "w = {r}{left} {o} {q}{left}; {t}{left} = w; {t}{right} = w {o} {r}{right}", "w = {r}{left} {o} {q}{left}; {t}{left} = w; {t}{right} = w {o} {r}{left}",
                       "w = {r}{right} {o} {n}; {t}{left} {o}= w; {t}{right} = w {o} {q}{left}", "{t}{left} {o}= {q}{right}; {t}{right} = {t}{left} {o} {n}", "w = {q} {o} {r}; {t}[...] = w; {r}[...] = w {o} {q}", "w = {q}{left} {o} {n}; {t}{right} = w; {t}{left} = w {o} {r}{left}",
                       "{t}{left} = {q}{left} {o} {r}{left}; {t}{right} = {t}{left} {o} {q}{left}; {u} = {t} + 0", "w = {r}{right} {o} {q}{right}; {t}{left} = w; {t}{right} = w {o} {q}{right}"], [1, 1, 2], True),
    "reshaped": (["{t}.reshape({t}.shape[::-1])[...] = {q}.T", "{u} = {t}.reshape({t}.shape[::-1]); {u}[...] = {q}.T {o} {r}.T; {u} = {t} {o} {n}", "{u} = {t}.reshape(-1); {u}[{s}] = {n}; {t} {o}= {q}", "{t}.reshape({t}.shape[::-1])[...] {o}= {q}.T; {t} {o}= {n}", "{t}.reshape(-1)[...] = {q}.T.reshape(-1)",
                  "{u} = {t}.reshape({t}.shape[::-1]).T; {u} {o}= {q}; {t} {o}= {r}", "{t}.reshape({t}.shape[::-1])[{s}] = {q}.T[{s}]; {u} = {t} * 1", "{u} = {t}.ravel(); {u}[...] = {q}.T.ravel(); {u} = {t} {o} {u}.reshape({t}.shape)"], [2], True),
    "copies": (["{u} = {t}{c}; {t}[...] = {n}", "{u} = {t}{c}; {u}[...] = {n}", "{u} = {t}{c}; {t} {o}= {n}; {u} = {u} + 1", "{u} = {t}{c}; {u} {o}= {n}", "{u} = {t}{c}; {t}[{s}] = {n}", "{u} = {t}{c}; {u}[{s}] {o}= {n}; {t} {o}= {n}", "{u} = {t}[{s}]{c}; {t}[{i}] = {n}", "{u} = {t}[{s}]{c}; {u}[{i}] = {n}",
                "{u} = {t}{c}; {u} {o}= {u}[::-1]", "{t}{c}[{s}] = {n}"], [1, 1, 2], False),
    "paces": (["{t}[{one}] = {n}; {u} = {t}[{other}] * 1", "{t}[{one}] {o}= {n}; {t}[{other}] {o}= {t}[{one}]", "{t}[{one}] = {q}[{other}]; {u} = {t}[{other}] {o} {n}", "{u} = {t}[{one}] {o} {n}; {t}[{one}] = {u}; {t}[{other}] = {u}",
               "{t}[::2]{f}[1:2] = {n}; {u} = {t}[2:3] * 1", "{t}[::3][1:] = {n}; {u} = {t}[3:4] {o} {t}[1:2]", "{t}[1::2][1:] {o}= {n}; {u} = {t}[3:] * 1; {t}[1] = {n}", "{u} = {t}[{one}]; {t}[{other}] = {n}; {u} = {u} {o} 1"], [1, 1, 2], False),
    "tiles": (["{t}.T[:2, :3] = {q}[:2, :3]; {u} = {t}[:2, :3] * 1", "{t}[:2, :3] = {n}; {u} = {t}.T[:2, :3] {o} {n}", "{t}[:2, :3] {o}= {t}.T[:2, :3]", "{u} = {t}[1:, :2]; {t}.T[1:, :2] = {n}; {u} = {u} {o} {n}", "{t}.T[1:, :2] = {q}[1:, :2]; {t}[1:, :2] {o}= {n}",
               "{t}[:3, :2] = {q}[:3, :2]; {t}.T[:3, :2] = {q}[:3, :2]; {u} = {t} {o} {n}", "{t}.swapaxes(0, 1)[:2] = {n}; {u} = {t}[:2] * 1"], [2], False),
    "twice": (["{u} = x + k; {v} = x + k", "{u} = x * y; {v} = x * y; {u}[...] = {n}", "{u} = -{t}; {v} = {u} * 1; {v} {o}= {n}", "{u} = x[1:] - y[:-1]; {v} = x[1:] - y[:-1]; {v} += {u}", "{u} = {v} = x {o} y", "{u} = x + y; {v} = {u}; {v} {o}= {n}",
               "{u} = x.copy(); {v} = x.copy()", "{u} = np.zeros_like(x); {v} = np.zeros_like(x)", "{u} = {t} {o} 1; {v} = {u}[...]; {u} = {u} + 0", "{u} = x * 2; {v} = x * 2; x[...] = {u}"], [1, 1, 2], False),
    "read-only": (["{t} {o}= {n}", "{t}[...] = {q} {o} {n}", "{t}[1:] = {n}", "try:\n    {t} {o}= {n}\nexcept ValueError:\n    {u} = {n}", "try:\n    {t}[::2] = {n}\nexcept ValueError as error:\n    {u} = str(error)",
                   "{u} = np.broadcast_to({q}, (2, *{q}.shape))\ntry:\n    {u}[0] = {n}\nexcept ValueError:\n    {u} = {n}", "{u} = np.broadcast_to({q} {o} {n}, (2, *{q}.shape))\ntry:\n    {u} {o}= {n}\nexcept ValueError:\n    {u} = {u} + 1",
                   "np.add({t}, {n}, out={t})", "{t}[{i}] = {n}"], [1, 1, 2], False),
}
# Steps of x and of y along their axes, in elements, for sizes n and m
STEPS = {1: [("1", "1"), ("2", "2"), ("2", "4"), ("2", "6"), ("2", "2"), ("4", "2"), ("-1", "-1"), ("1", "-1"), ("2", "-2"), ("3", "3"), ("4", "4"), ("1", "2")],
         2: [("{m}, 1", "{m}, 1"), ("2 * {m}, 1", "2 * {m}, 1"), ("2 * {m}, 1", "4 * {m}, 1"), ("{m} + 2, 1", "{m} + 2, 1"), ("2 * {m}, 2", "2 * {m}, 2"), ("{m} + 2, 1", "{m} + 3, 1"), ("2 * {m}, 1", "2 * {m}, 2"), ("1, {n}", "1, {n}"), ("{m}, 1", "1, {n}")]}


class _Focused:
    def __init__(self, r: random.Random):
        self.r = r
        self.focus = r.choice(list(FOCI))
        self.statements, ranks, self.apart = FOCI[self.focus]
        self.rank, self.dtype = r.choice(ranks), r.choice(["f8", "f8", "i8", "f4", "i2"])
        self.steps = r.sample(STEPS[self.rank], 2)
        self.sizes = r.choice([(3, 3), (4, 4), (5, 3), (3, 5), (8, 8), (2, 2)])

    def fill(self, form: str) -> str:
        if self.r.random() < 0.7:   # most often one array is written
            form = form.replace("{t}", self.r.choice("xxy"))
        for words, pairs in FOCUS_PAIRS.items():
            for word, part in zip(words, self.r.choice(pairs)):
                form = form.replace(f"{{{word}}}", part)
        names = {word: self.draft.new("t") for word in "uv"}
        return filled(form, lambda word: names.get(word) or self.r.choice(FOCUS_PARTS[word]))

    def suite(self, apart: bool, freezes: bool) -> str:
        r = self.r
        n, m = self.sizes if r.random() < 0.8 else r.choice([(4, 4), (3, 5), (6, 6), (9, 2)])
        size, shape = (n, f"({n},)") if self.rank == 1 else (n * m, f"({n}, {m})")
        room = 8 * size + 40   # what the widest steps reach
        steps = [f"({text.format(n=n, m=m)},)" for text in r.choice(self.steps)]
        shift = r.choice([0, 1, 1, 2, -1, -2, n, m, -m, size // 2])
        places = [2 * room, 2 * room + shift, 2 * room + r.choice([0, 1, -1, 4 * room])] if not apart else r.choice([[room, 3 * room, 5 * room], [3 * room, room, 5 * room], [5 * room, 3 * room, room]])
        if not apart and r.random() < 0.5:
            places[2] = 5 * room
        arrays = [f"{name} = window(memory, {place}, {shape}, {step})" for name, place, step in zip("xyz", places, [*steps, r.choice(steps)])]
        if freezes and self.focus == "read-only" and r.random() < 0.5:
            name = r.choice("xxyz")
            arrays.append(f"{name} = frozen({name})")
        return "\n".join([f"memory = ramp({7 * room}, {self.dtype!r})", *arrays, f"arguments = (x, y, z, {r.choice([1, 2, 3])})"])


def _focused(r: random.Random) -> Program:
    generator = _Focused(r)
    suites = [working(lambda: generator.suite(generator.apart and number < 2, number > 0)) for number in range(r.randint(4, 6))]
    draft = generator.draft = Draft(r, HEAD, suites[0], "x, y, z, k")
    for _ in range(r.randint(1, 2)):
        any(draft.try_statement(generator.fill(r.choice(generator.statements))) for _ in range(8))
    return _finished(r, draft, [suites[0], *suites, *r.sample(suites, 2)])


def program(r: random.Random) -> Program:
    if r.random() < 0.35:
        return _focused(r)
    generator = _Generator(r)
    first = working(lambda: generator.suite(small=True))
    draft = generator.draft = Draft(r, HEAD, first, "x, y, z, k")
    generator.body()
    suites = [first, *(working(lambda: generator.suite(small=r.random() < 0.4)) for _ in range(r.randint(2, 4)))]
    r.shuffle(suites)
    return _finished(r, draft, [suites[0], *suites, *r.sample(suites, 2)])


def _finished(r: random.Random, draft: Draft, suites: list[str]) -> Program:
    made = [name for name in draft.names() if name not in ("k", "w", "w1")]
    results = [name for name in made if r.random() < 0.7] or ["x"]
    if r.random() < 0.5:
        results.append(draft.place())
    lines = [line for statement in draft.lines for line in statement.split("\n")]
    source = HEAD + "\ndef f(x, y, z, k):\n" + "\n".join(f"    {line}" for line in lines) + f"\n    return {', '.join(results)},\n"
    if "np.copyto" in source:
        suites = [suite.replace("frozen(x)", "x") for suite in suites]
    return Program(source, tuple(suites), ("memory",))
