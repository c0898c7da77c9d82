"""Benchmark programs: each is one NumPy function and its arguments; peers that need their own form get it in peers.py."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np


@dataclasses.dataclass
class Case:
    name: str
    function: Callable
    make: Callable[[int], tuple]    # size -> arguments
    sizes: tuple[int, ...]
    numexpr: str | None = None      # the same as an expression over the argument names, where numexpr can say it


def _f32(*shape):
    return np.random.default_rng(1).standard_normal(shape, dtype=np.float32)


def _f64(*shape):
    return np.random.default_rng(1).standard_normal(shape)


def add(a, b):
    return a + b


def chain(x, y):
    t = x * y + 0.5
    t = np.tanh(t) * x - y
    return t * t + 0.25 * x


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layer_norm(x, gain, bias):
    centred = x - x.mean(axis=1, keepdims=True)
    variance = (centred * centred).mean(axis=1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5) * gain + bias


def polynomial(x, a, b):
    return a * x * x + b * x + 1.5


def black_scholes(spot, strike, t):
    rate, volatility = 0.02, 0.3
    root = volatility * np.sqrt(t)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility * volatility) * t) / root
    d2 = d1 - root
    # Cumulative normal distribution by a logistic approximation.
    n1 = 1 / (1 + np.exp(-1.5976 * d1 - 0.070565992 * d1 * d1 * d1))
    n2 = 1 / (1 + np.exp(-1.5976 * d2 - 0.070565992 * d2 * d2 * d2))
    return spot * n1 - strike * np.exp(-rate * t) * n2


def sum_all(x):
    return x.sum()


def sum_rows(x):
    return x.sum(axis=1)


def sum_columns(x):
    return x.sum(axis=0)


def mean_rows(x):
    return x.mean(axis=1)


def mean_columns(x):
    return x.mean(axis=0)


_square = (512, 4096)
_D1 = "((log(spot / strike) + 0.065 * t) / (0.3 * sqrt(t)))"
_D2 = f"({_D1} - 0.3 * sqrt(t))"
_BLACK_SCHOLES = (f"spot / (1 + exp(-1.5976 * {_D1} - 0.070565992 * {_D1} * {_D1} * {_D1})) - "
                  f"strike * exp(-0.02 * t) / (1 + exp(-1.5976 * {_D2} - 0.070565992 * {_D2} * {_D2} * {_D2}))")

CASES = [
    Case("add, 8 elements", add, lambda n: (_f32(n), _f32(n)), (8,), "a + b"),
    Case("chain with tanh, f32", chain, lambda n: (_f32(n, n), _f32(n, n)), _square,
         "(tanh(x * y + 0.5) * x - y) * (tanh(x * y + 0.5) * x - y) + 0.25 * x"),
    Case("softmax over rows, f32", softmax, lambda n: (_f32(n, n),), _square),
    Case("layer norm, f32", layer_norm, lambda n: (_f32(n, n), _f32(n), _f32(n)), _square),
    Case("polynomial, broadcast, f32", polynomial, lambda n: (_f32(n, n), _f32(n), _f32(n, 1)), _square,
         "a * x * x + b * x + 1.5"),
    Case("sum, all, f32", sum_all, lambda n: (_f32(n, n),), _square),
    Case("sum, axis 1, f32", sum_rows, lambda n: (_f32(n, n),), _square),
    Case("sum, axis 0, f32", sum_columns, lambda n: (_f32(n, n),), _square),
    Case("mean, axis 1, f32", mean_rows, lambda n: (_f32(n, n),), _square),
    Case("mean, axis 0, f32", mean_columns, lambda n: (_f32(n, n),), _square),
    Case("Black-Scholes, f64", black_scholes,
         lambda n: (np.abs(_f64(n, n)) * 40 + 60, np.abs(_f64(n, n)) * 40 + 60, np.abs(_f64(n, n)) + 0.1), (512, 2048),
         _BLACK_SCHOLES),
]
