"""What the compiler finds out late - lowering, planning, code generation - is a break at its line, like any other."""

import time

import numpy as np
import pytest

import fusewire
from compare import assert_same_call, assert_same_outcome, clone, run


def facts(compiled):
    return fusewire._fusewire.describe(compiled)


def refusals(compiled):
    return [b for b in facts(compiled)["breaks"] if b["reason"] == "unsupported-operation"]


def in_the_middle(x, z):
    a = x * 2 + 1
    b = a * a - x
    w = z ** 1.5
    c = b * 3 - a
    return (c / 2).sum() + w.real, b


def in_a_loop(x, z):
    total = x * 0
    for i in range(4):
        total = total + x * i
        z = z ** 0.3
        total -= z.real * 2 + x
    return total, z


def of_helper(z): return z ** 2.5 + 1


def in_a_helper(x, z):
    a = x * 2 + 1
    b = of_helper(z)
    return a * 3 - x, b


def several(x, z):
    a = x * 2 + 1
    u = z ** 1.5; v = z ** 2.5
    a = a * x - 3
    w = z ** 3.5 + u * v
    return a + x, w


def caught(x, z):
    try:
        a = x * 2 + 1
        w = z ** 1.5
        return a - x, w
    finally:
        x += 1


def in_a_condition(x, z):
    a = x * 2 + 1
    if (z[0] ** 1.5).real > 0.5:
        return a * 3 - x
    return a - x * 4


FORMS = (in_the_middle, in_a_loop, in_a_helper, several, caught, in_a_condition)


@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
def test_break_at_its_line(form):
    compiled = fusewire.compile(form, economy=False)
    x = np.linspace(-1, 1, 50)
    for _ in range(4):
        arguments = (x, x + 1j * x[::-1] + 0.25)
        assert_same_outcome(run(form, clone(arguments)), run(compiled, clone(arguments)))
    breaks = refusals(compiled)
    lines = range(form.__code__.co_firstlineno + 1, form.__code__.co_firstlineno + 12)
    assert any("power of c128" in b["detail"] for b in breaks), breaks
    assert form is in_a_helper or all(b["line"] in lines for b in breaks), breaks
    assert [r for r in facts(compiled)["regions"] if r["variants"]], "nothing around it is compiled"
    assert not [b for b in facts(compiled)["breaks"] if b["class"] == "bug"]


def test_fullgraph_names_the_line():
    with pytest.raises(fusewire.GraphBreakError) as error:
        fusewire.compile(in_the_middle, fullgraph=True)(np.ones(5), np.ones(5) + 0j)
    assert "power of c128" in str(error.value)
    assert f".py:{in_the_middle.__code__.co_firstlineno + 3}:" in str(error.value), error.value


def test_many_refusals_take_bounded_time():
    lines = "".join(f"    a = a * x + {i}\n    z = z ** 0.7\n" for i in range(60))
    made = {"np": np}
    exec(f"def f(x, z):\n    a = x\n{lines}    return a, z\n", made)
    compiled, arguments = fusewire.compile(made["f"]), (np.ones(4), np.ones(4) + 1j)
    begin = time.perf_counter()
    for _ in range(3):
        assert_same_call(made["f"], compiled, arguments)
    assert time.perf_counter() - begin < 20


# ---- the length of complex numbers is no such operation any more

SPECIAL = [0.0, -0.0, 1.0, -3.0, 4.0, np.inf, -np.inf, np.nan, 1e-308, 5e-324, 1e-200, 1e200, 1.7e308, -1.7e308]


def length(z): return np.abs(z)
def length_of_rest(z): return abs(z * 2) + np.absolute(z)
def escapes(z): return (np.abs(z) > 2).sum()
def of_one(z): return [abs(v) for v in z[:7]]
def stepped(z): return np.abs(z[::2])
def of_columns(z): return np.abs(z.reshape(-1, 7).T)


def mandelbrot(c, n=30):
    z = np.zeros_like(c)
    count = np.zeros(c.shape, int)
    for _ in range(n):
        inside = np.abs(z) <= 2
        z = np.where(inside, z * z + c, z)
        count += inside
    return count, z


@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("form", [length, length_of_rest, escapes, of_one, stepped, of_columns], ids=lambda f: f.__name__)
def test_complex_length(form, dtype):
    compiled = fusewire.compile(form, economy=False)
    with np.errstate(all="ignore"):
        special = np.array([complex(a, b) for a in SPECIAL for b in SPECIAL]).astype(dtype)
    rng = np.random.default_rng(1)
    drawn = ((rng.standard_normal(1400) + 1j * rng.standard_normal(1400)) * 10.0 ** rng.integers(-3, 3, 1400)).astype(dtype)
    for state in ("ignore", "warn", "raise"):
        with np.errstate(all=state, under="ignore"):
            for z in (special, drawn, drawn[:7], special[:0].reshape(0, 7)[:, 0]):
                assert_same_call(form, compiled, (z,))
    assert not refusals(compiled)
    assert facts(compiled)["variants"] or facts(compiled)["regions"]


def test_mandelbrot_is_compiled():
    compiled = fusewire.compile(mandelbrot)
    c = (np.linspace(-2, 1, 40)[None, :] + 1j * np.linspace(-1.5, 1.5, 30)[:, None])
    for _ in range(3):
        assert_same_call(mandelbrot, compiled, (c,))
    assert facts(compiled)["variants"] and not facts(compiled)["breaks"], facts(compiled)["breaks"]


def test_length_of_python_complex():
    def f(x, k): return x * abs(k), abs(k)
    for compiled in [fusewire.compile(f)]:
        for k in (3 + 4j, 1e308 + 1e308j):
            with np.errstate(all="ignore"):
                assert_same_call(f, compiled, (np.ones(3), k))


def test_length_of_no_axes_is_numpys():
    def f(z): return np.abs(z[0]), abs(z[0]), np.abs(np.asarray(z[1]))
    compiled = fusewire.compile(f, economy=False)
    rng = np.random.default_rng(3)
    for _ in range(200):
        z = rng.standard_normal(2) + 1j * rng.standard_normal(2)
        assert_same_call(f, compiled, (z,))


def test_length_along_negative_strides_is_pythons():
    """NumPy takes one formula or the other, by the strides of all axes."""
    def f(z): return np.abs(z[::-1]) * 2, abs(z.reshape(2, -1)[::-1, ::-1]) + 1, np.abs(z * 3)
    compiled = fusewire.compile(f, economy=False)
    z = np.random.default_rng(3).standard_normal(600).view("c16")
    for _ in range(3):
        assert_same_call(f, compiled, (z,))
    assert {b["line"] for b in facts(compiled)["breaks"]} == {f.__code__.co_firstlineno}


@pytest.mark.parametrize("turned", [np.s_[::-1], np.s_[::-3], np.s_[::2]], ids=str)
def test_length_of_written_memory_that_goes_backwards(turned):
    def scaled(z):
        z *= 1
        return np.abs(z)

    def shifted(z):
        z[1:] = z[:-1] * 2
        return np.abs(z), np.abs(z[1:])
    rng = np.random.default_rng(3)
    for f in (scaled, shifted):
        compiled = fusewire.compile(f, economy=False)
        for _ in range(20):
            assert_same_call(f, compiled, ((rng.standard_normal(40) + 1j * rng.standard_normal(40))[turned],))


@pytest.mark.parametrize("turned", [np.s_[::-1], np.s_[::-3]], ids=str)
def test_order_of_written_memory_that_goes_backwards(turned):
    """What moves or compares does not go by the order of memory: no break in front of it."""
    def ordered(x):
        x *= 2
        return np.sort(x), np.argsort(x, kind="stable"), np.searchsorted(np.sort(x), x)
    compiled = fusewire.compile(ordered, economy=False)
    for size in (0, 1, 2, 40, 300):
        assert_same_call(ordered, compiled, (np.random.default_rng(size).standard_normal(size)[turned],))
    assert not facts(compiled)["breaks"]
