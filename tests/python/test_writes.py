"""Writes into arguments: every form, element type and memory layout of the target, against plain NumPy. The memory around the
target is compared too, and what is returned must be the argument or a view of it where Python's is."""

import warnings

import numpy as np
import pytest

import fusewire
from compare import assert_same_outcome, assert_same_value, clone, run

DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]


# ---- forms: f(a, b, s) writes into a, an array of two axes; b is another one of its shape, s a number ---------------------------

def whole(a, b, s): a[...] = b
def whole_colons(a, b, s): a[:, :] = b
def whole_scalar(a, b, s): a[...] = s
def whole_constant(a, b, s): a[:] = 1
def row_vector(a, b, s): a[:] = b[0]
def column_vector(a, b, s): a[...] = b[:, :1]
def one_row(a, b, s): a[1] = b[0]
def one_column(a, b, s): a[:, 1] = b[:, 0]
def negative_row(a, b, s): a[-1] = s
def inner(a, b, s): a[1:-1, 1:] = b[1:-1, 1:]
def reversed_rows(a, b, s): a[::-1] = b
def every_other(a, b, s): a[::2, 1::2] = b[::2, 1::2]
def element(a, b, s): a[1, 2] = s
def element_of_array(a, b, s): a[0, 0] = b[1, 1]
def new_axis(a, b, s): a[None, :, 1] = b[:, 0]
def list_value(a, b, s): a[0] = [1, 0, 1, 0, 1]
def own_shift(a, b, s): a[1:] = a[:-1]
def own_shift_back(a, b, s): a[:-1] = a[1:]
def own_reverse(a, b, s): a[...] = a[::-1, ::-1]
def own_transpose(a, b, s): a[:3, :3] = a[:3, :3].T
def own_row(a, b, s): a[:] = a[1]
def swap_rows(a, b, s): a[0], a[1] = a[1].copy(), a[0].copy()
def through_view(a, b, s):
    v = a[1:]
    v[...] = b[1:]
    return v
def through_transpose(a, b, s):
    t = a.T
    t[1:3] = s
    return t
def through_two_views(a, b, s):
    v = a[1:]
    w = v[:, ::-1]
    w[0] = b[0]
    return v, w, a
def augmented(a, b, s): a += b
def augmented_in_place(a, b, s): a *= a
def augmented_scalar(a, b, s): a += s
def augmented_part(a, b, s): a[1:-1] += b[1:-1]
def augmented_own_parts(a, b, s): a[1:] -= a[:-1]
def augmented_element(a, b, s): a[1, 1] += a[0, 0]
def augmented_row(a, b, s): a[1] *= b[1]
def maximum(a, b, s): np.maximum(a, b, out=a)
def out_keyword(a, b, s): return np.add(a, b, out=a)
def out_positional(a, b, s): return np.multiply(a, b, a)
def out_tuple(a, b, s): return np.subtract(b, a, out=(a,))
def out_part(a, b, s): np.add(a[1:], b[1:], out=a[:-1])
def out_broadcast(a, b, s): np.negative(b[0], out=a)
def out_sum(a, b, s): b.sum(axis=0, out=a[0])
def out_max(a, b, s): np.max(b, axis=1, out=a[:, 0])
def out_clip(a, b, s): np.clip(b, 0, 1, out=a)
def masked(a, b, s): a[a > b] = s
def masked_own(a, b, s): a[a == 0] = 1
def masked_rows(a, b, s): a[b[:, 0] > 0] = s
def fill(a, b, s): a.fill(s)
def copyto(a, b, s): np.copyto(a, b)
def copyto_where(a, b, s): np.copyto(a, b, where=b > a)
def where(a, b, s): a[...] = np.where(a > b, a, b)
def cast_from_bool(a, b, s): a[...] = b > a
def read_between(a, b, s):
    x = a[0].copy()
    a[0] = b[0]
    y = a + b
    a[1:] = s
    return x, y, a.sum(axis=0) if a.dtype.kind in "iub" else a[2]
def many(a, b, s):
    for i in range(4):
        a[i] = b[i]
        a[:, i] = s
    return a
def same_place_often(a, b, s):
    for i in range(5):
        a += b
    return a
def two_arrays(a, b, s):
    t = a.copy()
    a[...] = b
    b[...] = t
    return a, b
def returns_view(a, b, s):
    a[0] = s
    return a[1:], a[::-1, 0], a
def returns_older_view(a, b, s):
    v = a[:2]
    a[...] = b
    return v
def empty_part(a, b, s): a[2:2] = b[2:2]
def empty_part_scalar(a, b, s): a[2:1] = s
def stores_result_twice(a, b, s):
    c = np.where(a > b, a, b)
    a[...] = c
    c[0] = s
    return c
def reductions_between(a, b, s):
    a[...] = b
    m = a.max()
    a[0] = m
    return m


FORMS = [f for f in list(globals().values()) if getattr(f, "__module__", None) == __name__ and callable(f) and f.__code__.co_argcount == 3]
# Not for bool: subtraction raises, some results are of other types.
NOT_BOOL = {augmented_own_parts, out_tuple, out_broadcast, out_clip}
# NumPy raises or warns depending on values, or the form is not defined.
NOT_COMPLEX = {out_max, out_clip}


def values(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    v = rng.integers(0, 3 if dtype != "?" else 2, shape)
    return (v + 1j * rng.integers(0, 3, shape)).astype(dtype) if dtype[0] == "c" else v.astype(dtype)


def targets(dtype):
    """(layout, memory, view of five by five)"""
    yield "c", (m := values((5, 5), dtype, 1)), m
    yield "f", (m := np.asfortranarray(values((5, 5), dtype, 1))), m
    yield "inner", (m := values((8, 9), dtype, 1)), m[2:7, 3:8]
    yield "steps", (m := values((11, 12), dtype, 1)), m[1::2, 2::2]
    yield "reversed", (m := values((7, 6), dtype, 1)), m[5:0:-1, ::-1][:, :5]
    yield "transposed", (m := values((8, 9), dtype, 1)), m[2:7, 3:8].T


def check(form, arguments, compiles=True):
    def f(memory, *rest):
        return form(*rest)

    compiled = fusewire.compile(form)
    g = lambda memory, *rest: compiled(*rest)
    for _ in range(2):
        expected, actual = run(f, clone(arguments)), run(g, clone(arguments))
        assert_same_outcome(expected, actual)
        if expected.error is None:
            assert_same_aliases(expected, actual)
    facts = fusewire._fusewire.describe(compiled)
    assert not [b for b in facts["breaks"] if b["reason"] in ("internal-error", "compile-failed")], facts["breaks"]
    if compiles:
        assert facts["variants"], facts["breaks"]


def assert_same_aliases(expected, actual):
    """Which results are which argument, or share memory with it."""
    def relations(outcome):
        results = outcome.result if isinstance(outcome.result, tuple) else (outcome.result,)
        arrays = [x for x in outcome.arguments if isinstance(x, np.ndarray)]
        return [(r is a, r is not None and np.shares_memory(r, a), getattr(r, "base", None) is a)
                for r in results for a in arrays]

    assert relations(expected) == relations(actual)


@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
def test_layouts(form):
    for layout, memory, a in targets("f8"):
        # The order in which NumPy adds depends on the strides of out=.
        check(form, (memory, a, values((5, 5), "f8", 2), 2.0), compiles=form not in (out_sum, out_max) or layout in ("c", "f", "inner", "steps"))


@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
def test_types(form):
    for dtype in DTYPES:
        if (dtype == "?" and form in NOT_BOOL) or (dtype[0] == "c" and form in NOT_COMPLEX):
            continue
        if form is out_sum and np.dtype(dtype) != values((5, 5), dtype, 2).sum(axis=0).dtype:
            continue
        for layout, memory, a in targets(dtype):
            if layout in ("c", "reversed"):
                number = True if dtype == "?" else 1
                # Rows that are lists and Python numbers do not fit all types; Python runs those.
                compiles = dtype in ("f8", "i8", "f4") and (form is not augmented_element or dtype != "i8")
                if form in (out_sum, out_max) and layout == "reversed":
                    compiles = False
                check(form, (memory, a, values((5, 5), dtype, 2), number), compiles)


@pytest.mark.parametrize("form", [whole, whole_scalar, row_vector, augmented, masked, fill, out_keyword, own_reverse, copyto])
def test_empty_targets(form):
    for shape in [(0, 5), (5, 0), (0, 0)]:
        a = np.zeros(shape)
        if form is row_vector and not shape[0]:
            continue
        check(form, (a, a, np.ones(shape), 2.0))


# ---- casts ----------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("to", DTYPES)
@pytest.mark.parametrize("source", DTYPES)
def test_casts(source, to):
    """Assignment converts anything, augmented assignment and out= within a kind."""
    a, b = values((4, 5), to, 1), values((4, 5), source, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for form in (whole, augmented, out_keyword, copyto):
            check(form, (a, a, b, 1), compiles=False)


# ---- errors ---------------------------------------------------------------------------------------------------------------------

def test_errors():
    a, b = values((5, 5), "f8", 1), values((5, 5), "f8", 2)
    readonly = a.copy()
    readonly.flags.writeable = False
    for form in (whole, element, augmented, out_keyword, fill, masked, copyto, through_view):
        check(form, (readonly, readonly, b, 1.0), compiles=False)
    broadcast = np.broadcast_to(np.zeros(5), (5, 5))
    check(whole, (broadcast, broadcast, b, 1.0), compiles=False)
    for form in (whole, augmented, out_keyword, inner, copyto):
        check(form, (a, a, np.ones((4, 5)), 1.0), compiles=False)
    check(element, (a[:1], a[:1], b, 1.0), compiles=False)
    for sequence in (np.ones(1), np.ones((1, 1)), [1.0], np.ones(())):
        check(element, (a, a, b, sequence), compiles=False)
    check(out_keyword, (a[:1], a[:1], b, 1.0), compiles=False)
    for bad in ("x", None, [1, 2], object()):
        check(whole_scalar, (a, a, b, bad), compiles=False)
    integers = a.astype("i4")
    check(whole_scalar, (integers, integers, b, 2**40), compiles=False)
    check(augmented, (integers, integers, b, 1), compiles=False)


def test_an_error_late_in_the_function_leaves_what_python_leaves():
    def f(a, b):
        a[0] = 1
        b[...] = a
        return a[7]

    check(lambda a, b, s: f(a, b), (np.zeros((5, 5)), np.zeros((5, 5)), np.zeros((5, 5)), 0), compiles=False)
    a, b = np.zeros((5, 5)), np.zeros((5, 5))
    with pytest.raises(IndexError):
        fusewire.compile(f)(a, b)
    assert a[0, 0] == 1 and b[0, 0] == 1


def test_a_warning_is_reported_once_and_the_write_done_once():
    def f(a, b):
        a += b
        a /= b

    def arguments():
        return np.arange(4.0), np.array([0.0, 1, 2, 0])

    check(lambda a, b, s: f(a, b), (None, *arguments(), 0), compiles=False)
    with np.errstate(all="raise"):
        a, b = arguments()
        with pytest.raises(FloatingPointError):
            fusewire.compile(f)(a, b)
        expected = arguments()
        with pytest.raises(FloatingPointError):
            f(*expected)
        assert_same_value(expected[0], a, None)


def test_readonly_is_checked_on_every_call():
    compiled = fusewire.compile(whole)
    a, b = np.zeros((5, 5)), np.ones((5, 5))
    compiled(a, b, 0)
    assert a.all()
    a[...] = 0
    a.flags.writeable = False
    with pytest.raises(ValueError):
        compiled(a, b, 0)
    assert not a.any()


# ---- aliasing -------------------------------------------------------------------------------------------------------------------

ALIASES = {
    "same": lambda m: (m, m),
    "view": lambda m: (m[1:], m[:-1]),
    "other_view": lambda m: (m[:-1], m[1:]),
    "reverse": lambda m: (m, m[::-1]),
    "transpose": lambda m: (m, m.T),
    "interleaved": lambda m: (m[::2], m[1::2]),
    "base_and_equal_view": lambda m: (m, m[:]),
    "apart": lambda m: (m[:3], m[3:]),
}


@pytest.mark.parametrize("alias", ALIASES)
@pytest.mark.parametrize("form", [whole, augmented, out_keyword, own_shift, read_between, two_arrays, masked, maximum])
def test_aliases(form, alias):
    """Compiled for arrays that do not overlap, called with some that do; and the other way round."""
    def fresh():
        m = np.arange(36.0).reshape(6, 6) % 7
        return m, *ALIASES[alias](m)

    compiled = fusewire.compile(form)
    for overlapping_first in (False, True):
        for overlap in (overlapping_first, not overlapping_first, overlapping_first):
            outcomes = []
            for f in (form, compiled):
                m, a, b = fresh()
                if not overlap:
                    b = b.copy()
                outcomes.append(run(lambda *args: f(*args), (a, b, 3.0)))
                outcomes[-1].arguments = (m, a, b)
            assert_same_value(outcomes[0].result, outcomes[1].result, None)
            assert_same_value(outcomes[0].arguments, outcomes[1].arguments, None)
            assert_same_aliases(*outcomes)


def test_elements_that_share_memory():
    def f(a):
        a += 1
        a[0] = 5

    for make in (lambda m: np.lib.stride_tricks.as_strided(m, (4, 3), (8, 8)), lambda m: np.lib.stride_tricks.as_strided(m, (4, 3), (8, 0))):
        expected, actual = np.arange(12.0), np.arange(12.0)
        compiled = fusewire.compile(f)
        compiled(np.arange(24.0).reshape(4, 6)[:, :3])
        f(make(expected))
        compiled(make(actual))
        assert_same_value(expected, actual, None)


# ---- programs -------------------------------------------------------------------------------------------------------------------

def jacobi(u, f):
    for _ in range(3):
        u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - f[1:-1, 1:-1])
        u[0] = u[1]
        u[-1] = u[-2]
        u[:, 0] = 0
        u[:, -1] = 1
    return np.abs(u).max()


def heat(u, v):
    for _ in range(4):
        v[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
        u, v = v, u
    return u


def gram_schmidt(q, r):
    for j in range(4):
        for i in range(j):
            r[i, j] = (q[:, i] * q[:, j]).sum()
            q[:, j] -= r[i, j] * q[:, i]
        r[j, j] = np.sqrt((q[:, j] * q[:, j]).sum())
        q[:, j] /= r[j, j]
    return q


def lu(a, _):
    n = 5
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] = a[i, k] / a[k, k]
            a[i, k + 1:] -= a[i, k] * a[k, k + 1:]
    return a


def prefix(a, b):
    for i in range(1, 6):
        a[i] += a[i - 1]
        b[i] = a[i] * b[i - 1]
    return a, b


def gauss_seidel_red_black(u, f):
    u[1:-1:2] = 0.5 * (u[:-2:2] + u[2::2] - f[1:-1:2])
    u[2:-1:2] = 0.5 * (u[1:-2:2] + u[3::2] - f[2:-1:2])
    return u


def leapfrog(x, v):
    for _ in range(5):
        v -= 0.05 * x
        x += 0.1 * v
        v -= 0.05 * x


def normalise_rows(a, b):
    for i in range(6):
        a[i] /= a[i].max()
        b[i, i] = a[i, 0]
    a[a < 0.5] = 0
    return a[:, ::-1]


@pytest.mark.parametrize("program", [jacobi, heat, gram_schmidt, lu, prefix, gauss_seidel_red_black, leapfrog, normalise_rows])
@pytest.mark.parametrize("layout", ["c", "f", "reversed", "inner"])
def test_programs(program, layout):
    def make(seed):
        memory = np.random.default_rng(seed).random((9, 9)) + 3 * np.eye(9) + 0.5
        if layout == "f":
            memory = np.asfortranarray(memory)
        return memory, {"reversed": memory[6::-1, 6::-1], "inner": memory[1:8, 1:8]}.get(layout, memory[:7, :7])

    compiled = fusewire.compile(program, max_unrolled_ops=4096)
    outcomes = []
    for f in (program, compiled, compiled):
        (m, a), (n, b) = make(1), make(2)
        outcomes.append(run(lambda *args: f(*args), (a, b)))
        outcomes[-1].arguments = (m, a, n, b)
    for outcome in outcomes[1:]:
        assert_same_value(outcomes[0].result, outcome.result, None)
        assert_same_value(outcomes[0].arguments, outcome.arguments, None)
        assert_same_aliases(outcomes[0], outcome)
    assert fusewire._fusewire.describe(compiled)["variants"], fusewire._fusewire.describe(compiled)["breaks"]


# ---- flags of values that are computed where they are stored ---------------------------------------------------------------------

def scaled(a, b, s): a *= s
def scaled_inner(a, b, s): a[1:-1, 1:-1] *= s
def shifted(a, b, s): a += s * b
def mean_of_both(a, b, s): a[...] = 0.5 * (a + b)


@pytest.mark.parametrize("form", [scaled, scaled_inner, shifted, mean_of_both])
@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
@pytest.mark.parametrize("shape", [(3, 3), (5, 37), (64, 65)])
def test_flags_are_those_of_numpy(form, dtype, shape):
    """One bad element anywhere: at the start, in the middle of a row, in a tail."""
    huge = np.finfo(dtype).max
    for at in ((0, 0), (1, 1), (shape[0] - 2, shape[1] - 2), (-1, -1)):
        compiled = fusewire.compile(form)
        for bad in (1.0, huge, -huge, np.inf, np.nan, np.finfo(dtype).tiny):
            for mode in ("ignore", "warn", "raise"):
                outcomes = []
                for f in (form, compiled):
                    a, b = np.ones(shape, dtype), np.ones(shape, dtype)
                    a[at] = b[at] = bad
                    with np.errstate(all=mode):
                        outcomes.append(run(lambda *args: f(*args), (a, b, 1.5)))
                    outcomes[-1].arguments = (a, b)
                expected, actual = outcomes
                assert (type(expected.error), str(expected.error)) == (type(actual.error), str(actual.error))
                assert expected.warned == actual.warned
                assert_same_value(expected.arguments, actual.arguments, None, "arguments")
        assert fusewire._fusewire.describe(compiled)["variants"] or shape == (3, 3)   # one element of complex type is Python's


VIEWS = ["x.ravel()", "x.reshape(-1)", "x[:]", "x[0:1]", "x.T", "x[None]", "np.squeeze(x[None], 0)", "np.expand_dims(x, 0)", "np.atleast_2d(x)",
         "x.swapaxes(0, -1)", "np.flip(x)", "np.split(x, 1)[0]", "np.broadcast_to(x, x.shape)", "np.broadcast_to(x, x.shape)[0]",
         "np.broadcast_to(x, x.shape).copy()", "x.copy()", "x.astype('f4')", "x"]


@pytest.mark.parametrize("view", VIEWS)
def test_views_are_as_writeable_as_their_base(view):
    """Whether a base is read-only may differ from call to call."""
    function = eval(f"lambda x: {view}", {"np": np})
    compiled = fusewire.compile(function)
    for shape in ((3,), (2, 3), (1,), (0,)):
        for writeable in (False, True, False):
            x = np.ones(shape)
            x.flags.writeable = writeable
            for _ in range(2):
                expected, actual = run(function, (x,)), run(compiled, (x,))
                assert_same_outcome(expected, actual)
                if expected.error is None:
                    assert actual.result.flags.writeable == expected.result.flags.writeable
    assert fusewire._fusewire.describe(compiled)["variants"] or view == "x"


def update_that_changes_nothing(x):
    y = x * 1
    t = y[1:]
    t *= 1
    x[0] = 5
    return y


def view_of_an_update_that_changes_nothing(x):
    y = x * 1
    t = y[1:]
    t *= 1
    x[0] = 5
    return t, y


def only_the_view(x):
    y = x * 1
    t = y[1:]
    t *= 1
    return t


def stored_into_itself(x):
    y = x / 1
    t = y[1:]
    t[...] = t
    x[1:] = 5
    return y


def reversed_first(x):
    y = x[::-1] * 1
    t = y[1:]
    t /= 1
    x[0] = 5
    return y[2:], y


def twice(x):
    y = x * 1
    y[0] *= 1
    z = y * 1
    z[1:] *= 1
    x += 1
    return z, z[1:], y


@pytest.mark.parametrize("f", [update_that_changes_nothing, view_of_an_update_that_changes_nothing, only_the_view, stored_into_itself,
                               reversed_first, twice], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [float, np.int32])
def test_a_fresh_array_stays_one_when_its_update_is_dropped(f, dtype):
    if dtype is np.int32 and f in (stored_into_itself, reversed_first):
        pytest.skip("true division")
    compiled = fusewire.compile(f, economy=False)
    for _ in range(3):
        x, theirs = np.arange(6, dtype=dtype), np.arange(6, dtype=dtype)
        actual, expected = compiled(x), f(theirs)
        np.testing.assert_array_equal(x, theirs)
        listed = lambda result: result if isinstance(result, tuple) else (result,)
        for a, e in zip(listed(actual), listed(expected), strict=True):
            np.testing.assert_array_equal(a, e)
            assert not np.shares_memory(a, x) and a.dtype == e.dtype
        shared = [[np.shares_memory(a, b) for b in listed(actual)] for a in listed(actual)]
        assert shared == [[np.shares_memory(a, b) for b in listed(expected)] for a in listed(expected)]


def test_a_view_of_a_number_shares_the_memory_of_its_base():
    def f(k):
        base = np.asarray(k)
        return base, base.reshape(1), k + base

    plain, compiled = f(3), fusewire.compile(f)(3)
    assert_same_value(plain, compiled, None)
    compiled[1][0] = 7
    assert compiled[0] == 7 and compiled[1].base is compiled[0] and compiled[2] == 6
