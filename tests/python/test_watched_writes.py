"""In-place updates of arrays that are too large to be checked before they are written: when an element raises a floating-point flag
half-way, everything ends as NumPy ends it, with its warnings at their lines, or its exception."""

import io
import contextlib
import warnings

import numpy as np
import pytest

import fusewire


def scaled(u, v, s):
    u *= s


def added(u, v, s):
    u += v


def step(u, v, s):
    u += s * v


def two_lines(u, v, s):
    t = s * v
    u += t


def divided(u, v, s):
    u /= v


def inner(u, v, s):
    u[1:-1, 1:-1] *= s


def two_arrays(u, v, s):
    u *= s
    v -= u
    u += s


def one_operation_each(u, v, s):
    u *= s
    v *= v
    np.add(v, u, out=v)


def symplectic(u, v, s):
    v -= s * u
    u += s * v


def momentum(u, v, s):
    np.multiply(v, s, out=v)
    v += u
    u -= 0.5 * v


def parts_of_both(u, v, s):
    v[1:-1, ::2] -= s * u[1:-1, ::2]
    u[1:-1, ::2] += s * v[1:-1, ::2]


def both_with_rows(u, v, s):
    v += s * u[3]
    u += s * v[:, 3:4] + v


def by_out(u, v, s):
    np.multiply(u, s, out=u)
    np.subtract(u, v, out=v)


def assigned(u, v, s):
    u[...] = s * (v + v) - v


def lerp(u, v, s):
    u[...] = u * s + v * (1.0 - s)


def jacobi(u, v, s):
    u[1:-1, 1:-1] = 0.25 * (v[2:, 1:-1] + v[:-2, 1:-1] + v[1:-1, 2:] + v[1:-1, :-2])


def row(u, v, s):
    u *= v[3]


def column(u, v, s):
    u -= v[:, 3:4]


def reversed_rows(u, v, s):
    u[::-1] += v


def transposed(u, v, s):
    u += v.T


def negated(u, v, s):
    u[...] = -(u * s)


def results_too(u, v, s):
    u *= s
    return u, u[0], v.sum()


FORMS = [f for f in list(globals().values()) if getattr(f, "__module__", None) == __name__ and callable(f)]


def assert_same(expected, actual):
    assert expected[0] == actual[0]
    assert expected[1] == actual[1]
    for e, a in zip(expected[2:4], actual[2:4]):
        assert e.tobytes() == a.tobytes() or np.array_equal(e, a, equal_nan=True)
    if isinstance(expected[4], tuple):
        assert actual[4][0] is actual[2] and actual[4][1].base is actual[2]


def outcome_of(f, form, u, v, s):
    form.__globals__.pop("__warningregistry__", None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result, error = f(u, v, s), None
        except FloatingPointError as raised:
            result, error = None, str(raised)
    return [(w.category, str(w.message), w.filename, w.lineno) for w in caught], error, u, v, result


@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype,side", [("f8", 140), ("f4", 140), ("f8", 40)])
def test_warnings_half_way(form, dtype, side):
    compiled = fusewire.compile(form)
    shape = (side, side)
    huge, tiny = np.finfo(dtype).max, np.finfo(dtype).tiny
    for bad in (None, huge, np.nan, np.inf, -np.inf, tiny, 0.0):
        for at in ((0, 0), (35, 1), (side - 2, side - 2), (side - 1, side - 1), (slice(30, 33), slice(None)), (slice(None), 5)):
            for who in (("u",), ("v",), ("u", "v")):
                arrays = []
                for _ in range(2):
                    u = np.random.default_rng(1).random(shape).astype(dtype) + 1
                    v = np.random.default_rng(2).random(shape).astype(dtype) + 1
                    if bad is not None:
                        if "u" in who:
                            u[at] = bad
                        if "v" in who:
                            v[at] = bad
                    arrays.append((u, v))
                assert_same(outcome_of(form, form, *arrays[0], 2.5), outcome_of(compiled, form, *arrays[1], 2.5))


@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("mode", ["ignore", "raise", "print", "call", "log"])
def test_other_ways_to_report(form, mode):
    compiled = fusewire.compile(form)
    for at in ((3, 3), (40, 7)):
        results = []
        for f in (form, compiled, compiled):
            u, v = np.full((140, 140), 2.0), np.full((140, 140), 3.0)
            u[at] = v[at] = np.finfo("f8").max
            seen = []

            class Log:
                def write(self, text):
                    seen.append((text, u.copy(), v.copy()))

            def called(kind, flags):
                seen.append((kind, flags, u.copy(), v.copy()))

            text = io.StringIO()
            before = np.seterrcall(Log() if mode == "log" else called)
            try:
                with np.errstate(all=mode), contextlib.redirect_stdout(text):
                    got = outcome_of(f, form, u, v, 2.5)
            finally:
                np.seterrcall(before)
            results.append((got, seen, text.getvalue()))
        for other in results[1:]:
            assert_same(results[0][0], other[0])
            assert results[0][2] == other[2]
            assert len(results[0][1]) == len(other[1])
            for x, y in zip(results[0][1], other[1]):
                assert all(np.array_equal(p, q, equal_nan=True) if isinstance(p, np.ndarray) else p == q for p, q in zip(x, y))


@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
def test_warnings_that_are_errors(form):
    compiled = fusewire.compile(form)
    for category in (RuntimeWarning, Warning):
        results = []
        for f in (form, compiled):
            u, v = np.full((140, 140), 2.0), np.full((140, 140), 3.0)
            u[50, 7] = v[50, 7] = v[3, 3] = np.finfo("f8").max
            v[51, 7] = 0
            with warnings.catch_warnings():
                warnings.simplefilter("error", category)
                try:
                    error = f(u, v, 2.5) and None
                except RuntimeWarning as raised:
                    error = str(raised)
            results.append((error, u, v))
        assert results[0][0] == results[1][0]
        assert np.array_equal(results[0][1], results[1][1]) and np.array_equal(results[0][2], results[1][2])


def test_users_who_show_warnings_themselves_see_the_arrays_as_they_are():
    def look(f):
        u, v, seen = np.full((140, 140), 2.0), np.full((140, 140), 3.0), []
        v[50, 7] = np.finfo("f8").max
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = lambda *args, **kw: seen.append((str(args[0]), u.sum(), v[50, 7]))
            f(u, v, 2.5)
        return seen

    for form in (step, two_lines, two_arrays):
        assert look(form) == look(fusewire.compile(form))


def test_once_per_place():
    """The default filter shows a warning of a line once."""
    def count(f):
        step.__globals__.pop("__warningregistry__", None)
        with warnings.catch_warnings(record=True) as caught:
            warnings.resetwarnings()
            for _ in range(3):
                u, v = np.full((140, 140), 2.0), np.full((140, 140), np.finfo("f8").max)
                f(u, v, 2.5)
        return len(caught)

    assert count(step) == count(fusewire.compile(step)) == 1


def test_updates_are_done_once_and_not_left_to_python():
    compiled = fusewire.compile(scaled)
    for _ in range(4):
        u, v = np.full((140, 140), 2.0), np.full((140, 140), 3.0)
        u[3, 3] = np.finfo("f8").max
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            compiled(u, v, 2.5)
        assert [str(w.message) for w in caught] == ["overflow encountered in multiply"]
        assert u[0, 0] == 5.0 and u[3, 3] == np.inf and u[-1, -1] == 5.0
    (variant,) = fusewire._fusewire.describe(compiled)["variants"]
    assert variant["hits"] == 4 and variant["declines"] == 0


def test_in_the_middle_of_a_function():
    """A region of a function with breaks: lines and order hold there too."""
    def form(u, v, s):
        log = []
        u *= s
        print("one")
        v -= u
        log.append(1)
        u += v
        return log

    compiled = fusewire.compile(form)
    for _ in range(3):
        results = []
        for f in (form, compiled):
            u, v = np.full((140, 140), 2.0), np.full((140, 140), 3.0)
            u[40, 3] = np.finfo("f8").max
            v[60, 3] = np.inf
            with contextlib.redirect_stdout(io.StringIO()):
                results.append(outcome_of(f, form, u, v, 2.5))
        assert_same(*results)


def test_parts_of_all_shapes():
    """Rows longer than what is saved, single elements in the last part, three axes, strides of all kinds."""
    shapes = [(3, 200_000), (2, 3), (1, 9000), (9000, 1), (40, 5, 31), (7, 1025), (1, 1)]
    views = [lambda x: x, lambda x: x[::-1], lambda x: x[..., ::2], lambda x: x.T, lambda x: x[:, ::-3]]
    compiled = fusewire.compile(step)
    for shape in shapes:
        for view in views:
            for place in (0, 1, -1, None):
                results = []
                for f in (step, compiled):
                    u, v = np.arange(np.prod(shape), dtype=float).reshape(shape) + 1, np.ones(shape)
                    part = view(u)
                    if place is not None and part.size > 1:
                        view(v).reshape(-1)[place] = 1
                        part[tuple(np.array(np.unravel_index(place % part.size, part.shape)))] = -np.inf
                        v.reshape(-1)[::7] = np.inf
                    results.append(outcome_of(f, step, part, view(v), 2.5)[:4] + (None,))
                assert_same(*results)


def helper(u, s):
    u *= s


def test_calls_into_other_functions():
    def form(u, v, s):
        helper(u, s)
        helper(v, s)

    compiled = fusewire.compile(form)
    for _ in range(2):
        results = []
        for f in (form, compiled):
            u, v = np.full((140, 140), 2.0), np.full((140, 140), 3.0)
            u[40, 3] = v[1, 1] = np.finfo("f8").max
            results.append(outcome_of(f, form, u, v, 2.5))
        assert_same(*results)
