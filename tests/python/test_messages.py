"""What logs and errors say to somebody who has never seen the inside: one cause, names that users write, hints that can be followed."""

import os
import subprocess
import sys

import numpy as np
import pytest

import fusewire


def logged(code, channels="graph_breaks,recompiles"):
    code = "import numpy as np, fusewire\n" + code
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "FUSEWIRE_LOGS": channels})
    assert result.returncode == 0, result.stderr
    return result.stderr


def test_a_recompile_has_one_cause():
    told = logged("@fusewire.compile\ndef f(x, n):\n    for i in range(n):\n        x = x + i\n    return x\n"
                  "for n in range(1, 5): f(np.ones(9), n)\n", "recompiles")
    causes = [line for line in told.splitlines() if "compiled again, since" in line]
    assert len(causes) == 3 and "n is 4, compiled for n == 3" in causes[-1] and "this will be variant 4" in causes[-1], told
    assert len(told.splitlines()) == 6, told  # the cause and what to do about it
    assert "n == 1" not in causes[-1]


def test_text_is_not_to_become_a_number():
    told = logged("@fusewire.compile\ndef f(x, name):\n    return {name + '!': x + 1}\n"
                  "for name in ('a', 'b', 'c'): f(np.ones(9), name)\n", "recompiles")
    assert "name is 'b', compiled for 'a'" in told and "float" not in told and "outside of the function" in told, told


def test_numpys_methods_have_the_names_that_users_write():
    told = logged("@fusewire.compile\ndef f(rng):\n    return rng.dirichlet((1.0, 2.0), 9) * 2\nfor i in range(3): f(np.random.default_rng(1))\n")
    (line,) = told.splitlines()
    assert "numpy.random.Generator.dirichlet" in line and "NumPy computes it, which is usually fine" in line


def test_code_of_others_is_no_news():
    """namedtuple and dataclass make functions from text."""
    told = logged("import collections\nfrom dataclasses import dataclass\n"
                  "P = collections.namedtuple('P', 'x y')\n"
                  "@dataclass\nclass D:\n    x: object\n    y: object\n"
                  "@fusewire.compile\ndef f(x):\n    print(end='')\n    p = sorted([P(1, 2)])\n    d = [D(i, 2) for i in range(3)]\n    print(end='')\n    return x + 1\n"
                  "for i in range(8): f(np.ones(9))\n")
    assert "<string>:1: " not in told and "nothing with arrays" not in told, told


@pytest.mark.parametrize("call, said", [
    (lambda: fusewire.compile(lambda x: x, recompile_limits=3), "did you mean 'recompile_limit'"),
    (lambda: fusewire.config.patch(warmup=3), "did you mean 'warm_up'"), (lambda: fusewire.configure_logs("recompile"), "did you mean 'recompiles'"),
    (lambda: fusewire.set_stance("eager"), "force_eager"), (lambda: fusewire.compile(lambda x: x, backend="numpi"), "did you mean 'numpy'"),
    (lambda: fusewire.compile(lambda x: x, mode="exakt"), "did you mean 'exact'")])
def test_did_you_mean(call, said):
    with pytest.raises((TypeError, ValueError, AttributeError), match=said):
        call()


def test_every_reason_says_whether_to_care():
    for row in fusewire._fusewire.break_reasons():
        assert row["advice"] in ("Fix", "Fine") and row["hint"], row
    assert {row["advice"] for row in fusewire._fusewire.break_reasons() if row["class"] == "Bug"} == {"Fine"}


def test_breaks_have_the_advice():
    f = fusewire.compile(lambda x: np.apply_along_axis(np.sort, 0, x[None])[0] + 1)
    for _ in range(3):
        f(np.eye(3))
    stops = fusewire.explain(f)(np.eye(3)).facts["breaks"]
    assert stops and all(stop["runs_in"] == "numpy" and stop["advice"] == "ignore" for stop in stops), stops
