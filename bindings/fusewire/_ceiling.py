"""How fast this machine computes and moves memory at most: what kernels are compared with. Measured by the first few
processes that write a trace, then kept."""

from __future__ import annotations

import json
import os
import platform
import time

import numpy as np

from fusewire import _fusewire

VERSION = 1
_RATES = ("operations", "memory", "cache")
# Processes that measure, until what the machine can do at most is thought to be known.
_TRIES = 4
# Two arrays that only main memory holds together, and two that the second-level cache does.
_LARGE, _SMALL = 64 << 20, 64 << 10


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def _folder() -> str | None:
    from fusewire import config

    if config.cache_dir == "none":
        return None
    return config.cache_dir or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "fusewire")


def _bandwidth(size: int, repeats: int) -> float:
    """Bytes per second of a copy, what is read and what is written counted."""
    source, target = np.ones(size, np.uint8), np.ones(size, np.uint8)
    best = float("inf")
    for _ in range(6):
        begin = time.perf_counter()
        for _ in range(repeats):
            np.copyto(target, source)
        best = min(best, (time.perf_counter() - begin) / repeats)
    return 2 * size / best


def measure(before: dict | None = None) -> dict:
    """The better of this and what was measured before: a machine that is busy does less than it can."""
    made = {"version": VERSION, "processor": _processor(), "operations": _fusewire.peak_operations(),
            "memory": _bandwidth(_LARGE, 1), "cache": _bandwidth(_SMALL, 400), "tries": 1}
    for key in _RATES if before else ():
        made[key] = max(made[key], before[key])
    made["tries"] += before.get("tries", 1) if before else 0
    return made


def _is_known(known, processor: str) -> bool:
    return (isinstance(known, dict) and known.get("version") == VERSION and known.get("processor") == processor
            and all(isinstance(known.get(key), float) and 0 < known[key] < 1e18 for key in _RATES) and isinstance(known.get("tries"), int))


def ceiling() -> dict:
    """{processor, operations, memory, cache}: of one thread; operations on float64 and bytes, per second. Some 0.2 s where nobody
    has measured it on this machine yet."""
    folder = _folder()
    path = folder and os.path.join(folder, "ceiling.json")
    before = None
    if path:
        try:
            with open(path, encoding="utf-8") as file:
                known = json.load(file)
            before = known if _is_known(known, _processor()) else None
            if before and before["tries"] >= _TRIES:
                return before
        except (OSError, ValueError):
            pass
    made = measure(before)
    if path:
        temporary = f"{path}.{os.getpid()}"
        try:
            os.makedirs(folder, exist_ok=True)
            with open(temporary, "w", encoding="utf-8") as file:
                json.dump(made, file)
            os.replace(temporary, path)
        except OSError:
            pass  # a folder that cannot be written: measured anew the next time
    return made
