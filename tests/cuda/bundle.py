"""Puts what gpu_suite.py needs into one folder: `python tests/cuda/bundle.py BUILD FOLDER [PYTHON]`. PYTHON is an interpreter
that fusewire is installed for: then the folder has the package for the same version of Python too. The folder runs on any x86-64
Linux with Python 3.10 or later (the package: that version), CuPy, and a C library that is not older than this machine's:

    python FOLDER/gpu_suite.py
"""

import shutil
import subprocess
import sys
from pathlib import Path

build, folder = Path(sys.argv[1]), Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)


def copy_with_absl(library, to):
    needed = subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout
    for line in needed.splitlines():
        name, _, path = line.strip().partition(" => ")
        if "absl" in name:
            shutil.copy(path.split()[0], folder / name)
    if (to / library.name).exists():
        (to / library.name).unlink()
    shutil.copy(library, to)
    subprocess.run(["strip", "--strip-debug", to / library.name], check=False)


kernels = build / "tests/cuda/libfw_cuda_test.so"
if kernels.exists():
    copy_with_absl(kernels, folder)
if len(sys.argv) > 3:
    code = "import importlib.util as u; print(u.find_spec('fusewire').submodule_search_locations[0])"
    package = Path(subprocess.run([Path(sys.argv[3]).absolute(), "-c", code], capture_output=True, text=True, check=True, cwd="/").stdout.strip())
    (folder / "fusewire").mkdir(exist_ok=True)
    for file in package.glob("*.py"):
        shutil.copy(file, folder / "fusewire")
    for file in package.glob("_fusewire*.so"):
        copy_with_absl(file, folder / "fusewire")
here = Path(__file__).resolve().parent
root = here.parents[1]
for script in ("cuda_graph.py", "cases.py", "loop_cases.py", "sum_cases.py", "gather_cases.py", "foreign_cases.py", "gpu_clock.py", "run_on_gpu.py", "package_on_gpu.py", "times_on_gpu.py", "corpus_on_gpu.py", "gpu_suite.py"):
    shutil.copy(here / script, folder)
shutil.copy(root / "bench/cases.py", folder / "bench_cases.py")
for file in ("demo/photo.py", "demo/images/grace_hopper.jpg"):
    shutil.copy(root / file, folder)
shutil.copytree(root / "tests/python/programs", folder / "programs", dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
print(f"{sum(f.stat().st_size for f in folder.rglob('*') if f.is_file()) / 1e6:.1f} MB in {folder}")
