"""Every function of the corpora, plain against compiled: results, layouts, exceptions, warnings, arguments."""

import pytest

import fusewire
from compare import assert_same_call
from corpus_numpy import CASES


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_same_as_python(case):
    compiled = fusewire.compile(case.fn)
    for make in case.make_args:
        arguments = make()
        assert_same_call(case.fn, compiled, arguments, case.ulp)   # captures and compiles
        assert_same_call(case.fn, compiled, arguments, case.ulp)   # warm
    facts = fusewire._fusewire.describe(compiled)
    bugs = [b for b in facts["breaks"] if b["reason"] in ("compile-failed", "internal-error")]
    assert not bugs, bugs
    if case.must_compile:
        assert facts["variants"], f"did not compile: {facts['breaks']}"
        assert not facts["breaks"], facts["breaks"]
