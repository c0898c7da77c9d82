"""explain() with breaks and regions, python -m fusewire, the summary at exit."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import fusewire

MODULE = """
import numpy as np, fusewire

def whole(x, k=2.0):
    return np.tanh(x) * k

@fusewire.compile
def broken(x):
    y = x + 1
    print(end="")
    return np.sqrt(y) * 2

class Model:
    @staticmethod
    @fusewire.compile
    def apply(x):
        return x - 1

size = 5
"""
# As MODULE with a break more, and everything moved down a line.
WORSE = "\n" + MODULE.replace('print(end="")', 'print(end="")\n    repr(object())')


def write(folder, text=MODULE, name="cli_module"):
    (folder / f"{name}.py").write_text(text)


def cli(folder, *arguments, **settings):
    return subprocess.run([sys.executable, "-m", "fusewire", *arguments], cwd=folder, capture_output=True, text=True,
                          env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **settings})


def test_text(tmp_path):
    write(tmp_path)
    result = cli(tmp_path, "explain", "cli_module:whole", "--args", "np.ones(size), 3.0")
    assert result.returncode == 0, result.stderr
    assert "whole (" in result.stdout and "guards" not in result.stdout and len(result.stdout.splitlines()) <= 10
    result = cli(tmp_path, "explain", "cli_module:whole", "--verbose", "--args", "np.ones(size), 3.0")
    for part in ("whole (", "variant 0: 1 kernel", "guards:", "array x: f64, rank 1", "tanh", "altogether"):
        assert part in result.stdout, result.stdout


def test_json(tmp_path):
    write(tmp_path)
    result = cli(tmp_path, "explain", "cli_module:broken", "--json", "--calls", "4", "--args", "np.ones(5)")
    assert result.returncode == 0, result.stderr
    facts = json.loads(result.stdout)
    assert {"name", "file", "line", "variants", "regions", "breaks", "python_calls"} <= facts.keys()
    (stop,) = [b for b in facts["breaks"] if "print" in b["source"]]
    assert stop["line"] == MODULE.splitlines().index('    print(end="")') + 1


def test_methods_are_found(tmp_path):
    write(tmp_path)
    result = cli(tmp_path, "explain", "cli_module:Model.apply", "--args", "np.ones(5)")
    assert result.returncode == 0 and "Model.apply" in result.stdout, result.stderr


def test_baseline(tmp_path):
    write(tmp_path)
    target = ("cli_module:broken", "--args", "np.ones(5)")
    assert cli(tmp_path, "explain", *target, "--write-baseline", "base.json").returncode == 0
    result = cli(tmp_path, "explain", *target, "--fail-on-new-break", "base.json")
    assert result.returncode == 0, result.stderr
    write(tmp_path, WORSE)
    result = cli(tmp_path, "explain", *target, "--fail-on-new-break", "base.json")
    assert result.returncode == 1
    assert "repr(object())" in result.stderr and "print" not in result.stderr, result.stderr
    (tmp_path / "empty.json").write_text('{"fusewire_baseline": 1, "breaks": []}')
    write(tmp_path)
    assert cli(tmp_path, "explain", *target, "--fail-on-new-break", "empty.json").returncode == 1


@pytest.mark.parametrize("arguments, said", [
    (("explain", "cli_module"), "module:function"), (("explain", "gone.py:f"), "not a Python file"),
    (("explain", "cli_module:whol", "--args", "1"), "did you mean 'whole'"), (("explain", "cli_module:whole"), "missing a required argument: 'x'"),
    (("summary", "gone.py"), "not a file"), (("explain", "no_such_module:f"), "cannot import no_such_module"),
    (("explain", "cli_module:nothing"), "has no nothing"), (("explain", "cli_module:whole", "--args", "1 +"), "SyntaxError"),
    (("explain", "cli_module:size"), "not decorated"),
    (("explain", "cli_module:whole", "--args", "np.ones(3)", "--fail-on-new-break", "gone.json"), "cannot read the baseline"),
    (("explain", "cli_module:whole", "--args", "np.ones(3)", "--fail-on-new-break", "cli_module.py"), "is not a baseline"),
    (("nonsense",), "invalid choice")])
def test_usage_errors(tmp_path, arguments, said):
    write(tmp_path)
    result = cli(tmp_path, *arguments)
    assert result.returncode == 2 and said in result.stderr, result.stderr
    assert "Traceback" not in result.stderr


def test_explanation_of_regions():
    def f(x):
        y = x + 1
        print(end="")
        return np.sqrt(y) * 2

    compiled = fusewire.compile(f)
    explained = fusewire.explain(compiled)
    for _ in range(4):
        explanation = explained(np.arange(5.0))
    np.testing.assert_array_equal(explanation.result, f(np.arange(5.0)))
    text, first = explanation.text(verbose=True), f.__code__.co_firstlineno
    assert re.search(rf"break .*:{first + 2}: input-output", text), text
    active = [r for r in explanation.facts["regions"] if r["status"] == "active"]
    assert active[0]["start_line"] == first + 1 and active[0]["end_lines"] == [first + 2]
    assert active[1]["end_lines"] == ["return"] and active[1]["hits"] > 0 and len(active[1]["variants"]) == 1
    assert f"region from line {active[1]['start_line']} to return" in text
    assert json.loads(explanation.json()) == explanation.facts


def test_summary_at_exit():
    program = ("import numpy as np, fusewire\n"
               "@fusewire.compile\ndef halves(x):\n    y = x / 2\n    print(end='')\n    return y + 1\n"
               "for _ in range(5): halves(np.ones(3))\n"
               "def local():\n    @fusewire.compile\n    def gone(x): return x + 1\n    gone(np.ones(3))\nlocal()\n")
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                            env={**os.environ, "FUSEWIRE_SUMMARY": "1"})
    assert result.returncode == 0 and result.stdout == ""
    for part in ("fusewire: 2 functions", "halves", "gone", "total", "breaks: 1 input-output"):
        assert part in result.stderr, result.stderr
    rows = {line.split()[0]: line.split()[1:] for line in result.stderr.splitlines() if line.startswith("  ")}
    calls, native, partly, python = (dict(zip(rows["function"], rows["halves"]))[name] for name in ("calls", "native", "partly", "as"))
    assert (calls, native) == ("5", "0") and int(partly) >= 3 and int(partly) + int(python) == 5
    assert rows["local.<locals>.gone"][:4] == ["1", "1", "0", "0"]
    assert "ms altogether for looking into code and compiling it" in result.stderr
    quiet = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert quiet.stderr == ""


SCRIPT = """
import sys
import numpy as np, fusewire

@fusewire.compile
def scaled(x, k):
    return np.sqrt(x) * k

print("arguments", sys.argv[1:])
if __name__ == "__main__":
    for _ in range(int(sys.argv[1])):
        scaled(np.ones(1000), 2.0)
    print("main")
"""


def test_functions_of_files(tmp_path):
    """The main part of the file does not run, and its module does not see the arguments of the command."""
    (tmp_path / "inner").mkdir()
    write(tmp_path / "inner", SCRIPT, "script")
    result = cli(tmp_path, "explain", "inner/script.py:scaled", "--args", "np.ones(1000), 2.0", FUSEWIRE_ECONOMY="1")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("arguments []\nscaled (") and "\nmain\n" not in result.stdout
    assert "compiled" in result.stdout and "not measured" not in result.stdout, result.stdout


def test_a_script_is_summed_up(tmp_path):
    write(tmp_path, SCRIPT, "script")
    result = cli(tmp_path, "summary", "script.py", "7", "--flag")
    assert result.returncode == 0 and result.stdout == "arguments ['7', '--flag']\nmain\n", result.stderr
    assert "fusewire: 1 function" in result.stderr and re.search(r"scaled +7 +7 +0 +0 ", result.stderr), result.stderr


def test_version(tmp_path):
    result = cli(tmp_path, "--version")
    assert result.returncode == 0 and result.stdout.startswith(f"fusewire {fusewire.__version__}, Python 3.") and "NumPy" in result.stdout
