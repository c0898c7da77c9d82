"""Decorated functions go through pickle, cloudpickle, dill, joblib and multiprocessing wherever undecorated ones do."""

import os
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import fusewire
from fusewire import _fusewire

X = np.arange(6.0)


@fusewire.compile(recompile_limit=7)
def scale(x, k=2.0):
    return x * k


class Model:
    def __init__(self, w):
        self.w = w

    @fusewire.compile
    def apply(self, x):
        return x * self.w

    @fusewire.compile
    @staticmethod
    def shift(x):
        return x + 3


def plain(x):
    return x + 1


def options(f):
    return _fusewire.options_of(f)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_by_reference(protocol):
    there_and_back = lambda value: pickle.loads(pickle.dumps(value, protocol))
    assert there_and_back(scale) is scale
    assert there_and_back(Model.apply) is Model.apply
    assert there_and_back(Model.shift) is Model.shift
    bound = there_and_back(Model(4.0).apply)
    np.testing.assert_array_equal(bound(X), X * 4)


def test_what_is_not_found_by_name():
    first, second = (pickle.loads(pickle.dumps(fusewire.compile(plain, **o))) for o in ({}, {"recompile_limit": 3, "fullgraph": True}))
    np.testing.assert_array_equal(first(X), X + 1)
    assert options(first) == {} and options(second) == {"recompile_limit": "3", "fullgraph": "1"}
    assert isinstance(pickle.loads(pickle.dumps(fusewire.compile(len))), fusewire.CompiledFunction)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(fusewire.compile(lambda x: x))  # as the lambda itself


def test_by_value():
    cloudpickle = pytest.importorskip("cloudpickle")
    k = 5.0

    @fusewire.compile(recompile_limit=7, dynamic=False)
    def nested(x, n=1):
        return x * k if n == 0 else nested(x, n - 1) + 1

    nested.note = "kept"
    again = cloudpickle.loads(cloudpickle.dumps(nested))
    assert again is not nested and again.note == "kept" and again.__qualname__ == nested.__qualname__
    assert options(again) == {"recompile_limit": "7", "dynamic": "0"}
    assert again.__wrapped__.__closure__[1].cell_contents is again, "what it calls is itself"
    np.testing.assert_array_equal(again(X, 3), X * 5 + 3)


MAIN = """
import numpy as np, fusewire
X = np.arange(4.0)
K = 3.0

@fusewire.compile(recompile_limit=5)
def f(x, n=1, *, k=1.0):
    "documented"
    return np.sqrt(x) * K * k if n == 0 else f(x, n - 1, k=k) + 1
f.note = ["kept"]

class C:
    def __init__(self, w):
        self.w = w
    @fusewire.compile
    def apply(self, x):
        return x * self.w + np.sin(x)
    @fusewire.compile
    @staticmethod
    def shift(x):
        return helper(x) + 2

@fusewire.compile
def helper(x):
    return x * 2

@fusewire.compile(mode="verify")
def verified(x):
    return x - 1

def expected():
    return [(np.sqrt(X) * 3 * 2 + 1).tolist(), (X * 5 + np.sin(X)).tolist(), (X * 2 + 2).tolist(), (X - 1).tolist()]

def work(i):
    return [f(X, k=2.0).tolist(), C(5.0).apply(X).tolist(), C.shift(X).tolist(), verified(X).tolist()]
"""

# Of another process, which gets what cloudpickle has stored.
WORKER = '''
import sys, pickle
f, C, apply, verified = pickle.loads(sys.stdin.buffer.read())
import numpy as np, fusewire
X = np.arange(4.0)
assert isinstance(f, fusewire.CompiledFunction) and f.__name__ == f.__qualname__ == "f" and f.__module__ == "__main__"
assert fusewire._fusewire.options_of(f) == {"recompile_limit": "5"} and f.note == ["kept"] and f.__doc__ == "documented"
assert f.__wrapped__.__globals__["f"] is f and C.apply.__qualname__ == "C.apply"
print([f(X, k=2.0).tolist(), apply(X).tolist(), C.shift(X).tolist(), verified(X).tolist()])
assert fusewire._fusewire.describe(f)["variants"]
'''

PROGRAMS = {
    "pickle": """
        import pickle
        for protocol in range(6):
            for g in (f, C.apply, C.shift, helper, verified):
                assert pickle.loads(pickle.dumps(g, protocol)) is g, (g, protocol)
            f(X)
            assert pickle.loads(pickle.dumps(f, protocol)) is f
    """,
    "cloudpickle": """
        import cloudpickle, subprocess, sys
        data = cloudpickle.dumps((f, C, C(5.0).apply, verified))
        code = WORKER
        result = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True)
        assert result.stdout.decode().strip() == str(expected()), result
    """,
    "dill": """
        import dill
        g = dill.loads(dill.dumps(f))
        assert g is not f and g(X, k=2.0).tolist() == expected()[0] and f.__qualname__ == g.__qualname__ == "f"
        assert dill.loads(dill.dumps(C(5.0).apply))(X).tolist() == expected()[1]
    """,
    "joblib": """
        from joblib import Parallel, delayed
        results = Parallel(n_jobs=2, backend="loky")(delayed(g)(X) for g in (helper, C(5.0).apply, C.shift, verified, helper))
        assert [r.tolist() for r in results] == [(X * 2).tolist(), *expected()[1:], (X * 2).tolist()], results
        assert Parallel(n_jobs=2, backend="loky")([delayed(f)(X, k=2.0)])[0].tolist() == expected()[0]
    """,
    "multiprocessing": """
        import multiprocessing, sys
        if __name__ == "__main__":
            for method in METHODS:
                with multiprocessing.get_context(method).Pool(1) as pool:
                    assert pool.map(work, range(2)) == [expected()] * 2, method
                    assert pool.map(helper, [X])[0].tolist() == (X * 2).tolist()
                    assert pool.map(C(5.0).apply, [X])[0].tolist() == expected()[1]
    """,
}


def program(name, methods):
    body = textwrap.dedent(PROGRAMS[name]).replace("METHODS", repr(methods)).replace("WORKER", repr(WORKER))
    return MAIN + "if True:\n" + textwrap.indent(body, "    ") + ("if __name__ == '__main__':\n    print('done')\n")


def check(arguments, code=None):
    result = subprocess.run([sys.executable, *arguments], input=code, capture_output=True, text=True, timeout=120, env=dict(os.environ))
    assert result.returncode == 0 and result.stdout.strip() == "done", f"{result.stdout}\n{result.stderr}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_scripts(name, tmp_path):
    if name in ("cloudpickle", "dill", "joblib"):
        pytest.importorskip(name)
    path = tmp_path / "script.py"
    path.write_text(program(name, ("fork", "spawn", "forkserver")))
    check([path])


@pytest.mark.parametrize("name", PROGRAMS)
def test_notebooks(name):
    """A __main__ without a file, as a notebook's: its code is run piece by piece."""
    if name in ("cloudpickle", "dill", "joblib"):
        pytest.importorskip(name)
    cells = [MAIN, program(name, ("fork",))[len(MAIN):]]
    code = f"import __main__\nfor cell in {cells!r}: exec(compile(cell, '<cell>', 'exec'), __main__.__dict__)\n"
    check(["-"], code)
