"""Real NumPy programs, unmodified: whatever part is compiled, all that a call lets be seen is as in plain Python.

Those of the package `programs` are decorated as a whole and called with arguments of several kinds in turns. Those of
this file decorate their helper functions, and answer arrays.
"""

import numpy as np
import pytest

import fusewire
import programs
from compare import assert_close_value, assert_same_value
from observe import assert_same_observation, observe

TURNS = 3
BUGS = ("compile-failed", "internal-error")
PARTS = []


def program(tolerance=None):
    """tolerance: relative to the largest value, where transcendental functions are involved; None means bit for bit."""

    def register(function):
        PARTS.append((function, tolerance))
        return function

    return register


def maybe(function, decorate):
    return fusewire.compile(function) if decorate else function


@program()
def jacobi(decorate):
    @lambda f: maybe(f, decorate)
    def step(u):
        new = u.copy()
        new[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
        return new

    u = np.zeros((20, 24))
    u[0] = 1.0
    for _ in range(30):
        u = step(u)
    return u


@program()
def jacobi_residual(decorate):
    @lambda f: maybe(f, decorate)
    def residual(u):
        r = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        return np.sqrt((r * r).sum()), np.abs(r).max()

    return [residual(np.random.default_rng(n).random((n, n + 5))) for n in range(4, 40, 7)]


@program()
def heat_in_place(decorate):
    @lambda f: maybe(f, decorate)
    def step(u, k):
        u[1:-1] += k * (u[2:] - 2 * u[1:-1] + u[:-2])

    u = np.linspace(0, 1, 50) ** 2
    for _ in range(20):
        step(u, 0.2)
    return u


@program(tolerance=1e-13)
def n_body(decorate):
    @lambda f: maybe(f, decorate)
    def accelerations(position, mass):
        offset = position[np.newaxis, :, :] - position[:, np.newaxis, :]
        distance = np.sqrt((offset * offset).sum(axis=2) + 0.01)
        return (offset * (mass[np.newaxis, :, np.newaxis] / (distance * distance * distance)[:, :, np.newaxis])).sum(axis=1)

    @lambda f: maybe(f, decorate)
    def leapfrog(position, velocity, mass, dt):
        velocity = velocity + 0.5 * dt * accelerations(position, mass)
        position = position + dt * velocity
        velocity = velocity + 0.5 * dt * accelerations(position, mass)
        return position, velocity

    rng = np.random.default_rng(3)
    position, velocity, mass = rng.standard_normal((12, 3)), np.zeros((12, 3)), rng.random(12)
    for _ in range(10):
        position, velocity = leapfrog(position, velocity, mass, 0.01)
    return position, velocity


@program()
def mandelbrot(decorate):
    @lambda f: maybe(f, decorate)
    def iterate(zr, zi, cr, ci, count):
        zr2, zi2 = zr * zr, zi * zi
        inside = zr2 + zi2 < 4
        new_zi = np.where(inside, 2 * zr * zi + ci, zi)
        new_zr = np.where(inside, zr2 - zi2 + cr, zr)
        return new_zr, new_zi, count + inside

    cr, ci = np.meshgrid(np.linspace(-2, 1, 60), np.linspace(-1, 1, 40))
    zr, zi, count = np.zeros_like(cr), np.zeros_like(cr), np.zeros(cr.shape, int)
    for _ in range(30):
        zr, zi, count = iterate(zr, zi, cr, ci, count)
    return count


@program()
def sobel(decorate):
    @lambda f: maybe(f, decorate)
    def edges(image):
        gx = (image[:-2, 2:] + 2 * image[1:-1, 2:] + image[2:, 2:]) - (image[:-2, :-2] + 2 * image[1:-1, :-2] + image[2:, :-2])
        gy = (image[2:, :-2] + 2 * image[2:, 1:-1] + image[2:, 2:]) - (image[:-2, :-2] + 2 * image[:-2, 1:-1] + image[:-2, 2:])
        return np.sqrt(gx * gx + gy * gy)

    return edges(np.random.default_rng(0).random((31, 47), dtype=np.float32))


@program()
def k_means(decorate):
    @lambda f: maybe(f, decorate)
    def assign(points, centres):
        difference = points[:, np.newaxis, :] - centres[np.newaxis, :, :]
        return (difference * difference).sum(axis=2).argmin(axis=1)

    rng = np.random.default_rng(1)
    points, centres = rng.standard_normal((200, 2)), rng.standard_normal((4, 2))
    for _ in range(5):
        labels = assign(points, centres)
        centres = np.array([points[labels == k].mean(axis=0) if (labels == k).any() else centres[k] for k in range(4)])
    return labels, centres


@program(tolerance=1e-13)
def black_scholes(decorate):
    @lambda f: maybe(f, decorate)
    def price(spot, strike, years, rate=0.02, volatility=0.3):
        d1 = (np.log(spot / strike) + (rate + volatility**2 / 2) * years) / (volatility * np.sqrt(years))
        d2 = d1 - volatility * np.sqrt(years)

        def phi(x):
            t = 1 / (1 + 0.2316419 * np.abs(x))
            tail = np.exp(-x * x / 2) * t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
            return np.where(x > 0, 1 - 0.3989422804014327 * tail, 0.3989422804014327 * tail)

        return spot * phi(d1) - strike * np.exp(-rate * years) * phi(d2)

    rng = np.random.default_rng(2)
    return price(rng.uniform(50, 150, 1000), rng.uniform(50, 150, 1000), rng.uniform(0.1, 3, 1000))


@program()
def lu(decorate):
    @lambda f: maybe(f, decorate)
    def eliminate(a):
        a = a.copy()
        for k in range(a.shape[0] - 1):
            a[k + 1:, k] /= a[k, k]
            a[k + 1:, k + 1:] -= a[k + 1:, k:k + 1] * a[k:k + 1, k + 1:]
        return a

    return eliminate(np.random.default_rng(5).random((12, 12)) + 12 * np.eye(12))


@program()
def life(decorate):
    @lambda f: maybe(f, decorate)
    def step(board):
        neighbours = sum(np.roll(np.roll(board, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
        return ((neighbours == 3) | ((board == 1) & (neighbours == 2))).astype(np.uint8)

    board = (np.random.default_rng(4).random((20, 20)) < 0.4).astype(np.uint8)
    for _ in range(8):
        board = step(board)
    return board


@program()
def statistics(decorate):
    @lambda f: maybe(f, decorate)
    def describe(x):
        centred = x - x.mean(axis=0)
        return {"mean": x.mean(axis=0), "std": x.std(axis=0, ddof=1), "range": np.ptp(x, axis=0),
                "second": (centred**2).mean(), "positive": np.count_nonzero(x > 0), "best": x.argmax(axis=1)}

    return describe(np.random.default_rng(6).standard_normal((100, 7)))


@program(tolerance=1e-13)
def neural_layer(decorate):
    class Layer:
        def __init__(self, n, m):
            rng = np.random.default_rng(n)
            self.weight, self.bias = rng.standard_normal((n, m)), rng.standard_normal(m)

        def activate(self, x):
            return np.tanh(x + self.bias)

    Layer.activate = maybe(Layer.activate, decorate)
    return Layer(4, 5).activate(np.linspace(-1, 1, 15).reshape(3, 5))


@program(tolerance=1e-13)
def orbit(decorate):
    @lambda f: maybe(f, decorate)
    def force(state):
        x, y = state[0], state[1]
        r3 = np.sqrt(x * x + y * y) ** 3
        return np.array([state[2], state[3], -x / r3, -y / r3])

    @lambda f: maybe(f, decorate)
    def rk4(state, dt):
        k1 = force(state)
        k2 = force(state + dt / 2 * k1)
        k3 = force(state + dt / 2 * k2)
        k4 = force(state + dt * k3)
        return state + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    state = np.array([1.0, 0.0, 0.0, 1.0])
    for _ in range(3):
        state = rk4(state, 0.01)
    return state


@program()
def moving_average(decorate):
    @lambda f: maybe(f, decorate)
    def smooth(x, width):
        total = x[: len(x) - width + 1]
        for i in range(1, width):
            total = total + x[i : len(x) - width + 1 + i]
        return total / width

    x = np.random.default_rng(7).random(40)
    return [smooth(x, w) for w in (1, 3, 5)]


@program()
def histogram_equalise(decorate):
    @lambda f: maybe(f, decorate)
    def equalise(image):
        counts = np.bincount(image.ravel(), minlength=256)
        cumulative = np.cumsum(counts)
        table = (cumulative - cumulative.min()) * 255 // (cumulative.max() - cumulative.min())
        return table[image].astype(np.uint8)

    return equalise(np.random.default_rng(8).integers(0, 200, (16, 16)).astype(np.uint8))


@pytest.mark.parametrize("function, tolerance", PARTS, ids=[p[0].__name__ for p in PARTS])
def test_decorated_parts(function, tolerance):
    if tolerance is None:
        assert_same_value(function(False), function(True), None)
    else:
        assert_close_value(function(False), function(True), tolerance)


def count_variants(compiled) -> int:
    facts = fusewire._fusewire.describe(compiled)
    return sum(len(part["variants"]) for part in [facts, *facts.get("regions", ())])


@pytest.mark.parametrize("program", programs.PROGRAMS, ids=lambda p: p.function.__name__)
def test_program(program):
    compiled = fusewire.compile(program.function)
    for turn in range(TURNS):
        for number, arguments in enumerate(program.sets):
            calls = []
            for function in (program.function, compiled):
                programs.reseed(turn, number)
                calls.append(observe(function, arguments()))
            try:
                assert_same_observation(*calls, relative=program.tolerance)
            except AssertionError as error:
                raise AssertionError(f"argument set {number}, turn {turn}: {error}") from None
    breaks = fusewire._fusewire.describe(compiled)["breaks"]
    assert not [b for b in breaks if b["reason"] in BUGS]
    assert count_variants(compiled) <= program.variants


def test_programs_compile_once():
    """After some turns, in which it shows which values change and which calls raise, others of the same kinds add nothing."""
    names = ("convolve2d", "heat2d_inplace", "block_mean_pool")
    quick = [p for p in programs.PROGRAMS if p.function.__name__ in names]
    assert len(quick) == len(names)
    for program in quick:
        compiled, counts = fusewire.compile(program.function), []
        for turn in range(8):
            for number, arguments in enumerate(program.sets):
                programs.reseed(turn, number)
                observe(compiled, arguments())
            counts.append(count_variants(compiled))
        assert counts[6:] == counts[5:6] * 2 and counts[5] <= 12, program.function.__name__
