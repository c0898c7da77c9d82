"""Makes a program that differs as small as it gets, as long as the same kind of thing still differs.

Whole calls go first, then statements in halves, quarters ... and one by one, then compound statements give way to their bodies,
then expressions to their parts or to simple values. Every candidate is checked in a process of its own, so that crashes and
hangs are made smaller like anything else.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import warnings
from collections.abc import Callable, Iterator

from fuzz.program import Program
from fuzz.work import isolated

_BODIES = ("body", "orelse", "finalbody", "handlers", "cases")


def minimise(program: Program, mode: str, kind: str, budget: int = 600,
             still_differs: Callable[[Program], bool] | None = None) -> Program:
    """`budget` is how many candidates are tried at most."""
    tried: set[str] = set()
    left = [budget]

    def accept(candidate: Program) -> bool:
        key = candidate.text()
        if left[0] <= 0 or key in tried:
            return False
        tried.add(key)
        left[0] -= 1
        if still_differs is not None:
            return still_differs(candidate)
        report = isolated(candidate, mode)
        return bool(report.difference) and report.kind == kind

    while left[0] > 0:
        before = program.text()
        program = _calls(program, accept)
        program = _text(program, accept, lambda p: p.source, lambda p, text: dataclasses.replace(p, source=text))
        for i in range(len(program.calls)):
            program = _text(program, accept, lambda p: p.calls[i], lambda p, text: dataclasses.replace(
                p, calls=(*p.calls[:i], text, *p.calls[i + 1:])))
        if program.text() == before:
            break
    return program


def _calls(program: Program, accept) -> Program:
    size = max(1, len(program.calls) // 2)
    while size:
        i = 0
        while i < len(program.calls):
            candidate = dataclasses.replace(program, calls=program.calls[:i] + program.calls[i + size:])
            if candidate.calls and accept(candidate):
                program = candidate
            else:
                i += size
        size //= 2
    return program


def _text(program: Program, accept, read, write) -> Program:
    """Shrinks one text of the program by editing its syntax tree."""
    for edits in (_without_statements, _unwrapped, _simpler_expressions):
        at = 0
        while True:
            tree = ast.parse(read(program))
            candidates = edits(tree)
            for position, make in enumerate(candidates):
                if position < at:
                    continue
                changed = make()
                if changed is None:
                    continue
                candidate = write(program, changed)
                if len(candidate.text()) <= len(program.text()) and accept(candidate):
                    program, at = candidate, position
                    break
            else:
                break
    return program


def _render(tree: ast.AST) -> str | None:
    try:
        text = ast.unparse(ast.fix_missing_locations(tree))
        with warnings.catch_warnings():
            warnings.simplefilter("error")   # SyntaxWarning: 1 is not callable
            compile(text, "<candidate>", "exec")
        return text + "\n"
    except (SyntaxError, SyntaxWarning, ValueError):
        return None


def _blocks(tree: ast.AST) -> list[tuple[ast.AST, str]]:
    return [(node, name) for node in ast.walk(tree) for name in _BODIES
            if isinstance(getattr(node, name, None), list) and getattr(node, name)]


def _edited(tree: ast.AST, number: int, name: str, edit) -> str | None:
    """The text after `edit` of a list of statements in a copy of the tree."""
    twin = copy.deepcopy(tree)
    node = list(ast.walk(twin))[number]
    setattr(node, name, edit(getattr(node, name)))
    if name == "body" and not node.body and not isinstance(node, ast.Module):
        node.body = [ast.Pass()]
    return _render(twin)


def _without_statements(tree: ast.AST) -> Iterator[Callable[[], str | None]]:
    numbers = {id(node): i for i, node in enumerate(ast.walk(tree))}
    for node, name in _blocks(tree):
        count = len(getattr(node, name))
        size = count
        while size:
            for start in range(0, count, size):
                part = getattr(node, name)[start:start + size]
                if not all(isinstance(statement, ast.Pass) for statement in part):
                    yield lambda n=numbers[id(node)], name=name, start=start, size=size: _edited(
                        tree, n, name, lambda body: body[:start] + body[start + size:])
            size //= 2


def _unwrapped(tree: ast.AST) -> Iterator[Callable[[], str | None]]:
    """Compound statements replaced by one of their blocks."""
    numbers = {id(node): i for i, node in enumerate(ast.walk(tree))}
    for node, name in _blocks(tree):
        for at, statement in enumerate(getattr(node, name)):
            if isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.Module)):
                continue
            for inner in _BODIES:
                if getattr(statement, inner, None):
                    yield lambda n=numbers[id(node)], name=name, at=at, inner=inner: _edited(
                        tree, n, name, lambda body: body[:at] + _inside(body[at], inner) + body[at + 1:])


def _inside(statement: ast.stmt, name: str) -> list[ast.stmt]:
    inside = getattr(statement, name)
    return [s for handler in inside for s in handler.body] if name in ("handlers", "cases") else inside


def _simpler_expressions(tree: ast.AST) -> Iterator[Callable[[], str | None]]:
    nodes = list(ast.walk(tree))
    for number, node in enumerate(nodes):
        for field, value in ast.iter_fields(node):
            for at, expression in enumerate(value if isinstance(value, list) else [value]):
                if not isinstance(expression, ast.expr) or isinstance(expression, ast.Starred):
                    continue
                for choice in range(len(_replacements(expression))):
                    yield lambda number=number, field=field, at=at, choice=choice: _replaced(tree, number, field, at, choice)
                if isinstance(value, list):
                    yield lambda number=number, field=field, at=at: _edited(
                        tree, number, field, lambda items: items[:at] + items[at + 1:])


def _replacements(expression: ast.expr) -> list[ast.expr]:
    """Simpler expressions to stand in its place, simplest first."""
    if isinstance(expression, ast.Constant):
        value = expression.value
        if type(value) is int and abs(value) > 1:
            return [ast.Constant(v) for v in dict.fromkeys([1, 2, value // 2, value - 1]) if v != value]
        if type(value) is float and value not in (0.0, 1.0):
            return [ast.Constant(1.0), ast.Constant(2.0)]
        return []
    if isinstance(expression, ast.Name):
        return []
    parts = [child for child in ast.iter_child_nodes(expression) if isinstance(child, ast.expr)]
    parts += [keyword.value for keyword in getattr(expression, "keywords", [])]
    if isinstance(getattr(expression, "ctx", None), ast.Store):
        return [part for part in parts if isinstance(getattr(part, "ctx", None), (ast.Store, ast.Load))
                and isinstance(part, (ast.Name, ast.Subscript, ast.Attribute))]
    return [*parts, ast.Constant(1)]


def _replaced(tree: ast.AST, number: int, field: str, at: int, choice: int) -> str | None:
    twin = copy.deepcopy(tree)
    node = list(ast.walk(twin))[number]
    value = getattr(node, field)
    old = value[at] if isinstance(value, list) else value
    new = copy.deepcopy(_replacements(old)[choice])
    if isinstance(getattr(old, "ctx", None), (ast.Store, ast.Del)) and hasattr(new, "ctx"):
        new.ctx = old.ctx
    if isinstance(value, list):
        value[at] = new
    else:
        setattr(node, field, new)
    return _render(twin)
