"""np.vectorize and np.apply_along_axis of a function that is compiled with them: what NumPy's own code answers, and as often."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import fusewire

RNG = np.random.default_rng(3)


def step(v):
    return v * v + 1 if v > 0.5 else -v


def sign(v):
    if v > 0:
        return 1
    if v < 0:
        return -1
    return 0


def halves(v):
    return v / 2 if v else 0


def both(a, b):
    return a - b if a > b else a + b


def gaussian(v, width=2.0):
    return math.exp(-v * v / width)


vectorized = {name: np.vectorize(function) for name, function in {"step": step, "sign": sign, "halves": halves, "gaussian": gaussian}.items()}
vectorized |= {
    "text": np.vectorize(lambda v: "a" if v > 0 else "b"),
    "pair": np.vectorize(lambda v: (v, v + 1)),
    "typed": np.vectorize(step, otypes=[float]),
    "typed_int": np.vectorize(step, otypes=[int]),
    "typed_half": np.vectorize(step, otypes=["e"]),
    "cached": np.vectorize(step, cache=True),
    "excluded": np.vectorize(gaussian, excluded={0}),
    "other excluded": np.vectorize(gaussian, excluded={"width"}),
    "signature": np.vectorize(np.mean, signature="(n)->()"),
    "whole": np.vectorize(lambda v: v // 3),
    "truth": np.vectorize(lambda v: v > 0),
    "nothing": np.vectorize(lambda v: None),
}
ARRAYS = {
    "floats": RNG.standard_normal(20), "grid": RNG.standard_normal((4, 5)), "fortran": np.asfortranarray(RNG.standard_normal((4, 5))), "reversed": RNG.standard_normal(9)[::-1],
    "columns": RNG.standard_normal((4, 6))[:, ::2], "singles": RNG.standard_normal(7).astype("f4"), "halves": RNG.standard_normal(7).astype("f2"), "whole": np.arange(-4, 5), "bytes": np.arange(5, dtype="u1"),
    "flags": np.array([True, False, True]), "complex": RNG.standard_normal(4) + 1j, "none": np.zeros(0), "no rows": np.zeros((0, 3)), "one": np.ones(1), "scalar": np.array(2.5), "cube": RNG.standard_normal((2, 3, 4)),
    "text": np.array(["a", "b"]), "zeros": np.array([0.0, -0.0, np.nan, np.inf]),
    "extremes": np.array([1e200, 1e-200, -1e308, 1e308]), "infinite": np.array([np.inf, 1.0]),
}


def outcome(function, *arguments, digits=None):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*arguments)
        except Exception as error:
            return type(error), str(error)
    parts = result if isinstance(result, tuple) else (result,)
    return [(type(p), p.dtype, p.shape, p.strides, p.flags.writeable, p.tobytes() if digits is None or p.dtype.kind not in "fc" else np.round(p, digits).tolist()) if isinstance(p, np.ndarray) else p for p in parts], [(w.category, str(w.message)) for w in caught]


@pytest.mark.parametrize("state", ["warn", None])
@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize("name", vectorized)
def test_vectorize(name, array, state):
    def call(x):
        with np.errstate(all=state):
            return vectorized[name](x)

    compiled = fusewire.compile(call)
    digits = 12 if vectorized[name].pyfunc is gaussian else None   # powers and exponentials are right to a place
    for _ in range(3):
        assert str(outcome(compiled, ARRAYS[array].copy(), digits=digits)) == str(outcome(call, ARRAYS[array].copy(), digits=digits))


@pytest.mark.parametrize("second", [*ARRAYS, 2, 0.5, [1.0, 2.0]], ids=str)
@pytest.mark.parametrize("first", ["floats", "grid", "whole", "scalar", "one", "none"])
def test_vectorize_two_arguments(first, second):
    pair = np.vectorize(both)

    def call(x, y):
        return pair(x, y)

    def keyword(x, y):
        return pair(x, b=y)

    arguments = ARRAYS[first], ARRAYS[second] if isinstance(second, str) else second
    for function in (call, keyword):
        compiled = fusewire.compile(function)
        for _ in range(2):
            assert outcome(compiled, *arguments) == outcome(function, *arguments)


def test_vectorize_is_a_loop():
    @np.vectorize
    def distance(a, b):
        return a - b if a > b else b - a

    def call(x, y):
        return distance(x, y).sum() + np.vectorize(step)(x)

    x, y = RNG.standard_normal((2, 50))
    compiled = fusewire.compile(call, fullgraph=True)
    for _ in range(3):
        assert outcome(compiled, x, y) == outcome(call, x, y)


@pytest.mark.parametrize("array", ["floats", "grid", "fortran", "none"])
def test_functions_are_called_as_often(array):
    """The first element twice; in the order of memory."""

    def call(x, log, numbers):
        def f(v):
            log.append(float(v))
            return v + numbers.random()

        return np.vectorize(f)(x), np.vectorize(lambda v: v * numbers.random())(x)

    compiled = fusewire.compile(call)
    for _ in range(3):
        logs = [], []
        got, want = (outcome(function, ARRAYS[array], log, np.random.default_rng(1)) for function, log in zip((compiled, call), logs))
        assert got == want and logs[0] == logs[1]


def test_failing_functions():
    def call(x, log):
        def f(v):
            if v > 3:
                raise ValueError(f"too much: {v}")
            return 1 / v

        try:
            return np.vectorize(f)(x)
        finally:
            log.append("done")

    compiled = fusewire.compile(call)
    for x in (np.array([1.0, 2]), np.array([1.0, 0, 5]), np.array([1.0, 2, 5]), np.array([0.0]), np.array([1, 2, 0]), np.array([1.0, 2])):
        logs = [], []
        assert outcome(compiled, x, logs[0]) == outcome(call, x, logs[1])
        assert logs[0] == logs[1]


def test_a_changed_object():
    power = np.vectorize(lambda v: v + 1)

    def call(x):
        return power(x)

    compiled = fusewire.compile(call)
    x = RNG.standard_normal(5)
    for change in ({}, {"pyfunc": step}, {"otypes": "f"}, {"otypes": "d"}, {"excluded": {0}}, {"excluded": set()}, {"cache": True}):
        vars(power).update(change)
        for _ in range(2):
            assert outcome(compiled, x) == outcome(call, x)


ROWS = {
    "centred": lambda r: r - r.mean(), "number": lambda r: (r * r).sum() / len(r), "median": np.median, "part": lambda r: np.cumsum(r)[::2], "python": lambda r: float(r[0]), "whole": lambda r: r.argmax(),
    "matrix": lambda r: np.outer(r[:2], r[:2]), "writes": lambda r: np.multiply(r, 2, out=r), "itself": lambda r: r, "list": lambda r: [r[0], r[-1]], "text": lambda r: "a", "uneven": lambda r: r[r > 0],
    "sorted": np.sort, "branch": lambda r: r.max() if r[0] > 0 else r.min(), "nothing": lambda r: None,
}


@pytest.mark.parametrize("array", ["grid", "fortran", "columns", "floats", "no rows", "cube", "scalar", "whole"])
@pytest.mark.parametrize("name", ROWS)
def test_apply_along_axis(name, array):
    row = ROWS[name]

    def call(x, axis):
        return np.apply_along_axis(row, axis, x), x

    for axis in (0, 1, -1, -2, 2, True):
        compiled = fusewire.compile(call)
        for _ in range(2):
            assert outcome(compiled, ARRAYS[array].copy(order="K"), axis) == outcome(call, ARRAYS[array].copy(order="K"), axis)


def test_apply_along_axis_is_a_loop():
    def call(x, scale):
        return np.apply_along_axis(lambda r, s, shift=0.0: (r - r.mean()) * s + shift, 1, x, scale, shift=1.0)

    x = RNG.standard_normal((40, 9))
    compiled = fusewire.compile(call, fullgraph=True)
    for _ in range(3):
        assert outcome(compiled, x, 2.0) == outcome(call, x, 2.0)


def test_owners():
    def call(x):
        return np.vectorize(step)(x), np.apply_along_axis(lambda r: r * 2, 0, x), np.apply_along_axis(lambda r: r.sum(), 1, x)

    x = RNG.standard_normal((3, 4))
    compiled = fusewire.compile(call)
    for _ in range(3):
        assert [(p.base is None, p.flags.owndata) for p in compiled(x)] == [(p.base is None, p.flags.owndata) for p in call(x)]
