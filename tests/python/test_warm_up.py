"""What nobody has decorated is compiled when it has shown to run more than once, and loops that go on for long at once."""

import json
import os
import shutil
import subprocess
import sys

import pytest


@pytest.fixture
def compiled(tmp_path):
    """Names of what a program compiles, from its events."""

    def names(program):
        (tmp_path / "program.py").write_text(program)
        shutil.rmtree(tmp_path / "trace", ignore_errors=True)
        environment = dict(os.environ, FUSEWIRE_TRACE=str(tmp_path / "trace"))
        result = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        lines = [json.loads(line) for file in (tmp_path / "trace").glob("*.jsonl") for line in file.read_text().splitlines()]
        return [line["data"]["function"] for line in lines if line["kind"] == "compiled"]

    return names


HEAD = """
import sys
import numpy as np
import fusewire

def opaque():
    sys.stdout.flush()

def helper(x):
    y = x * 2 + 1
    opaque()
    return y - 1

def looping(x, n):
    for _ in range(n):
        x = x * 0.5 + 1
        opaque()
    return x

"""


def test_a_function_that_runs_once_is_left_alone(compiled):
    names = compiled(HEAD + """
@fusewire.compile
def main(x):
    opaque()
    a = helper(x)
    b = looping(x, 10)
    return a, b

main(np.arange(6.0))
""")
    assert not [n for n in names if n.startswith(("helper", "looping"))]


def test_one_that_runs_often_is_compiled(compiled):
    names = compiled(HEAD + """
@fusewire.compile
def main(x):
    for _ in range(6):
        opaque()
        x = helper(x)
    return x

main(np.arange(6.0))
""")
    assert {n for n in names if n.startswith("helper")} == {"helper line 10", "helper line 11"}


def test_a_long_loop_is_compiled_in_its_first_call(compiled):
    names = compiled(HEAD + """
@fusewire.compile
def main(x):
    opaque()
    return looping(x, 1000)

r = main(np.full(6, 2.0))
assert (r == 2).all()
""")
    assert "looping line 15" in names


def test_the_setting(compiled):
    program = HEAD + """
@fusewire.compile
def main(x):
    opaque()
    return helper(x)

fusewire.config.warm_up = {}
main(np.arange(6.0))
"""
    assert any(n.startswith("helper") for n in compiled(program.format(1)))
    assert not any(n.startswith("helper") for n in compiled(program.format(50)))


def test_no_callee_is_compiled_under_force_eager(compiled):
    program = HEAD + """
@fusewire.compile
def main(x):
    opaque()
    with fusewire.set_stance("{}"):
        for _ in range(5):
            x = helper(x)
    return x

main(np.arange(6.0))
"""
    assert not any(n.startswith("helper") for n in compiled(program.format("force_eager")))
    assert any(n.startswith("helper") for n in compiled(program.format("default")))
