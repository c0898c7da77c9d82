"""Loops of plain Python over arrays and elements, unmodified: compiled against plain, and against numba where it is installed.

    python bench/loops.py [--only NAME] [--numba]

Every program of bench/textbook/ is in its usual form. Ratios of the best of several rounds, alternating; first call in
milliseconds. A program that is not one compiled region counts all the same, with the number of its breaks.
"""

from __future__ import annotations

import argparse
import copy
import dis
import math
import time
import types

import fusewire
from textbook import PROGRAMS


def seconds(function, arguments) -> float:
    given = copy.deepcopy(arguments)
    begin = time.perf_counter()
    function(*given)
    return time.perf_counter() - begin


def njit(numba, function):
    """Numba's of a function and of the functions of this project that it calls."""
    names = {at.argval for at in dis.get_instructions(function) if at.opname == "LOAD_GLOBAL"}
    called = {name: njit(numba, value) for name in names if isinstance(value := function.__globals__.get(name), types.FunctionType)}
    return numba.njit(types.FunctionType(function.__code__, function.__globals__ | called, function.__name__))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="programs whose name contains this")
    parser.add_argument("--numba", action="store_true", help="njit of the same source; what it cannot compile counts as 1")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(f"{'program':28}{'plain ms':>10}{'ratio':>9}{'first ms':>10}{'breaks':>8}" + (f"{'numba':>9}{'first ms':>10}" if options.numba else ""))
    ratios, peers, firsts = [], [], []
    for name, (function, make, size) in PROGRAMS.items():
        if options.only not in name:
            continue
        arguments = make(size)
        candidates = [function, fusewire.compile(function)]
        if options.numba:
            import numba
            candidates.append(njit(numba, function))
        first = [math.nan] * 3
        for i in range(1, len(candidates)):
            try:
                first[i] = 1e3 * seconds(candidates[i], arguments)
                seconds(candidates[i], arguments)
            except Exception:   # a peer that cannot compile it
                if i == 1:
                    raise
                candidates[i] = None
        best = [math.inf] * 3
        for turn in range(options.rounds):
            # Whoever comes behind Python finds caches that are Python's.
            for i in range(len(candidates))[:: -1 if turn % 2 else 1]:
                if candidates[i] is not None:
                    best[i] = min(best[i], seconds(candidates[i], arguments))
        ratio, peer = best[0] / best[1], best[0] / best[2] if best[2] < math.inf else 1.0
        ratios.append(ratio)
        peers.append(peer)
        firsts.append(first[1])
        breaks = len(fusewire._fusewire.describe(candidates[1])["breaks"])
        print(f"{name:28}{1e3 * best[0]:10.2f}{ratio:9.2f}{first[1]:10.1f}{breaks:8}" + (f"{peer:9.2f}{first[2]:10.0f}" if options.numba else ""), flush=True)
    mean = lambda values: math.exp(sum(map(math.log, values)) / len(values))
    print(f"geometric mean {mean(ratios):.2f}, least {min(ratios):.2f}, median first call {sorted(firsts)[len(firsts) // 2]:.0f} ms" + (f"; numba {mean(peers):.2f}" if options.numba else ""))


if __name__ == "__main__":
    main()
