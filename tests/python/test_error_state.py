"""np.errstate inside of compiled functions: what is reported, ignored and raised is what Python reports, ignores and raises, under
every state and filter around the call, in one region."""

import warnings

import numpy as np
import pytest

import compare
import fusewire

STATES = [{}, {"all": "ignore"}, {"all": "raise"}, {"divide": "ignore"}, {"invalid": "raise", "divide": "warn"}, {"over": "ignore", "under": "raise"}]


def ignored_quotient(a, b):
    with np.errstate(divide="ignore", invalid="ignore"):
        y = a / b
    y[~np.isfinite(y)] = 0
    return y * 2


def only_divide(a, b):
    with np.errstate(divide="ignore"):
        return a / b


def reports_outside(a, b):
    with np.errstate(all="ignore"):
        y = a / b
    return y + 1 / b


def reports_before(a, b):
    z = 1 / b
    with np.errstate(all="ignore"):
        y = a / b
    return y, z


def nested(a, b):
    with np.errstate(all="ignore"):
        x = 1 / b
        with np.errstate(divide="warn"):
            y = 2 / b
        z = 3 / b
    return x + y + z


def raises(a, b):
    try:
        with np.errstate(all="raise"):
            return a / b
    except FloatingPointError as error:
        return str(error)


def unused(a, b):
    with np.errstate(all="ignore"):
        a / b
    return a + b


def unused_outside(a, b):
    a / b
    with np.errstate(all="ignore"):
        return a / b


def scalars(a, b):
    with np.errstate(all="ignore"):
        s = a[0] / b[0]
    return s, np.float64(1e300) * a[1] * 1e10


def in_a_loop(a, b):
    total = 0.0
    with np.errstate(all="ignore"):
        for i in range(len(a)):
            total += a[i] / b[i]
    return total


def half_of_a_loop(a, b):
    out = np.zeros_like(a)
    for i in range(len(a)):
        with np.errstate(divide="ignore", invalid="ignore"):
            out[i] = a[i] / b[i]
        out[i] = out[i] * a[i]
    return out


def in_a_branch(a, b):
    if a.sum() > 0:
        with np.errstate(all="ignore"):
            y = np.log(a - 1)
    else:
        y = np.log(a + 1)
    return y


def in_place(a, b):
    with np.errstate(all="ignore"):
        a /= b
        a[1:] *= 1e308
    return a


def decorated_helper(a, b):
    return _quiet(a, b) + a


@np.errstate(divide="ignore", invalid="ignore")
def _quiet(a, b):
    return a / b


def under_helper(a, b):
    with np.errstate(under="raise"):
        return (a * 1e-308) * 1e-10


def library(a, b):
    with np.errstate(all="ignore"):
        return np.linalg.norm(a / b) + np.cumsum(a / b)


def library_reports(a, b):
    with np.errstate(divide="ignore"):
        y = np.cumsum(a * 1e308)
    return y + np.cumsum(b * 1e308)


def casts(a, b):
    with np.errstate(invalid="ignore"):
        k = (a / b * 1e30).astype(np.int32)
    return k


def nan_mean(a, b):
    return np.nanmean(np.where(b == 0, np.nan, a)), np.nanstd(a.reshape(2, -1), axis=1)


def fused_with_quiet(a, b):
    c = a * 2
    with np.errstate(all="ignore"):
        d = c / b
    e = d * 3
    return np.where(b != 0, e, c).sum()


FUNCTIONS = [ignored_quotient, only_divide, reports_outside, reports_before, nested, raises, unused, unused_outside, scalars, in_a_loop, half_of_a_loop,
             in_a_branch, in_place, decorated_helper, under_helper, library, library_reports, casts, nan_mean, fused_with_quiet]


def arguments(name):
    a = np.array([0.0, 1.0, -2.0, 3.0, 1e200, 5.0])
    b = {"zeros": np.array([0.0, 0.0, 1.0, 2.0, 1e-300, 4.0]), "clean": np.arange(1.0, 7), "nan": np.array([np.nan, 1, 2, np.inf, 4, 0])}[name]
    return a, b


def outcome(function, given, state):
    with np.errstate(**state):
        return compare.run(function, compare.clone(given))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_reports(function):
    compiled = fusewire.compile(function)
    for state in STATES:
        for name in ("clean", "zeros", "nan", "clean"):
            given = arguments(name)
            expected = outcome(function, given, state)
            for _ in range(2):
                actual = outcome(compiled, given, state)
                assert type(expected.error) is type(actual.error) and str(expected.error) == str(actual.error), (state, name)
                assert expected.warned == actual.warned, (state, name)
                compare.assert_same_value(expected.result, actual.result, 2 if function in (in_a_branch,) else None)
                for e, a in zip(expected.arguments, actual.arguments):
                    compare.assert_same_value(e, a, None)


@pytest.mark.parametrize("function", [f for f in FUNCTIONS if f not in (raises, under_helper)], ids=lambda f: f.__name__)
def test_one_region(function):
    given = arguments("clean")
    compiled = fusewire.compile(fullgraph=True)(function)
    for _ in range(2):
        expected, actual = (compare.run(f, compare.clone(given)) for f in (function, compiled))
        assert actual.error is None
        compare.assert_same_value(expected.result, actual.result, 2 if function in (in_a_branch,) else None)


def test_ignored_conditions_run_compiled():
    compiled = fusewire.compile(ignored_quotient)
    given = np.arange(5.0), np.array([0.0, 1, 2, 0, 4])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(5):
            compiled(*given)
    variant, = fusewire._fusewire.describe(compiled)["variants"]
    assert variant["declines"] == 0


def prints_inside(a, b):
    with np.errstate(all="ignore"):
        x = a / b
        print("inside", file=SINK)
        y = 1 / b
    return x + y, 1 / a


class SINK:
    write = staticmethod(lambda text: None)


def leaves_a_handler(a, b):
    state = np.errstate(all="ignore")
    with state:
        x = a / b
    try:
        with state:
            pass
    except TypeError:
        return x
    return x * 2


def state_is_kept(a, b):
    state = np.errstate(divide="ignore")
    return state, a / b


def with_call(a, b):
    seen = []
    with np.errstate(divide="call", call=lambda kind, flag: seen.append(kind)):
        x = a / b
    return x, seen


def generator(a, b):
    def rows():
        with np.errstate(all="ignore"):
            yield a / b
            yield b / a
    return sum(rows())


@pytest.mark.parametrize("function", [prints_inside, leaves_a_handler, with_call, generator], ids=lambda f: f.__name__)
def test_left_to_python_where_need_be(function):
    compiled = fusewire.compile(function)
    for name in ("zeros", "clean", "zeros"):
        given = arguments(name)
        for _ in range(3):
            expected, actual = compare.run(function, compare.clone(given)), compare.run(compiled, compare.clone(given))
            assert type(expected.error) is type(actual.error)
            assert expected.warned == actual.warned
            compare.assert_same_value(expected.result, actual.result, None)
    assert np.geterr() == {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}


def test_a_state_that_leaves_the_call():
    state, _ = fusewire.compile(state_is_kept)(*arguments("clean"))
    assert type(state) is np.errstate
    with state:
        assert np.geterr()["divide"] == "ignore"
