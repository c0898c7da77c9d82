"""A captured graph as backends see it: the text form of the IR, its parts, and two ways to run it."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from fusewire import _fusewire

_CLASSES = {row["name"]: row["class"] for row in _fusewire.ops()}  # "elementwise", "reduction" ...
_NAME = re.compile(r"[A-Za-z_]\w*")


class Value(NamedTuple):
    """An input: ``name``, NumPy ``dtype``, ``shape`` as text over ``graph.sizes``."""

    name: str
    dtype: np.dtype
    shape: tuple[str, ...]


class Node(NamedTuple):
    """An operation. ``op`` is its name in docs/supported.md, ``inputs`` name what it reads, ``line`` is the user's."""

    name: str
    op: str
    inputs: tuple[str, ...]
    attrs: dict
    dtype: np.dtype
    shape: tuple[str, ...]
    layout: str
    line: int


class Graph:
    """A graph of array operations.

    ``text`` is the IR. ``inputs`` are the arrays that a call hands over, scalars as arrays of rank 0; ``sizes`` names
    the integers that follow behind them, those that no shape tells. ``ops`` lists the operations in an order in which
    they can run (``nodes`` also inputs and what nobody needs), ``outputs`` names the results. A graph that changes
    arguments does so at its end: ``commits`` lists stores (target, value), whose target is a view of an input, and
    ``written`` the numbers of the inputs that they change; their contents follow behind the outputs.
    """

    def __init__(self, text: str):
        if not isinstance(text, str):
            raise TypeError(f"fusewire.Graph: expected the text of a graph, got {type(text).__name__}")
        facts = _fusewire.parse_graph(text)
        self.text = text
        nodes = [Node(f"v{n['id']}", n["op"], tuple(f"v{i}" for i in n["operands"]), n["attrs"], np.dtype(n["char"]),
                      tuple(n["shape"]), n["layout"], n["line"]) for n in facts["nodes"]]
        self._controlled = any(n["regions"] for n in facts["nodes"])
        self.nodes = nodes
        self.outputs = [f"v{i}" for i in facts["outputs"]]
        by_name = {n.name: n for n in nodes}
        stores = [by_name[f"v{i}"] for i in facts["commits"]]
        self.commits = [store.inputs for store in stores]
        self.written = sorted({_root(by_name, target).attrs["index"] for target, _ in self.commits})
        inputs = sorted((n for n in nodes if n.op == "input"), key=lambda n: n.attrs["index"])
        self.inputs = [Value(n.name, n.dtype, n.shape) for n in inputs]
        self.ops = [n for n in self._live(nodes, stores) if n.op not in ("input", "store")]
        self._symbols: list[str] = facts["symbols"]
        self.sizes, self._bound = self.sizes_of(self.ops)
        self._trailing = [self._symbols.index(s) for s in self.sizes]

    def sizes_of(self, ops: list[Node]) -> tuple[list[str], dict[str, tuple[int, int]]]:
        """Sizes that ``ops`` need and no shape of an input tells, and where those that one tells stand."""
        bound = {size: (i, axis) for i, value in reversed(list(enumerate(self.inputs)))
                 for axis, size in reversed(list(enumerate(value.shape))) if size in self._symbols}
        used = {name for n in ops for name in self._names(n)}
        return [s for s in self._symbols if s in used and s not in bound], bound

    def _live(self, nodes: list[Node], stores: list[Node]) -> list[Node]:
        wanted = {*self.outputs, *(store.name for store in stores)}
        for node in reversed(nodes):
            if node.name in wanted:
                wanted.update(node.inputs)
        return [n for n in nodes if n.name in wanted]

    @staticmethod
    def _names(node: Node):
        texts = [*node.shape]
        for value in node.attrs.values():
            texts += [v for v in (value if isinstance(value, list) else [value]) if isinstance(v, str)]
        for text in texts:
            yield from _NAME.findall(text)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<fusewire.Graph: {len(self.inputs)} inputs, {len(self.ops)} operations, {len(self.outputs)} outputs>"

    def run(self, *arguments) -> list[np.ndarray]:
        """The outputs, and behind them the contents of ``written`` inputs, by the reference evaluator, one element
        at a time, straight from the definitions. The arguments themselves are not changed."""
        if len(arguments) != len(self.inputs) + len(self.sizes):
            raise TypeError(
                f"the graph takes {len(self.inputs)} arrays and {len(self.sizes)} sizes, not {len(arguments)} arguments"
            )
        arrays = [np.asarray(a) for a in arguments[:len(self.inputs)]]
        values = dict(zip(self.sizes, map(int, arguments[len(self.inputs):])))
        for value, array in zip(self.inputs, arrays):
            if array.dtype != value.dtype or array.ndim != len(value.shape):
                raise TypeError(
                    f"{value.name} is {array.dtype} of rank {array.ndim}, not {value.dtype} of rank {len(value.shape)}"
                )
        for size, (i, axis) in self._bound.items():
            values[size] = arrays[i].shape[axis]
        outputs, after = _fusewire.evaluate_graph(self.text, arrays, [values.get(s, 0) for s in self._symbols])
        return outputs + [after[i] for i in self.written]

    def numpy_source(self) -> str:
        """Python source of ``def graph(...)`` that does with NumPy what run() does, one line per operation; it may
        change its arguments.

        Raises NotImplementedError for graphs with loops or branches.
        """
        if self._controlled:
            raise NotImplementedError("a graph with loops or branches has no straight-line NumPy source")
        lines = [_PRELUDE, f"def graph({', '.join([v.name for v in self.inputs] + self.sizes)}):"]
        lines += [
            f"    {size} = {self.inputs[i].name}.shape[{axis}]" for size, (i, axis) in sorted(self._bound.items())
        ]
        by_name = {n.name: n for n in self.ops}
        for node in self.ops:
            comment = f"  # line {node.line}" if node.line else ""
            lines.append(f"    {node.name} = {_expression(node, by_name)}{comment}")
        for i, (_, value) in enumerate(self.commits):
            lines.append(f"    c{i} = np.array({value})")  # before any store changes what it reads
        outputs = [f"np.array({name})" if self.commits else f"np.asarray({name})" for name in self.outputs]
        lines.append(f"    outputs = [{', '.join(outputs)}]")
        lines += [f"    {target}[...] = c{i}" for i, (target, _) in enumerate(self.commits)]
        lines.append(f"    return outputs + [{', '.join(self.inputs[i].name for i in self.written)}]")
        return "\n".join(lines) + "\n"


def _root(by_name: dict[str, Node], name: str) -> Node:
    node = by_name[name]
    return node if node.op == "input" else _root(by_name, node.inputs[0])


_PRELUDE = '''\
import math

import numpy as np

def window(starts, steps, sizes):
    """The index of elements start + i * step."""
    stops = [a + b * n for a, b, n in zip(starts, steps, sizes)]
    bounds = zip(starts, steps, sizes, stops)
    return tuple(slice(0, 0) if n == 0 else slice(a, z if z >= 0 else None, b) for a, b, n, z in bounds)

def update(base, value, starts, steps):
    result = np.array(base)
    result[window(starts, steps, np.shape(value))] = value
    return result

def complex_of(real, imag):
    result = np.empty(np.broadcast_shapes(np.shape(real), np.shape(imag)), np.result_type(real, np.complex64))
    result.real, result.imag = real, imag
    return result[()]

def under(errors, compute):
    """compute() under np.errstate: four bits of what is ignored, four of what is reported."""
    names = [(i, name) for i, name in enumerate(("invalid", "divide", "over", "under")) if errors >> i & 0x11]
    with np.errstate(**{name: "ignore" if errors >> i & 1 else "raise" for i, name in names}):
        return compute()

def fma(a, b, c):
    from fusewire._graph import rounded_once
    a * b + c  # for its reports
    return rounded_once(a, b, c)

'''


def rounded_once(a, b, c) -> np.ndarray:
    """a * b + c of floats of one type, rounded once. NumPy has no such function: the reference evaluator does it."""
    arrays = np.broadcast_arrays(a, b, c)
    kind = f"f{8 * arrays[0].itemsize}"
    lines = [f"%{i} = input() {{index={i}}} : {kind}[s0]" for i in range(3)]
    text = f"graph(s0: [0, inf]) {{\n{chr(10).join(lines)}\n%3 = fma(%0, %1, %2) : {kind}[s0]\nreturn %3\n}}\n"
    outputs, _ = _fusewire.evaluate_graph(text, [np.ravel(array) for array in arrays], [arrays[0].size])
    return outputs[0].reshape(arrays[0].shape)


def _tuple(parts) -> str:
    return "(" + "".join(f"{p}, " for p in parts).rstrip() + ")"


def _scalar(value, dtype: np.dtype) -> str:
    parts = ["np.nan" if v != v else "np.inf" if v == float("inf") else "-np.inf" if v == -float("inf") else repr(v)
             for v in (value if isinstance(value, list) else [value])]
    return f"np.{dtype.type.__name__}({'complex(' + ', '.join(parts) + ')' if len(parts) == 2 else parts[0]})"


def _order(layout: str) -> str:
    return {"c": "C", "f": "F"}.get(layout, "K")


def _expression(node: Node, by_name: dict[str, Node]) -> str:
    text = _operation(node, by_name)
    return f"under({node.attrs['errors']}, lambda: {text})" if node.attrs.get("errors") else text


def _operation(node: Node, by_name: dict[str, Node]) -> str:
    attrs, shape, dtype = node.attrs, _tuple(node.shape), f"np.{node.dtype.type.__name__}"
    x = node.inputs[0] if node.inputs else ""
    syms = lambda key: _tuple(attrs[key])
    match node.op:
        case "constant":
            return _scalar(attrs["value"], node.dtype)
        case "sym":
            return f"np.int64({attrs['expr']})"
        case "full":
            return f"np.full({shape}, {x}, {dtype}, {'F' == _order(node.layout) and repr('F') or repr('C')})"
        case "iota":
            return f"np.arange({node.shape[0]})"
        case "slice":
            return f"{x}[window({syms('starts')}, {syms('steps')}, {shape})]"
        case "update":
            return f"update({x}, {node.inputs[1]}, {syms('starts')}, {syms('steps')})"
        case "concatenate":
            return f"np.concatenate([{', '.join(node.inputs)}], {attrs['axis']})"
        case "transpose":
            return f"np.transpose({x}, {syms('perm')})"
        case "expand":
            return f"np.expand_dims({x}, {syms('axes')})"
        case "squeeze":
            return f"np.squeeze({x}, {syms('axes')})"
        case "broadcast":
            return f"np.broadcast_to({x}, {shape})"
        case "reshape":
            return f"np.reshape({x}, {shape})" + (".copy()" if attrs.get("copy") else "")
        case "copy":
            return f"np.array({x}, order={_order(node.layout)!r})"
        case "cast":
            return f"np.asarray({x}).astype({dtype})"
        case "diagonal":
            return f"np.diagonal({x})"
        case "complex":
            return f"complex_of({', '.join(node.inputs)})"
        case "real" | "imag":
            return f"np.{node.op}({x})"
        case "erf" | "erfc":
            return f"np.vectorize(math.{node.op}, otypes=[{dtype}])({x})"
        case "fma":
            return f"fma({', '.join(node.inputs)})"
        case "absolute" if not node.shape and x in by_name and by_name[x].dtype.kind == "c":
            return f"abs({x}[()])"  # of complex scalars NumPy takes the hypotenuse, of arrays it does not
    match _CLASSES[node.op]:
        case "reduction":
            return _reduction(node, by_name)
        case "elementwise":  # operations are called as NumPy calls them
            return f"np.{node.op}({', '.join(node.inputs)})"
    raise NotImplementedError(f"operation {node.op!r} has no NumPy source")


def _reduction(node: Node, by_name: dict[str, Node]) -> str:
    x, axes, keywords = node.inputs[0], _tuple(node.attrs["axes"]), ""
    if node.op in ("argmax", "argmin"):
        rank = len(by_name[x].shape) if x in by_name else None
        axes = (
            node.attrs["axes"][0]
            if len(node.attrs["axes"]) == 1
            else None if rank in (None, len(node.attrs["axes"])) else axes
        )
    if node.op in ("sum", "prod"):
        keywords = f", dtype=np.{node.dtype.type.__name__}"
        if node.attrs.get("buffered") and x in by_name and by_name[x].op == "cast":
            x = by_name[x].inputs[0]  # NumPy converts inside, block by block, which decides the order of additions
    if node.op in ("var", "std"):
        keywords = f", ddof={node.attrs['ddof']}"
    return f"np.{node.op}({x}, axis={axes}{keywords}, keepdims={bool(node.attrs['keepdims'])})"


def numpy_backend(graph: Graph):
    """The rung ``numpy``. Conditions that the error state does not ignore are raised: the user's code reports them."""
    namespace: dict = {}
    exec(compile(graph.numpy_source(), "<fusewire graph>", "exec"), namespace)  # noqa: S102 - source of our own making
    function = namespace["graph"]

    def run(*arguments):
        with np.errstate(**{kind: how if how == "ignore" else "raise" for kind, how in np.geterr().items()}):
            return function(*arguments)

    return run
