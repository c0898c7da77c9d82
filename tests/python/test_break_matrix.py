"""Graph breaks at every position of every construct: plain and compiled let the same be seen (cells: break_cells.py)."""

import numpy as np
import pytest

import fusewire
import ledger
from break_cells import Keep, Sink, build, cells
from observe import assert_same_observation, observe
from test_language_corpus import BUGS, describe

CELLS = cells()
ARGUMENTS = [lambda: (np.array([1.0, -2.0, 3.5, 4.0]), 3), lambda: (np.array([[1, -2], [3, 4]], np.float32), 2),
             lambda: (np.array([3, 5, 7]), 0)]
ORDER = (0, 1, 0, 2, 1, 0, 2)


def test_size_of_the_matrix():
    assert len(CELLS) >= 1000
    assert len({c.name for c in CELLS}) == len(CELLS)
    ledger.check_complete("breaks", [c.name for c in CELLS])


def observe_cell(call, module, arguments):
    module["state"], module["seen"] = None, []
    return observe(call, (*arguments, Sink(), Keep(), []), lambda: (module["state"], module["seen"]))


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_same_as_python(cell):
    compiled = None

    def wrap(function):
        nonlocal compiled
        compiled = fusewire.compile(function, economy=False)
        return compiled

    plain, plain_module = build(cell)
    call, module = build(cell, wrap)
    for turn, i in enumerate(ORDER):
        expected = observe_cell(plain, plain_module, ARGUMENTS[i]())
        actual = observe_cell(call, module, ARGUMENTS[i]())
        try:
            assert_same_observation(expected, actual)
        except AssertionError as error:
            raise AssertionError(f"argument set {i}, turn {turn}: {error}\n{describe(target(compiled))}\n{cell.source}") from None
    bugs = [b for b in fusewire._fusewire.describe(target(compiled))["breaks"] if b["reason"] in BUGS]
    assert not bugs, bugs
    ledger.check("breaks", cell.name, target(compiled))


def target(compiled):
    return getattr(compiled, "__func__", compiled)
