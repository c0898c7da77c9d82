"""Loops that store into arrays of the caller while the call may still be given up (docs/loops.md). Whatever ends them, the arrays are
those of plain Python; but for an interrupt, which leaves them as some number of turns would."""
import signal
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import compare
import fusewire

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
from kernels import edit_distance, leaky, rotation, smooth  # noqa: E402 - what is measured is what is tested

RNG = np.random.default_rng(17)


def quotients(x, y):
    for i in range(len(x)):
        y[i] = 1.0 / x[i]


def reversed_squares(x, y):
    n = len(x)
    for i in range(n - 1, -1, -1):
        y[n - 1 - i] = x[i] * x[i]


def every_other(x, y):
    for i in range(len(x) // 2):
        y[2 * i] = x[i] + 1.0


def neighbours(x, y):
    for i in range(1, len(x) - 1):
        y[i] = x[i - 1] - 2.0 * x[i] + x[i + 1]


def only_positive(x, y):
    for i in range(len(x)):
        if x[i] > 0.0:
            y[i] = np.sqrt(x[i])


def guarded_places(x, y):
    for i in range(len(x)):
        if i + 1 < len(y):
            y[i + 1] = x[i]


def until_negative(x, y):
    for i in range(len(x)):
        if x[i] < -1.9:
            break
        y[i] = x[i]


def two_at_once(x, y, z):
    for i in range(len(x)):
        y[i] = x[i] + 1.0
        z[i] = x[i] * 2.0


def stencil(u, v):
    n, m = u.shape
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])


def row_sums(u, y):
    for i in range(u.shape[0]):
        y[i] = 0.0
        for j in range(u.shape[1]):
            y[i] = u[i, j] * 1.5


def columns(u, v):
    for j in range(u.shape[1]):
        for i in range(u.shape[0]):
            v[i, j] = u[i, j] + 1.0


def triangle(u, v):
    for i in range(u.shape[0]):
        for j in range(i):
            v[i, j] = u[i, j] * 2.0


def then_summed(x, y):
    for i in range(len(x)):
        y[i] = x[i] * 3.0
    return y.sum(), y


def counts(x, y):
    for i in range(len(x)):
        k = 0
        while k < 20 and x[i] * k < 3.0:
            k += 1
        y[i] = k


def recursive(x, y, a):
    for i in range(1, len(x)):
        y[i] = a * x[i] + (1.0 - a) * y[i - 1]


def backwards(x, y):
    for i in range(len(x) - 2, -1, -1):
        y[i] = x[i] + 0.5 * y[i + 1]


def trajectory(p, h):
    for k in range(len(p) - 1):
        p[k + 1, 0] = p[k, 0] + h * p[k, 1]
        p[k + 1, 1] = p[k, 1] - h * p[k, 0]


def stored_then_read(x, y):
    s = 0.0
    for i in range(len(x)):
        y[i] = x[i] * x[i]
        s += y[i]
    return s


def read_then_stored(x, y):
    s = 0.0
    for i in range(len(x)):
        s += y[i]
        y[i] = x[i]
    return s


def ahead(x, y):
    for i in range(len(x) - 1):
        y[i] = y[i + 1] * x[i]


def two_ways(x, y):
    for i in range(2, len(x)):
        y[i] = x[i] + y[i - 1]
        y[i - 2] = x[i] - 1.0


def twice_under_conditions(x, y):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 0.5:
            y[i] = 1.0
        s += y[i]
        if x[i] < -0.5:
            y[i] = 2.0
    return s


def once_under_a_condition(x, y):
    s = 0.0
    for i in range(1, len(x)):
        if x[i] > 0.5:
            y[i] = 1.0 / x[i]
        s += y[i - 1]
    return s


def sweeps(x, y, n):
    for _ in range(n):
        for i in range(1, len(x)):
            y[i] = x[i] + 0.25 * y[i - 1]


def lower_rows(u, v):
    for i in range(1, u.shape[0]):
        for j in range(u.shape[1]):
            v[i, j] = u[i, j] + v[i - 1, j]


def skewed(u, v):
    for i in range(1, u.shape[0]):
        for j in range(u.shape[1] - 1):
            v[i, j] = u[i, j] + v[i - 1, j + 1]


def wrongly_skewed(u, v):
    for i in range(u.shape[0] - 1):
        for j in range(1, u.shape[1]):
            v[i, j] = u[i, j] + v[i + 1, j - 1]


def reals(*shape):
    return RNG.normal(size=shape)


def vectors(n):
    return reals(n), reals(n)


def letters(n):
    return RNG.integers(0, 4, n).astype(np.uint8)


# The function, arguments of size n, and whether its loop rewrites. Where the first turn stands by itself, as `s` gets another class in
# it, it stores in front of the loop: then it does not.
PROGRAMS = {
    "leaky": (leaky, vectors, True),
    "smooth": (smooth, lambda n: (*vectors(n), 0.1), True),
    "quotients": (quotients, vectors, True),
    "reversed": (reversed_squares, vectors, True),
    "every other": (every_other, vectors, True),
    "neighbours": (neighbours, vectors, True),
    "only positive": (only_positive, lambda n: (abs(reals(n)), reals(n)), True),
    "guarded places": (guarded_places, vectors, None),
    "until negative": (until_negative, vectors, None),
    "two at once": (two_at_once, lambda n: (*vectors(n), reals(n)), True),
    "stencil": (stencil, lambda n: (reals(n, n // 2 + 1), reals(n, n // 2 + 1)), True),
    "rotate": (rotation, lambda n: (reals(3, 3), reals(n, 3), reals(n, 3)), True),
    "rotate wide": (rotation, lambda n: (reals(3, 3), reals(n, 3), reals(n, 300)), True),
    "row sums": (row_sums, lambda n: (reals(n, 5), reals(n)), None),
    "columns": (columns, lambda n: (reals(n, 7), reals(n, 7)), False),
    "triangle": (triangle, lambda n: (reals(n, n), reals(n, n)), True),
    "then summed": (then_summed, vectors, True),
    "counts": (counts, lambda n: (abs(reals(n)), RNG.integers(0, 9, n)), None),
    "recursive": (recursive, lambda n: (*vectors(n), 0.3), True),
    "backwards": (backwards, vectors, True),
    "trajectory": (trajectory, lambda n: (reals(n, 2), 0.01), True),
    "edit distance": (edit_distance, lambda n: (letters(n), letters(n // 2), RNG.integers(0, 9, (n + 1, n // 2 + 1))), True),
    "stored then read": (stored_then_read, vectors, False),
    "read then stored": (read_then_stored, vectors, False),
    "ahead": (ahead, vectors, False),
    "two ways": (two_ways, vectors, False),
    "twice under conditions": (twice_under_conditions, vectors, False),
    "once under a condition": (once_under_a_condition, vectors, False),
    "sweeps": (sweeps, lambda n: (*vectors(n), 3), False),
    "lower rows": (lower_rows, lambda n: (reals(n, n // 2 + 1), reals(n, n // 2 + 1)), True),
    "skewed": (skewed, lambda n: (reals(n, n // 2 + 1), reals(n, n // 2 + 1)), True),
    "wrongly skewed": (wrongly_skewed, lambda n: (reals(n, n // 2 + 1), reals(n, n // 2 + 1)), False),
}
SQUARE = {"stencil", "triangle", "edit distance", "lower rows", "skewed", "wrongly skewed"}


def sizes(name):
    return [3, 4, 0, 1, 2, 40, 300] if name in SQUARE else [3, 4, 0, 1, 2, 40, 511, 512, 513, 1024, 1025, 5000]


def same(function, compiled, arguments):
    outcome = compare.run(compiled, compare.clone(arguments))
    compare.assert_same_outcome(compare.run(function, compare.clone(arguments)), outcome)
    return outcome


def rewrites(function, arguments, **options):
    compiled = fusewire.compile(function, **options)
    for _ in range(2):
        compiled(*compare.clone(arguments))
    return " rewriting [" in str(fusewire.explain(compiled)(*compare.clone(arguments)).plan)


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_arrays(name):
    function, make, expected = PROGRAMS[name]
    compiled = fusewire.compile(function)
    for n in sizes(name):
        if name == "smooth" and n == 0:
            continue
        for _ in range(2):
            same(function, compiled, make(n))
    if expected is not None:
        assert rewrites(function, make(300 if name in SQUARE else 5000)) == expected


def spoilt(arguments, at):
    """The first array with a number at a place that raises in turn `at` or about it."""
    first = arguments[0].copy()
    first.flat[at] = 0.0 if first.ndim == 1 else 1e308
    return first, *arguments[1:]


@pytest.mark.parametrize("at", [0, 1, 600, 1023, 1024, 1500, 4999])
def test_errors_half_way(at):
    compiled = fusewire.compile(quotients)
    for _ in range(3):
        same(quotients, compiled, vectors(5000))
    arguments = spoilt(vectors(5000), at)
    with np.errstate(divide="raise"):
        for _ in range(3):
            outcome = same(quotients, compiled, arguments)
            assert isinstance(outcome.error, FloatingPointError)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            plain, ours = compare.clone(arguments), compare.clone(arguments)
            for function, given in ((quotients, plain), (compiled, ours)):
                with pytest.raises(RuntimeWarning, match="divide by zero"):
                    function(*given)
            compare.assert_same_value(plain, ours, None)
    with np.errstate(divide="ignore"):
        same(quotients, compiled, arguments)
    same(quotients, compiled, arguments)  # warns


@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - {"edit distance", "rotate wide", "sweeps", "row sums"}))
def test_conditions_half_way(name):
    """Overflows and operands that are no numbers, at places all over the arrays, in the first call, too."""
    function, make, _ = PROGRAMS[name]
    size = 60 if name in SQUARE else 3000
    for mode in ("raise", "warn", "ignore"):
        compiled = fusewire.compile(function)
        for round_ in range(6):
            given = make(size)
            for _ in range(round_ % 3):
                which = given[RNG.integers(0, 2)]
                if isinstance(which, np.ndarray) and which.dtype == np.float64:
                    which.flat[RNG.integers(0, which.size)] = RNG.choice([1.7e308, -1.7e308, 0.0, np.inf])
            with np.errstate(all=mode):
                same(function, compiled, given)


@pytest.mark.parametrize("place", [0, 7, 2000, 44700, 44999])
def test_overflow_half_way_in_rows(place):
    compiled = fusewire.compile(stencil)
    for _ in range(3):
        same(stencil, compiled, (reals(300, 150), reals(300, 150)))
    u = reals(300, 150)
    u.flat[place:place + 2] = 1.7e308
    for mode in ("raise", "warn", "ignore"):
        with np.errstate(over=mode):
            for _ in range(3):
                same(stencil, compiled, (u, reals(300, 150)))


@pytest.mark.parametrize("length", [0, 1, 700, 1024, 3000])
def test_index_errors_half_way(length):
    def copy(x, y, n):
        for i in range(n):
            y[i] = x[i] + 1.0

    compiled = fusewire.compile(copy)
    for _ in range(3):
        same(copy, compiled, (*vectors(4000), 4000))
    for x, y in ((reals(length), reals(4000)), (reals(4000), reals(length))):
        for _ in range(3):
            outcome = same(copy, compiled, (x, y, 4000))
            assert isinstance(outcome.error, IndexError)


def test_python_ints_too_large():
    def powers(x, y):
        p = 1
        for i in range(len(x)):
            p = p * 3 % 1000003
            y[i] = p + x[i]

    def growing(x, y):
        p = 1
        for i in range(len(x)):
            p = p * 3
            y[i] = p + x[i]

    for function in (powers, growing):
        compiled = fusewire.compile(function)
        for n in (5, 5, 30, 39, 41, 200):
            same(function, compiled, (RNG.integers(0, 5, n), np.zeros(n, np.int64)))


ALIASES = {
    "same": lambda b: (b[:2000], b[:2000]),
    "shifted": lambda b: (b[1:2001], b[:2000]),
    "shifted back": lambda b: (b[:2000], b[1:2001]),
    "reversed": lambda b: (b[:2000], b[1999::-1]),
    "strided": lambda b: (b[:2000], b[2000:6000:2]),
    "into columns": lambda b: (b[:2000], b[2000:].reshape(-1, 2)[:2000, 1]),
    "repeated": lambda b: (np.broadcast_to(b[:1], 2000), b[3000:5000]),
    "onto one": lambda b: (b[:2000], np.lib.stride_tricks.as_strided(b[5000:], (2000,), (0,))),
}


@pytest.mark.parametrize("alias", ALIASES)
@pytest.mark.parametrize("name", ["leaky", "neighbours", "reversed", "quotients"])
def test_arguments_that_share_memory(name, alias):
    function = PROGRAMS[name][0]
    compiled = fusewire.compile(function)
    for _ in range(2):
        same(function, compiled, vectors(2000))
    base = reals(8000)
    for _ in range(3):
        plain, ours = base.copy(), base.copy()
        function(*ALIASES[alias](plain))
        compiled(*ALIASES[alias](ours))
        assert plain.tobytes() == ours.tobytes()


def test_read_only():
    compiled = fusewire.compile(leaky)
    for _ in range(2):
        same(leaky, compiled, vectors(100))
    x, y = vectors(100)
    y.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        compiled(x, y)


def test_types_change():
    compiled = fusewire.compile(leaky)
    for dtype in (np.float64, np.float32, np.int64, np.float16, np.complex128, np.int8):
        for _ in range(2):
            same(leaky, compiled, (reals(3000), np.zeros(3000, dtype)))


def test_what_held_the_array_before_is_read():
    """Such a loop is none."""
    def read_in_front(x, y):
        t = y.sum()
        for i in range(len(x)):
            y[i] = x[i] / (t + i)

    def read_inside(x, y):
        for i in range(len(x)):
            y[i] = y[i] + x[i]

    def read_behind(x, y):
        old = y[3]
        for i in range(len(x)):
            y[i] = 1.0 / x[i]
        return old

    def copied(x, y):
        for i in range(len(x)):
            y[i] = 1.0 / x[i]
        return y.copy()

    def twice(x, y):
        for i in range(len(x)):
            y[i] = 1.0 / x[i]
        for i in range(len(x)):
            y[i] = y[i] + 1.0 / x[i]

    for function in (read_in_front, read_inside, read_behind, copied, twice):
        compiled = fusewire.compile(function)
        for _ in range(3):
            same(function, compiled, vectors(5000))
        for mode in ("raise", "warn", "ignore"):
            with np.errstate(all=mode):
                same(function, compiled, spoilt(vectors(5000), 3000))


def test_interrupted():
    def slowly(x, y):
        for i in range(len(x)):
            k = 0.0
            while k < 2000.0:
                k += x[i]
            y[i] = k

    compiled = fusewire.compile(slowly)
    x = np.full(2_000_000, 1.5)
    for _ in range(2):
        compiled(x[:100], np.zeros(100))
    y = np.full(len(x), -1.0)

    def stop(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            compiled(x, y)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    done = np.count_nonzero(y != -1.0)
    assert (y[:done] == 2001.0).all() and (y[done:] == -1.0).all() and done < len(y)


@pytest.mark.parametrize("backend", ["llvm", "llvm_o0", "reference"])
def test_backends(backend):
    for name in ("leaky", "stencil", "two at once"):
        function, make, _ = PROGRAMS[name]
        compiled = fusewire.compile(function, backend=backend)
        for n in (3, 4, 60, 300):
            same(function, compiled, make(n))


@pytest.mark.parametrize("options", [{"checked": True}, {"disable_passes": "rewrites"}, {"opt_level": 1}])
def test_without(options):
    function, make, _ = PROGRAMS["quotients"]
    compiled = fusewire.compile(function, **options)
    for n in (3, 4, 2000):
        same(function, compiled, make(n))
    same(function, compiled, spoilt(make(2000), 1500))
    if "opt_level" not in options:
        assert not rewrites(function, make(2000), **options)


def test_what_goes_wrong_beside_the_loop():
    def in_front(x, y, z):
        w = 1.0 / z
        for i in range(len(x)):
            y[i] = x[i] * 2.0
        return w

    def a_number_in_front(x, y, z):
        w = 1.0 / z[1]
        for i in range(len(x)):
            y[i] = x[i] * w
        return w

    def used_behind(x, y, z):
        w = 1.0 / z
        for i in range(len(x)):
            y[i] = x[i] * 2.0
        return y.sum() + w.sum()

    def an_int_in_front(x, y, z):
        k = int(z[0]) // int(z[1])
        for i in range(len(x)):
            y[i] = x[i] * k
        return k

    def behind(x, y, z):
        for i in range(len(x)):
            y[i] = x[i] * 2.0
        return 1.0 / z

    for function in (in_front, a_number_in_front, used_behind, an_int_in_front, behind):
        for mode in ("raise", "warn", "ignore"):
            compiled = fusewire.compile(function)
            for zero in (False, False, True, True, False):
                x, y = vectors(3000)
                with np.errstate(all=mode):
                    same(function, compiled, (x, y, np.array([1.5, 0.0 if zero else 2.0, 3.0])))
