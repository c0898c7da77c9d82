"""Builds the extension and installs it into the running interpreter, and shows how far the build is.

The work is pip's and Meson's; their own output appears only if they fail.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
STEP = re.compile(r"\s*\[(\d+)/(\d+)\] (.*)")


class Progress:
    """One line that is rewritten on a terminal; one line for every tenth of the work elsewhere."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.terminal = sys.stdout.isatty()
        self.tenth = 0

    def show(self, done: int, steps: int, what: str) -> None:
        seconds = int(time.monotonic() - self.start)
        line = f"  {done:3} of {steps}, {seconds // 60}:{seconds % 60:02}  {what}"
        if self.terminal:
            width = os.get_terminal_size().columns
            print("\r" + line[: width - 1].ljust(width - 1), end="\n" if done == steps else "", flush=True)
        elif done * 10 // steps > self.tenth or done == 1:
            self.tenth = done * 10 // steps
            print(line, flush=True)


def install(build_dir: str, jobs: int) -> int:
    command = [sys.executable, "-m", "pip", "install", "-v", "--disable-pip-version-check", "--no-build-isolation",
               "--no-deps", "--force-reinstall", f"-Cbuild-dir={build_dir}", "-Csetup-args=-Dtest_modules=true",
               "-Csetup-args=-Dtests=true", f"-Ccompile-args=-j{jobs}", "."]
    print(f"fusewire: building in {build_dir} ({jobs} at a time)", flush=True)
    progress = Progress()
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    output = []
    for line in process.stdout:
        output.append(line)
        if step := STEP.match(line):
            progress.show(int(step[1]), int(step[2]), pathlib.PurePath(step[3]).name)
    if process.wait() != 0:
        print("", *output[-200:], sep="\n" if progress.terminal else "", flush=True)
    return process.returncode


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build_dir")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    sys.exit(install(options.build_dir, options.jobs))


if __name__ == "__main__":
    main()
