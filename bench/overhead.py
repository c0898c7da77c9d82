"""Costs that do not depend on array size: the warm call, the guards, and the first call by phase."""

from __future__ import annotations

import statistics
import time

import numpy as np

import fusewire


def per_call(function, args, calls=20_000) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        function(*args)
    return (time.perf_counter() - start) / calls


def paired(mine, other, args, rounds=21) -> tuple[float, float, float]:
    """Medians in ns of both and of their ratio round by round."""
    samples = [(per_call(mine, args), per_call(other, args)) for _ in range(rounds)]
    return (statistics.median(a for a, _ in samples) * 1e9, statistics.median(b for _, b in samples) * 1e9,
            statistics.median(a / b for a, b in samples))


def ten_operations(x, y):
    t = x * y + 0.5
    t = np.exp(-t * t) * x + y
    t = t / (1 + np.abs(y))
    return np.maximum(t, -1.0) - x * 0.25


def many(count):
    names = [f"a{i}" for i in range(count)]
    scope = {}
    exec(f"def f({', '.join(names)}, options):\n    return a0 + options['bias']", scope)
    return scope["f"]


def warm_calls() -> None:
    a = np.ones(8, np.float32)
    plain = lambda a, b: a + b
    mine, numpys, ratio = paired(fusewire.compile(plain), plain, (a, a))
    print(f"a + b, 8 f32: compiled {mine:.0f} ns, Python function with NumPy {numpys:.0f} ns, ratio {ratio:.2f}")
    mine, numpys, ratio = paired(fusewire.compile(plain), np.add, (a, a))
    print(f"a + b, 8 f32: compiled {mine:.0f} ns, np.add itself {numpys:.0f} ns, ratio {ratio:.2f}")


def guards() -> None:
    for name, function, args in (
        ("2 arrays", lambda a, b: a + b, (np.ones(8), np.ones(8))),
        ("20 arrays and a dict", many(20), (*[np.ones(8) for _ in range(20)], {"bias": 0.5, "other": 1})),
    ):
        compiled = fusewire.compile(function)
        compiled(*args)
        ns = fusewire._fusewire.time_guards(compiled, args, 200_000)
        print(f"guards, {name}: {ns:.1f} ns; whole call {per_call(compiled, args) * 1e9:.0f} ns")


def first_calls(rounds=15) -> None:
    x = np.linspace(-1, 1, 1000, dtype=np.float32)
    phases: dict[str, list[float]] = {}
    for _ in range(rounds):
        compiled = fusewire.compile(ten_operations)
        start = time.perf_counter()
        compiled(x, x)
        phases.setdefault("first call", []).append((time.perf_counter() - start) * 1e3)
        for phase, ms in fusewire._fusewire.describe(compiled)["variants"][0]["ms"].items():
            phases.setdefault(phase, []).append(ms)
    print("first call of ten operations, ms: " + ", ".join(f"{p} {statistics.median(v):.2f}" for p, v in phases.items()))


def bystanders(rounds=15) -> None:
    """Python code that has nothing to do with Fusewire, before and after functions were compiled."""

    def work(n=20_000):
        total = 0
        for i in range(n):
            total += len(str(i)) if i & 1 else abs(-i)
        return total

    before = statistics.median(per_call(work, (), 3) for _ in range(rounds))
    compiled = fusewire.compile(ten_operations)
    compiled(np.ones(3), np.ones(3))
    after = statistics.median(per_call(work, (), 3) for _ in range(rounds))
    print(f"other Python code after compiling / before: {after / before:.3f}")


if __name__ == "__main__":
    print(fusewire._fusewire.target())
    bystanders()
    warm_calls()
    guards()
    first_calls()
