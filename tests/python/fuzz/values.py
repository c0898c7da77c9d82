"""Makers of arguments for programs: always the same values for the same words."""

from __future__ import annotations

import math

import numpy as np
from numpy.lib.stride_tricks import as_strided

from corpus_case import numbers

__all__ = ["numbers", "ramp", "edge", "window", "frozen", "Sub"]

# What a value of each kind may run into: limits, zeros of both signs, NaN, infinities, subnormals, ties of rounding.
_FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -1.5, 2.5, 3.0, -7.0, 0.1, math.inf, -math.inf, math.nan]
_PARTS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.0, math.inf, math.nan]


class Sub(np.ndarray):
    """A subclass: left to Python."""


def ramp(count: int, dtype: str = "f8") -> np.ndarray:
    """Small different numbers in no order, for memory that views overlap in."""
    return ((np.arange(1, count + 1) * 7) % 31 - (0 if np.dtype(dtype).kind in "ub" else 9)).astype(dtype)


def edges(dtype: np.dtype) -> list:
    if dtype.kind == "b":
        return [False, True]
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return [0, 1, 2, 3, 7, info.max, info.min, info.max - 1, info.min // 2, info.max // 3] + ([-1, -2, -5] if dtype.kind == "i" else [])
    if dtype.kind == "c":
        return [complex(a, b) for a in _PARTS for b in _PARTS[:5]]
    info = np.finfo(dtype)
    return _FLOATS + [float(info.max), float(info.tiny), -float(info.smallest_subnormal), float(info.eps)]


def edge(shape, dtype: str, seed: int = 0) -> np.ndarray:
    """Edge values of the type, mixed with small ones."""
    d = np.dtype(dtype)
    rng = np.random.default_rng([seed, 5])
    every = edges(d)
    size = math.prod(np.atleast_1d(shape).tolist()) if shape != () else 1
    picked = [every[i] if rare else every[i % min(len(every), 5)] for i, rare in zip(rng.integers(0, len(every), size), rng.random(size) < 0.5)]
    out = np.empty(size, d)
    for i, value in enumerate(picked):
        out[i] = value
    return out.reshape(shape)


def window(memory: np.ndarray, start: int, shape: tuple, steps: tuple) -> np.ndarray:
    """Any affine map of flat memory, overlapping itself where steps say so; steps count elements. Nothing outside of it."""
    size = memory.itemsize
    ends = [start + sum(pick(0, (n - 1) * step) for n, step in zip(shape, steps)) for pick in (min, max)]
    if 0 not in shape and not 0 <= ends[0] <= ends[1] < memory.size:
        raise ValueError("the window leaves its memory")
    return as_strided(memory[start:], shape, tuple(s * size for s in steps))


def frozen(x: np.ndarray) -> np.ndarray:
    """A view that cannot be written."""
    view = x[...]
    view.flags.writeable = False
    return view
