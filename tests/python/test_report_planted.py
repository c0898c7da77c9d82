"""Programs with one planted problem each: it is the first thing to do, at its line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "planted"
KINDS = {"print_in_a_hot_loop": "break", "changing_size": "recompile", "float64_upcast": "upcast", "lambda_per_call": "recompile", "masked_write": "break"}
# Problems that show at another line than where they are made.
MET = {"lambda_per_call": "kernel(x)", "float64_upcast": "image * gain", "changing_size": "smooth|np.sqrt|@fusewire.compile"}


def run(arguments, **environment):
    result = subprocess.run([sys.executable, "-W", "ignore", *arguments], capture_output=True, text=True, env={**os.environ, "FUSEWIRE_LOGS": "", **environment})
    assert result.returncode == 0, result.stderr
    return result.stdout


def told(folder):
    return json.loads(run(["-m", "fusewire", "report", str(folder), "--json"]))


def test_every_program_is_tested():
    assert {path.stem for path in FOLDER.glob("*.py")} == KINDS.keys()


@pytest.mark.parametrize("name", KINDS)
def test_the_planted_problem_is_the_first_thing_to_do(name, tmp_path):
    run([str(FOLDER / f"{name}.py")], FUSEWIRE_TRACE=str(tmp_path))
    first = told(tmp_path)["todo"][0]
    assert first["kind"] == KINDS[name] and first["cost_ns"] > 0 and first["hint"] and first["example"]["after"]
    words = MET.get(name, "# planted").split("|")
    assert any(word in first["source"] for word in words), first["source"]


@pytest.mark.parametrize("name", KINDS)
def test_where_it_is_repaired_nothing_is_said_of_it(name, tmp_path):
    run([str(FOLDER / f"{name}.py"), "--fixed"], FUSEWIRE_TRACE=str(tmp_path))
    worth = [item for item in told(tmp_path)["todo"] if not item["ignore"]]
    assert KINDS[name] not in {item["kind"] for item in worth}, worth
