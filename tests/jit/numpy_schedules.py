"""Random schedules with NumPy: a third opinion, that shares no code with native code and the reference evaluator.

    FUSEWIRE_SCHEDULES=20000 FUSEWIRE_SCHEDULES_FILE=schedules.jsonl jit_test --gtest_filter='RandomSchedules.*'
    python tests/jit/numpy_schedules.py schedules.jsonl

Every line of the file is a graph as text, its arguments, and what the evaluator answers. Each node is one array operation
here. Exits with 1 if something differs.
"""

from __future__ import annotations

import json
import re
import sys

import numpy as np

DTYPES = {"bool": np.bool_, "i64": np.int64, "f64": np.float64}
NODE = re.compile(r"(%\d+) = (\w+)\((.*?)\)(?: \{(.*)\})? : ([^{]*?)(?: layout=\S+)?( \{)?$")
BINARY = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum,
          "less": np.less, "greater": np.greater}


class Declined(Exception):
    """The whole graph fails."""


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


class Graph:
    """Read from the line behind its opening brace to that with its closing one."""

    def __init__(self, lines: list[str]):
        self.nodes, self.outputs, self.commits, self.follows = [], [], [], False
        while True:
            line = lines.pop(0).strip()
            if line.startswith("}"):
                self.follows = line == "} {"   # another region of the same node
                return
            if line == "return" or line.startswith("return "):
                self.outputs = split(line[6:])
            elif line.startswith("commit "):
                self.commits = split(line[7:])
            else:
                name, op, operands, attributes, kind, opens = NODE.match(line).groups()
                regions = []
                while opens and (not regions or regions[-1].follows):
                    regions.append(Graph(lines))
                attributes = dict(a.split("=", 1) for a in split(attributes or ""))
                self.nodes.append((name, op, split(operands), attributes, kind.strip(), regions))


def library(site: int, operands: list[np.ndarray]) -> list[np.ndarray]:
    """randomLibrary() of random_schedules.cpp."""
    x = operands[0]
    first = x.reshape(-1)[0]
    if site == 0:
        return [2 * x]
    if site == 1:
        return [x + operands[1]]
    if site == 2:
        return [x.reshape(-1)[-1], -x]
    if site == 3:
        if -3 <= first < -2.5:
            raise Declined
        return [x]
    leading = x[:1 + int((x[1:] > -1).sum())]
    return [leading] if site == 4 else [leading, np.stack([leading, leading + 1], axis=1)]


def shape_of(kind: str, symbols: dict) -> tuple:
    sizes = re.match(r"\w+(?:\[(.*)\])?$", kind)[1]
    return tuple(eval(size, {}, symbols) for size in split(sizes or ""))


def places(shape: tuple, attributes: dict, symbols: dict) -> tuple:
    starts, steps = (eval(attributes[key], {"min": min, "max": max}, symbols) for key in ("starts", "steps"))
    return np.ix_(*[start + step * np.arange(n) for start, step, n in zip(starts, steps, shape, strict=True)])


def run(graph: Graph, arguments: list, symbols: dict, ranges: dict, after: list | None = None) -> list:
    """`symbols` is changed by definitions: from there on. `ranges`: of symbols. `after`: the arrays that commits store into."""
    values: dict = {}
    number = lambda text: eval(text, {"min": min, "max": max}, symbols)
    for name, op, operands, attributes, kind, regions in graph.nodes:
        given = [values[o] for o in operands]
        x = given[0] if given else None
        if op == "input":
            value = arguments[int(attributes["index"])]
        elif op == "constant":
            dtype, text = re.match(r"(\w+)\((.*)\)", attributes["value"]).groups()
            value = DTYPES[dtype](text == "true" if dtype == "bool" else float(text))
        elif op == "sym":
            value = np.int64(number(attributes["expr"]))
        elif op == "full":
            value = np.full(shape_of(kind, symbols), x)
        elif op == "copy":
            value = np.copy(x)
        elif op in BINARY:
            value = BINARY[op](*given)
        elif op in ("max", "min"):
            value = getattr(np, op)(x, axis=tuple(eval(attributes["axes"])))
        elif op == "slice":
            value = x[places(shape_of(kind, symbols), attributes, symbols)]
        elif op == "squeeze":
            value = np.squeeze(x, tuple(eval(attributes["axes"])))
        elif op == "broadcast":
            value = np.broadcast_to(x, shape_of(kind, symbols))
        elif op == "update":
            value = x.copy()
            value[places(given[1].shape, attributes, symbols)] = given[1]
        elif op == "project":
            value = x[int(attributes["index"])]
        elif op == "store":
            value = given[1]
        elif op == "call":
            value = library(int(attributes["site"]), given)
            for size in split(attributes.get("sizes", "")[1:-1]):
                symbols[size] = len(value[0])
                low, high = ranges[size]
                if not low <= symbols[size] <= high:
                    raise Declined
            answered = [shape_of(part, symbols) for part in split(kind[1:-1])]
            if [np.shape(v) for v in value] != answered:
                raise Declined
        elif op in ("define", "bind"):
            if not number(attributes["least"]) <= int(x) <= number(attributes["most"]):
                raise Declined
            inner = symbols if op == "define" else dict(symbols)
            inner[attributes["symbol"]] = int(x)
            value = run(regions[0], given[1:], inner, ranges) if regions else None
        elif op == "cond":
            value = run(regions[0 if x else 1], given[1:], dict(symbols), ranges)
        elif op == "loop":
            value = given
            for turn in range(number(attributes["trip"])):
                inner = dict(symbols)
                if "symbol" in attributes:
                    inner[attributes["symbol"]] = turn
                again, *value = run(regions[0], value, inner, ranges)
                if not again:
                    break
        else:
            raise NotImplementedError(op)
        values[name] = value
    stores = {name: operands for name, op, operands, *_ in graph.nodes if op == "store"}
    for commit in graph.commits:
        target, stored = stores[commit]
        after[next(i for i, a in enumerate(arguments) if a is values[target])] = np.copy(values[stored])
    return [values[o] for o in graph.outputs]


def array(described: dict) -> np.ndarray:
    bits = np.array(described["bits"], np.uint64)
    dtype = DTYPES[described["dtype"]]
    flat = bits.astype(np.bool_) if dtype is np.bool_ else bits.view(dtype)
    return flat.reshape(described["shape"])


def is_same(want: list, got: list) -> bool:
    """Zeros of either sign are the same: which one a maximum of both is NumPy leaves open."""
    return len(want) == len(got) and all(np.shape(w) == np.shape(g) and w.dtype == np.asarray(g).dtype
                                         and np.array_equal(w, g, equal_nan=w.dtype.kind == "f")
                                         for w, g in zip(want, got))


def main() -> None:
    compared = declined = failed = 0
    for line in open(sys.argv[1]):
        case = json.loads(line)
        lines = case["text"].splitlines()
        head = re.match(r"graph\((.*)\) \{", lines.pop(0))[1]
        declared = re.findall(r"(\w+): \[(-?\w+), (-?\w+)\]", head)
        ranges = {name: (float(low), float(high)) for name, low, high in declared}
        symbols = {name: value for (name, *_), value in zip(declared, case["symbols"], strict=True)}
        arguments = [array(a) for a in case["inputs"]]
        after = list(arguments)
        try:
            with np.errstate(all="ignore"):
                outputs = run(Graph(lines), arguments, symbols, ranges, after)
            right = not case["declined"] and is_same([array(a) for a in case["outputs"]], outputs) and \
                is_same([array(a) for a in case["after"]], after)
        except Declined:
            declined += 1
            right = case["declined"]
        compared += 1
        if not right:
            failed += 1
            print(f"seed {case['seed']} differs")
    print(f"{compared} compared, {declined} declined, {failed} differ")
    sys.exit(failed > 0 or compared == 0)


if __name__ == "__main__":
    main()
