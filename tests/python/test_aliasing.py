"""Programs that write their arguments, with every way in which two arguments can share memory and sizes that have no element, one, two
and many: plain Python against compiled code, and against the simple executor of writes (backend ``statements``), first and warm calls."""

import linecache

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import fusewire
from compare import assert_same_outcome, run
from test_writes import assert_same_aliases

LINES = """
t = a[1:].copy(); a[:] = 0; a[1:] = t
old = a[::2].copy(); a += 10; a[::2] = old
t = a[0].copy(); a[:] = a.sum(0); a[0] = t
y = a[::-1]; a[:] = y; y[:] = a
a[:], b[:] = b, a
t = a.copy(); a[:] = b; b[:] = t
np.copyto(a, b); np.copyto(b, a)
t = b.copy(); np.copyto(a, t); np.copyto(b, a[::-1])
a[1:] = a[:-1]
a[:-1] = a[1:]
a[:] = a[::-1]
a[::-1] = b
a[1:] += a[:-1]
a += b; b += a; a -= b
v = a[1:]; w = v[::2]; w += 1; v *= 2; return w, v
v = a[::-1]; v[1:] = v[:-1]; return v
np.add(a, b, out=a); np.subtract(a, b, out=b)
np.multiply(a[1:], b[:-1], out=a[:-1])
a[b > 3] = 0; b[a == 0] = 9
m = a > 3; a[m] = b[m]; b[m] = 1
a[a > 2] += 5; a[0:1] = b[-1:]
np.copyto(a, b, where=b > 2); a += 1; np.copyto(b, a, where=a > 4)
np.putmask(a, a > 3, b)
t = a[:1].copy(); a[:-1] = a[1:]; a[-1:] = t
t = a[-1:].copy(); a[1:] = a[:-1]; a[:1] = t
t = a[0].copy(); a[0] = a[-1]; a[-1] = t
a[0], a[-1] = a[-1], a[0]
t = a.copy(); a[:] = 0; b[:] = a; a[:] = t
t = a.copy(); b[:] = 0; a[:] = t
t = a[1:].copy(); b[:] = 7; a[1:] = t; return b
s = a.sum(0); a[:] = s; b[:] = s; return s
t = a[:1] * 1; a[:] = b; b[:1] = t
x = a + b; a[:] = x; b[:] = x - a; return x
a.fill(1); b.fill(2); return a.sum()
a[:] = b; a[1:] = b[:-1]; return a[::2]
a[::2] = 1; a[1::2] = 2; return b.copy()
t = a[1::2].copy(); a[::2] = 0; a[1::2] = t
t = a[1::2].copy(); a[1:] = 0; a[1::2] = t
c = a.copy(); c[1:] = b[:-1]; a[:] = c; c[:] = 0; return c
c = np.zeros_like(a); d = np.zeros_like(a); c += a; d -= b; a[:] = d; return c, d
c = a * 2; d = a * 2; c[:1] = 0; return c, d
v = a[:]; v += b; b[:] = v; return v is a
a -= a[::-1]; return b.copy()
a[:] = np.where(a > b, a, b); b[:] = np.where(a > b, 0, 1)
np.maximum(a, b[::-1], out=b); a[:] = b
b[...] = a; a[...] = b[::-1]; b[...] = a[::-1]
for i in range(3): t = a[:1].copy(); a *= 2; a[:1] = t
for i in range(3): b[1:] = a[:-1]; a[:] = b
for i in range(min(3, len(a))): a[i] = b[i] + a[-1]
r = [x for x in (a[:2], b[:2])]; a += 1; return r[0], r[1]
t = np.negative(a); np.absolute(t, out=b); a[:] = t
a //= 2; b %= 3; a[:] = b
t = a.reshape(-1)[1:].copy(); a.reshape(-1)[:] = 0; a.reshape(-1)[1:] = t
a[:] = a / (b - b[:1])
np.divide(a, b - b, out=a); b[:] = a
a[1:][1:][::2] = b[:-2][::2]
t = float(a.sum()); a[:] = t; b -= t; return t
t = a[0]; a[:] = 0; return t
v = a[:1]; t = v.copy(); v[:] = 9; a[:1] = t; v += 1
a[:] = a; b[:] = b[:]; a[1:] = a[1:]; b += 1
t = a[1:-1].copy(); a[1:] = b[1:]; a[1:-1] = t; return a[:2], b[:2]
t = a.copy(); u = b.copy(); a[:] = u; b[:] = t; a[:] = t; b[:] = u
c = a.copy(); c[::2] = c[:(len(c) + 1) // 2]; a[:] = c
""".strip().splitlines()

SQUARE_LINES = """
v = a.T; old = v.copy(); a[...] = 3; v[...] = old
a[:] = a.T
a += a.T; b -= a
a[:] = b.T; b[:] = a.T
t = a[:, 0].copy(); a[:] = a[:, ::-1]; a[:, 0] = t
t = a[0].copy(); a[1:] = a[:-1]; a[0] = t; a[:, 0] = a[:, -1]
a[0] = a[:, 0]; a[:, -1] = a[-1]
t = a[1:-1, 1:-1].copy(); a[:] = 0; a[1:-1, 1:-1] = t
d = a.T[::-1]; d[1:] = b[:-1]; return d
a.T[:, 1:] = a.T[:, :-1]
v = a.reshape(-1); t = v[::2].copy(); a[:] = 1; v[::2] = t
r = a[0]; c = a[:, 0]; r[:] = c; c += r
for row in a[:3]: row[1:] = row[:-1]
b[:] = a; a[:] = b.T; b[0] = a[0]
t = a[::2, 1::2].copy(); a[1::2] = 0; a[:, ::2] = 5; a[::2, 1::2] = t
t = a[:, :1].copy(); a[:, :1] = 0; b += a; a[:, :1] = t
""".strip().splitlines()

# ---- two arguments, and the memory behind them: f(size) of lines, or of squares ------------------------------------------------------


def memory(n, dtype, seed=1):
    return np.random.default_rng(seed).integers(0, 9, n).astype(dtype)


def part(of, *slices):
    """(all of the memory, two parts of it)"""
    return lambda n, dtype: (m := of(n, dtype), *(m[s(n)] for s in slices))


def line(n, dtype):
    return memory(2 * n + 1, dtype)


def cut(start, stop, step=1):
    return lambda n: slice(start(n), stop(n), step)


def zero_stride(n, dtype):
    m, a = memory(1, dtype, 2), memory(n, dtype)
    return m, a, as_strided(m, (n,), (0,))


def zero_stride_within(n, dtype):
    m = memory(n + 1, dtype)
    return m, m[:n], as_strided(m[n // 2:], (n,), (0,))


FIRST, SECOND = cut(lambda n: 0, lambda n: n), cut(lambda n: n, lambda n: 2 * n)
PATTERNS = {
    "distinct": part(line, FIRST, SECOND),
    "same": lambda n, dtype: (m := line(n, dtype), a := m[:n], a),
    "view": part(line, FIRST, FIRST),
    "reversed": lambda n, dtype: (m := line(n, dtype), m[:n], m[:n][::-1]),
    "shift_up": part(line, cut(lambda n: 1, lambda n: n + 1), FIRST),
    "shift_down": part(line, FIRST, cut(lambda n: 1, lambda n: n + 1)),
    "interleaved": part(line, cut(lambda n: 0, lambda n: 2 * n, 2), cut(lambda n: 1, lambda n: 2 * n, 2)),
    "steps": part(line, cut(lambda n: 0, lambda n: 2 * n, 2), FIRST),
    "half": part(line, FIRST, cut(lambda n: n // 2, lambda n: n // 2 + n)),
    "zero_stride": zero_stride,
    "zero_stride_within": zero_stride_within,
}


def square(n, dtype):
    return memory((2 * n + 2) ** 2, dtype).reshape(2 * n + 2, -1)[:, :2 * n]


def squares(first, second):
    return lambda n, dtype: (m := square(n, dtype), first(m, n), second(m, n))


SQUARES = {
    "distinct": squares(lambda m, n: m[:n, :n], lambda m, n: m[n:2 * n, :n]),
    "same": lambda n, dtype: (m := square(n, dtype), a := m[:n, :n], a),
    "packed": lambda n, dtype: (m := memory(n * n, dtype).reshape(n, n), m, m[:]),
    "transposed": squares(lambda m, n: m[:n, :n], lambda m, n: m[:n, :n].T),
    "flipped": squares(lambda m, n: m[:n, :n], lambda m, n: m[:n, :n][::-1, ::-1]),
    "rows": squares(lambda m, n: m[1:n + 1, :n], lambda m, n: m[:n, :n]),
    "columns": squares(lambda m, n: m[:n, :n], lambda m, n: m[:n, 1:n + 1] if n > 1 else m[:n, :n]),
    "fortran": lambda n, dtype: (m := np.asfortranarray(memory(n * n, dtype).reshape(n, n)), m, m.T),
    "interleaved": squares(lambda m, n: m[:2 * n:2, :n], lambda m, n: m[1:2 * n:2, :n]),
}


def program(source):
    text = "def f(a, b):\n    " + source.replace("; return", "\n    return") + "\n"
    name = f"<aliasing {source}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope = {"np": np}
    exec(compile(text, name, "exec"), scope)
    return scope["f"]


def compare(source, make, sizes, dtype, rung, calls=2):
    """The number of calls that ran compiled."""
    f = program(source)
    compiled = fusewire.compile(f, backend=rung)
    whole = lambda function: lambda memory, a, b: function(a, b)
    for n in sizes:
        for call in range(calls):
            expected, actual = run(whole(f), make(n, dtype)), run(whole(compiled), make(n, dtype))
            try:
                assert_same_outcome(expected, actual)
                if expected.error is None:
                    assert_same_aliases(expected, actual)
            except AssertionError as error:
                raise AssertionError(f"{source}\n{rung}, {dtype}, {n} elements, call {call}: {error}") from None
    facts = fusewire._fusewire.describe(compiled)
    bad = [b for b in facts["breaks"] if b["class"] == "bug" or b["reason"] in ("backend-failed", "compile-failed")]
    assert not bad, (source, rung, bad)
    return sum(v["hits"] for v in facts["variants"] + [v for r in facts.get("regions", ()) for v in r["variants"]])


def chosen(patterns, number):
    """Two that every program meets, and three more in turn."""
    names = list(patterns)
    rest = names[2:]
    return names[:2] + [rest[(3 * number + k) % len(rest)] for k in range(3)]


CASES = [(line, "line", number) for number, line in enumerate(LINES)]
CASES += [(line, "square", number) for number, line in enumerate(SQUARE_LINES)]


@pytest.mark.parametrize("source, kind, number", CASES, ids=[f"{kind}{number}" for _, kind, number in CASES])
def test_writes_of_aliased_arguments(source, kind, number, capfd):
    patterns, sizes = (PATTERNS, (7, 0, 1, 2, 1000)) if kind == "line" else (SQUARES, (5, 0, 1, 2, 33))
    dtype = ("f8", "i8", "f4")[number % 3] if "/" not in source else "f8"
    hits = {}
    for name in chosen(patterns, number):
        for rung in ("llvm", "statements"):
            hits[name, rung] = compare(source, patterns[name], sizes, dtype, rung)
    assert hits["distinct", "llvm"] > 0 and hits["distinct", "statements"] > 0, hits
    assert "failed" not in capfd.readouterr().err


LARGE = ["t = a[1:].copy(); a[:] = 0; a[1:] = t", "old = a[::2].copy(); a += 10; a[::2] = old", "a[:], b[:] = b, a",
         "a += b * 2; b -= a * 3; a[1:-1] = b[1:-1]", "y = a[::-1]; a[:] = y; y[:] = a", "t = a.copy(); b[:] = 0; a[:] = t",
         "t = a[:1].copy(); a[:-1] = a[1:]; a[-1:] = t; b += a"]


@pytest.mark.parametrize("source", LARGE)
def test_large_arguments(source):
    """More than the caches hold: commits that check floating-point flags while they store."""
    for rung in ("llvm", "statements"):
        assert sum(compare(source, PATTERNS[name], (150_000,), "f8", rung)
                   for name in ("distinct", "same", "shift_up", "interleaved", "reversed"))


def test_scalars_that_were_read_keep_their_value():
    def f(a, b):
        first, rest = a[0], a[1:]
        a[:] = b
        point = np.asarray(a[1])
        b[...] = first
        return first, rest, point

    for rung in ("llvm", "statements"):
        compiled = fusewire.compile(f, backend=rung)
        for make in (PATTERNS["distinct"], PATTERNS["shift_up"], PATTERNS["same"]):
            for _ in range(2):
                expected, actual = make(7, "f8"), make(7, "f8")
                for x, y in zip(f(*expected[1:]), compiled(*actual[1:]), strict=True):
                    assert type(x) is type(y) and np.array_equal(x, y)
                assert np.array_equal(expected[0], actual[0])


def test_an_error_half_way_leaves_arguments_to_python():
    """The simple executor writes as it goes: what it has written is put back before Python runs the call."""
    def f(a, b):
        a[:] = b
        b[1:] = 5
        np.divide(a, b - 5, out=b)
        return a

    compiled = fusewire.compile(f, backend="statements")
    for make in (PATTERNS["distinct"], PATTERNS["half"]):
        for _ in range(2):
            with np.errstate(all="raise"):
                expected, actual = run(lambda m, a, b: f(a, b), make(7, "f8")), run(lambda m, a, b: compiled(a, b), make(7, "f8"))
            assert isinstance(expected.error, FloatingPointError)
            assert_same_outcome(expected, actual)


# NumPy copies a line of elements over itself without a temporary. At equal steps it picks the order that is right; at others it reads what
# it has written.
@pytest.mark.parametrize("source, compiles", [
    ("a[1:] = a[:-1]", True), ("a[::-1] = a", True), ("a[:-1:2] = a[1::2]", True), ("a[1::2] = a[:-1:2]", True), ("a[2::2] = a[:-2:2]", True),
    ("a[::-2] = a[::2]", True), ("a[:] = a[2:3]", True), ("a[::2] = a[:5]", False), ("a[:9:3] = a[:6:2]", False), ("a[:5] = a[::2]", True), ("a[1:4] = a[1:7:2]", True), ("a[2:5] = a[1:6:2]", False),
    ("a[::2] = a[:5] + 0", True), ("np.copyto(a[::2], a[:5])", False)])
def test_a_line_is_copied_over_itself(source, compiles):
    hits = compare(source, lambda n, dtype: (m := memory(9, dtype), m, memory(1, dtype)), (9,), "f8", "llvm")
    assert (hits > 0) == compiles


@pytest.mark.parametrize("source, compiles", [
    ("a[0] = a[:, 0]", True), ("a[3] = a[:, 3]", True), ("a[1, 1:] = a[1:, 1]", True), ("a[:, -1] = a[-1]", True), ("a[1] = a[:, 0]", False), ("a[1] = a[:, 3]", False),
    ("a[:, 2] = a[0]", False), ("a[0, ::2] = a[:4, 1]", True), ("a[:, 0] = a[:, 1]", True), ("a[0] = a[::-1, 0]", False), ("a[0] = a[:, 3]", True)])
def test_rows_and_columns_of_one_array(source, compiles):
    compiled = compare(source, lambda n, dtype: (m := memory(49, dtype).reshape(7, 7), m, m), (7,), "f8", "llvm") > 0
    assert compiled == compiles


def test_the_rung_is_one_of_the_ladder():
    assert "statements" in fusewire.list_backends()
