"""A short part of CPython's own tests, every function compiled (all of it: run_cpython_tests.py)."""

import sys

import pytest

import outcomes
import run_cpython_tests

SHORT = ("test_with", "test_scope", "test_raise", "test_except_star", "test_patma", "test_listcomps", "test_dictcomps",
         "test_generators", "test_property", "test_bool", "test_augassign", "test_unpack_ex", "test_opcodes", "test_keywordonlyarg")


@pytest.mark.parametrize("module", run_cpython_tests.available(SHORT))
def test_same_outcomes(module):
    result = outcomes.compare(module, run_cpython_tests.command, timeout=120)
    assert result["tests"], "no tests were found"
    assert not result["differences"], "\n".join(f"{n}: {a} -> {b}\n{d}" for n, a, b, d in result["differences"])


def test_the_child_reports_crashes_and_failures(tmp_path, monkeypatch):
    """The runner itself: an outcome of every kind, a crash and what comes after it."""
    package = tmp_path / "test"
    package.mkdir()
    (package / "__init__.py").write_text(f"__path__.append({list(__import__('test').__path__)[0]!r})\n")
    (package / "test_sample_of_outcomes.py").write_text(
        "import os, unittest\n"
        "class T(unittest.TestCase):\n"
        "    def test_a(self): pass\n"
        "    def test_b(self): self.fail('no')\n"
        "    def test_c(self): raise KeyError('k')\n"
        "    def test_d(self): self.skipTest('why')\n"
        "    def test_e(self): os.kill(os.getpid(), 11)\n"
        "    def test_f(self):\n"
        "        with self.subTest(1): self.fail('inside')\n"
        "    @unittest.expectedFailure\n"
        "    def test_g(self): self.fail('expected')\n"
        f"    def test_h(self): self.assertEqual(os.environ.get({outcomes.COMPILE_ALL!r}), None)\n"
        "    def test_i(self):\n"
        "        import fusewire\n"
        "        fusewire._fusewire.plant_failure('build')\n"
        "        self.assertEqual(fusewire.compile(lambda x: x + 1)(1), 2)\n"
        "        fusewire._fusewire.plant_failure('')\n"
        "    def test_j(self):\n"
        "        import subprocess, sys\n"
        "        subprocess.run([sys.executable, '-c', 'import fusewire; fusewire._fusewire.plant_failure(\"build\"); '\n"
        "                        'fusewire.compile(lambda x: x + 1)(1)'], check=True, stderr=subprocess.DEVNULL)\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{':'.join(p for p in sys.path if p)}")
    run = outcomes.run_part("test_sample_of_outcomes", run_cpython_tests.command, False, 60)
    assert {n.split(".")[-1]: o for n, (o, _) in run["tests"].items()} == {
        "test_a": "pass", "test_b": "fail", "test_c": "error", "test_d": "skip", "test_e": "signal 11", "test_f": "fail",
        "test_g": "expected failure", "test_h": "pass", "test_i": "pass", "test_j": "pass"}
    assert [text.partition(":")[0].split(".")[-1] for text in run["internal"]] == ["test_i", "test_j"], run["internal"]
    compiled = outcomes.run_part("test_sample_of_outcomes", run_cpython_tests.command, True, 60)["tests"]
    assert {n.split(".")[-1]: o for n, (o, _) in compiled.items()}["test_h"] == "fail"
