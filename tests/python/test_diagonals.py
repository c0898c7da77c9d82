"""np.diag, np.diagonal and ndarray.diagonal: views that cannot be written, of matrices of every layout; and what is computed with them."""
import numpy as np
import pytest

import fusewire
from compare import assert_same_call


def main(a): return np.diag(a)
def above(a): return np.diag(a, 1), np.diag(a, k=2) * 2
def below(a): return np.diagonal(a, -1), a.diagonal(offset=-2).sum()
def axes(a): return np.diagonal(a, 1, 1, 0), a.diagonal(0, 1, 0)
def far(a): return np.diag(a, 90), np.diagonal(a, -90)
def of_a_view(a): return np.diag(a[1:, ::2]), np.diag(a.T), np.diag(a[::-1, ::-1]), np.diag(a * 2)
def part_of_it(a): return np.diag(a)[1:3], np.diag(a)[::-1], np.diag(a).copy()
def sums(a): return np.trace(a), np.diag(a).sum(), np.sqrt(np.abs(np.diag(a))).max()
def back(a): return np.diag(np.diag(a)), np.diag(a[0], 1), np.diag(a[:, 0], k=-2)


def sees_writes(a):
    d = np.diag(a)
    a[1] = 5.0
    e = d * 1
    a[:, 0] += 1
    return d, e


def cannot_be_written(a):
    d = np.diag(a)
    d[0] = 1
    return d


def jacobi(a):
    d = np.diag(a)
    r = a - np.diag(d)
    x = np.zeros(len(a))
    for _ in range(70):
        x = (1.0 - r @ x) / d
    return x


PROGRAMS = [main, above, below, axes, far, of_a_view, part_of_it, sums, back, sees_writes, cannot_be_written]


def matrices():
    r = np.random.default_rng(2)
    for shape in ((6, 6), (4, 7), (7, 4), (6, 6), (1, 1), (5, 3)):
        yield r.random(shape)
    yield r.random((6, 8)).T
    yield r.random((12, 12))[::2, ::2]
    yield r.random((6, 6)).astype(np.float32)
    yield r.integers(0, 9, (5, 5))
    yield r.random((6, 6))[:, ::-1]
    yield r.random((6, 6))[::-1, ::-1]
    yield np.broadcast_to(r.random(6), (6, 6))
    yield np.zeros((0, 0))
    yield np.zeros((3, 0))


@pytest.mark.parametrize("function", PROGRAMS)
def test_program(function):
    compiled = fusewire.compile(function)
    for a in matrices():
        assert_same_call(function, compiled, (a,))


@pytest.mark.parametrize("function", [f for f in PROGRAMS if f is not cannot_be_written] + [jacobi])
def test_one_region(function):
    compiled = fusewire.compile(function, fullgraph=True)
    a = np.random.default_rng(1).random((6, 6)) + 9 * np.eye(6)
    for _ in range(3):
        assert_same_call(function, compiled, (a,))


def test_correlation():
    def correlation(x):
        c = np.cov(x)
        d = np.sqrt(np.diag(c))
        return c / np.outer(d, d)

    compiled = fusewire.compile(correlation, fullgraph=True)
    for shape in ((5, 100), (2, 30), (20, 21)):
        assert_same_call(correlation, compiled, (np.random.default_rng(3).random(shape),))


def test_the_views_are_of_the_array():
    def function(a):
        return np.diag(a), a.diagonal(1)

    compiled = fusewire.compile(function)
    a = np.arange(16.0).reshape(4, 4).copy()
    for _ in range(3):
        for d in compiled(a):
            assert d.base is a and not d.flags.writeable
