"""python -m fuzz: see the package."""

from __future__ import annotations

import argparse
import re
import sys
import time
from pathlib import Path

from fuzz import GENERATORS
from fuzz.check import Report
from fuzz.minimise import minimise
from fuzz.modes import MODES, mode_of
from fuzz.program import generate, parse
from fuzz.work import isolated, run_many


def _shape(source: str) -> str:
    """What programs of one root often have in common: the minimised source without names and numbers."""
    return re.sub(r"\b[a-z]\w{0,2}\b|\d+(\.\d+)?", "_", source)


def _show(generator: str, seed: int, mode: str, report: Report, budget: int) -> tuple[str, str]:
    """The find as a file of finds/, and what to group it by."""
    program = generate(generator, seed)
    if report.kind == "harness":
        return program.text(f"{generator} {seed}: {report.difference}"), "harness"
    alone = isolated(program, mode)
    if not alone.difference:
        return program.text(f"{generator} {seed}, {mode}: only after other programs in the process\n{report.difference}"), f"{report.kind} later"
    small = minimise(program, mode, alone.kind, budget)
    told = isolated(small, mode).difference.replace('"""', "'''").replace("\\", "\\\\")
    return small.text(f"{generator} {seed}, {mode}\n\n{told}"), f"{alone.kind} {_shape(small.source)}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--generator", choices=[*GENERATORS, "all"], default="all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000, help="programs per generator")
    parser.add_argument("--mode", choices=[*MODES, "mixed"], default="mixed")
    parser.add_argument("--minimise", type=int, default=600, metavar="N", help="candidates that are tried per find; 0: as they are")
    parser.add_argument("--keep", type=Path, help="folder for finds, one per group")
    parser.add_argument("--show", action="store_true", help="print the programs, run nothing")
    parser.add_argument("--run", type=Path, nargs="+", help="check these files in place of random programs")
    options = parser.parse_args()
    if options.run:
        return _run_files(options.run, options.mode)
    wrong = 0
    for generator in GENERATORS if options.generator == "all" else [options.generator]:
        seeds = range(options.seed, options.seed + options.count)
        if options.show:
            for seed in seeds:
                print(generate(generator, seed).text(f"{generator} {seed}"))
            continue
        wrong += _run_seeds(generator, seeds, options)
    return 1 if wrong else 0


def _run_seeds(generator: str, seeds: range, options) -> int:
    groups: dict[str, list[int]] = {}
    compiled, unsettled, before = 0, 0, time.perf_counter()
    for result in run_many(generator, options.mode, seeds):
        compiled += result.report.compiled
        unsettled += result.report.kind == "unsettled"
        if result.report.difference:
            mode = mode_of(options.mode, result.seed)
            text, group = _show(generator, result.seed, mode, result.report, options.minimise)
            if group not in groups:
                print(text, flush=True)
                if options.keep:
                    options.keep.mkdir(parents=True, exist_ok=True)
                    (options.keep / f"{generator}_{result.seed}.py").write_text(text, encoding="utf-8")
            groups.setdefault(group, []).append(result.seed)
    seconds = time.perf_counter() - before
    wrong = sum(map(len, groups.values()))
    print(f"{generator}: {len(seeds)} programs from seed {seeds.start}, mode {options.mode}, {seconds:.0f} s, {compiled} ran compiled, "
          f"{unsettled} unsettled, {wrong} differ in {len(groups)} groups {list(groups.values())}", flush=True)
    return wrong


def _run_files(paths: list[Path], mode: str) -> int:
    wrong = 0
    for path in paths:
        for name in MODES if mode == "mixed" else [mode]:
            report = isolated(parse(path.read_text(encoding="utf-8")), name)
            if report.difference:
                wrong += 1
                print(f"{path} {name}: {report.difference}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
