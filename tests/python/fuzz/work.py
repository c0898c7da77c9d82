"""Runs checks where they may crash or hang: in a child process, which tells what it is at before it begins."""

from __future__ import annotations

import dataclasses
import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

from fuzz.check import Report, check
from fuzz.modes import mode_of
from fuzz.program import Program, generate

PATIENCE = 60.0   # seconds without an answer: it hangs
MEMORY = 3 << 30  # bytes of a worker: a random program may ask for arrays that no machine has


@dataclasses.dataclass
class Result:
    seed: int
    report: Report
    seconds: float


def _checked(program: Program | tuple[str, int], mode: str) -> Report:
    try:
        return check(program if isinstance(program, Program) else generate(*program), mode)
    except (Exception, KeyboardInterrupt):
        return Report(f"the program cannot be run: {traceback.format_exc()}", "harness", False)


def isolated(program: Program, mode: str) -> Report:
    """check() in a forked child."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reading)
            text = json.dumps(dataclasses.asdict(_checked(program, mode)))
        except BaseException:
            os._exit(1)
        with os.fdopen(writing, "w") as answer:
            answer.write(text)
        os._exit(0)
    os.close(writing)
    ready, _, _ = select.select([reading], [], [], PATIENCE)
    text = b""
    while ready and (chunk := os.read(reading, 1 << 16)):
        text += chunk
    os.close(reading)
    if not ready:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    try:
        return Report(**json.loads(text))
    except ValueError:
        return Report(*_death(status if ready else None), True)


def _death(status: int | None) -> tuple[str, str]:
    if status is None:
        return f"no answer for {PATIENCE:.0f} s", "hang"
    code = os.waitstatus_to_exitcode(status)
    return f"the process ended with {signal.Signals(-code).name if code < 0 else code}", "crash"


def run_many(generator: str, mode: str, seeds: range) -> Iterator[Result]:
    """Checks of all seeds in a worker process, which is replaced when it dies; ``mode`` may be "mixed"."""
    while seeds:
        worker = subprocess.Popen([sys.executable, "-m", "fuzz.work", generator, mode, str(seeds.start), str(seeds.stop)],
                                  cwd=Path(__file__).parent.parent, stdout=subprocess.PIPE)
        done = seeds.start
        try:
            for line in _lines(worker):
                fields = json.loads(line)
                done = fields["seed"] + 1
                yield Result(fields["seed"], Report(**fields["report"]), fields["seconds"])
            if done < seeds.stop:
                hung = worker.poll() is None
                worker.kill()
                what = ("no answer", "hang") if hung else (f"the worker ended with {worker.wait()}", "crash")
                yield Result(done, Report(*what, True), PATIENCE if hung else 0.0)
                done += 1
        finally:
            worker.kill()
            worker.wait()
            worker.stdout.close()
        seeds = range(done, seeds.stop)


def _lines(worker) -> Iterator[bytes]:
    """Lines of its output until it ends or is silent for too long."""
    buffer = b""
    while select.select([worker.stdout], [], [], PATIENCE)[0]:
        chunk = os.read(worker.stdout.fileno(), 1 << 16)
        if not chunk:
            worker.wait()
            return
        *lines, buffer = (buffer + chunk).split(b"\n")
        yield from lines


def main(generator: str, mode: str, start: int, stop: int) -> None:
    answers = os.fdopen(os.dup(1), "w")
    if "asan" not in os.environ.get("LD_PRELOAD", ""):  # whose shadow is larger than any limit
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for seed in range(start, stop):
        before = time.perf_counter()
        report = _checked((generator, seed), mode_of(mode, seed))
        answers.write(json.dumps({"seed": seed, "report": dataclasses.asdict(report), "seconds": time.perf_counter() - before}) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
