"""Compiling in the background: Python runs the calls until the code is there; what is waited for, what ends, and what forks meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time
import warnings  # noqa: F401  for the scripts

import numpy as np
import pytest

import fusewire
from fusewire import _fusewire

X = np.linspace(0.1, 1.0, 64).reshape(8, 8)


def large(operations=900, name="large", mark=0.0):
    """A function of that many operations, each of which needs code of its own: `mark` makes it another one."""
    lines = [f"    x = x * y + {mark + i}.5 if {i} % 2 else x - y / {i + 1.25}" for i in range(operations)]
    source = f"def {name}(x, y):\n" + "\n".join(lines) + "\n    return x\n"
    scope = {"np": np}
    exec(compile(source, f"<{name}>", "exec"), scope)
    return scope[name]


_mark = iter(range(1, 1000))


def fresh(operations=900):
    """Code that this process has not compiled yet."""
    return large(operations, mark=1000 * next(_mark))


def compiling(f, **options):
    return fusewire.compile(f, **{"economy": False, **options})


def variants(compiled):
    return _fusewire.describe(compiled)["variants"]


def native(compiled):
    return sum(variant["hits"] for variant in variants(compiled))


def until_native(compiled, *arguments, seconds=60):
    """Calls it until compiled code has run one; all results."""
    end, results = time.monotonic() + seconds, []
    while not native(compiled) and time.monotonic() < end:
        results.append(compiled(*arguments))
    assert native(compiled)
    return results


def test_python_runs_the_calls_meanwhile():
    f = fresh()
    expected = f(X, X)
    compiled = compiling(f, background=True)
    assert np.array_equal(compiled(X, X), expected)
    assert native(compiled) == 0 and variants(compiled)[0]["pending"]
    assert "being compiled in the background" in fusewire.summary()
    for result in until_native(compiled, X, X):
        assert np.array_equal(result, expected)
    assert len(variants(compiled)) == 1 and not variants(compiled)[0]["pending"] and not _fusewire.describe(compiled)["breaks"]
    assert variants(compiled)[0]["ms"]["codegen"] > 0
    assert "being compiled in the background" not in fusewire.summary()
    assert np.array_equal(compiled(X, X), expected)


def test_what_is_quick_is_there_at_once():
    compiled = compiling(lambda x, y: x * y + 31.5, background=True)
    compiled(X, X)
    assert native(compiled) == 1


def test_without_it_the_call_waits():
    compiled = compiling(fresh(), background=False)
    compiled(X, X)
    assert native(compiled) == 1


def test_loops_are_waited_for():
    """One call as Python may take longer than any compiler."""
    lines = "\n".join(f"        x = x * y + {90000 + i}.5 if {i} % 2 else x - y / {i + 1.25}" for i in range(400))
    scope = {}
    exec(f"def f(x, y, n):\n    for _ in range(n):\n{lines}\n    return x\n", scope)
    compiled = compiling(scope["f"], background=True)
    compiled(X, X, 100)
    described = _fusewire.describe(compiled)
    regions = sum(region["hits"] for region in described["regions"])
    assert native(compiled) + regions >= 1


def test_explain_waits():
    compiled = compiling(fresh(), background=True)
    assert "compiled" in str(fusewire.explain(compiled)(X, X)).splitlines()[0]
    assert native(compiled) == 1
    compiled = compiling(fresh(), background=True)
    compiled(X, X)
    fusewire.explain(compiled)(X, X)
    assert native(compiled) >= 1


def test_fullgraph_waits():
    compiled = compiling(fresh(), background=True, fullgraph=True)
    compiled(X, X)
    assert native(compiled) == 1
    with fusewire.error_on_graph_break(True):
        compiled = compiling(fresh(), background=True)
        compiled(X, X)
    assert native(compiled) == 1


def test_regions():
    f = fresh()
    scope = {"f": f, "fusewire": fusewire, "events": []}
    exec("def g(x, y):\n    events.append(len(events))\n    fusewire.graph_break('here')\n    x = f(x, y)\n    events.append(len(events))\n    return x + 1\n", scope)
    compiled = compiling(scope["g"], background=True)
    expected = f(X, X) + 1
    end = time.monotonic() + 60
    calls = 0
    while time.monotonic() < end:
        calls += 1
        assert np.array_equal(compiled(X, X), expected)
        if any(v["kernels"] > 1 and v["hits"] for r in _fusewire.describe(compiled)["regions"] for v in r["variants"]):
            break
    else:
        pytest.fail("no region has become native")
    assert scope["events"] == list(range(2 * calls))


def test_writes_and_errors_meanwhile():
    """What Python does while the code is being made is done once."""
    f = fresh()
    scope = {"f": f}
    exec("def g(x, y, out):\n    r = f(x, y)\n    out += 1\n    return r\n", scope)
    compiled = compiling(scope["g"], background=True)
    out, calls = np.zeros(3), 0
    while not native(compiled):
        compiled(X, X, out)
        calls += 1
    assert out[0] == calls
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        compiled(X, X * 1e300, out)
    assert out[0] == calls


def test_too_long_is_given_up_once():
    compiled = compiling(fresh(900), background=True, compile_limit=30)
    end = time.monotonic() + 60
    while not _fusewire.describe(compiled)["breaks"] and time.monotonic() < end:
        compiled(X, X)
    breaks = _fusewire.describe(compiled)["breaks"]
    assert [b["reason"] for b in breaks] == ["compile-limit"]
    for _ in range(5):
        compiled(X, X)
    assert not variants(compiled) and len(_fusewire.describe(compiled)["breaks"]) == 1


def test_threads():
    """Several threads call functions that are being compiled, and other ones."""
    functions = [fresh() for _ in range(3)]
    expected = [f(X, X) for f in functions]
    compiled = [compiling(f, background=True) for f in functions]
    wrong = []

    def work(seed):
        for i in range(60):
            k = (seed + i) % len(compiled)
            if not np.array_equal(compiled[k](X, X), expected[k]):
                wrong.append(k)
            compiling(eval(f"lambda x: x * {seed}.25 + {i}"))(X)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    for c in compiled:
        until_native(c, X, X)


def test_the_lock_is_let_go():
    """While one thread waits for its code, others of Python run."""
    stretches, stop = [], threading.Event()

    def tick():
        last = time.perf_counter()
        while not stop.is_set():
            time.sleep(0.0005)
            now = time.perf_counter()
            stretches.append(now - last)
            last = now

    f = fresh(900)
    compiled = compiling(f, background=False, compile_limit=0)
    thread = threading.Thread(target=tick)
    thread.start()
    compiled(X, X)
    stop.set()
    thread.join()
    ms = variants(compiled)[0]["ms"]
    assert native(compiled) == 1
    # Nothing is said of how long: what else goes on here is not known. But code generation was no single stretch.
    assert len(stretches) > 5 and max(stretches) < 0.8e-3 * ms["total"] + 0.05


def test_reset_and_new_code_meanwhile():
    f, g = fresh(), fresh()
    expected = f(X, X), g(X, X)
    compiled = compiling(f, background=True)
    compiled(X, X)
    fusewire.reset()
    assert np.array_equal(compiled(X, X), expected[0])
    f.__code__ = g.__code__
    assert np.array_equal(compiled(X, X), expected[1])
    for result in until_native(compiled, X, X):
        assert np.array_equal(result, expected[1])


def test_what_nobody_waits_for_any_more():
    for _ in range(3):
        compiled = compiling(fresh(), background=True)
        compiled(X, X)
        del compiled


def script(text, seconds=120):
    prelude = "import sys\nsys.path.insert(0, " + repr(os.path.dirname(__file__)) + ")\nfrom test_background import *\n"
    return subprocess.run([sys.executable, "-c", prelude + textwrap.dedent(text)], capture_output=True, text=True, timeout=seconds,
                          env={**os.environ, "FUSEWIRE_BACKGROUND": "1"}, cwd=os.path.dirname(__file__))


def test_the_process_ends_meanwhile():
    done = script("""
        functions = [compiling(fresh(900), background=True) for _ in range(4)]
        for f in functions:
            f(X, X)
        print("end")
        """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_meanwhile():
    done = script("""
        functions = [fresh(900) for _ in range(4)]
        expected = [f(X, X) for f in functions]
        compiled = [compiling(f, background=True) for f in functions]
        for f in compiled:
            f(X, X)
        warnings.simplefilter("ignore")
        child = os.fork()
        for f, e in zip(compiled, expected):
            assert all(np.array_equal(result, e) for result in until_native(f, X, X))
        compiled = compiling(fresh(900), background=True)
        until_native(compiled, X, X)
        if child:
            assert os.waitpid(child, 0)[1] == 0
            print("parent")
        """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "parent\n", "")


def test_forks_while_threads_compile():
    done = script("""
        warnings.simplefilter("ignore")
        compiled = [compiling(fresh(), background=bool(i % 2)) for i in range(4)]
        threads = [threading.Thread(target=f, args=(X, X)) for f in compiled]
        for t in threads:
            t.start()
        children = []
        for i in range(5):
            child = os.fork()
            if not child:
                f = compiling(fresh(100), background=True)
                f(X, X)
                os._exit(0 if native(f) else 1)
            children.append(child)
            time.sleep(0.01)
        assert all(os.waitpid(child, 0)[1] == 0 for child in children)
        for t in threads:
            t.join()
        print("done")
        """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
