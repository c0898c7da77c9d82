"""How long calls take as programs grow: constructs at 10, 100, ... elements, arguments, operations, keys, frames.

A construct is a function of n that makes a fresh function and fresh arguments for it::

    @construct("elements")
    def zip_of_pairs(n):
        def f(pairs): ...
        return f, ([(i, i) for i in range(n)],)

It is measured in a process of its own (``scaling.py <module> --measure <name>``), so that a hang is a failure of its own and
constructs spend no budget of each other: per size the time of the plain function, and of the first CALLS calls of the
compiled one, with equal results. ``problems()`` then judges the table:

- no call takes more than ALLOWANCE plus FACTOR times plain. Constructs with ``gains=True`` may compile for longer at first:
  there the first call is held to the curve alone;
- the curve is a straight line: ten times the size takes at most BEND times as long, beyond ALLOWANCE.

Times are those of the thread. Noise only adds to them: what fails is measured again, and the least of each cell counts. ``python scaling.py <module> [<name> ...]``
prints the tables.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

FULL = os.environ.get("FUSEWIRE_SCALING") == "full"
SIZES = (10, 100, 1_000, 10_000, 100_000)
CALLS = 4  # the second and third are captured anew where the first has found out something
ALLOWANCE, FACTOR = 0.050, 3.0  # seconds; times the plain call
BEND = 30.0  # a straight line takes 10 times as long for 10 times the size, a parabola 100 times
PATIENCE = 4.0  # seconds for the calls of one size, after which no larger one is tried
TIMEOUT = 60.0  # ... and for a construct
ATTEMPTS = 3


@dataclass(frozen=True)
class Construct:
    name: str
    module: str
    of: str  # what there are n of
    make: object
    sizes: tuple[int, ...]
    gains: bool


CONSTRUCTS: dict[str, Construct] = {}


def construct(of: str, most: int = SIZES[-1], full: int | None = None, gains: bool = False):
    """A construct of n `of`, for n up to `most`; up to `full` with FUSEWIRE_SCALING=full, where plain Python is slow."""

    def add(make):
        largest = (full or most) if FULL else most
        sizes = tuple(n for n in SIZES if n <= largest)
        CONSTRUCTS[make.__name__] = Construct(make.__name__, make.__module__, of, make, sizes, gains)
        return make

    return add


def load(module: str) -> list[Construct]:
    importlib.import_module(module)
    return [c for c in CONSTRUCTS.values() if c.module == module]


# ---- measuring: in the child ----------------------------------------------------------------------------------------


def _same(a, b) -> bool:
    import numpy as np

    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(_same(a[k], b[k]) for k in a)
    return a == b or (a != a and b != b)


def _timed(function, args):
    """By the clock of the thread, which stands while others run on the machine."""
    start = time.thread_time()
    result = function(*args)
    return time.thread_time() - start, result


def _measure(what: Construct) -> dict:
    """{size: {"plain": seconds, "calls": [seconds]}}; arguments are made anew for each call, since it may write them."""
    import fusewire
    import numpy as np

    fusewire.compile(lambda x: x * 2 + 1)(np.ones(3))  # what is done once in a process
    table = {}
    for n in what.sizes:
        plain, expected = float("inf"), None
        for _ in range(3):
            function, args = what.make(n)
            seconds, expected = _timed(function, args)
            plain = min(plain, seconds)
        function, args = what.make(n)
        compiled, calls = fusewire.compile(function), []
        for _ in range(CALLS):
            seconds, result = _timed(compiled, args)
            calls.append(seconds)
            assert _same(result, expected), f"{what.name}({n}): {result!r:.200} instead of {expected!r:.200}"
            args = what.make(n)[1]
        table[n] = {"plain": plain, "calls": calls}
        if sum(calls) > PATIENCE:
            break
    return table


# ---- judging: in the parent -----------------------------------------------------------------------------------------


def measure(what: Construct) -> dict:
    """As _measure(), in a process of its own. Raises AssertionError if that fails or does not end."""
    command = [sys.executable, __file__, what.module, "--measure", what.name]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, env=environment)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"{what.name} has not ended after {TIMEOUT:.0f} s") from None
    assert done.returncode == 0, f"{what.name}: {done.stderr[-2000:]}"
    assert "fusewire" not in done.stderr, done.stderr[-2000:]  # no internal failure goes unseen
    return {int(n): cell for n, cell in json.loads(done.stdout).items()}


def least(a: dict, b: dict) -> dict:
    """Of two measurements, cell by cell."""
    both = {**a, **b}
    for n in a.keys() & b.keys():
        calls = [min(two) for two in zip(a[n]["calls"], b[n]["calls"])]
        both[n] = {"plain": min(a[n]["plain"], b[n]["plain"]), "calls": calls}
    return both


def problems(what: Construct, table: dict) -> list[str]:
    found = []
    sizes = sorted(table)
    if sizes[-1] < max(what.sizes, default=0):
        found.append(f"no more than {sizes[-1]} {what.of} have been tried")
    for n in sizes:
        plain, calls = table[n]["plain"], table[n]["calls"]
        for i, seconds in enumerate(calls):
            if i == 0 and what.gains:
                continue
            if seconds > ALLOWANCE + FACTOR * plain:
                found.append(f"call {i + 1} with {n} {what.of} takes {seconds * 1e3:.1f} ms, plain {plain * 1e3:.1f} ms")
    for small, large in zip(sizes, sizes[1:]):
        for i, (before, after) in enumerate(zip(table[small]["calls"], table[large]["calls"])):
            if after > ALLOWANCE + BEND * max(before, table[small]["plain"]):
                found.append(
                    f"call {i + 1} takes {before * 1e3:.1f} ms with {small} {what.of}, {after * 1e3:.1f} ms with {large}"
                )
    return found


def check(what: Construct) -> None:
    """Raises AssertionError with what is too slow."""
    table = measure(what)
    for _ in range(ATTEMPTS - 1):
        if not problems(what, table):
            return
        table = least(table, measure(what))
    assert not problems(what, table), f"{what.name}: " + "; ".join(problems(what, table))


def _main(module: str, *names: str) -> None:
    found = load(module)
    if names[:1] == ("--measure",):
        (one,) = (c for c in found if c.name == names[1])
        print(json.dumps(_measure(one)))
        return
    for what in found:  # by hand: a table
        if names and what.name not in names:
            continue
        try:
            table = measure(what)
        except AssertionError as error:
            print(what.name, error, sep="\n  !! ", flush=True)
            continue
        print(what.name, *problems(what, table), sep="\n  !! ")
        for n, cell in table.items():
            times = " ".join(f"{seconds * 1e3:9.2f}" for seconds in cell["calls"])
            print(f"  {n:7d} {what.of:12s} plain {cell['plain'] * 1e3:9.2f} ms, calls {times} ms", flush=True)


if __name__ == "__main__":
    # Modules of constructs register with the module of this name, not with __main__.
    import scaling

    scaling._main(*sys.argv[1:])
