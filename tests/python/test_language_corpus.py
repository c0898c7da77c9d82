"""The corpus over the Python language: every function plain and compiled, with everything that a call lets be seen.

Plain and compiled run in step, each on its own function object and on arguments of its own, every argument set at least
three times and between the others, so that first captures, recompiles, warm runs and retries all happen.
"""

import inspect

import pytest

import fusewire
import ledger
from corpus_lang import CASES
from observe import assert_same_observation, observe

BUGS = ("compile-failed", "internal-error")
# "everything" compiles code without arrays too, which says more about the capture of the language itself.
MODES = {"default": {}, "everything": {"compile_all": True, "economy": False}}


def test_enough_cases():
    assert len(CASES) >= 400
    assert len({c.name for c in CASES}) == len(CASES)
    ledger.check_complete("language", [c.name for c in CASES])


def observe_case(case, function, arguments):
    case.reset()
    cells = tuple(getattr(inspect.unwrap(function), "__closure__", None) or ())
    return observe(function, arguments, lambda: (case.watch(), cells))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_same_as_python(case, mode):
    plain, compiled = case.make(), fusewire.compile(case.make(), recompile_limit=64, **MODES[mode])
    order = list(range(len(case.sets)))
    for turn, numbers in enumerate((order, order[::-1], order, order[:2] * 2)):
        for i in numbers:
            expected = observe_case(case, plain, case.sets[i]())
            actual = observe_case(case, compiled, case.sets[i]())
            try:
                assert_same_observation(expected, actual, case.ulp)
            except AssertionError as error:
                raise AssertionError(f"argument set {i}, turn {turn}: {error}\n{describe(compiled)}") from None
    facts = fusewire._fusewire.describe(compiled)
    bugs = [b for b in facts["breaks"] if b["reason"] in BUGS]
    assert not bugs, bugs
    if mode == "everything":
        ledger.check("language", case.name, compiled)


def describe(compiled) -> str:
    facts = fusewire._fusewire.describe(compiled)
    lines = [f"  variant: {v['hits']} hits, {v['declines']} declines" for v in facts["variants"]]
    lines += [f"  region: {r}"[:300] for r in facts.get("regions", ())]
    lines += [f"  break at line {b['line']}: {b['reason']} {b['detail']}" for b in facts["breaks"]]
    return "\n".join(lines)
