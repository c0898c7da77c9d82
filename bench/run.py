"""Prints a table: every case with every installed peer, measured in the same run, one thread.

    python bench/run.py [--quick] [--only TEXT] [--peers numpy,fusewire] [--json FILE]

A warm time is the median over interleaved rounds, with the half-spread of the middle 50 %; ratios are against NumPy of the
same round. The first call includes compilation. Thread pools are pinned to one thread before anything is imported.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import argparse
import json
import platform
import statistics
import sys
import time

import numpy as np

import cases
import peers


def call_time(function, args, calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        function(*args)
    return (time.perf_counter() - start) / calls


def calls_for(function, args, target: float) -> int:
    """Calls that fill about `target` seconds."""
    once = max(call_time(function, args, 1), 1e-8)
    return max(1, min(200_000, int(target / once)))


def measure(case: cases.Case, size: int, compilers: dict, rounds: int, budget: float) -> dict:
    args = case.make(size)
    rows: dict[str, dict] = {}
    ready = {}
    for name, make in compilers.items():
        try:
            function = make(case)
            start = time.perf_counter()
            function(*args)
            rows[name] = {"first_ms": (time.perf_counter() - start) * 1e3, "samples": []}
            function(*args)
            ready[name] = (function, calls_for(function, args, budget))
        except Exception as error:  # a peer that cannot compile a case is a result, not an accident
            rows[name] = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
    for _ in range(rounds):
        for name, (function, calls) in ready.items():
            rows[name]["samples"].append(call_time(function, args, calls))
    for row in rows.values():
        if row.get("samples"):
            quarter = statistics.quantiles(row["samples"], n=4)
            row["median"] = statistics.median(row["samples"])
            row["spread"] = (quarter[2] - quarter[0]) / 2
            row["ratio"] = statistics.median(base / mine for base, mine in zip(rows["numpy"]["samples"], row["samples"]))
    return rows


def show_time(seconds: float) -> str:
    for unit, scale in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def describe_machine() -> str:
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    versions = [f"Python {platform.python_version()}", f"NumPy {np.__version__}"]
    for name in ("numba", "jax", "torch", "numexpr"):
        if name in sys.modules:
            versions.append(f"{name} {sys.modules[name].__version__}")
    return f"{model}, {os.cpu_count()} CPUs; " + ", ".join(versions)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, small sizes only")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--peers", default="", help="comma-separated subset of: " + ", ".join(peers.PEERS))
    parser.add_argument("--json", default="", help="also write the numbers to this file")
    options = parser.parse_args()

    compilers = peers.installed()
    if options.peers:
        unknown = set(options.peers.split(",")) - set(peers.PEERS)
        if unknown:
            parser.error(f"unknown peer {', '.join(sorted(unknown))}")
        compilers = {n: c for n, c in compilers.items() if n in options.peers.split(",") or n == "numpy"}
    rounds, budget = (5, 0.02) if options.quick else (15, 0.05)

    results = []
    print(f"{'case':<28} {'size':>5}  " + "".join(f"{name:>26}" for name in compilers))
    for case in cases.CASES:
        if options.only not in case.name:
            continue
        for size in case.sizes[:1] if options.quick else case.sizes:
            rows = measure(case, size, compilers, rounds, budget)
            cells = []
            for name in compilers:
                row = rows[name]
                cells.append("fails" if "error" in row else
                             f"{show_time(row['median'])} ±{100 * row['spread'] / row['median']:.0f}% x{row['ratio']:.2f}")
            print(f"{case.name:<28} {size:>5}  " + "".join(f"{cell:>26}" for cell in cells), flush=True)
            firsts = [f"{rows[n]['first_ms']:.1f} ms" if "first_ms" in rows[n] else "-" for n in compilers]
            print(f"{'':<28} {'first':>5}  " + "".join(f"{cell:>26}" for cell in firsts), flush=True)
            results.append({"case": case.name, "size": size, "rows": rows})
    print(describe_machine())
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"machine": describe_machine(), "results": results}, file, indent=1)


if __name__ == "__main__":
    main()
