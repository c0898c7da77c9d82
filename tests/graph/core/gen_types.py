"""Writes types.golden: what the installed NumPy answers for every row of the op table and every combination of element types.

    python gen_types.py > types.golden

A block begins with "ufunc ARITY: OPS" (ops that share one table); then one line per combination of all operands but the
last, with one cell per type of the last operand: the loop's inputs, '>' and its output as NumPy type characters, or '!'
for a TypeError. Operand names are those of dtypes.def, and int, float, complex for weak Python scalars. Reductions:
"reduce OP: INPUT>OUTPUT ...", the output being what the reduction of an array without dtype= answers.
"""

import itertools
import pathlib
import re
import sys
import warnings

import numpy as np

DTYPES = {"bool": "?", "i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I", "i64": "l", "u64": "L",
          "f16": "e", "f32": "f", "f64": "d", "c64": "F", "c128": "D"}
OPERANDS = {**{k: np.dtype(v) for k, v in DTYPES.items()}, "int": int, "float": float, "complex": complex}
OPS = pathlib.Path(__file__).resolve().parents[3] / "src" / "graph" / "ops"
ROW = re.compile(r'FW_OP\(\w+, "(\w+)", (-?\d+), (\w+), (\w+), \w+, "([^"]*)"')


def rows():
    for path in sorted(OPS.glob("*.def")):
        for line in path.read_text().splitlines():
            if m := ROW.match(line):
                yield m.groups()


def ufunc_of(op, names):
    if op == "clip":
        return np._core.umath.clip
    for name in names.split("|"):
        if name.startswith("np.") and isinstance(getattr(np, name[3:], None), np.ufunc):
            return getattr(np, name[3:])
    return None


def cell(ufunc, operands):
    try:
        *inputs, output = ufunc.resolve_dtypes((*operands, None))
    except TypeError:
        return "!"
    char = {"q": "l", "Q": "L"}
    return "".join(char.get(t.char, t.char) for t in inputs) + ">" + char.get(output.char, output.char)


def table(ufunc, arity):
    names = list(OPERANDS)
    lines = []
    for head in itertools.product(names, repeat=arity - 1):
        cells = [cell(ufunc, [OPERANDS[n] for n in (*head, last)]) for last in names]
        lines.append(" ".join((*head, *cells)))
    return "\n".join(lines)


def reduction(op):
    cells = []
    for name, char in DTYPES.items():
        a = np.ones((3, 2), char)
        try:
            r = getattr(np, op)(a, axis=0)
            cells.append(f"{name}>{r.dtype.char}".replace("q", "l").replace("Q", "L"))
        except TypeError:
            cells.append(f"{name}>!")
    return f"reduce {op}: " + " ".join(cells)


def where():
    scalars = {"int": 1, "float": 1.0, "complex": 1j}
    for x in OPERANDS:
        cells = []
        for y in OPERANDS:
            a, b = (scalars.get(n) if n in scalars else np.ones(2, DTYPES[n]) for n in (x, y))
            cells.append(np.where(np.array([True, False]), a, b).dtype.char)
        print(f"where {x}: " + " ".join(cells).replace("q", "l").replace("Q", "L"))


def pairs():
    """promote_types, can_cast safe and same_kind of every pair."""
    for x, a in DTYPES.items():
        cells = []
        for b in DTYPES.values():
            char = np.promote_types(a, b).char.replace("q", "l").replace("Q", "L")
            cells.append(f"{char}{int(np.can_cast(a, b))}{int(np.can_cast(a, b, 'same_kind'))}")
        print(f"pair {x}: " + " ".join(cells))


def main():
    warnings.simplefilter("ignore")
    tables = {}
    reductions = []
    for op, arity, cls, loops, names in rows():
        if cls == "kReduction":
            reductions.append(reduction(op))
        elif cls == "kElementwise" and loops != "kNone":
            ufunc = ufunc_of(op, names)
            if ufunc is None:
                sys.exit(f"row {op} has loops but names no ufunc")
            tables.setdefault((int(arity), table(ufunc, int(arity))), []).append(op)
    print("order: " + " ".join(OPERANDS))
    for (arity, text), ops in tables.items():
        print(f"ufunc {arity}: " + " ".join(ops))
        print(text)
    print("\n".join(reductions))
    where()
    pairs()


main()
