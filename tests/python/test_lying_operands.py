"""Library functions go by how their operands lie in memory, and BLAS adds in another order along gaps and backwards. Arrays of the caller
that compiled code has written to, and does not keep where they were, are given to them with the strides that they have.
"""

from __future__ import annotations

import numpy as np
import pytest

import fusewire
from compare import assert_same_outcome, run

SIZES = (0, 1, 2, 3, 9, 33, 150, 9000)
VECTORS = {
    "packed": lambda m, n: (m[:n], m[n : 2 * n]), "interleaved": lambda m, n: (m[: 2 * n : 2], m[1 : 2 * n : 2]), "one with gaps": lambda m, n: (m[:n], m[n : 3 * n : 2]), "reversed": lambda m, n: (m[:n], m[n : 2 * n][::-1]),
    "reversed, with gaps": lambda m, n: (m[:n][::-1], m[n : 3 * n : 2][::-1]), "the same": lambda m, n: (m[: 2 * n : 2],) * 2,
}
MATRICES = {
    "c": lambda m, n: m[:n, :n].copy(), "f": lambda m, n: m[:n, :n].copy("F"), "rows with gaps": lambda m, n: m[:n, :n], "gaps": lambda m, n: m[::2, ::2], "every second column": lambda m, n: m[:n, ::2], "rows reversed": lambda m, n: m[:n, :n][::-1],
    "columns reversed": lambda m, n: m[:n, :n][:, ::-1], "reversed": lambda m, n: m[::-2, ::-2], "transposed, with gaps": lambda m, n: m[:n, ::2].T,
    "every second row": lambda m, n: np.repeat(m[:n, :n], 2, axis=0)[::2], "f, a part": lambda m, n: np.asfortranarray(m)[:n, 1 : n + 1], "f, every second column": lambda m, n: np.asfortranarray(m)[:n, ::2],
}


def restored(a, b, turns):
    saved = b.copy()
    total = 0.0
    for i in range(turns):
        total += np.dot(a, b) + a @ a
        b[:] = a[::-1]
        total += np.dot(b, saved)
        b[:] = saved
    return total


def scaled(a, b, turns):
    out = []
    for i in range(turns):
        b *= 1.125
        out.append(np.dot(a, b) + b @ b)
    return np.array(out)


def straight(a, b, turns):
    b += turns
    first = np.dot(a, b) + np.vdot(b, b) + np.inner(b, a)
    b[::2] -= 1
    return first, b @ a, b[::2] @ b[::2], b[::-1] @ a


def iterated(a, x, turns):
    out = np.zeros(turns)
    for i in range(turns):
        a *= 1.0625
        y = a @ x
        out[i] = y.sum() + np.dot(a[0], x) + a[:, -1] @ x
        x[:] = y * 0.9375
    return out


def products(a, x, turns):
    a += 0.5
    x -= 0.25 * turns
    return a @ x, np.dot(a, a), a.T @ x, np.linalg.norm(a), np.dot(a[:, 1], x), np.dot(a[1], x), np.linalg.solve(a, x)


def dots(a, x, turns):
    a *= 0.5
    x += 0.25 * turns
    return a.T.dot(x), a.dot(x), np.dot(x, a), np.inner(a, x), a[:2].dot(x), a[:, :2].T.dot(x), np.dot(a.T, a), np.inner(a, a), np.dot(a.T[1], x)


@pytest.mark.parametrize("vectors", VECTORS)
@pytest.mark.parametrize("function", [restored, scaled, straight])
@pytest.mark.parametrize("turns", [3, 80])
def test_vectors(function, turns, vectors):
    compiled = fusewire.compile(function, economy=False, background=False)
    for n in SIZES[: None if turns == 3 else -1]:
        numbers = np.random.default_rng(n).normal(size=3 * n)
        assert_same_outcome(run(function, (*VECTORS[vectors](numbers.copy(), n), turns)), run(compiled, (*VECTORS[vectors](numbers.copy(), n), turns)))


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("function", [iterated, products, dots])
@pytest.mark.parametrize("turns", [3, 80])
def test_matrices(function, turns, matrix):
    compiled = fusewire.compile(function, economy=False, background=False)
    for n in (2, 3, 9, 33, 150):
        numbers = np.random.default_rng(n).normal(size=(2 * n, 2 * n)) / n
        vector = np.random.default_rng(n).normal(size=2 * n)
        for step in (1, 2):
            plain, ours = ((MATRICES[matrix](numbers.copy(), n), vector.copy()[: step * n : step], turns) for _ in range(2))
            assert_same_outcome(run(function, plain), run(compiled, ours))
