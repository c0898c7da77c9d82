"""Puts what run_on_gpu.py needs into one folder: `python tests/cuda/bundle.py BUILD FOLDER`. The folder runs on any x86-64 Linux
with Python 3.10 or later, CuPy, and a C library that is not older than this machine's."""

import shutil
import subprocess
import sys
from pathlib import Path

build, folder = Path(sys.argv[1]), Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)
library = build / "tests/cuda/libfw_cuda_test.so"
needed = subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout
for line in needed.splitlines():
    name, _, path = line.strip().partition(" => ")
    if "absl" in name:
        shutil.copy(path.split()[0], folder / name)
shutil.copy(library, folder)
for script in ("cuda_graph.py", "cases.py", "run_on_gpu.py"):
    shutil.copy(Path(__file__).parent / script, folder)
print(f"{sum(f.stat().st_size for f in folder.iterdir()) / 1e6:.1f} MB in {folder}")
