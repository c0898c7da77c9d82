"""Leaks, threads, and the cost of being there."""

import gc
import resource
import sys
import threading
import time

import numpy as np
import pytest

import fusewire


def resident_kib() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() // 1024


def test_warm_calls_do_not_leak():
    f = fusewire.compile(lambda a, b: a + b)
    a, b = np.ones(8, np.float32), np.ones(8, np.float32)
    for _ in range(1000):
        f(a, b)
    before = sys.getrefcount(a), sys.getrefcount(a.dtype), sys.getrefcount(f), resident_kib()
    for _ in range(1_000_000):
        f(a, b)
    after = sys.getrefcount(a), sys.getrefcount(a.dtype), sys.getrefcount(f), resident_kib()
    assert after[:3] == before[:3]
    assert after[3] - before[3] < 1024


def test_compiles_do_not_leak():
    def once():
        f = fusewire.compile(lambda a: a * 2 + 1)
        f(np.ones(3))
        assert fusewire._fusewire.describe(f)["variants"]

    for _ in range(100):
        once()
    gc.collect()
    before = resident_kib()
    for _ in range(400):
        once()
    gc.collect()
    assert resident_kib() - before < 8 * 1024


def test_python_fallback_does_not_leak():
    f = fusewire.compile(lambda a: np.nanmean(a))
    a = np.ones(3)
    for _ in range(100):
        f(a)
    before = sys.getrefcount(a), resident_kib()
    for _ in range(20_000):
        f(a)
    assert sys.getrefcount(a) == before[0] and resident_kib() - before[1] < 1024


def test_threads_call_compile_and_reset():
    def work(x, y):
        return np.sqrt(x * x + y * y)

    f = fusewire.compile(work)
    wrong, stop = [], threading.Event()

    def caller(seed):
        rng = np.random.default_rng(seed)
        while not stop.is_set():
            shape = (int(rng.integers(1, 300)),) if rng.random() < 0.5 else (int(rng.integers(1, 300)), 400)
            x, y = rng.random(shape), rng.random(shape)
            if not np.array_equal(f(x, y), work(x, y)):
                wrong.append(shape)

    threads = [threading.Thread(target=caller, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for _ in range(30):
        fusewire.reset(f)
        stop.wait(0.05)
    stop.set()
    for t in threads:
        t.join()
    assert not wrong


def test_shape_sweep_compiles_once():
    f = fusewire.compile(lambda x, y: (x * y + 1).sum(axis=0))
    for n in range(2, 22):
        x = np.ones((n, n + 3))
        np.testing.assert_array_equal(f(x, x), np.full(n + 3, 2.0 * n))
    assert len(fusewire._fusewire.describe(f)["variants"]) == 1


@pytest.mark.parametrize("count", [20])
def test_many_arguments(count):
    names = [f"a{i}" for i in range(count)]
    scope = {"np": np}
    exec(f"def f({', '.join(names)}, options):\n    return {' + '.join(names)} + options['bias']", scope)
    f = fusewire.compile(scope["f"])
    arrays = [np.full(8, float(i)) for i in range(count)]
    np.testing.assert_array_equal(f(*arrays, {"bias": 0.5}), sum(arrays) + 0.5)
    assert fusewire._fusewire.describe(f)["variants"]


def test_integers_that_double_with_each_step():
    @fusewire.compile
    def mix(x, a, b):
        for _ in range(40):
            a, b = b, a % 1009 + b * 3 % 1013
        return x * b

    x = np.ones(3)
    np.testing.assert_array_equal(mix(x, 5, 7), mix.__wrapped__(x, 5, 7))


# ---- long code ------------------------------------------------------------------------------------------------------


def function_of(lines, arguments="x"):
    namespace = {"np": np}
    exec("\n".join([f"def f({arguments}):", *(f"    {line}" for line in lines)]), namespace)
    return namespace["f"]


def compiled_regions(f):
    return [region for region in fusewire._fusewire.describe(f)["regions"] if region["variants"]]


def test_a_stretch_in_front_of_a_break_is_compiled_once():
    """Not once more from behind each of its calls, in the first call, where no stub knows the end of the region yet."""
    plain = function_of(["y = 0.0", *(f"y = y + np.max(x + {i})" for i in range(30)), "print(end='')", "return y * 2"])
    f = fusewire.compile(plain)
    x = np.arange(5.0)
    for _ in range(4):
        assert f(x) == plain(x)
    assert len(compiled_regions(f)) <= 2
    assert max(region["hits"] for region in compiled_regions(f)) >= 3


def test_long_code_is_compiled_in_pieces():
    plain = function_of([*(f"x = x * 0.5 + {i}" for i in range(5000)), "return x"])
    f = fusewire.compile(plain)
    x = np.arange(5.0)
    for _ in range(4):
        np.testing.assert_array_equal(f(x), plain(x))
    known = fusewire._fusewire.describe(f)
    assert {b["reason"] for b in known["breaks"]} == {"graph-limit"}
    assert 2 <= len(compiled_regions(f)) <= 8


# ---- the time that compiling takes ----------------------------------------------------------------------------------


def heavy(count):
    """So many operations with long code each: seconds of code generation for a hundred."""
    lines = (f"x = np.where(x > {i}, np.remainder(x, {i}.5) + x // 1.{i}, x % 7.{i})" for i in range(1, 6 * count))
    return function_of([*lines, "return x"])


@pytest.mark.parametrize("limit", (1, 200))
def test_compiling_is_given_up_and_that_is_remembered(limit):
    """1: in front of code generation; 200: in the middle of it."""
    plain = heavy(60)
    f = fusewire.compile(plain, compile_limit=limit)
    x = np.linspace(0.0, 60.0, 50)
    start = time.thread_time()
    np.testing.assert_array_equal(f(x), plain(x))
    assert time.thread_time() - start < 1.5, "without the limit some 4 s"
    known = fusewire._fusewire.describe(f)
    assert [b["reason"] for b in known["breaks"]] == ["compile-limit"], known["breaks"]
    assert "takes too long" in known["breaks"][0]["detail"]
    start = time.thread_time()
    for _ in range(5):
        np.testing.assert_array_equal(f(x), plain(x))
    assert time.thread_time() - start < 0.1
    assert not fusewire._fusewire.describe(f)["variants"]


def test_the_limit_is_a_setting():
    plain = heavy(2)
    f = fusewire.compile(plain, compile_limit=0)
    x = np.linspace(0.0, 60.0, 50)
    np.testing.assert_allclose(f(x), plain(x), rtol=1e-12)
    assert fusewire._fusewire.describe(f)["variants"]
    assert fusewire.config.compile_limit == 5000
