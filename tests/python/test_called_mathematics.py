"""Programs that use a function of vector mathematics often call it: one function, made once, in place of copies. What a use answers
and reports is the same in either form, and the time to compile grows with what is new."""
import math
import time
import warnings

import numpy as np
import pytest

import fusewire
from compare import assert_same_call

ONE = ["exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh",
       "cbrt"]
TWO = ["arctan2", "hypot", "power"]
SIZES = [0, 1, 7, 8, 9, 16, 17, 100, 1000]
USES = 7


def function(lines, result):
    scope = {"np": np}
    exec("def f(x, y):\n" + "".join(f"    {line}\n" for line in lines) + f"    return {result}\n", scope)
    return scope["f"]


def arguments(dtype, n, special):
    rng = np.random.default_rng(n)
    x, y = rng.uniform(-3, 3, (2, n)).astype(dtype)
    if special and n:
        edges = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-310, 3e4, -800.0, 1.0, -1.0]
        for values in (x, y):
            at = rng.random(n) < 0.3
            with np.errstate(all="ignore"):
                values[at] = rng.choice(np.array(edges).astype(dtype), at.sum())
    return x, y


def run(f, *args):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        result = f(*args)
    return result, [str(w.message) for w in seen]


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
@pytest.mark.parametrize("name", ONE + TWO)
def test_a_call_is_the_same_as_a_copy(name, dtype):
    term = f"np.{name}(x * {{}})" if name in ONE else f"np.{name}(x * {{}}, y)"
    factors = [1.0, 0.5, -1.0, 2.0, 0.25, 3.0, -0.5][:USES]
    many = function([f"a{i} = {term.format(c)}" for i, c in enumerate(factors)], ", ".join(f"a{i}" for i in range(USES)))
    compiled = fusewire.compile(many, economy=False)
    single = [fusewire.compile(function([], term.format(c)), economy=False) for c in factors]
    for special in (False, True):
        for n in SIZES:
            x, y = arguments(dtype, n, special)
            got, reported = run(compiled, x, y)
            alone = [run(f, x, y) for f in single]
            for mine, (theirs, _) in zip(got, alone):
                # What is reported is NumPy's to report: it computes all of the program again, or none of the single use.
                np.testing.assert_allclose(mine, theirs, rtol=4 * np.finfo(dtype).eps if reported or special else 0)
                assert np.array_equal(np.signbit(mine)[mine == 0], np.signbit(theirs)[mine == 0])
            assert sorted(reported) == sorted(message for _, messages in alone for message in messages)
    assert not fusewire._fusewire.describe(compiled)["breaks"]


@pytest.mark.parametrize("isa", ["host", "avx2", "portable"])
def test_instruction_sets(isa):
    f = function(["for k in range(6):", "    x = np.sin(x * 1.1) + np.cos(x - k)", "    y = np.tanh(y + x)"], "x, y.sum(), np.exp(y)")
    compiled = fusewire.compile(f, economy=False, isa=isa)
    for n in SIZES:
        x, y = arguments("f8", n, False)
        for mine, theirs in zip(compiled(x, y), f(x, y)):
            np.testing.assert_allclose(mine, theirs, rtol=1e-13, atol=1e-13)


def test_rows_columns_reductions_and_views():
    lines = [f"a{i} = np.exp(x * {i}.5)" for i in range(6)]
    f = function([*lines, "b = np.exp(x.T).sum(axis=0)", "c = np.exp(x[::2, ::-1]).max(axis=1)", "d = np.exp(y[:, None] - x).sum()",
                  "e = np.exp(y[0])"], "a0 + a1 + a2 + a3 + a4 + a5, b, c, d, e")
    compiled = fusewire.compile(f, economy=False)
    for shape in [(1, 1), (3, 5), (40, 33), (33, 40)]:
        x = np.random.default_rng(3).uniform(-1, 1, shape)
        for mine, theirs in zip(compiled(x, x[:, 0]), f(x, x[:, 0])):
            np.testing.assert_allclose(mine, theirs, rtol=1e-14)


def test_large_arguments_are_left_to_numpy():
    f = function([f"a{i} = np.sin(x * {i + 1}.0)" for i in range(6)], "a0 + a1 + a2 + a3 + a4 + a5")
    compiled = fusewire.compile(f, economy=False)
    for x in (np.linspace(0, 9, 50), np.full(50, 1e300), np.array([1e18])):
        np.testing.assert_allclose(compiled(x, x), f(x, x), rtol=1e-12, atol=1e-14)


def test_loops_over_numbers():
    f = function(["s = 0.0", "for v in x:", *(f"    s = s * 0.5 + np.sin(v + {i}.0) * np.exp(-s)" for i in range(6))], "s")
    compiled = fusewire.compile(f, economy=False)
    for n in SIZES:
        x, y = arguments("f8", n, False)
        np.testing.assert_allclose(compiled(x, y), f(x, y), rtol=1e-12)


def test_time_to_compile():
    """Two hundred uses take hardly more than twenty."""
    def first_call(uses, salt):
        f = function([f"x = np.sin(x) * {salt}.25"] * uses, "x")
        x = np.linspace(0, 1, 50)
        start = time.perf_counter()
        fusewire.compile(f, economy=False)(x, x)
        return time.perf_counter() - start

    few = min(first_call(20, salt) for salt in range(3))
    many = min(first_call(200, salt) for salt in range(3, 6))
    assert many < 12 * few + 0.02


# ---- the error function

def normal_prices(s, k, t):
    def cdf(v):
        return 0.5 * (1.0 + math.erf(v / math.sqrt(2.0)))
    out = np.zeros(len(s))
    for i in range(len(s)):
        d = (math.log(s[i] / k) + 0.05 * t) / (0.2 * math.sqrt(t))
        out[i] = s[i] * cdf(d) - k * cdf(d - 0.2 * math.sqrt(t))
    return out


def errors(x):
    return [math.erf(v) for v in x], [math.erfc(v) for v in x]


def test_error_functions_are_the_c_library_s():
    compiled = fusewire.compile(errors, fullgraph=True)
    for x in (np.random.default_rng(0).standard_normal(300) * 3,
              np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-310, 5e-324, 30, -30, 27.0] * 20)):
        assert_same_call(errors, compiled, (x,), ulp=1)
    prices = fusewire.compile(normal_prices, fullgraph=True)
    for n in (200, 70):
        s = np.random.default_rng(n).random(n) * 100 + 1
        np.testing.assert_allclose(prices(s, 60.0, 1.0), normal_prices(s, 60.0, 1.0), rtol=1e-9, atol=1e-12)
