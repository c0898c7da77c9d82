"""Runs the C++ tests of a build folder and the Python tests; closes with one line 'N passed, N failed'."""

import argparse
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run_cpp(build: pathlib.Path) -> tuple[int, int]:
    """Every executable *_test of the build folder. A test program that crashes counts as one failure."""
    passed = failed = 0
    environment = dict(os.environ)
    for place in sys.path:  # where the package index's NVRTC lies
        for library in pathlib.Path(place).glob("nvidia/*/lib/libnvrtc.so.*"):
            environment.setdefault("FUSEWIRE_NVRTC", str(library.parent))
    programs = sorted(p for p in build.glob("tests/**/*_test") if p.is_file())
    if not programs:
        sys.exit(f"no C++ test programs in {build}")
    for program in programs:
        result = subprocess.run([program, "--gtest_brief=1"], cwd=ROOT, capture_output=True, text=True, env=environment)
        ok = re.search(r"\[  PASSED  \] (\d+) test", result.stdout)
        bad = re.search(r"(\d+) FAILED TEST", result.stdout)
        passed += int(ok[1]) if ok else 0
        wrong = int(bad[1]) if bad else 0
        if result.returncode != 0 and not wrong:
            wrong = 1
        failed += wrong
        print(f"{program.name}: {ok[1] if ok else 0} passed, {wrong} failed", flush=True)
        if wrong:
            print(result.stdout[-6000:], result.stderr[-6000:], sep="\n", flush=True)
    return passed, failed


def run_python(arguments: list[str]) -> tuple[int, int]:
    """Every worker begins with a stretch of the tests, in order; who is done takes from the end of another's, so that all end
    together. A test waits for none of its file's others."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(os.cpu_count()), "--dist", "worksteal", *arguments]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    last = ""
    for line in process.stdout:
        print(line, end="", flush=True)
        last = line if line.strip() else last
    code = process.wait()
    count = lambda word: sum(int(n) for n in re.findall(rf"(\d+) {word}", last))
    failed = count("failed") + count("error")
    if code != 0 and not failed:
        failed = 1
    return count("passed"), failed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cpp", type=pathlib.Path, help="build folder with C++ tests")
    parser.add_argument("--no-python", action="store_true")
    options, rest = parser.parse_known_args()
    passed = failed = 0
    if options.cpp:
        p, f = run_cpp(options.cpp)
        passed, failed = passed + p, failed + f
    if not options.no_python:
        p, f = run_python(rest)
        passed, failed = passed + p, failed + f
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
