"""What float32 would bring where float32 arrays are computed as float64: the same operations are timed in both, on arrays
of the sizes that the program has had. In a process of its own at the end of a trace, which it cannot disturb.

Run as a program it reads [{graph, symbols}] as JSON and answers [[ns in float64, ns in float32] or null]."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time

_TYPED = re.compile(r"^\s*%(\d+) = (\w+)\(([^)]*)\)[^:\n]*: (\w+)(\[[^\]]*\])?(?: layout=\S+)?(?: line=(\d+))?", re.M)
_NARROW = {"f64": "f32", "c128": "c64"}
_WIDE = re.compile(r"\b(f64|c128)(?=[\[(,)\s]|$)", re.M)
_SECONDS, _BYTES, _GRAPHS = 20, 256 << 20, 8


def upcasts(graph: str) -> dict[int, int]:
    """By line: operations on float64 arrays that float32 arrays were converted for; all operations of the graph at -1."""
    nodes = {m[1]: (m[2], re.findall(r"%(\d+)", m[3]), m[4], m[5], int(m[6] or 0)) for m in _TYPED.finditer(graph)}
    narrow, found, wide = {"f32": "f64", "f16": "f64", "c64": "c128"}, {}, set()
    work = 0
    for number, (op, inputs, dtype, shape, line) in nodes.items():
        if op in ("input", "constant") or not _is_array(shape):
            continue
        work += 1
        if op == "cast" and inputs and inputs[0] in nodes and narrow.get(nodes[inputs[0]][2]) == dtype and _is_array(nodes[inputs[0]][3]):
            found[line] = found.get(line, 0)
            wide.add(number)
            first = line
            continue
        if wide.intersection(inputs) and dtype in ("f64", "c128"):
            wide.add(number)
            found[first] = found.get(first, 0) + 1
    return {**found, -1: work} if found else {}


def _is_array(shape: str | None) -> bool:
    return shape not in (None, "", "[]")


def narrowed(graph: str) -> str:
    """The graph with float32 for float64; conversions that are none any more are gone."""
    rows, same = [], {}
    for row in _WIDE.sub(lambda found: _NARROW[found[1]], graph).splitlines():
        for old, new in same.items():
            row = re.sub(rf"%{old}\b", f"%{new}", row)
        cast = re.match(r"\s*%(\d+) = cast\(%(\d+)\)[^:]*: f32", row)
        source = cast and next((r for r in rows if re.match(rf"\s*%{cast[2]} = ", r)), "")
        if cast and re.search(r": f32(\[|\s|$)", source):
            same[cast[1]] = cast[2]
            continue
        rows.append(row)
    numbers = {old: str(new) for new, old in enumerate(re.findall(r"^\s*%(\d+)(?=[, =])", "\n".join(rows), re.M))}
    if same:  # numbers have to follow each other
        rows = [re.sub(r"%(\d+)\b", lambda found: "%" + numbers.get(found[1], found[1]), row) for row in rows]
    return "\n".join(rows) + "\n"


def _compiled(text: str, symbols: dict[str, int]):
    """(function, arguments)"""
    import numpy as np

    import fusewire

    graph = fusewire.Graph(text)
    if graph.sizes or graph.commits:
        raise NotImplementedError("sizes beside those of arrays")
    space: dict = {}
    exec(compile(graph.numpy_source(), "<graph>", "exec"), space)  # noqa: S102 - made by us, of a graph of this process
    arguments, total = [], 0
    for value in graph.inputs:
        shape = tuple(int(eval(str(size), {"__builtins__": {}}, dict(symbols))) for size in value.shape)  # noqa: S307 - likewise
        total += int(np.prod(shape)) * np.dtype(value.dtype).itemsize
        if total > _BYTES:
            raise MemoryError("too much for a trial")
        arguments.append((np.arange(np.prod(shape)) % 97 / 97 + 0.1).reshape(shape).astype(value.dtype))
    return fusewire.compile(space["graph"], economy=False), arguments


def _times(graph: str, symbols: dict[str, int]) -> list[float]:
    pair = [_compiled(text, symbols) for text in (graph, narrowed(graph))]
    for function, arguments in pair:
        for _ in range(6):
            kept = function(*arguments)
    best, until = [float("inf")] * 2, time.perf_counter() + 1.5
    for turn in range(400):
        if turn >= 8 and time.perf_counter() > until:
            break
        for i, (function, arguments) in enumerate(pair):
            begin = time.perf_counter_ns()
            kept = function(*arguments)
            best[i] = min(best[i], time.perf_counter_ns() - begin)
    del kept
    return best


def tried(graphs: list[dict]) -> list[list[float] | None]:
    """Of [{graph, symbols}]: ns in float64 and in float32, None where that cannot be tried."""
    if not graphs or not os.path.basename(sys.executable or "").startswith("python"):  # another program may be around Python
        return [None] * len(graphs)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("FUSEWIRE_")}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)  # fusewire is found as it was here
    try:
        done = subprocess.run([sys.executable, "-W", "ignore", "-m", "fusewire._report.narrow"], input=json.dumps(graphs[:_GRAPHS]), capture_output=True,
                              text=True, timeout=_SECONDS, env=environment)
        answers = json.loads(done.stdout) if done.returncode == 0 else []
    except (OSError, ValueError, subprocess.SubprocessError):
        answers = []
    return [*answers, *[None] * (len(graphs) - len(answers))]


def _main() -> None:
    answers = []
    for one in json.load(sys.stdin):
        try:
            answers.append(_times(one["graph"], one["symbols"]))
        except Exception:  # noqa: BLE001 - whatever it is, there is no trial of this graph
            answers.append(None)
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    _main()
