"""How these programs are written: plain NumPy under `@program`, which names the arguments to try them with.

Each argument set is a function, called anew for every run: arrays that it draws are the same in the plain and the
compiled run, and others in the next turn, so that values, unlike kinds, never repeat.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

PROGRAMS: list[Program] = []
_state = {"rng": np.random.default_rng(0)}


@dataclasses.dataclass(frozen=True)
class Program:
    function: Callable
    sets: tuple[Callable[[], tuple], ...]
    variants: int              # that its regions may have altogether, when every set has been tried several times
    tolerance: float | None    # relative to the largest element, where transcendental functions are involved


def program(*sets, variants, tolerance=None):
    def register(function):
        assert all(function.__name__ != p.function.__name__ for p in PROGRAMS), function.__name__
        PROGRAMS.append(Program(function, sets, variants, tolerance))
        return function

    return register


def reseed(*seed: int) -> None:
    _state["rng"] = np.random.default_rng(seed)


def uniform(*shape):
    return _state["rng"].random(shape)


def single(*shape):
    return uniform(*shape).astype(np.float32)


def normal(*shape):
    return _state["rng"].standard_normal(shape)


def whole(low, high, *shape):
    return _state["rng"].integers(low, high, shape)


def strided(*shape):
    """Not contiguous along any axis."""
    return uniform(*(2 * n for n in shape))[tuple(slice(None, None, 2) for _ in shape)]


def frozen(array):
    array.flags.writeable = False
    return array


class Subclass(np.ndarray):
    pass


def subclassed(array):
    return array.view(Subclass)
