"""The order of axes that NumPy gives fresh results (order='K'), of arguments whose axes overlap: windows of one stride,
axes that interleave, and views of them. Strides are compared, and sums, whose order of additions follows from it."""

import itertools

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view

import fusewire

# Views, and what makes arrays with order='K' from each of them.
VIEWS = {
    "itself": lambda x: x,
    "transposed": lambda x: x.T,
    "flipped": lambda x: x[::-1, ..., ::-1],
    "part": lambda x: x[1:, ..., :-1],
    "row": lambda x: x[0],
    "column": lambda x: x.T[1:2],
    "new axis": lambda x: x[:, None].T,
}
STEPS = {
    "step of one": lambda x: x[::2],
    "step of the last": lambda x: x[..., ::2],
    "steps": lambda x: x[::2, ..., ::2],
    "unequal steps": lambda x: x.T[::2, ..., ::3],
    "step of a transpose": lambda x: x[::-2].T[1:],
}
LAYOUTS = {
    "windows": ((5, 4), (1, 1)),
    "windows backwards": ((5, 4), (-1, 1)),
    "windows of rows": ((3, 3, 2, 4), (6, 1, 6, 1)),
    "windows in F order": ((4, 3, 2), (1, 6, 1)),
    "interleaved": ((4, 5), (2, 1)),
    "interleaved in F order": ((5, 4), (2, 3)),
    "gaps": ((3, 4), (9, 2)),
    "woven, no element twice": ((2, 3), (5, 3)),
    "stretched": ((4, 3, 3), (1, 0, 1)),
    "one long axis": ((5, 1, 4), (1, 1, 1)),
}


def fresh(v):
    return v + 0, v.copy(order="K"), v.astype("f4"), np.empty_like(v).T, np.concatenate([v, v]), np.sqrt(v * v)


def summed(v):
    return v.sum(), v.sum(0), (v * 0.1).mean(-1)


def array(shape, steps):
    memory = np.random.default_rng(3).random(400) * 1e3
    return as_strided(memory[200:], shape, tuple(8 * s for s in steps))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("views", [VIEWS, STEPS], ids=["views", "steps"])
def test_orders_of_results(layout, views):
    x = array(*LAYOUTS[layout])
    for name, view in views.items():
        def f(x):
            v = view(x)
            return fresh(v), summed(v)

        compiled = fusewire.compile(f, compile_all=True, economy=False)
        for expected, actual in zip(itertools.chain(*f(x)), itertools.chain(*compiled(x)), strict=True):
            assert expected.shape == actual.shape
            assert all(n == 1 or e == a for n, e, a in zip(expected.shape, expected.strides, actual.strides)), f"{name}: {actual.strides}, expected {expected.strides}"
        for expected, actual in zip(f(x)[1], compiled(x)[1], strict=True):
            assert np.array_equal(expected, actual), name


def test_windows_are_compiled():
    def f(x):
        return x.T * 2, x[::2] + 1, x[:, ::-1].sum(1)

    compiled = fusewire.compile(f, compile_all=True, economy=False)
    for size in (9, 30, 200):
        x = sliding_window_view(np.arange(float(size)), 4)
        for expected, actual in zip(f(x), compiled(x), strict=True):
            assert np.array_equal(expected, actual) and expected.strides == actual.strides
    facts = fusewire._fusewire.describe(compiled)
    assert [variant["hits"] for variant in facts["variants"]] == [3] and not facts["regions"]


def test_a_step_through_interleaved_axes_is_pythons():
    def f(x):
        return x[:, ::2] + 0

    compiled = fusewire.compile(f, compile_all=True, economy=False)
    for step in (1, 2, 3):   # the order of the view's axes depends on it
        x = array((4, 7), (step, 1))
        assert compiled(x).strides == f(x).strides
    assert ["axes interleave" in b["detail"] for b in fusewire._fusewire.describe(compiled)["breaks"]] == [True]


INDICES = {
    "C order": lambda i: i,
    "F order": np.asfortranarray,
    "F order backwards": lambda i: np.asfortranarray(i)[::-1],
    "backwards": lambda i: i[:, ::-1],
    "parts": lambda i: np.repeat(np.repeat(i, 2, 0), 2, 1)[::2, ::2],
    "one row": lambda i: np.broadcast_to(i[:1], i.shape),
    "one column": lambda i: np.broadcast_to(i[:, :1], i.shape),
}


@pytest.mark.parametrize("text", ["s[i] * 2 + s[i]", "s[i, j] + 1", "s[:, i] + 1", "s[:, i, j]", "s[i, 0] + 1"])
def test_what_indices_of_several_axes_choose(text, capsys):
    scope = {}
    exec(f"def f(s, i, j): return {text}", scope)
    plain = scope["f"]
    draw = np.random.default_rng(0).integers
    arrays = [s for s in (np.arange(60.0), np.arange(60.0).reshape(5, 12), np.arange(60.0).reshape(5, 4, 3)) if s.ndim > text.count(",")]
    for first, second in itertools.product(INDICES.values(), INDICES.values()):
        compiled = fusewire.compile(plain)
        for shape, s in itertools.product([(3, 4), (1, 4), (3, 1)], arrays):
            i, j = first(draw(0, 3, shape)), second(draw(0, 3, shape))
            expected, actual = plain(s, i, j), compiled(s, i, j)
            assert np.array_equal(expected, actual)
            steps = [[step for step, size in zip(a.strides, a.shape) if size > 1] for a in (expected, actual)]
            assert steps[0] == steps[1]
    assert "another type, shape or layout" not in capsys.readouterr().err


def _twice(x):
    return x * 2


def _named(x, y):
    t = x + 1
    return t * y


def _named_twice(x, y):
    t = u = x + 1
    return (t * y) + u


def _listed(x, y):
    t = [x + 1]
    return t[0] * y


def _looped(x, y):
    for _ in range(70):
        x = (x + 1) * y
    return x


def _viewed(x, y):
    return (x + 1).T * y.T


TEMPORARIES = {
    "left": lambda x, y: (x + 1) * y, "right": lambda x, y: y * (x + 1), "both": lambda x, y: (x + 1) * (y + 1), "both turned": lambda x, y: (y + 1) + (x + 1), "not commutative": lambda x, y: (x + 1) - y, "not commutative, right": lambda x, y: y - (x + 1),
    "quotient": lambda x, y: (x + 1) / y, "floored": lambda x, y: (x + 1) // y, "power": lambda x, y: (x + 1) ** y, "remainder": lambda x, y: (x + 1) % y, "negative": lambda x, y: -(x + 1) * y, "absolute": lambda x, y: abs(x - 1) + y, "copied": lambda x, y: x.copy() * y,
    "of a call": lambda x, y: np.sqrt(x) * y, "in a call": lambda x, y: np.multiply(x + 1, y), "of a function": lambda x, y: _twice(x) * y, "stretched": lambda x, y: (x[:, :1] + 1) * y, "of a row": lambda x, y: (x + 1) * y[0], "long": lambda x, y: ((x + 1) * y + x) * (y + 2) - x,
    "compared": lambda x, y: (x + 1) < y, "named": _named, "named twice": _named_twice, "listed": _listed, "looped": _looped, "viewed": _viewed, "argument": lambda x, y: x * y,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TEMPORARIES)
def test_operands_that_nobody_holds(name):
    """From 256 KiB on, NumPy computes an operator in their place, whatever the layout of the other one."""
    plain = TEMPORARIES[name]
    compiled = fusewire.compile(plain, economy=False)
    make = np.random.default_rng(0).random
    for shape in ((10, 12), (400, 90), (364, 90), (365, 90), (4, 9), (90, 30, 20)):
        for dtypes in (("f8", "f8"), ("f4", "f8"), ("f8", "f4"), ("f4", "f4")):
            x, y = np.asfortranarray(make(shape) + 0.5).astype(dtypes[0], order="K"), (make(shape) + 0.5).astype(dtypes[1])
            for a, b in ((x, y), (y, x), (x, x.copy(order="K")), (y, y.copy())):
                expected, actual = plain(a, b), compiled(a, b)
                assert expected.strides == actual.strides and expected.dtype == actual.dtype, (shape, dtypes)
                if name not in ("power",):
                    assert np.array_equal(expected, actual, equal_nan=True)


def test_sums_of_what_nobody_holds():
    def total(x, y):
        return ((x + 1) * y).sum(), ((x + 1) * y).ravel(order="K")

    compiled = fusewire.compile(total, economy=False)
    for shape in ((300, 120), (30, 12), (301, 120)):
        x, y = np.asfortranarray(np.random.default_rng(1).random(shape)), np.random.default_rng(2).random(shape)
        for a, b in zip(total(x, y), compiled(x, y)):
            assert np.array_equal(a, b)
