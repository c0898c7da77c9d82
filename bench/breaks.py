"""A loop of 1,000 iterations with 10 graph breaks in its body, compiled against plain Python in the same process.

    python bench/breaks.py [--iterations 1000] [--rounds 9]

The breaks are calls of a C function that capture knows nothing of; between them stands scalar work, work on small arrays, or
work on arrays of 64K elements. Times are medians over interleaved rounds; the ratio is the median of the rounds' ratios. The
compiled regions are listed, since a function that ran as Python would pass too. Exit status 1: slower than plain Python by
more than 10 %, or nothing compiled where there are arrays. Work on Python scalars alone is left to Python on purpose.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import collections
import linecache
import statistics
import sys
import time

import numpy as np

import fusewire

BREAKS = 10
ALLOWED = 1.10


def looping(work: list[str]):
    """def f(x, y, n, clock): a loop whose body is the work with a break after every statement."""
    body = "".join(f"        {work[i % len(work)]}\n        clock()\n" for i in range(BREAKS))
    source = f"def f(x, y, n, clock):\n    s = 1.0\n    for i in range(n):\n{body}        x = x + 0\n    return x, s\n"
    name = f"<{work[0]}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    scope = {"np": np}
    exec(compile(source, name, "exec"), scope)
    return scope["f"]


CASES = {
    "Python scalars": (["s = s * 0.5 + i", "s = s + x if s < 3.0 else s - 1.5", "s = -s * 0.25 + x * 2.0"], 1.5, 2.5, 1),
    "scalars and one array": (["s = s * 0.5 + i", "s = s + 2.5 if s < 3.0 else s - 1.5", "x = x + s * y"], np.ones(8),
                              np.linspace(0, 1, 8), 1),
    "arrays of 8": (["x = x * 0.5 + y", "x = (x - y) * 0.25 + 1.0", "x = x * y + 0.5 * x"], np.ones(8), np.linspace(0, 1, 8), 1),
    "arrays of 64K": (["x = x * 0.5 + y", "x = (x - y) * 0.25 + 1.0", "x = x * y + 0.5 * x"], np.ones(1 << 16),
                      np.linspace(0, 1, 1 << 16), 10),
}


def timed(function, args) -> float:
    start = time.perf_counter()
    function(*args)
    return time.perf_counter() - start


def regions(compiled) -> list[str]:
    facts = fusewire._fusewire.describe(compiled)
    lines = [f"    whole function: {v['hits']} hits" for v in facts["variants"]]
    for r in facts.get("regions", ()):
        count = r["variants"] if isinstance(r["variants"], int) else len(r["variants"])
        if count:
            lines.append(f"    region at line {r['start_line']}: {count} variants, {r.get('hits')} hits, {r.get('misses')} misses, {r.get('status')}")
    reasons = collections.Counter(b["reason"] for b in facts["breaks"])
    return lines + [f"    breaks: {dict(reasons)}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iterations", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    print(f"Python {sys.version.split()[0]}, NumPy {np.__version__}, {fusewire._fusewire.target()}")
    failed = False
    for name, (work, x, y, fewer) in CASES.items():
        plain = looping(work)
        compiled = fusewire.compile(looping(work))
        args = (x, y, max(options.iterations // fewer, 1), time.perf_counter)
        first = timed(compiled, args)
        for _ in range(3):
            timed(compiled, args)
        expected, actual = plain(*args), compiled(*args)
        assert all(type(e) is type(a) and np.array_equal(e, a) for e, a in zip(expected, actual)), "wrong result"
        samples = [(timed(plain, args), timed(compiled, args)) for _ in range(options.rounds)]
        ratio = statistics.median(c / p for p, c in samples)
        medians = [statistics.median(column) * 1e3 for column in zip(*samples)]
        lines = regions(compiled)
        worked = len(lines) > 1 or isinstance(x, float)
        print(f"{name}, {args[2]} iterations: plain {medians[0]:.2f} ms, compiled {medians[1]:.2f} ms, ratio {ratio:.3f}, first call {first * 1e3:.0f} ms"
              f"{'' if ratio <= ALLOWED else '  TOO SLOW'}{'' if worked else '  NOTHING COMPILED'}")
        print("\n".join(lines))
        failed |= ratio > ALLOWED or not worked
    sys.exit(failed)


if __name__ == "__main__":
    main()
