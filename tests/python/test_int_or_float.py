"""max(0, x): an int or a np.float64, as data wants it. Where both do the same, compiled code computes; everywhere else Python does."""
import math

import numpy as np
import pytest

import fusewire

# "m" stands for max(0, x[0]).
EXPRESSIONS = [
    "np.array([m, 2])", "np.full(3, m)", "np.asarray(m)", "isinstance(m, int)", "isinstance(m, float)", "type(m) is int", "str(m)",
    "f'{m}'", "sum([m, 1])", "np.stack([m, x[1]])", "np.array((m, max(0, x[1])))", "abs(m)", "int(m)", "float(m)", "bool(m)",
    "3 if m else 4", "x[m == 0]", "1 / (m + 1)", "m / 2", "m / x[1]", "m ** 2", "x[1] ** m", "m % 3", "round(m)", "np.sqrt(m)",
    "math.sqrt(m)", "max(3, m)", "np.maximum(m, 1)", "np.abs(m)", "np.linspace(0, m, 3)", "np.arange(m)", "np.where(x > 0, m, 1)",
    "np.where(x > 0, m, x)", "np.clip(x, m, 3)", "np.arange(3) + m", "np.int64(m)", "np.float64(m) * -1", "-m", "m == 0",
    "m in (0, 1)", "{m: 1}", "m", "[m, 1]", "sorted([m, x[1]])", "m.real", "np.append(x, m)", "np.append(np.arange(3), m)",
    "np.dot(x, m)", "np.concatenate([x, [m]])", "np.full_like(x, m)", "np.full_like(np.arange(3), m)", "x * m", "'a' * m",
    "math.floor(m)", "5 - m", "5.5 - m", "-2.0 * m", "m + 3 + 4",
]
ARRAYS = [np.array([first, 2.0, 3.0]) for first in (-1.5, 1.5, -0.0, 2.0, np.nan)] + [np.array([2, -2, 3]), np.array([-1, -2, 3], "f4")]


def outcome(function, x):
    try:
        result = function(x)
    except Exception as error:
        return repr(error)
    return repr(result), type(result), getattr(result, "dtype", None)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_same_as_python(expression):
    scope = {"np": np, "math": math}
    exec(f"def f(x):\n    m = max(0, x[0])\n    return {expression}\n", scope)
    compiled = fusewire.compile(scope["f"], economy=False)
    for x in ARRAYS:
        assert outcome(scope["f"], x) == outcome(compiled, x), x
