"""Time steps over arrays that are larger than a cache: several are run at once (src/jit/wavefront.h), with the bits of one after the other."""
import itertools
import linecache

import numpy as np
import pytest

import fusewire
from compare import assert_same_outcome, clone, run

# Of u, v, w, which have more than a megabyte each; t counts turns, c is a number.
BODIES = [
    ["u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])"],
    ["u[1:-1] = 0.5 * (u[:-2] + u[2:])"],
    ["u[3:-2] = u[:-5] - u[5:]"],
    ["u[40:] = v[:-40] + u[40:]", "v[:-40] = 0.5 * u[40:] + v[:-40]"],
    ["u[:, 1:-1] = 0.5 * (u[:, :-2] + u[:, 2:])"],
    ["u[1:] += c * (v[1:] - v[:-1])", "v[:-1] -= c * (u[1:] - u[:-1])"],
    ["u[1:, :] -= 0.5 * (w[1:, :] - w[:-1, :])", "v[:, 1:] -= 0.5 * (w[:, 1:] - w[:, :-1])",
     "w[:-1, :-1] -= 0.7 * (v[:-1, 1:] - v[:-1, :-1] + u[1:, :-1] - u[:-1, :-1])"],
    ["u[0, :] = t * 0.01", "u[1:, :] -= 0.5 * (w[1:, :] - w[:-1, :])", "w[:-1, :-1] -= 0.7 * (u[1:, :-1] - u[:-1, :-1])"],
    ["v[1:-1] = 2 * u[1:-1] - w[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])", "u, v, w = v, w, u"],
    ["w = np.zeros_like(u)", "w[1:-1] = 2 * u[1:-1] - v[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])", "v = u", "u = w"],
    ["n = u.copy()", "n[1:-1, 1:-1] = u[:-2, 1:-1] + u[2:, 1:-1] - v[1:-1, 1:-1]", "v = u", "u = n"],
    ["a = u[:-2, 1:-1] + u[2:, 1:-1] - 2 * u[1:-1, 1:-1]", "b = v[:-2, 1:-1] + v[2:, 1:-1] - 2 * v[1:-1, 1:-1]",
     "m = u[1:-1, 1:-1] * v[1:-1, 1:-1]", "u[1:-1, 1:-1] += 0.1 * a - m * c", "v[1:-1, 1:-1] += 0.05 * b + m * c"],
    ["u[1:-1] = 0.5 * (u[:-2] + u[2:])", "u[0] = u[1]", "u[-1] = u[-2]", "u[:, 0] = u[:, 1]"],
    ["u[1:-1] = 0.5 * (u[:-2] + u[2:])", "v += u * c"],
    ["u[1:-1] = 0.5 * (u[:-2] + u[2:])", "c = u.sum() * 1e-9", "v += u * c"],
    ["u[1:-1] = 0.5 * (u[:-2] + u[2:])", "v[...] = u[::-1]"],
    ["u[...] = v.T[:u.shape[0], :u.shape[1]] * 0.5", "v[1:] = u[:-1]"],
    ["u[2::2] = u[:-2:2] + v[2::2]", "v[1::2] -= u[1::2] * c"],
    ["u[1:] = np.sqrt(np.abs(u[:-1])) + v[1:]", "v[1:-1] = np.where(u[:-2] > u[2:], u[1:-1], v[1:-1])"],
    ["u[5] = v[t % 7] + u[6]", "v[1:-1] = 0.5 * (u[2:] + u[:-2])", "u[1:-1] = v[1:-1]"],
    ["u += c", "v -= u", "w *= 0.5", "u -= w"],
    ["u, v = v, u"],
    ["n = u.copy()", "n[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])", "u = n"],
    ["old = u.copy()", "u[1:-1] = 0.5 * (old[2:] + old[:-2])", "v += old"],
    ["old = u.copy()", "u[1:-1] = 0.5 * (old[2:] + old[:-2])", "w = old"],
    ["old = u.copy()", "u[1:-1] = old[1:-1] * 0.5 + v[2:]", "v += old - u"],
    ["n = u.copy()", "n[2:] = u[:-2] * 0.5", "v[1:] += n[:-1]", "m = u.copy()", "m[0] = t", "w -= m", "u = n"],
    ["old = np.array(u)", "u[1:-1] = 0.5 * (u[2:] + u[:-2])", "c = np.abs(u - old).max()"],
    ["old = u.copy()", "u[t] = old[t + 1] * 2", "v[1:] = u[:-1] + old[1:]"],
    ["v[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])", "u, v = v, u"],
    ["u[t] = v[t] * 2", "v[1:] = u[:-1] + v[1:]"],
]
LOOP = """def f(u, v, w, c, n):
    for t in range(n):
        {body}
    return u, v, w, c
"""
counter = itertools.count()


def program(statements):
    text = LOOP.format(body="\n        ".join(statements))
    name = f"<wavefront {next(counter)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope = {"np": np}
    exec(compile(text, name, "exec"), scope)
    return scope["f"]


def arrays(shape, dtype, order="C"):
    rng = np.random.default_rng(7)
    return [np.asarray(rng.random(shape) * 8 - 4).astype(dtype, order=order) for _ in range(3)]


def check(f, calls):
    compiled = fusewire.compile(f, economy=False)
    for arguments in calls:
        expected = run(f, clone(arguments))
        assert_same_outcome(expected, run(compiled, clone(arguments)))


SHAPES = [(900, 700), (5000, 130)]


@pytest.mark.parametrize("statements", BODIES, ids=" ; ".join)
def test_bits_of_one_after_the_other(statements):
    f = program(statements)
    check(f, [(*arrays(shape, "f8"), 0.1, n) for shape, n in zip(SHAPES, (19, 7))])


@pytest.mark.parametrize("dtype, order", [("f4", "C"), ("f8", "F"), ("i8", "C"), ("c16", "C")])
@pytest.mark.parametrize("statements", [BODIES[i] for i in (0, 5, 6, 8, 11)], ids=" ; ".join)
def test_types_and_orders(statements, dtype, order):
    if dtype == "i8":
        statements = [s.replace("0.25 *", "").replace("0.5 *", "3 *").replace("0.7 *", "2 *").replace("0.1 *", "").replace("0.05 *", "") for s in statements]
    check(program(statements), [(*arrays((900, 800), dtype, order), 3 if dtype == "i8" else 0.1, 18)])


def test_turns():
    f = program(BODIES[0])
    check(f, [(*arrays((800, 801), "f8"), 0.1, n) for n in (0, 1, 2, 16, 17, 18, 20, 31, 33)])
    check(program(["v[1:] = 0.5 * u[:-1]", "u, v = v, u"]), [(*arrays((800, 801), "f8"), 0.1, n) for n in (65, 66, 67, 81, 97)])


@pytest.mark.parametrize("columns", [1, 2, 3, 5, 8, 17, 130, 257, 1030])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i2"])
def test_rows_of_any_length(columns, dtype):
    """Vectors begin where a store is aligned, and rows go in pairs (KernelEmitter::runBetween)."""
    f = program(["u[1:-1] = 3 * u[:-2] - u[2:]", "v[1:] -= u[:-1]", "w[:, 1:] = v[:, :-1]"])
    rows = 400_000 // columns
    for first in range(3):
        u, v, w = arrays((rows + first, columns), dtype)
        check(f, [(u[first:], v[first:], w[: rows], 3, 17)])


def test_one_axis():
    text = ["u[1:-1] = u[:-2] + u[2:] - u[1:-1]", "v[1:] = u[:-1] * 0.5"]
    check(program(text), [(*arrays(700_000, "f8"), 0.1, n) for n in (5, 40)])


def test_reports():
    f = program(["u[1:-1] = v[1:-1] / u[2:]", "v[1:] = u[:-1]"])
    u, v, w = arrays((900, 700), "f8")
    u[500, 3] = 0
    check(f, [(u, v, w, 0.1, 20)])
