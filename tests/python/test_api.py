"""The decorator: what it accepts, how decorated functions look and behave, options, settings and errors."""

import copy
import gc
import inspect
import os
import pickle
import subprocess
import sys
import weakref

import numpy as np
import pytest

import fusewire
from compare import run


@fusewire.compile
def scale(x, k=2.0, *, offset=0.0):
    """Scales."""
    return x * k + offset


def plain(x):
    return x + 1


def variants(f):
    return fusewire._fusewire.describe(f)["variants"]


X = np.arange(6.0)


def test_compiles_and_answers():
    f = fusewire.compile(lambda a, b: a + b * 2)
    np.testing.assert_array_equal(f(X, X), X + X * 2)
    assert len(variants(f)) == 1


def test_looks_like_the_function():
    assert scale.__name__ == "scale" and scale.__qualname__ == "scale" and scale.__doc__ == "Scales."
    assert scale.__module__ == __name__
    assert inspect.signature(scale) == inspect.signature(scale.__wrapped__)
    assert "scale" in repr(scale)
    assert callable(scale) and scale.__defaults__ == (2.0,)


def test_decorator_with_arguments():
    @fusewire.compile(recompile_limit=3)
    def f(x):
        return x + 1

    np.testing.assert_array_equal(f(X), X + 1)


@pytest.mark.parametrize("call", [
    lambda f: f(X), lambda f: f(X, 3.0), lambda f: f(X, k=3.0), lambda f: f(x=X, offset=1.0),
    lambda f: f(X, 2.0, offset=-1.0), lambda f: f(offset=1.0, k=4.0, x=X)])
def test_defaults_and_keywords(call):
    np.testing.assert_array_equal(call(scale), call(scale.__wrapped__))
    assert variants(scale)


@pytest.mark.parametrize("call", [
    lambda f: f(), lambda f: f(X, 1.0, 2.0), lambda f: f(X, q=1), lambda f: f(X, x=X), lambda f: f(X, offset="a"),
    lambda f: f(X, np.zeros(5)), lambda f: f(None), lambda f: f(*[X] * 9, **{"k": 1})])
def test_bad_calls_raise_pythons_own_error(call):
    with pytest.raises(Exception) as expected:
        call(scale.__wrapped__)
    with pytest.raises(type(expected.value)) as actual:
        call(scale)
    assert str(actual.value) == str(expected.value)


def test_default_exponent():
    def f(x, p=0.5):
        return x**p

    x = np.array([-0.0, 0.0, 2.0])
    np.testing.assert_array_equal(np.signbit(fusewire.compile(f)(x)), np.signbit(f(x)))


def test_writes_to_a_read_only_array_raise_numpys_error():
    def f(x):
        x[0] = 1.0
        return x

    frozen = np.arange(3.0)
    frozen.flags.writeable = False
    with pytest.raises(ValueError) as expected:
        f(frozen)
    with pytest.raises(ValueError) as actual:
        fusewire.compile(f)(frozen)
    assert str(actual.value) == str(expected.value)


@pytest.mark.parametrize("odd", [
    np.ma.masked_array([1.0, 2.0], [0, 1]), np.array([1, "a"], dtype=object), np.array(["a", "b"]), np.array([(1, 2.0)], "i4,f8"),
    np.array(["2020-01-01"], "M8[D]"), np.arange(3.0).astype(">f8"), np.frombuffer(b"x" * 17, "u1")[1:].view("f8"),
    np.array([1, 2], np.longdouble), [1.0, 2.0], (1, 2), "text", None, 3, 2.5, 1j, np.float32(2)], ids=lambda o: f"{type(o).__name__}")
def test_odd_arguments_behave_as_in_python(odd):
    def f(x):
        return x + x if x is not None else x

    compiled = fusewire.compile(f)
    for _ in range(2):
        expected, actual = run(f, (odd,)), run(compiled, (odd,))
        assert type(actual.error) is type(expected.error) and str(actual.error) == str(expected.error)
        assert type(actual.result) is type(expected.result)
        assert getattr(actual.result, "dtype", None) == getattr(expected.result, "dtype", None)
        assert np.array_equal(np.asarray(actual.result), np.asarray(expected.result))


def test_var_arguments():
    @fusewire.compile
    def f(a, *rest, scale=1.0, **named):
        total = a * scale
        for r in rest:
            total = total + r
        return total + named["bias"]

    np.testing.assert_array_equal(f(X, X, X, scale=2.0, bias=X), f.__wrapped__(X, X, X, scale=2.0, bias=X))
    np.testing.assert_array_equal(f(X, bias=1.0), f.__wrapped__(X, bias=1.0))


def test_methods():
    class Model:
        def __init__(self, w):
            self.w = w

        @fusewire.compile
        def apply(self, x):
            return x * self.w

        @fusewire.compile
        @staticmethod
        def twice(x):
            return x * 2

        @staticmethod
        @fusewire.compile
        def thrice(x):
            return x * 3

        @classmethod
        @fusewire.compile
        def named(cls, x):
            return x + 1, cls.__name__

    m = Model(3.0)
    np.testing.assert_array_equal(m.apply(X), X * 3)
    np.testing.assert_array_equal(Model.apply(m, X), X * 3)
    m.w = np.arange(6.0)
    np.testing.assert_array_equal(m.apply(X), X * X)
    np.testing.assert_array_equal(m.twice(X), X * 2)
    np.testing.assert_array_equal(Model.thrice(X), X * 3)
    result, name = Model.named(X)
    np.testing.assert_array_equal(result, X + 1)
    assert name == "Model"
    bound = fusewire.compile(m.apply)
    np.testing.assert_array_equal(bound(X), X * X)


def test_callables():
    class Adder:
        def __call__(self, x):
            return x + 5

    np.testing.assert_array_equal(fusewire.compile(Adder())(X), X + 5)
    assert fusewire.compile(len)([1, 2]) == 2
    with pytest.raises(TypeError, match="int"):
        fusewire.compile(3)


def test_pickle_and_copy():
    assert pickle.loads(pickle.dumps(scale)) is scale
    assert copy.copy(scale) is scale and copy.deepcopy(scale) is scale


def test_assigning_code_and_defaults():
    def g(x, k=1.0):
        return x + k

    f = fusewire.compile(g)
    np.testing.assert_array_equal(f(X), X + 1)
    g.__defaults__ = (5.0,)
    np.testing.assert_array_equal(f(X), X + 5)
    g.__code__ = (lambda x, k=1.0: x * k).__code__
    np.testing.assert_array_equal(f(X), X * 5)


def test_disable():
    @fusewire.disable
    def helper(x):
        return x + 1

    @fusewire.compile
    def f(x):
        return helper(x) * 2

    np.testing.assert_array_equal(f(X), (X + 1) * 2)
    assert not variants(f)
    assert fusewire._fusewire.describe(f)["breaks"][0]["reason"] == "disabled"


def test_is_compiling():
    def f(x):
        return x + 1 if fusewire.is_compiling() else x

    np.testing.assert_array_equal(fusewire.compile(f)(X), X + 1)
    np.testing.assert_array_equal(f(X), X)


def test_reset():
    f = fusewire.compile(plain)
    f(X)
    assert variants(f)
    fusewire.reset(f)
    assert not variants(f)
    f(X)
    fusewire.reset()
    assert not variants(f)
    with pytest.raises(TypeError):
        fusewire.reset(plain)


def test_explain():
    report = fusewire.explain(scale)(X, 4.0)
    np.testing.assert_array_equal(report.result, X * 4.0)
    text = report.text(verbose=True)
    assert "scale" in text and "multiply" in text and "guards" in text and "ms" in text


def test_explain_names_the_break():
    @fusewire.compile
    def f(x):
        y = x + 1
        return np.apply_along_axis(np.sort, 0, y[None])

    text = str(fusewire.explain(f, verbose=True)(np.eye(3)))
    assert "apply_along_axis" in text and f"{__file__}:{f.__code__.co_firstlineno + 3}" in text


def test_options_are_checked():
    with pytest.raises(TypeError, match="no_such_option"):
        fusewire.compile(no_such_option=1)
    with pytest.raises(ValueError, match="isa.*quantum"):
        fusewire.compile(isa="quantum")(plain)


def run_python(code, **environment):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment})


LOGGED = """
import numpy as np, fusewire
f = fusewire.compile(lambda x: np.tanh(x) + 1)
g = fusewire.compile(lambda x: np.apply_along_axis(np.sort, 0, x[None]))
f(np.ones(3)); f(np.ones((2, 2))); g(np.eye(2))
"""


def test_logs():
    result = run_python(LOGGED, FUSEWIRE_LOGS="graph_breaks,recompiles,guards,graph,kernels,perf")
    assert result.returncode == 0, result.stderr
    for wanted in ("graph_breaks]", "apply_along_axis", "recompiles]", "guards]", "tanh", "perf]"):
        assert wanted in result.stderr, f"{wanted} not in\n{result.stderr}"


def test_trace(tmp_path):
    import json

    result = run_python(LOGGED, FUSEWIRE_TRACE=str(tmp_path))
    assert result.returncode == 0, result.stderr
    files = list(tmp_path.glob("*.jsonl"))
    events = [json.loads(line) for line in files[0].read_text().splitlines()]
    kinds = {event.get("kind") for event in events}
    assert {"graph_break", "graph", "guards"} <= kinds, kinds


def test_enable_off():
    result = run_python(LOGGED + "print(fusewire._fusewire.describe(f)['variants'])", FUSEWIRE_ENABLE="0")
    assert result.stdout.strip() == "[]"


def test_collected():
    def make():
        f = fusewire.compile(lambda x: x + 1)
        f(X)
        f.itself = f
        return weakref.ref(f)

    reference = make()
    gc.collect()
    assert reference() is None


def test_recompile_limit_is_loud():
    f = fusewire.compile(lambda x: x + 1, recompile_limit=2)
    f(np.ones(2))
    f(np.ones((2, 2)))
    with pytest.warns(RuntimeWarning, match="recompile limit"):
        np.testing.assert_array_equal(f(np.ones((1, 2, 2))), np.full((1, 2, 2), 2.0))
    np.testing.assert_array_equal(f(np.ones((1, 2, 3))), np.full((1, 2, 3), 2.0))
    assert len(variants(f)) == 2
