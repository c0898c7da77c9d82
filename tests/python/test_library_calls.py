"""NumPy's own functions inside of compiled code: every rule of library_rules.cpp against what NumPy answers, for element
types, layouts and sizes; what goes wrong in them; and how they stand beside kernels, writes and views."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import compare
import fusewire

CALLS = {
    "matmul": ("x @ y", "square square"),
    "matmul_vector": ("x @ v", "square vector"),
    "vector_matmul": ("v @ x", "square vector"),
    "vectors": ("v @ w", "vector vector"),
    "np_matmul": ("np.matmul(x, y)", "square square"),
    "tall": ("x @ y.T", "tall tall"),
    "stack": ("s @ x", "stack square"),
    "stacks": ("s @ s", "stack"),
    "dot": ("np.dot(x, y)", "square square"),
    "dot_method": ("x.dot(v)", "square vector"),
    "dot_stack": ("np.dot(s, x)", "stack square"),
    "vdot": ("np.vdot(v, w)", "vector vector"),
    "inner": ("np.inner(x, y)", "tall tall"),
    "tensordot": ("np.tensordot(s, x, 1)", "stack square"),
    "kron": ("np.kron(x, y)", "square tall"),
    "cross": ("np.cross(p, q)", "points points"),
    "trace": ("np.trace(x)", "square"),
    "trace_offset": ("x.trace(1)", "tall"),
    "inv": ("np.linalg.inv(x)", "square"),
    "inv_stack": ("np.linalg.inv(s)", "stack"),
    "solve": ("np.linalg.solve(x, y)", "square square"),
    "solve_vector": ("np.linalg.solve(x, v)", "square vector"),
    "det": ("np.linalg.det(x)", "square"),
    "det_stack": ("np.linalg.det(s)", "stack"),
    "cholesky": ("np.linalg.cholesky(x @ x.T.conj() + 9 * np.eye(5, dtype=x.dtype))", "square"),
    "eigvalsh": ("np.linalg.eigvalsh(x)", "square"),
    "eigh": ("np.linalg.eigh(x)", "square"),
    "eigh_parts": ("np.linalg.eigh(x).eigenvectors", "square"),
    "slogdet": ("np.linalg.slogdet(x)", "square"),
    "qr": ("np.linalg.qr(x)", "tall"),
    "svd": ("np.linalg.svd(x)", "tall"),
    "svd_thin": ("np.linalg.svd(x, full_matrices=False)", "tall"),
    "svd_values": ("np.linalg.svd(x, compute_uv=False)", "tall"),
    "pinv": ("np.linalg.pinv(x)", "tall"),
    "matrix_power": ("np.linalg.matrix_power(x, 3)", "square"),
    "norm": ("np.linalg.norm(x)", "tall"),
    "norm_vector": ("np.linalg.norm(v)", "vector"),
    "norm_axis": ("np.linalg.norm(x, axis=1)", "tall"),
    "norm_one": ("np.linalg.norm(v, 1)", "vector"),
    "sort": ("np.sort(x)", "tall"),
    "sort_axis": ("np.sort(x, axis=0)", "tall"),
    "sort_flat": ("np.sort(x, axis=None)", "tall"),
    "argsort": ("np.argsort(x)", "tall"),
    "argsort_method": ("v.argsort(kind='stable')", "vector"),
    "cumsum": ("np.cumsum(x)", "tall"),
    "cumsum_axis": ("x.cumsum(axis=0)", "tall"),
    "cumprod": ("np.cumprod(x, 1)", "tall"),
    "searchsorted": ("np.searchsorted(np.sort(v), x, side='right')", "vector tall"),
    "searchsorted_scalar": ("np.sort(v).searchsorted(w[0])", "vector vector"),
    "digitize": ("np.digitize(x, np.sort(v))", "tall vector"),
    "interp": ("np.interp(x, np.sort(v), w)", "tall vector vector"),
    "interp_ends": ("np.interp(w, np.sort(v), w, left=-1.0, right=2.0)", "vector vector"),
    "convolve": ("np.convolve(v, w[:3])", "vector vector"),
    "convolve_same": ("np.convolve(v, w[:3], mode='same')", "vector vector"),
    "correlate": ("np.correlate(v, w[:3])", "vector vector"),
    "median": ("np.median(x)", "tall"),
    "median_axis": ("np.median(x, axis=0)", "tall"),
    "percentile": ("np.percentile(x, 30)", "tall"),
    "quantile_axis": ("np.quantile(x, 0.75, axis=1)", "tall"),
    "fft": ("np.fft.fft(x)", "tall"),
    "ifft": ("np.fft.ifft(v)", "vector"),
    "rfft": ("np.fft.rfft(x)", "tall"),
    "irfft": ("np.fft.irfft(x)", "tall"),
    "fft_points": ("np.fft.fft(x, n=9)", "tall"),
    "rfft_points": ("np.fft.rfft(v, 3)", "vector"),
    "irfft_points": ("np.fft.irfft(np.fft.fft(v), n=len(v))", "vector"),
    "frequencies": ("v[0] * np.fft.fftfreq(len(v), 0.1) + np.fft.fftfreq(len(v))", "vector"),
    "frequencies_half": ("v[0] * np.fft.rfftfreq(len(v), d=2)", "vector"),
    "cov": ("np.cov(x)", "tall"),
    "cov_columns": ("np.cov(x, rowvar=False)", "tall"),
    "corrcoef": ("np.corrcoef(x)", "tall"),
    "corrcoef_columns": ("np.corrcoef(x, rowvar=False)", "tall"),
    "fft2": ("np.fft.fft2(x)", "tall"),
    "ifftn": ("np.fft.ifftn(s)", "stack"),
    "tril": ("np.tril(x)", "square"),
    "triu": ("np.triu(x, 1)", "tall"),
    "diag": ("np.diag(v)", "vector"),
    "repeat": ("np.repeat(x, 3, axis=1)", "tall"),
    "repeat_flat": ("x.repeat(2)", "tall"),
    "tile": ("np.tile(x, (2, 3))", "tall"),
    "take": ("np.take(x, np.array([2, 0, 1]), axis=1)", "tall"),
    "take_flat": ("x.take(np.argsort(v))", "square vector"),
}
NAMES = {"square": "xy", "tall": "xy", "vector": "vw", "stack": "s", "points": "pq"}
SHAPES = {"square": (5, 5), "tall": (4, 3), "vector": (5,), "stack": (2, 5, 5), "points": (6, 3)}
DTYPES = "?bBhHiIlLefdFD"
ORDERS = {
    "packed": lambda a: a,
    "fortran": np.asfortranarray,
    "strided": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "reversed": lambda a: a[::-1].copy()[::-1],
}


def parameters(kinds: str) -> list[tuple[str, str]]:
    used: dict[str, int] = {}
    out = []
    for kind in kinds.split():
        letters = NAMES[kind]
        taken = used.get(letters, 0)
        used[letters] = taken + 1
        out.append((letters[taken], kind))
    return out


def program(expression: str, kinds: str):
    names = ", ".join(name for name, _ in parameters(kinds))
    first = parameters(kinds)[0][0]
    source = f"def call({names}):\n    z = {first} + {first}\n    r = {expression}\n    return r, z + z\n"
    space: dict = {"np": np}
    exec(compile(source, "<library call>", "exec"), space)
    return space["call"]


def drawn(shape, dtype: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if dtype == "?":
        return rng.random(shape) < 0.5
    if dtype in "FD":
        return (rng.integers(-9, 9, shape) / 2 + 1j * rng.integers(-9, 9, shape) / 4).astype(dtype)
    if dtype in "efd":
        return (rng.integers(-40, 40, shape) / 4).astype(dtype)
    return rng.integers(0 if dtype.isupper() or dtype == "B" else -9, 9, shape).astype(dtype)


def check(function, arguments: tuple, must_compile: bool = False) -> bool:
    """Same outcome, first and second call; answers whether compiled code computed it."""
    compiled = fusewire.compile(function)
    for _ in range(2):
        plain = compare.assert_same_call(function, compiled, arguments)
    facts = fusewire._fusewire.describe(compiled)
    captured = bool(facts["variants"]) and not facts["breaks"]
    if captured and plain.error is None and not plain.warned:
        assert facts["variants"][0]["declines"] == 0, "the function answers something else than its rule says"
    if must_compile:
        assert captured, facts["breaks"]
    return captured


@pytest.mark.parametrize("name", CALLS)
def test_rules(name):
    expression, kinds = CALLS[name]
    function = program(expression, kinds)
    captured = 0
    for dtype in DTYPES:
        for order, arrange in ORDERS.items() if dtype in "fd" else [("packed", ORDERS["packed"])]:
            arguments = tuple(arrange(drawn(SHAPES[kind], dtype, i)) for i, (_, kind) in enumerate(parameters(kinds)))
            captured += check(function, arguments, must_compile=dtype == "d" and order == "packed")
    assert captured >= 2


def singular(x, b):
    y = x * 2 + 1 - 1
    b[0] = y[0]
    z = np.linalg.solve(y, b)
    b[1] = z[1]
    return z + y


def test_errors_come_from_the_call_and_leave_arguments():
    rng = np.random.default_rng(1)
    compiled = fusewire.compile(singular, fullgraph=True)
    for x in (rng.normal(size=(4, 4)), np.zeros((4, 4)), np.ones((4, 4)), rng.normal(size=(4, 4))):
        compare.assert_same_outcome(compare.run(singular, compare.clone((x, np.ones((4, 4))))),
                                    compare.run(compiled, compare.clone((x, np.ones((4, 4))))))


def row_by_row(s, out, b):
    for i in range(s.shape[0]):
        out[i] += b
        out[i] += np.linalg.solve(s[i], out[i])
        b *= 0.5
    return out.sum()


@pytest.mark.parametrize("bad", [None, 0, 1, 4, 5])
def test_a_call_that_raises_in_some_turn_leaves_nothing_half_done(bad):
    """Everything that the turns in front of it have stored is undone before Python runs them again: a row that was added to
    twice would show."""
    rng = np.random.default_rng(2)
    compiled = fusewire.compile(row_by_row, fullgraph=True)
    good = rng.normal(size=(6, 3, 3))
    compare.assert_same_call(row_by_row, compiled, (good, rng.normal(size=(6, 3)), rng.normal(size=3)))
    s = good.copy()
    if bad is not None:
        s[bad] = 0
    plain = compare.assert_same_call(row_by_row, compiled, (s, rng.normal(size=(6, 3)), rng.normal(size=3)))
    assert (plain.error is None) == (bad is None)
    variant, = fusewire._fusewire.describe(compiled)["variants"]
    assert variant["declines"] == (bad is not None)   # compiled code came as far as the call that raises


def overflows(x, y):
    z = np.dot(x * 2, y)
    w = np.cumsum(z + 1)
    return w * 0.5


@pytest.mark.parametrize("mode", ["warn", "raise", "ignore", "call", "print"])
def test_conditions_are_reported_as_in_python(mode, capsys):
    called = []
    compiled = fusewire.compile(overflows)
    big, one = np.full((3, 3), 1e300), np.full((3, 3), 1e300)
    for arguments in ((one * 0, one), (big, one), (big, one * np.inf), (big * np.nan, one)):
        outcomes = []
        for function in (overflows, compiled):
            with np.errstate(all=mode, call=lambda kind, flag: called.append((kind, flag))):
                outcomes.append(compare.run(function, compare.clone(arguments)))
            outcomes.append(list(called))
            outcomes.append(capsys.readouterr().out)
            called.clear()
        compare.assert_same_outcome(outcomes[0], outcomes[3])
        assert outcomes[1:3] == outcomes[4:6]


def test_the_error_state_is_as_it_was():
    def f(x):
        return np.sort(x + 1) * 2, np.geterr()

    with np.errstate(over="print", divide="ignore"):
        before = np.geterr()
        compiled = fusewire.compile(f)
        for _ in range(3):
            assert compiled(np.arange(5.0))[1] == before
            assert np.geterr() == before


def filtered(x, h):
    y = np.convolve(x * 2, h, mode="same")
    y[1:-1] += x[1:-1]
    y[0] = 0
    x[::2] = y[::2]
    part = y[2:5]
    part *= 2
    return y, part, x


def test_results_are_written_and_viewed():
    compiled = fusewire.compile(filtered, fullgraph=True)
    for n in (8, 9, 20):
        compare.assert_same_call(filtered, compiled, (np.arange(float(n)), np.array([1.0, 2, 1])))


def several(x):
    y = x * 2
    s = np.sort(y)
    return s, s, s[::-1], s[1:], np.sort(y), s.sum()


def test_results_are_arrays_of_their_own():
    compiled = fusewire.compile(several, fullgraph=True)
    a = compiled(np.arange(6.0))
    b = compiled(np.arange(6.0))
    compare.assert_same_call(several, compiled, (np.arange(6.0)[::-1].copy(),))
    assert a[0] is a[1] and a[0] is not a[4] and a[0].flags.owndata
    assert a[2].base is a[0] and a[3].base is a[0]
    assert not np.shares_memory(a[0], a[4]) and not np.shares_memory(a[0], b[0])
    b[0][:] = -1
    assert a[0][0] == 0


def shared(x, y):
    x += 1
    z = x @ y
    y -= z
    return np.sort(y * 2, axis=None)


def test_arguments_that_share_memory():
    rng = np.random.default_rng(3)
    base = rng.normal(size=(9, 9))
    compiled = fusewire.compile(shared)
    for pick in (lambda a: (a[:4, :4], a[5:, 5:]), lambda a: (a[:4, :4], a[:4, :4]), lambda a: (a[:4, :4], a[:4, :4].T),
                 lambda a: (a[:4, :4], a[1:5, :4]), lambda a: (a[:4, :4], a[3::-1, :4])):
        one, other = base.copy(), base.copy()
        np.testing.assert_array_equal(shared(*pick(one)), compiled(*pick(other)))
        np.testing.assert_array_equal(one, other)


def test_sizes_are_symbolic():
    def f(x):
        return np.cumsum(x * 2)[::-1] + np.sort(x)

    compiled = fusewire.compile(f, dynamic=True)
    for n in (5, 7, 100, 1, 0, 2, 100_000):
        compare.assert_same_call(f, compiled, (np.arange(n) % 7 * 1.5,))
    assert len(fusewire._fusewire.describe(compiled)["variants"]) <= 4


def test_replaced_functions_are_noticed(monkeypatch):
    def f(x):
        return np.sort(x * 2) + 1

    compiled = fusewire.compile(f)
    compare.assert_same_call(f, compiled, (np.arange(5.0),))
    monkeypatch.setattr(np, "sort", lambda x: x - 100)
    compare.assert_same_call(f, compiled, (np.arange(5.0),))


def test_the_function_that_is_called_is_called(monkeypatch):
    sort = np.sort

    def f(x, y):
        return sort(x * 2) + 1, (x * 2) @ y

    monkeypatch.setattr(np, "sort", lambda x: x - 100)
    monkeypatch.setattr(np, "matmul", lambda x, y: x - y)
    compiled = fusewire.compile(f, fullgraph=True)
    compare.assert_same_call(f, compiled, (np.arange(5.0)[::-1].copy(), np.eye(5) * 3))


def test_loops_of_calls():
    def f(a, x):
        for _ in range(20):
            x = a @ x
            x = x / np.linalg.norm(x)
        return x, x @ (a @ x)

    rng = np.random.default_rng(0)
    compiled = fusewire.compile(f)
    compare.assert_same_call(f, compiled, (rng.normal(size=(6, 6)), rng.normal(size=6)))


def test_threads():
    def f(a, b):
        c = a * 2
        for _ in range(3):
            c = c @ b + a
        return np.linalg.inv(c * 0.5)

    rng = np.random.default_rng(0)
    compiled = fusewire.compile(f)
    cases = [(rng.normal(size=(n, n)), rng.normal(size=(n, n))) for n in (3, 40, 200)]
    wanted = [f(*case) for case in cases]
    wrong = []

    def work(which):
        for _ in range(20):
            if not np.array_equal(compiled(*cases[which]), wanted[which]):
                wrong.append(which)

    threads = [threading.Thread(target=work, args=(i % 3,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_nothing_is_kept():
    def f(x):
        return np.sort(x + 1) * 2

    compiled = fusewire.compile(f)
    x = np.arange(1000.0)
    for _ in range(3):
        compiled(x)
    before = sys.getrefcount(x)
    blocks = len(gc.get_objects())
    for _ in range(100):
        compiled(x)
    assert sys.getrefcount(x) == before
    assert len(gc.get_objects()) < blocks + 50


def test_only_calls_are_left_to_python():
    def f(a, b):
        return a @ b

    compiled = fusewire.compile(f)
    a = np.eye(30)
    np.testing.assert_array_equal(compiled(a, a), a)
    assert not fusewire._fusewire.describe(compiled)["variants"]


def chosen(x, y):
    s = x * 2
    if s.sum() > 0:
        s = s @ y
        np.linalg.inv(s + 9)
    else:
        s = np.linalg.solve(y, s) + 1
        np.sort(s)
    return s * 2, np.linalg.det(s)


def test_in_branches_on_data():
    rng = np.random.default_rng(5)
    compiled = fusewire.compile(chosen)
    y = rng.normal(size=(4, 4))
    for x, other in ((np.ones((4, 4)), y), (-np.ones((4, 4)), y), (-np.ones((4, 4)), y * 0), (np.ones((4, 4)), y * 0 - 9 / 8), (rng.normal(size=(4, 4)), y)):
        compare.assert_same_outcome(compare.run(chosen, (x.copy(), other.copy())), compare.run(compiled, (x.copy(), other.copy())))
        plain = compare.run(chosen, (x, other))
        if plain.error is None:
            compare.assert_same_call(chosen, compiled, (x, other))


@pytest.mark.parametrize("call", ["np.kron(v, w)", "np.tile(v, 2)", "np.roll(v[::-1], 1)", "np.cross(v[:3], w[:3])", "np.repeat(v, 2)", "np.sort(v)",
                                  "np.nanmedian(x, 0)", "np.tensordot(x, x, 1)", "np.linalg.eigvals(x)"])
def test_an_array_that_takes_a_result_over_is_no_view(call):
    """Some functions answer views of what they have made. Those leave as they are; what such a result was copied into
    has no base, whichever of them leave, and in which order."""
    source = f"""
def f(v, w, x):
    r = {call}
    t = np.empty_like(r)
    t[...] = r
    return LEAVE
"""
    rng = np.random.default_rng(5)
    v, w, x = rng.random(6), rng.random(6), rng.random((4, 4)) + np.eye(4)
    for leave in ("t", "r", "(r, t)", "(t, r)", "(t, r.copy())", "(r, r.copy(), t[1:])", "(t[1:], r)"):
        scope = {"np": np}
        exec(source.replace("LEAVE", leave), scope)
        compiled = fusewire.compile(scope["f"], economy=False, warm_up=0)
        expected = scope["f"](v, w, x)
        for _ in range(3):
            result = compiled(v, w, x)
            compare.assert_same_value(expected, result, 4)
            for one, other in zip(expected if isinstance(expected, tuple) else [expected], result if isinstance(result, tuple) else [result]):
                assert (one.base is None) == (other.base is None), leave
                assert one.flags.owndata == other.flags.owndata, leave


def test_a_method_of_a_ufunc_that_each_look_up_makes_anew():
    """Traces are made again until all of its ways are tried, wherever in memory the method object stands each time: with
    Python's debugging allocator never where it was."""
    program = """
import numpy as np, fusewire
def made():
    handled = {}
    class Duck:
        def __array_function__(self, function, types, args, kwargs):
            return handled[function](*args, **kwargs)
    def implements(function):
        def register(own):
            handled[function] = own
            return own
        return register
    return Duck, implements
def ask():
    Duck, implements = made()
    @implements(np.sum)
    def own(array):
        return "its own"
    return np.sum(Duck())
ask = fusewire.compile(ask, economy=False)
print(ask(), ask())
"""
    environment = {**os.environ, "PYTHONMALLOC": "debug"}
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=60)
    assert ran.stdout.strip() == "its own its own", ran.stderr
