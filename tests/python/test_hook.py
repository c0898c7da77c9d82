"""The PEP 523 hook: what it shows of a frame, direct answers, re-targeting, recursion, exceptions, leaks."""

import asyncio
import contextlib
import gc
import sys
import threading
import traceback

import pytest

import _fw_guards_test as t   # built by meson with the option tests; on PYTHONPATH


@contextlib.contextmanager
def hooked():
    t.hook_install()
    try:
        yield
    finally:
        t.hook_uninstall()


@pytest.fixture
def plan():
    codes = []

    def add(function, action, obj=None):
        code = getattr(function, "__code__", function)
        codes.append(code)
        t.hook_plan(code, action, obj)
    yield add
    for code in codes:
        t.hook_plan(code, None)
    t.hook_log()
    assert t.hook_count() == 0


# ---------------------------------------------------------------------------------------------- what is seen

def test_install_is_counted():
    def f():
        return 1
    assert t.hook_install() == 1 and t.hook_install() == 2
    before = t.hook_seen()
    f()
    assert t.hook_seen() > before
    assert t.hook_uninstall() == 1
    f()
    assert t.hook_uninstall() == 0
    before = t.hook_seen()
    f()
    assert t.hook_seen() == before


def test_nested_undecorated_frame_is_captured(plan):
    def inner(a, b=2, *rest, k=5, **kw):
        return a + b + k

    def middle(x):
        return inner(x, 1, 7, 8, k=x, z=9)
    plan(inner, "record")
    with hooked():
        assert middle(10) == 21
        assert list(map(inner, [1])) == [8]
        assert inner(3) == 10
    (f1, c1, a1), (_, _, a2), (_, _, a3) = t.hook_log()
    assert f1 is inner and c1 is inner.__code__
    assert a1 == (10, 1, 10, (7, 8), {"z": 9})
    assert a2 == (1, 2, 5, (), {}) and a3 == (3, 2, 5, (), {})


def test_cell_arguments_are_raw_and_closure_is_reachable(plan):
    n = 7

    def f(a, b):
        def g():
            return a + n
        return g() + b
    plan(f, "record")
    with hooked():
        assert f(1, 2) == 10
    (fn, _, args), = t.hook_log()
    assert args == (1, 2) and fn.__closure__[0].cell_contents == 7


def test_specialised_call_sites_are_seen_too(plan):
    def f(a):
        return a

    def caller(a):
        return f(a)
    for i in range(1000):
        caller(i)
    plan(f, "return", "hook")
    with hooked():
        assert caller(1) == "hook"
    assert caller(1) == 1


def test_generators_coroutines_and_classes_pass(plan):
    def gen(n):
        try:
            for i in range(n):
                got = yield i
                if got:
                    yield got
        except KeyError:
            yield "caught"

    async def co(n):
        await asyncio.sleep(0)
        return n

    async def agen(n):
        for i in range(n):
            yield i

    async def consume():
        return [i async for i in agen(3)], await co(4)
    for f in (gen, co, agen, consume):
        plan(f, "return", "wrong")
    with hooked():
        assert list(gen(3)) == [0, 1, 2]
        g = gen(2)
        assert next(g) == 0 and g.send("x") == "x" and g.throw(KeyError) == "caught"
        g.close()
        assert asyncio.run(consume()) == ([0, 1, 2], 4)

        class C:
            x = [i for i in range(3)]
        exec("y = 1", scope := {})
        assert C.x == [0, 1, 2] and scope["y"] == 1


@pytest.mark.parametrize("setter", [sys.settrace, sys.setprofile])
def test_traced_threads_run_as_they_are(plan, setter):
    def f():
        return "own"
    plan(f, "return", "hook")
    events = []
    with hooked():
        assert f() == "hook"
        setter(lambda frame, event, arg: events.append((frame.f_code.co_name, event)))
        try:
            assert f() == "own"
        finally:
            setter(None)
        assert f() == "hook"
    assert ("f", "call") in events


# ---------------------------------------------------------------------------------------------- decisions

def test_direct_return(plan):
    class Tracker:
        alive = 0

        def __init__(self):
            Tracker.alive += 1

        def __del__(self):
            Tracker.alive -= 1

    def f(a, *rest, k=None, **kw):
        raise AssertionError("ran")

    def caller(x):
        y = f(x, Tracker(), k=Tracker(), z=Tracker())
        return y, Tracker.alive
    value = ["v"]
    plan(f, "return", value)
    with hooked():
        result, alive = caller(1)
    assert result is value and alive == 0


def test_direct_answer_computed_from_the_arguments(plan):
    def f(a, b):
        raise AssertionError("ran")
    plan(f, "call", lambda a, b: a * b)
    with hooked():
        assert f(3, 4) == 12 and [f(b=i, a=2) for i in range(3)] == [0, 2, 4]


def test_exceptions_of_direct_answers(plan):
    def f(a):
        return a

    def caller(a):
        try:
            return f(a)
        except KeyError as e:
            return "caught", e.args
    plan(f, "raise", KeyError("k"))
    with hooked():
        assert caller(1) == ("caught", ("k",))
        with pytest.raises(KeyError) as info:
            f(1)
    assert "f" not in [frame.name for frame in traceback.extract_tb(info.value.__traceback__)]


def test_error_left_by_the_handler_is_dropped(plan):
    def f():
        return "own"
    plan(f, "leave_error")
    with hooked():
        assert f() == "own"


def test_replacement(plan):
    n, m = 10, 20

    def f(a, b=2, *rest, k=3, **kw):
        return a, n, m

    def other(a, b=2, *rest, k=3, **kw):
        extra = [a, b, rest, k, kw]                # more locals, a cell, a deeper stack
        more = lambda: (extra, a)
        return more(), n, m, (1, (2, (3, (a, b, k, max(a, b, k)))))
    assert f.__code__.co_freevars == other.__code__.co_freevars == ("m", "n")
    plan(f, "replace", other.__code__)
    with hooked():
        got = f(1, 5, 6, k=7, z=8)
        assert got == (([1, 5, (6,), 7, {"z": 8}], 1), 10, 20, (1, (2, (3, (1, 5, 7, 7)))))
    assert f(1) == (1, 10, 20)


def test_replacement_with_other_arguments_or_free_variables_is_not_used(plan):
    n = 1

    def f(a):
        return "own", n
    plan(f, "replace", (lambda a, b: n).__code__)
    with hooked():
        assert f(1) == ("own", 1)
    plan(f, "replace", (lambda a: 0).__code__)
    with hooked():
        assert f(1) == ("own", 1)


def test_replacement_raises_with_its_own_traceback(plan):
    def f(a):
        return a

    def other(a):
        return 1 // a
    plan(f, "replace", other.__code__)
    with hooked():
        with pytest.raises(ZeroDivisionError) as info:
            f(0)
    last = traceback.extract_tb(info.value.__traceback__)[-1]
    assert last.name == "other" and last.lineno == other.__code__.co_firstlineno + 1


def test_replacement_of_every_size_at_every_depth(plan):
    """Frames grow and shrink at all places of the data stack's chunks, and direct answers pop them there."""
    def f(a):
        return a

    def leaf(a):
        return -1
    scope = {}
    for size in (0, 1, 7, 40, 57):
        names = [f"v{i}" for i in range(size)]
        exec("def g(a):\n  " + "".join(f"{v} = a; " for v in names) + f"\n  return [{''.join(v + ', ' for v in names)}a]", scope)
        plan(f, "replace", scope["g"].__code__)
        plan(leaf, "return", "leaf")

        def down(depth, a=None, b=None, c=None):
            got = f(depth)
            assert got == depth or got == [depth] * (size + 1)
            assert leaf(depth) == "leaf"
            return down(depth - 1) + (got != depth) if depth else 0
        with hooked():
            # Only a frame that does not fit into its chunk runs its own code.
            assert down(700) > 600


# ---------------------------------------------------------------------------------------------- recursion

def max_depth(limit):
    reached = 0

    def down(n):
        nonlocal reached
        reached = n
        down(n + 1)
    old = sys.getrecursionlimit()
    sys.setrecursionlimit(limit)
    try:
        down(0)
    except RecursionError:
        pass
    finally:
        sys.setrecursionlimit(old)
    return reached


def test_recursion_depth_is_the_same_with_the_hook():
    plain = max_depth(1000)
    with hooked():
        assert max_depth(1000) == plain
    assert max_depth(1000) == plain and plain > 900


def test_deep_recursion_raises_and_does_not_crash():
    done = []

    def work():
        with hooked():
            done.append(max_depth(200_000))
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    with hooked():
        done.append(max_depth(200_000))
    assert all(d > 4000 for d in done), done


# ---------------------------------------------------------------------------------------------- threads, leaks

def test_threads(plan):
    def f(a):
        return "own"

    def g(a):
        return ("g", a)
    plan(f, "replace", g.__code__)
    wrong = []

    def work(n):
        for i in range(3000):
            with hooked():
                if f(i) != ("g", i):
                    wrong.append(i)
    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    old = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for th in threads:
            th.start()
        for th in threads:
            th.join()
    finally:
        sys.setswitchinterval(old)
    assert not wrong and t.hook_count() == 0


@pytest.mark.parametrize("action", ["pass", "return", "replace", "raise", "call"])
def test_no_leaks(plan, action):
    def f(a, b=(1,), *rest, **kw):
        return a

    def g(a, b=(1,), *rest, **kw):
        c = [a]
        return c
    obj = {"return": ["r"], "replace": g.__code__, "raise": ValueError("x"), "call": lambda *args: args[0]}.get(action)
    if action != "pass":
        plan(f, action, obj)
    arg = ["arg"]

    def loop(n):
        for _ in range(n):
            try:
                f(arg, arg, arg, k=arg)
            except ValueError as e:
                e.__traceback__ = None
    watched = [arg, f, f.__code__, g, g.__code__, obj]
    with hooked():
        loop(100)
        gc.collect()
        before, blocks = [sys.getrefcount(w) for w in watched], sys.getallocatedblocks()
        loop(30_000)
        gc.collect()
        after, now = [sys.getrefcount(w) for w in watched], sys.getallocatedblocks()
    assert after == before
    assert abs(now - blocks) < 60


# ---------------------------------------------------------------------------------------------- code extra

def test_code_extra():
    def make():
        scope = {}
        exec("def f(): return 1", scope)
        return scope["f"]
    f = make()
    assert t.extra_get(f.__code__) is None
    t.extra_set(f.__code__, 41)
    assert t.extra_get(f.__code__) == 41
    copy = f.__code__.replace(co_name="copy")
    assert t.extra_get(copy) is None
    gone = t.extras_gone()
    code = f.__code__
    f.__code__ = copy
    del code
    gc.collect()
    assert t.extras_gone() == gone + 1
