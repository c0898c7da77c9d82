"""Loops that become one loop of the graph: plain against compiled, as one region, with sizes and arguments that change."""
import signal
import threading
import time
from collections import deque

import numpy as np
import pytest

import compare
import fusewire

RNG = np.random.default_rng(5)


def reals(*shape):
    return RNG.random(shape)


def heat(u, n):
    for _ in range(n):
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return u


def heat_swapped(u, n):
    u, v = u.copy(), u.copy()
    for _ in range(n):
        v[1:-1] = 0.5 * (u[:-2] + u[2:])
        u, v = v, u
    return u


def swapped_arguments(u, v, n):
    for _ in range(n):
        v[1:-1] = 0.5 * (u[:-2] + u[2:])
        u, v = v, u
    return u, v


def three_in_turn(a, b, c, n):
    for i in range(n):
        c[1:] = a[:-1] + b[1:] * i
        a, b, c = b, c, a
    return a


def wave(u, n):
    previous = u.copy()
    for _ in range(n):
        following = np.zeros_like(u)
        following[1:-1] = 2 * u[1:-1] - previous[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        previous = u
        u = following
    return u


def leapfrog(x, v, n):
    for _ in range(n):
        v = v - 0.005 * x
        x = x + 0.01 * v
        v = v - 0.005 * x
    return x, v


def weighted(x, n):
    s = 0.0
    for i in range(n):
        s += x[i] * i
    return s


def from_int(x):
    s = 0
    for i in range(len(x)):
        s = s + x[i]
    return s, i


def smooth(x, a):
    y = np.empty_like(x)
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = a * y[i - 1] + (1 - a) * x[i]
    return y


def thomas(a, b, c, d):
    n = len(d)
    cp, dp = np.zeros(n), np.zeros(n)
    cp[0], dp[0] = c[0] / b[0], d[0] / b[0]
    for i in range(1, n):
        m = b[i] - a[i] * cp[i - 1]
        cp[i] = c[i] / m
        dp[i] = (d[i] - a[i] * dp[i - 1]) / m
    x = np.zeros(n)
    x[-1] = dp[-1]
    for i in range(n - 2, -1, -1):
        x[i] = dp[i] - cp[i] * x[i + 1]
    return x


def factor(a):
    n = len(a)
    for i in range(n):
        for j in range(i):
            s = a[i, j]
            for k in range(j):
                s -= a[i, k] * a[k, j]
            a[i, j] = s / a[j, j]
        for j in range(i, n):
            s = a[i, j]
            for k in range(i):
                s -= a[i, k] * a[k, j]
            a[i, j] = s
    return a


def by_rows(a):
    for k in range(len(a)):
        for i in range(k + 1, len(a)):
            a[i, k] /= a[k, k]
            a[i, k + 1:] -= a[i, k] * a[k, k + 1:]
    return a


def until(u, tol):
    err = 1.0
    while err > tol:
        new = u.copy()
        new[1:-1] = 0.5 * (u[:-2] + u[2:])
        err = np.abs(new - u).max()
        u = new
    return u, err


def escapes(c):
    counts = np.zeros(len(c))
    for i in range(len(c)):
        z = 0.0
        k = 0.0
        while k < 80.0 and z * z < 4.0:
            z = z * z + c[i]
            k += 1.0
        counts[i] = k
    return counts


def halved(x):
    while True:
        x = x * 0.5
        if x.sum() < 1e-3:
            break
    return x


def found(x, limit):
    s = 0.0
    for i, v in enumerate(x):
        s = s + v
        if s > limit:
            s = -s
            break
    y = x * s + 1
    return y.sum() * 2 + s


def bubble(a):
    for i in range(len(a)):
        for j in range(len(a) - 1):
            if a[j] > a[j + 1]:
                t = a[j]
                a[j] = a[j + 1]
                a[j + 1] = t
    return a


def bisect(x, lo, hi, n):
    for _ in range(n):
        mid = 0.5 * (lo + hi)
        if (x * mid * mid > 2).all():
            hi = mid
        else:
            lo = mid
    return lo + hi


def inner_product(a, b):
    s = 0.0
    for x, y in zip(a, b):
        s += x * y
    return s


def product(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s


def gauss_seidel(u, n):
    for _ in range(n):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    return u


def rows(m):
    t = np.zeros(m.shape[1])
    for row in m:
        t += row * 2
    return t


def backwards(m):
    t = np.zeros(m.shape[1])
    for row in reversed(m):
        t = t * 0.5 + row
    return t


def life(g, n):
    for _ in range(n):
        s = np.roll(g, 1, 0) + np.roll(g, -1, 0) + np.roll(g, 1, 1) + np.roll(g, -1, 1)
        g = ((s == 3) | ((s == 2) & (g == 1))).astype(g.dtype)
    return g


def sign_flips(x, n):
    flips = 0.0
    for i in range(n):
        if x[i] < 0:
            x[i] = -x[i]
            flips = flips + 1.0
        elif i % 2 == 0:
            x[i] += i
    return flips


def last_of(x, n):
    for i in range(n):
        y = x * i
        z = y.sum()
        k = 3 * i + 1
    return y, z, k


def counted(x, n):
    j = 5
    for i in range(n):
        x[j - 5] += i
        j += 1
    return j


def last_above(h, total):
    """Both arms of the first turn, which is one by itself, go on with the loop."""
    last = 0
    w = 0.0
    for t in range(80):
        w += h[t]
        if w == total:
            break
        if w > 30:
            last = t
    return last


CASES = {
    "last_above": (last_above, lambda n: (np.arange(80.0 + n) % 9, 171)),
    "heat": (heat, lambda n: (reals(n, n + 3), 70 + n)),
    "heat_swapped": (heat_swapped, lambda n: (reals(n), 70 + n)),
    "swapped_arguments": (swapped_arguments, lambda n: (reals(n), reals(n), 70 + n)),
    "three_in_turn": (three_in_turn, lambda n: (reals(n), reals(n), reals(n), 70 + n)),
    "wave": (wave, lambda n: (reals(n), 80)),
    "leapfrog": (leapfrog, lambda n: (reals(n), reals(n), 100)),
    "weighted": (weighted, lambda n: (reals(60 + n), 60 + n)),
    "from_int": (from_int, lambda n: (reals(60 + n),)),
    "smooth": (smooth, lambda n: (reals(60 + n), 0.3)),
    "thomas": (thomas, lambda n: tuple(reals(60 + n) + k for k in (0, 4, 0, 1))),
    "factor": (factor, lambda n: (reals(60 + n, 60 + n) + 80 * np.eye(60 + n),)),
    "by_rows": (by_rows, lambda n: (reals(60 + n, 60 + n) + 80 * np.eye(60 + n),)),
    "until": (until, lambda n: (reals(n + 5), 1e-3)),
    "escapes": (escapes, lambda n: (reals(60 + n) - 1,)),
    "halved": (halved, lambda n: (reals(n),)),
    "found": (found, lambda n: (reals(60 + n), 12.0)),
    "bubble": (bubble, lambda n: (reals(60 + n),)),
    "bisect": (bisect, lambda n: (np.ones(n), np.zeros(n), np.full(n, 2.0), 70)),
    "inner_product": (inner_product, lambda n: (reals(60 + n), reals(60 + n))),
    "product": (product, lambda n: (reals(60 + n, 66), reals(66, 70), np.zeros((60 + n, 70)))),
    "gauss_seidel": (gauss_seidel, lambda n: (reals(70, 60 + n), 66)),
    "rows": (rows, lambda n: (reals(60 + n, n),)),
    "backwards": (backwards, lambda n: (reals(60 + n, n),)),
    "life": (life, lambda n: ((reals(n, n) > 0.5).astype(np.int64), 66)),
    "sign_flips": (sign_flips, lambda n: (reals(60 + n) - 0.5, 60 + n)),
    "last_of": (last_of, lambda n: (reals(n), 70)),
    "counted": (counted, lambda n: (reals(70 + n), 66 + n)),
}


@pytest.mark.parametrize("name", CASES)
def test_one_loop(name):
    function, arguments = CASES[name]
    compiled = fusewire.compile(function, fullgraph=True)
    for n in (10, 11, 12, 30, 10):
        compare.assert_same_call(function, compiled, arguments(n))
    variants = fusewire._fusewire.describe(compiled)["variants"]
    assert len(variants) <= 4, [v.get("recompile") for v in variants]


@pytest.mark.parametrize("name", CASES)
def test_few_elements(name):
    function, arguments = CASES[name]
    compiled = fusewire.compile(function)
    for n in (4, 3, 2, 1):
        compare.assert_same_call(function, compiled, arguments(n))


def test_short_and_empty_loops():
    for function in (weighted, from_int, counted, sign_flips, last_of):
        compiled = fusewire.compile(function)
        for n in (100, 0, 1, 2, 65, 64, 3, 200):
            x = reals(300)
            arguments = (x[:n].copy(),) if function is from_int else (x, n)
            compare.assert_same_call(function, compiled, arguments)


def test_errors_come_from_python():
    compiled = fusewire.compile(weighted)
    for n in (100, 101, 100):
        compare.assert_same_call(weighted, compiled, (np.arange(100.0), n))
    compiled = fusewire.compile(counted)
    for n in (70, 71, 90, 70):
        compare.assert_same_call(counted, compiled, (np.arange(70.0), n))


def test_floating_point_reports():
    compiled = fusewire.compile(thomas)
    a = np.ones(80)
    compare.assert_same_call(thomas, compiled, (a, np.zeros(80), a, a))

    def overflow(x, n):
        for _ in range(n):
            x = x * 1.5
        return x
    compiled = fusewire.compile(overflow)
    for n in (70, 7000):
        compare.assert_same_call(overflow, compiled, (np.arange(3.0), n))
        with np.errstate(all="raise"):
            compare.assert_same_call(overflow, compiled, (np.arange(3.0), n))


def test_reports_of_values_that_nobody_uses():
    def f(x, n):
        for i in range(n):
            x[i] / x[n - 1 - i]
        return x
    compiled = fusewire.compile(f)
    for x in (np.arange(1.0, 101), np.arange(100.0)):
        compare.assert_same_call(f, compiled, (x, 100))


def test_arguments_that_share_memory():
    def f(u, v, n):
        for i in range(n):
            u[1:] = v[:-1] + i
            v[0] += u[3]
        return u
    compiled = fusewire.compile(f)
    for make in (lambda x: (x, x), lambda x: (x[:50], x[:50]), lambda x: (x[:50], x[50:]), lambda x: (x[:50], x[10:60]),
                 lambda x: (x[::2], x[::2]), lambda x: (x[::-1], x)):
        expected, actual = reals(100), None
        actual = expected.copy()
        try:
            want = f(*make(expected), 80)
        except ValueError as error:
            with pytest.raises(ValueError, match=str(error)[:20]):
                compiled(*make(actual), 80)
            continue
        got = compiled(*make(actual), 80)
        np.testing.assert_array_equal(want, got)
        np.testing.assert_array_equal(expected, actual)


def test_what_is_returned_is_what_python_returns():
    def f(u, n):
        for _ in range(n):
            u[1:] = u[:-1] * 0.5
        return u
    compiled = fusewire.compile(f)
    u = np.ones(10)
    assert compiled(u, 100) is u

    def g(u, n):
        w = u
        for _ in range(n):
            u = u * 0.5
        return u, w
    compiled = fusewire.compile(g)
    first, second = compiled(u, 100)
    assert second is u and first is not u and first.base is None


@pytest.mark.parametrize("size", [4, 1_000_000])
def test_signals_end_long_loops(size):
    def f(x, n):
        for i in range(n):
            x[1:] = x[:-1] * 0.5
        return x

    class Stop(Exception):
        pass

    def stop(*_):
        raise Stop
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals come to the main thread")
    compiled = fusewire.compile(f)
    x = reals(size)
    for _ in range(2):
        compiled(x, 100)
    before, old, begin = x.copy(), signal.signal(signal.SIGALRM, stop), time.perf_counter()
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(Stop):
            compiled(x, 10**9)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert time.perf_counter() - begin < 5
    np.testing.assert_array_equal(before, x)


def test_other_threads_run_meanwhile():
    def f(x, n):
        s = 0.0
        for i in range(n):
            s = s * 0.5 + x[0]
        return s
    compiled, x, ticks, done = fusewire.compile(f, fullgraph=True), reals(4), [], threading.Event()
    for _ in range(2):
        compiled(x, 100)

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)
    thread = threading.Thread(target=tick)
    thread.start()
    compiled(x, 300_000_000)
    done.set()
    thread.join()
    assert len(ticks) > 5


def test_complex_scalars_are_not_ordered():
    def f(x):
        return 1 if x.max() > 1 else 2, x.sum() < 3
    compiled = fusewire.compile(f)
    for z in (complex(np.inf, np.nan), 2 + 1j, complex(np.nan, 1), 0j):
        compare.assert_same_call(f, compiled, (np.array([1 + 0j, z]),))


def test_loops_that_cannot_be_one_run():
    def f(x, n):
        seen = []
        for i in range(n):
            x = x * 0.5 + i
            if i % 30 == 0:
                seen.append(float(x[0]))
        return x, seen

    def g(x, n):
        for i in range(n):
            x = x * 0.5 + i
            if x[0] > 20:
                break
        return x, i

    def h(x, n):
        for i in range(n):
            x = x[1:] + i
        return x
    for function in (f, g, h):
        compiled = fusewire.compile(function)
        for n in (100, 70, 3, 100):
            compare.assert_same_call(function, compiled, (reals(200), n))


def test_the_number_of_turns_does_not_matter_to_compile():
    times = []
    for n in (100, 1_000_000):
        compiled = fusewire.compile(smooth, fullgraph=True)
        x = reals(n)
        begin = time.process_time()
        compiled(x, 0.5)
        times.append(time.process_time() - begin)
    assert times[1] < 3 * times[0] + 0.1, times


def ignored_division(x, n):
    for i in range(n):
        with np.errstate(divide="ignore"):
            x = 1.0 / x + i
    return x


def handled(x, n):
    s = 0.0
    for i in range(n):
        try:
            s += 1.0 / x[i % len(x)]
        except ZeroDivisionError:
            s -= 1
    return s


def in_a_dict(x, n):
    d = {"s": 0.0}
    for i in range(n):
        d["s"] += x[i % len(x)]
    return d


def other_way_later(x, n):
    for i in range(n):
        x = x + 1 if i < 70 else x - 1
    return x, i


def last_one_written(x, n):
    y = x
    for i in range(n):
        y = x
        x = x * 0.5
        y[0] = i
    return x, y


def first_one_written(x, n):
    v = x
    for i in range(n):
        v[0] += 1
        x = x * 1.0
        x[1] = v[0]
    return x, v


@pytest.mark.parametrize("function", [ignored_division, handled, in_a_dict, other_way_later, last_one_written, first_one_written])
def test_what_a_turn_may_do_besides(function):
    compiled = fusewire.compile(function)
    for n in (100, 66, 1, 100):
        compare.assert_same_call(function, compiled, (np.arange(5.0), n))


def leaves_with_a_sum(x, y):
    s = 0.0
    for j in range(len(x)):
        if x[j] > 0.5:
            s = s + x[j]
            break
    return s


def leaves_with_a_place(x, y):
    at = -1
    for j in range(len(x)):
        if x[j] > 0.5:
            at = j
            break
    return at


def leaves_with_an_array(x, y):
    for i in range(3):
        for j in range(len(x)):
            if -3.0 < x[j] < 0.5:
                y = y + x
                break
    return y


def leaves_a_while_loop(x, y):
    s = x[0]
    for i in range(3):
        j = 0
        while j < len(x):
            if x[j] > 0.2:
                if x[j] < 0.9:
                    s = s + x[j] * i
                    y[0] = j
                break
            j += 1
    return s, y


def leaves_in_two_ways(x, y):
    s = 0.0
    for j in range(len(x)):
        if x[j] > 0.9:
            s = s - 1.0
            break
        if x[j] < 0.1:
            s = x[j] * 2
            y[1] = s
            break
    else:
        s = 7.0
    return s


@pytest.mark.parametrize("function", [leaves_with_a_sum, leaves_with_a_place, leaves_with_an_array, leaves_a_while_loop, leaves_in_two_ways])
def test_what_is_done_on_the_way_out(function):
    """A loop's variables include those that only the block in front of its `break` writes."""
    compiled = fusewire.compile(function, economy=False)
    rng = np.random.default_rng(1)
    for size in (100, 2, 100, 5, 100, 3):
        for scale in (1.0, 0.05, -1.0):
            x = rng.random(size) * scale
            given, own = np.zeros(size), np.zeros(size)
            compare.assert_same_value(function(x.copy(), own), compiled(x.copy(), given), None)
            np.testing.assert_array_equal(given, own)


def sweeps(a, b, x, turns):
    for k in range(turns):
        delta = 0.0
        for i in range(len(b)):
            s = b[i]
            for j in range(len(b)):
                s -= a[i, j] * x[j]
            new = s / a[i, i]
            delta = max(delta, abs(new))
            x[i] += new
        if delta < 1e-10:
            break
    else:
        k = -1
    return x, k


def calls_sweeps(a, b, x, turns):
    x, k = sweeps(a, b, x, turns)
    return x * 2, k


@pytest.mark.parametrize("function", [sweeps, calls_sweeps])
def test_an_else_of_a_loop_that_is_left_from_inside(function):
    compiled = fusewire.compile(function, fullgraph=True)
    rng = np.random.default_rng(0)
    for n, turns in ((30, 15), (30, 3), (40, 0), (30, 40), (2, 50)):
        a, b = rng.random((n, n)) + 2 * n * np.eye(n), rng.random(n)
        compare.assert_same_call(function, compiled, (a, b, np.zeros(n), turns))


def test_what_is_laid_out_anew_is_so_once():
    """A copy that is made in front of a loop, in whose turns elements of it are read."""

    def total(x):
        row, s = x.ravel(), 0.0
        for i in range(len(row)):
            s = s * 0.5 + row[i]
        for v in x.reshape(-1):
            s -= v
        return s

    compiled = fusewire.compile(total)
    for x in (np.arange(91.0).reshape(7, 13).T, np.arange(182.0).reshape(7, 26)[:, ::2], np.arange(91.0).reshape(7, 13)):
        compare.assert_same_call(total, compiled, (x,))
    graph = fusewire._fusewire.describe(compiled)["variants"][0]["graph"]
    inside = [line for line in graph.splitlines() if line.startswith("    ") and ("copy=1" in line or "copy(" in line)]
    assert not inside, graph


def test_what_a_turn_leaves_in_an_unknown_state_is_not_read_by_the_next():
    def walked(x, n):
        k, t, a = 0, 0, deque()
        for i in range(n):
            if x[i] > 0.6:
                t += 1
                if t % 2:
                    for _ in a:
                        k += 1
                a.appendleft(1.5)
        return t, k

    compiled = fusewire.compile(walked, economy=False)
    for n in (66, 3, 1, 0):
        compare.assert_same_call(walked, compiled, (np.random.default_rng(35).random(n), n))
