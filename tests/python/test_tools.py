"""What other tools get from the package: the pytest plugin and the cell magic. Both are loaded only when they are asked for."""

import ast
import os
import subprocess
import sys

import numpy as np
import pytest

import fusewire
from fusewire._notebook import register

TESTS = """
import numpy as np, fusewire

def plain(x):
    return np.sqrt(x) + 1

@fusewire.compile
def whole(x):
    return plain(x) * 2

@fusewire.compile
def broken(x):
    y = x + 1
    print(end="")
    return y * 2

def test_whole():
    assert whole(np.ones(5)).sum() == 20

def test_broken():
    assert broken(np.ones(5)).sum() == 20

def test_plain():
    x = np.arange(5.0)
    assert plain(x)[0] == 1.0
    assert fusewire.is_compiling() is False
"""


def run(folder, *options, plugin=True):
    (folder / "test_it.py").write_text(TESTS)
    options = ["-p", "fusewire.pytest_plugin", *options] if plugin else options
    return subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *options, "test_it.py"],
                          cwd=folder, capture_output=True, text=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})


def test_tests_are_compiled(tmp_path):
    result = run(tmp_path, "--fusewire")
    assert result.returncode == 0 and "3 passed" in result.stdout, result.stdout
    assert "fusewire: 4 functions" in result.stdout and "test_plain" in result.stdout, result.stdout


def test_only_when_asked(tmp_path):
    result = run(tmp_path)
    assert "3 passed" in result.stdout and "fusewire:" not in result.stdout, result.stdout
    result = run(tmp_path, "--fusewire", plugin=False)
    assert result.returncode == 4 and "unrecognized arguments" in result.stderr, result.stderr


def test_breaks_fail_tests(tmp_path):
    result = run(tmp_path, "--fusewire-fail-on-break")
    assert result.returncode == 1 and "1 failed, 2 passed" in result.stdout, result.stdout
    assert "GraphBreakError" in result.stdout and 'print(end="")' in result.stdout
    result = run(tmp_path, "--fusewire-fail-on-break", "--fusewire")
    assert result.returncode == 4 and "use one of the two" in result.stderr, result.stderr


def test_verified_tests(tmp_path):
    assert run(tmp_path, "--fusewire-verify").returncode == 0
    # A backend that computes something else: the tests themselves would not see it.
    (tmp_path / "conftest.py").write_text(
        "import fusewire\n"
        "fusewire.register_backend('wrong', lambda graph: lambda *inputs: tuple(a + 1e-3 for a in graph.run(*inputs)))\n"
        "fusewire.config.backend = 'wrong'\n")
    result = run(tmp_path, "--fusewire-verify")
    assert result.returncode == 1 and "VerificationError" in result.stdout, result.stdout


class Shell:
    """As much of IPython as the magic uses."""

    def __init__(self):
        self.ast_transformers, self.magics, self.namespace = [], {}, {"np": np}

    def register_magic_function(self, function, kind, name):
        self.magics[kind, name] = function

    def run_cell(self, source):
        tree = ast.parse(source)
        for transformer in self.ast_transformers:
            tree = transformer.visit(tree)
        exec(compile(tree, "<cell>", "exec"), self.namespace)
        return type("Result", (), {"success": True})


def test_cell_magic(capsys):
    shell = Shell()
    fusewire.load_ipython_extension(shell)
    magic = shell.magics["cell", "fusewire"]
    magic("summary", "def f(x):\n    def g(y):\n        return y + 1\n    return g(x) * 2\nclass C:\n    def m(self, x):\n        return x - 1\n"
                     "h = lambda x: x\nresult = f(np.ones(3)) + C().m(np.ones(3))\n")
    assert shell.ast_transformers == [] and shell.namespace["result"].tolist() == [4.0] * 3
    assert isinstance(shell.namespace["f"], fusewire.CompiledFunction) and not isinstance(shell.namespace["h"], fusewire.CompiledFunction)
    assert "fusewire: " in capsys.readouterr().out
    with pytest.raises(ValueError, match="there is summary"):
        magic("nonsense", "")
    with pytest.raises(ZeroDivisionError):
        magic("", "1 / 0")
    assert shell.ast_transformers == []
