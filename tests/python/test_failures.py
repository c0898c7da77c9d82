"""Failures of Fusewire itself, planted on purpose: told once, with a reproducer, and harmless."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import failures
import fusewire
from fusewire import _fusewire

X = np.arange(6.0)
PLACES = ("build", "run", "look-up", "region")
pytestmark = pytest.mark.plants_failures


@pytest.fixture
def plant():
    yield _fusewire.plant_failure
    _fusewire.plant_failure("")


def whole(x, k):
    return x * k + 1


def with_break(x, log):
    y = x + 1
    log.append(float(y.sum()))
    z = np.sqrt(y) * 2 + y
    print(end="")
    return z - np.cos(z)


def reports_of(name):
    return [report for report in _fusewire.internal_failures() if report["function"].endswith(name)]


@pytest.mark.parametrize("place", PLACES)
def test_python_runs_and_it_is_told_once(place, plant, capfd):
    scope = {"np": np}
    name = f"planted_{place.replace('-', '_')}"
    exec(f"def {name}(x, log):\n    y = x + 1\n    log.append(float(y.sum()))\n    z = np.sqrt(y) * 2 + y\n    print(end='')\n"
         "    return z - np.cos(z)\n", scope)
    function = scope[name]
    f, expected = fusewire.compile(function), function(X, [])
    log = []
    if place == "run":
        f(X, [])
    plant(place)
    for _ in range(12):
        np.testing.assert_array_equal(f(X, log), expected)
    plant("")
    assert log == [21.0] * 12, "each call has run once"
    reported = reports_of(name)
    assert 1 <= len(reported) <= 2, "once per place, of the whole function and of a region"
    lines = [line for line in capfd.readouterr().err.splitlines() if "failed" in line]
    assert len(lines) == len(reported) and all(name in line for line in lines), lines
    assert name in fusewire.summary() and reported[0]["reproducer"] in fusewire.summary()
    np.testing.assert_array_equal(f(X, log), expected)
    opening = str(fusewire.explain(f)(X, log)).split("\n\n")[0]
    assert "Fusewire itself has failed here" in opening and len(opening.splitlines()) <= 10, opening


def planted_access(x):
    return np.sqrt(x) * 2 + x


def planted_write(x):
    x += 1
    return x


@pytest.mark.parametrize("function", (planted_access, planted_write), ids=lambda f: f.__name__)
@pytest.mark.parametrize("options", ({}, {"verify_passes": True}), ids=("checked when it runs", "refused"))
def test_an_access_outside_is_not_made_and_is_told(function, options, plant, capfd):
    scope = {"np": np}
    name = f"{function.__name__}_{len(options)}"
    exec(f"def {name}(x):\n    x = np.sqrt(x) * 2 + x\n    return x\n" if function is planted_access else
         f"def {name}(x):\n    x += 1\n    return x\n", scope)
    options = {"verify_passes": False, **options}
    f = fusewire.compile(scope[name], economy=False, warm_up=0, **options)
    plant("access")
    for _ in range(8):
        np.testing.assert_array_equal(f(X.copy()), function(X.copy()))
    plant("")
    reported = reports_of(name)
    assert len(reported) == 1, "told once"
    told = "not proved to stay inside" if options["verify_passes"] else "would have gone outside of its array, and was not made"
    assert told in reported[0]["detail"], reported
    assert os.path.exists(reported[0]["reproducer"])
    assert name in capfd.readouterr().err


@pytest.mark.parametrize("place", ("build", "run", "look-up"))
def test_whole_functions(place, plant):
    f = fusewire.compile(lambda x, k: x * k + 1)
    if place == "run":
        f(X, 2.0)
    plant(place)
    for _ in range(5):
        np.testing.assert_array_equal(f(X, 2.0), X * 2 + 1)
    plant("")
    for _ in range(3):
        np.testing.assert_array_equal(f(X, k=2.0), X * 2 + 1)
    facts = _fusewire.describe(f)
    assert [b["reason"] for b in facts["breaks"]] == ["internal-error"]
    assert not facts["variants"], "calls of a kind that has failed are left to Python"
    f(X.astype(np.float32), 2.0)
    assert bool(_fusewire.describe(f)["variants"]) == (place != "look-up"), "other kinds are not"
    fusewire.reset(f)
    f(X, 2.0)
    assert _fusewire.describe(f)["variants"], "until reset()"


def test_a_function_that_nobody_decorated(plant):
    def helper(x):
        return np.tanh(x) * 2 + x

    def caller(x, calls):
        total = x
        for _ in range(calls):
            total = total + np.nanmean(helper(x))
        return total

    f = fusewire.compile(caller)
    for place in PLACES:
        plant(place)
        np.testing.assert_array_equal(f(X, 8), caller(X, 8))
        fusewire.reset(f)


def test_the_reproducer_runs(plant, tmp_path):
    plant("build")
    with fusewire.config.patch(repro_dir=str(tmp_path)):
        fusewire.compile(with_break)(X, [])
    (path,) = tmp_path.glob(failures.PREFIX + "with_break*.py")
    text = path.read_text()
    assert "planted" in text and "def with_break(x, log)" in text and "import numpy as np" in text
    assert "not stored" not in text, "arrays are"
    result = subprocess.run([sys.executable, path], capture_output=True, text=True)
    assert result.returncode == 0 and "fusewire: 1 function" in result.stdout, result.stderr


def test_reproducers_of_lambdas(plant, tmp_path):
    plant("build")
    with fusewire.config.patch(repro_dir=str(tmp_path)):
        fusewire.compile(lambda x, *rest, k=1, **more: np.sin(x) * k + sum(rest))(X, 1, 2, k=3, other=4)
    (path,) = tmp_path.glob(failures.PREFIX + "*.py")
    result = subprocess.run([sys.executable, path], capture_output=True, text=True)
    assert result.returncode == 0 and "'other': " not in result.stderr, result.stderr


class Touchy:
    """Notes every attempt to store it."""

    asked: list = []

    def __reduce__(self):
        Touchy.asked.append("reduce")
        raise ValueError("not to be stored")

    def __repr__(self):
        Touchy.asked.append("repr")
        return "touchy"


def test_no_code_of_the_user_runs(plant, tmp_path):
    big = np.zeros((1 << 20, 8))
    unnamed = [Touchy(), {1: Touchy()}]
    plant("build")
    with fusewire.config.patch(repro_dir=str(tmp_path)):
        assert fusewire.compile(lambda x, t, u, big: (x + 1).sum() + len(u))(X, Touchy(), unnamed, big) == 23
    assert Touchy.asked == []
    (path,) = tmp_path.glob(failures.PREFIX + "*.py")
    assert "Touchy, not stored" in path.read_text() and "np.ones((1048576, 8)" in path.read_text()
    assert path.stat().st_size < 100_000


def test_where_no_file_can_be_written(plant, tmp_path, capfd):
    (tmp_path / "file").write_text("")
    plant("build")
    with fusewire.config.patch(repro_dir=str(tmp_path / "file" / "folder")):
        np.testing.assert_array_equal(fusewire.compile(lambda x: x + 3)(X), X + 3)
    assert "no reproducer could be written" in capfd.readouterr().err


def test_the_event(tmp_path):
    code = ("import numpy as np, fusewire\n"
            "fusewire._fusewire.plant_failure('build')\n"
            "f = fusewire.compile(lambda x: x + 1)\n"
            "for _ in range(4): f(np.ones(3))\n")
    environment = {**os.environ, "FUSEWIRE_TRACE": str(tmp_path), "FUSEWIRE_REPRO_DIR": str(tmp_path)}
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert result.returncode == 0 and result.stderr.count("a check inside Fusewire failed") == 1, result.stderr
    (trace,) = tmp_path.glob("*.jsonl")
    events = [json.loads(line) for line in trace.read_text().splitlines()]
    (event,) = [e for e in events if e["kind"] == "internal_failure"]
    assert event["data"]["reason"] == "internal-error" and os.path.exists(event["data"]["reproducer"])


def test_watching(plant, tmp_path):
    """What the fixture of all tests does, for this process and for others."""
    with fusewire.config.patch(repro_dir=str(tmp_path)):
        watch = failures.Watch(tmp_path)
        fusewire.compile(lambda x: x - 1)(X)
        assert watch.new() == []
        plant("build")
        fusewire.compile(lambda x: x - 2)(X)
        assert len(watch.new()) == 1 and "planted" in watch.new()[0]
    watch = failures.Watch(tmp_path)
    code = "import numpy as np, fusewire; fusewire._fusewire.plant_failure('build'); fusewire.compile(lambda x: x)(np.ones(3))"
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "FUSEWIRE_REPRO_DIR": str(tmp_path)}, capture_output=True)
    assert len(watch.new()) == 1 and "planted" in watch.new()[0]
    watch.forget()
    assert watch.new() == []


def test_what_was_forgotten_is_told_again(plant, capfd):
    f = fusewire.compile(lambda x: x + 7)
    plant("build")
    for told in (1, 0, 1):
        if told:
            _fusewire.forget_failures()
        fusewire.reset(f)
        np.testing.assert_array_equal(f(X), X + 7)
        assert capfd.readouterr().err.count("a check inside Fusewire failed") == told
