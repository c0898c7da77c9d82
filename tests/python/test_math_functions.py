"""Functions of `math` and operators of Python floats on numbers that array data decides: in the graph where Python answers a number,
Python's exception where it raises one."""
import math

import numpy as np
import pytest

import compare
import fusewire

ONE = ["sqrt", "exp", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
       "fabs", "radians", "degrees", "exp2", "cbrt", "floor", "ceil", "trunc", "isnan", "isinf", "isfinite"]
TWO = ["atan2", "pow", "copysign", "hypot", "fmod"]
EDGES = [0.0, -0.0, 0.5, 1.0, -1.0, 1.5, -2.5, 1e-310, 800.0, -800.0, 1e300, math.inf, -math.inf, math.nan]
OPERATORS = ["/", "//", "%", "**"]


def function(source):
    scope = {"math": math, "np": np}
    exec(source, scope)
    return scope["f"]


def loop(term):
    return function(f"def f(x, y):\n    s = np.zeros(len(x))\n    for i in range(len(x)):\n        s[i] = {term}\n    return s\n")


def scalar(term):
    return function(f"def f(x, y):\n    return {term}\n")


TERMS = [f"math.{name}(x[i])" for name in ONE] + [f"math.{name}(x[i], y[i])" for name in TWO]
TERMS += [f"float(x[i]) {op} float(y[i])" for op in OPERATORS]


def whole(compiled):
    return not fusewire._fusewire.describe(compiled)["breaks"]


@pytest.mark.parametrize("term", TERMS)
def test_one_loop(term):
    f = loop(term)
    compiled = fusewire.compile(f, economy=False)
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        x, y = rng.random(200) * 0.9 + 0.05, rng.random(200) * 3 + 0.1
        np.testing.assert_array_max_ulp(f(x, y), compiled(x, y), 2)
    assert whole(compiled), fusewire._fusewire.describe(compiled)["breaks"]


@pytest.mark.parametrize("ignored", [False, True])
@pytest.mark.parametrize("term", TERMS)
def test_edges(term, ignored):
    """Every pair of edges: the same number or the same exception, whatever NumPy is told to report."""
    term = term.replace("[i]", "[1]")
    f = scalar(term)
    compiled = fusewire.compile(f, economy=False)
    seconds = EDGES if "y" in term else [1.0]
    with np.errstate(all="ignore" if ignored else "warn"):
        for a in EDGES:
            for b in seconds:
                x, y = np.array([2.0, a]), np.array([2.0, b])
                expected, actual = compare.run(f, (x, y)), compare.run(compiled, (x, y))
                assert type(expected.error) is type(actual.error) and str(expected.error) == str(actual.error), (a, b, actual.error)
                assert expected.warned == actual.warned, (a, b)
                if expected.error is not None:
                    continue
                e, r = expected.result, actual.result
                assert type(e) is type(r), (a, b)
                assert e == r or (e != e and r != r) or abs(e - r) <= 4e-16 * abs(e), (a, b, e, r)
                if isinstance(e, float):
                    assert math.copysign(1, e) == math.copysign(1, r) or e != e, (a, b, e, r)


def test_raises_in_some_turn():
    """What the loop has written before stands, as in Python."""
    f = loop("math.sqrt(x[i])")
    compiled = fusewire.compile(f, economy=False)
    x = np.ones(300)
    compiled(x, x)
    x[200] = -1
    with pytest.raises(ValueError, match="math domain error"):
        compiled(x, x)

    def fill(x, out):
        for i in range(len(x)):
            out[i] = math.log(x[i])
    expected, actual = np.zeros(300), np.zeros(300)
    filled = fusewire.compile(fill, economy=False)
    filled(np.ones(300), actual)
    for target, run in ((expected, fill), (actual, filled)):
        with pytest.raises(ValueError):
            run(x, target)
    assert (expected == actual).all()


def test_turns_of_loops():
    def angles(n):
        out = np.zeros(n)
        length = 2
        while length <= n:
            out[length - 1] = math.cos(-2 * math.pi / length) + math.sqrt(1.0 / length)
            length *= 2
        return out
    compiled = fusewire.compile(angles, economy=False)
    np.testing.assert_array_max_ulp(angles(4096), compiled(4096), 2)
    assert whole(compiled), fusewire._fusewire.describe(compiled)["breaks"]


def test_kinds_of_arguments():
    def f(x, k, b):
        return math.sqrt(x[0]), math.exp(k[0]), math.floor(x[1]), math.sin(b[0]), math.sqrt(np.float32(x[2])), math.sqrt(x.sum())
    compiled = fusewire.compile(f, economy=False)
    for dtype in ("f2", "f4", "f8", "i4", "i8", "u1"):
        x, k, b = np.array([3, 2, 5], dtype), np.array([2], "i8"), np.array([True])
        expected, actual = f(x, k, b), compiled(x, k, b)
        assert [type(v) for v in expected] == [type(v) for v in actual]
        np.testing.assert_allclose(actual, expected, rtol=1e-15)
    with pytest.warns(np.exceptions.ComplexWarning):   # Python's matter
        assert compiled(np.ones(3, "c16"), k, b) == f(np.ones(3), k, b)
