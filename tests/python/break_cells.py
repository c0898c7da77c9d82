"""Source text of functions with graph breaks: every construct of the language, every kind of break, at every position.

A template has slots: lines `@` (statements) or calls `B(expression)` (expressions). A cell fills the slots of one position
with a break of one kind and the others with ordinary array work. `cells()` lists all of them.
"""

from __future__ import annotations

import dataclasses
import re
import sys
import textwrap

import numpy as np

import fusewire


class Boom(Exception):
    pass


class Scope:
    """A context manager that logs; swallows Boom on demand."""

    def __init__(self, log, name="s", swallow=False):
        self.log, self.name, self.swallow = log, name, swallow

    def __enter__(self):
        self.log.append(("in", self.name))
        return self.name

    def __exit__(self, kind, error, tb):
        self.log.append(("out", self.name, kind and kind.__name__))
        return self.swallow and kind is Boom

    async def __aenter__(self):
        return self.__enter__()

    async def __aexit__(self, *what):
        return self.__exit__(*what)


class Sink(list):
    """A user object whose `append` is C code that capture knows nothing of."""


class Keep(dict):
    pass


def hidden(value=None):
    """Looks at its own frame, so that it cannot become part of a trace."""
    sys._getframe(0)
    return value


def blow(sink, value=None):
    """Raises from the third call on."""
    sys._getframe(0)
    sink.append("blow")
    if len(sink) > 2:
        raise Boom("blown", len(sink))
    return value


# Kind -> statement, expression around {}.
KINDS = {
    "opaque": ("sink.append(x.sum())", "keep.setdefault(len(keep), {})"),
    "print": ('print("at", x.shape, x.sum())', '(print("at"), {})[1]'),
    "python": ("hidden(x)", "hidden({})"),
    "raise": ("raise Boom('here', x.ndim)", "blow(sink + [1, 2, 3], {})"),
    "third": ("blow(sink, x)", "blow(sink, {})"),
}
if hasattr(fusewire, "graph_break"):
    KINDS["asked"] = ("fusewire.graph_break()", "(fusewire.graph_break(), {})[1]")

# Position -> the slots that it takes, of `count`.
POSITIONS = {
    "first": lambda count: {0},
    "middle": lambda count: {count // 2},
    "last": lambda count: {count - 1},
    "second": lambda count: set(range(1, count, 2)),
    "all": lambda count: set(range(count)),
}

STATEMENTS = {
    "straight": """
        @
        y = x * 2
        @
        z = y + x
        @
        return z, y - 1
        """,
    "straight_early": """
        @
        y = x * 2
        if n > 2:
            @
            return y
        @
        return y + n
        """,
    "for": """
        @
        y = x
        for i in range(n):
            @
            y = y + i
            @
            x = x * 2
            @
        @
        return y + x
        """,
    "for_else": """
        for i in range(n):
            @
            x = x + i
            if i == 2:
                @
                break
        else:
            @
            x = x - 10
        @
        return x
        """,
    "for_list": """
        for item in [x, x * 2, x.sum()]:
            @
            x = x + item
            @
        return x
        """,
    "for_rows": """
        total = 0.0
        for row in x:
            @
            total = total + row.sum()
            @
        return total
        """,
    "for_enumerate_zip": """
        for i, (a, b) in enumerate(zip([1, 2, 3], (4, 5))):
            @
            x = x * a + b * i
            @
        return x, i, a, b
        """,
    "while": """
        i = 0
        @
        while i < n:
            @
            x = x + i
            i += 1
            @
        return x, i
        """,
    "while_else": """
        while n:
            n -= 1
            @
            if n == 1:
                x = x * 3
                @
                continue
            x = x + n
            @
        else:
            @
            x = -x
        return x
        """,
    "while_true": """
        i = 0
        while True:
            @
            i += 1
            x = x + i
            if i > n:
                @
                break
            @
        return x
        """,
    "nested_loops": """
        for i in range(n):
            @
            y = x + i
            for j in range(3):
                if j == 1:
                    @
                    continue
                @
                x = x + y * j
                if i + j == 3:
                    @
                    break
            else:
                @
                x = x - 1
        return x
        """,
    "loop_in_while_in_for": """
        for i in range(2):
            k = n
            while k > 0:
                k -= 1
                @
                for j in (1, 2):
                    x = x + j * k
                    @
                @
            @
        return x, k
        """,
    "with": """
        with Scope(log) as name:
            @
            x = x + len(name)
            @
            y = x * 2
            @
        @
        return y
        """,
    "nested_with": """
        with Scope(log, "a"), Scope(log, "b"):
            @
            x = x + 1
            with Scope(log, "c"):
                @
                x = x * 2
            @
        return x
        """,
    "with_swallowing": """
        y = x
        with Scope(log, "a", True):
            @
            y = x + 1
            with Scope(log, "b"):
                @
                y = y * 2
            @
        @
        return y
        """,
    "with_in_loop": """
        for i in range(n):
            with Scope(log, i, True):
                @
                x = x + i
                if i == 1:
                    @
                    continue
                @
        return x
        """,
    "try_except": """
        try:
            @
            y = x + 1
            @
            x = y * 2
        except Boom as e:
            log.append(e.args)
            x = x - 1
        @
        return x
        """,
    "except_body": """
        for i in range(n):
            try:
                y = x * 2
                if i % 2 == 0:
                    raise KeyError(i)
                x = y - 1
            except KeyError as e:
                @
                x = x + e.args[0]
                @
                log.append(i)
                @
        @
        return x
        """,
    "try_finally": """
        try:
            @
            x = x + 1
            @
        finally:
            @
            log.append(x.sum())
            @
        return x
        """,
    "try_all": """
        for i in range(n + 1):
            try:
                @
                x = x + i
                if i == 1:
                    raise ValueError(i)
            except ValueError:
                @
                x = x * 2
            else:
                @
                x = x - 1
            finally:
                @
                log.append(i)
        return x
        """,
    "try_nested": """
        try:
            @
            try:
                @
                x = x + 1
                raise KeyError("k")
            except KeyError:
                @
                x = x * 2
                raise ValueError("v")
            finally:
                @
                log.append("f")
        except (ValueError, Boom) as e:
            @
            log.append((type(e).__name__, type(e.__context__).__name__))
        return x
        """,
    "try_return_finally": """
        for i in range(n):
            try:
                @
                x = x + i
                if i == 1:
                    return x
            finally:
                @
                log.append(i)
        @
        return x * 2
        """,
    "except_star": """
        try:
            @
            raise ExceptionGroup("g", [ValueError(1), KeyError(2)])
        except* ValueError as g:
            @
            x = x + len(g.exceptions)
        except* KeyError:
            @
            x = x * 2
        @
        return x
        """,
    "match": """
        for command in ("go", ("turn", 2), {"k": 3}, None, 5)[: n + 2]:
            match command:
                case "go":
                    @
                    x = x + 1
                case ("turn", by):
                    @
                    x = x * by
                case {"k": v}:
                    @
                    x = x - v
                case int(v) if v > 4:
                    @
                    x = x / v
                case _:
                    @
                    log.append(command)
        return x
        """,
    "nested_function": """
        def inner(y, k=2):
            @
            z = y * k
            @
            return z + 1

        @
        a = inner(x)
        @
        return a, inner(a, 3)
        """,
    "closure": """
        total, last = 0, None

        def add(v):
            nonlocal total, last
            @
            total = total + v
            @
            last = v

        for i in range(n):
            @
            add(x * i)
            x = x + 1
        return total, last, add
        """,
    "recursion": """
        def down(y, k):
            @
            if k == 0:
                @
                return y
            y = down(y + k, k - 1)
            @
            return y * 2

        return down(x, n)
        """,
    "generator": """
        def gen(y):
            @
            for i in range(n):
                y = y + i
                @
                yield y
                @
            return y

        total = x
        for v in gen(x):
            @
            total = total + v
        return total
        """,
    "generator_delegates": """
        def inner(y):
            @
            got = yield y + 1
            @
            return got

        def outer(y):
            r = yield from inner(y)
            @
            yield r, y

        return list(outer(x))
        """,
    "class_made": """
        class Made:
            k = n
            @
            def __init__(self, v):
                @
                self.v = v * self.k

            @property
            def twice(self):
                @
                return self.v * 2

        m = Made(x)
        @
        return m.twice, m.v
        """.replace("@property", "_@property"),
    "in_place": """
        y = x.copy()
        y[..., :1] = 5
        @
        x[..., 0] = n
        @
        x += 1
        @
        y *= x
        return x, y
        """,
    "in_place_loop": """
        w = x[..., 1:]
        for i in range(n):
            w += i
            @
            x[..., 0] = i
            @
        return w, x
        """,
    "globals": """
        global state
        state = x
        @
        state = state + n
        @
        seen.append(state)
        @
        return state
        """,
    "containers": """
        items, table = [x], {"a": x}
        @
        items.append(table)
        table["b"] = items
        @
        log.append(items)
        items[0] = x + 1
        @
        return items, table
        """,
    "objects": """
        box = Box(x)
        @
        box.v = box.v + 1
        @
        box.other = [box.v, n]
        @
        return box.v * 2, box
        """,
    "iterators": """
        it = iter([1, 2, 3, 4])
        @
        x = x + next(it)
        @
        for v in it:
            x = x * v
            @
            if v == 3:
                break
        @
        return x, it
        """,
    "deleted_locals": """
        y = x + 1
        @
        del x
        z = y * 2
        @
        x = z
        del y
        @
        return x
        """,
}

EXPRESSIONS = {
    "binary": "return (x + B(x * 2)) * (B(n) + B(x.sum()))",
    "deep_stack": "return [x, (n, {'a': [B(x), (x * 2, [B(n), (x - 1, B(x + 1))])]})]",
    "call_arguments": "return helper(B(x), B(n), B(3), k=B(2))",
    "keyword_arguments": "return helper(k=B(x), a=B(n), b=x + 1, c=B(2))",
    "star_arguments": "return helper(*B((x, n)), *[B(1)], **B({'k': x}))",
    "method_call": "return B(x).reshape(B(-1)).sum(axis=B(0))",
    "nested_calls": "return helper(helper(B(x), 1, 2), helper(n, B(x), B(2)), B(x))",
    "fstring": "return f'{B(n)} {x.sum():.{B(2)}f} {B(x.ndim)!r}', x + 1",
    "subscript": "return [x, x * 2, x * 3][B(n) % 3], {'a': x}[B('a')], x[..., B(0)]",
    "slices": "return x[..., B(0):B(2)], x[..., ::B(-1)]",
    "subscript_store": "d = {}\nd[B('a')] = B(x)\nd['b'] = [B(n)]\nx[..., B(0)] = B(7)\nreturn d, x",
    "attribute_store": "box = Box(B(x))\nB(box).v = B(x) + 1\nB(box).w = n\nreturn box",
    "augmented": "y = x.copy()\ny += B(n)\nlog.append(0)\nlog[B(0)] += B(2)\nreturn y, log",
    "comparison_chain": "return B(0) < B(n) <= B(3) != B(7), x + 1",
    "boolean": "return (B(n) and B(x)), (B(0) or B(n)), not B(n), (n and B(0) or B(x))",
    "conditional": "return B(x) if B(n) > 2 else B(-x)",
    "walrus": "return (y := B(x + 1)) * (k := B(n)), y - B(k)",
    "displays": "return [B(x), *B([1, 2])], (B(n), x), {B(1), 2}, {B('k'): B(x), **B({})}",
    "list_comprehension": "return [B(x) + B(i) for i in B(range(n)) if B(i) != 1]",
    "dict_comprehension": "return {B(i): B(x * i) for i in B(range(n))}",
    "set_comprehension": "return {B(i) for i in B(range(n)) if B(True)}, x + 1",
    "generator_expression": "return sum(B(i) for i in B(range(n))) + x, list(x * B(j) for j in (1, 2))",
    "nested_comprehension": "return [[B(x) * j + i for j in B(range(2))] for i in range(B(n))]",
    "lambda": "f = lambda y, k=B(2): B(y) * k + B(n)\nreturn f(x), f(B(x), 3)",
    "decorator": "@B(wrap)\n@B(wrap)\ndef f(y):\n    return B(y) + 1\nreturn f(B(x))",
    "defaults": "def f(y, k=B(n), *, z=B(3)):\n    return B(y) * k + z\nreturn f(x), f",
    "for_iterable": "for i in B([1, 2]):\n    for B([0])[0] in B((3, 4)):\n        x = x + B(i)\nreturn x",
    "while_condition": "while B(n) > 0:\n    n = n - B(1)\n    x = x + B(n)\nreturn x",
    "if_condition": "if B(n) > 2:\n    y = B(x)\nelif B(n) == 2:\n    y = -B(x)\nelse:\n    y = B(n)\nreturn y, x + 1",
    "with_expression": "with B(Scope(log)) as a, Scope(B(log), B('t')):\n    x = B(x) + len(a)\nreturn x",
    "raise_expression": "try:\n    raise B(KeyError)(B(n)) from B(None)\nexcept B(KeyError) as e:\n    return B(e.args), x + 1",
    "assert": "assert B(n) < 3, B('text')\nreturn B(x) * 2",
    "match_subject": "match B(n):\n    case 3 if B(True):\n        return B(x)\n    case k:\n        return B(k), x + 1",
    "unpacking": "a, *b = B([x, n, 3])\n(c, d), e = (B(1), x), B(2)\nreturn a + B(c), b, d, e",
    "yield": "def gen():\n    got = yield B(x)\n    yield B(got), x + 1\n    yield from B([n])\ng = gen()\nreturn next(g), g.send(B(3)), list(g)",
    "try_in_expression_stack": "try:\n    return helper(x, B(n), {}['k'])\nexcept B(KeyError) as e:\n    return [x, B(e.args), helper(B(1), 2, x)]",
    "string_building": "s = ''\nfor i in range(n):\n    s += str(B(i)) + B('-')\nreturn s % B(()), x + 1",
    "numpy_calls": "return np.where(B(x) > 0, B(x) * 2, B(n)), np.add(x, B(1), out=B(x.copy()))",
    "tuple_compare": "return (B(1), n) < (1, B(2)), B(x) is x, B(n) in (1, B(2), 3), x - 1",
    "returned_early": "for i in range(n):\n    if B(i) == 1:\n        return B(x) + B(i)\nreturn B(x)",
}

HEADER = "def f(x, n, sink, keep, log):\n"


@dataclasses.dataclass(frozen=True)
class Cell:
    construct: str
    kind: str
    position: str
    source: str
    how: str = "call"    # or: method, classmethod, drain (generator), drive (coroutine)

    @property
    def name(self) -> str:
        return f"{self.construct}-{self.kind}-{self.position}"


def fill_statements(template: str, kind: str, taken: set[int]) -> str:
    lines, slot = [], 0
    for line in textwrap.dedent(template).strip("\n").splitlines():
        if line.strip() == "@":
            indent = line[: len(line) - 1]
            line = indent + (KINDS[kind][0] if slot in taken else f"log.append({slot})")
            slot += 1
        lines.append(line.replace("_@", "@"))
    return "\n".join(lines)


def fill_expressions(template: str, kind: str, taken: set[int]) -> str:
    """Replaces B(...) from left to right; parentheses nest."""
    out, slot, at, closing = "", 0, 0, []
    before, after = KINDS[kind][1].split("{}")
    while at < len(template):
        if template.startswith("B(", at) and not (at and (template[at - 1].isalnum() or template[at - 1] == "_")):
            if slot in taken:
                out, end = out + "(" + before, after + ")"
            else:
                out, end = out + "(", ")"
            slot, at = slot + 1, at + 2
            closing.append(end)
            continue
        c = template[at]
        if c == "(":
            closing.append(")")
            out += c
        elif c == ")":
            out += closing.pop()
        else:
            out += c
        at += 1
    return out


def slots(template: str, statements: bool) -> int:
    return len(re.findall(r"^\s*@$", template, re.M) if statements else re.findall(r"\bB\(", template))


def cells() -> list[Cell]:
    found = []
    for table, fill, statements in ((STATEMENTS, fill_statements, True), (EXPRESSIONS, fill_expressions, False)):
        for construct, template in table.items():
            count = slots(template, statements)
            for kind in KINDS:
                done = set()
                for position, choose in POSITIONS.items():
                    taken = choose(count)
                    if not taken or frozenset(taken) in done:
                        continue
                    done.add(frozenset(taken))
                    body = textwrap.indent(fill(template, kind, taken), "    ")
                    found.append(Cell(construct, kind, position, HEADER + body + "\n"))
                    found += variants(found[-1])
    return found


def variants(cell: Cell) -> list[Cell]:
    """The same body as a method, a class method, a generator and a coroutine, for some constructs."""
    made = []
    change = lambda construct, source, how: made.append(dataclasses.replace(cell, construct=construct, source=source, how=how))
    body = cell.source[len(HEADER):]
    inside = textwrap.indent(body, "    ")
    if cell.construct == "straight":
        change("method", "class C:\n    def f(self, x, n, sink, keep, log):\n" + inside, "method")
        change("class_method", "class C:\n    @classmethod\n    def f(cls, x, n, sink, keep, log):\n" + inside, "method")
        change("keywords_and_defaults", "def f(x, n, sink, keep, log, *args, late=3, **more):\n" + body.replace("z = y + x", "z = y + x * late"), "call")
    elif cell.construct == "for":
        change("generator_function", HEADER + body.replace("y = y + i", "y = y + i; got = yield y"), "drain")
        change("async_for_body", "async " + HEADER + body.replace("y = y + i", "y = y + await later(i)"), "drive")
    elif cell.construct == "with":
        change("async_with", "async " + HEADER + body.replace("with Scope", "async with Scope"), "drive")
    elif cell.construct == "try_all":
        change("generator_try", HEADER + body.replace("x = x + i", "x = x + i; yield x"), "drain")
    elif cell.construct == "list_comprehension":
        change("comprehension_in_method", "class C:\n    def f(self, x, n, sink, keep, log):\n" + inside, "method")
    return made


class Later:
    def __init__(self, value):
        self.value = value

    def __await__(self):
        yield "waiting"
        return self.value


def drain(generator):
    out = []
    try:
        while True:
            out.append(next(generator) if len(out) % 2 == 0 else generator.send(len(out)))
    except StopIteration as stop:
        return out, stop.value


def drive(coroutine):
    steps = 0
    try:
        while True:
            coroutine.send(None)
            steps += 1
    except StopIteration as stop:
        return steps, stop.value


def build(cell: Cell, wrap=lambda function: function):
    """The cell's function in a module of its own, as a plain callable; `wrap` decorates it. Answers (call, module)."""

    module = {"np": np, "fusewire": fusewire, "Boom": Boom, "Scope": Scope, "hidden": hidden, "blow": blow, "Box": Box, "later": Later,
              "wrap": wrapped, "helper": helper, "state": None, "seen": [], "__name__": "cell"}
    exec(compile(cell.source, f"<{cell.name}>", "exec"), module)
    if cell.how == "method":
        function = wrap(module["C"]().f)
    else:
        function = wrap(module["f"])
    if cell.how == "drain":
        return lambda *a: drain(function(*a)), module
    if cell.how == "drive":
        return lambda *a: drive(function(*a)), module
    return function, module


class Box:
    def __init__(self, v):
        self.v = v


def wrapped(f):
    return lambda *a: f(*a) * 2


def helper(a, b=1, c=2, *, k=1):
    return a * k + b - c

