"""How the corpus over the Python language is written: functions under `@case`, arguments by the names of parameters.

Each parameter name has a pool of makers of arguments; the i-th argument set of a case takes the i-th of every pool, so
that consecutive sets differ in dtype, rank, kind of scalar and branch taken. Some are wrong on purpose: then both sides
have to raise the same. `@case(name=[...])` replaces pools by values or makers (anything callable is called).
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable

import numpy as np

SETS = 8


def numbers(shape, dtype="f8", seed=0):
    """Reproducible values around zero, without 0 and with few digits, so that sums and products stay exact."""
    return _numbers(shape, dtype, seed).copy()


@functools.lru_cache(maxsize=1000)
def _numbers(shape, dtype, seed):
    rng = np.random.default_rng([seed, *np.atleast_1d(shape)])
    whole = rng.integers(1, 9, shape) * rng.choice([-1, 1], shape)
    d = np.dtype(dtype)
    if d.kind == "b":
        return whole > 0
    if d.kind == "u":
        return np.abs(whole).astype(d)
    return np.asarray(whole if d.kind == "i" else whole / 2 if d.kind == "f" else whole / 2 + 1j).astype(d)


def arrays(seed, *specs):
    return [lambda shape=shape, dtype=dtype: numbers(shape, dtype, seed) for shape, dtype in specs]


POOLS: dict[str, list] = {
    "x": arrays(0, (6, "f8"), (6, "f4"), (6, "i8"), ((2, 3), "f8"), (9, "f8"), ((3, 2), "i4"), (6, "c16"), (1, "f8")),
    "y": arrays(1, (6, "f8"), (6, "f4"), (6, "f8"), ((2, 3), "f8"), (9, "i8"), ((3, 1), "f8"), (6, "f8"), (3, "f8")),
    "z": arrays(2, (6, "f8"), (1, "f8"), (6, "i8"), (3, "f4"), (9, "f8"), ((3, 2), "f8"), (6, "f8"), (3, "i8")),
    "v": arrays(3, (6, "f8"), (6, "f8"), (6, "i8"), (9, "f8"), (6, "f4"), (4, "f8"), (2, "f8"), (6, "f8")),
    "m": arrays(4, ((3, 3), "f8"), ((3, 3), "f4"), ((2, 3), "f8"), ((3, 3), "i8"), ((4, 2), "f8"), ((1, 3), "f8"), ((3, 3), "f8"), (3, "f8")),
    "k": [2, 2.5, -3, 2.5, None, True, 0.5, 2**70],
    "j": [1, 2, 1.5, -1, 3, 0.25, "j", 2],
    "n": [3, 0, 1, 5, 2, 4, 7, 3],
    "flag": [True, False, None, True, 1, "", [], False],
    "text": ["abc", "", "x", "hello", "abc", "a,b", "é", "abc"],
    "items": [lambda: [1, 2, 3], lambda: [1.5, 2.5], lambda: [], lambda: [3, 1.0, 2], lambda: [True, 2],
              lambda: (4, 5, 6), lambda: ["a", 1], lambda: [1, 2, 3]],
    "xs": [lambda: [numbers(3), numbers(3, seed=7)], lambda: [numbers(3, "f4")], list, lambda: (numbers(2), numbers(2, "i8"), 2.0),
           lambda: [numbers(3), numbers(4)], lambda: [numbers((2, 2))] * 2, lambda: [1, 2.5, numbers(2)], lambda: [numbers(3), None]],
    "d": [lambda: {"a": 1, "b": 2.5}, lambda: {"a": numbers(3), "b": 2}, dict, lambda: {"b": 1, "a": numbers(3, "f4")},
          lambda: {"a": 1}, lambda: {"a": 2, "b": 3, "c": 4}, lambda: {"a": None, "b": "t"}, lambda: {"a": 1, "b": 2.5}],
    "log": [list] * SETS,
}


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    group: str
    make: Callable[[], Callable]      # a fresh function: closures of two runs share nothing
    sets: list[Callable[[], tuple]]   # each makes the same arguments, fresh
    ulp: int | None
    reset: Callable[[], None]         # puts what the function can change outside its arguments back
    watch: Callable[[], object]       # and shows it


class Corpus:
    """The cases of one file: `case` is its decorator, `group` starts a heading."""

    def __init__(self, reset=lambda: None, watch=lambda: None):
        self.cases: list[Case] = []
        self.reset, self.watch, self.heading = reset, watch, ""

    def group(self, heading: str) -> None:
        self.heading = heading

    def case(self, function=None, /, *, factory=False, ulp=None, sets=SETS, **pools):
        if function is None:
            return lambda f: self.case(f, factory=factory, ulp=ulp, sets=sets, **pools)
        wanted = inspect.signature(function() if factory else function).parameters.values()
        names = [p.name for p in wanted if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty]
        assert set(pools) <= set(names), (function, pools)
        columns = [pools.get(name) or POOLS[name] for name in names]
        count = min([sets, *(len(c) for c in columns)]) if columns else 1
        make = lambda i: lambda: tuple(c[i]() if callable(c[i]) else c[i] for c in columns)
        assert all(c.name != function.__name__ for c in self.cases), function.__name__
        self.cases.append(Case(function.__name__, self.heading, function if factory else lambda: function,
                               [make(i) for i in range(count)], ulp, self.reset, self.watch))
        return function
