"""Everything there is to check and to time on a GPU, by one command: `python gpu_suite.py [check] [time] [--logs FOLDER]` in the folder that
bundle.py has made. Checks run beside each other, times one after the other. Without a device it says so and exits with 77."""

import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHECKS = [["package_on_gpu.py", part] for part in ("elementwise", "functions", "programs", "gathers", "foreign", "loops", "rest")]
CHECKS += [["package_on_gpu.py", "sums", t] for t in ("f4", "f8", "c8", "c16")]
CHECKS += [["corpus_on_gpu.py", part] for part in ("cases", "photo", "corpus")] + [["run_on_gpu.py", "check"]]
TIMES = [["times_on_gpu.py", part] for part in ("calls", "arrays", "gathers", "loops", "first")] + [["run_on_gpu.py", "time"]]


def main():
    words = sys.argv[1:]
    logs = Path(words.pop(words.index("--logs") + 1) if "--logs" in words else ".")
    what = [w for w in words if not w.startswith("--")] or ["check", "time"]
    probe = subprocess.run([sys.executable, "-c", "import cupy; print(cupy.cuda.runtime.getDeviceCount())"], capture_output=True, text=True)
    if probe.returncode or not int(probe.stdout or 0):
        print("NO GPU HERE: NOTHING IS CHECKED, NOTHING IS TIMED", probe.stderr[-300:])
        sys.exit(77)
    # What is checked is compiled code: nobody may slip past while the compiler is at work. Every run compiles.
    environment = {**os.environ, "FUSEWIRE_BACKGROUND": "0", "FUSEWIRE_CACHE_DIR": "none", "LD_LIBRARY_PATH": f"{HERE}:{os.environ.get('LD_LIBRARY_PATH', '')}", "PYTHONPATH": f"{HERE}:{os.environ.get('PYTHONPATH', '')}"}

    def start(command):
        name = "-".join(command).replace(".py", "")
        out = open(logs / f"{name}.log", "w")
        return name, subprocess.Popen([sys.executable, *command], cwd=HERE, env=environment, stdout=out, stderr=subprocess.STDOUT), out

    def tail(name, lines):
        text = (logs / f"{name}.log").read_text().splitlines()
        print(f"--- {name}", *text[-lines:], sep="\n", flush=True)

    failed, began = [], time.time()
    if "check" in what:
        for name, process, out in [start(command) for command in CHECKS]:
            failed += [name] if process.wait() else []
            out.close()
            tail(name, 14)
    if "time" in what:
        for command in TIMES:
            name, process, out = start(command)
            failed += [name] if process.wait() else []
            out.close()
            tail(name, 60)
    print(f"{time.time() - began:.0f} s; failed: {', '.join(failed) or 'nothing'}")
    sys.exit(len(failed))


if __name__ == "__main__":
    main()
