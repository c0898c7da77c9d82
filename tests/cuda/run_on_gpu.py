"""Checks CUDA kernels against CuPy on a machine with a GPU, then times them: `python run_on_gpu.py [check] [programs] [elementwise] [reductions] [time] [notorch]` beside the
library and its shared libraries (bundle.py). Prints one line per finding and tables; exits with the number of failures."""

import glob
import os
import sys
import time

import cupy as cp
import numpy as np

import cases
from cuda_graph import NUMPY, Library
from gpu_clock import device_us

HERE = os.path.dirname(os.path.abspath(__file__))
FAILURES = []
STARTED = time.time()


def nvrtc_folder():
    places = [p for site in sys.path for p in glob.glob(site + "/nvidia/cu13/lib") + glob.glob(site + "/nvidia/cuda_nvrtc/lib")]
    places += ["/usr/local/cuda/lib64", "/usr/local/cuda/targets/x86_64-linux/lib"]
    return next((p for p in places if glob.glob(p + "/libnvrtc.so.1[23]")), "")


def fail(text):
    FAILURES.append(text)
    print("FAIL", text, flush=True)


def values(dtype, n, seed=0):
    """Numbers of all sizes, with special ones in between."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, n).astype(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        array = rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
        small = rng.integers(0 if dtype.kind == "u" else -9, 10, n).astype(dtype)
        return np.where(rng.random(n) < 0.5, array, small)
    if dtype.kind == "c":
        part = "f4" if dtype.itemsize == 8 else "f8"
        return (values(part, n, seed) + 1j * values(part, n, seed + 1)).astype(dtype)
    array = (rng.standard_normal(n) * 10.0 ** rng.integers(-6, 6, n)).astype(dtype)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5, 2, 3, 1e-40, -1e-42, 1e-7, 65504, 1e30, -1e30], "f8")
    with np.errstate(all="ignore"):
        special = special.astype(dtype)
    where = rng.random(n) < 0.2
    array[where] = rng.choice(special, where.sum())
    return array


def bits_differ(got, want):
    """How many elements differ, NaNs being equal."""
    got, want = cp.asnumpy(got), cp.asnumpy(want)
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{got.shape} instead of {want.dtype}{want.shape}"
    if got.dtype.kind == "c":
        part = "f4" if got.dtype.itemsize == 8 else "f8"
        got, want = np.ascontiguousarray(got).view(part), np.ascontiguousarray(want).view(part)
    if got.dtype.kind == "f":
        integer = f"i{got.dtype.itemsize}"
        same = (got.view(integer) == want.view(integer)) | (np.isnan(got) & np.isnan(want))
    else:
        same = got == want
    return int((~same).sum())


def example(got, want, arrays):
    got, want = cp.asnumpy(got).ravel(), cp.asnumpy(want).ravel()
    different = ~((got == want) | ((got != got) & (want != want)))
    if not different.any():
        return "zeros of another sign"
    at = int(np.argmax(different))
    return f"{[cp.asnumpy(a).ravel()[at].item() for a in arrays]} -> {got[at]!r}, CuPy {want[at]!r}"


def check_elementwise(lib):
    n, exact, rows = 20011, 0, 0
    for label, text, name, types in cases.elementwise():
        arrays = [cp.asarray(values(NUMPY[t], n, 10 * i)) for i, t in enumerate(types)]
        if "shift" in label:
            arrays[1] = cp.asarray(np.random.default_rng(3).integers(0, 8, n).astype(NUMPY[types[1]]))
        try:
            want = arrays[0].astype(NUMPY[name[7:]]) if name.startswith("astype:") else getattr(cp, name)(*arrays)
            graph = lib.build(text)
            got = graph(cp, arrays, [n])[0]
            wrong = bits_differ(got, want)
            if wrong == 0:
                # The same through accesses of single elements, on memory that is not aligned.
                views = [a[1:] for a in arrays]
                wrong = bits_differ(graph(cp, views, [n - 1])[0], want[1:])
            rows += 1
            exact += wrong == 0
            if wrong:
                fail(f"{label}: {wrong} of {n}, e.g. {example(got, want, arrays)}")
        except Exception as e:
            fail(f"{label}: {type(e).__name__} {str(e)[:300]}")
    print(f"elementwise: {exact} of {rows} rows have CuPy's bits ({time.time() - STARTED:.0f} s)", flush=True)


def close(label, got, want, tolerance):
    got, want = cp.asnumpy(got), cp.asnumpy(want)
    if got.shape != want.shape:
        return fail(f"{label}: shape {got.shape}, not {want.shape}")
    if got.dtype.kind not in "fc":
        wrong = int((got != want).sum())
        return fail(f"{label}: {wrong} of {want.size} differ") if wrong else None
    with np.errstate(all="ignore"):
        error = np.abs(got.astype("c16") - want.astype("c16")) / np.maximum(np.abs(want.astype("c16")), 1)
    bad = ~((error <= tolerance) | (np.isnan(got) & np.isnan(want)) | (got == want))
    return fail(f"{label}: {int(bad.sum())} of {want.size} off, worst {np.nanmax(error)}") if bad.any() else None


def check_reductions(lib):
    shapes = [(7, 5, 3), (1, 1, 1), (40, 50, 60), (3, 2, 70001), (70001, 3, 2), (2, 70001, 3), (300, 1, 1000), (0, 4, 5), (4, 5, 129)]
    count = 0
    for op in ("sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "mean", "var"):
        for t in ("f32", "f64", "f16", "i32", "i64", "c64", "bool"):
            if (t == "f16" and op == "var") or (t in ("c64", "bool") and op not in ("any", "all") and not (t == "c64" and op == "sum")) or (t[0] == "i" and op in ("mean", "var")):
                continue
            result = "bool" if op in ("any", "all") else "i64" if op.startswith("arg") else None
            for axes in ((0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)):
                if op.startswith("arg") and len(axes) == 2:
                    continue
                try:
                    graph = lib.build(cases.reduction(op, t, 3, axes, result))
                except Exception as e:
                    fail(f"{op} {t} {axes}: {str(e)[:200]}")
                    continue
                if t not in ("f32", "c64") and axes in ((0, 1), (1,)):
                    continue  # built, but not run: time
                for shape in shapes:
                    if 0 in shape and (op in ("max", "min", "mean", "var") or op.startswith("arg")):
                        continue
                    rng = np.random.default_rng(5)
                    dtype = NUMPY[t]
                    if op == "prod" and t[0] == "f":
                        host = (1 + rng.standard_normal(shape) * 1e-3).astype(dtype)
                    elif t[0] in "fc":
                        host = rng.standard_normal(shape).astype(dtype) + (1j * rng.standard_normal(shape)).astype(dtype) if t[0] == "c" else rng.standard_normal(shape).astype(dtype)
                    elif t == "bool":
                        host = rng.random(shape) < 0.01
                    else:
                        host = rng.integers(-100, 100, shape).astype(dtype)
                    array = cp.asarray(host)
                    label = f"{op} {t} {shape} over {axes}"
                    try:
                        got = graph(cp, [array], list(shape))[0]
                        again = graph(cp, [array], list(shape))[0]
                        if bits_differ(got, again):
                            fail(f"{label}: another result the second time")
                        wide = host.astype("c16" if t == "c64" else "f8") if t[0] in "fc" else host
                        axis = (None if len(axes) == 3 else axes[0]) if op.startswith("arg") else axes
                        with np.errstate(all="ignore"):
                            want = np.asarray(getattr(np, op)(wide, axis=axis)).astype(NUMPY[result or t])
                        elements = host.size / max(want.size, 1)
                        tolerance = {"f16": 2e-3, "f32": 1e-6, "f64": 1e-14, "c64": 1e-6}.get(t, 0) * max(4, elements**0.5)
                        if op == "prod" and t == "f16":
                            tolerance *= 4
                        close(label, got, want, tolerance)
                        count += 1
                    except Exception as e:
                        fail(f"{label}: {type(e).__name__} {str(e)[:200]}")
    print(f"reductions: {count} cases ({time.time() - STARTED:.0f} s)", flush=True)


def softmax(x):
    e = np.exp(x.astype("f8") - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def layer_norm(x, g, b):
    x = x.astype("f8")
    d = x - x.mean(1, keepdims=True)
    return d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-5) * g + b


def check_programs(lib):
    rng = np.random.default_rng(1)
    f32 = lambda *shape: rng.standard_normal(shape).astype("f4")
    put = lambda *arrays: [cp.asarray(a) for a in arrays]

    def run(name, arrays, symbols):
        return lib.build(getattr(cases, name))(cp, arrays, symbols)[0]

    for shape in ((5, 7), (64, 128), (3, 4096), (1, 1), (129, 8), (2, 300000)):
        x = f32(*shape)
        close(f"softmax {shape}", run("SOFTMAX", put(x), list(shape)), softmax(x), 1e-6)
        g, b = f32(shape[1]), f32(shape[1])
        if shape[1] > 1:
            close(f"layer norm {shape}", run("LAYER_NORM", put(x, g, b), list(shape)), layer_norm(x, g, b), 1e-4)
        y, r, c = put(x, f32(shape[1]), f32(shape[0], 1))
        wrong = bits_differ(run("BROADCAST", [y, r, c], list(shape)), (y + r) * c)
        if wrong:
            fail(f"broadcast {shape}: {wrong} differ")
        wrong = bits_differ(cp.ascontiguousarray(run("TRANSPOSED", [y], list(shape))), cp.ascontiguousarray(y.T))
        if wrong:
            fail(f"transposed {shape}: {wrong} differ")
    for n in (1, 37, 1000):
        a, b = put(f32(n, n), f32(n, n))
        if bits_differ(run("TRANSPOSED_ADD", [a, b], [n]), a.T + b):
            fail(f"transposed add {n}")
    for n in (0, 1, 3, 4, 1023, 100003):
        a, b = put(f32(n), f32(n))
        want = (cp.tanh(a * b + a) * cp.float32(0.5) + cp.float32(0.5)) * b
        wrong = bits_differ(run("CHAIN", [a, b], [n]), want)
        if wrong:
            fail(f"chain {n}: {wrong} differ")
    x = cp.asarray(rng.standard_normal((50, 67)))
    if bits_differ(run("SLICES", [x], [50, 67]), x[1:-2, 2:-2] + x[2:-1, :-4]):
        fail("slices")
    for trips in (0, 1, 7, 100):
        u, v = put(rng.standard_normal((33, 70)), rng.standard_normal((33, 70)))
        a, b = u.copy(), v.copy()
        for _ in range(trips):
            b[1:-1, 1:-1] = (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]) * 0.25
            a, b = b, a
        if bits_differ(run("JACOBI", [u, v], [33, 70, trips]), a):
            fail(f"jacobi {trips}")
    x = cp.asarray(rng.standard_normal(999))
    want = x * 0.5
    while float(cp.abs(want).max()) > 0.001:
        want = want * 0.5
    if bits_differ(run("WHILE", [x], [999]), want):
        fail("while")
    for sign in (1, -1):
        x = sign * (cp.abs(cp.asarray(rng.standard_normal(99))) + 1)
        m = x.max()
        if bits_differ(run("COND", [x], [99]), (x + m) * m if m < 0 else x * 7):
            fail(f"cond {sign}")
    x = cp.asarray(rng.standard_normal(9))
    want = -x[4] + x
    run("BIND", [x, cp.asarray(4)], [9, 0])
    if bits_differ(x, want):
        fail("bind and commit")
    print(f"programs done ({time.time() - STARTED:.0f} s)", flush=True)


# --- times ------------------------------------------------------------------------------------------------------------


def time_all(lib):
    try:
        import torch
    except ImportError:
        torch = None

    @cp.fuse()
    def fused_chain(a, b):
        return (cp.tanh(a * b + a) * 0.5 + 0.5) * b

    @cp.fuse()
    def fused_broadcast(a, r, c):
        return (a + r) * c

    def torch_softmax(x):
        return torch.softmax(x, 1)

    half = cp.float32(0.5)
    print(f"{'':24}{'elements':>10}{'fusewire':>10}{'cupy':>10}{'fuse':>10}{'torch.c':>10}{'copy':>10}{'x copy':>8}   us")
    for size in (10**3, 10**6, 10**8):
        side = int(size**0.5)
        wide = (side // 32 + 1, 32) if size == 10**3 else (size // 8192 // 4 * 4 or 1, 8192) if size == 10**8 else (1000, 1000)
        rng = cp.random.default_rng(2)
        a, b = rng.standard_normal(size, dtype="f4"), rng.standard_normal(size, dtype="f4")
        m = rng.standard_normal(wide, dtype="f4")
        r, c = rng.standard_normal(wide[1], dtype="f4"), rng.standard_normal((wide[0], 1), dtype="f4")
        q = rng.standard_normal((side // 32 * 32, side // 32 * 32), dtype="f4")
        one = lambda op, rank, axes: cases.reduction(op, "f32", rank, axes)
        table = [
            ("chain", cases.CHAIN, [a, b], [size], lambda: (cp.tanh(a * b + a) * half + half) * b, lambda: fused_chain(a, b),
             (lambda x, y: (torch.tanh(x * y + x) * 0.5 + 0.5) * y, [a, b])),
            ("broadcast", cases.BROADCAST, [m, r, c], list(wide), lambda: (m + r) * c, lambda: fused_broadcast(m, r, c),
             (lambda x, y, z: (x + y) * z, [m, r, c])),
            ("softmax", cases.SOFTMAX, [m], list(wide), None, None, (torch_softmax, [m])),
            ("layer norm", cases.LAYER_NORM, [m, r, r], list(wide), None, None,
             (lambda x, g, h: torch.nn.functional.layer_norm(x, (x.shape[1],), g, h), [m, r, r])),
            ("sum", one("sum", 1, (0,)), [a], [size], lambda: a.sum(), None, (lambda x: x.sum(), [a])),
            ("sum rows", one("sum", 2, (1,)), [m], list(wide), lambda: m.sum(1), None, (lambda x: x.sum(1), [m])),
            ("sum columns", one("sum", 2, (0,)), [m], list(wide), lambda: m.sum(0), None, (lambda x: x.sum(0), [m])),
            ("mean", one("mean", 1, (0,)), [a], [size], lambda: a.mean(), None, (lambda x: x.mean(), [a])),
            ("max rows", one("max", 2, (1,)), [m], list(wide), lambda: m.max(1), None, (lambda x: x.amax(1), [m])),
            ("transposed copy", cases.TRANSPOSED, [m], list(wide), lambda: cp.ascontiguousarray(m.T), None,
             (lambda x: x.t().contiguous(), [m])),
            ("transposed add", cases.TRANSPOSED_ADD, [q, q], [q.shape[0]], lambda: q.T + q, None, (lambda x, y: x.t() + y, [q, q])),
        ]
        for name, text, arrays, symbols, eager, fused, compiled in table:
            line = f"{name:24}{arrays[0].size:>10}"
            try:
                call = lib.build(text).bind(cp, arrays, symbols)
                own = device_us(call)
                line += f"{own:>10.1f}"
            except Exception as e:
                own = 0
                line += f" {str(e)[:80]}"
            for peer in (eager, fused):
                try:
                    line += f"{device_us(peer):>10.1f}" if peer else f"{'-':>10}"
                except Exception as e:
                    line += f"{type(e).__name__[:9]:>10}"
            try:
                if torch is None or "notorch" in sys.argv or time.time() - STARTED > 480:
                    line += f"{'-':>10}"
                else:
                    function = torch.compile(compiled[0], dynamic=False)
                    tensors = [torch.from_dlpack(x) for x in compiled[1]]
                    # CuPy's stream is the legacy default one, as torch's.
                    line += f"{device_us(lambda: function(*tensors)):>10.1f}"
            except Exception as e:
                line += f"{type(e).__name__[:9]:>10}"
            target = cp.empty_like(arrays[0])
            copy = device_us(lambda: target.data.copy_from_device_async(arrays[0].data, arrays[0].nbytes, cp.cuda.Stream.null))
            print(line + f"{copy:>10.1f}{own / copy:>8.2f}", flush=True)
    host_times(lib)


def host_times(lib):
    """Host time of a warm call on few elements: the wall clock of 1,000 calls, the device idle at the end."""
    a = cp.arange(8, dtype="f4")
    call = lib.build(cases.CHAIN).bind(cp, [a, a], [8])
    half = cp.float32(0.5)
    for name, function in (("fusewire (ctypes)", call), ("cupy eager", lambda: (cp.tanh(a * a + a) * half + half) * a)):
        best = []
        for _ in range(7):
            start = time.perf_counter()
            for _ in range(1000):
                function()
            best.append((time.perf_counter() - start) * 1e3)
            cp.cuda.Device().synchronize()
        print(f"host us per call of the chain on 8 elements: {name} {np.median(best):.2f}")


def main():
    what = sys.argv[1:] or ["check", "time"]
    place = nvrtc_folder()
    cp.zeros(1).sum()  # a context
    lib = Library(os.path.join(HERE, os.environ.get("FW_CUDA_LIBRARY", "libfw_cuda_test.so")), place)
    print(f"{cp.cuda.runtime.getDeviceProperties(0)['name'].decode()}, CuPy {cp.__version__}, NVRTC from {place or 'the linker'}", flush=True)
    with np.errstate(all="ignore"):
        checks = {"programs": check_programs, "elementwise": check_elementwise, "reductions": check_reductions}
        asked = [check for name, check in checks.items() if name in what or "check" in what]
        if asked:
            for check in asked:
                check(lib)
            count, ms = lib.compiled()
            print(f"{count} kernels compiled, {ms / max(count, 1):.0f} ms each; {len(FAILURES)} failures", flush=True)
        if "time" in what:
            time_all(lib)
    for text in FAILURES:
        print("FAIL", text)
    sys.exit(min(len(FAILURES), 99))


if __name__ == "__main__":
    main()
