"""In-place updates against NumPy, ratios within one run: python bench/writes.py [size ...]"""

from __future__ import annotations

import sys
import time

import numpy as np

import fusewire


def scale(u, v, w): u *= 1.0000001
def add(u, v, w): u += v
def by_out(u, v, w): np.multiply(u, 1.0000001, out=u)
def step(u, v, w): u += 1e-9 * v
def assign(u, v, w): u[...] = 0.5 * (v + w)
def heat(u, v, w): u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
def jacobi(u, v, w): u[1:-1, 1:-1] = 0.25 * (v[2:, 1:-1] + v[:-2, 1:-1] + v[1:-1, 2:] + v[1:-1, :-2])
def inner(u, v, w): u[1:-1, 1:-1] *= 1.0000001
def mask(u, v, w): u[v > 0.5] = 0.25
def masked_values(u, v, w):
    m = v > 0.5
    u[m] = w[m]
def copy(u, v, w): u[...] = v
def leapfrog(u, v, w):
    v += 1e-9 * w
    u += 1e-9 * v
def own_shift(u, v, w): u[1:] = u[:-1]


def best_of(function, arguments, seconds):
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        function(*arguments)
        times.append(time.perf_counter() - start)
    return min(times)


def main():
    sizes = [int(a) for a in sys.argv[1:]] or [64, 512, 4096]
    print(f"{'f64, n x n: speed of NumPy = 1':34}" + "".join(f"{n:>10}" for n in sizes))
    for function in (scale, add, by_out, step, assign, heat, jacobi, inner, mask, masked_values, copy, leapfrog, own_shift):
        row = []
        for n in sizes:
            rng = np.random.default_rng(1)
            arguments = tuple(rng.random((n, n)) for _ in range(3))
            compiled = fusewire.compile(function)
            compiled(*arguments)
            ratios = []
            for _ in range(3):   # in turns, against drift of the machine
                plain = best_of(function, arguments, 0.05 + n / 8192)
                ratios.append(plain / best_of(compiled, arguments, 0.05 + n / 8192))
            row.append(sorted(ratios)[1])
        print(f"{function.__name__:34}" + "".join(f"{r:10.2f}" for r in row))


if __name__ == "__main__":
    main()
