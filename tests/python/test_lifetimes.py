"""What was compiled keeps nothing of the user's alive: classes, functions, code, instances, cells and modules die when Python
would let them die, and calls with objects of their own do not make the process grow."""

import gc
import subprocess
import sys
import textwrap
import types
import weakref

import numpy as np
import pytest

import fusewire

X = np.arange(6.0)


def warm(f, *args):
    for _ in range(4):
        result = f(*args)
    return result


def is_dead(reference):
    gc.collect()
    return reference() is None


class Scaler:
    def __init__(self, factor):
        self.factor = factor

    def apply(self, x):
        return x * self.factor


def test_class():
    @fusewire.compile
    def f(x, scaler):
        return scaler.apply(x) + 1

    def make():
        class Local:
            bias = 3.0

            def __init__(self):
                self.factor = 2.0

            def apply(self, x):
                return x * self.factor + self.bias

        return Local

    cls = make()
    assert np.array_equal(warm(f, X, cls()), X * 2 + 4)
    assert fusewire.explain(f)(X, cls()).facts["variants"], "nothing was compiled: the test shows nothing"
    reference = weakref.ref(cls)
    del cls
    assert is_dead(reference)
    other = make()   # perhaps at the same address
    assert np.array_equal(f(X, other()), X * 2 + 4)


def test_class_named_by_a_global():
    space = {"np": np}
    exec(textwrap.dedent("""
        class Config:
            rate = 0.5
            class Inner:
                rate = 2.0
        def f(x):
            return x * Config.rate + Config.Inner.rate
        def g(x, v):
            return (x + 1, Config) if isinstance(v, (Config, int)) else (x - 1, None)
    """), space)
    f, g = fusewire.compile(space["f"]), fusewire.compile(space["g"])
    assert np.array_equal(warm(f, X), X * 0.5 + 2)
    assert warm(g, X, space["Config"]())[1] is space["Config"]
    references = [weakref.ref(space["Config"]), weakref.ref(space["Config"].Inner)]
    del space["Config"]
    assert all(is_dead(r) for r in references)
    with pytest.raises(NameError):
        f(X)


def test_function():
    space = {"np": np}
    exec("def helper(x): return x + 1\ndef f(x): return helper(x) * 2", space)
    f = fusewire.compile(space["f"])
    assert np.array_equal(warm(f, X), (X + 1) * 2)
    references = [weakref.ref(space["helper"]), weakref.ref(space["helper"].__code__)]
    exec("def helper(x): return x + 2", space)
    assert all(is_dead(r) for r in references)
    assert np.array_equal(f(X), (X + 2) * 2)


def test_function_passed_and_closure_cell():
    @fusewire.compile
    def f(x, g):
        return g(x) + 1

    class Captured:
        value = 3.0

    def make(captured):
        return lambda x: x * captured.value

    captured = Captured()
    g = make(captured)
    assert np.array_equal(warm(f, X, g), X * 3 + 1)
    references = [weakref.ref(g), weakref.ref(captured), weakref.ref(Captured)]
    del g, captured, Captured
    assert all(is_dead(r) for r in references)


def test_instance():
    @fusewire.compile
    def f(x, s):
        return s.apply(x), s

    s = Scaler(2.0)
    assert warm(f, X, s)[1] is s
    reference = weakref.ref(s)
    del s
    assert is_dead(reference)

    space = {"s": Scaler(4.0)}
    exec("def g(x): return s.apply(x)", space)
    g = fusewire.compile(space["g"])
    assert np.array_equal(warm(g, X), X * 4)
    reference = weakref.ref(space["s"])
    space["s"] = Scaler(5.0)
    assert is_dead(reference)
    assert np.array_equal(g(X), X * 5)


def test_array_in_a_global():
    space = {"w": X + 1}
    exec("def f(x): return x * w", space)
    f = fusewire.compile(space["f"])
    warm(f, X)
    reference = weakref.ref(space["w"])
    space["w"] = X + 2
    assert is_dead(reference)
    assert np.array_equal(f(X), X * (X + 2))


def test_compiled_function_and_code():
    def make():
        def f(x):
            y = x + 1
            sys.getrefcount(x)   # a break: spliced code with regions
            return y * 2

        return f

    plain = make()
    f = fusewire.compile(plain)
    warm(f, X)
    references = [weakref.ref(plain)]
    del f, plain
    assert all(is_dead(r) for r in references)


def test_code_of_text():
    space = {"np": np, "sys": sys}
    exec("def f(x):\n y = x + 1\n sys.getrefcount(x)\n return y * 2\ndef g(x): return x - 1", space)
    for name in "fg":
        f = fusewire.compile(space[name])
        warm(f, X)
        reference = weakref.ref(space.pop(name).__code__)
        del f
        assert is_dead(reference)


def test_module():
    module = types.ModuleType("scratch_of_lifetimes")
    exec("import numpy as np\nscale = 2.0\nclass K:\n    bias = 1.0\ndef step(x): return x * scale + K.bias", module.__dict__)

    @fusewire.compile
    def f(x):
        return module.step(x) + module.scale

    assert np.array_equal(warm(f, X), X * 2 + 3)
    references = [weakref.ref(module), weakref.ref(module.step), weakref.ref(module.K)]
    module = None
    assert all(is_dead(r) for r in references)


def test_module_with_its_own_compiled_functions():
    module = types.ModuleType("scratch_of_lifetimes")
    module.fusewire = fusewire
    exec("count = 0\n@fusewire.compile\ndef step(x):\n global count\n count = count + 1\n return x * 2 + helper(x)\n"
         "def helper(x): return x - count", module.__dict__)
    assert np.array_equal(warm(module.step, X), X * 2 + X - 4)
    references = [weakref.ref(module.helper), weakref.ref(module)]
    del module
    assert all(is_dead(r) for r in references)


def test_global_written_and_read_through_the_module(monkeypatch):
    """The writing shows through the module, as long as it is the same one."""
    def make(name):
        module = types.ModuleType(name)
        module.__dict__["other"] = module
        exec("count = 1\ndef f(x):\n global count\n count = count + 1\n return x * other.count", module.__dict__)
        return module

    a, b = make("a_of_lifetimes"), make("b_of_lifetimes")
    fa = fusewire.compile(a.f)
    for n in range(2, 6):
        assert np.array_equal(fa(X), X * n)
    a.other = b
    for _ in range(3):
        assert np.array_equal(fa(X), X)
    a.other = a
    assert np.array_equal(fa(X), X * 9)


def test_constants_declared_by_the_user_stay():
    made = []

    @fusewire.assume_constant_result
    def table():
        made.append(1)
        return type("Made", (), {"rate": 2.0})

    @fusewire.compile
    def f(x):
        return x * table().rate

    assert np.array_equal(warm(f, X), X * 2)
    gc.collect()
    assert np.array_equal(warm(f, X), X * 2)
    assert len(made) == 1


ROUNDS = textwrap.dedent("""
    import gc, sys, types, warnings
    import numpy as np, fusewire
    warnings.simplefilter("ignore")
    X = np.arange(4.0)

    @fusewire.compile
    def use_class(x, s): return s.apply(x)
    @fusewire.compile
    def use_function(x, g): return g(x) + 1

    def with_class():
        class Local:
            def apply(self, x): return x * 2
        assert use_class(X, Local())[1] == 2
    def with_function():
        k = 3.0
        assert use_function(X, lambda x: x * k)[1] == 4
    def with_exec():
        space = {}
        exec("def g(x): return x * 5", space)
        assert use_function(X, space["g"])[1] == 6
    def with_compiled():
        def f(x): return x + 7
        assert fusewire.compile(f)(X)[1] == 8
    def with_module():
        m = types.ModuleType("m")
        exec("k = 2.0\\ndef f(x): return x * k", m.__dict__)
        assert use_function(X, m.f)[1] == 3

    def resident():
        with open("/proc/self/statm") as f:
            return int(f.read().split()[1]) * 4096

    body = globals()[sys.argv[1]]
    rounds = int(sys.argv[2])
    for _ in range(rounds // 10): body()
    gc.collect()
    objects, memory = len(gc.get_objects()), resident()
    for _ in range(rounds): body()
    gc.collect()
    grown = len(gc.get_objects()) - objects
    assert grown < 200, f"{grown} objects more"
    per_round = (resident() - memory) / rounds
    assert per_round < 400, f"{per_round} bytes a round"
""")


@pytest.mark.parametrize("body, rounds", [("with_class", 10000), ("with_function", 10000), ("with_exec", 10000),
                                          ("with_compiled", 1000), ("with_module", 10000)])
def test_no_growth(body, rounds):
    done = subprocess.run([sys.executable, "-c", ROUNDS, body, str(rounds)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


EVERYTHING = textwrap.dedent("""
    import fusewire, gc, weakref
    def nothing():
        def inner(x): return [x, x]
        class C:
            def m(self): return inner(self)
        C().m()
        return [weakref.ref(o) for o in (inner, C, inner.__code__, C.m.__code__)]
    for _ in range(5): references = nothing()
    gc.collect()
    assert [r() is None for r in references[:2]] == [True, True], references
    space = {}
    exec("def f(a):\\n import os\\n print(a, end='')\\n return [a, a]\\nf('');f('');f('')", space)
    code = weakref.ref(space["f"].__code__)
    space.clear()
    gc.collect()
    assert code() is None
""")


def test_under_the_hook():
    """Records of code objects that the hook has seen go with them."""
    done = subprocess.run([sys.executable, "-c", EVERYTHING], capture_output=True, text=True, timeout=120,
                          env={**__import__("os").environ, "FUSEWIRE_COMPILE_ALL": "1"})
    assert done.returncode == 0, done.stderr


CALLED = []


def test_code_replaced_while_its_spliced_copy_runs():
    """The record of the old code goes while regions of its copy are still to run."""
    def other(x, n):
        return x

    def f(x, n):
        for i in range(n):
            x = x + 1
            for action in CALLED:
                action(i)
            x = x * 2
        return x

    def replace(i):
        if i == 2:
            f.__code__ = other.__code__
            gc.collect()

    @fusewire.compile
    def outer(x, n):
        sys.getrefcount(x)
        return f(x, n)

    expected = f(X, 8)
    for _ in range(4):
        assert np.array_equal(outer(X, 8), expected)
    CALLED.append(replace)
    try:
        assert np.array_equal(outer(X, 8), expected)
    finally:
        CALLED.clear()
    assert np.array_equal(outer(X, 8), X)


def test_a_frame_kept_by_a_traceback_keeps_nothing_deleted():
    """`except ... as e` deletes `e` at its end, also where compiled code runs from there to the return: otherwise frame and
    exception hold each other, and with them every local variable."""
    def fail(x):
        raise IndexError

    def f(x):
        try:
            fail(x)
        except Exception as e:
            str(e)
            print(end="")
            y = x + 1
        return y * 2

    for options in ({}, {"compile_all": True}):
        compiled = fusewire.compile(f, **options)
        gc.collect()
        gc.disable()
        try:
            x = np.arange(24.0)
            for _ in range(4):
                compiled(x)
            before = sys.getrefcount(x)
            for _ in range(4):
                compiled(x)
            assert sys.getrefcount(x) == before
        finally:
            gc.enable()


def test_no_dtype_is_held_by_what_was_dropped():
    """Builtin dtypes are shared: a reference too many for each variant adds up."""
    def build(x):
        y = x + 1
        return y, y[1:], y.sum(), np.zeros(3, dtype=np.intp) * 2, x.astype(np.float32)

    def run():
        f = fusewire.compile(build)
        f(np.arange(4))
        del f
        gc.collect()

    dtypes = [np.dtype(t) for t in (np.intp, np.float64, np.float32, bool)]
    for _ in range(3):
        run()
    before = [sys.getrefcount(d) for d in dtypes]
    for _ in range(5):
        run()
    assert [sys.getrefcount(d) for d in dtypes] == before


def test_a_generator_that_an_exception_leaves_ends_there():
    """Also where compiled code begins inside of its loop: what comes behind the handler comes behind its end."""
    log = []

    def walk():
        try:
            yield 1
        except GeneratorExit:
            log.append("ended")

    def fail():
        raise ValueError

    def left(x):
        try:
            for _ in walk():
                fail()
        except ValueError:
            pass
        log.append("behind")
        return x + 1

    compiled = fusewire.compile(left, background=False)
    for _ in range(5):
        compiled(np.arange(3.0))
    assert log == ["ended", "behind"] * 5
