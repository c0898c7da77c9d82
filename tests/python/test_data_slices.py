"""Slices whose bounds array data or the turn of a loop decides, as one region: reads, views and writes, with NumPy's clipping, for bounds inside
and outside of the array, sizes from none to many, and arrays of every layout."""
import numpy as np
import pytest

import fusewire
from compare import assert_same_call

# Each takes x (float64) and i (six ints).


def view(x, i): return x[int(i[0]):int(i[1])]
def elements_as_bounds(x, i): return x[i[0]:i[1]] * 2
def ends(x, i): return x[:i[0]], x[i[1]:]
def every_second(x, i): return x[i[0]:i[1]:2].copy()
def backwards(x, i): return x[i[0]:i[1]:-1].copy()
def sums(x, i): return x[i[0]:i[1]].sum() + x[i[1]:i[0]].sum()
def chosen_bounds(x, i):
    a, b = int(i[0]), int(i[1])
    return x[max(0, a):min(b, 7)].copy(), x[max(-3, a):max(a, b, 1)].copy(), x[min(-1, a):min(-1, b)].copy(), x[max(a, b):][::2].copy(), x[min(0, a):].copy()


def window_of_a_known_size(x, i):
    k = int(i[0])
    w = x[k:k + 3]
    return (w * np.array([1.0, 2.0, 3.0])).sum()


def rows_and_columns(x, i):
    m = x.reshape(-1, 5)
    return m[i[0]:i[1], 1:3].sum(axis=0), m[:, i[2]:].sum(axis=1)


def statistics(x, i):
    return x[i[0]:i[1]].mean(), x[i[0]:i[1]].max(), np.argmin(x[i[0]:i[1]])


def of_what_was_selected(x, i):
    v = np.where(x > 0.5)[0]
    return v[:5], v[-3:], v[::2], v[::-1][:4], v[2:7], v[:i[0]], v[1:], v[:-1]


def peaks(x, i):
    p = np.where((x[1:-1] > x[:-2]) & (x[1:-1] > x[2:]))[0] + 1
    order = np.argsort(x[p])[::-1][:5]
    return p[order]


def count_under_if(x, i):
    n = 0
    for v in x:
        if v > 0.5:
            n += 1
    return np.sort(x)[:n], np.sort(x)[n:]


def found(x, i):
    s = np.sort(x)
    k = np.searchsorted(s, 0.5)
    return np.concatenate([s[:k] + 1, s[k:] * 2]), s[:k].sum()


def offsets(x, i):
    s = 0.0
    for j in range(len(i) - 1):
        s += x[i[j]:i[j + 1]].sum()
    return s


def prefixes(x, i):
    out = np.zeros(len(i))
    for j in range(len(i)):
        out[j] = np.sqrt((x[:i[j]] ** 2).sum())
    return out


def windows(x, i):
    out = np.zeros((len(i), 3))
    for j in range(len(i)):
        out[j] = x[i[j]:i[j] + 3]
    return out


def clipped_window(x, i):
    out = np.zeros(len(x))
    for j in range(len(x)):
        out[j] = x[max(0, j - 2):j + 3].sum()
    return out


def clipped_mean(x, i):
    out = np.zeros(len(x))
    for j in range(len(x)):
        lo = max(0, j - 2)
        hi = min(len(x), j + 3)
        out[j] = x[lo:hi].mean()
    return out


def bisection(x, i):
    lo, hi = 0, len(x)
    while hi - lo > 4:
        mid = (lo + hi) // 2
        if x[lo:mid].sum() > x[mid:hi].sum():
            hi = mid
        else:
            lo = mid
    return lo, hi, x[lo:hi].max()


def store(x, i):
    x[i[0]:i[1]] = 7.0
    return x.sum()


def scale(x, i):
    x[i[0]:i[1]] *= 2
    return x


def reverse(x, i):
    x[i[0]:i[1]] = x[i[0]:i[1]][::-1]
    return x


def from_the_largest(x, i):
    k = np.argmax(x)
    x[k:] = 0.0
    return x, k


def through_a_view(x, i):
    z = x[i[0]:i[1]]
    z[...] = 3.0
    z += x[:1]
    return x, z


def views_see_it(x, i):
    y = x.copy()
    y[i[0]:i[1]] = 1.0
    v = y[i[0]:]
    y[:i[1]] += 1
    return y, v


def shifted(x, i):
    y = np.zeros_like(x)
    y[i[0]:i[1]] = x[:i[1] - i[0]]
    return y


def rows_moved(x, i):
    for j in range(3):
        x[i[j]:i[j] + 4] = x[i[j + 1]:i[j + 1] + 4].copy()
    return x


def onto_itself(x, i):
    x[i[0]:i[0] + 3] = x[i[1]:i[1] + 3] + 1
    return x


def runs(x, i):
    for j in range(len(i) - 1):
        x[i[j]:i[j + 1]] += j
    return x


def stored_and_read(x, i):
    x[i[0]:i[1]] = x[i[2]]
    return x[i[2]:].sum() + x[i[0]]


def saved_and_restored(x, i):
    old = x[i[0]:i[1]].copy()
    x[i[0]:i[1]] = 0.0
    s = x.sum()
    x[i[0]:i[1]] = old
    return s, x


def errors_half_way(x, i):
    x[i[0]:i[1]] = 1.0
    x[i[2]] = 2.0
    return x


PROGRAMS = {f.__name__: f for f in list(globals().values()) if callable(f) and getattr(f, "__module__", "") == __name__}
LAYOUTS = {"packed": lambda r, n: r.random(n), "strided": lambda r, n: r.random(2 * n)[::2], "reversed": lambda r, n: r.random(n)[::-1]}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, layout):
    function = PROGRAMS[name]
    compiled = fusewire.compile(function)
    r = np.random.default_rng(7)
    for attempt in range(42):
        size = (80, 81, 100)[attempt % 3] if attempt < 24 else (5, 10, 1)[attempt % 3]
        if name == "rows_and_columns":
            size = size // 5 * 5
        x = LAYOUTS[layout](r, size)
        inside = np.sort(r.integers(0, size, 6)) if size else np.zeros(6, dtype=np.int64)
        i = inside if attempt % 2 else r.integers(-size - 3 if attempt % 3 else 0, size + 3, 6)
        assert_same_call(function, compiled, (x, i.astype(np.int32) if attempt % 5 == 4 else i))
        if attempt == 23:
            described = fusewire._fusewire.describe(compiled)
    assert not described["breaks"], described["breaks"]
    assert sum(v["hits"] for v in described["variants"]) >= 4


@pytest.mark.parametrize("name", ["store", "scale", "reverse", "offsets", "through_a_view", "saved_and_restored"])
def test_large(name):
    function = PROGRAMS[name]
    compiled = fusewire.compile(function)
    r = np.random.default_rng(3)
    for _ in range(3):
        assert_same_call(function, compiled, (r.random(100_000), np.sort(r.integers(0, 100_000, 6))))


def test_one_array_as_both():
    def function(x, y, i):
        x[i[0]:i[1]] = y[i[0]:i[1]] * 2
        y[:i[0]] += 1
        return x

    compiled = fusewire.compile(function)
    i = np.array([3, 9])
    for other in (lambda x: x, lambda x: x[::-1], lambda x: x[:], lambda x: x.copy()):
        x, z = np.arange(20.0), np.arange(20.0)
        assert np.array_equal(function(x, other(x), i), compiled(z, other(z), i))
        assert np.array_equal(x, z)


def test_bounds_that_are_no_ints():
    def function(x, k):
        return x[:k[0]]

    compiled = fusewire.compile(function)
    for k in (np.array([3]), np.array([2.5]), np.array([True]), np.array([3], dtype=np.uint64), np.array([2**64 - 1], dtype=np.uint64)):
        assert_same_call(function, compiled, (np.arange(5.0), k))


def doubling(x, steps):
    s = 0.0
    length = 1
    while length < len(x):
        for i in range(0, len(x), length):
            s += x[i] * length
        length *= 2
    return s


def strided_sums(x, steps):
    """A harmonic sieve: every step of the array."""
    out = np.zeros(len(steps))
    for k in range(len(steps)):
        for i in range(0, len(x), steps[k]):
            out[k] += x[i]
    return out


def downwards(x, steps):
    out = np.zeros(len(steps))
    for k in range(len(steps)):
        by = int(steps[k])
        for i in range(len(x) - 1, -1, -by):
            out[k] += x[i]
    return out


@pytest.mark.parametrize("function", [doubling, strided_sums, downwards], ids=lambda f: f.__name__)
def test_steps_that_data_decides(function):
    """A step that is written with a minus is taken to go down, any other one up: else the call is Python's."""
    compiled = fusewire.compile(function)
    for n in (0, 1, 2, 7, 100):
        for steps in ([1, 2, 3], [7, 1, 200], [5]):
            assert_same_call(function, compiled, (np.random.default_rng(n).random(n), np.array(steps)))
    described = fusewire._fusewire.describe(compiled)
    assert not described["breaks"] and not any(v["declines"] for v in described["variants"])
    for steps in ([1, 0, 2], [2, -1, 3], [-3], [2**62, 1], [-(2**62)]):
        for n in (0, 3, 30):
            assert_same_call(function, compiled, (np.random.default_rng(n).random(n), np.array(steps)))
