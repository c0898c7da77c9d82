"""Test suites of others, run as plain Python and with every function compiled, compared test by test.

A suite is a list of parts (modules, files), each run in processes of its own: plain, with FUSEWIRE_COMPILE_ALL=1, and where
these differ once more plain, so that tests which do not agree with themselves are known. A crash or a hang is the outcome of
the test that was running; the rest of the part then runs in a new process. A failure of Fusewire itself (failures.py) counts
as a difference, whatever the tests answered.

The process of a part gets two files: it appends JSON lines ["start", test], ["end", test, outcome, detail], ["failure", what]
and at its end ["finished"] to the first, and leaves out the tests whose names are listed in the second.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import failures

RESTARTS = 12  # processes that a part may use up with crashes and hangs
COMPILE_ALL = "FUSEWIRE_COMPILE_ALL"
REPRODUCERS = "FUSEWIRE_REPRO_DIR"

Command = Callable[[str, str, str], list[str]]  # (part, report file, file of finished tests) -> argv of the process


class Report:
    """What the process of a part writes."""

    def __init__(self, path: str):
        self.out = open(path, "a", buffering=1)
        self.watch = failures.Watch(os.environ[REPRODUCERS])

    def write(self, *line: str) -> None:
        self.out.write(json.dumps(line) + "\n")

    def start(self, test: str) -> None:
        self.write("start", test)

    def end(self, test: str, outcome: str, detail: str = "") -> None:
        self.tell_failures(test)
        self.write("end", test, outcome, detail)

    def finish(self) -> None:
        self.tell_failures("after the tests")
        self.write("finished")
        self.out.close()

    def tell_failures(self, where: str) -> None:
        if told := self.watch.new():
            self.watch = failures.Watch(self.watch.folder)
        for failure in told:
            self.write("failure", f"{where}: {failure}")


def run_part(part: str, command: Command, compile_all: bool, timeout: float, count: bool = False, settings: dict | None = None) -> dict:
    """{"tests": {id: (outcome, detail)}, "events": counts by kind, "internal": [...], "seconds": ..., "crashes": [...]}"""
    tests: dict[str, list] = {}
    crashes: list[tuple] = []
    internal: list[str] = []
    events: collections.Counter = collections.Counter()
    started = time.time()
    environment = {k: v for k, v in os.environ.items() if k != COMPILE_ALL} | {"PYTHONHASHSEED": "0", "PYTHONFAULTHANDLER": "1"}
    if compile_all:
        environment |= {COMPILE_ALL: "1", "FUSEWIRE_ECONOMY": "0", "FUSEWIRE_BACKGROUND": "0", **(settings or {})}
    for attempt in range(RESTARTS):
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "report.jsonl")
            done = os.path.join(folder, "done.json")
            if count:
                environment["FUSEWIRE_TRACE"] = os.path.join(folder, "trace")
            pathlib.Path(done).write_text(json.dumps(list(tests)))
            kept = os.environ.get(REPRODUCERS)  # for someone who wants to look at them
            environment[REPRODUCERS] = reproducers = tempfile.mkdtemp(dir=kept) if kept else folder
            process = subprocess.Popen(command(part, report, done), cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace",
                                       start_new_session=True)
            try:
                _, errors = process.communicate(timeout=timeout)
                ended = process.returncode
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                _, errors = process.communicate()
                ended = "timeout"
            told: list[str] = []
            running, complete = None, False
            for line in pathlib.Path(report).read_text().splitlines() if os.path.exists(report) else ():
                try:
                    kind, *rest = json.loads(line)
                except ValueError:
                    continue  # cut off by a crash
                if kind == "start":
                    running = rest[0]
                elif kind == "end":
                    tests[rest[0]] = rest[1:]
                    running = None
                elif kind == "failure":
                    told += rest
                elif kind == "finished":
                    complete = True
            untold = [path for path in failures.left_in(reproducers) if not any(str(path) in text for text in told)]
            internal += told + [f"{running or part}: {failures.first_line(path)}" for path in sorted(untold)]
            for trace in pathlib.Path(folder, "trace").glob("*.jsonl"):
                for line in trace.open(errors="replace"):
                    if line.endswith("}\n"):
                        events[json.loads(line).get("kind")] += 1
        if complete and ended == 0:
            break
        what = ended if ended == "timeout" else f"signal {-ended}" if isinstance(ended, int) and ended < 0 else f"exit {ended}"
        where = running or ("after the tests" if complete else "outside a test")
        crashes.append((where, what, errors[-3000:]))
        tests[running or f"{part} ({where}, process {attempt + 1})"] = [what, errors[-3000:]]
        if complete or not running:
            break  # nothing to continue with
    return {"tests": tests, "crashes": crashes, "internal": internal, "events": dict(events), "seconds": time.time() - started}


def plain_run(part: str, command: Command, timeout: float, which: int, kept: pathlib.Path | None = None) -> dict:
    """A plain run of a part, the one that an earlier comparison has left in the folder `kept` if it has."""
    key = hashlib.sha256(" ".join(command(part, "", str(which))).encode()).hexdigest()
    path = kept and kept / (key[:16] + ".json")
    if path and path.exists():
        return json.loads(path.read_text())
    run = run_part(part, command, False, timeout)
    if path:
        kept.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(run))
    return run


def compare(part: str, command: Command, timeout: float, count: bool = False, settings: dict | None = None,
            kept: pathlib.Path | None = None) -> dict:
    def outcome(run, name):
        return run["tests"].get(name, ["absent", ""])[0]

    plain = plain_run(part, command, timeout, 0, kept)
    allowed = max(timeout, 20 * plain["seconds"])
    compiled = run_part(part, command, True, allowed, count, settings)
    differing = sorted(n for n in plain["tests"].keys() | compiled["tests"].keys() if outcome(plain, n) != outcome(compiled, n))
    again = plain_run(part, command, timeout, 1, kept) if differing else plain
    noisy = [n for n in differing if outcome(plain, n) != outcome(again, n)]
    differences = [(n, outcome(plain, n), outcome(compiled, n), compiled["tests"].get(n, ["", ""])[1])
                   for n in differing if n not in noisy]
    differences += [(f"{part}: internal failure", "", text, "") for text in sorted(set(compiled["internal"]))]
    return {"module": part, "tests": len(plain["tests"]), "outcomes": dict(collections.Counter(o for o, _ in plain["tests"].values())),
            "differences": differences, "noisy": noisy, "crashes": len(compiled["crashes"]), "events": compiled["events"],
            "seconds": [round(plain["seconds"], 1), round(compiled["seconds"], 1)]}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--count", action="store_true", help="also count what was compiled, from the event trace")
    parser.add_argument("--jobs", type=int, default=1, help="parts at a time")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one part")
    parser.add_argument("--plain", type=pathlib.Path, help="folder that keeps the outcomes of plain runs for the next comparison")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="FUSEWIRE_NAME of the compiled runs")


def run(parts, command: Command, options: argparse.Namespace) -> list[dict]:
    """Compares all parts and prints a table; exits with 1 if any outcome differs."""
    show = lambda text: print(text, flush=True)
    settings = {f"FUSEWIRE_{name.upper()}": value for name, _, value in (item.partition("=") for item in options.set)}
    show(f"Python {sys.version.split()[0]}")
    show(f"{'module':28}{'tests':>6}{'same':>6}{'differ':>7}{'noisy':>6}{'crash':>6}{'plain s':>9}{'compiled s':>11}")
    results = []
    pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
    for r in pool.map(lambda part: compare(part, command, options.timeout, options.count, settings, options.plain), parts):
        results.append(r)
        same = r["tests"] - len(r["noisy"]) - len(r["differences"])
        show(f"{r['module'][:28]:28}{r['tests']:6}{same:6}{len(r['differences']):7}{len(r['noisy']):6}{r['crashes']:6}"
             f"{r['seconds'][0]:9.1f}{r['seconds'][1]:11.1f}" + (f"  compiled {r['events'].get('compiled', 0)}" if options.count else ""))
        for name, before, after, detail in r["differences"]:
            show(f"    {name}: {before} -> {after}")
            show("".join(f"        {line}\n" for line in detail.strip().splitlines()[-4:]).rstrip())
    total = lambda key: sum(len(r[key]) if isinstance(r[key], list) else r[key] for r in results)
    show(f"{len(results)} parts, {total('tests')} tests, {total('differences')} differences, {total('noisy')} noisy, "
         f"{total('crashes')} crashes or hangs")
    if options.json:
        options.json.write_text(json.dumps({"python": sys.version, "results": results}, indent=1))
    sys.exit(any(r["differences"] for r in results))
