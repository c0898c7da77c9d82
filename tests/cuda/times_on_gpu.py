"""Times of decorated functions on CuPy arrays beside peers of the same run: CuPy, and PyTorch where it is installed.
`python times_on_gpu.py [calls] [arrays] [gathers] [loops] [first]` with fusewire on the path (bundle.py)."""

import contextlib
import os
import subprocess
import sys
import tempfile
import time

import cupy as cp
import gather_cases
import loop_cases
import numpy as np
from gpu_clock import device_us
from package_on_gpu import add_to, fresh, gelu, jacobi, layer_norm, softmax

import fusewire

torch = None  # main() looks for it


def host_us(call, count=2000, rounds=9):
    call()
    best = []
    for _ in range(rounds):
        cp.cuda.Device().synchronize()
        start = time.perf_counter()
        for _ in range(count):
            call()
        best.append((time.perf_counter() - start) / count * 1e6)
    cp.cuda.Device().synchronize()
    return float(np.median(best))


def chain(a, b):
    return (cp.tanh(a * b + a) * 0.5 + 0.5) * b


def torch_gelu(x, bias):
    y = x + bias
    return 0.5 * y * (1 + torch.tanh(0.7978845608 * (y + 0.044715 * y * y * y)))


def torch_layer_norm(x, g, b):
    return torch.nn.functional.layer_norm(x, (x.shape[-1],), g, b, 1e-5)


def of_torch(measure, function, args, compiled=True):
    """What PyTorch takes on the same memory, on the same stream: by torch.compile, or as it is."""
    if torch is None:
        return float("nan")
    tensors = [torch.from_dlpack(a) if isinstance(a, cp.ndarray) else a for a in args]
    if compiled:
        torch._dynamo.reset()
        function = torch.compile(function, dynamic=False)
    with torch.no_grad():
        return measure(lambda: function(*tensors))


def time_calls():
    a, b = cp.ones(8, "f4"), cp.ones(8, "f4")
    rows = {"a + b": (lambda x, y: x + y, lambda x, y: x + y, (a, b)), "a += b": (add_to, lambda x, y: x.add_(y), (a, cp.zeros(8, "f4"))), "a * 2.5": (lambda x, s: x * s, lambda x, s: x * s, (a, 2.5)),
            "chain": (chain, lambda x, y: (torch.tanh(x * y + x) * 0.5 + 0.5) * y, (a, b)), "a.sum()": (lambda x: x.sum(), lambda x: x.sum(), (a,)), "a[1:]": (lambda x: x[1:], lambda x: x[1:], (a,))}
    print(f"{'host us, 8 elements':28}{'fusewire':>10}{'CuPy':>10}{'ratio':>8}{'torch':>10}{'torch.c':>10}")
    for name, (function, torchs, args) in rows.items():
        own, cupys = host_us(lambda f=fusewire.compile(fresh(function)): f(*args)), host_us(lambda: function(*args))
        print(f"{name:28}{own:>10.2f}{cupys:>10.2f}{own / cupys:>8.2f}{of_torch(host_us, torchs, args, False):>10.2f}{of_torch(host_us, torchs, args):>10.2f}", flush=True)


def time_arrays():
    x, y = (cp.random.standard_normal((16384, 8192), dtype="f4") for _ in range(2))
    g, target = cp.ones(8192, "f4"), cp.empty_like(x)

    def copy_us():
        return device_us(lambda: target.data.copy_from_device_async(x.data, x.nbytes, cp.cuda.get_current_stream()))

    copy = copy_us()
    print(f"{'over a copy of one array':28}{'fusewire':>10}{'CuPy':>10}{'torch.c':>10}   (16384 x 8192 f4, copy {copy:.0f} us)")
    rows = {"x * 2 + 1": (lambda x: x * 2 + 1, lambda x: x * 2 + 1, (x,)), "chain of two arrays": (chain, lambda x, y: (torch.tanh(x * y + x) * 0.5 + 0.5) * y, (x, y)),
            "softmax": (softmax, lambda x: torch.softmax(x, 1), (x,)), "layer norm": (layer_norm, torch_layer_norm, (x, g, g)), "gelu with bias": (gelu, torch_gelu, (x, g)),
            "sum of rows": (lambda x: x.sum(axis=1), lambda x: x.sum(1), (x,)), "sum of columns": (lambda x: x.sum(axis=0), lambda x: x.sum(0), (x,)), "sum of everything": (lambda x: x.sum(), lambda x: x.sum(), (x,)),
            "mean of everything": (lambda x: x.mean(), lambda x: x.mean(), (x,)), "sum of rows of x.T": (lambda x: x.T.sum(axis=1), lambda x: x.T.sum(1), (x,)),
            "sum of x * y": (lambda x, y: (x * y).sum(), lambda x, y: (x * y).sum(), (x, y)), "sum of every other column": (lambda x: x[:, ::2].sum(axis=1), lambda x: x[:, ::2].sum(1), (x,)),
            "x += y": (add_to, lambda x, y: x.add_(y), (x, y))}
    for name, (function, torchs, args) in rows.items():
        own, cupys = device_us(lambda f=fusewire.compile(fresh(function)): f(*args)), device_us(lambda: function(*args))
        print(f"{name:28}{own / copy:>10.2f}{cupys / copy:>10.2f}{of_torch(device_us, torchs, args) / copy:>10.2f}", flush=True)
    x = cp.random.standard_normal((16384, 8192), dtype="f4")  # x += y has made large numbers of them
    masked = cp.where(x > 0, x, -cp.inf)
    print(f"softmax where half is -inf: {device_us(lambda f=fusewire.compile(softmax): f(masked)) / copy:.2f} x copy", flush=True)
    del masked
    forms = {"softmax": softmax, "layer norm": layer_norm, "sum of rows": lambda x: x.sum(axis=1), "sum of columns": lambda x: x.sum(axis=0)}
    compiled = {name: fusewire.compile(fresh(function)) for name, function in forms.items()}
    widths = (128, 1024, 2048, 4096, 8192, 16384, 32768, 65536)
    for measured in (False, True):  # nothing compiles while times are taken
        for width in widths:
            x, g = x.reshape(-1, width), cp.ones(width, "f4")
            calls = {name: (lambda f=f, n=name: f(x, g, g) if n == "layer norm" else f(x)) for name, f in compiled.items()}
            for call in calls.values():
                call()
            if measured:
                copy = copy_us()
                print(f"rows of {width:6}, x copy: " + ", ".join(f"{name} {device_us(call) / copy:.3f}" for name, call in calls.items()), flush=True)
    x, y = cp.random.standard_normal((8192, 8192), dtype="f4"), cp.random.standard_normal((8192, 8192), dtype="f4")
    plain, turned = (device_us(lambda f=fusewire.compile(f): f(x, y)) for f in (lambda x, y: x + y, lambda x, y: x.T + y))
    print(f"a.T + b, 8192 x 8192: {turned:.0f} us, {turned / plain:.3f} of a + b", flush=True)


def time_gathers():
    x, g = cp.random.standard_normal((16384, 8192), dtype="f4"), cp.ones(8192, "f4")
    target, mask = cp.empty_like(x), x > 0
    copy = device_us(lambda: target.data.copy_from_device_async(x.data, x.nbytes, cp.cuda.get_current_stream()))
    narrow, flat = x.reshape(-1, 128), x.reshape(-1)[: 1 << 24]
    places = {n: cp.random.permutation(n) for n in (len(x), len(narrow), len(flat))}
    rows = {"rows of 8192": (gather_cases.row, (x, places[len(x)])), "rows of 8192, scaled": (gather_cases.scaled, (x, places[len(x)], g)), "rows of 128": (gather_cases.row, (narrow, places[len(narrow)])),
            "rows of 128, i32": (gather_cases.row, (narrow, places[len(narrow)].astype("i4"))), "columns": (gather_cases.columns, (x, places[len(x)] % 8192)),
            "2^24 elements, anywhere": (gather_cases.row, (flat, places[len(flat)])), "2^24 elements in order": (gather_cases.row, (flat, cp.arange(len(flat)))), "softmax of rows": (gather_cases.shifted_rows, (x, places[len(x)])),
            "x[m] = 0": (gather_cases.marked_rows, (x, mask, 0)), "x[m] += 1, three times": (gather_cases.changed_where, (x, mask))}
    print(f"{'over a copy of 16384 x 8192':28}{'fusewire':>10}{'CuPy':>10}")
    for name, (function, args) in rows.items():
        own, cupys = device_us(lambda f=fusewire.compile(fresh(function), fullgraph=True): f(*args)), device_us(lambda: function(*args))
        print(f"{name:28}{own / copy:>10.3f}{cupys / copy:>10.3f}", flush=True)


def time_loops():
    print(f"{'device us':40}{'fusewire':>12}{'CuPy':>12}{'ratio':>8}")

    def row(name, function, args, rounds=5):
        compiled = fusewire.compile(fresh(function), fullgraph=True)
        own, cupys = device_us(lambda: compiled(*args), rounds), device_us(lambda: function(*args), rounds)
        print(f"{name:40}{own:>12.1f}{cupys:>12.1f}{cupys / own:>8.1f}", flush=True)

    for t in ("f4", "f8"):
        for n in (512, 4096):
            u = cp.random.standard_normal((n, n)).astype(t)
            row(f"jacobi {t} {n} x {n}, 100 steps", jacobi, (u, 100))
            row(f"ping-pong {t} {n} x {n}, 100 steps", loop_cases.ping_pong, (u, 100))
    u, v = cp.random.random((512, 512), dtype="f4"), cp.random.random((512, 512), dtype="f4") * 0.1
    row("gray-scott f4 512 x 512, 100 steps", loop_cases.gray_scott, (u, v, 100))
    row("wave f4 512 x 512, 100 steps", loop_cases.wave, (u, v, 0.1, 100))
    row("until f4 512 x 512, 24 turns", loop_cases.until_small, (u, 1e-7))
    for batch, width in ((32, 64), (256, 1024), (4096, 4096)):
        f = lambda *shape: cp.random.standard_normal(shape, dtype="f4") * 0.02
        row(f"mlp f4 {batch} x {width}", loop_cases.mlp, (f(batch, width), f(width, width), f(width), f(width, width), f(width)))


TEN = "t = x * y + 3; t = cp.sin(t) - y / 7; t = cp.exp(-t * t) + x; return cp.sqrt(cp.abs(t)) * y - 1"
FIRST = r"""
import os, sys, time
import cupy as cp
import fusewire
a, b = cp.ones(100_000, "f4"), cp.ones(100_000, "f4")
cp.cuda.Device().synchronize()
namespace = {"cp": cp}
names = ["first", "second", "third"]
for k, name in enumerate(names):  # other constants: other kernels
    exec(compile("def %s(x, y):\n    " % name + TEN.replace("7", str(7 + k)).replace("3", str(3 + k)), f"<{name}>", "exec"), namespace)
def timed(call):
    start = time.perf_counter()
    result = call()
    cp.cuda.Device().synchronize()
    return (time.perf_counter() - start) * 1e3, result
eager = WHO == "cupy"
for name in names:
    f = namespace[name] if eager else fusewire.compile(namespace[name])
    ms, result = timed(lambda: f(a, b))
    line = f"{WHO:10} {name:7} first call {ms:7.1f} ms"
    if not eager:
        begun, calls, slowest = time.perf_counter(), 0, 0
        while not any(v["hits"] for v in fusewire._fusewire.describe(f)["variants"]) and time.perf_counter() - begun < 5:
            slowest = max(slowest, timed(lambda: f(a, b))[0])
            calls += 1
        line += f", compiled code in use after {ms + (time.perf_counter() - begun) * 1e3:7.1f} ms, {calls} calls meanwhile, the slowest {slowest:.2f} ms"
        if not (f(a, b) == namespace[name](a, b)).all():
            line += ", OTHER RESULT"
    print(line, flush=True)
"""


def time_first():
    """First calls of functions of ten operations, in processes of their own, which keep nothing that others have compiled; then from the disk."""
    with tempfile.TemporaryDirectory() as folder:
        for who, label in (("cupy", "kernels of CuPy's not kept"), ("cupy", "kept"), ("fusewire", "nothing kept"), ("fusewire", "kept")):
            environment = {**os.environ, "FUSEWIRE_BACKGROUND": "1", "FUSEWIRE_CACHE_DIR": f"{folder}/fusewire", "CUPY_CACHE_DIR": f"{folder}/{who}"}
            print(f"{who}, {label}:", flush=True)
            code = f"TEN, WHO = {TEN!r}, {who!r}\n" + FIRST
            result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
            print(result.stdout, result.stderr[-2000:], flush=True)
            if result.returncode or "OTHER" in result.stdout:
                sys.exit(f"FAIL first calls of {who}")


def main():
    global torch
    with contextlib.suppress(ImportError):
        import torch
    what = sys.argv[1:] or ["calls", "arrays", "gathers", "loops", "first"]
    cp.zeros(1).sum()  # a context
    peer = f", PyTorch {torch.__version__}" if torch else ""
    print(f"{cp.cuda.runtime.getDeviceProperties(0)['name'].decode()}, CuPy {cp.__version__}, NumPy {np.__version__}{peer}", flush=True)
    times = {"calls": time_calls, "arrays": time_arrays, "gathers": time_gathers, "loops": time_loops, "first": time_first}
    with np.errstate(all="ignore"):
        for name, measure in times.items():
            if name in what:
                measure()


if __name__ == "__main__":
    main()
