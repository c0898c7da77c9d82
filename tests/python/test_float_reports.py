"""Floating-point reports: which, how many, in which order, from which line, under every way of reporting that NumPy has.

A form is a function of arrays and numbers; MODES are error states and warning filters. Everything that can be noticed is
written down as one list of events and compared with plain Python: warnings with category, text and line, exceptions with
their line, calls of a seterrcall function, writes to a log object. Then the same calls once more, because the first call
of a compiled function is not run by the code that later ones are.
"""

import io
import contextlib
import sys
import traceback
import warnings

import numpy as np
import pytest

import fusewire
from compare import assert_same_value, clone

OPTIONS = {"economy": False, "recompile_limit": 256}


# ---- scalars on the way to arrays of any size, none included

def scalar_into_empty(x, y, k): return np.zeros(0) + (k % x[0])
def scalar_fmod(x, y, k): return x[len(x):] + np.fmod(k, x[0])
def scalar_log(x, y, k): return x[5:] * np.log(x[0])
def scalar_inverse(x, y, k): return x[5:] * (x[0] ** -1.0)
def scalar_divided(x, y, k): return x[5:] * (k / x[0])
def scalar_filled(x, y, k): return np.full(0, k / x[0])
def scalar_filled_some(x, y, k): return np.full(len(y), k / x[0])
def scalar_stored(x, y, k):
    V = k / x[0]
    y[len(y):] = V
    return y
def scalar_added_in_place(x, y, k):
    y[5:] += np.sqrt(-k) / x[0]
    return y
def scalar_in_two_arrays(x, y, k):
    V = y[0] / x[0]
    return x[4:] + V, y[:2] * V, V
def scalar_chain(x, y, k):
    a = y[0] / x[0]
    b = a - a
    c = np.float64(1e300) * y[0] * 1e300
    return x[5:] + b * c
def scalar_of_sum(x, y, k): return x[5:] + y.sum() / x[0]
def scalar_of_empty_sum(x, y, k): return y[:2] + x[5:].sum() / x[0]
def scalar_reduced(x, y, k): return (x[5:] * (k / x[0])).sum()
def scalar_compared(x, y, k): return x[5:] > k / x[0]
def scalar_selected(x, y, k): return np.where(x[5:] > 0, k / x[0], 1.0)
def scalar_unused(x, y, k):
    V = k / x[0]
    return y + 1
def zero_d(x, y, k): return y[5:] + np.asarray(y[0]) / np.asarray(x[0])
def scalar_joined(x, y, k): return np.concatenate([x[5:] * (k / x[0]), y])


# ---- rows and columns broadcast along an axis that may be empty

def column_along_nothing(x, y, k): return (y[:, None] / x[:, None]) * np.zeros((1, 0))
def row_along_nothing(x, y, k): return (y[None, :] / x[None, :]) + np.zeros((0, 1))
def column_along_rest(x, y, k): return (y / x)[:, None] * x[None, 5:]
def row_along_rest(x, y, k): return np.sqrt(y - 1)[None, :] * x[5:, None]
def column_of_log(x, y, k): return np.log(x)[:, None] + y[None, 5:] * 2
def fortran_rows(x, y, k): return (y / x)[None, :] * np.asfortranarray(np.zeros((len(x[5:]), len(x))))
def weighted_rows(x, y, k): return (np.zeros((len(x[5:]), len(y))) * (y / x)).sum(axis=1)
def weighted_columns(x, y, k): return (np.zeros((len(x[5:]), len(y))) * (y / x)).sum(axis=0)
def scaled_by_rows(x, y, k):
    m = y[:, None] * x[None, 5:]
    return m - (m.sum(axis=1) / x)[:, None]
def normalised(x, y, k):
    m = np.outer(y, x)
    return m / m.sum(axis=1, keepdims=True)
def means(x, y, k): return np.outer(x, y).mean(axis=0) / x
def outer_quotient(x, y, k): return y[:, None] / x[None, :]


# ---- what nobody reads, reads in part, or overwrites

def part_of_quotient(x, y, k): return (y / x)[2:]
def one_of_quotient(x, y, k): return (y / x)[1]
def nothing_of_quotient(x, y, k): return (y / x)[5:]
def stepped_quotient(x, y, k): return (y / x)[::2] + 1
def transposed_quotient(x, y, k): return (y / x).reshape(-1, 1).T[:, 1:]
def overwritten_part(x, y, k):
    u = y.copy()
    u[:2] = (y / x)[:2]
    u[0] = 1
    return u
def overwritten_through_zero(x, y, k):
    n = (y * 0).astype("i8")
    n[:] = y / x
    np.multiply(n, 0, n)
    return n
def stored_then_zero(x, y, k):
    y[:] = y / x
    np.multiply(y, 0, out=y)
def read_beside_update(x, y, k):
    u = y.copy()
    u[1:] = (y / x)[1:]
    return u[0] + 1
def overwritten_whole(x, y, k):
    u = y.copy()
    u[:] = y / x
    u[:] = 3
    return u
def constant_choice(x, y, k): return np.where(True, y, y / x)
def chosen(x, y, k): return np.where(x == 0, 0.0, y / x)
def chosen_root(x, y, k): return np.where(y > 0, np.sqrt(y) * 2, y - y)
def chosen_integers(x, y, k): return np.where(x == 0, 0, (y / x).astype("i8"))
def chosen_small(x, y, k): return np.where(x == 0, 0, (y * 1e10).astype("i4")) * 0
def clipped(x, y, k): return np.clip(y / x, -1, 1)
def real_part(x, y, k): return ((x * 1e300 + 1j * y) * (1 + 1e10j)).real
def times_zero(x, y, k): return (y / x).astype("i8") * 0
def and_false(x, y, k): return (y / x > 1) & np.False_
def joined_parts(x, y, k): return np.concatenate([(y / x)[:1], y[5:] / x[5:], x])
def shape_of_quotient(x, y, k): return np.zeros((y / x).shape)
def zeros_like_quotient(x, y, k): return np.zeros_like(y / x)
def twice(x, y, k):
    a = y / x
    b = y / x
    return a + b
def twice_by_name(x, y, k): return np.divide(y, x) + y / x


# ---- in place, out=, where=

def in_place(x, y, k):
    y /= x
    return y
def in_place_chain(x, y, k):
    y /= x
    y -= y
    y *= 1e200
    y *= 1e200
def into_out(x, y, k):
    np.log(x, out=y)
    np.divide(x, x, out=x)
def masked(x, y, k): return np.divide(y, x, out=y.copy(), where=x != 0)
def masked_none(x, y, k): return np.divide(y, x, out=y.copy(), where=x > 5)
def masked_some(x, y, k): return np.log(y, out=np.zeros_like(y), where=y > -1)
def shifted(x, y, k):
    y[1:] /= y[:-1]
    return y
def reversed_itself(x, y, k):
    x /= x[::-1]
    return x
def ordered_complex(x, y, k): x[:] = (x / y + 1j * y) < (y + 1j * x)
def ordered_unused(x, y, k):
    (x / y + 1j * y) <= (y + 1j * x)
    return y + 1
def zeros_of_both_signs(x, y, k): y[:] = np.fmax(x * 0, -x * 0)
def masked_by_itself(x, y, k): y[y != 0] = (x / y)[y != 0]


# ---- several at once: flags in one statement, statements on one line

def several_flags(x, y, k): return (y * 1e308 * 10) / x - np.sqrt(-y - 1)
def one_line(x, y, k): a = y / x; b = np.log(x); return a + b
def order_of_operands(x, y, k): return np.sqrt(-y - 1) + y / x
def lines(x, y, k):
    a = (y /
         x)
    b = np.log(
        x)
    return (a +
            b * 1e308
            * 10)
def helper(p, q): return p / q
def inlined(x, y, k): return helper(y, x) + helper(x, x)


# ---- reductions, casts, integers, powers, other types

def empty_mean(x, y, k): return x[5:].mean()
def empty_std(x, y, k): return x[5:].std()
def one_ddof(x, y, k): return x[:1].var(ddof=1)
def sum_of_infinities(x, y, k): return (y / np.abs(x)).sum()
def product(x, y, k): return (y * 1e300).prod()
def largest(x, y, k): return (y / x).max()
def largest_column(x, y, k): return np.outer(x, y / x).max(axis=0)
def to_single(x, y, k): return (y * 1e300).astype("f4")
def to_half(x, y, k): return (y * 1e5).astype("f4").astype("f2")
def to_int(x, y, k): return (y / x).astype("i8") * 0
def to_small(x, y, k): return (y * 1e20).astype("i4") * 0
def half(x, y, k): return (y.astype("f2") * np.float16(60000)) / x.astype("f2")
def half_scalar(x, y, k): return x[5:].astype("f2") * (np.float16(60000) * y.astype("f2")[1])
def integers(x, y, k): return y.astype("i8") // x.astype("i8")
def integer_rest(x, y, k): return y.astype("i4") % x.astype("i4")
def integer_scalar(x, y, k): return np.zeros(0, "i8") + y.astype("i8")[1] // x.astype("i8")[0]
def integer_lowest(x, y, k): return np.array([-2 ** 31, 5], "i4") // (x[:2] * 0 - 1).astype("i4")
def powers(x, y, k): return (y * 1e10) ** 40
def root_of_power(x, y, k): return (-y - 1) ** 0.5
def inverse_power(x, y, k): return x ** -1
def complex_quotient(x, y, k): return (y + 1j * x) / (x + 0j)
def complex_product(x, y, k): return (y * 1e300 + 1j) * (y * 1e300 - 1j)
def complex_length(x, y, k): return np.abs(y * 1.5e308 + 1j * y * 1.5e308)
def numpy_scalars(x, y, k): return np.float32(3) / np.float32(x[0]) + np.float64(k) / x[0]
def python_scalars(x, y, k): return y / 0.0 + (k - 0.5) * 1e308 * x
def modulo(x, y, k): return y % x
def divided_modulo(x, y, k): return divmod(y, x)
def floor_quotient(x, y, k): return y // x
def exponent(x, y, k): return np.exp(y * 1000)
def small(x, y, k): return (y * 1e-200) * 1e-200


# ---- loops that write into what they read

def loop_over_rows(x, y, k):
    m = np.outer(y, x)
    for w in m[::-1]:
        m %= w
    return m
def loop_in_place(x, y, k):
    for i in range(3):
        y /= x
        x -= y
    return y
def loop_of_scalars(x, y, k):
    s = 0.0
    for i in range(len(x)):
        s = s + y[i] / x[i]
    return s
def loop_of_columns(x, y, k):
    m = np.outer(y, x)
    for i in range(len(x)):
        m[:, i] /= x[i]
    return m
def loop_until(x, y, k):
    n = 0
    while n < 4:
        y = y * y * 1e100
        n += 1
    return y


FORMS = [f for f in list(globals().values()) if getattr(f, "__module__", None) == __name__ and callable(f) and
         f.__code__.co_varnames[:3] == ("x", "y", "k")]
ARGUMENTS = [
    (np.array([0.0, 1, 0, -2]), np.array([1.0, -1, 0, 3]), 7.0),
    (np.array([2.0, 1, 4, 2]), np.array([1.0, 2, 8, 3]), 2),
    (np.array([0.0]), np.array([0.0]), 0.0),
    (np.linspace(-1, 1, 15).round(2), np.linspace(2, 3, 15), np.float64(3)),
    (np.array([0, 1, 0, -2], "f4"), np.array([1, -1, 0, 3], "f4"), np.float32(7)),
]


class Events(list):
    """What a call reports, in order; `write` and `called` are what NumPy's modes log and call want."""

    def __init__(self, function):
        self.file = function.__code__.co_filename

    def line(self):
        frame = sys._getframe(2)
        while frame.f_code.co_filename != self.file or frame.f_code.co_name in ("run", "report", "observed"):
            frame = frame.f_back
        return frame.f_lineno

    def called(self, kind, flag): self.append(("call", kind, flag, self.line()))

    def write(self, text): self.append(("log", text, self.line()))

    def warned(self, message, category, filename, lineno, file=None, line=None):
        self.append(("warning", category.__name__, str(message), filename == self.file, lineno))


MODES = {
    "default": {},
    "warn": {"all": "warn"},
    "raise": {"all": "raise"},
    "call": {"all": "call"},
    "log": {"all": "log"},
    "mixed": {"divide": "call", "invalid": "warn", "over": "log", "under": "ignore"},
    "some": {"divide": "ignore", "invalid": "raise", "over": "warn", "under": "warn"},
}
FILTERS = ["error", "once", "default", "module"]


def observed(function, arguments, state, action):
    """Events, result or exception, and arguments afterwards."""
    events = Events(function)
    registry = function.__globals__.setdefault("__warningregistry__", {})
    registry.clear()
    result = None
    with warnings.catch_warnings():
        warnings.simplefilter(action)
        warnings.showwarning = events.warned
        handler = events if "log" in state.values() else events.called
        with np.errstate(call=handler, **state), contextlib.redirect_stdout(io.StringIO()):
            try:
                result = function(*arguments)
            except Exception as error:
                frame = traceback.extract_tb(error.__traceback__)
                lines = [f.lineno for f in frame if f.filename == events.file and f.name not in ("observed", "compare")]
                events.append(("raised", type(error).__name__, str(error), lines))
    return events, result, arguments


def compare(form, compiled, state, action, cases=ARGUMENTS):
    for arguments in cases * 2:
        expected = observed(form, clone(arguments), state, action)
        actual = observed(compiled, clone(arguments), state, action)
        assert list(expected[0]) == list(actual[0]), f"{arguments}: {list(actual[0])}, expected {list(expected[0])}"
        assert_same_value(expected[1], actual[1], 4)
        assert_same_value(expected[2], actual[2], 4, "arguments")


@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
def test_reports(form):
    compiled = fusewire.compile(form, **OPTIONS)
    for name, state in MODES.items():
        compare(form, compiled, state, "always")
    for action in FILTERS:
        compare(form, compiled, {}, action)


OF_COLUMNS = {
    "sum": lambda x, y: (x * (y / y)).sum(axis=0),
    "any": lambda x, y: (x * (y / y)).any(axis=0),
    "chosen": lambda x, y: np.where(x > 0, np.sqrt(y - np.inf), 1.0).sum(axis=0),
    "nonzero": lambda x, y: np.count_nonzero(x * (y / y), axis=0),
    "several": lambda x, y: ((x * (y / y)).sum(axis=0), (x * (y / y)).prod(axis=0), x * y),
    "beside": lambda x, y: (x.sum(axis=0), y / y * x),
    "rows": lambda x, y: (x * (y / y)[:1, None]).sum(axis=1),
}


@pytest.mark.parametrize("name", OF_COLUMNS)
@pytest.mark.parametrize("shape", [(0, 2), (2, 2), (0, 1), (1, 1), (2, 0)], ids=str)
def test_columns_of_any_number_of_rows(name, shape):
    """What every row is multiplied by is computed once, even if there is no row."""
    form = OF_COLUMNS[name]
    compiled = fusewire.compile(form, **OPTIONS)
    compare(form, compiled, {}, "always", [(np.ones(shape), np.full(n, np.inf)) for n in ((2, 1) if shape[1] else (1,))])


@pytest.mark.parametrize("rows", [32, 33, 44])
def test_a_loop_that_rewrites_its_rows(rows):
    """Variants come and go here; NumPy's reports are the same on the first call and on later ones."""
    def f(x):
        for w in x[::-1]:
            x %= w

    def reported(function):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            x = np.random.default_rng(rows).integers(-4, 5, (rows, 44)).astype("f4")
            function(x)
        return [(str(w.message), w.lineno) for w in caught if "encountered" in str(w.message)], x

    compiled = fusewire.compile(f)
    expected, x = reported(f)
    for _ in range(3):
        actual, y = reported(compiled)
        assert actual == expected
        assert_same_value(x, y, None)


@pytest.mark.parametrize("isa", ["portable", "host"])
@pytest.mark.parametrize("value", [1e200, 70000.0, 1e-6, 1e-9, 3.0])
def test_casts_to_half(isa, value):
    def cast(x, y):
        y[...] = x
        return x.astype("f2"), x[0].astype("f2")

    c = fusewire.compile(cast, isa=isa, **OPTIONS)
    for dtype in ("f8", "f4") if value < 1e100 else ("f8",):
        for function in (cast, c, c):
            with np.errstate(all="warn"), warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                function(np.full(5, value, dtype), np.zeros(5, "f2"))
            told = [str(w.message) for w in caught]
            if function is cast:
                expected = told
            assert told == expected, (isa, dtype)
