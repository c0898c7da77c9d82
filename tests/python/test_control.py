"""Control: stances, settings, declarations, backends, verification, marks and profiles."""

import json
import os
import pickle
import re
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
    assert "compiled again, since " in str(error.value) and len(str(error.value).splitlines()) == 2
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
    with pytest.raises(ValueError, match="is not an integer from"):
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
    undeclared, declared = (lambda x: eval("x + 1", {"x": x}) for _ in range(2))
    assert fusewire.allow_in_graph(declared) is declared
    for inner, whole in ((declared, 1), (undeclared, 0)):
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


def refused(f, *args):
    """Source lines of the breaks that the call is refused for."""
    with pytest.raises(fusewire.GraphBreakError) as error:
        f(*args)
    assert all(b["reason"] and b["message"] and b["hint"] and b["line"] for b in error.value.breaks)
    return [b["source"] for b in error.value.breaks]


def test_fullgraph_runs_nothing(capsys):
    log = []

    @fusewire.compile(fullgraph=True)
    def f(x, out):
        log.append("begun")
        out[0] = 7
        y = x + 1
        print("seen")
        out[1] = y.sum()
        log.append("ended")
        return y

    out = np.zeros(2)
    for _ in range(3):
        assert refused(f, X, out) == ['print("seen")']
    assert not log and not out.any() and capsys.readouterr().out == ""
    with fusewire.set_stance("force_eager"):
        f(X, out)
    assert log == ["begun", "ended"] and out[0] == 7


def test_fullgraph_follows_both_sides_of_a_branch_that_it_cannot_decide():
    @fusewire.compile(fullgraph=True)
    def f(x):
        if x.sum() > 0:
            y = x + 1
            print("left")
        else:
            y = x - 1
            print("right")
        while y.max() > 3:
            y = y / 2
            print("loop")
        return np.sqrt(y)

    assert refused(f, X) == ["if x.sum() > 0:", 'print("left")', 'print("right")', "while y.max() > 3:", 'print("loop")']


def test_fullgraph_goes_on_with_what_a_break_answers():
    @fusewire.compile(fullgraph=True)
    def f(x, n):
        size = input()
        x = x * size                          # unknown, but no break
        rest = [size + i for i in range(n)]   # nor this
        print(rest[0], size=size)             # which no value of `size` makes a break less
        for item in size:
            np.savetxt("nowhere", x)
            item.call(x)
        for i in range(n):
            x = x + i
        open("nowhere")
        return x

    assert [s.partition("  ")[0] for s in refused(f, X, 3)] == ["size = input()", "print(rest[0], size=size)", 'open("nowhere")']
    assert refused(f, X, 1000)[-2:] == ["for i in range(n):", 'open("nowhere")']


def test_fullgraph_in_blocks_and_calls():
    def helper(x):
        y = x * 2
        print("helper")
        return y

    @fusewire.compile(fullgraph=True)
    def f(x):
        with open("nowhere") as file:
            x = x + 1
            print("with")
        try:
            x = helper(x)
            print("try")
        finally:
            x = x + 1
            input()
        return [print(i) for i in range(2)], x

    sources = refused(f, X)
    assert [s for s in sources if "return" not in s] == [
        'with open("nowhere") as file:', 'print("with")', 'print("helper")', 'print("try")', "input()"]
    assert len(sources) == 6


def test_fullgraph_passes_statements_that_are_never_captured():
    def generator(x):
        yield x

    assert refused(fusewire.compile(generator, fullgraph=True), X) == ["def generator(x):"]

    class Meta(type):
        def __new__(cls, *args):
            return super().__new__(cls, *args)

    @fusewire.compile(fullgraph=True)
    def f(x):
        class Local(metaclass=Meta):
            pass
        rows = [float(i) for i in input()]
        match x.sum():
            case 1:
                print("one")
            case _:
                print("else")
        def inner():
            return print("inner")
        inner()
        later = lambda: print("not called")
        return Local, rows, later, [*open("nowhere"), *range(3)]

    sources = refused(f, X)
    for part in ("class Local(", "input()", 'print("one")', 'print("else")', 'return print("inner")', 'open("nowhere")'):
        assert any(part in s for s in sources), (part, sources)
    assert not any("not called" in s for s in sources)


def test_fullgraph_is_decided_for_each_call():
    @fusewire.compile(fullgraph=True)
    def f(x, loud):
        if loud:
            print("loud")
        return x + 1

    for _ in range(2):
        assert refused(f, X, True) == ['print("loud")']
        np.testing.assert_array_equal(f(X, False), X + 1)
    assert len(variants(f)) == 1
    g = fusewire.compile(lambda x: 1 // x, fullgraph=True)  # Python raises what the code raises
    for _ in range(5):
        with pytest.raises(ZeroDivisionError):
            g(0)


def test_fullgraph_under_the_other_rungs():
    f = fusewire.compile(lambda x: x + 1, fullgraph=True, backend="capture")  # "could it be captured?"
    np.testing.assert_array_equal(f(X), X + 1)
    with pytest.raises(fusewire.GraphBreakError):
        fusewire.compile(breaking, fullgraph=True, backend="capture")(X)
    with fusewire.config.patch(enable=False):
        np.testing.assert_array_equal(fusewire.compile(breaking, fullgraph=True)(X), breaking(X))


def test_a_refused_call_has_changed_nothing():
    """Over the corpus of the language, whatever the survey meets there."""
    from corpus_lang import CASES
    from observe import assert_same_observation, observe

    def call(case, function, arguments):
        case.reset()
        return observe(function, arguments, case.watch)

    refused = answered = 0
    for case in CASES[::3]:
        strict = fusewire.compile(case.make(), fullgraph=True)
        for make in case.sets[:3]:
            before, after = (call(case, f, make()) for f in (lambda *arguments: None, strict))
            if not isinstance(after.error, fusewire.GraphBreakError):
                answered += 1
                continue
            refused += 1
            after.error = None
            try:
                assert_same_observation(before, after)
            except AssertionError as error:
                raise AssertionError(f"{case.name}: {error}") from None
    assert min(refused, answered) > 20


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


def test_error_on_graph_break_also_stops_what_is_compiled_already(capsys):
    def f(x):
        y = x + 1
        print("one")
        y = y * 2
        print("two")
        return y

    compiled = fusewire.compile(f)
    for _ in range(6):
        compiled(X)
    capsys.readouterr()
    for _ in range(2):
        with fusewire.error_on_graph_break(True):
            assert refused(compiled, X) == ['print("one")', 'print("two")']
    assert capsys.readouterr().out == ""
    np.testing.assert_array_equal(compiled(X), (X + 1) * 2)


def test_error_on_graph_break_can_be_switched_off_inside():
    @fusewire.compile
    def f(x):
        y = x + 1
        with fusewire.error_on_graph_break(False):
            print(end="")
        y = y * 2
        return y

    with fusewire.error_on_graph_break(True):
        for _ in range(3):
            np.testing.assert_array_equal(f(X), (X + 1) * 2)

    @fusewire.compile
    def g(x):
        y = x + 1
        fusewire.set_stance("default")
        y = y * 2
        print(end="")
        return y

    with fusewire.error_on_graph_break(True):  # found on the way, at the first break
        assert refused(g, X) == ['print(end="")']


# ---- backends --------------------------------------------------------------------------------------------------------------


def softmax(x, k):
    e = np.exp((x - x.max(axis=-1, keepdims=True)) * k)
    return e / e.sum(axis=-1, keepdims=True), x[::-1, 1:].T, x.sum()


M = np.random.default_rng(1).normal(size=(5, 7))


@pytest.mark.parametrize("backend", ["llvm", "llvm_o0", "reference", "numpy", "statements", "capture"])
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


FMA = """graph(s0: [0, inf]) {{
  %0 = input() {{index=0}} : {0}[s0]
  %1 = input() {{index=1}} : {0}[s0]
  %2 = input() {{index=2}} : {0}
  %3 = fma(%0, %1, %2) : {0}[s0]
  return %3
}}
"""


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_fma_of_numpy_source(kind):
    dtype = np.dtype(kind.replace("32", "4").replace("64", "8"))
    tiny, eps = np.finfo(dtype).smallest_subnormal, np.finfo(dtype).eps
    big = np.finfo(dtype).max
    a = np.array([1 + eps, 1 + eps, 0.0, -0.0, tiny, big, big, np.inf, np.nan, 3.0, 1 + eps], dtype)
    b = np.array([1 - eps, 1 + eps, -1.0, 1.0, 0.5, 2.0, -2.0, 0.0, 1.0, tiny, 1 + eps], dtype)
    graph, scope = fusewire.Graph(FMA.format(kind)), {}
    exec(graph.numpy_source(), scope)
    for c in (-1.0, 0.0, -0.0, tiny, -tiny, eps * eps / 4 + 1, big, -np.inf):
        c = np.array(c, dtype)
        with np.errstate(all="ignore"):
            (ours,), (wanted,) = scope["graph"](a, b, c), graph.run(a, b, c)
        assert ours.dtype == dtype
        np.testing.assert_array_equal(ours, wanted)
        np.testing.assert_array_equal(np.signbit(ours), np.signbit(wanted))
    exact = scope["graph"](a[:2], b[:2], np.array(-1, dtype))[0]
    np.testing.assert_array_equal(exact, np.array([-float(eps) ** 2, 2 * float(eps) + float(eps) ** 2], dtype))


def test_every_operation_of_elements_has_numpy_source():
    for row in fusewire._fusewire.ops():
        if row["class"] != "elementwise":
            continue
        source = fusewire._graph._expression(fusewire._graph.Node("v3", row["name"], ("v0", "v1", "v2"), {}, np.dtype("d"), (), "c", 0), {})
        name = re.match(r"(np\.)?(\w+)", source)
        assert hasattr(np, name[2]) if name[1] else f"def {name[2]}(" in fusewire._graph._PRELUDE, source


def test_products_of_small_matrices_on_every_rung():
    def f(x, y):
        return np.dot(x, y)

    x, y = np.linspace(-1, 1, 3), np.linspace(0.1, 1.7, 3)
    for backend in ("llvm", "llvm_o0", "reference", "numpy", "statements"):
        compiled = fusewire.compile(f, backend=backend)
        for _ in range(2):
            assert compiled(x, y) == f(x, y)


def test_backends_that_write_arguments():
    def f(x, y):
        x[1:] += y[:-1]
        x *= 2
        return x.sum()

    for backend in ("llvm", "reference", "numpy", "statements", lambda graph: graph.run):
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


def test_verify_passes_on_what_the_user_has_asked_for(capsys):
    @fusewire.compile(mode="verify", fullgraph=True)
    def f(x):
        print("seen")
        return x + 1

    with pytest.raises(fusewire.GraphBreakError):
        f(X)
    assert capsys.readouterr().out == ""


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


def test_mark_static_after_a_variant_for_any_size():
    f = fusewire.compile(lambda x, y: x * 2 + y.sum())
    x, y = np.arange(4.0), np.arange(9.0)
    expected = x * 2 + y.sum()
    for _ in range(2):
        np.testing.assert_array_equal(f(x, y), expected)
    assert len(variants(f)) == 1
    fusewire.mark_static(y)
    for _ in range(3):
        np.testing.assert_array_equal(f(x, y), expected)
    first, second = variants(f)
    policies = lambda v: {s["argument"]: s["policy"] for s in v["sizes"]}
    assert policies(first) == {"x": "dynamic", "y": "static"}, "the one for the constant is asked first"
    assert policies(second) == {"x": "dynamic", "y": "dynamic"}
    assert first["hits"] == 3
    f(x, np.arange(5.0))
    f(np.arange(7.0), y)
    assert [v["hits"] for v in variants(f)] == [4, 3], "of another size"
    with fusewire.set_stance("fail_on_recompile"), pytest.raises(fusewire.RecompileError, match="mark_static"):
        other = np.arange(3.0)
        fusewire.mark_static(other, 0)
        f(other, y)


def test_mark_dynamic_is_above_everything_else():
    f = fusewire.compile(lambda x, y: x * 2 + y.sum(), dynamic=False)
    for n in (4, 5, 6):
        x = np.arange(float(n))
        fusewire.mark_dynamic(x, 0)
        np.testing.assert_array_equal(f(x, X), x * 2 + X.sum())
    assert [s["policy"] for v in variants(f) for s in v["sizes"]] == ["dynamic", "static"]
    one = np.ones((4, 1))
    fusewire.mark_dynamic(one, (0, 1))  # needed to know what the result looks like
    g = fusewire.compile(lambda x, y: x + y)
    np.testing.assert_array_equal(g(one, np.ones((4, 3))), np.full((4, 3), 2.0))


def test_marks_of_the_same_sizes_in_regions():
    def f(x):
        y = x + 1
        print(end="")
        return y * x

    f = fusewire.compile(f)
    x = np.arange(5.0)
    for marked in (False, True):
        if marked:
            fusewire.mark_static(x)
        for _ in range(4):
            np.testing.assert_array_equal(f(x), (x + 1) * x)
    entry = next(r for r in facts(f)["regions"] if len(r["variants"]) == 2)
    assert [s["policy"] for v in entry["variants"] for s in v["sizes"]] == ["static", "dynamic"]


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


PROGRAM = """
import sys
import numpy as np
import fusewire

if "load" in sys.argv:
    fusewire.load_profile("profile.json")

def f(x, y):
    a = x + 1
    print(end="")
    for _ in range(3):
        a = a * y
        input
        open
        sys.stdout.flush()
    return a - 1

f = fusewire.compile(f, dynamic=False if "save" in sys.argv else None)
for call in range(int(sys.argv[2])):
    assert (f(np.ones(4), np.full(4, 2.0)) == 15).all()
if "save" in sys.argv:
    fusewire.save_profile("profile.json")
facts = fusewire._fusewire.describe(f)
hits = sum(r["hits"] for r in facts["regions"])
sizes = {s["policy"] for r in facts["regions"] for v in r["variants"] for s in v["sizes"]}
print(len(facts["breaks"]), hits, sorted(sizes), sorted(facts["stops"]))
"""


def test_profile_in_another_process(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)

    def run(how, calls):
        result = subprocess.run([sys.executable, "program.py", how, str(calls)], cwd=tmp_path, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        return result.stdout.split(maxsplit=2)

    breaks, hits, rest = run("plain", 1)
    assert int(breaks) == 2 and "dynamic" in rest
    saved = run("save", 4)
    assert int(saved[0]) == 2 and "static" in saved[2]
    breaks, more, known = run("load", 1)
    assert int(breaks) == 0, "Python's places are known: nothing breaks"
    assert int(more) >= int(hits) and known == saved[2], "the first call decides as the process before did"


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


def test_calls_that_run_as_python_are_looked_at_again_when_something_changes():
    @fusewire.compile
    def scale(x, factor):
        return x * factor

    variants = lambda: len(fusewire._fusewire.describe(scale)["variants"])
    array = np.ones(3)
    for _ in range(5):
        assert scale("ab", 2) == "abab"
    assert variants() == 0
    assert scale(array, 2)[0] == 2 and variants() == 1, "other kinds of arguments are compiled"
    scale.__wrapped__.__code__ = (lambda x, factor: x + factor).__code__
    assert scale("ab", "c") == "abc" and scale(array, 2)[0] == 3

    @fusewire.compile(enable=False)
    def off(x):
        return x + 1

    for _ in range(3):
        assert off(array)[0] == 2
    assert not fusewire._fusewire.describe(off)["variants"]

    @fusewire.compile
    def later(x):
        return x + 1

    with fusewire.config.patch(enable=False):
        for _ in range(3):
            later(array)
    later(array)
    assert len(fusewire._fusewire.describe(later)["variants"]) == 1

    @fusewire.compile
    def prints(x):
        print(end="")
        return x

    for _ in range(40):
        prints("a")
    with fusewire.error_on_graph_break(), pytest.raises(fusewire.GraphBreakError):
        prints("a")
    assert prints("a") == "a"
