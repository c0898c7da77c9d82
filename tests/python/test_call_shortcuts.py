"""Calls that compiled code makes by itself: numbers drawn in loops, and products of vectors. What they answer, what they report and how
the generators stand is as it would be without.
"""

from __future__ import annotations

import copy
import signal
import threading

import numpy as np
import pytest

import fusewire
from compare import assert_same_outcome, run

DRAWS = {
    "random": lambda rng: rng.random(), "standard_normal": lambda rng: rng.standard_normal(), "normal": lambda rng: rng.normal(1.5, 2.0), "uniform": lambda rng: rng.uniform(-1.0, 3.0), "exponential": lambda rng: rng.exponential(0.5),
    "integers": lambda rng: rng.integers(3, 17), "integers below": lambda rng: rng.integers(10), "poisson": lambda rng: rng.poisson(3.5), "lognormal": lambda rng: rng.lognormal(0.1, 0.2), "large": lambda rng: rng.normal(0.0, 1e308), "tiny": lambda rng: rng.uniform(0.0, 1e-310),
    "in vain": lambda rng: rng.random() * 0 + rng.integers(1), "nothing kept": lambda rng: [rng.random(), 1.0][1],
}
SOURCES = {"pcg": lambda: np.random.default_rng(3), "mt": lambda: np.random.Generator(np.random.MT19937(4)), "philox": lambda: np.random.Generator(np.random.Philox(5)), "sfc": lambda: np.random.Generator(np.random.SFC64(6))}


def same_streams(function, compiled, make, *arguments):
    one, other = make(), make()
    outcomes = [run(lambda *rest: call(rng, *rest), copy.deepcopy(arguments)) for call, rng in ((function, one), (compiled, other))]
    assert_same_outcome(*outcomes)
    assert one.random() == other.random()


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("source", SOURCES)
def test_draws_in_loops(name, source):
    draw = DRAWS[name]

    def walk(rng, n):
        total, last = 0.0, 0
        for i in range(n):
            last = draw(rng)
            if last > 1:
                total = total * 0.5 + last
            else:
                total += draw(rng)
        return total, last

    compiled = fusewire.compile(walk)
    for n in (0, 1, 2, 3000, 3000, 40):
        same_streams(walk, compiled, SOURCES[source], n)


def test_they_are_put_back():
    def walk(rng, x, n):
        for i in range(n):
            x[i] = x[i - 1] * rng.random() + rng.integers(5)
        return x

    compiled = fusewire.compile(walk)
    for n in (10, 10, 20, 21, 300):
        same_streams(walk, compiled, SOURCES["pcg"], np.zeros(20), n)


def test_several_generators():
    def walk(one, other, n):
        s = 0.0
        for i in range(n):
            s += one.random() - other.random()
            if i % 7 == 0:
                s *= other.normal()
        return s

    compiled = fusewire.compile(walk)
    for n in (5, 2000, 2000):
        one, other = np.random.default_rng(1), np.random.default_rng(2)
        expected = walk(one, other, n)
        again, others = np.random.default_rng(1), np.random.default_rng(2)
        assert compiled(again, others, n) == expected
        assert (one.random(), other.random()) == (again.random(), others.random())
        one, again = np.random.default_rng(1), np.random.default_rng(1)
        assert walk(one, one, n) == compiled(again, again, n)
        assert one.random() == again.random()


def test_arrays_between_numbers():
    def walk(rng, n):
        s = 0.0
        for i in range(n):
            s += rng.random() + rng.random(3).sum() + rng.random()
        return s

    compiled = fusewire.compile(walk)
    for n in (3, 50, 50):
        same_streams(walk, compiled, SOURCES["pcg"], n)


def test_conditions_of_the_program_are_told_besides():
    def walk(rng, x, n):
        s = 0.0
        for i in range(n):
            s += rng.normal(0.0, 1e-320) + x[i] * x[i]
        return s

    compiled = fusewire.compile(walk)
    for x in (np.ones(9), np.full(9, 1e200), np.full(9, 1e-200), np.full(9, np.nan)):
        for how in ("warn", "raise", "ignore"):
            with np.errstate(all=how):
                same_streams(walk, compiled, SOURCES["pcg"], x, 9)


def test_a_handler_draws_from_the_same_generator():
    rng = np.random.default_rng(0)

    def walk(rng, n):
        s = 0.0
        for i in range(n):
            s += rng.random()
        return s

    compiled = fusewire.compile(walk)
    compiled(rng, 100)
    drawn = []
    before = signal.signal(signal.SIGALRM, lambda *_: drawn.append(rng.random()))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
        for _ in range(30):
            compiled(rng, 200_000)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert drawn
    plain = np.random.default_rng(0)
    stream = plain.random(100 + 30 * 200_000 + len(drawn))
    assert set(drawn) <= set(stream.tolist()) and rng.random() == plain.random()


def test_other_threads_draw_from_the_same_generator():
    def walk(rng, n):
        s = 0
        for i in range(n):
            s += rng.random() < 2.0
        return s

    rng = np.random.default_rng(0)
    compiled = fusewire.compile(walk)
    compiled(rng, 10)
    counts = []
    threads = [threading.Thread(target=lambda: counts.append(compiled(rng, 20_000))) for _ in range(4)]
    for thread in threads:
        thread.start()
    counts.append(compiled(rng, 20_000))
    for thread in threads:
        thread.join()
    plain = np.random.default_rng(0)
    plain.random(10 + 5 * 20_000)
    assert counts == [20_000] * 5 and rng.random() == plain.random()


PRODUCTS = {"dot": lambda a, b: np.dot(a, b), "method": lambda a, b: a.dot(b), "matmul": lambda a, b: a @ b, "vdot": lambda a, b: np.vdot(a, b), "inner": lambda a, b: np.inner(a, b)}


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "i8"])
def test_products_of_vectors(name, dtype):
    product = PRODUCTS[name]

    def rows(a, b):
        out = []
        total = a[0, 0] * 0
        for i in range(a.shape[0]):
            total = total + product(a[i], b)
            out.append(product(a[i, i:], b[i:]))
        return total, out

    layouts = [lambda a, b: (a, b), lambda a, b: (a.T, b), lambda a, b: (a[:, ::-1], b), lambda a, b: (a, b[::-1]), lambda a, b: (np.repeat(a, 2, axis=1)[:, ::2], b), lambda a, b: (a, a[0]), lambda a, b: (np.asfortranarray(a), a[:, 0])]
    rng = np.random.default_rng(1)
    for layout in layouts:
        compiled = fusewire.compile(rows)
        for n in (1, 2, 3, 9, 40, 130):
            arguments = layout((rng.standard_normal((n, n)) * 9).astype(dtype), (rng.standard_normal(n) * 9).astype(dtype))
            assert_same_outcome(run(rows, arguments), run(compiled, arguments))


@pytest.mark.parametrize("how", ["warn", "raise", "ignore"])
@pytest.mark.parametrize("value", [1e300, np.inf, np.nan, 1e-200])
def test_conditions_of_products(how, value):
    def rows(a, b, out):
        for i in range(a.shape[0]):
            out[i] = a[i] @ b + np.dot(a[i], a[i])
        return out.sum()

    def quiet(a, b, out):
        with np.errstate(all="ignore"):
            for i in range(a.shape[0]):
                out[i] = a[i] @ b
        return out[0] * 2

    for function in (rows, quiet):
        compiled = fusewire.compile(function)
        a = np.random.default_rng(1).standard_normal((6, 5))
        with np.errstate(all=how):
            for k in range(6):
                given = a.copy()
                if k > 2:
                    given[4] = value
                    given[5, 2] = -value
                calls = [(given, given[3] + 1, np.zeros(6)) for _ in range(2)]
                assert_same_outcome(run(function, calls[0]), run(compiled, calls[1]))


def test_sizes_that_do_not_fit():
    def products(a, b):
        s = 0.0
        for i in range(3):
            s += a[i:] @ b
        return s

    compiled = fusewire.compile(products)
    for n in (4, 4, 7):
        assert_same_outcome(run(products, (np.ones(n), np.ones(n))), run(compiled, (np.ones(n), np.ones(n))))
