"""CuPy's arrays. Without a device: their memory is the host's, and the driver and NVRTC are fakes that run kernels on the host (tests/cuda/emulated.py).
With one: tests/cuda/package_on_gpu.py."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FAKE = ROOT / "build" / Path(sys.prefix).name / "tests/cuda/libfw_fake_cuda.so"


def cupy_is_missing():
    return subprocess.run([sys.executable, "-c", "import cupy"], capture_output=True, cwd="/").returncode != 0


def run(code_or_file, tmp_path, **environment):
    (tmp_path / "libcuda.so.1").symlink_to(FAKE)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path), "FUSEWIRE_NVRTC": str(tmp_path / "libcuda.so.1"), "FUSEWIRE_BACKGROUND": "0",
                   "FUSEWIRE_CACHE_DIR": str(tmp_path / "cache"), **environment}
    return subprocess.run([sys.executable, *code_or_file], capture_output=True, text=True, env=environment, timeout=600)


@pytest.mark.skipif(cupy_is_missing(), reason="CuPy IS NOT INSTALLED (pip install cupy-cuda13x): nothing of it is tested")
@pytest.mark.skipif(not FAKE.exists(), reason=f"THE FAKE DRIVER IS NOT BUILT ({FAKE}): nothing of CuPy is tested")
def test_functions_on_emulated_arrays(tmp_path):
    result = run([str(ROOT / "tests/cuda/emulated.py")], tmp_path)
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-2000:]
    assert result.stdout.count("launches") > 25
    folder = tmp_path / "cache/cuda"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert len(list(folder.iterdir())) > 25


@pytest.mark.skipif(cupy_is_missing(), reason="CuPy IS NOT INSTALLED (pip install cupy-cuda13x): nothing of it is tested")
@pytest.mark.skipif(not FAKE.exists(), reason=f"THE FAKE DRIVER IS NOT BUILT ({FAKE}): nothing of CuPy is tested")
def test_a_cache_that_others_may_write_is_not_used(tmp_path):
    folder = tmp_path / "cache/cuda"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    code = f"import sys; sys.path.insert(0, {str(ROOT / 'tests/cuda')!r}); import emulated as e; e.use_fake_stream(); e.cp.cuda.set_allocator(e.allocate); e.check(e.affine, e.np.ones(5)); sys.exit(len(e.FAILURES))"
    result = run(["-c", code], tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "others may write" in result.stderr
    assert not list(folder.iterdir())


@pytest.mark.skipif(cupy_is_missing(), reason="CuPy IS NOT INSTALLED (pip install cupy-cuda13x): nothing of it is tested")
def test_without_a_driver_cupy_runs():
    """A process without CUDA: decorated functions on CuPy's arrays do what they do undecorated, and the log says why."""
    code = """
import ctypes, sys
import cupy, fusewire
memory = ctypes.create_string_buffer(4096)
x = cupy.ndarray((4,), "f8", cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(ctypes.addressof(memory), 4096, memory, 0), 0))
errors = []
for f in (lambda x: x + 1, fusewire.compile(lambda x: x + 1)):
    try:
        f(x)
    except Exception as e:
        errors.append((type(e), str(e)))
assert len(errors) == 2 and errors[0] == errors[1], errors
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "FUSEWIRE_LOGS": "graph_breaks", "CUDA_VISIBLE_DEVICES": ""})
    assert result.returncode == 0, result.stderr
    assert "no CUDA driver" in result.stderr or "CUDA" in result.stderr


def test_rows_of_cupy_bind_as_its_functions():
    """Positions and names of the parameters in cupy_functions.def are those of CuPy's own functions."""
    if cupy_is_missing():
        pytest.skip("CuPy IS NOT INSTALLED: its signatures are not compared")
    code = f"""
import inspect, operator, re, cupy
text = open({str(ROOT / "src/frame_eval/numpy/cupy_functions.def")!r}).read()
wrong = []
for names, signature in re.findall(r'FW_NUMPY\\("([^"]+)", "([^"]+)"', text):
    for name in names.split("|"):
        if not name.startswith("np."):
            assert hasattr(cupy.ndarray, name.split(".")[1]), name
            continue
        try:
            theirs = list(inspect.signature(operator.attrgetter(name[3:])(cupy)).parameters)
        except (ValueError, TypeError):
            continue
        if theirs[0] == "args":  # a generalised ufunc names none
            continue
        words = [w for w in signature.split() if w not in "*/"]
        nameless = signature.split().index("/") if "/" in signature.split() else 0
        ours = [w.strip("?!*") for w in words]
        if ours[nameless:] != theirs[nameless:len(ours)] or len(ours) > len(theirs):
            wrong.append((name, ours, theirs))
print(wrong)
assert not wrong
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
