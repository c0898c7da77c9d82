"""sys.settrace and sys.setprofile see the user's frames as they would without Fusewire.

Functions are warm when tracing starts: compiled, spliced, with variants. Events of library and test code are left out.
"""

import sys

import pytest

import fusewire
import test_break_matrix as matrix
import test_language_corpus as corpus
from break_cells import Keep, Sink, build

CASES = [c for c in corpus.CASES if c.group not in ("others", "dataclasses")][::6]
CELLS = [c for c in matrix.CELLS if c.kind in ("opaque", "third") and c.position in ("middle", "all")][::3]


def traced(function, arguments, wanted, tool):
    """Events as (kind, function, line) of frames whose file `wanted` accepts."""
    events = []

    def tracer(frame, event, argument):
        if wanted(frame.f_code.co_filename):
            detail = None if event in ("line", "call") else type(argument).__name__ if event == "return" else getattr(argument, "__name__", None)
            events.append((event, frame.f_code.co_name, frame.f_lineno, detail))
        return tracer

    def profiler(frame, event, argument):
        if wanted(frame.f_code.co_filename):
            events.append((event, frame.f_code.co_name, frame.f_lineno, getattr(argument, "__name__", None) if event[0] == "c" else None))

    start, hook = (sys.settrace, tracer) if tool == "settrace" else (sys.setprofile, profiler)
    start(hook)
    try:
        function(*arguments)
    except Exception as error:
        events.append(type(error).__name__)
    finally:
        start(None)
    return events


def warm_up(function, arguments):
    for _ in range(4):
        try:
            function(*arguments())
        except Exception:
            pass


@pytest.mark.parametrize("tool", ["settrace", "setprofile"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_corpus(case, tool, capsys):
    plain, compiled = case.make(), fusewire.compile(case.make())
    wanted = lambda name: name.endswith(".py") and "/corpus_lang_" in name
    for function in (plain, compiled):
        case.reset()
        warm_up(function, case.sets[0])
    for arguments in case.sets[:2]:
        case.reset()
        expected = traced(plain, arguments(), wanted, tool)
        case.reset()
        assert traced(compiled, arguments(), wanted, tool) == expected


@pytest.mark.parametrize("tool", ["settrace", "setprofile"])
@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_cells(cell, tool, capsys):
    arguments = lambda: (*matrix.ARGUMENTS[0](), Sink(), Keep(), [])
    plain, _ = build(cell)
    compiled, _ = build(cell, fusewire.compile)
    wanted = lambda name: name == f"<{cell.name}>"
    for function in (plain, compiled):
        warm_up(function, arguments)
    for _ in range(2):
        assert traced(compiled, arguments(), wanted, tool) == traced(plain, arguments(), wanted, tool)


@pytest.mark.parametrize("cell", CELLS[::4], ids=lambda cell: cell.name)
def test_warm_again_after_tracing(cell, capsys):
    """Tracing leaves nothing behind."""
    arguments = lambda: (*matrix.ARGUMENTS[0](), Sink(), Keep(), [])
    call, module = build(cell, fusewire.compile)
    plain, plain_module = build(cell)
    warm_up(call, arguments)
    traced(call, arguments(), lambda name: False, "settrace")
    for i in (0, 1, 0):
        matrix.assert_same_observation(matrix.observe_cell(plain, plain_module, matrix.ARGUMENTS[i]()),
                                       matrix.observe_cell(call, module, matrix.ARGUMENTS[i]()))
