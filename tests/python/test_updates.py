"""Updates that are computed where they are stored: in a loop, where the array is one, and on an array of the function itself.

Each statement is put into programs of both kinds and compared with plain Python over sizes, layouts and types. Whether one kernel does it
is in the goldens of the plans; here it has to be right.
"""
import itertools
import linecache
import warnings

import numpy as np
import pytest

import fusewire
from compare import assert_same_outcome, clone, run

SIZES = [0, 1, 2, 3, 5, 9, 64]

# Reads of the array at the element that is stored to, and of others.
IN_PLACE = [
    "u *= 2",
    "u[1:, 1:] += c * (v[1:, 1:] - v[:-1, 1:])",
    "u[::2] = u[::2] * v[::2] - u[::2]",
    "u[::-1] = u[::-1] * 3 + v",
    "u[:, ::-1] -= v[:, :1]",
    "u[...] = np.where(u > v, v, u)",
    "u[1:-1, 1:-1] = v[:-2, 1:-1] + v[2:, 1:-1]",
    "u[::2] = u[1::2][:u[::2].shape[0]].sum() * u[::2]",
    "u[: u.shape[0] // 2] = u[u.shape[0] - u.shape[0] // 2:] * 2",
    "u.T[...] = u.T + v",
    "u[0] = v[0] * 2",
    "u[:, 0] = u[:, 0] + v[0, 0]",
    "u[0] = u[-1]",
    "u[:, -1] = u[:, 0] * c",
]
# The value reads elements that other points store to.
SHIFTED = [
    "u[1:] = u[:-1]",
    "u[:-1] = u[1:]",
    "u[2:] = u[:-2] + u[2:]",
    "u[:-2] = u[2:] - v[1:-1]",
    "u[:, 1:] = u[:, :-1] * c",
    "u[:, :-1] = u[:, 1:] * c",
    "u[1:, 1:] = u[:-1, :-1] + 1",
    "u[:-1, 1:] = u[1:, :-1] + 1",
    "u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])",
    "u[2:-2] = u[4:] + u[:-4] - u[3:-1] - u[1:-3]",
    "u[3:] += u[:-3]",
    "u[1:-1] = u[:-2] + u[2:] + u[0]",
    "u[1:-1] = u[:-2] + u[2:] + u[0, 0]",
    "u[::-1] = u * 2",
    "u[:, ::-1] = u * 2",
    "u[::-1][1:] = u[::-1][:-1] * 2",
    "u[::2] = u[: u[::2].shape[0]] * 2",
    "u[2::2] = u[:-2:2] + u[2::2]",
    "u[4::2] -= u[: -4 : 2]",
    "u.T[1:] = u.T[:-1] + c",
    "u.T[:, 1:] = u.T[:, :-1] + c",
    "u[1:] = u[:1]",
    "u[:] = u[:, :1] + u[:1]",
    "u[:] = u.sum() + u",
    "u[1:, :] = u[:-1, ::-1]",
    "u[1:-1] = np.where(u[:-2] > u[2:], u[1:-1], u[2:])",
    "u[1:] = np.minimum(u[:-1], v[1:])",
    "u[1:] = (u[:-1] > u[1:]) * 2",
    "u[1:] = u[:-1] + np.arange(u.shape[0] - 1)[:, None]",
    "u[:, 1:] = u[:, :-1] + np.arange(u.shape[1] - 1)",
    "u[1:] = u[:-1] + np.eye(u.shape[0] - 1, u.shape[1])",
]
SQUARE = ["u[...] = u.T", "u[...] = u.T + u", "u[1:, 1:] = u.T[:-1, :-1]"]
# Several in one turn.
SEQUENCES = [
    ["u[1:, :] -= 0.5 * (v[1:, :] - v[:-1, :])", "v[:-1, :] -= 0.7 * (u[1:, :] - u[:-1, :])"],
    ["u[1:, 1:] += v[:-1, :-1]", "w[1:, 1:] -= v[:-1, :-1]", "v += u + w"],
    ["a = u[1:-1, 1:-1] + v[1:-1, 1:-1] + u[:-2, 1:-1]", "u[1:-1, 1:-1] += c * a", "v[1:-1, 1:-1] -= c * a"],
    ["a = u[1:-1] * 2 + u[2:]", "u[1:-1] = a", "v[1:-1] = a[::-1]", "w[1:-1] = a[:, ::-1] + a"],
    ["u[1:-1] = u[2:] + u[:-2]", "u[0] = u[1]", "u[-1] = u[-2]", "u[:, 0] = u[:, 1]", "u[:, -1] = u[:, -2]"],
    ["u[1:] = v[:-1] * 2", "s = u[1:].sum()", "v[...] = v + s"],
    ["u[1:] = u[:-1] * 2", "v[...] = u[1:].sum() + u", "w[1:] = u[:-1]"],
    ["a = u * 2", "u[...] = a + v", "v[...] = a", "u[1:] = a[1:] + u[:-1]"],
    ["v[1:-1, 1:-1] = u[:-2, 1:-1] + u[2:, 1:-1]", "u, v = v, u"],
    ["v[1:-1] = u[:-2] + u[2:]", "w[1:-1] = v[:-2] + u[2:]", "u, v, w = w, u, v"],
    ["n = u.copy()", "n[1:-1] = u[:-2] + u[2:]", "c = np.abs(n - u).max() * 1e-3", "u = n"],
    ["n = np.zeros_like(u)", "n[1:-1] = 2 * u[1:-1] - v[1:-1]", "v = u", "u = n"],
    ["x = u[0].copy()", "x[1:] = x[:-1] + u[0, 1:]", "u[0] = x"],
    ["x = u[0].copy()", "x[1:-1] = x[2:] - x[:-2]", "x[:-3] = x[3:]", "u[0] = x"],
    ["t = u[0, 0] * 2", "u[0, 0] = t", "v[0, 0] = t", "u[1:] += t"],
]

LOOP = """def f(u, v, w, c, n):
    for _ in range(n):
        {body}
    return u, v, w
"""
STRAIGHT = """def f(u, v, w, c, n):
    u, v, w = u.copy(), v.copy(), w.copy()
    {body}
    return u, v, w
"""
counter = itertools.count()


def program(template, statements):
    indent = "\n" + " " * (template.split("{body}")[0].rsplit("\n", 1)[1].count(" "))
    text = template.format(body=indent.join(statements))
    name = f"<updates {next(counter)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope = {"np": np}
    exec(compile(text, name, "exec"), scope)
    return scope["f"]


def numbers(rng, shape, dtype, layout="c"):
    dtype = np.dtype(dtype)
    if dtype.kind == "c":
        made = (rng.integers(-9, 9, shape) + 1j * rng.integers(-9, 9, shape)).astype(dtype)
    elif dtype.kind == "f":
        made = (rng.random(shape) * 4 - 2).astype(dtype)
    else:
        made = rng.integers(0, 60, shape).astype(dtype)
    if layout == "f":
        return np.asfortranarray(made)
    if layout == "strided":
        whole = np.zeros((shape[0] * 2, shape[1] * 3), dtype)
        whole[::2, ::3] = made
        return whole[::2, ::3]
    if layout == "reversed":
        return made[::-1, ::-1].copy()[::-1, ::-1]
    return made


def check(f, cases, **options):
    compiled = fusewire.compile(f, economy=False, recompile_limit=256, churn_limit=0, **options)
    for arguments in cases:
        expected = run(f, clone(arguments))
        for _ in range(2):
            assert_same_outcome(expected, run(compiled, clone(arguments)))
    return compiled


def cases(shapes, dtype="f8", layout="c", turns=(0, 1, 4), other=None):
    rng = np.random.default_rng(3)
    for shape in shapes:
        for n in turns:
            arrays = [numbers(rng, shape, d, layout) for d in (dtype, other or dtype, dtype)]
            c = 0.1 if np.dtype(dtype).kind in "fc" else 3
            yield (*arrays, c, n)


SHAPES = [(n, m) for n in SIZES for m in SIZES]
FEW = [(0, 3), (3, 0), (1, 1), (2, 3), (3, 2), (5, 5), (17, 9), (40, 70)]


@pytest.mark.parametrize("template", [LOOP, STRAIGHT], ids=["loop", "straight"])
@pytest.mark.parametrize("statement", IN_PLACE + SHIFTED)
def test_sizes(template, statement):
    compiled = check(program(template, [statement]), cases(SHAPES, turns=(3,)))
    breaks = fusewire._fusewire.describe(compiled)["breaks"]
    assert [b for b in breaks if b["class"] != "user"] == []   # Python raises, as plain code does


@pytest.mark.parametrize("template", [LOOP, STRAIGHT], ids=["loop", "straight"])
@pytest.mark.parametrize("statement", SQUARE)
def test_transposed(template, statement):
    check(program(template, [statement]), cases([(n, n) for n in SIZES], turns=(3,)))


@pytest.mark.parametrize("template", [LOOP, STRAIGHT], ids=["loop", "straight"])
@pytest.mark.parametrize("statements", SEQUENCES, ids=" ; ".join)
def test_sequences(template, statements):
    check(program(template, statements), cases(SHAPES[::3] + FEW, turns=(0, 1, 2, 5)))


@pytest.mark.parametrize("layout", ["f", "strided", "reversed"])
@pytest.mark.parametrize("statement", IN_PLACE + SHIFTED)
def test_layouts(layout, statement):
    for template in (LOOP, STRAIGHT):
        check(program(template, [statement]), cases(FEW, layout=layout, turns=(3,)))


@pytest.mark.parametrize("dtype, other", [("f4", "f8"), ("f8", "f4"), ("i4", "i8"), ("i8", "f8"), ("c8", "f4"), ("u1", "i2"), ("f2", "f4"), ("?", "?")])
@pytest.mark.parametrize("statement", [*IN_PLACE[1:4], IN_PLACE[5], *SHIFTED[:6], SHIFTED[8], SHIFTED[10], SHIFTED[25]])
def test_types(dtype, other, statement):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for template in (LOOP, STRAIGHT):
            check(program(template, [statement]), cases(FEW, dtype, turns=(2,), other=other))


@pytest.mark.parametrize("statement", [
    "u[1:] = u[:-1] / v[1:]",
    "u[:-1] = np.sqrt(u[1:] - v[:-1])",
    "u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1]) * u[1:-1, 1:-1]",
    "u[1:] += u[1:] / v[:-1]",
    "u[1:] = u[1:] / c",
    "u[1:] = u[:-1] / (c - 0.1)",
    "u[1:, :] = np.log(u[1:, :1])",
])
@pytest.mark.parametrize("special", [0.0, np.inf, np.nan, -1.0, 1e300, 5e-324])
def test_reports(statement, special):
    """Whatever is reported, and where: the array is left as Python leaves it."""
    made = []
    for shape in [(3, 4), (9, 20), (2, 2), (1, 3), (3, 0)]:
        for at in range(0, max(1, shape[0] * shape[1]), 7):
            arrays = [np.full(shape, 0.75), np.full(shape, 1.5), np.full(shape, 1.0)]
            for array in arrays[:2]:
                if array.size:
                    array.flat[at] = special
            made += [(*arrays, 0.1, n) for n in (1, 3)]
    for template in (LOOP, STRAIGHT):
        check(program(template, [statement]), made)
        f = program(template, [statement])
        compiled = fusewire.compile(f, economy=False, recompile_limit=256, churn_limit=0)
        for arguments in made[::5]:
            with np.errstate(all="raise"):
                expected = run(f, clone(arguments))
                assert_same_outcome(expected, run(compiled, clone(arguments)))


@pytest.mark.parametrize("seed", range(12))
def test_random(seed):
    """Stencils of any shifts along any axes, of one to three dimensions."""
    rng = np.random.default_rng(seed)
    for _ in range(4):
        rank = int(rng.integers(1, 4))
        low = rng.integers(0, 4, rank)
        high = rng.integers(0, 4, rank)

        def at(shift, array):
            return f"{array}[" + ", ".join(f"{l + s}:n{d} - {h - s}" for d, (l, h, s) in enumerate(zip(low, high, shift))) + "]"

        def reads(array):
            return [at([int(rng.integers(-l, h + 1)) for l, h in zip(low, high)], array) for _ in range(int(rng.integers(1, 4)))]

        names = ["u", "v"] if rng.random() < 0.5 else ["u"]
        statements = ["; ".join(f"n{d} = u.shape[{d}]" for d in range(rank))]
        for name in names:
            value = " + ".join(f"{round(float(rng.random()), 2)} * {r}" for r in reads("u") + reads("v")[:1])
            statements.append(f"{at([0] * rank, name)} = {value}")
        made = []
        for _ in range(12):
            shape = tuple(int(n) for n in rng.integers(0, [90, 24, 9][rank - 1], rank))
            made.append((*(rng.random(shape) for _ in range(3)), 0.5, int(rng.integers(1, 4))))
        for template in (LOOP, STRAIGHT):
            check(program(template, statements), made)
