"""Generators that the loops of a program walk: neighbours, pairs, windows, orbits, events."""

from collections import deque

import numpy as np

from .common import RNG, r
from .worklists import grid


def neighbours(g, y, x):
    h, w = g.shape
    if y > 0 and g[y - 1, x] == 0:
        yield y - 1, x
    if y < h - 1 and g[y + 1, x] == 0:
        yield y + 1, x
    if x > 0 and g[y, x - 1] == 0:
        yield y, x - 1
    if x < w - 1 and g[y, x + 1] == 0:
        yield y, x + 1


def distances(g, start):
    far = np.full(g.shape, -1)
    far[start] = 0
    ready = deque([start])
    while ready:
        y, x = ready.popleft()
        for p, q in neighbours(g, y, x):
            if far[p, q] < 0:
                far[p, q] = far[y, x] + 1
                ready.append((p, q))
    return far


def close_pairs(x, cut):
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            d = x[j] - x[i]
            if abs(d) < cut:
                yield i, j, d


def forces(x, cut):
    f = np.zeros(len(x))
    for i, j, d in close_pairs(x, cut):
        f[i] += d
        f[j] -= d
    return f


def squares(x, cut):
    for _, _, d in close_pairs(x, cut):
        yield d * d


def energy(x, cut):
    return sum(squares(x, cut)), max(squares(x, cut), default=0.0)


def pair_list(x, cut):
    return np.array([(i, j) for i, j, _ in close_pairs(x, cut)])


def logistic(x, k):
    while True:
        x = k * x * (1 - x)
        yield x


def orbit(x, k, n):
    out = np.zeros(n)
    for i, v in enumerate(logistic(x, k)):
        if i >= n:
            break
        out[i] = v
    return out


def windows(x, w):
    for i in range(len(x) - w + 1):
        yield x[i : i + w]


def spread(x, w):
    out = np.zeros(max(len(x) - w + 1, 0))
    k = 0
    for v in windows(x, w):
        out[k] = v.max() - v.min()
        k += 1
    return out


def rises(x, step):
    last = x[0]
    for i, v in enumerate(x):
        if v - last > step:
            yield i, v - last
        last = v


def events(x, step):
    return list(rises(x, step))


PROGRAMS = {
    "distances": (distances, lambda n: (grid(n, n + 3), (0, 0)), 60),
    "forces_of_pairs": (forces, lambda n: (RNG.random(n) * 10, 0.3), 120),
    "energy_of_pairs": (energy, lambda n: (RNG.random(n) * 10, 0.3), 120),
    "pair_list": (pair_list, lambda n: (RNG.random(n) * 10, 0.3), 120),
    "orbit": (orbit, lambda n: (0.3, 3.7, n), 3000),
    "spread_of_windows": (spread, lambda n: (r(n), 8), 1000),
    "rises": (events, lambda n: (r(n), 0.5), 3000),
}
