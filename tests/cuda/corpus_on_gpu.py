"""The project's own programs on CuPy's arrays, unmodified: bench/cases.py, the photograph demo, and the corpus of tests/python/programs.
`python corpus_on_gpu.py [cases] [photo] [corpus]` with fusewire on the path (bundle.py). Undecorated CuPy says what is right: the same results
or the same exception. Prints what is compiled of each; exits with the number of failures."""

import contextlib
import copy
import io
import sys
import time
import warnings

import cupy as cp
import numpy as np
import package_on_gpu as checks
from gpu_clock import device_us

import fusewire


def on_device(value):
    """The same with CuPy's arrays for NumPy's own; types of elements that CuPy has none for stay where they are."""
    if type(value) is np.ndarray and value.dtype.kind in "biufc" and value.dtype.itemsize <= 16 and value.dtype.isnative:
        return cp.asarray(value)
    if type(value) in (list, tuple):
        return type(value)(on_device(v) for v in value)
    if type(value) is dict:
        return {k: on_device(v) for k, v in value.items()}
    return value


def on_host(value):
    if isinstance(value, cp.ndarray):
        return "cupy", str(value.dtype), cp.asnumpy(value)
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [on_host(v) for v in value]
    if isinstance(value, dict):
        return [(k, on_host(v)) for k, v in value.items()]
    if hasattr(value, "__dict__") and not callable(value):
        return type(value).__name__, on_host(vars(value))
    return value


def equal(got, want, tolerance):
    if isinstance(want, np.ndarray):
        if type(got) is not type(want) or got.shape != want.shape or got.dtype != want.dtype:
            return False
        if want.dtype.kind not in "fc":
            return bool((got == want).all())
        finite = want[np.isfinite(want)]
        scale = float(np.abs(finite).max()) if finite.size else 1.0
        return np.allclose(got, want, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
    if isinstance(want, (list, tuple)):
        return type(got) is type(want) and len(got) == len(want) and all(equal(g, w, tolerance) for g, w in zip(got, want))
    if isinstance(want, (float, complex, np.floating, np.complexfloating)):
        return type(got) is type(want) and np.allclose(got, want, rtol=tolerance, atol=tolerance, equal_nan=True)
    if type(got) is not type(want):
        return False
    try:
        return bool(got == want)
    except Exception:
        return True


def call(function, args):
    with contextlib.redirect_stdout(io.StringIO()) as text:
        result, error = checks.outcome(function, args)
    return on_host(result), on_host(args), text.getvalue(), error


def narrowest(args):
    """The tolerance that sums in another order need."""
    types = [a.dtype for a in args if isinstance(a, cp.ndarray) and a.dtype.kind in "fc"]
    return 1e-9 if types and all(t in ("f8", "c16") for t in types) else 1e-5


def compare(label, function, make, calls=3, tolerance=None):
    """Kernels in use, or -1."""
    compiled, kernels = fusewire.compile(checks.fresh(function)), -1
    for turn in range(calls):
        args = on_device(make())
        want = call(function, copy.deepcopy(args))
        got = call(compiled, copy.deepcopy(args))
        if (want[3] is None) != (got[3] is None) or type(want[3]) is not type(got[3]):
            checks.fail(f"{label}, call {turn}: {got[3]!r} instead of {want[3]!r}")
            return -1
        if not all(equal(g, w, tolerance or narrowest(args)) for g, w in zip(got[:3], want[:3])):
            checks.fail(f"{label}, call {turn}: other results")
            return -1
    facts = fusewire.explain(compiled)(*on_device(make())).facts if want[3] is None else {"variants": [], "breaks": []}
    kernels = sum(v["kernels"] for v in facts["variants"])
    return kernels


def check_cases():
    import bench_cases as cases

    for case in cases.CASES:
        for size in case.sizes:
            kernels = compare(f"{case.name} {size}", case.function, lambda: case.make(size))
            print(f"case {case.name:34}{size:>6}: {kernels} kernels", flush=True)
            if kernels < 1:
                checks.fail(f"{case.name}: nothing compiled")


def check_photo():
    import photo
    from PIL import Image

    picture = np.asarray(Image.open("grace_hopper.jpg").convert("RGB"))
    for enlarged in (1, 4):
        image = np.ascontiguousarray(np.kron(picture, np.ones((enlarged, enlarged, 1), np.uint8)))
        args = (cp.asarray(image), 1.6, 0.8)
        compiled = fusewire.compile(photo.develop)
        want, got = photo.develop(*args), compiled(*args)
        compiled(*args)
        facts = fusewire.explain(compiled)(*args).facts
        wrong = checks.differ(got, want)
        if wrong:
            checks.fail(f"photograph x {enlarged}: {wrong}")
        numpys = photo.develop(image, 1.6, 0.8)
        off = int(np.abs(numpys.astype(int) - cp.asnumpy(got)).max())
        own, cupys = device_us(lambda: compiled(*args)), device_us(lambda: photo.develop(*args))
        print(f"photograph {image.shape}: {sum(v['kernels'] for v in facts['variants'])} kernels, {len(facts['breaks'])} breaks, {own:.0f} us, CuPy {cupys:.0f} us; "
              f"largest difference to NumPy {off} of 255", flush=True)


def check_corpus():
    import programs

    ran = compiled = total = 0
    for program in programs.PROGRAMS:
        for number, make in enumerate(program.sets):
            label = f"{program.function.__name__} {number}"
            total += 1
            if checks.time.time() - checks.STARTED > LIMIT:
                print(f"the corpus from {label} on: not run for time", flush=True)
                return
            programs.reseed(number)
            args = on_device(make())
            if not any(isinstance(a, cp.ndarray) for a in args):
                continue
            # Programs that use what CuPy lacks say so undecorated too.
            started = time.time()
            programs.reseed(number)
            kernels = compare(label, program.function, make, tolerance=max(program.tolerance or 0, narrowest(args)))
            ran += 1
            compiled += kernels > 0
            if time.time() - started > 5:
                print(f"{label}: {time.time() - started:.0f} s", flush=True)
    print(f"corpus: {ran} of {total} sets of arguments hold arrays; something is compiled in {compiled} ({checks.time.time() - checks.STARTED:.0f} s)", flush=True)


LIMIT = 400


def main():
    warnings.simplefilter("ignore")
    what = sys.argv[1:] or ["cases", "photo", "corpus"]
    cp.zeros(1).sum()
    with np.errstate(all="ignore"):
        for name, check in {"cases": check_cases, "photo": check_photo, "corpus": check_corpus}.items():
            if name in what:
                check()
    print(f"{len(checks.FAILURES)} failures ({time.time() - checks.STARTED:.0f} s)")
    for text in checks.FAILURES:
        print("FAIL", text[:300])
    sys.exit(min(len(checks.FAILURES), 99))


if __name__ == "__main__":
    main()
