"""Runs the text form of a captured graph with NumPy, one array operation per node: an oracle that shares no code with the
compiler. Only for tests of capture: the order of float additions inside a node is NumPy's for its own layouts."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np

DTYPES = {"bool": "?", "i8": "i1", "u8": "u1", "i16": "i2", "u16": "u2", "i32": "i4", "u32": "u4", "i64": "i8", "u64": "u8",
          "f16": "f2", "f32": "f4", "f64": "f8", "c64": "c8", "c128": "c16"}
NODE = re.compile(r"(%\d+) = (\w+)\((.*?)\)(?: \{(.*)\})? : (\w+)(\[.*?\])?(?: layout=(\S+))?(?: line=\d+)?$")
REDUCTIONS = {"sum", "prod", "max", "min", "any", "all", "mean", "var", "std", "count_nonzero", "argmax", "argmin"}


def split(text: str) -> list[str]:
    """At commas outside of brackets."""
    parts, depth, part = [], 0, ""
    for char in text:
        depth += (char in "([") - (char in ")]")
        if char == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += char
    return [*parts, part.strip()] if part.strip() else parts


def fma(a, b, c):
    """a * b + c, rounded once (to float64 first)."""
    numbers = [float(a), float(b), float(c)]
    if not np.isfinite(numbers).all():
        return a * b + c
    x, y, z = map(Fraction, numbers)
    return float(x * y + z) if x * y + z else a * b + c   # zeros have the sign of the plain sum


def join_parts(real, imag):
    joined = np.empty(np.shape(real), "c16")
    joined.real, joined.imag = real, imag
    return joined


class GraphText:
    """One captured graph. Arguments are expected to be read in their order, which holds for positional ones."""

    def __init__(self, text: str):
        self.nodes = [m.groups() for m in map(NODE.match, map(str.strip, text.splitlines())) if m]
        returned = re.search(r"return (.*)", text)
        self.outputs = split(returned[1]) if returned else []

    def run(self, arguments: tuple) -> list[np.ndarray]:
        self.names: dict = {"min": min, "max": max, "inf": np.inf, "nan": np.nan, "true": True, "false": False}
        inputs, sizes, ints = [], 0, 0
        for a in arguments:
            if isinstance(a, np.ndarray):
                for n in a.shape:
                    self.names[f"s{sizes}"] = n
                    sizes += 1
                inputs.append(a)
            elif isinstance(a, int) and not isinstance(a, bool):
                self.names[f"i{ints}"] = a
                ints += 1
            else:
                inputs.append(np.asarray(a))
        values: dict = {}
        for name, op, operands, attrs, dtype, shape, _ in self.nodes:
            attrs = dict(part.split("=", 1) for part in split(attrs or ""))
            dtype = np.dtype(DTYPES[dtype])
            shape = tuple(self.number(s) for s in split(shape[1:-1])) if shape else ()
            result = inputs[int(attrs["index"])] if op == "input" else self.node(
                op, [values[o] for o in split(operands)], attrs, dtype, shape)
            result = np.asarray(result)
            assert result.dtype == dtype and result.shape == shape, f"{name} = {op}: {result.dtype}{result.shape}"
            values[name] = result
        return [values[o] for o in self.outputs]

    def number(self, text: str):
        return eval(text, {}, self.names)  # noqa: S307 - symbolic integers are Python expressions

    def node(self, op, operands, attrs, dtype, shape):
        if op == "constant":
            return np.array(self.number(re.match(r"\w+\((.*)\)", attrs["value"])[1]), dtype)
        if op == "sym":
            return np.array(self.number(attrs["expr"]))
        if op == "define":
            self.names[attrs["symbol"]] = int(operands[0])
            return np.array(True)
        if op == "full":
            return np.full(shape, operands[0], dtype)
        if op == "empty":
            return np.zeros(shape, dtype)
        if op == "iota":
            return np.arange(shape[0])
        if op in ("slice", "update"):
            starts, steps = self.number(attrs["starts"]), self.number(attrs["steps"])
            sizes = shape if op == "slice" else operands[1].shape
            grid = np.ix_(*[a + b * np.arange(n) for a, b, n in zip(starts, steps, sizes)])
            for axis, index in enumerate(grid):
                assert index.size == 0 or 0 <= index.min() <= index.max() < operands[0].shape[axis], "out of bounds"
            if op == "slice":
                return operands[0][grid]
            result = operands[0].copy()
            result[grid] = operands[1]
            return result
        if op == "concatenate":
            return np.concatenate(operands, int(attrs["axis"]))
        if op in REDUCTIONS:
            return self.reduction(op, operands[0], attrs, dtype)
        x = operands[0]
        simple = {
            "transpose": lambda: np.transpose(x, self.number(attrs["perm"])),
            "expand": lambda: np.expand_dims(x, tuple(self.number(attrs["axes"]))),
            "squeeze": lambda: np.squeeze(x, tuple(self.number(attrs["axes"]))),
            "broadcast": lambda: np.broadcast_to(x, shape),
            "reshape": lambda: np.reshape(x, shape),
            "copy": lambda: np.array(x),
            "cast": lambda: x.astype(dtype),
            "real": lambda: x.real,
            "imag": lambda: x.imag,
            "diagonal": lambda: np.diagonal(x),
            "complex": lambda: join_parts(*operands),
            "fma": lambda: np.vectorize(fma, otypes=[dtype])(*operands),
        }
        return simple[op]() if op in simple else getattr(np, op)(*operands)

    def reduction(self, op, operand, attrs, dtype):
        axes, keywords = tuple(self.number(attrs["axes"])), {}
        if op in ("argmax", "argmin"):
            axes = None if len(axes) == operand.ndim else axes[0]
        if op in ("var", "std"):
            keywords["ddof"] = self.number(attrs["ddof"])
        if op in ("sum", "prod"):
            keywords["dtype"] = dtype
        return getattr(np, op)(operand, axis=axes, keepdims=attrs["keepdims"] == "1", **keywords)
