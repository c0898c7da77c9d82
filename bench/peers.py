"""The compilers that a case is run with. A peer that is not installed, or that fails on a case, shows as '-' or 'fails'."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

import numpy as np


def numpy_plain(function: Callable) -> Callable:
    return function


def fusewire_compiled(function: Callable) -> Callable:
    import fusewire

    return fusewire.compile(function)


def numba_compiled(function: Callable) -> Callable:
    import numba

    return numba.njit(function)


def jax_compiled(function: Callable) -> Callable:
    """JAX computes on its own arrays; the result is converted back, as a NumPy user needs it."""
    import jax

    jax.config.update("jax_enable_x64", True)
    source = function.__globals__
    scope = dict(source, np=jax.numpy)
    moved = type(function)(function.__code__, scope, function.__name__, function.__defaults__)
    jitted = jax.jit(moved)
    return lambda *args: np.asarray(jitted(*args))


def torch_compiled(function: Callable) -> Callable:
    """torch.compile on the NumPy function itself, its own way of compiling NumPy code."""
    import torch

    torch.set_num_threads(1)
    return torch.compile(function)


PEERS: dict[str, tuple[str, Callable]] = {
    "numpy": ("numpy", numpy_plain),
    "fusewire": ("fusewire", fusewire_compiled),
    "numba": ("numba", numba_compiled),
    "jax": ("jax", jax_compiled),
    "torch": ("torch", torch_compiled),
}


def installed() -> dict[str, Callable]:
    return {name: make for name, (module, make) in PEERS.items() if importlib.util.find_spec(module)}
