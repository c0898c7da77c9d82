"""No call hangs because it is compiled: see scaling.py, whose constructs stand in scaling_*.py."""

from pathlib import Path

import pytest

import scaling

MODULES = sorted(path.stem for path in Path(__file__).parent.glob("scaling_*.py"))
CONSTRUCTS = [what for module in MODULES for what in scaling.load(module)]


@pytest.mark.parametrize("what", CONSTRUCTS, ids=lambda what: what.name)
def test_scales(what):
    scaling.check(what)


def test_there_are_enough_of_them():
    assert len(CONSTRUCTS) >= 20  # a half of the suite; the other half is about the size of graphs


def table(*rows):
    return {10 ** (i + 1): {"plain": plain, "calls": list(calls)} for i, (plain, calls) in enumerate(rows)}


def test_slow_calls_are_told():
    what = scaling.Construct("planted", "", "elements", None, (), gains=False)
    assert not scaling.problems(what, table((0.001, [0.04, 0.001])))
    assert scaling.problems(what, table((0.001, [0.06, 0.001])))
    assert scaling.problems(what, table((0.001, [0.04, 0.06])))


def test_parabolas_are_told():
    what = scaling.Construct("planted", "", "elements", None, (), gains=True)
    straight = [(0.001, [0.01 * 10**i]) for i in range(4)]
    bent = [(0.001, [0.001 * 100**i]) for i in range(4)]
    assert not scaling.problems(what, table(*straight))
    assert scaling.problems(what, table(*bent))


def test_a_construct_that_does_not_end_is_told(monkeypatch):
    monkeypatch.setattr(scaling, "TIMEOUT", 0.01)
    with pytest.raises(AssertionError, match="has not ended"):
        scaling.check(CONSTRUCTS[0])
