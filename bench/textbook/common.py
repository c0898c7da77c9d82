"""Arguments for the programs of this room."""

import numpy as np

RNG = np.random.default_rng(1)


def r(*shape):
    return RNG.random(shape)


def ints(most, *shape):
    return RNG.integers(0, most, shape)


def spd(n):
    """A symmetric matrix whose eigenvalues are positive."""
    a = r(n, n)
    return a @ a.T + n * np.eye(n)


def dominant(n):
    """A matrix whose diagonal outweighs its rows."""
    return r(n, n) + n * np.eye(n)
