"""The rung ``statements``: a captured function done again on its real arrays, one statement after the other.

A write changes the array's memory when its turn comes, and whatever reads that memory afterwards sees it: there are no
versions of arrays, no commits at the end, no pass and no fusion. What agrees with Python here and not on the rungs above
is a defect of how those treat memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fusewire._graph import _PRELUDE, Graph, Node, _expression, _order

# Operations that answer a part of their operand's memory. Real and imaginary parts are computed as far as the graph is
# concerned.
_VIEWS = frozenset({"slice", "transpose", "expand", "squeeze", "broadcast", "reshape", "real", "imag"})


class Write(NamedTuple):
    """``array`` numbers the array that is written; the others name nodes, see src/frame_eval/program_write.h."""

    array: int
    before: str
    part: str
    value: str
    after: str
    made: bool  # by the call: its memory is not an argument's even where its first content is


def _is_view(node: Node) -> bool:
    return node.op in _VIEWS and not node.attrs.get("copy")


class _Script:
    """Source of ``def script(inputs, sizes, outputs)``."""

    def __init__(self, graph: Graph, writes: list[Write]):
        self.graph = graph
        self.nodes = {n.name: n for n in graph.nodes}
        self.writes = {w.after: w for w in writes}
        self.memory: dict[str, int] = {}  # nodes that are parts of a written array's memory, and of which
        for write in reversed(writes):
            if self.nodes[write.before].op == "input" and not write.made:
                self.memory[write.before] = write.array
        self.inputs = {array: self.nodes[name].attrs["index"] for name, array in self.memory.items()}
        self.seen: dict[str, int] = {}  # node: how many writes its memory had seen when it was made
        self.done: dict[int, int] = {}  # array: writes so far
        self.lines: list[str] = []

    def chain(self, write: Write) -> list[Node]:
        """Views from the array down to the written part."""
        views, at = [], self.nodes[write.part]
        while at.name != write.before:
            views.append(at)
            at = self.nodes[at.inputs[0]]
        return views[::-1]

    def needed(self) -> list[Node]:
        wanted = {*self.graph.outputs, *self.writes}
        for node in reversed(self.graph.nodes):
            if write := self.writes.get(node.name):
                wanted.update((write.before, write.value))
            elif node.name in wanted:
                wanted.update(node.inputs)
        return [n for n in self.graph.nodes if n.name in wanted and n.op not in ("input", "store")]

    def read(self, name: str) -> str:
        """A view that was made before its memory was written shows what is there now: capture makes a new one then."""
        array = self.memory.get(name)
        if array is not None and self.done.get(array, 0) != self.seen.get(name, 0):
            raise NotImplementedError(f"{name} is read after its memory was written")
        return name

    def write(self, write: Write) -> None:
        before, at = self.nodes[write.before], f"m{write.array}"
        if write.array not in self.done and write.array not in self.inputs:
            self.lines.append(f"{at} = np.array({self.read(before.name)}, order={_order(before.layout)!r})")
        target = at
        for view in self.chain(write):
            self.lines.append(f"t = {_expression(view._replace(inputs=(target,)), self.nodes)}")
            target = "t"
        line = self.nodes[write.after].line
        self.lines.append(f"{target}[...] = {self.read(write.value)}" + (f"  # line {line}" if line else ""))
        self.done[write.array] = self.done.get(write.array, 0) + 1
        self.remember(write.after, write.array, at)

    def remember(self, name: str, array: int | None, text: str, comment: str = "", seen: int | None = None) -> None:
        """``name`` is ``text``, a part of the array's memory as it is after ``seen`` writes (now, if that is None)."""
        done = self.done.get(array, 0)
        seen = done if seen is None else seen
        if array is not None and not self.nodes[name].shape:  # a scalar that was read is a value of its own
            text, array = f"np.array({text})", None if seen == done else array
        self.lines.append(f"{name} = {text}{comment}")
        if array is not None:
            self.memory[name], self.seen[name] = array, seen

    def compute(self, node: Node) -> None:
        comment = f"  # line {node.line}" if node.line else ""
        if _is_view(node):
            base = node.inputs[0]
            self.remember(node.name, self.memory.get(base), _expression(node, self.nodes), comment, self.seen.get(base))
            return
        for operand in node.inputs:
            self.read(operand)
        self.remember(node.name, None, _expression(node, self.nodes), comment)

    def source(self) -> str:
        inputs = [v.name for v in self.graph.inputs]
        for i, name in enumerate(inputs):
            array = self.memory.pop(name, None)
            if array is None:
                self.lines.append(f"{name} = inputs[{i}]")
            else:
                self.lines.append(f"m{array} = inputs[{i}]")
                self.remember(name, array, f"m{array}")
        ops = self.needed()
        sizes, bound = self.graph.sizes_of([*ops, *(n for w in self.writes.values() for n in self.chain(w))])
        self.lines += [f"{size} = sizes[{i}]" for i, size in enumerate(sizes)]
        self.lines += [f"{size} = inputs[{i}].shape[{axis}]" for size, (i, axis) in sorted(bound.items())]
        for node in ops:
            if write := self.writes.get(node.name):
                self.write(write)
            else:
                self.compute(node)
        for i, name in enumerate(self.graph.outputs):
            given = self.memory.get(name) in self.inputs  # a view of an argument, which shows what is there
            self.lines += [] if given else [f"fill(outputs[{i}], {self.read(name)})"]
        self.sizes = sizes
        return _PRELUDE + _FILL + "def script(inputs, sizes, outputs):\n" + "".join(f"    {at}\n" for at in self.lines)


_FILL = """\
def fill(output, value):
    if output is not None:
        output[...] = value

"""


def statements(text: str, writes: list[tuple[int, ...]]):
    """(run, numbers of the symbols it wants as ``sizes``): ``run(inputs, sizes, outputs)`` works on ``inputs``, arrays
    over the memory of the call, and fills ``outputs``. If it raises, ``inputs`` are as they were."""
    graph = Graph(text)
    if graph._controlled:
        raise NotImplementedError("a graph with loops or branches")
    script = _Script(graph, [Write(array, *(f"v{i}" for i in ids), bool(made)) for array, *ids, made in writes])
    namespace: dict = {}
    exec(compile(script.source(), "<fusewire statements>", "exec"), namespace)  # noqa: S102 - source of our own making
    function, written = namespace["script"], sorted(script.inputs.values())

    def run(inputs, sizes, outputs):
        kept = [inputs[i].copy() for i in written]
        try:
            with np.errstate(**{kind: how if how == "ignore" else "raise" for kind, how in np.geterr().items()}):
                function(inputs, sizes, outputs)
        except BaseException:
            for i, content in zip(written, kept):
                inputs[i][...] = content
            raise

    return run, [graph._symbols.index(s) for s in script.sizes]
