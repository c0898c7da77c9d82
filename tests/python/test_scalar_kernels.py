"""Loops over numbers whose code takes liberties: it raises flags that the program does not, and expects that places do not count
from the end and that ints stay small. Where it is wrong, an exact twin computes the call from the beginning, and Python only what the
twin cannot. Nobody may see any of it: plain against compiled, bit by bit, with what is reported, raised and written."""
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import compare
import fusewire

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import kernels  # noqa: E402 - what is measured is what is tested

RNG = np.random.default_rng(77)
SPECIAL = (0.0, -0.0, np.nan, np.inf, -np.inf, 1e300, -1e300, 5e-324, 1e-200)


def declines(compiled):
    return sum(v["declines"] for v in fusewire._fusewire.describe(compiled)["variants"])


def r(*shape):
    return RNG.random(shape)


def small(name):
    """Arguments of a kernel of the benchmark, small enough for plain Python."""
    n = 23
    texts = [RNG.integers(0, 4, n).astype(np.uint8) for _ in range(2)]
    table = np.zeros((n + 1, n + 1), np.int64)
    table[0] = table[:, 0] = np.arange(n + 1)
    zeros = np.zeros((n, n))
    columns = RNG.integers(-n, n, 5 * n)   # some count from the end
    made = {
        "lu_rows": (r(n, n) + n * np.eye(n),), "lu_columns": (r(n, n) + n * np.eye(n),), "gauss_seidel": (r(n, n), 3),
        "edit_distance": (*texts, table), "shortest_if": (np.rint(9 * r(n, n)),), "shortest_min": (np.rint(9 * r(n, n)),),
        "crc": (RNG.integers(0, 256, 99).astype(np.uint8),), "smooth": (r(99), np.zeros(99), 0.1),
        "sparse_product": (np.arange(n + 1) * 5, columns, r(5 * n), r(n), np.zeros(n)),
        "tridiagonal": (r(n), r(n) + 4, r(n), r(n), np.zeros(n)), "mandelbrot": (np.zeros((9, 9), np.int64), 30),
        "folding": (RNG.integers(0, 4, n).astype(np.int32), np.zeros((n, n), np.int32)),
        "queens": (*(np.zeros(8, np.int64) for _ in range(4)), 6),
        "product_dot": (r(n, n), r(n, n), zeros), "product_rows": (r(n, n), r(n, n), zeros), "jacobi": (r(n, n), zeros),
        "histogram": (r(99), np.zeros(64, np.int64)), "convolution": (r(n, n), r(3, 3), zeros),
        "leaky": (r(99) - 0.5, np.zeros(99)), "rotation": (r(3, 3), r(n, 3), np.zeros((n, 3))),
    }
    return made[name]


@pytest.mark.parametrize("name", kernels.KERNELS)
def test_kernels_of_the_benchmark(name):
    function = kernels.KERNELS[name][0]
    compiled = fusewire.compile(function, economy=False)
    given = small(name)
    compare.assert_same_call(function, compiled, given)
    assert not fusewire._fusewire.describe(compiled)["breaks"]
    floats = [i for i, a in enumerate(given) if isinstance(a, np.ndarray) and a.dtype == float]
    for value in SPECIAL[2:6] if floats else ():
        spoilt = compare.clone(given)
        array = spoilt[floats[0]].reshape(-1)
        array[array.size // 2] = value
        for errors in ("warn", "raise", "ignore"):
            with np.errstate(all=errors):
                compare.assert_same_call(function, compiled, spoilt)


# --- flags that come up in one turn only ------------------------------------------------------------------------------


def asked_and_forgotten(x, y):
    count = 0
    for i in range(len(x)):
        if x[i] * x[i] > y[i]:
            count += 1
    return count


def chosen_by_a_product(x, y):
    for i in range(len(x)):
        y[i] = 1.0 if x[i] * 1e10 < 3.0 else 2.0
    return y


def chosen_among_products(x, y):
    for i in range(len(x)):
        y[i] = x[i] * 1e10 if x[i] < y[i] else x[i] / 3.0
    return y


def last_quotient(x, y):
    t = 0.0
    for i in range(len(x)):
        t = y[i] / x[i]
    return t


def quotient_of_the_last_turn_but_one(x, y):
    t = u = 0.0
    for i in range(len(x)):
        u = t
        t = y[i] / x[i]
    return u


def guarded(x, y):
    for i in range(len(x)):
        if x[i] != 0.0:
            y[i] = 1.0 / x[i]
    return y


def guarded_twice(x, y):
    for i in range(len(x)):
        if x[i] == x[i] and abs(x[i]) < 1e100:
            if x[i] > 1e-100:
                y[i] = np.sqrt(x[i]) / x[i]
            else:
                y[i] = -1.0
    return y


def until_too_large(x, y):
    s = 1.0
    for i in range(len(x)):
        s = s * (1.0 + abs(x[i])) * 1e20
        if s > 1e200:
            return i, s
        y[i] = s
    return -1, s


def squares_at_both_ends(x, y):
    a, b, n = x[0], y[0], 0
    while n < 40 and a * a + b * b < 4.0:
        a, b = a * a - b * b + x[1], 2.0 * a * b + y[1]
        n += 1
    return a, b, n


def product_of_the_turn_before(x, y):
    a, b, n = x[0], y[0], 0
    while n < len(x):
        t = a * b
        a, b = x[n], y[n]
        if a * b < 0.0:
            n += 2
        n += 1
    return n, t


def one_place_again_and_again(x, y):
    for i in range(len(x)):
        y[0] = 1.0 / x[i]
    return y


def row_by_row(x, y):
    for i in range(len(x)):
        for j in range(3):
            if y[j] > x[i]:
                y[j] = y[j] * 0.5 + x[i] * 1e8
    return y


def nans_are_not_below(x, y):
    low, high, n = x[0], x[0], 0
    for v in x:
        if v < low:
            low = v
        elif v > high:
            high = v
        if low <= high:
            n += 1
    return low, high, n


def minima(x, y):
    for i in range(len(x)):
        y[i] = min(x[i], y[i], x[0]) + max(x[i], y[0])
    return y


def python_floats(x, y):
    s = 0.5
    for i in range(len(x)):
        s = s * s + float(x[i])
        if s > 1e3:
            s = 1.0 / s
    return s


PROGRAMS = [asked_and_forgotten, chosen_by_a_product, chosen_among_products, last_quotient, quotient_of_the_last_turn_but_one, guarded,
            guarded_twice, until_too_large, squares_at_both_ends, product_of_the_turn_before, one_place_again_and_again, row_by_row,
            nans_are_not_below, minima, python_floats]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_one_turn_is_special(function):
    compiled = fusewire.compile(function, economy=False)
    for value in SPECIAL:
        for place in (None, 0, 1, 20, 39):
            x, y = RNG.random(40) + 0.01, RNG.random(40)
            if place is not None:
                (x if RNG.random() < 0.7 else y)[place] = value
            for errors in ("warn", "raise", "ignore"):
                with np.errstate(all=errors):
                    compare.assert_same_call(function, compiled, (x, y))


@pytest.mark.parametrize("function", [guarded, guarded_twice, nans_are_not_below, asked_and_forgotten], ids=lambda f: f.__name__)
@pytest.mark.parametrize("value", [0.0, np.nan])
def test_nobody_declines_what_the_twin_computes(function, value):
    compiled = fusewire.compile(function, economy=False)
    for turn in range(8):
        x, y = RNG.random(40), RNG.random(40)
        if turn % 2:
            x[turn] = value
        compare.assert_same_call(function, compiled, (x, y))
    assert declines(compiled) == 0


STATES = ["all='raise'", "all='ignore'", "all='warn'", "divide='raise', invalid='ignore'", "over='ignore', invalid='raise'"]


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("function", [guarded, guarded_twice, chosen_among_products, nans_are_not_below, last_quotient], ids=lambda f: f.__name__)
def test_error_state_of_the_loop(function, state):
    """The rules of the block decide what the loop reports: of flags that nobody has raised, nothing."""
    inside = {"np": np, "loop": function}
    exec(f"def f(x, y):\n    with np.errstate({state}):\n        z = loop(x, y)\n    return z, y * 2.0\n", inside)
    compiled = fusewire.compile(inside["f"], economy=False)
    for value in SPECIAL:
        for place in (0, 20, 39):
            x, y = RNG.random(40) + 0.01, RNG.random(40)
            x[place] = value
            compare.assert_same_call(inside["f"], compiled, (x, y))


# --- places and ints that are not as expected -------------------------------------------------------------------------


def gathered(x, places, out):
    for i in range(len(places)):
        out[i] = x[places[i]] * 2.0
    return out


def scattered(x, places, out):
    for i in range(len(places)):
        out[places[i]] += x[i]
    return out


def sums_of_ints(x, places, out):
    s = 0
    for i in range(len(places)):
        s += int(places[i]) * int(places[i])
        out[i % len(out)] = s % 1000
    return s


def products_of_ints(x, places, out):
    p = 1
    for i in range(len(places)):
        p = p * int(places[i])
        out[i % len(out)] += 1.0
    return p


def steps_until_one(x, places, out):
    n, steps = int(places[0]), 0
    while n != 1 and steps < 5000:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
        out[steps % len(out)] += 1.0
    return n, steps


def quotients_of_ints(x, places, out):
    s = 0
    for i in range(len(places)):
        out[i % len(out)] += 1.0
        s += 1000 // int(places[i]) + 1000 % int(places[i])
    return s


def shifted(x, places, out):
    s = 0
    for i in range(len(places)):
        out[i % len(out)] += 1.0
        s ^= 1 << (int(places[i]) & 127)
        s >>= 1
    return s


def walked(x, places, out):
    """A place leads to the next one."""
    at, n = int(places[0]), 0
    while n < 100:
        out[at] += 1.0
        at = int(places[at])
        n += 1
    return at


def leaves_early(x, places, out):
    for i in range(len(places)):
        k = places[i]
        if x[k] > 0.95:
            return i
        out[k] = x[k]
    return -1


def counts_beyond(x, places, out):
    """Too large long before anybody asks."""
    s = 1
    for i in range(len(places)):
        s = s * 3 + int(places[i])
        if s % 7 == 0:
            out[i % len(out)] += 1.0
    return s % 1000003


def summed_places(x, places, out):
    for i in range(len(places)):
        out[i] = x[places[i] + places[len(places) // 2]]
        out[places[i] - 1] += 1.0
    return out


PLACES = [gathered, scattered, summed_places, sums_of_ints, products_of_ints, steps_until_one, quotients_of_ints, shifted, walked, leaves_early, counts_beyond]


def lists_of_places(size):
    yield RNG.integers(1, size, size)
    yield RNG.integers(-size, size, size)
    for value in (-1, -size, size, -size - 1, 0, 2**62 - 1, 2**62, 2**62 + 1, -(2**62), -(2**62) - 1, 2**63 - 1, -(2**63), 3_037_000_500):
        for place in (0, size // 2, size - 1):
            some = RNG.integers(1, size, size)
            some[place] = value
            yield some


@pytest.mark.parametrize("function", PLACES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("size", [30, 2200])
def test_places_and_ints(function, size):
    """What was written before the call was given up is what Python writes, once."""
    compiled = fusewire.compile(function, economy=False)
    lists = list(lists_of_places(size))
    for places in lists if size < 100 else lists[::5]:
        compare.assert_same_call(function, compiled, (RNG.random(size), places, np.zeros(size)))


def binned(x, counts):
    for i in range(len(x)):
        counts[int(x[i] * 16.0)] += 1


def test_places_of_floats():
    compiled = fusewire.compile(binned, economy=False)
    for value in (0.5, 0.999, 1.0, -0.01, -0.5, -1.0, -1.1, np.nan, np.inf, -np.inf, 1e300, 2.0**58, 2.0**59, -(2.0**59), 2.0**62, 0.0):
        for place in (0, 19, 39):
            x = RNG.random(40)
            x[place] = value
            counts = np.zeros(16, np.int64)
            counts[3] = RNG.choice([0, 2**62 - 1, 2**62, 2**63 - 2, -(2**63)])
            compare.assert_same_call(binned, compiled, (x, counts))


def test_places_in_an_array_of_more_elements_than_memory_has():
    compiled = fusewire.compile(gathered, economy=False)
    many = np.broadcast_to(np.float64(3), 2**63 // 8 - 1)   # too many to be compared
    for value in (0, 5, 2**59, 2**60 - 2, 2**60 - 1, 2**60, -1, -(2**60)):
        places, seen = np.arange(20), []
        places[7] = value
        for function in (gathered, compiled):
            out = np.zeros(20)
            try:
                function(many, places, out)
                seen.append(out.tolist())
            except IndexError as error:
                seen.append((str(error), out.tolist()))
        assert seen[0] == seen[1]


def narrow_sums(x, y, out):
    for i in range(len(x)):
        out[i] = max(out[i], x[i] + y[i])


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u4"])
def test_sums_of_narrow_ints(dtype):
    compiled = fusewire.compile(narrow_sums, economy=False)
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    for a, b in ((most, 0), (most, 1), (most - 1, 1), (least, 0), (least, most), (most // 2 + 1, most // 2), (most // 2 + 1, most // 2 + 1), (1, 1)):
        x, y, out = RNG.integers(0, 9, 33).astype(dtype), RNG.integers(0, 9, 33).astype(dtype), np.full(33, least, dtype)
        x[20], y[20] = a, b
        compare.assert_same_call(narrow_sums, compiled, (x, y, out))
        x[21], y[21] = least // 2, least // 2
        compare.assert_same_call(narrow_sums, compiled, (x, y, out.copy()))


def least_of_many(x, y, d):
    for i in range(1, len(d)):
        d[i] = min(d[i - 1] + 1, x[i] + 2, y[i - 1], d[i - 1] + y[i])
    for i in range(1, len(d)):
        d[i] = max(min(d[i - 1] + 1, x[i]), y[i], d[i - 1] - 1, x[i - 1] - y[i])


@pytest.mark.parametrize("dtype", ["i8", "i4", "f8"])
def test_minima_of_what_the_turn_before_has_computed(dtype):
    compiled = fusewire.compile(least_of_many, economy=False)
    for turn in range(20):
        x, y, d = ((RNG.integers(-9, 9, 50) if turn % 2 else RNG.integers(0, 1000, 50)).astype(dtype) for _ in range(3))
        if dtype == "f8" and turn % 3 == 0:
            y[turn] = (np.nan, np.inf, -0.0)[turn % 4 % 3]
        compare.assert_same_call(least_of_many, compiled, (x, y, d))


def test_places_from_the_end_are_the_twins():
    compiled = fusewire.compile(gathered, economy=False)
    for turn in range(12):
        places = RNG.integers(-20 if turn % 3 == 2 else 0, 20, 50)
        compare.assert_same_call(gathered, compiled, (RNG.random(20), places, np.zeros(50)))
    assert declines(compiled) == 0


def drawn(rng, x, places, out):
    for i in range(len(places)):
        out[i] = rng.random()
    for i in range(len(places)):
        out[i] += x[places[i]]
    return out


def test_nothing_is_drawn_twice():
    compiled = fusewire.compile(drawn, economy=False)
    one, other = np.random.default_rng(5), np.random.default_rng(5)
    for turn in range(6):
        places = np.arange(30)
        places[turn] = -1 if turn % 2 else turn
        x = RNG.random(30)
        assert np.array_equal(drawn(one, x, places, np.zeros(30)), compiled(other, x, places, np.zeros(30)))
        assert one.bit_generator.state == other.bit_generator.state


def changed_places(u, v, places):
    for i in range(len(places)):
        for j in range(1, len(u)):
            v[j] = 0.5 * (u[j - 1] + u[places[i]])
        u, v = v, u
    return u


def test_arrays_that_change_places_begin_again_as_they_were():
    compiled = fusewire.compile(changed_places, economy=False)
    for last in (1, -1, 2, -5, 99):
        for length in (5, 6):
            places = np.arange(length)
            places[-1] = last
            compare.assert_same_call(changed_places, compiled, (RNG.random(9), RNG.random(9), places))


def test_overlapping_arguments():
    x = RNG.random(60)
    for function in (gathered, scattered, leaves_early):
        compiled = fusewire.compile(function, economy=False)
        for places in (np.arange(30), np.arange(30) - 15):
            compare.assert_same_call(function, compiled, (x[:30], places, x[10:40]))


def test_warnings_that_are_errors():
    for function in (guarded, last_quotient, chosen_by_a_product):
        compiled = fusewire.compile(function, economy=False)
        for value in (0.5, 0.0, np.nan, 1e300):
            x = RNG.random(40) + 0.5
            x[33] = value
            outcomes = []
            for one in (function, compiled):
                y = np.ones(40)
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    try:
                        outcomes.append((one(x, y), None, y))
                    except RuntimeWarning as error:
                        outcomes.append((None, str(error), y))
            (result, error, y), (own, own_error, own_y) = outcomes
            assert error == own_error and np.array_equal(y, own_y, equal_nan=True)
            compare.assert_same_value(result, own, None)


def test_threads_that_are_in_doubt_at_once():
    """One makes the twin, the others wait for it."""
    for function in (gathered, leaves_early):
        compiled = fusewire.compile(function, economy=False)
        x = RNG.random(3000)
        compiled(x, np.arange(3000), np.zeros(3000))
        start = threading.Barrier(6)
        wrong = []

        def work(number):
            own = np.random.default_rng(number)
            start.wait()
            for _ in range(20):
                places = own.integers(-3000, 3000, 3000)
                want, got = np.zeros(3000), np.zeros(3000)
                answers = function(x, places, want), compiled(x, places, got)
                if not np.array_equal(want, got) or not np.array_equal(answers[0], answers[1]):
                    wrong.append(number)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong


# --- random loops -----------------------------------------------------------------------------------------------------


class Writer:
    """Loops of a few statements, where what is computed is stored, chosen by, compared, carried or forgotten."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def pick(self, *choices):
        return choices[self.random.integers(len(choices))]

    def number(self, depth=2):
        if depth == 0 or self.random.random() < 0.25:
            return self.pick("x[i]", "y[i]", "x[0]", "y[i - 1]", "s", "t", "0.5", "1e160", "3.0")
        a, b = self.number(depth - 1), self.number(depth - 1)
        form = self.pick("{a} * {b}", "{a} + {b}", "{a} - {b}", "{a} / {b}", "min({a}, {b})", "max({a}, {b})", "abs({a})", "-({a})",
                         "({a} if {c} else {b})", "np.sqrt({a})")
        return "(" + form.format(a=a, b=b, c=self.truth(depth - 1)) + ")"

    def truth(self, depth=1):
        test = f"{self.number(depth)} {self.pick('<', '<=', '>', '>=', '==', '!=')} {self.number(depth)}"
        return test if self.random.random() < 0.8 else f"({test} {self.pick('and', 'or')} {self.number(0)} > {self.number(0)})"

    def statement(self, depth=2):
        kind = self.pick("store", "store", "carry", "carry", "forget", "branch", "leave", "count", "inner") if depth else self.pick("store", "carry")
        body = lambda: ["    " + line for _ in range(self.random.integers(1, 3)) for line in self.statement(depth - 1)]
        if kind == "store":
            return [f"{self.pick('y[i]', 'y[i]', 'y[0]', 'x[i]')} = {self.number()}"]
        if kind == "carry":
            return [f"{self.pick('s', 't')} = {self.number()}"]
        if kind == "forget":
            return [f"u = {self.number()}"]
        if kind == "count":
            return [f"n += {self.truth()}"] if self.random.random() < 0.5 else [f"if {self.truth()}:", "    n += 1"]
        if kind == "leave":
            return [f"if {self.truth()}:", "    " + self.pick("break", "continue")]
        if kind == "inner":
            return [f"for j in range({self.pick('3', 'i % 4')}):", *body()]
        return [f"if {self.truth()}:", *body(), *(["else:", *body()] if self.random.random() < 0.5 else [])]

    def program(self):
        lines = [line for _ in range(self.random.integers(2, 5)) for line in self.statement()]
        return ("def f(x, y):\n    s, t, n = x[1], y[2], 0\n    for i in range(1, len(x)):\n"
                + "".join(f"        {line}\n" for line in lines) + f"    return {self.pick('n', 's, n', 's, t, n', 't')}\n")


def try_random_loop(seed):
    text = Writer(seed).program()
    scope = {"np": np}
    exec(text, scope)
    function = scope["f"]
    compiled = fusewire.compile(function, economy=False)
    random = np.random.default_rng(seed)
    for turn in range(10):
        x, y = random.normal(size=70), random.normal(size=70)
        for _ in range(turn % 4):
            (x, y)[random.integers(2)][random.integers(70)] = random.choice(SPECIAL)
        for errors in ("warn", "raise") if turn else ("ignore",):
            with np.errstate(all=errors):
                compare.assert_same_call(function, compiled, (x, y))


@pytest.mark.parametrize("seeds", range(5))
def test_random_loops(seeds):
    for seed in range(10 * seeds, 10 * seeds + 10):
        try:
            try_random_loop(seed)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}:\n{Writer(seed).program()}\n{error}") from error


def _long_turn(statements):
    """A loop over numbers whose turn is longer than what other code is cut into functions by."""
    lines = [f"        y[i] = max(z[i, {k % 3}] * {k}.5 + s, x[i]); s = s * 0.5 + y[i] * {k + 1}" for k in range(statements)]
    namespace = {}
    exec("\n".join(["def f(x, y, z):", "    s = 0.0", "    for i in range(len(x)):", *lines, "    return s"]), namespace)
    return namespace["f"]


@pytest.mark.parametrize("dynamic", [True, False])
@pytest.mark.parametrize("statements", [20, 40, 60])
def test_a_long_turn_stays_in_one_function(statements, dynamic):
    function = _long_turn(statements)
    compiled = fusewire.compile(function, economy=False, background=False, dynamic=dynamic)
    for n in (100, 3, 70):
        rng = np.random.default_rng(n)
        compare.assert_same_call(function, compiled, (rng.random(n), rng.random(n), rng.random((n, 3))))


# ---- turns that begin at the end: LLVM takes away numbers that the loop hands on

def handed_on_around(x):
    for i in range(len(x)):
        x[i] = x[i - 1]
    return x


def exchanged_around(x):
    for i in range(len(x)):
        x[i], x[i - 1] = x[i - 1], x[i]
    return x


def counted_around(x):
    hits = np.zeros(len(x), dtype=np.int64)
    for i in range(len(x)):
        hits[i - 1] = hits[i] + i
        hits[i - 2] += 1
    return hits


def exchanged_in_a_list(x):
    b = [j for j in range(12)]
    for i, v in enumerate(x):
        b[i], b[i + 1] = b[i + 1], b[i]
    return b


@pytest.mark.parametrize("function", [handed_on_around, exchanged_around, counted_around, exchanged_in_a_list],
                         ids=lambda f: f.__name__)
def test_places_from_the_end_in_the_first_turn(function):
    compiled = fusewire.compile(function, economy=False, background=False)
    for n in (70, 1, 2, 3, 9, 300):
        for dtype in ("d", "l"):
            compare.assert_same_call(function, compiled, (np.arange(n).astype(dtype),))
