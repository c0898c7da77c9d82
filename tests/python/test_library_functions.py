"""Functions of NumPy and SciPy that no rule of ours is about: followed into their own Python code, or called, with results that
examples tell. Each as part of one region, with sizes, element types and memory orders that change, and with what goes wrong in them."""

from __future__ import annotations

import time
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import compare
import fusewire

# name: expression of x, y (vectors), A, S (square; S positive definite), M (more rows than columns), i (places), k (small ints), m (mask), n (with NaN).
NUMPY = {
    "einsum": "np.einsum('ij,jk->ik', A * 2, S) + 1",
    "einsum_trace": "np.einsum('ii', A * 2) + 1",
    "einsum_three": "np.einsum('i,ij,j', A[0], S, A[1]) * 2",
    "einsum_path": "np.einsum('ij,jk,kl->il', A, S, A, optimize=True) * 2",
    "tensordot_axes": "np.tensordot(A * 2, S, axes=([0], [1])) + 1",
    "lexsort": "np.lexsort((x * 2, y)) + 1",
    "partition": "np.partition(x * 2, 3) + 1",
    "argpartition_method": "(x * 2).argpartition(3)[:2] + 1",
    "add_accumulate": "np.add.accumulate(x * 2) + 1",
    "maximum_accumulate": "np.maximum.accumulate(x * 2) + 1",
    "multiply_accumulate": "np.multiply.accumulate(A * 2, axis=1) + 1",
    "add_outer": "np.add.outer(x * 2, y) + 1",
    "subtract_outer": "np.subtract.outer(x * 2, y) + 1",
    "add_reduceat": "np.add.reduceat(x * 2, [0, 1, 3]) + 1",
    "add_reduce": "np.add.reduce(A * 2) + 1",
    "maximum_reduce": "np.maximum.reduce(A * 2, axis=1) + 1",
    "logical_or_reduce": "np.logical_or.reduce(A > 0.5)",
    "hypot_reduce": "np.hypot.reduce(A * 2) + 1",
    "gradient": "np.gradient(x * 2) + 1",
    "gradient_step": "np.gradient(x * 2, 0.1) + 1",
    "gradient_axes": "np.gradient(A * 2)[1] + 1",
    "ediff1d": "np.ediff1d(x * 2) + 1",
    "trapezoid": "np.trapezoid(x * 2, y) + 1",
    "average": "np.average(x * 2) + 1",
    "average_weighted": "np.average(x * 2, weights=y) + 1",
    "nanmean": "np.nanmean(n * 2) + 1",
    "nanmean_axis": "np.nanmean(n[:4].reshape(2, 2) * 2, axis=1) + 1",
    "nansum": "np.nansum(n * 2) + 1",
    "nanstd": "np.nanstd(n * 2) + 1",
    "nanvar_axis": "np.nanvar(n[:4].reshape(2, 2) * 2, axis=0) + 1",
    "nanmax": "np.nanmax(n * 2) + 1",
    "nanmin_axis": "np.nanmin(n[:4].reshape(2, 2) * 2, axis=1) + 1",
    "nanprod": "np.nanprod(n * 2) + 1",
    "nanmedian": "np.nanmedian(n * 2) + 1",
    "nanpercentile": "np.nanpercentile(n * 2, 30) + 1",
    "nan_to_num": "np.nan_to_num(n * 2) + 1",
    "nancumsum": "np.nancumsum(n * 2) + 1",
    "percentiles": "np.percentile(x * 2, [5, 95]) + 1",
    "cov_of_two": "np.cov(x * 2, y) + 1",
    "corrcoef_of_two": "np.corrcoef(x * 2, y)[0, 1] + 1",
    "rot90": "np.rot90(A * 2) + 1",
    "rot270": "np.rot90(A * 2, 3) + 1",
    "diagflat": "np.diagflat(x * 2) + 1",
    "tri": "A * np.tri(A.shape[0])",
    "vander": "np.vander(x * 2, 4) + 1",
    "tile": "np.tile(x * 2, (2, 2)) + 1",
    "tril_indices": "A[np.tril_indices(A.shape[0])] * 2",
    "diag_indices": "A[np.diag_indices(A.shape[0])] * 2",
    "pad_reflect": "np.pad(A * 2, 1, mode='reflect') + 1",
    "pad_symmetric": "np.pad(A * 2, ((1, 1), (0, 1)), mode='symmetric') + 1",
    "pad_wrap": "np.pad(x * 2, 1, mode='wrap') + 1",
    "pad_ramp": "np.pad(x * 2, 2, mode='linear_ramp') + 1",
    "pad_mean": "np.pad(A * 2, 1, mode='mean') + 1",
    "take_axis": "np.take(A * 2, [0, 1], axis=1) + 1",
    "take_along_axis": "np.take_along_axis(A * 2, np.argsort(A, axis=1), axis=1) + 1",
    "choose": "np.choose((x > 0.5).astype(int), [x * 2, y]) + 1",
    "select": "np.select([x > 0.7, y > 0.5], [x * 2, y], 0.0) + 1",
    "piecewise": "np.piecewise(x, [x < 0.5, x >= 0.5], [0.0, 1.0]) + 1",
    "ix": "A[np.ix_([0, 1], [1, 0])] * 2",
    "mgrid": "np.mgrid[0:3, 0:4] * 2",
    "ogrid": "np.ogrid[0:3, 0:4][0] * 2",
    "indices": "np.indices((3, 4)) * 2",
    "fromfunction": "np.fromfunction(lambda a, b: a + 2 * b, (3, 4)) * 2",
    "r_": "np.r_[x * 2, y] + 1",
    "c_": "np.c_[x * 2, y] + 1",
    "insert": "np.insert(x * 2, 1, 7.0) + 1",
    "delete": "np.delete(x * 2, 1) + 1",
    "block": "np.block([[A * 2, A], [A, A]]) + 1",
    "dstack": "np.dstack([A * 2, A]) + 1",
    "resize": "np.resize(x * 2, 30) + 1",
    "unwrap": "np.unwrap(x * 20) + 1",
    "isin": "np.isin(k * 2, k)",
    "intersect1d": "np.intersect1d(k * 2, k) + 1",
    "union1d": "np.union1d(k * 2, k) + 1",
    "setdiff1d": "np.setdiff1d(k * 2, k) + 1",
    "unique_inverse": "np.unique(k * 2, return_inverse=True)[1] + 1",
    "polyval": "np.polyval(y[:3], x * 2) + 1",
    "polynomial": "np.polynomial.polynomial.polyval(x * 2, y[:3]) + 1",
    "hamming": "x * np.hamming(x.shape[0])",
    "blackman": "x * np.blackman(x.shape[0])",
    "sinc": "np.sinc(x * 2) + 1",
    "heaviside": "np.heaviside(x - 0.5, 0.5) + 1",
    "logspace": "x[:2].sum() * np.logspace(0, 2, 20)",
    "deg2rad": "np.deg2rad(x * 2) + 1",
    "degrees": "np.degrees(x * 2) + 1",
    "nextafter": "np.nextafter(x, 1.0) + 1",
    "modf": "np.modf(x * 3)[1] + 1",
    "frexp": "np.frexp(x * 3)[0] + 1",
    "ldexp": "np.ldexp(x, 3) + 1",
    "logaddexp": "np.logaddexp(x, y) + 1",
    "arcsinh": "np.arcsinh(x) + 1",
    "arctanh": "np.arctanh(x / 2) + 1",
    "gcd": "np.gcd(k * 2, 6) + 1",
    "float_power": "np.float_power(x, 3) + 1",
    "unravel_index": "np.unravel_index(np.argmax(A * 2), (50, 50))[0] + 1",
    "ravel_multi_index": "np.ravel_multi_index((k, k), (20, 20)) + 1",
    "packbits": "np.packbits(x > 0.5) + 1",
    "bitwise_count": "np.bitwise_count(k) + 1",
    "cond": "np.linalg.cond(S * 2) + 1",
    "matrix_rank": "np.linalg.matrix_rank(S * 2) + 1",
    "lstsq": "np.linalg.lstsq(M * 2, M[:, 0])[0] + 1",
    "multi_dot": "np.linalg.multi_dot([A, S * 2, A]) + 1",
    "tensorsolve": "np.linalg.tensorsolve(S * 2, S[0]) + 1",
    "rfft2": "np.fft.rfft2(A * 2) + 1",
    "hfft": "np.fft.hfft(x * 2) + 1",
    "fftshift": "np.fft.fftshift(A * 2) + 1",
    "places_and_a_slice": "(A * 2)[i[:2] % 2, :2] + 1",
    "places_behind_an_ellipsis": "(A * 2)[..., i[:2] % 2] + 1",
    "a_mask_beside_a_place": "(A * 2)[A[0] > 0.5, 1] + 1",
    "extract": "np.extract(x > 0.5, x * 2) + 1",
    "compress": "np.compress(x > 0.5, x * 2) + 1",
}
IN_PLACE = {
    "sort_method": "y = x * 2; y.sort(); return y + 1",
    "sort_axis": "B = A * 2; B.sort(axis=0); return B + 1",
    "partition_method": "y = x * 2; y.partition(1); return y[:1] + 1",
    "put": "y = x * 2; np.put(y, k, 0.0); return y + 1",
    "place": "y = x * 2; np.place(y, y > 1, [1.0, 2.0]); return y + 1",
    "fill_diagonal": "B = A * 2; np.fill_diagonal(B, 0.0); return B + 1",
    "fill_diagonal_of_an_argument": "np.fill_diagonal(A, 0.0); return A + 1",
    "put_along_axis": "B = A * 2; np.put_along_axis(B, np.argmax(B, axis=1, keepdims=True), 0.0, axis=1); return B + 1",
    "add_at": "y = x * 2; np.add.at(y, k, 1.5); return y + 1",
    "add_at_of_an_argument": "np.add.at(x, k, y[0]); return x + 1",
    "subtract_at_pairs": "B = A * 2; np.subtract.at(B, (k % 2, k % 2), 1.0); return B",
    "sort_an_argument": "x.sort(); return x * 2",
}
SCIPY = {
    "inv": "linalg.inv(S * 2) + 1",
    "cholesky": "linalg.cholesky(S * 2) + 1",
    "solve": "linalg.solve(S * 2, S[0]) + 1",
    "lu_solve": "linalg.lu_solve(linalg.lu_factor(S * 2), S[0]) + 1",
    "solve_triangular": "linalg.solve_triangular(S * 2, S[0], lower=True) + 1",
    "expm": "linalg.expm(A) + 1",
    "eigh": "linalg.eigh(S * 2)[0] + 1",
    "toeplitz": "linalg.toeplitz(x * 2) + 1",
    "erf": "special.erf(x * 2) + 1",
    "expit": "special.expit(x * 2) + 1",
    "gammaln": "special.gammaln(x * 2 + 1) + 1",
    "logsumexp": "special.logsumexp(x * 2) + 1",
    "softmax": "special.softmax(A * 2, axis=1) + 1",
    "gaussian_filter": "ndimage.gaussian_filter(A * 2, 1.0) + 1",
    "uniform_filter": "ndimage.uniform_filter(A * 2, 3) + 1",
    "label": "ndimage.label(A > 0.5)[0] + 1",
    "lfilter": "signal.lfilter([1.0, 0.5], [1.0, 0.2], x * 2) + 1",
    "fftconvolve": "signal.fftconvolve(x * 2, y) + 1",
    "convolve2d": "signal.convolve2d(A * 2, S) + 1",
    "detrend": "signal.detrend(x * 2) + 1",
    "fft": "fft.fft(x * 2) + 1",
    "dct": "fft.dct(A * 2) + 1",
    "cdist": "distance.cdist(A * 2, A) + 1",
}
PARAMETERS = "x, y, A, S, M, i, k, m, n"
SIZES = [(20, 5), (31, 7), (20, 5), (3, 3)]


def arguments(size: int, rows: int, dtype: str = "d", order: str = "C"):
    rng = np.random.default_rng(size)
    x, y = rng.random(size), rng.random(size)
    A = rng.random((rows, rows))
    S = A @ A.T + rows * np.eye(rows)
    M = rng.random((rows + 3, rows))
    k = rng.integers(0, min(size, 9), 7)
    n = np.where(np.arange(size) % 4 == 2, np.nan, x)
    cast = lambda v: v.astype(dtype, order=order)
    return cast(x), cast(y), cast(A), cast(S), cast(M), rng.integers(0, size, 6), k, x > 0.5, cast(n)


def function(body: str):
    scope = {"np": np}
    if "scipy" in body:
        import scipy.fft, scipy.linalg, scipy.ndimage, scipy.signal, scipy.spatial.distance, scipy.special  # noqa: E401
        scope |= {"linalg": scipy.linalg, "special": scipy.special, "ndimage": scipy.ndimage, "signal": scipy.signal, "fft": scipy.fft,
                  "distance": scipy.spatial.distance}
    exec(f"def f({PARAMETERS}):\n    " + body.replace("scipy:", ""), scope)
    return scope["f"]


def assert_same(f, compiled, given, where) -> bool:
    """Whether the call ran compiled."""
    expected, actual = compare.run(f, compare.clone(given)), compare.run(compiled, compare.clone(given))
    assert type(expected.error) is type(actual.error) and str(expected.error) == str(actual.error), (where, actual.error)
    assert expected.warned == actual.warned, where
    compare.assert_same_value(expected.result, actual.result, 64, str(where))
    for e, a in zip(expected.arguments, actual.arguments):
        compare.assert_same_value(e, a, None, str(where))
    return expected.error is None


def check(f):
    whole = fusewire.compile(fullgraph=True)(f)
    for size, rows in SIZES[:2]:
        whole(*arguments(size, rows))
    facts = fusewire._fusewire.describe(whole)
    assert not facts["breaks"]
    assert sum(v["declines"] for v in facts["variants"]) == 0, "it answers something else than examples say"
    compiled = fusewire.compile(f)
    for dtype in "df":
        for order in "CF" if dtype == "d" else "C":
            for size, rows in SIZES:
                assert_same(f, compiled, arguments(size, rows, dtype, order), (dtype, order, size, rows))


@pytest.mark.parametrize("name", NUMPY)
def test_numpy(name):
    check(function(f"return {NUMPY[name]}"))


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name):
    check(function(IN_PLACE[name]))


@pytest.mark.parametrize("name", SCIPY)
def test_scipy(name):
    pytest.importorskip("scipy")
    check(function(f"return scipy:{SCIPY[name]}"))


def test_errors_are_those_of_the_call():
    f = fusewire.compile(lambda A, b: np.linalg.lstsq(A * 2, b + 1)[0])
    A, b = np.ones((4, 2)), np.arange(4.0)
    for _ in range(3):
        np.testing.assert_array_equal(f(A, b), np.linalg.lstsq(A * 2, b + 1)[0])
        with pytest.raises(np.linalg.LinAlgError, match="Incompatible dimensions"):
            f(A, b[:3])


def warns(x):
    y = x * 2
    return np.nanmean(y) + 1, np.nanmedian(y)


def test_warnings_are_given_where_python_gives_them():
    compiled = fusewire.compile(warns)
    good, bad = np.arange(5.0), np.full(5, np.nan)
    for given in (good, bad, good, bad, bad):
        seen = []
        for f in (warns, compiled):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                f(given)
            seen.append([(w.category, str(w.message), w.filename, w.lineno) for w in caught])
        assert seen[0] == seen[1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled(good)
        with pytest.raises(RuntimeWarning):
            compiled(bad)


def test_a_warning_of_a_called_function_is_given_once():
    linalg = pytest.importorskip("scipy.linalg")

    def solve(A, b):
        return linalg.solve(A, b + 1) * 2

    compiled = fusewire.compile(solve)
    good = np.eye(3) + 0.1
    bad = np.eye(3)
    bad[2, 2] = 1e-18
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for A in (good, bad, good, bad):
            np.testing.assert_array_equal(compiled(A, np.ones(3)), solve(A, np.ones(3)))
    assert [w.category for w in caught] == [linalg.LinAlgWarning] * len(caught) and caught
    assert warnings._showwarnmsg.__module__ == "warnings"


def dropped_parts(s, i, v):
    m = s * 2.0
    np.add.at(s, i, v)
    np.put(m, i, v)
    np.maximum.at(m, i, [v[0], 1j])
    return s, m


def dropped_and_raised(s, i, v):
    m = s * 2.0
    np.put(m, i, v)
    np.place(m, m > 0, v)
    return m


@pytest.mark.parametrize("function", (dropped_parts, dropped_and_raised))
def test_dropped_imaginary_parts_are_told_where_python_tells_them(function):
    compiled = fusewire.compile(function, economy=False)
    def arguments():
        return np.ones(4), np.array([1, 2]), np.array([1 + 2j, 3.0])

    for _ in range(3):
        compare.assert_same_call(function, compiled, arguments())
        places = compare.places_of_warnings(compiled, arguments())
        assert places == compare.places_of_warnings(function, arguments()) and places


def test_a_size_that_data_decides():
    def f(x):
        return np.union1d(x * 2, x) + 1

    compiled = fusewire.compile(fullgraph=True)(f)
    for given in ([0, 1, 2, 0], [1, 2, 3], [0, 0, 5, 0, 0, 0]):
        np.testing.assert_array_equal(compiled(np.array(given, float)), f(np.array(given, float)))


def test_what_is_not_as_in_the_examples_is_left_to_python():
    """Eigenvalues of the examples are real."""
    def f(A):
        return np.linalg.eigvals(A * 2) + 1

    compiled = fusewire.compile(f)
    turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
    for A in (np.eye(2), turn, np.eye(2), turn):
        result, expected = compiled(A), f(A)
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected)


def test_numbers_of_another_class_are_left_to_python():
    """A float in the examples, and np.float64 in larger calls."""
    opaque = fusewire.allow_in_graph(lambda x: eval("(float(x.sum()) if x.size < 100 else x.sum(), x * 2)", {"x": x}))
    compiled = fusewire.compile(lambda x: opaque(x + 1))
    for size in (5, 200, 5, 200):
        x = np.arange(float(size))
        (number, array), (expected, _) = compiled(x), opaque(x + 1)
        assert type(number) is type(expected) and number == expected
        np.testing.assert_array_equal(array, (x + 1) * 2)


def test_views_stay_views():
    def f(x):
        y = np.broadcast_arrays(x, x)[0]
        x[0] = 7
        return y[0]

    assert fusewire.compile(f)(np.arange(3.0)) == 7


def test_replaced_functions_are_noticed(monkeypatch):
    def f(x):
        return np.gradient(x * 2)

    compiled = fusewire.compile(f)
    x = np.arange(5.0)
    np.testing.assert_array_equal(compiled(x), f(x))
    monkeypatch.setattr(np, "gradient", lambda x: x + 100)
    np.testing.assert_array_equal(compiled(x), x * 2 + 100)


def test_code_that_is_followed_is_guarded(monkeypatch):
    from numpy.lib import _function_base_impl as module

    def f(x):
        return np.gradient(x * 2)

    compiled = fusewire.compile(f)
    x = np.arange(5.0)
    np.testing.assert_array_equal(compiled(x), f(x))
    monkeypatch.setattr(module.np, "empty_like", lambda *a, **k: np.full(5, -1.0))
    np.testing.assert_array_equal(compiled(x), f(x))


calls = 0


@pytest.mark.parametrize("mode", ["reduced", "complete", "r", "raw"])
def test_parts_of_functions_are_not_called(mode):
    """numpy.linalg's own ufuncs trust their caller, and change what they are given."""
    def f(A):
        return [part + 1 for part in np.linalg.qr(A * 2, mode=mode)] if mode != "r" else np.linalg.qr(A * 2, mode="r") + 1

    compiled = fusewire.compile(f)
    for shape in ((4, 3), (3, 4), (0, 3), (3, 0), (0, 0), (1, 1)):
        A = np.random.default_rng(3).random(shape)
        for mine, plain in zip(compiled(A), f(A)):
            np.testing.assert_array_equal(mine, plain)


def test_allow_in_graph_of_what_cannot_be_followed():
    opaque = fusewire.allow_in_graph(lambda x: eval("np.sort(x)[:2]", {"np": np, "x": x}))
    f = fusewire.compile(lambda x: opaque(x * 2) + 1, fullgraph=True)
    for size in (3, 4, 2, 7):
        np.testing.assert_array_equal(f(np.arange(float(size))[::-1].copy()), [1, 3])


def test_numbers_that_are_joined_flat():
    compiled = fusewire.compile(lambda x: np.concatenate([x * 2, 1.0], axis=None) * 2)
    for dtype in "fd":
        x = np.ones(3, dtype)
        assert compiled(x).dtype == dtype
        assert compiled(x[0]).dtype == dtype


@pytest.mark.parametrize("op", [np.floor_divide, np.remainder, np.divmod, np.fmod])
@pytest.mark.parametrize("dtype", [np.int8, np.int64])
def test_divisions_of_constants_that_are_reported(op, dtype):
    least = np.iinfo(dtype).min
    for a, b in ((least, -1), (least, 0), (5, 0), (5, -1), (-7, 2)):
        def f():
            return op(dtype(a), dtype(b))

        compiled = fusewire.compile(f, economy=False)
        for _ in range(2):
            expected, actual = compare.run(f, ()), compare.run(compiled, ())
            assert expected.warned == actual.warned, (a, b)
            np.testing.assert_array_equal(expected.result, actual.result)


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) >= "2.5.0", reason="NumPy knows the name no more")
def test_outdated_names_of_types_are_warned_of_once():
    for f in (lambda: np.dtype("a"), lambda: np.zeros(3, "a")):
        compiled = fusewire.compile(f, economy=False)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            compiled()
        assert len(caught) == 1 and caught[0].lineno == f.__code__.co_firstlineno


def test_interpreters_that_are_finalized():
    """A destructor that the last collection of garbage calls, when modules are gone."""
    program = """
import builtins, numpy as np, fusewire
class Loop:
    def __init__(self):
        self.me = self
    def __del__(self):
        f(np.ones(3))
        print("done")
@fusewire.compile(economy=False, fullgraph=True)
def f(x):
    return np.gradient(x) * 2
builtins.kept = Loop(), f, np
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_captures_of_several_threads():
    """Examples run Python code, so that other threads come to capture meanwhile."""
    opaque = fusewire.allow_in_graph(lambda x: eval("[None for _ in range(30000)] and np.sort(x)", {"np": np, "x": x}))
    wrong = []

    def work():
        for _ in range(5):
            class Scale:
                by = 2.0

                def of(self, x):
                    return x * self.by

            compiled = fusewire.compile(lambda scale, x: opaque(scale.of(x)) + scale.of(x), economy=False)
            x = np.arange(7.0)
            for _ in range(2):
                if not np.array_equal(compiled(Scale(), x), x * 4):
                    wrong.append(compiled)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong


@pytest.mark.parametrize("subscripts", ["ea,fb,gc,hd,abcd->efgh", "ea,fb,...,hd->...", "acdf,jbje,gihb,hfac,gfac,gifabc,hfac"])
def test_examples_of_einsum_take_no_longer_than_they_may(subscripts):
    """The work of a call with n letters is the n-th power of a size: with arrays of ten or twenty along each axis it takes
    seconds, or hours."""
    operands = [np.ones((2,) * len(term.replace(".", ""))) for term in subscripts.split("->")[0].split(",")]

    def contract(*operands):
        return np.einsum(subscripts, *operands) + 1

    compiled = fusewire.compile(contract, economy=False)
    begin = time.perf_counter()
    result = compiled(*operands)
    assert time.perf_counter() - begin < 1.5
    assert np.array_equal(result, contract(*operands))


@pytest.mark.parametrize("call", ["norm(x)", "norm(x, 2)", "norm(x, 'fro')", "norm(x, axis=0)", "norm(x, 2, -1)", "norm(x, 1, axis=0)", "norm(x, axis=1, keepdims=True)",
                                  "norm(x, keepdims=True)", "norm(x, axis=(0,))", "norm(x, np.inf, 0)", "norm(x, 1)"])
def test_norms(call):
    scope = {"np": np, "norm": np.linalg.norm}
    exec(f"def f(x): return {call} * 2", scope)
    rng = np.random.default_rng(6)
    for dtype in "dfFle":
        for shape in [(1,), (2,), (17,), (300,), (3, 4), (20, 30), (1, 1), (0,)]:
            whole = (9 * rng.standard_normal([2 * n for n in shape])).astype(dtype)
            part = whole[tuple(slice(None, None, 2) for _ in shape)]
            for x in (part.copy(), part, part.T, part[::-1]):
                outcome = compare.run(scope["f"], (x,))
                compiled = fusewire.compile(scope["f"], economy=False)
                for _ in range(2):
                    compare.assert_same_outcome(outcome, compare.run(compiled, (x,)))


def test_cross_products():
    """Of vectors of three, in kernels: with the base that NumPy's result has."""

    def chain(a, b):
        c = np.cross(a, b)
        return c, np.cross(c, a)[..., 0], np.linalg.norm(c, axis=-1)

    rng = np.random.default_rng(8)
    for dtype, other in [("d", "d"), ("f", "f"), ("f", "d"), ("l", "l"), ("e", "e"), ("b", "d"), ("?", "?"), ("D", "d")]:
        for left, right in [((3,), (3,)), ((5, 3), (5, 3)), ((5, 3), (3,)), ((3,), (4, 3)), ((2, 4, 3), (4, 3)), ((0, 3), (0, 3)),
                            ((5, 2), (5, 2)), ((3,), (2,)), ((1, 3), (5, 3)), ((4, 3), (5, 3))]:
            a, b = (9 * rng.standard_normal(left)).astype(dtype), (9 * rng.standard_normal(right)).astype(other)
            for given in ((a, b), (a[::-1], b), (np.asfortranarray(a), b), (a * np.float16(1e4), b)):
                compiled = fusewire.compile(chain, economy=False)
                for _ in range(2):
                    expected, result = compare.run(chain, given), compare.run(compiled, given)
                    compare.assert_same_outcome(expected, result)
                    if expected.error is None:
                        assert result.result[0].base is not None and not result.result[0].flags.owndata
