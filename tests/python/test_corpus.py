"""Every function of the corpora, plain against compiled: results, layouts, exceptions, warnings, arguments."""

import pytest

import fusewire
import ledger
from compare import assert_same_call
from corpus_numpy import CASES


def test_ledger_is_complete():
    ledger.check_complete("numpy", [case.name for case in CASES])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_same_as_python(case):
    compiled = fusewire.compile(case.fn, economy=False)
    for make in case.make_args:
        arguments = make()
        assert_same_call(case.fn, compiled, arguments, case.ulp)   # captures and compiles
        assert_same_call(case.fn, compiled, arguments, case.ulp)   # warm
    facts = fusewire._fusewire.describe(compiled)
    bugs = [b for b in facts["breaks"] if b["reason"] in ("compile-failed", "internal-error")]
    assert not bugs, bugs
    ledger.check("numpy", case.name, compiled)
    if case.must_compile:
        assert facts["variants"], f"did not compile: {facts['breaks']}"
        assert not facts["breaks"], facts["breaks"]
