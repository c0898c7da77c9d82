"""Expressions over every dtype, NumPy scalars of each, and Python scalars, with sizes 0 and 1 often and values at the edges.

The operations come from the table of what is compiled. A program is exact or has a tolerance: transcendental functions are
right to the last places only, so what they answer is neither compared nor rounded, cast to integers or counted on the way. The sign of a
NaN and the sign of a zero that `max` or `clip` picks are nobody's promise: what would show them is left out where they occur.

Many programs are focused: a few statements about one thing in which types differ, over the numbers where it shows.
"""

from __future__ import annotations

import functools
import random

import numpy as np

import fusewire
from fuzz.draft import Draft, filled, working
from fuzz.program import Program

FLOATS, COMPLEX = ["f2", "f4", "f8"], ["c8", "c16"]
INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
DTYPES = ["?"] * 2 + INTEGERS + FLOATS * 2 + COMPLEX
SHAPES = ["()", "(0,)", "(1,)", "(1,)", "(2,)", "(3,)", "(3,)", "(5,)", "(9,)", "(1, 3)", "(3, 1)", "(2, 3)", "(0, 3)", "(3, 0)", "(1, 1)", "(2, 1, 3)", "(17,)", "(40,)"]
PYTHON = ["0", "1", "2", "-1", "3", "True", "False", "0.0", "-0.0", "0.5", "2.0", "-1.5", "1e-8", "1e300", "float('nan')", "float('inf')", "1j", "2+0.5j", "127", "128", "255", "256", "-129",
          "2**31", "2**63", "2**70", "-2**63", "65504.0", "1e5", "10**18"]
SHOWS_SIGNS = {"copysign", "signbit", "angle", "arctan2", "divide", "reciprocal", "floor_divide", "remainder", "fmod", "power"}
PICKS_ZEROS = {"maximum", "minimum", "fmax", "fmin", "clip", "max", "min", "ptp", "sign"}
# Steep next to what a chain often answers (1): they get something else.
STEEP = {"log": "np.log(2 + abs({}))", "log2": "np.log2(2 + abs({}))", "log10": "np.log10(2 + abs({}))", "arccos": "np.arccos({} / 4)"}
ROUGH = {"expm1", "log1p", "sinh", "tan", "power", "angle"}   # differ more than the tolerance after a chain

REDUCTIONS = {"sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "mean", "var", "std", "count_nonzero", "ptp"}


def _functions(contract: str) -> dict[str, str]:
    """Operation: how NumPy calls it. Reductions are functions with handlers of their own, ufuncs are names of the op table."""
    rows = {row["name"]: row["numpy"].split("|") for row in fusewire._fusewire.ops() if row["contract"] == contract}
    named = {op: next((n for n in names if n.startswith("np.") and n.count(".") == 1), None) for op, names in rows.items()}
    ufuncs = {op: name for op, name in named.items() if name and isinstance(getattr(np, name[3:]), np.ufunc)}
    return ufuncs | {op: f"np.{op}" for op in rows if op in REDUCTIONS}


EXACT, APPROXIMATE = _functions("exact"), _functions("ulp")


def _arity(name: str) -> int:
    return getattr(getattr(np, name[3:]), "nin", 0)   # 0: a reduction


@functools.cache
def _kinds(name: str) -> set[str]:
    """Kinds of what integers give."""
    function = getattr(np, name[3:])
    try:
        with np.errstate(all="ignore"):
            return {np.asarray(function(*[np.ones(2, dtype)] * (_arity(name) or 1))).dtype.kind for dtype in ("i4", "u1")}
    except TypeError:
        return {"f"}


def _keeps_integers(name: str) -> bool:
    return _kinds(name) <= {"i", "u", "b"}


OPERATORS = {"add": "({} + {})", "subtract": "({} - {})", "multiply": "({} * {})", "divide": "({} / {})", "floor_divide": "({} // {})", "remainder": "({} % {})",
             "equal": "({} == {})", "not_equal": "({} != {})", "less": "({} < {})", "greater_equal": "({} >= {})", "bitwise_and": "({} & {})", "bitwise_or": "({} | {})",
             "bitwise_xor": "({} ^ {})", "left_shift": "({} << {})", "right_shift": "({} >> {})", "power": "({} ** {})"}
SIGNS = {"negative": "-{}", "positive": "+{}", "absolute": "abs({})", "invert": "~{}"}
VIEWS = ["{}[1:]", "{}[:1]", "{}[::-1]", "{}.T", "{}[0]", "{}[..., None]", "{}.reshape(-1)", "{}[:0]", "{}.real", "{}.imag", "{}.copy()", "{}[-1]", "np.atleast_1d({})", "{}[()]",
         "np.broadcast_to({}, (2, 3))", "{}.squeeze()"]


class _Generator:
    def __init__(self, r: random.Random):
        self.r = r
        self.exact = r.random() < 0.8
        self.signs = r.random() < 0.5   # what shows signs, or what picks zeros
        # Half of the programs are plain: arrays of one shape and a few types, operations one after the other, nothing that
        # Python or NumPy would have to do; what the operations compute is seen best there.
        self.plain = self.exact and r.random() < 0.5
        self.shape = r.choice(["(9,)", "(17,)", "(40,)", "(2, 3)", "(3, 1)", "(1,)"])
        whole = self.plain and r.random() < 0.5   # integers in and out: no zero has a sign
        self.dtypes = ["?"] + INTEGERS if whole else DTYPES if self.exact else FLOATS[1:] + ["f8", "i8", "i4"]
        leave = PICKS_ZEROS if self.signs else SHOWS_SIGNS
        fits = lambda op, name: _keeps_integers(name) if whole else op not in leave
        some = lambda table, arity: {op: name for op, name in table.items() if fits(op, name) and _arity(name) == arity}
        self.unary, self.binary, self.reductions = some(EXACT, 1), some(EXACT, 2), some(EXACT, 0)
        if not self.exact:
            keep = {"add", "subtract", "multiply", "negative", "square", "sqrt", "divide"}
            self.unary = {k: v for k, v in self.unary.items() if k in keep}
            self.binary = {k: v for k, v in self.binary.items() if k in keep}
            self.reductions = {}
            self.rough = {op: name for op, name in APPROXIMATE.items() if op not in ROUGH and op not in leave}
        # A few operations and types that meet again and again find more than all of them that never do.
        if r.random() < 0.7:
            self.dtypes = r.sample(sorted(set(self.dtypes)), r.randint(1, min(3, len(set(self.dtypes)))))
            self.unary, self.binary, self.reductions = (
                {op: table[op] for op in r.sample(sorted(table), min(len(table), r.randint(1, 4)))} for table in (self.unary, self.binary, self.reductions))

    def argument(self, dtype: str | None = None) -> str:
        r = self.r
        dtype = dtype or r.choice(self.dtypes)
        form = r.random()
        seed = r.randrange(100)
        maker = "edge" if self.exact and r.random() < 0.7 else "numbers"
        if self.plain:
            return f"{maker}({self.shape if form < 0.85 else '()'}, {dtype!r}, {seed})" + r.choice(["", "", "", "[::-1]"] if form < 0.85 else ["[()]"])
        if form < 0.15:
            return r.choice(PYTHON if self.exact else PYTHON[:14])
        if form < 0.35:
            return f"{maker}((), {dtype!r}, {seed})[()]"
        shape = r.choice(SHAPES)
        return f"{maker}({shape}, {dtype!r}, {seed})" + r.choice(["", "", "", "", "[::-1]", "[..., ::2]", ".T"] if shape != "()" else [""])

    def leaf(self) -> str:
        names = self.draft.names()
        chance = self.r.random()
        if self.plain:   # arguments first: of what comparisons answer little can be seen
            return self.r.choice([n for n in names if n.startswith("a")] or names) if chance < 0.6 else self.r.choice(names)
        if chance < 0.15:
            return self.r.choice(PYTHON if self.exact else PYTHON[:12])
        if chance < 0.2 and self.exact:
            dtype = np.dtype(self.r.choice(self.dtypes))
            return f"np.{dtype.type.__name__}({self.r.choice(['0', '1', '2', '0.5', '-1', '3'])})"
        return self.r.choice(names[-3:] + names)

    def pick(self, table: dict[str, str]) -> str:
        """Seldom what answers truth values."""
        return self.r.choices(list(table), [1 if _kinds(name) == {"b"} else 4 for name in table.values()])[0]

    def expression(self, depth: int) -> str:
        r = self.r
        if depth == 0:
            return self.leaf()
        chance = r.random()
        part = lambda: self.expression(depth - 1)
        if self.plain:   # no views, conversions and joins
            chance *= 0.7
        if not self.exact and chance < 0.4:
            name = r.choice(list(self.rough))
            if name in STEEP:
                return STEEP[name].format(part())
            return f"{self.rough[name]}({', '.join(part() for _ in range(_arity(self.rough[name])))})"
        if chance < 0.35:
            name = self.pick(self.binary)
            if name == "copysign":
                return f"np.copysign({part()}, np.nan_to_num({part()}))"
            return OPERATORS[name].format(part(), part()) if name in OPERATORS and r.random() < 0.6 else f"{self.binary[name]}({part()}, {part()})"
        if chance < 0.55:
            name = self.pick(self.unary)
            if name == "signbit":
                return f"np.signbit(np.nan_to_num({part()}))"
            return SIGNS[name].format(part()) if name in SIGNS and r.random() < 0.5 else f"{self.unary[name]}({part()})"
        if chance < 0.7 and self.exact:
            return self.reduction(part())
        if chance < 0.8:
            return r.choice(VIEWS).format(part())
        if chance < 0.9 and self.exact:
            return self.conversion(part)
        if chance < 0.95 and self.exact:
            return r.choice([f"np.where({part()} > 0, {part()}, {part()})", f"np.where({part()}, {part()}, {part()})", f"np.concatenate([{part()}, {part()}])",
                             f"np.full_like({part()}, {part()})", f"np.full(3, {part()})", f"np.array([{part()}, {part()}])", f"np.zeros(2) + {part()}"]
                            + ([] if self.signs else [f"np.clip({part()}, {part()}, {part()})", f"{part()}.clip(0, 2)", f"max({part()}, {part()})"]))
        return part()

    def reduction(self, of: str) -> str:
        r = self.r
        name = r.choice(list(self.reductions))
        extra = r.choice(["", "", "", ", axis=0", ", axis=-1", ", axis=0, keepdims=True", ", keepdims=True"])
        if name in ("sum", "prod", "mean") and r.random() < 0.25:
            extra += f", dtype={r.choice(DTYPES)!r}"
        if name in ("max", "min", "sum", "prod") and r.random() < 0.1:
            extra += ", initial=1"
        if name in ("var", "std") and r.random() < 0.3:
            extra += ", ddof=1"
        return f"{self.reductions[name]}({of}{extra})"

    def conversion(self, part) -> str:
        r = self.r
        dtype = r.choice(self.dtypes)
        return r.choice([f"{part()}.astype({dtype!r})", f"np.asarray({part()}, {dtype!r})", f"np.array({part()}, dtype={dtype!r})", f"np.{np.dtype(dtype).type.__name__}({part()})",
                         f"float({part()})", f"int({part()})", f"bool({part()})", f"complex({part()})", f"{part()}.item()", f"{part()}.tolist()",
                         f"np.add({part()}, {part()}, dtype={dtype!r})", f"np.multiply({part()}, {part()}, dtype={dtype!r}, casting='unsafe')", f"{part()}.astype({part()}.dtype)"])

    def statement(self) -> str:
        r = self.r
        names = self.draft.arrays()
        chance = r.random()
        if chance < 0.15 and names:
            name = r.choice(names)
            value = self.expression(r.choice([0, 1, 1, 2]))
            operator = r.choice(["+=", "-=", "*=", "//=", "&=", "|=", "<<="] + (["/=", "%=", "**="] if self.signs or not self.exact else []) if self.exact else ["+=", "-=", "*="])
            return r.choice([f"{name} {operator} {value}", f"{name}[...] = {value}", f"{name}[:1] = {value}", f"np.add({name}, {value}, out={name})",
                             f"np.copyto({name}, {value}, casting='unsafe')", f"{name}[1:] {operator} {value}", f"{name}[{name} == 0] = {value}"] if self.exact else [f"{name} {operator} {value}"])
        text = f"{self.draft.new('t')} = {self.expression(r.choice([1, 1, 2, 2, 3]))}"
        return f"if {self.leaf()}: pass\n{text}" if chance > 0.97 and self.exact else text


# Of focused programs. {a}: an argument; {u}: a new name; {g}, {h}, {i}: types; others: see FOCUS_PARTS
FOCUS_PARTS = {
    "a": ["a0", "a0", "a1"], "v": ["1e5", "-70000.0", "65504.0", "65520.0", "1e39", "1e300", "-1e39", "1e-8", "1e-46", "0.1", "1.0", "-0.0", "float('inf')", "float('nan')", "70000", "3.4e38"], "less": ["<", ">", "<=", ">=", "==", "!="], "o": ["+", "-", "*"], "g": INTEGERS + FLOATS + ["?"], "i": INTEGERS, "h": ["f2", "f4"], "w": ["//", "%"],
    "n": ["0", "1", "2", "-1", "300", "-200", "127", "128", "255", "256", "70000", "2**31", "2**31 - 1", "-2**31", "2**32", "2**63", "2**63 - 1", "-2**63"], "z": ["0", "0.0", "-0.0", "1", "1.0", "-1", "2", "False", "True"],
    "c": ["np.int8({k})", "np.int16({k})", "np.int32({k})", "np.int64({k})", "np.uint8({k})", "{k}", "np.int64({k})"], "k": ["0", "0", "-1", "1", "7", "-128", "-2**31", "3"], "f": ["300.0", "-1.0", "1e10", "2.5", "70000.0", "-129.0", "1e300", "0.5", "3e9", "127.9"],
    "s": ["", "", "1", "2", "-1", "-2", "3", "7", "8", "-4"], "t": ["2", "3", "2", "4", "-2", "-3", "5", "7", "-1", ""], "q": ["np.isinf", "np.isfinite", "np.isnan", "np.isinf", "np.abs", "np.square", "np.conjugate", "np.logical_not", "np.positive"],
    "r": ["sum", "prod", "mean", "max", "min", "any", "all", "argmax", "mean", "sum"], "ax": ["", "", "axis=0", "axis=-1", "keepdims=True"],
}
# Name: statements, types of the arguments, how they are made
FOCI = {
    "comparisons": (["{u} = a0 {less} a1", "{u} = a1 {less} a0", "{u} = np.where(a0 {less} a1, 1, 0)", "{u} = np.maximum(a0, a1)", "{u} = a0[0] {less} a1", "{u} = (a0 {less} a1).sum()", "{u} = a0 {less} a1[-1]", "{u} = np.equal(a0, a1)", "{u} = a0 {o} a1"],
                    [("u8", "i8"), ("i8", "u8"), ("u8", "i4"), ("u4", "i4"), ("i8", "f8"), ("u8", "f8"), ("i2", "u2"), ("i8", "i4"), ("i1", "u8")], ["near"]),
    "numbers of Python": (["{u} = a0 {less} {n}", "{u} = a0 {o} {n}", "{u} = {n} {o} a0", "{u} = np.maximum(a0, {n})", "{u} = a0 & {n}", "{u} = a0[0] {less} {n}", "{u} = {n} {less} a1", "a0 {o}= {n}", "{u} = np.where(a0 > 0, a0, {n})", "{u} = a0[0] {o} {n}", "a0[0] = {n}",
                           "{u} = np.full_like(a0, {n})", "{u} = a0 << {z}", "{u} = a0 / {n}"], [(i, i) for i in INTEGERS] + [("f4", "i1"), ("?", "u1")], ["edge", "numbers"]),
    "floats of Python": (["{u} = a0 {o} {v}", "{u} = {v} {o} a0", "{u} = a0 {less} {v}", "{u} = np.maximum(a0, {v})", "{u} = a0[0] {o} {v}", "a0 {o}= {v}", "a0[1:] = {v}", "{u} = np.where(a0 > 0, a0, {v})", "{u} = np.full_like(a0, {v})", "{u} = a0 / {v}", "{u} = a1 {o} {v}",
                          "{u} = np.add(a0, {v})", "{u} = a0[-1] {less} {v}", "{u} = a0 // {v}", "{u} = a0 {o} {v} {o} a1"], [("f2", "f4"), ("f4", "f2"), ("f2", "f2"), ("c8", "f4"), ("i4", "f2"), ("f8", "f4"), ("f2", "u1")], ["numbers", "tenths", "edge"]),
    "halves": (["{u} = a0 {o} a1", "{u} = a0.mean({ax})", "{u} = a0.sum({ax})", "{u} = a0.astype('f2')", "{u} = a1.astype('f2')", "{u} = (a0 {o} a1).astype('f2')", "{u} = a0.prod({ax})", "{u} = np.add(a0, a1, dtype='f2')", "{u} = a0 / a1", "{u} = np.float16(a1[-1])", "a0[...] = a1",
                "{u} = a0 {o} a1 {o} a0", "{u} = a0.mean()", "{u} = a0 {o} 0.1", "{u} = np.sqrt(np.abs(a0))", "{u} = a0.var()", "{u} = a0.astype('f4') {o} a1", "{u} = a1.astype('f4').astype('f2')", "{u} = a0[0] {o} a1[-1]", "{u} = np.full(3, a1[0], 'f2')"],
               [("f2", "f2"), ("f2", "f8"), ("f2", "f8"), ("f8", "f8"), ("f4", "f8"), ("f2", "f4")], ["ties", "tenths", "tenths", "edge"]),
    "zeros": (["{u} = {a} + {z}", "{u} = {z} + {a}", "{u} = {a} - {z}", "{u} = {a} * {z}", "{u} = {a} / {z}", "{u} = {z} - {a}", "{u} = -{a} + {z}", "{u} = {a} + np.zeros_like({a})", "{u} = {a}[-1] + {z}", "{u} = {a} + np.float64({z})", "{u} = {a} // {z}", "{u} = {a} // 1", "{u} = {a} // 1.0", "{u} = ({a} + {z}) * {z}",
               "{a} += {z}", "{u} = {a} ** {z}", "{u} = np.copysign(1, {a} + {z})"], [(f, f) for f in FLOATS] + [("f8", "i8"), ("c16", "f4"), ("i4", "?")], ["edge", "signs", "signs", "tenths"]),
    "complex": (["{u} = {q}({a})", "{u} = {q}(a0)", "{u} = a0 {less} a1", "{u} = a0 * a1", "{u} = a0 == a1", "{u} = ~{q}(a0)", "{u} = a0.astype('?')", "{u} = np.where(a0, a1, a0)", "{u} = {q}(a0 {o} a1)", "{u} = a0.real {o} a0.imag", "{u} = a0.any()", "{u} = {q}(a0[-1])", "{u} = a0 != 0"],
                [("c16", "c16"), ("c8", "c8"), ("c16", "f8"), ("c8", "i4")], ["edge", "parts", "parts"]),
    "truth": (["{u} = {a}.astype('?')", "{u} = np.asarray({a}, '?')", "{u} = np.logical_and(a0, a1)", "{u} = np.logical_not({a})", "{u} = bool({a}[-1])", "{u} = 1 if {a}[0] else 2", "{u} = {a}.any()", "{u} = {a}.all()", "{u} = np.where({a}, 1, 2)", "{u} = {a} != 0", "{u} = np.logical_xor(a0, a1)",
               "{u} = np.bool_({a}[-1])", "{u} = np.count_nonzero({a})", "{u} = {a}.astype('?').astype('{g}')", "{u} = {a}.astype('?') + 1", "{u} = ({a} {o} 1).astype('?')", "{u} = np.logical_or({a}, False)"],
              [(d, d) for d in FLOATS * 2] + [("f2", "c16"), ("i1", "f2"), ("?", "f8"), ("u8", "f4")], ["edge", "signs"]),
    "conversions": (["{u} = {a}.astype('{g}')", "{u} = {a}.astype('{g}').astype('{g}')", "{u} = a0.astype('f8').astype('{i}')", "{u} = a0.astype('f4').astype('{i}')", "{u} = a0.astype('{i}').astype('{i}')", "{u} = a0.astype('f8').astype(a0.dtype)", "{u} = a0.astype('{g}') {o} a1", "{u} = np.asarray({a}, '{g}')",
                     "{u} = a0.astype('i8').astype('f4')", "{u} = {a}.astype('f4')", "{u} = np.add(a0, a1, dtype='{g}', casting='unsafe')", "a0[...] = a1", "{u} = {a}[-1].astype('{g}')", "{a}.astype('{h}')", "{a}.astype('f4')", "{a}.astype('{g}')", "{u} = len(a0.astype('{h}'))", "{u} = a0.astype('{h}')[:1]", "{u} = a0.astype('{h}').astype('f8')"],
                    [("i8", "u8"), ("u8", "i8"), ("i8", "f8"), ("f8", "i4"), ("i4", "u4"), ("f8", "f4"), ("f8", "f8"), ("f8", "c16"), ("u1", "i1"), ("f4", "f2")], ["edge", "near", "numbers"]),
    "slices": (["{u} = {a}[{s}:{s}:{t}]", "{u} = {a}[{s}:{s}:{t}] + 1", "{u} = {a}[{s}:{s}:{t}].sum()", "{a}[{s}:{s}:{t}] {o}= 2", "{u} = {a}[::{t}] {o} {a}[::{t}]", "{u} = len({a}[{s}:{s}:{t}])", "{u} = {a}[{s}:][::{t}]", "{u} = {a}[{s}:{s}:{t}][::{t}] * 1", "{a}[{s}:{s}:{t}] = 7", "{u} = a0[{s}:{s}:{t}].copy()"],
               [("f8", "f8"), ("i4", "u1"), ("i8", "f4")], ["numbers"]),
    "whole constants": (["{u} = np.floor_divide({c}, {c})", "{u} = np.remainder({c}, {c})", "{u} = {c} {w} {c}", "{u} = a0 + np.floor_divide({c}, {c})", "{u} = np.full(3, {c}) {w} {c}", "{u} = np.float64({f}).astype('{i}')", "{u} = np.float32({f}).astype('{i}')", "{u} = a0 {w} {c}", "{u} = np.float64({f}).astype('{i}') + a0",
                         "{u} = np.float16({f}).astype('{g}')"], [("i8", "i8"), ("i4", "f8"), ("u1", "i2")], ["numbers"]),
    "whole division": (["{u} = a0 {w} a1", "{u} = a0 {w} -1", "{u} = a0[0] {w} a1", "a0 {w}= a1", "{u} = np.floor_divide(a0, a1)", "{u} = a0 {w} a1[0]", "{u} = np.fmod(a0, a1)", "{u} = (a0 {w} a1).sum()", "{u} = -(a0 {w} a1)", "{u} = abs(a0)", "{u} = a0[-1] {w} a1[-1]", "{u} = np.abs(a0) {w} a1", "{u} = a0 // -1", "{u} = np.floor_divide(a1, -1)"],
                       [(i, i) for i in INTEGERS] + [("i8", "i4"), ("u8", "u1"), ("f2", "f2")], ["edge", "edge", "numbers"]),
    # Zeros have one sign here: which of two an extreme picks is nobody's promise.
    "extremes": (["{u} = np.minimum(a0 + 0, a1 + 0)", "{u} = np.maximum(a0 + 0, a1 + 0)", "{u} = np.minimum(a1 + 0, a0 + 0)", "{u} = np.fmin(a0 + 0, a1 + 0)", "{u} = np.fmax(a1 + 0, a0 + 0)", "{u} = (a0 + 0).min({ax})", "{u} = (a0 + 0).max({ax})", "{u} = np.minimum(a0 + 0, 2)", "{u} = np.minimum(2, a0 + 0)",
                  "{u} = np.maximum(a0 + 0, a1[0] + 0)", "{u} = np.minimum(a0[-1] + 0, a1 + 0)", "{u} = np.clip(a0 + 0, -2, 5)", "{u} = np.minimum(a0 + 0, a1 + 0) {o} 1", "{u} = (a0 + 0).argmin()", "{u} = (a0 + 0).argmax({ax})"],
                 [(f, f) for f in FLOATS] + [("f8", "f4"), ("c16", "c16"), ("i4", "f8")], ["edge", "edge", "numbers"]),
    "fresh": (["{u} = {a}.astype({a}.dtype)", "{u} = +{a}", "{u} = np.positive({a})", "{u} = {a}.copy()", "{u} = np.array({a})", "{u} = {a}.astype('{g}'); a0[...] = 1", "{u} = a0.astype(a1.dtype)", "{u} = {a} * 1; {u} += 1", "{u} = np.asarray({a}); {a}[...] = 0", "{u} = {a}.astype({a}.dtype, copy=False)"],
              [(d, d) for d in ("f8", "i4", "?", "c8", "f2", "u1")] + [("f4", "f8")], ["numbers"]),
}
MAKERS = {
    "edge": "edge({shape}, {dtype!r}, {seed})", "numbers": "numbers({shape}, {dtype!r}, {seed})", "tenths": "(numbers({shape}, 'f8', {seed}) * 0.1).astype({dtype!r})",
    "near": "(edge({shape}, 'i8', {near}) + edge({shape}, '?', {seed})).astype({dtype!r})", "signs": "(numbers({shape}, 'f8', {seed}) * edge({shape}, 'f8', {seed}) * 0.0).astype({dtype!r})",
    "ties": "((1 + 2.0**-11 + edge({shape}, '?', {seed}) * 2.0**-40) * 2.0 ** np.asarray(edge({shape}, '?', {near}))).astype({dtype!r})",   # between two numbers of 16 bits
    "parts": "np.stack([numbers({shape}, 'f8', {seed}) * edge({shape}, '?', {near}), edge({shape}, 'f8', {near})], -1).view('c16')[..., 0].astype({dtype!r})",
}


class _Focused:
    def __init__(self, r: random.Random):
        self.r = r
        self.focus = r.choices(list(FOCI), [2 if name in ("whole constants", "whole division", "zeros", "conversions", "complex") else 1 for name in FOCI])[0]
        self.statements, kinds, self.makers = FOCI[self.focus]
        self.kinds = r.choice(kinds)
        shapes = ["(9,)", "(17,)", "(40,)", "(200,)", "(2, 3)", "(3,)", "(1,)"]
        self.shapes = [f"({n},)" for n in r.sample(range(12), 5)] if self.focus == "slices" else [r.choice(shapes)] * 3 + [r.choice(shapes)]

    def fill(self, form: str) -> str:
        return filled(form, lambda word: self.draft.new("t") if word == "u" else self.r.choice(FOCUS_PARTS[word]))

    def suite(self, head: str) -> str:
        r, near, shape = self.r, self.r.randrange(100), self.r.choice(self.shapes)
        maker = r.choice(self.makers)
        made = [MAKERS[maker].format(shape=shape, dtype=dtype, seed=r.randrange(100), near=near) for dtype in self.kinds]
        return f"{head}arguments = ({', '.join(made)})"


def _focused(r: random.Random) -> Program:
    generator = _Focused(r)
    head = r.choice(["np.seterr(all='ignore')\n", "", "np.seterr(all='warn')\n"])
    suites = [working(lambda: generator.suite(head)) for _ in range(r.randint(4, 6))]
    draft = generator.draft = Draft(r, "", suites[0], "a0, a1", wild=True)
    for _ in range(r.randint(1, 3)):
        any(draft.try_statement(generator.fill(r.choice(generator.statements)), keep_error=r.random() < 0.2) for _ in range(6))
    return _finished(r, draft, "a0, a1", (suites[0], *suites))


def program(r: random.Random) -> Program:
    if r.random() < 0.4:
        return _focused(r)
    generator = _Generator(r)
    count = r.randint(2, 4) if generator.plain else r.randint(1, 3)
    parameters = ", ".join(f"a{i}" for i in range(count))
    kinds = [r.choice(generator.dtypes) for _ in range(count)]
    # Where a report is due the call is Python's again: most programs want none, so that what was computed is what is compared.
    head = "np.seterr(all='ignore')\n" if r.random() < 0.7 else ""
    suite = lambda same: head + "arguments = (" + "".join(generator.argument(kind if same else None) + ", " for kind in kinds) + ")"
    first = working(lambda: suite(True))
    draft = generator.draft = Draft(r, "", first, parameters, wild=True)
    for _ in range(r.randint(2, 7)):
        for _ in range(6):
            if draft.try_statement(generator.statement(), keep_error=r.random() < 0.02):
                break
    suites = [first, *(working(lambda: suite(r.random() < 0.7)) for _ in range(r.randint(1, 4)))]
    return _finished(r, draft, parameters, (suites[0], *suites, suites[-1]), generator.exact)


def _finished(r: random.Random, draft: Draft, parameters: str, suites: tuple[str, ...], exact: bool = True) -> Program:
    made = draft.names()
    results = [name for name in made if r.random() < 0.85] or made[-1:]
    lines = [line for statement in draft.lines for line in statement.split("\n")]
    source = f"def f({parameters}):\n" + "\n".join(f"    {line}" for line in lines or ["pass"]) + f"\n    return {', '.join(results)},\n"
    # Over- and underflow happen in intermediate values of rough programs too; where their results cancel, nothing is promised.
    return Program(source, suites, (), None if exact else 1e-4)
