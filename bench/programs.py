"""The programs of tests/python/programs against plain Python, each set of arguments by itself: python bench/programs.py [name ...]

The ratio is the time of Python over that of compiled code, the fastest of many calls of both in turns; below 1 is slower.
"""

from __future__ import annotations

import copy
import io
import contextlib
import pathlib
import sys
import time
import warnings

import fusewire

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests" / "python"))
import programs  # noqa: E402

WARM, ROUNDS = 120, 60


def timed(function, arguments) -> float:
    start = time.perf_counter()
    try:
        function(*arguments)
    except Exception:
        pass  # some programs show how they fail
    return time.perf_counter() - start


def fastest(program, make) -> tuple[float, float]:
    compiled = fusewire.compile(program.function)
    arguments = make()
    for _ in range(WARM):
        if timed(compiled, copy.deepcopy(arguments)) > 0.05:
            break
    times = ([], [])
    for _ in range(ROUNDS):
        for which, function in enumerate((program.function, compiled)):
            times[which].append(timed(function, copy.deepcopy(arguments)))
        if sum(times[0]) > 1:
            break
    return min(times[0]), min(times[1])


def main() -> None:
    warnings.simplefilter("ignore")
    rows = []
    for program in programs.PROGRAMS:
        if sys.argv[1:] and program.function.__name__ not in sys.argv[1:]:
            continue
        for number, make in enumerate(program.sets):
            with contextlib.redirect_stdout(io.StringIO()):
                plain, mine = fastest(program, make)
            rows.append((plain / mine, f"{program.function.__name__} {number}", plain, mine))
    for ratio, name, plain, mine in sorted(rows):
        print(f"{ratio:7.2f}  {name:40} Python {plain * 1e6:10.1f} us, compiled {mine * 1e6:10.1f} us")


if __name__ == "__main__":
    main()
