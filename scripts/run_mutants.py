"""Mutation check: does each generator of random programs find planted defects of its kind?

    python scripts/run_mutants.py --build                                  all mutants of tests/mutation/mutants.toml in one library
    python scripts/run_mutants.py --generator aliasing --count 400         then each by itself: the score, and what was not found

The library is built from a copy of the tree below build/mutation, in which every fragment of the table has become a choice that
the variable FW_MUTANT makes when the process starts; the tree itself stays as it is.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "tests" / "mutation" / "mutants.toml"
SCRATCH = ROOT / "build" / "mutation"
NONE = -1
HEADER = """#pragma once
#include <cstdlib>
namespace fw {
/// Whether planted defect `id` is the one to show.
inline bool mutant(int id) {
  static const int active = std::getenv("FW_MUTANT") ? std::atoi(std::getenv("FW_MUTANT")) : -1;
  return active == id;
}
}  // namespace fw
"""


def table() -> dict[str, dict]:
    """Name: row. A mutant's number is its place."""
    rows = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    for row in rows.values():
        row["original"], row["mutated"] = row["original"].strip("\n"), row["mutated"].strip("\n")
    return rows


def problems(rows: dict[str, dict]) -> list[str]:
    """Fragments that do not occur exactly once, lie inside one another, or are no expressions and do not say so."""
    found, spans = [], {}
    for name, row in rows.items():
        if not row.get("statement") and (re.match(r"(if|for|while|switch|return|case)\b", row["original"]) or ";" in row["original"]):
            found.append(f"{name}: no expression")
        text = (ROOT / row["file"]).read_text(encoding="utf-8")
        if (count := text.count(row["original"])) != 1:
            found.append(f"{name}: occurs {count} times in {row['file']}")
            continue
        start = text.index(row["original"])
        end = start + len(row["original"])
        found += [f"{name} and {other} overlap" for other, a, b in spans.get(row["file"], ()) if start < b and a < end]
        spans.setdefault(row["file"], []).append((name, start, end))
    return found


def choice(number: int, row: dict) -> str:
    if row.get("statement"):
        return f"if (::fw::mutant({number})) {{ {row['mutated']} }} else {{ {row['original']} }}"
    return f"(::fw::mutant({number}) ? ({row['mutated']}) : ({row['original']}))"


def build(jobs: int) -> None:
    rows = table()
    if wrong := problems(rows):
        sys.exit("\n".join(wrong))
    meson = SCRATCH / "build" / "meson"   # as deep as the tree's own
    files = subprocess.run(["git", "ls-files", "src", "bindings", "meson.build", "meson.options", "tests/meson.build"], cwd=ROOT,
                           capture_output=True, text=True, check=True).stdout.split()
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in files}
    for number, row in enumerate(rows.values()):
        texts[row["file"]] = texts[row["file"]].replace(row["original"], choice(number, row))
    for name in {row["file"] for row in rows.values()}:
        texts[name] = '#include "graph/support/mutant.h"\n' + texts[name]
    texts["src/graph/support/mutant.h"] = HEADER
    for name, text in texts.items():
        path = SCRATCH / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:   # what has not changed is not built again
            path.write_text(text, encoding="utf-8")
    beside = Path(sys.executable).parent
    environment = {"CXX": "ccache g++" if shutil.which("ccache") else "g++", **os.environ, "PATH": f"{beside}:{os.environ['PATH']}"}
    if not (meson / "build.ninja").exists():   # as the tree's own library is built, relative paths included: most of it is in a compiler cache
        venv = SCRATCH / ".venv"
        venv.symlink_to(Path(sys.prefix))
        native = SCRATCH / "native.ini"
        native.write_text(f"[binaries]\npython = '{venv / 'bin' / 'python3'}'\n", encoding="utf-8")
        subprocess.run([beside / "meson", "setup", "-Dbuildtype=release", "-Db_ndebug=if-release", "--native-file", native, meson, SCRATCH],
                       env=environment, check=True)
    subprocess.run([beside / "ninja", "-C", meson, f"-j{jobs}"], env=environment, check=True)
    package = SCRATCH / "site" / "fusewire"
    shutil.copytree(SCRATCH / "bindings" / "fusewire", package, dirs_exist_ok=True)
    for library in (meson / "bindings").glob("_fusewire*.so"):
        shutil.copy(library, package)


def differs(generator: str, seed: int, mutant: int, known: dict) -> bool:
    """Whether the program of this seed, run by itself, differs with the mutant."""
    from fuzz.work import run_many

    if (key := (generator, seed, mutant)) not in known:
        os.environ["FW_MUTANT"] = str(mutant)
        known[key] = any(result.report.difference for result in run_many(generator, "mixed", range(seed, seed + 1)))
    return known[key]


def find(generator: str, mutant: int, seeds: range, seconds: float, known: dict):
    """The first program that differs by itself, and does not without the mutant, or None; and how many were tried."""
    from fuzz.work import run_many

    end = time.monotonic() + seconds
    os.environ["FW_MUTANT"] = str(mutant)
    for tried, result in enumerate(run_many(generator, "mixed", seeds), 1):
        if result.report.difference and differs(generator, result.seed, mutant, known) and not differs(generator, result.seed, NONE, known):
            return result, tried
        os.environ["FW_MUTANT"] = str(mutant)
        if time.monotonic() > end:
            return None, tried
    return None, len(seeds)


def score(generator: str, seeds: range, seconds: float, only: list[str]) -> tuple[str, int, int, float]:
    """Generator, how many were planted and found, and how many programs that took (median)."""
    needed, missed, known = [], [], {}
    for number, (name, row) in enumerate(table().items()):
        if generator not in row["finds"] or (only and name not in only):
            continue
        first, tried = find(generator, number, seeds, seconds, known)
        if first:
            needed.append(tried)
        else:
            missed.append(name)
        print(f"  {name}: " + (f"seed {first.seed}, {first.report.difference[:120]!r}" if first else f"not found in {tried} programs"), flush=True)
    print(f"{generator}: not found among {len(seeds)} programs each, or in time: {missed}", flush=True)
    return generator, len(needed) + len(missed), len(needed), statistics.median(needed or [0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--generator", action="append", default=[])
    parser.add_argument("--count", type=int, default=400, help="programs per mutant at most")
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--seconds", type=float, default=180, help="per mutant at most")
    parser.add_argument("--mutant", action="append", default=[], help="only these")
    options = parser.parse_args()
    if options.build:
        build(options.jobs)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(SCRATCH / "site"), str(ROOT / "tests" / "python")])
    sys.path[:0] = os.environ["PYTHONPATH"].split(os.pathsep)
    seeds = range(options.seed, options.seed + options.count)
    results = [score(generator, seeds, options.seconds, options.mutant) for generator in options.generator]
    if results:
        print(f"{'generator':12} planted found   %  programs to find (median)")
    for generator, planted, found, programs in results:
        print(f"{generator:12} {planted:7} {found:5} {100 * found / max(planted, 1):3.0f}  {programs:.0f}")
    sys.exit(0 if all(planted == found for _, planted, found, _ in results) else 1)


if __name__ == "__main__":
    main()
