"""Control: stances, settings, declarations, backends, verification, marks and profiles."""

import json
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import fusewire
from fusewire import _fusewire

X = np.arange(6.0)


def facts(f):
    return _fusewire.describe(f)


def variants(f):
    return facts(f)["variants"]


def reasons(f):
    return [b["reason"] for b in facts(f)["breaks"]]


@pytest.fixture(autouse=True)
def defaults():
    """Every test leaves the process as it found it."""
    before = _fusewire.process_settings()
    yield
    assert _fusewire.get_stance() == ("default", False)
    assert _fusewire.process_settings() == before


# ---- stance ----------------------------------------------------------------------------------------------------------------


def test_force_eager():
    f = fusewire.compile(lambda x: x + 1)
    with fusewire.set_stance("force_eager"):
        np.testing.assert_array_equal(f(X), X + 1)
        assert not variants(f)
    f(X)
    assert len(variants(f)) == 1
    with fusewire.set_stance("force_eager"):
        f(X)
    assert variants(f)[0]["hits"] == 1


def test_eager_on_recompile():
    f = fusewire.compile(lambda x: x + 1)
    f(X)
    with fusewire.set_stance("eager_on_recompile"):
        f(X)
        np.testing.assert_array_equal(f(X.reshape(2, 3)), X.reshape(2, 3) + 1)
        assert len(variants(f)) == 1 and variants(f)[0]["hits"] == 2
    f(X.reshape(2, 3))  # this kind of arguments was not written off
    assert len(variants(f)) == 2


def test_fail_on_recompile():
    f = fusewire.compile(lambda x: x + 1)
    with fusewire.set_stance("fail_on_recompile"):
        f(X)  # the first compile is none again
        with pytest.raises(fusewire.RecompileError) as error:
            f(X.reshape(2, 3))
    assert error.value.misses[0]["variant"] == 0 and error.value.misses[0]["advice"]
    assert "variant 0" in str(error.value)
    np.testing.assert_array_equal(f(X.reshape(2, 3)), X.reshape(2, 3) + 1)


def test_eager_then_compile():
    f = fusewire.compile(lambda x: x + 1)
    with fusewire.set_stance("eager_then_compile"):
        f(X)
        assert not variants(f)
        f(X)
        assert len(variants(f)) == 1


def test_stance_as_function_and_decorator():
    f = fusewire.compile(lambda x: x + 1)
    fusewire.set_stance("force_eager")
    try:
        f(X)
        assert not variants(f)
    finally:
        fusewire.set_stance("default")

    @fusewire.set_stance("force_eager")
    def eager(x):
        assert _fusewire.get_stance()[0] == "force_eager"
        return f(x)

    assert _fusewire.get_stance()[0] == "default"
    eager(X)
    assert eager.__name__ == "eager" and not variants(f)
    with pytest.raises(ZeroDivisionError), fusewire.set_stance("force_eager"), fusewire.set_stance("default"):
        1 / 0
    assert _fusewire.get_stance()[0] == "default"


def test_unknown_stance():
    with pytest.raises(ValueError, match="'lazy' is not one of default, force_eager"):
        fusewire.set_stance("lazy")


def test_skipped_guards_are_the_ones_that_were_asked_for():
    scope = {"k": 2.0}
    exec("def f(x): return x * k", scope)
    f = fusewire.compile(scope["f"])
    f(X)
    scope["k"] = 3.0
    with fusewire.set_stance("eager_on_recompile"):
        np.testing.assert_array_equal(f(X), X * 3)
    with fusewire.set_stance("eager_on_recompile", skip_guard_eval_unsafe=True):
        np.testing.assert_array_equal(f(X), X * 2)  # stale, as the user vouched that it is not
        np.testing.assert_array_equal(f(X.astype("f4")), X.astype("f4") * 3)  # what memory safety needs is still checked
        np.testing.assert_array_equal(f(X.reshape(2, 3)), X.reshape(2, 3) * 3)
    np.testing.assert_array_equal(f(X), X * 3)
    with fusewire.set_stance("default", skip_guard_eval_unsafe=True):  # two variants have to be told apart
        np.testing.assert_array_equal(f(X), X * 3)


def test_stances_from_threads():
    f = fusewire.compile(lambda x: x + 1)
    stop, wrong = threading.Event(), []

    def call():
        while not stop.is_set():
            if not np.array_equal(f(X), X + 1):
                wrong.append(1)

    threads = [threading.Thread(target=call) for _ in range(3)]
    for t in threads:
        t.start()
    for _ in range(300):
        with fusewire.set_stance("force_eager"):
            f(X)
    stop.set()
    for t in threads:
        t.join()
    assert not wrong


# ---- settings --------------------------------------------------------------------------------------------------------------


def test_config_values():
    assert fusewire.config.recompile_limit == 16 and fusewire.config.enable is True and fusewire.config.dynamic is None
    assert "recompile_limit" in dir(fusewire.config) and "recompile_limit=16" in repr(fusewire.config)
    with fusewire.config.patch(recompile_limit=3, enable=False):
        assert fusewire.config.recompile_limit == 3 and fusewire.config.enable is False
    with pytest.raises(AttributeError, match="did you mean 'recompile_limit'"):
        fusewire.config.recompile_limits = 3
    with pytest.raises(AttributeError, match="no setting 'nonsense'"):
        fusewire.config.nonsense
    with pytest.raises(AttributeError):
        fusewire.config.patch(nonsense=1)
    with pytest.raises(ValueError, match="is not a non-negative integer"):
        fusewire.config.recompile_limit = "many"
    with pytest.raises(ValueError, match="is not one of"):
        fusewire.config.patch(isa="avx1024")


def test_config_is_seen_at_the_next_compile():
    f = fusewire.compile(lambda x: x + 1)
    with fusewire.config.patch(enable=False):
        f(X)
        assert not variants(f)
    f(X)
    assert len(variants(f)) == 1
    fixed = fusewire.compile(lambda x: x + 1, enable=True)
    with fusewire.config.patch(enable=False):
        fixed(X)
    assert len(variants(fixed)) == 1, "an option of the function is above the process's"


def test_patch_as_decorator():
    @fusewire.config.patch(recompile_limit=5)
    def limit():
        return fusewire.config.recompile_limit

    assert limit() == 5 and fusewire.config.recompile_limit == 16


# ---- declarations ----------------------------------------------------------------------------------------------------------


def test_graph_break():
    def f(x):
        y = x + 1
        fusewire.graph_break("look here")
        return y * 2

    compiled = fusewire.compile(f)
    for _ in range(3):
        np.testing.assert_array_equal(compiled(X), f(X))
    stop = next(b for b in facts(compiled)["breaks"] if b["reason"] == "graph-break")
    assert stop["line"] == f.__code__.co_firstlineno + 2 and stop["detail"] == "look here"
    assert fusewire.graph_break() is None


def test_control_inside_compiled_code():
    @fusewire.compile
    def f(x):
        y = x + 1
        with fusewire.set_stance("force_eager"):
            y = y * 2
        return y - 1

    for _ in range(3):
        np.testing.assert_array_equal(f(X), (X + 1) * 2 - 1)
    assert "control" in reasons(f)


def test_disable_keeps_its_reason():
    @fusewire.disable(reason="talks to a device")
    def helper(x):
        return x + 1

    @fusewire.compile
    def f(x):
        return helper(x) * 2

    np.testing.assert_array_equal(f(X), (X + 1) * 2)
    assert any(b["reason"] == "disabled" and "talks to a device" in b["detail"] for b in facts(f)["breaks"])
    assert _fusewire.disabled_detail(helper.__code__).endswith("helper (talks to a device)")


def test_allow_in_graph():
    scope = {"__name__": "numpy.library", "np": np}  # NumPy's own Python functions are not followed
    exec("def shifted(x):\n    return np.tanh(x) + 1\ndef other(x):\n    return np.tanh(x) + 2", scope)
    shifted, other = scope["shifted"], scope["other"]
    assert fusewire.allow_in_graph(shifted) is shifted
    for inner, whole in ((shifted, 1), (other, 0)):
        f = fusewire.compile(lambda x: inner(x) * 2)
        np.testing.assert_array_equal(f(X), inner(X) * 2)
        assert len(variants(f)) == whole
    fusewire.allow_in_graph(np.flipud)  # known anyway, and still is
    f = fusewire.compile(lambda x: np.flipud(x) + 1)
    np.testing.assert_array_equal(f(X), np.flipud(X) + 1)
    assert len(variants(f)) == 1
    fusewire.allow_in_graph(np.trapezoid)  # a dispatcher around a Python function
    f = fusewire.compile(lambda x: np.trapezoid(x) + 1)
    assert f(X) == np.trapezoid(X) + 1
    with pytest.raises(TypeError):
        fusewire.allow_in_graph(3)


def test_substitute_in_graph():
    def slow(x, k):
        raise RuntimeError("the original runs")

    @fusewire.substitute_in_graph(slow)
    def quick(x, k):
        return x * k

    f = fusewire.compile(lambda x: slow(x, 2.0) + 1)
    np.testing.assert_array_equal(f(X), X * 2 + 1)
    assert len(variants(f)) == 1
    with pytest.raises(TypeError, match="signature"):
        fusewire.substitute_in_graph(slow)(lambda x: x)
    fusewire.substitute_in_graph(slow, skip_signature_check=True)(lambda x, *rest: x)


def test_assume_constant_result():
    calls = []

    @fusewire.assume_constant_result
    def table(n):
        calls.append(n)
        return {"scale": [1.5, 2.5][n % 2]}["scale"]

    f = fusewire.compile(lambda x, n: x * table(n))
    for n in (0, 1, 0, 1):
        np.testing.assert_array_equal(f(X, n), X * [1.5, 2.5][n])
    made = len(calls)
    assert len(variants(f)) == 2
    f(X, 0)
    assert len(calls) == made


def test_assume_constant_result_that_raises():
    @fusewire.assume_constant_result
    def table(n):
        raise KeyError(n)

    f = fusewire.compile(lambda x, n: x * table(n))
    with pytest.raises(KeyError):
        f(X, 3)


# ---- breaks as errors ------------------------------------------------------------------------------------------------------


def breaking(x):
    y = x + 1
    print(end="")
    return y * 2


def test_fullgraph():
    f = fusewire.compile(breaking, fullgraph=True)
    with pytest.raises(fusewire.GraphBreakError) as error:
        f(X)
    stop = error.value.breaks[0]
    assert stop["line"] == breaking.__code__.co_firstlineno + 2 and stop["source"] == 'print(end="")'
    assert f"{__file__}:{stop['line']}" in str(error.value) and 'print(end="")' in str(error.value)
    again = pickle.loads(pickle.dumps(error.value))
    assert again.breaks == error.value.breaks and str(again) == str(error.value)

    def several(x):
        y = x + 1
        print(end="")
        y = y * 2
        print("", end="")
        return np.sqrt(y)

    f = fusewire.compile(several, fullgraph=True)
    for _ in range(2):
        with pytest.raises(fusewire.GraphBreakError, match="2 graph breaks") as error:
            f(X)
        assert [b["source"] for b in error.value.breaks] == ['print(end="")', 'print("", end="")']
    whole = fusewire.compile(lambda x: x + 1, fullgraph=True)
    np.testing.assert_array_equal(whole(X), X + 1)


def test_error_on_graph_break():
    f = fusewire.compile(breaking)
    with fusewire.error_on_graph_break(True), pytest.raises(fusewire.GraphBreakError):
        f(X)
    with fusewire.error_on_graph_break(True), fusewire.error_on_graph_break(False):
        np.testing.assert_array_equal(f(X), breaking(X))

    @fusewire.error_on_graph_break()
    def strict(x):
        return fusewire.compile(breaking)(x)

    with pytest.raises(fusewire.GraphBreakError):
        strict(X)
    np.testing.assert_array_equal(fusewire.compile(breaking)(X), breaking(X))


# ---- backends --------------------------------------------------------------------------------------------------------------


def softmax(x, k):
    e = np.exp((x - x.max(axis=-1, keepdims=True)) * k)
    return e / e.sum(axis=-1, keepdims=True), x[::-1, 1:].T, x.sum()


M = np.random.default_rng(1).normal(size=(5, 7))


@pytest.mark.parametrize("backend", ["llvm", "llvm_o0", "reference", "numpy", "capture"])
def test_ladder(backend):
    f = fusewire.compile(softmax, backend=backend)
    for _ in range(2):
        for got, wanted in zip(f(M, 2.0), softmax(M, 2.0)):
            np.testing.assert_allclose(got, wanted, rtol=1e-14)
            assert got.dtype == wanted.dtype and got.shape == wanted.shape and got.strides == wanted.strides
    assert bool(variants(f)) == (backend != "capture")
    assert backend in fusewire.list_backends()


def test_backend_callable():
    seen = []

    def mine(graph):
        seen.append(graph)
        return graph.run

    f = fusewire.compile(softmax, backend=mine)
    for got, wanted in zip(f(M, 2.0), softmax(M, 2.0)):
        np.testing.assert_allclose(got, wanted, rtol=1e-14)
    (graph,) = seen
    assert isinstance(graph, fusewire.Graph) and str(graph) == graph.text and "exp" in {op.op for op in graph.ops}
    assert [v.dtype.char for v in graph.inputs] == ["d", "d"] and len(graph.inputs[0].shape) == 2
    scope = {}
    exec(graph.numpy_source(), scope)
    for a, b in zip(graph.run(M, 2.0), scope["graph"](M, np.array(2.0))):
        np.testing.assert_allclose(a, b, rtol=1e-14)
    with pytest.raises(TypeError):
        graph.run(M)
    assert fusewire.Graph(graph.text).text == graph.text


def test_backends_that_write_arguments():
    def f(x, y):
        x[1:] += y[:-1]
        x *= 2
        return x.sum()

    for backend in ("llvm", "reference", "numpy", lambda graph: graph.run):
        compiled = fusewire.compile(f, backend=backend)
        for _ in range(2):
            ours, theirs = X.copy(), X.copy()
            assert compiled(ours, X) == f(theirs, X)
            np.testing.assert_array_equal(ours, theirs)


def test_register_backend(capfd):
    @fusewire.register_backend("doubling")
    def doubling(graph):
        return lambda *inputs: [2 * output for output in graph.run(*inputs)]

    f = fusewire.compile(lambda x: x + 1, backend="doubling")
    np.testing.assert_array_equal(f(X), 2 * (X + 1))
    assert "doubling" in fusewire.list_backends()
    with fusewire.config.patch(backend="doubling"):
        assert fusewire.config.backend == "doubling"
        np.testing.assert_array_equal(fusewire.compile(lambda x: x + 1)(X), 2 * (X + 1))
    for name, error in (("llvm", ValueError), ("two words", ValueError)):
        with pytest.raises(error):
            fusewire.register_backend(name, doubling)
    with pytest.raises(ValueError, match="'nobody' is not a backend; there are llvm"):
        fusewire.compile(lambda x: x, backend="nobody")
    with pytest.raises(TypeError):
        fusewire.compile(lambda x: x, backend=3)


@pytest.mark.parametrize("bad, said", [
    (lambda graph: 1 / 0, "ZeroDivisionError"), (lambda graph: 3, "not a callable"),
    (lambda graph: lambda *a: 1 / 0, "ZeroDivisionError"), (lambda graph: lambda *a: [], "0 values for 1 outputs"),
    (lambda graph: lambda *a: np.zeros(1), "wrong type or shape")])
def test_failing_backends_are_reported_and_python_runs(bad, said, capfd):
    f = fusewire.compile(lambda x: x + 1, backend=bad)
    for _ in range(3):
        np.testing.assert_array_equal(f(X), X + 1)
    err = capfd.readouterr().err
    assert said in err and "[fusewire:graph_breaks]" in err and err.count(said) == 1


def test_numpy_backend_leaves_warnings_to_numpy():
    f = fusewire.compile(lambda x: 1 / x, backend="numpy")
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        np.testing.assert_array_equal(f(np.array([0.0, 1.0])), [np.inf, 1.0])
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(f(np.array([0.0, 1.0])), [np.inf, 1.0])


# ---- verification ----------------------------------------------------------------------------------------------------------


def test_verify_agrees():
    @fusewire.compile(mode="verify")
    def f(x, out, k=1.0):
        out[::2] = x[1::2] * k
        return np.tanh(x), {"s": x.sum()}

    for dtype in ("f8", "f4"):
        x, out = X.astype(dtype), np.zeros(6, dtype)
        got = f(x, out, k=2.0)
        np.testing.assert_array_equal(got[0], np.tanh(x))
        np.testing.assert_array_equal(out[::2], x[1::2] * 2)
    with pytest.raises(ValueError, match="could not broadcast"):
        f(X, np.zeros(7))
    assert f.__name__ == "f" and fusewire.explain(f)(X, X.copy()).facts["name"].endswith("f")


def test_verify_differs_and_writes_a_reproducer(tmp_path):
    shared = np.arange(6.0)

    def wrong(graph):
        return lambda *inputs: [output + 1 for output in graph.run(*inputs)]

    def helper(x):
        return x * 2

    def f(x):
        return helper(x) + np.sqrt(x)

    with fusewire.config.patch(repro_dir=str(tmp_path)):
        checked = fusewire.compile(f, mode="verify", backend=wrong)
        with pytest.raises(fusewire.VerificationError, match="result.* is .*Python gives") as error:
            checked(shared)
    assert os.path.dirname(error.value.reproducer) == str(tmp_path)
    text = open(error.value.reproducer).read()
    assert "def helper" in text and "import numpy as np" in text and fusewire.__version__ in text
    result = subprocess.run([sys.executable, error.value.reproducer], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr  # with the right backend there is nothing to see
    assert "no difference" in result.stdout


@pytest.mark.parametrize("options", [{"mode": "verify"}, {"backend": "numpy"}, {"backend": "numpy", "mode": "verify"}], ids=str)
def test_corpus(options):
    """No false alarms, and the NumPy source of graphs means what NumPy means."""
    from compare import run
    from corpus_numpy import CASES

    for case in CASES[::6]:
        f = fusewire.compile(case.fn, **options)
        for make in case.make_args:
            arguments = make()
            expected, actual = run(case.fn, arguments), run(f, arguments)
            assert not isinstance(actual.error, fusewire.VerificationError), (case.name, str(actual.error))
            assert type(actual.error) is type(expected.error), case.name
        if options == {"backend": "numpy"}:
            assert not [b for b in facts(f)["breaks"] if b["class"] == "bug"], case.name


def test_verify_keeps_aliasing():
    def f(a, b):
        a += 1
        return b * 2

    base = np.arange(8.0)
    checked = fusewire.compile(f, mode="verify")
    np.testing.assert_array_equal(checked(base[:6], base[2:]), np.array([3, 4, 5, 6, 6, 7.0]) * 2)


# ---- sizes and profiles ----------------------------------------------------------------------------------------------------


def test_marks_check_their_arguments():
    with pytest.raises(IndexError, match="rank 1 has no dimension 1"):
        fusewire.mark_dynamic(X, 1)
    with pytest.raises(TypeError, match="expected an array, got list"):
        fusewire.mark_static([1.0], 0)
    fusewire.mark_dynamic(X.copy(), (0, -1))
    fusewire.mark_static(np.zeros((2, 3)))


def test_mark_static_makes_constants():
    f = fusewire.compile(lambda x: x + 1)
    for n in (4, 5):
        x = np.arange(float(n))
        fusewire.mark_static(x, 0)
        np.testing.assert_array_equal(f(x), x + 1)
    assert [s["policy"] for v in variants(f) for s in v["sizes"]] == ["static", "static"]
    f(np.arange(6.0))
    assert len(variants(f)) == 3 and variants(f)[2]["sizes"][0]["policy"] == "dynamic"


@pytest.mark.parametrize("dynamic, count", [(None, 1), (True, 1), (False, 3)])
def test_dynamic_option(dynamic, count):
    f = fusewire.compile(lambda x: x + 1, dynamic=dynamic)
    for n in (17, 18, 19):
        np.testing.assert_array_equal(f(np.arange(float(n))), np.arange(float(n)) + 1)
    assert len(variants(f)) == count


def test_profile_round_trip(tmp_path):
    path = tmp_path / "profile.json"
    f = fusewire.compile(lambda x: x * 3, dynamic=False)
    f(X)
    fusewire.save_profile(path)
    data = json.loads(path.read_text())
    entry = next(e for e in data["functions"] if e["qualname"] == f.__qualname__ and e["sizes"])
    assert entry["sizes"] == [{"argument": "x", "axis": 0, "policy": "static"}]
    assert fusewire.load_profile(path) == len(data["functions"])
    again = fusewire.compile(f.__wrapped__)
    again(X)
    assert variants(again)[0]["sizes"][0]["policy"] == "static", "the profile decides"


@pytest.mark.parametrize("text, said", [
    ("", "not JSON"), ("[]", "not a profile"), ('{"a": 1}', "not a profile"), ('{"fusewire_profile": 99}', "version 99"),
    ('{"fusewire_profile": 1}', "damaged"), ('{"fusewire_profile": 1, "functions": [3]}', "damaged"),
    ('{"fusewire_profile": 1, "functions": [{"qualname": "f", "code": "0", "sizes": [{}], "stops": []}]}', "not a decision"),
    ('{"fusewire_profile": 1, "functions": [{"qualname": "f", "code": "0", "sizes": [], "stops": [-1]}]}', "instruction")])
def test_bad_profiles(tmp_path, text, said):
    path = tmp_path / "profile.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=said):
        fusewire.load_profile(path)
    with pytest.raises(FileNotFoundError):
        fusewire.load_profile(tmp_path / "nowhere.json")


# ---- the package -----------------------------------------------------------------------------------------------------------


def test_stub_lists_what_the_package_has():
    import ast
    from pathlib import Path

    stub = ast.parse((Path(__file__).parents[2] / "bindings/fusewire/__init__.pyi").read_text())
    names = {n.name for n in stub.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))} | {"CompiledFunction", "Graph", "config"}
    assert {n for n in names if not n.startswith("_")} == set(fusewire.__all__)
    extension = ast.parse((Path(__file__).parents[2] / "bindings/fusewire/_fusewire.pyi").read_text())
    listed = {n.name for n in extension.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    assert listed == {n for n in dir(_fusewire) if not n.startswith("__")}
