"""The language inside compiled functions: each case is captured whole and answers what plain Python answers; what is not captured
breaks with the reason given."""

import numpy as np
import pytest

import fusewire
from corpus_language import BROKEN, WHOLE

A = np.arange(6.0).reshape(2, 3) + 1


def same(left, right):
    assert type(left) is type(right), (left, right)
    if isinstance(left, (tuple, list)):
        assert len(left) == len(right), (left, right)
        for a, b in zip(left, right):
            same(a, b)
    elif isinstance(left, dict):
        assert list(left) == list(right), (left, right)
        for key in left:
            same(left[key], right[key])
    elif isinstance(left, (set, frozenset)):
        assert list(left) == list(right), (left, right)
    elif isinstance(left, type):
        assert left is right
    elif isinstance(left, np.ndarray):
        assert left.dtype == right.dtype and left.shape == right.shape
        assert np.array_equal(left, right)
    else:
        assert left == right, (left, right)


@pytest.mark.parametrize("fn", WHOLE, ids=lambda fn: fn.__name__)
def test_whole(fn):
    expected = fn(A.copy())
    explained = fusewire.explain(fn)(A.copy())
    assert not explained.facts["breaks"], explained.facts["breaks"]
    same(explained.result, expected)


@pytest.mark.parametrize("fn, reason", BROKEN, ids=lambda x: getattr(x, "__name__", x))
def test_broken(fn, reason, capsys):
    def outcome(call):
        try:
            result = call(A.copy())
        except Exception as e:
            return type(e), str(e), capsys.readouterr().out
        return result, None, capsys.readouterr().out
    expected = outcome(fn)
    compiled = fusewire.compile(fn)
    for _ in range(3):
        same(outcome(compiled), expected)
    explained = None
    if expected[1] is None:
        explained = fusewire.explain(fn)(A.copy())
        assert reason in {b["reason"] for b in explained.facts["breaks"]}, explained.facts["breaks"]
