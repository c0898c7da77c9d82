"""array[[i, j]] with a few numbers, of arguments, turns and data: reads and writes, in NumPy's order."""
import numpy as np
import pytest

import fusewire


def function(*lines):
    scope = {"np": np}
    exec("def f(a, i, j):\n" + "".join(f"    {line}\n" for line in lines) + "    return a\n", scope)
    return scope["f"]


PROGRAMS = {
    "swap": ["a[[i, j]] = a[[j, i]]"],
    "read": ["a = a[[i, j, 0]] * 2"],
    "rows of its own": ["a[[i, j]] = a[1:3]"],
    "the last one wins": ["a[[i, i]] = np.stack([a[0], a[1]])"],
    "a number": ["a[[i, j]] = 5"],
    "one row for all": ["a[[i, j]] = a[0]"],
    "constants": ["a[[0, 2]] = a[[2, 0]]"],
    "once, not twice": ["a[[i, -1]] += 1"],
    "a place that data decides": ["k = np.argmax(np.abs(a).ravel()[:3])", "a[[k, j]] = a[[j, k]]"],
    "bools": ["a = a[[True, False, True, True]]"],
    "a list": ["a[[i, j]] = [a[0] * 2, a[1] * 3]"],
    "rows that do not fit": ["a[[i, j]] = a[:3]"],
    "in a loop": ["for k in range(len(a) - 1):", "    p = k + np.argmax(a.reshape(len(a), -1)[k:, 0])", "    a[[k, p]] = a[[p, k]]"],
}
ARRAYS = {
    "vector": lambda: np.array([3.0, -7.0, 2.0, 5.0]),
    "matrix": lambda: np.arange(12.0).reshape(4, 3) % 5,
    "ints": lambda: np.arange(24).reshape(4, 3, 2) % 7,
    "transposed": lambda: np.arange(12.0).reshape(3, 4).T % 5,
    "every second": lambda: np.arange(8.0)[::2],
}
PLACES = [(0, 1), (2, 1), (3, 3), (-1, 0), (9, 0), (1, -7)]


def outcome(f, array, i, j):
    try:
        result = f(array, i, j)
    except Exception as error:
        return repr(error), array.tolist()
    return result.tolist(), result.dtype, result.strides, array.tolist()


@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, array):
    f = function(*PROGRAMS[name])
    compiled = fusewire.compile(f, economy=False)
    for i, j in PLACES:
        assert outcome(compiled, ARRAYS[array](), i, j) == outcome(f, ARRAYS[array](), i, j)


@pytest.mark.parametrize("name", ["swap", "read", "rows of its own", "a number", "one row for all", "once, not twice", "in a loop"])
def test_one_region(name):
    compiled = fusewire.compile(function(*PROGRAMS[name]), economy=False)
    for i, j in ((0, 1), (2, 1)):
        compiled(ARRAYS["matrix"](), i, j)
    assert not fusewire._fusewire.describe(compiled)["breaks"]
