"""Collections are captured: no case of their corpus needs Python for what Fusewire says it follows."""

import io
import logging
import warnings

import numpy as np
import pytest

import fusewire
from corpus_lang_collections import corpus

# Which argument sets end in Python all the same, with the reason of the break.
LEFT_TO_PYTHON = {
    ("enum_argument_in_sets", 5): "unsupported-call",             # Level is an int with a __hash__ in C
    ("enum_argument_in_set_argument", 1): "unsupported-object",   # guards cannot tell that a set outside lacks a member of an enum
    ("enum_argument_in_set_argument", 2): "unsupported-object",
    ("enum_argument_in_set_argument", 3): "unsupported-object",
}


@pytest.mark.parametrize("case", corpus.cases, ids=lambda case: case.name)
def test_captured(case):
    for i, arguments in enumerate(case.sets):
        compiled = fusewire.compile(case.make(), compile_all=True, recompile_limit=64)
        wanted = LEFT_TO_PYTHON.get((case.name, i))
        try:
            compiled(*arguments())
        except Exception:
            continue   # the arguments of this set are wrong on purpose
        breaks = fusewire._fusewire.describe(compiled)["breaks"]
        assert {b["reason"] for b in breaks} == ({wanted} if wanted else set()), (i, breaks)


@pytest.mark.parametrize("case", corpus.cases, ids=lambda case: case.name)
def test_one_variant_serves_equal_arguments(case):
    compiled = fusewire.compile(case.make(), compile_all=True, recompile_limit=64)
    for _ in range(3):
        try:
            compiled(*case.sets[0]())
        except Exception:
            return
    facts = fusewire._fusewire.describe(compiled)
    assert len(facts["variants"]) == 1 and facts["variants"][0]["hits"] >= 2, facts


def reasons(fn, *args):
    compiled = fusewire.compile(fn, compile_all=True)
    compiled(*args)
    return {(b["reason"], b["detail"]) for b in fusewire._fusewire.describe(compiled)["breaks"]}


A = np.arange(3.0)


def test_input_and_output_are_named(tmp_path):
    def shows(x):
        print(end="")
        return x + 1

    def opens(x, path):
        with open(path, "w") as f:
            f.write("a")
        return x + 1

    def logs(x):
        logging.getLogger("quiet").debug("x")
        return x + 1

    def writes(x, stream):
        stream.write("a")
        return x + 1

    def warns(x):
        warnings.warn("w")
        return x + 1

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for fn, *args in [(shows,), (opens, tmp_path / "f"), (logs,), (writes, io.StringIO()), (warns,)]:
            assert "input-output" in {r for r, _ in reasons(fn, A, *args)}, fn.__name__


def test_iterators_that_are_not_followed_say_so():
    def takes(x, it):
        return next(it), x + 1

    assert ("generator", "an item of a generator made outside of the compiled code") in reasons(takes, A, (i for i in [1]))
    assert ("unsupported-object", "an item of a dict_keyiterator made outside of the compiled code") in reasons(takes, A, iter({1: 2}))


def test_positions_of_iterators_share_a_variant():
    def takes(x, it):
        return next(it) * x

    compiled, items = fusewire.compile(takes), [1.5, 2.5, 3.5, 4.5, 5.5]
    it = iter(items)
    for item in items:
        np.testing.assert_array_equal(compiled(A, it), A * item)
    assert len(fusewire._fusewire.describe(compiled)["variants"]) == 1
    with pytest.raises(StopIteration):
        compiled(A, it)


def test_deques_that_grow_share_a_variant():
    from collections import deque

    def appends(x, q):
        q.append(x * 2)
        return x + 1

    compiled, q = fusewire.compile(appends), deque()
    for i in range(20):
        compiled(A + i, q)
    assert len(fusewire._fusewire.describe(compiled)["variants"]) == 1 and len(q) == 20
    np.testing.assert_array_equal(q[7], (A + 7) * 2)
