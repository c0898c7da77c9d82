"""The compilers that a case is run with. A peer that is not installed, or that fails on a case, shows as '-' or 'fails'."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

import numpy as np

from cases import Case


def numpy_plain(case: Case) -> Callable:
    return case.function


def fusewire_compiled(case: Case) -> Callable:
    import fusewire

    return fusewire.compile(case.function)


def numba_compiled(case: Case) -> Callable:
    import numba

    return numba.njit(case.function)


def jax_compiled(case: Case) -> Callable:
    """JAX computes on its own arrays; the result is converted back, as a NumPy user needs it."""
    import jax

    jax.config.update("jax_enable_x64", True)
    function = case.function
    scope = dict(function.__globals__, np=jax.numpy)
    moved = type(function)(function.__code__, scope, function.__name__, function.__defaults__)
    jitted = jax.jit(moved)
    return lambda *args: np.asarray(jitted(*args))


def torch_compiled(case: Case) -> Callable:
    """torch.compile on the NumPy function itself, its own way of compiling NumPy code."""
    import torch

    torch.set_num_threads(1)
    return torch.compile(case.function)


def numexpr_compiled(case: Case) -> Callable:
    """numexpr takes text, so the expression was written by hand; it is parsed once."""
    import numexpr

    numexpr.set_num_threads(1)
    if case.numexpr is None:
        raise NotImplementedError("no numexpr form")
    names = case.function.__code__.co_varnames[: case.function.__code__.co_argcount]
    return lambda *args: numexpr.evaluate(case.numexpr, dict(zip(names, args)))


PEERS: dict[str, tuple[str, Callable]] = {
    "numpy": ("numpy", numpy_plain),
    "fusewire": ("fusewire", fusewire_compiled),
    "numba": ("numba", numba_compiled),
    "jax": ("jax", jax_compiled),
    "numexpr": ("numexpr", numexpr_compiled),
    "torch": ("torch", torch_compiled),
}


def installed() -> dict[str, Callable]:
    return {name: make for name, (module, make) in PEERS.items() if importlib.util.find_spec(module)}
