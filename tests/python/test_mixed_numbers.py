"""Numbers of which array data decides whether they are Python's or NumPy's: in branches, from turn to turn, out of the region."""
import math
import warnings

import numpy as np
import pytest

import fusewire
from test_int_or_float import EXPRESSIONS

# How `m` comes about.
MAKINGS = {
    "branch": "m = 0\n    if x[1] > 0:\n        m = x[0]",
    "branch of a float": "m = 0.5\n    if x[1] > 0:\n        m = x[0]",
    "branches": "m = 1 if x[1] > 2 else 2.5 if x[1] > 0 else x[0]",
    "sum": "m = 0\n    for i in range(len(x)):\n        if x[i] > 0:\n            m += x[i]",
    "count or sum": "m = 0\n    for i in range(len(x)):\n        if x[i] > 0:\n            m += x[i]\n        else:\n            m -= 3",
    "greatest": "m = 0\n    for i in range(len(x)):\n        if x[i] > m:\n            m = x[i]",
    "greatest of a float": "m = -1.0\n    for i in range(len(x)):\n        if x[i] > m:\n            m = x[i]",
    "max": "m = -5\n    for v in x:\n        m = max(m, v)",
    "min": "m = 5\n    for v in x:\n        m = min(v, m)",
    "reset": "m = 0\n    for v in x:\n        m = m + v if v > 0 else 0",
    "while": "m = 0\n    i = 0\n    while i < len(x) and x[i] < 5:\n        if x[i] > 0:\n            m += x[i]\n        i += 1",
    "two": "m = 0\n    k = 0\n    for v in x:\n        if v > 0:\n            m, k = k, v\n        elif v < -1:\n            m = 2",
    "inner": "m = 0\n    for i in range(len(x)):\n        for j in range(i):\n            if x[j] > x[i]:\n                m += x[j] - x[i]",
}
USES = ["m / 2 + 1", "m - x[0]", "x[0] < m", "3 < m", "(m + 1) / 3", "m * 0.5", "m * m", "m + m", "m - 0.5", "m // 2", "m % 3", "x[m]", "x + m",
        "m & 1", "m << 2", "divmod(m, 2)", "m == 2 and m != 1", "min(m, 3)", "max(m, x[1])", "[0, 0.0, m][-1]", "m > 1 or m"]
ARRAYS = [
    np.array([1.5, -2.0, 3.25, 2.0, -0.5]), np.array([-1.5, -2.0]), np.array([2.0, 1.0, np.nan, 3.0]), np.array([-0.0, 0.0, -0.0]),
    np.array([np.inf, 1.0, -np.inf]), np.array([1e308, 1e308, 1e308]), np.array([2, -2, 3, 4]), np.array([-1, -2]), np.array([0, 2]),
    np.array([2**62, 2**62, 2**62]), np.array([2**53 + 1, 3]), np.array([-2**63, 1]), np.array([1, 2, -3], "f4"), np.array([5, 2, -3], "i4"),
    np.array([True, True, False]), np.array([1 + 1j, 2]), np.array([7.0, 1.0]), np.array([7, 1]),
]
SIZES = [np.zeros(0), np.zeros(0, int), np.array([3.0]), np.array([3])]


def outcome(function, x):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            result = function(x)
        except Exception as error:
            result = error
    parts = result if isinstance(result, tuple) else [result]
    return repr(result), [(type(p), getattr(p, "dtype", None)) for p in parts], [str(w.message) for w in told]


def compiled_and_plain(making, expression, **options):
    scope = {"np": np, "math": math}
    exec(f"def f(x):\n    {making}\n    return {expression}\n", scope)
    return fusewire.compile(scope["f"], **options), scope["f"]


@pytest.mark.parametrize("expression", dict.fromkeys(["m", *USES, *EXPRESSIONS]))
@pytest.mark.parametrize("making", ["branch", "branches", "sum"])
def test_uses(making, expression):
    compiled, plain = compiled_and_plain(MAKINGS[making], expression, economy=False)
    for x in ARRAYS:
        assert outcome(compiled, x) == outcome(plain, x), x


@pytest.mark.parametrize("expression", ["m", "m + 1", "(m, x[0] > m)", "-m", "m / 4"])
@pytest.mark.parametrize("making", MAKINGS)
def test_makings(making, expression):
    compiled, plain = compiled_and_plain(MAKINGS[making], expression, economy=False)
    for x in [*ARRAYS, *SIZES, *ARRAYS]:
        assert outcome(compiled, x) == outcome(plain, x), x


@pytest.mark.parametrize("making", [name for name in MAKINGS if name != "two"])   # there m is an int or a number of two classes
def test_one_region(making):
    """Nothing is left to Python: f8, and i8 where it begins as an int."""
    for x in [np.linspace(-1, 2, 100), np.arange(-10, 90)]:
        if x.dtype == int and ("float" in making or making == "branches"):
            continue
        compiled, plain = compiled_and_plain(MAKINGS[making], "m", economy=False)
        assert outcome(compiled, x) == outcome(plain, x)
        assert fusewire._fusewire.describe(compiled)["breaks"] == []


def test_small_ints_grow_beyond_what_a_float_holds():
    def f(x, by):
        m = 0
        for i in range(len(x)):
            if x[i] > 0:
                m = x[i]
            else:
                m += 2147483648
        return m

    compiled = fusewire.compile(f, economy=False)
    for x in [np.full(10, -1.0), np.full(100000, -1.0), np.array([-1.0, 0.5, -1.0])]:
        assert outcome(lambda x: compiled(x, 1), x) == outcome(lambda x: f(x, 1), x)


NONES = {
    "last": "m = None\n    for i in range(len(x)):\n        if x[i] > 0:\n            m = i",
    "last element": "m = None\n    for i in range(len(x)):\n        if x[i] > 0:\n            m = x[i]",
    "least": "m = None\n    for v in x:\n        if m is None or v < m:\n            m = v",
    "greatest from the second": "m = None\n    for i in range(1, len(x)):\n        if m is not None and x[i] > m:\n            m = x[i]\n        elif m is None and x[i] > 0:\n            m = x[i] + 1",
    "forgotten": "m = None\n    for v in x:\n        if v > 0:\n            m = v\n        elif v < -1:\n            m = None",
    "first": "m = None\n    i = 0\n    while m is None and i < len(x):\n        if x[i] > 1:\n            m = i\n        i += 1",
    "branch": "m = None\n    if x[0] > 0:\n        m = x[0]",
    "previous": "m = 0\n    last = None\n    for v in x:\n        if last is not None and v > last:\n            m += 1\n        last = v",
}


@pytest.mark.parametrize("expression", ["m", "(m, m is None)", "m if m is not None else -1", "0 if m is None else m * 2", "m or 7", "m == 2",
                                        "x + m", "m + 1", "[m]", "x[m]", "str(m)", "isinstance(m, int)", "bool(m)", "np.array([m])", "float(m)", "not m"])
@pytest.mark.parametrize("making", NONES)
def test_none(making, expression):
    compiled, plain = compiled_and_plain(NONES[making], expression, economy=False)
    for x in [*ARRAYS, *SIZES, *ARRAYS]:
        if (making, x.size) != ("branch", 0):
            assert outcome(compiled, x) == outcome(plain, x), x


@pytest.mark.parametrize("making", NONES)
def test_none_is_one_region(making):
    for x in [np.linspace(-1, 2, 100), np.arange(-10, 90)]:
        compiled, plain = compiled_and_plain(NONES[making], "m", economy=False)
        assert outcome(compiled, x) == outcome(plain, x)
        assert fusewire._fusewire.describe(compiled)["breaks"] == []


def clipped_sum(x, low, high):
    total = 0
    for v in x:
        if v < low:
            v = low
        elif v > high:
            v = high
        total += v
    return total, v


def trades(price, fast, slow):
    cash, shares = 1000.0, 0
    for i in range(1, len(price)):
        if fast[i] > slow[i] and shares == 0:
            shares = cash / price[i]
            cash = 0.0
        elif fast[i] < slow[i] and shares > 0:
            cash = shares * price[i]
            shares = 0
    return cash, shares


def least_two(x):
    first = second = None
    for v in x:
        if first is None or v < first:
            first, second = v, first
        elif second is None or v < second:
            second = v
    return first, second


def smoothed(x, by):
    e = None
    out = np.empty(len(x))
    for i in range(len(x)):
        e = x[i] if e is None else by * x[i] + (1 - by) * e
        out[i] = e
    return out, e


RNG = np.random.default_rng(4)
CALLS = [(clipped_sum, (RNG.standard_normal(200), low, high)) for low, high in [(-1, 1), (0, 2**40), (-2**70, 2**70), (-1.0, 1), (True, 2), (np.int64(-1), 1.5), (-1, 1)]]
CALLS += [(clipped_sum, (RNG.integers(-9, 9, 200), low, high)) for low, high in [(-1, 1), (0, 2**40), (-1.5, 1), (-1, np.float32(2))]]
CALLS += [(trades, tuple(RNG.random((3, size)))) for size in (300, 1, 2, 3)] + [(least_two, (RNG.random(size),)) for size in (100, 1, 2)]
CALLS += [(least_two, (RNG.integers(0, 99, 100),)), (smoothed, (RNG.random(100), 0.25)), (smoothed, (RNG.random(100), 1)), (smoothed, (RNG.integers(0, 9, 100), 0.5))]


def test_programs():
    compiled = {function: fusewire.compile(function, economy=False) for function, _ in CALLS}
    for function, arguments in [*CALLS, *CALLS]:
        assert outcome(lambda _: compiled[function](*arguments), 0) == outcome(lambda _: function(*arguments), 0), (function.__name__, arguments[1:])


def longest_run(x):
    best = run = 0
    last = None
    for v in x:
        if v == last:
            run += 1
        else:
            run = 1
        last = v
        if run > best:
            best = run
    return best


def equal_lasts(x):
    first = last = None
    same = other = 0
    for i in range(len(x)):
        if first == last:
            same += 1
        if first != 2 and last != i:
            other += 1
        if x[i] > 0.5:
            last = i
        elif x[i] < 0.25:
            first = i
    return same, other, first == None, first != None, last is None   # noqa: E711 - what is tested


@pytest.mark.parametrize("function", [longest_run, equal_lasts])
def test_equal_or_none(function):
    compiled = fusewire.compile(function, economy=False)
    rng = np.random.default_rng(5)
    for x in [rng.integers(0, 2, 200), rng.random(200), np.round(rng.random(100)), np.zeros(3), np.ones(2), np.zeros(0), np.full(3, np.nan), rng.random(3)] * 2:
        assert outcome(compiled, x) == outcome(function, x), x


@pytest.mark.parametrize("expression", ["None / m", "m + None", "None - m", "m * None", "None < m", "max(None, m)", "m >= None"])
def test_computing_with_none_raises(expression):
    """The sides of a mixed number, of Python's and NumPy's class."""
    scope = {}
    exec(f"def f(x, k):\n    m = max(x.sum(), k)\n    {expression}\n    return 1\n", scope)
    compiled = fusewire.compile(scope["f"], economy=False, compile_all=True)
    for x, k in [(np.array([-1.0, -2.0]), 0), (np.zeros(0), 3), (np.ones(3), 1), (np.zeros(2), 3)]:
        with pytest.raises(TypeError):
            compiled(x, k)
