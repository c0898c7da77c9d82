"""Compares decorated functions on CuPy arrays with the same functions undecorated:
`python package_on_gpu.py [elementwise] [functions] [sums [f4] [f8] [c8] [c16]] [programs] [gathers] [foreign] [loops] [rest]` with fusewire on the path (bundle.py). Prints one line per
finding; exits with the number of failures."""

import gc
import itertools
import sys
import threading
import time
import types

import cupy as cp
import numpy as np

import fusewire
import foreign_cases
import gather_cases
import loop_cases
import sum_cases
from fusewire import _fusewire

FAILURES = []
STARTED = time.time()
DTYPES = ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?", "c8", "c16"]


def fail(text):
    FAILURES.append(text)
    print("FAIL", text[:600], flush=True)


def values(dtype, n, seed=0):
    """Numbers of all sizes, with special ones in between."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, n).astype(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        array = rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
        return np.where(rng.random(n) < 0.5, array, rng.integers(0 if dtype.kind == "u" else -9, 10, n).astype(dtype))
    if dtype.kind == "c":
        part = "f4" if dtype.itemsize == 8 else "f8"
        return (values(part, n, seed) + 1j * values(part, n, seed + 1)).astype(dtype)
    array = (rng.standard_normal(n) * 10.0 ** rng.integers(-6, 6, n)).astype(dtype)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5, 2, 3, 1e-40, -1e-42, 1e-7, 65504, 1e30, -1e30], "f8").astype(dtype)
    where = rng.random(n) < 0.2
    array[where] = rng.choice(special, where.sum())
    return array


def plain(dtype, shape, seed=0):
    """Numbers near 1."""
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iub":
        return cp.asarray(rng.integers(0, 2 if np.dtype(dtype).kind == "b" else 9, shape).astype(dtype))
    return cp.asarray((rng.standard_normal(shape) + 0.1).astype(dtype))


def differ(got, want, exact=True):
    """'' if two results are the same: types, shapes, strides, elements."""
    if isinstance(want, (tuple, list)):
        if type(got) is not type(want) or len(got) != len(want):
            return f"{got!r} instead of {want!r}"
        return next((d for d in map(lambda g, w: differ(g, w, exact), got, want) if d), "")
    if type(got) is not type(want):
        return f"{type(got)} instead of {type(want)}"
    if hasattr(want, "__dlpack__") and not isinstance(want, cp.ndarray):
        return differ(cp.from_dlpack(got), cp.from_dlpack(want), exact)
    if not isinstance(want, cp.ndarray):
        return "" if got == want else f"{got!r} instead of {want!r}"
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype}{got.shape} instead of {want.dtype}{want.shape}"
    if got.size and got.strides != want.strides and got.size > 1:
        return f"strides {got.strides} instead of {want.strides}"
    if got.flags.c_contiguous != want.flags.c_contiguous or got.flags.f_contiguous != want.flags.f_contiguous:
        return "other flags"
    g, w = cp.asnumpy(got), cp.asnumpy(want)
    if g.dtype.kind == "c":
        part = "f4" if g.dtype.itemsize == 8 else "f8"
        g, w = np.ascontiguousarray(g).view(part), np.ascontiguousarray(w).view(part)
    if g.dtype.kind != "f":
        wrong = int((g != w).sum())
        return f"{wrong} of {g.size} differ" if wrong else ""
    if exact:
        integer = f"i{g.dtype.itemsize}"
        bad = ~((np.ascontiguousarray(g).view(integer) == np.ascontiguousarray(w).view(integer)) | (np.isnan(g) & np.isnan(w)))
    else:
        tolerance = {2: 4e-3, 4: 3e-5, 8: 1e-12}[g.dtype.itemsize]
        with np.errstate(all="ignore"):
            bad = ~((np.abs(g - w) <= tolerance * np.maximum(np.abs(w), 1)) | (g == w) | (np.isnan(g) & np.isnan(w)))
    if not bad.any():
        return ""
    at = int(np.argmax(bad.ravel()))
    return f"{int(bad.sum())} of {g.size} differ, e.g. {g.ravel()[at]!r} instead of {w.ravel()[at]!r}"


def copies(args):
    """The arguments again, in arrays of the same layout; arrays that share memory still do."""
    owners = {}

    def again(a):
        if not isinstance(a, cp.ndarray):
            return a
        base = a if a.base is None else a.base
        if id(base) not in owners:
            owners[id(base)] = (base, base.copy(order="K"))
        whole, other = owners[id(base)]
        if a is base:
            return other
        pointer = other.data + (a.data.ptr - whole.data.ptr)
        return cp.ndarray(a.shape, a.dtype, pointer, a.strides)

    return [again(a) for a in args]


def outcome(function, args):
    try:
        return function(*args), None
    except Exception as e:
        return None, e


def fresh(function):
    """The function with code of its own, so that no case is influenced by another."""
    global cases_
    if not isinstance(function, types.FunctionType):
        return function
    cases_ += 1
    code = function.__code__.replace(co_name=f"{function.__code__.co_name}_{cases_}")
    return types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)


cases_ = 0


def compare(label, function, *args, exact=True, whole=True, times=2):
    """Decorated and undecorated on equal arguments. `whole`: the call must be compiled without a break. True if it was."""
    compiled = fusewire.compile(fresh(function), fullgraph=bool(whole))
    for _ in range(times):
        mine, theirs = copies(args), copies(args)
        want, wanted_error = outcome(function, theirs)
        got, error = outcome(compiled, mine)
        if isinstance(error, fusewire.GraphBreakError):
            if whole is True:
                fail(f"{label}: not compiled: {str(error).splitlines()[-1] if str(error) else error}\n{error}")
            return False
        if wanted_error is not None or error is not None:
            told = "/tmp" in str(wanted_error)  # a text of a compiler, of a file that has another name each time
            if type(error) is not type(wanted_error) or (str(error) != str(wanted_error) and not told):
                fail(f"{label}: {error!r} instead of {wanted_error!r}")
            return False
        wrong = differ(got, want, exact) or next((f"argument: {d}" for d in (differ(g, w, exact) for g, w in zip(mine, theirs)) if d), "")
        if wrong:
            fail(f"{label}: {wrong}")
            return False
    return True


class Maybe:
    """`whole` of compare(): must agree if compiled, and may break."""

    def __bool__(self):
        return True


MAYBE = Maybe()


def check_elementwise():
    n, compiled, rows, broken = 1003, 0, 0, []
    for op in _fusewire.ops():
        names = [name[3:] for name in op["numpy"].split("|") if name.startswith("np.")]
        name = next((x for x in names if type(getattr(cp, x, None)).__name__ == "ufunc"), None)
        if not name:
            continue
        ufunc = getattr(cp, name)
        arity = ufunc.nin
        for dtype in DTYPES:
            arrays = [cp.asarray(values(dtype, n, 7 * i)) for i in range(arity)]
            if "shift" in name:
                arrays[1] = cp.asarray((np.arange(n) % 8).astype(dtype))
            function = (lambda x: ufunc(x)) if arity == 1 else (lambda x, y: ufunc(x, y))
            rows += 1
            if compare(f"{name} {dtype}", function, *arrays, whole=MAYBE, times=1):
                compiled += 1
            else:
                broken.append(f"{name} {dtype}")
    print(f"elementwise: {compiled} of {rows} rows compiled; by CuPy: {' '.join(broken)} ({time.time() - STARTED:.0f} s)", flush=True)
    # Types meet, Python numbers, NumPy's functions, operators; sizes and layouts.
    for a, b in (("f4", "f8"), ("f4", "i4"), ("i1", "u1"), ("f2", "f4"), ("i8", "f4"), ("?", "i4"), ("u8", "i8"), ("c8", "f8")):
        x, y = cp.asarray(values(a, n)), cp.asarray(values(b, n, 3))
        compare(f"{a} + {b}", lambda x, y: x + y, x, y)
        compare(f"{a} * {b}", lambda x, y: np.multiply(x, y), x, y)
    for dtype in ("f2", "f4", "f8", "i4", "u1"):
        x = cp.asarray(values(dtype, n))
        compare(f"{dtype} and Python numbers", lambda x, s, k: (x * s, x + k, k - x, x / 3, 2.5 * x), x, 1.7, 3)
        compare(f"{dtype} and NumPy scalars", lambda x, s: (x * s, x + s), x, np.float32(1.7))
        compare(f"{dtype} powers", lambda x: (x**2, x**3, x**0.5, x**1, 2**x, x**-1.0, x**1.5, x**2.0, cp.power(x, 2)), x)
        compare(f"{dtype} runtime power", lambda x, k: x**k, x, 2)
        compare(f"{dtype} runtime power of a float", lambda x, k: x**k, x, 0.5)
        compare(f"{dtype} runtime power of another float", lambda x, k: x**k, x, 1.7)
    layouts = {
        "contiguous": lambda a: a, "strided": lambda a: a[::2, ::3], "reversed": lambda a: a[::-1, ::-1], "transposed": lambda a: a.T,
        "0-d": lambda a: a[3, 4], "empty": lambda a: a[:0], "one": lambda a: a[:1, :1], "broadcast": lambda a: cp.broadcast_to(a[0], a.shape),
        "fortran": lambda a: cp.asfortranarray(a), "inner": lambda a: a[:, 1:-2], "row": lambda a: a[2:3], "column": lambda a: a[:, 2:3],
    }
    for dtype in ("f4", "f8", "i2", "c8"):
        a, b = (cp.asarray(values(dtype, 35 * 27, s).reshape(35, 27)) for s in (0, 1))
        for name, of in layouts.items():
            compare(f"{name} {dtype}", lambda x, y: (x * y + x, x + 1), of(a), of(b))
            compare(f"{name} with contiguous {dtype}", lambda x, y: x - y, of(a), of(a).copy())
    print(f"layouts done ({time.time() - STARTED:.0f} s)", flush=True)


def check_functions():
    shapes = [(7, 5, 3), (1, 1, 1), (40, 3, 129), (4, 1, 5)]
    reductions = {
        "sum": lambda x, axis: x.sum(axis), "sum keepdims": lambda x, axis: cp.sum(x, axis=axis, keepdims=True), "prod": lambda x, axis: x.prod(axis=axis),
        "max": lambda x, axis: x.max(axis), "min": lambda x, axis: np.min(x, axis=axis), "any": lambda x, axis: x.any(axis), "all": lambda x, axis: cp.all(x, axis),
        "argmax": lambda x, axis: x.argmax(axis), "argmin": lambda x, axis: cp.argmin(x, axis), "mean": lambda x, axis: x.mean(axis), "var": lambda x, axis: x.var(axis),
        "std": lambda x, axis: cp.std(x, axis=axis, ddof=0), "count_nonzero": lambda x, axis: cp.count_nonzero(x, axis=axis),
    }
    count = [0, 0]
    for name, function in reductions.items():
        for dtype in ("f2", "f4", "f8", "i2", "i8", "u4", "?", "c8"):
            for axis in (None, 0, 2, (0, 1)):
                if isinstance(axis, tuple) and name.startswith("arg"):
                    continue
                count[1] += 1
                for shape in shapes if dtype == "f4" else shapes[:1]:
                    x = plain(dtype, shape)
                    if "prod" in name:
                        x = (x * 0 + 1.01).astype(dtype) if x.dtype.kind in "fc" else x
                    done = compare(f"{name} {dtype} {shape} axis {axis}", lambda x: function(x, axis), x, exact=name in ("max", "min", "any", "all", "argmax", "argmin"), whole=MAYBE, times=1)
                count[0] += done
    print(f"reductions: {count[0]} of {count[1]} compiled ({time.time() - STARTED:.0f} s)", flush=True)
    a, b = (cp.asarray(values("f4", 12 * 10, s).reshape(12, 10)) for s in (0, 1))
    f = cp.asfortranarray(a)
    cases = {
        "where": lambda x, y: cp.where(x > y, x, y), "where scalar": lambda x, y: cp.where(x > 0, x, 0.0), "clip": lambda x, y: cp.clip(x, -0.5, 0.5),
        "np.clip": lambda x, y: np.clip(x, -0.5, 0.5), "clip method": lambda x, y: x.clip(-1, 1), "round": lambda x, y: cp.round(x),
        "reshape": lambda x, y: (x.reshape(-1), x.reshape(4, 30), cp.reshape(x, (10, 12)) * 2), "ravel": lambda x, y: x.ravel(), "flatten": lambda x, y: x.flatten(),
        "transpose": lambda x, y: (x.T, x.transpose(1, 0), cp.transpose(x), x.swapaxes(0, 1), cp.moveaxis(x, 0, 1)), "expand": lambda x, y: (x[None], x[:, None].squeeze()),
        "flip": lambda x, y: (cp.flip(x), cp.flip(x, 0), cp.fliplr(x), cp.flipud(x)), "concatenate": lambda x, y: cp.concatenate([x, y]), "concatenate 1": lambda x, y: cp.concatenate((x, y), axis=1),
        "stack": lambda x, y: (cp.stack([x, y]), cp.stack([x, y], axis=1)), "vstack": lambda x, y: (cp.vstack([x, y]), cp.hstack([x, y])), "roll": lambda x, y: (cp.roll(x, 1), cp.roll(x, -2, axis=1)),
        "likes": lambda x, y: (cp.zeros_like(x), cp.ones_like(x) + x, cp.full_like(x, 3), np.zeros_like(x)), "creation": lambda x, y: (cp.zeros((3, 4)) + 1, cp.ones(5, "f4") * 2, cp.full((2, 2), 7.0), x),
        "astype": lambda x, y: (x.astype("f8"), x.astype(np.int32), x.astype(cp.float16), x.copy(), x.astype("f4", copy=False)), "indexing": lambda x, y: (x[0], x[1, 2], x[-1], x[2:5, ::2], x[..., 0], x[1:1]),
        "attributes": lambda x, y: (x.shape, x.ndim, x.size, x.dtype, x.nbytes, x.itemsize, len(x), x * x.shape[0]), "diff": lambda x, y: (cp.diff(x), cp.diff(x, axis=0), np.diff(x, n=2)),
        "broadcast": lambda x, y: x[:, None] + y[None], "abs": lambda x, y: (abs(x), -x, +x), "comparisons": lambda x, y: (x < y, x == y, (x > 0) & ~(y > 0)),
        "same twice": lambda x, y: (x + y, x + y), "same array": lambda x, y: (x, x), "views of one result": lambda x, y: (lambda z: (z, z[1:], z.T))(x * 2),
        "isinstance": lambda x, y: x * 2 if isinstance(x, cp.ndarray) and not isinstance(x, np.ndarray) else x, "broadcast_to": lambda x, y: cp.broadcast_to(x[0], x.shape) + y,
        "not a number": lambda x, y: (cp.isnan(x), cp.isfinite(x), cp.signbit(x)), "pow": lambda x, y: x**2 + y**-1,
    }
    for name, function in cases.items():
        for kind, args in (("", (a, b)), (" fortran", (f, b)), (" strided", (cp.asarray(values("f4", 960).reshape(24, 40))[::2, ::4], b))):
            compare(name + kind, function, *args, exact=True, whole=True if kind == "" else MAYBE)
    print(f"functions done ({time.time() - STARTED:.0f} s)", flush=True)


def check_sums():
    """NumPy's bits; of the types that are named, or all."""
    shapes = (7, 5, 3), (1, 1, 1), (40, 3, 129), (4, 1, 5), (1, 7, 1), (300, 500, 7), (3, 2, 70001), (70001, 3, 2), (2, 9000, 3), (20, 30, 8192), (2, 3, 1 << 20), (1 << 20, 2, 3), (1, 1, (3 << 20) + 5)
    count, few = 0, ((7, 5, 3), (40, 3, 129), (3, 2, 70001), (70001, 3, 2))
    cases = {"f4": [*sum_cases.cases(shapes, ("f4",), ("c",)), *sum_cases.cases(few, ("f4",), ("transposed", "reversed", "every second"))], **{t: sum_cases.cases(few, (t,), ("c", "transposed")) for t in ("f8", "c8", "c16")}}
    chosen = [t for t in cases if t in sys.argv] or list(cases)
    for name, functions, layout, x in itertools.chain(*(cases[t] for t in chosen)):
        for function in functions:
            results = fusewire.compile(function, fullgraph=True)(layout(cp.asarray(x)))
            count += len(results)
            for text in sum_cases.differences([cp.asnumpy(r) for r in results], sum_cases.right(function, layout(x))):
                fail(f"{function.__name__} of {name}: {text}")
    print(f"sums of {', '.join(chosen)}: {count} with NumPy's bits ({time.time() - STARTED:.0f} s)", flush=True)


# --- writes, aliases, breaks -------------------------------------------------------------------------------------------


def add_to(x, y):
    x += y
    return x


def shift(x):
    x[1:] = x[:-1]


def shift_add(x):
    x[1:] += x[:-1]
    return x


def through_view(x):
    y = x[::2]
    y *= 3
    return x, y


def into(x, y):
    cp.add(x, y, out=y)
    np.multiply(x, y, x)
    return y


def elements(x):
    x[0] = 1
    x[-1] = x[1]
    x[2:5] = 7.5
    x[x > 3] = 0
    x.fill(2) if False else None
    return x.sum()


def float_in_between(x):
    y = x * 2 + 1
    scale = float(y.sum())
    return (y - 1) / scale


def branch_on_data(x):
    y = x * 2
    if (y.sum() > 0).item():
        return y + 1
    return y - 1


def library_in_between(x):
    y = cp.tanh(x) + 1
    z = cp.linalg.norm(y)
    return cp.exp(y / z) - 1


def mixed(x, y):
    return x + y


def loop(x, n):
    for i in range(n):
        x = x * 0.5 + i
    return x


class Layer:
    def __init__(self, w):
        self.w = w
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return cp.maximum(x * self.w, 0)


def check_rest():
    a = cp.asarray(values("f4", 40))
    for dtype in ("f4", "f8", "i4"):
        x, y = cp.asarray(values(dtype, 40)), cp.asarray(values(dtype, 40, 2))
        compare(f"add_to {dtype}", add_to, x, y)
        compare(f"into {dtype}", into, x, y)
        compare(f"shift {dtype}", shift, x)
        compare(f"shift_add {dtype}", shift_add, x)
        compare(f"through_view {dtype}", through_view, x)
        compare(f"overlapping {dtype}", add_to, x[1:], x[:-1], whole=MAYBE)
        compare(f"same {dtype}", add_to, x, x, whole=MAYBE)
        compare(f"reversed {dtype}", add_to, x, x[::-1], whole=MAYBE)
    # Numbers of all bits, and zeros; a quotient of a zero goes a way of its own.
    bits = np.random.default_rng(5).integers(0, 1 << 32, (2, 1 << 20), dtype=np.uint32)
    bits[0, ::7] = 0
    bits[0, ::11] = 1 << 31
    bits[1, ::13] = 0
    bits[1, ::17] = 0x7F800000
    x, y = (cp.asarray(b.view("f4")) for b in bits)
    compare("division of all numbers", lambda x, y: x / y, x, y)
    for divisor in (3.0, 1e-40, 1e30, 1.2e-38, float("inf"), -0.0, -7.5):
        compare(f"division by {divisor}", lambda x, d: x / d, x, divisor)
    compare("elements", elements, cp.arange(9.0))
    compare("float_in_between", float_in_between, plain("f8", 40), whole=False, exact=False)
    compare("branch_on_data", branch_on_data, plain("f8", 40), whole=False)
    compare("branch_on_data", branch_on_data, -cp.abs(plain("f8", 40)), whole=False)
    compare("library_in_between", library_in_between, plain("f8", 40), whole=False, exact=False)
    compare("loop", loop, a, 5)
    for x, y in ((np.ones(3), cp.ones(3)), (cp.ones(3), np.ones(3)), (cp.ones(3), np.array(1.0)), (cp.ones(3), cp.ones(4)), (cp.ones(3), "x")):
        compare(f"mixed {type(x).__name__} {type(y).__name__}", mixed, x, y, whole=False)
    layer = fusewire.compile(Layer(cp.arange(5.0)).__call__)
    if differ(layer(cp.ones(5)), cp.arange(5.0)) or differ(layer(cp.ones(5)), cp.arange(5.0)):
        fail("method")
    # A function of NumPy arrays first, then of CuPy's, and back.
    both = fusewire.compile(lambda x: x * 2 + 1)
    for x in (np.arange(4.0), cp.arange(4.0), np.arange(4.0), cp.arange(4.0)):
        result = both(x)
        if type(result) is not type(x) or not (cp.asnumpy(result) == np.arange(4.0) * 2 + 1).all():
            fail(f"both libraries: {type(x)} gave {type(result)}")
    # Streams.
    step = fusewire.compile(lambda x: cp.tanh(x) * 2)
    with cp.cuda.Stream(non_blocking=True) as stream:
        x = cp.ones(1 << 22, "f4")
        for _ in range(20):
            x = step(x)
        want = cp.ones(1 << 22, "f4")
        for _ in range(20):
            want = cp.tanh(want) * 2
        stream.synchronize()
        if differ(x, want):
            fail(f"a stream of its own: {differ(x, want)}")
    # Threads, and a stream that is being captured.
    scaled, wrong = fusewire.compile(lambda x, k: cp.tanh(x) * k), []

    def work(k):
        y = cp.arange(1000.0) + k
        for i in range(300):
            result = scaled(y, float(k))
            if i % 100 == 0 and differ(result, cp.tanh(y) * float(k)):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        fail(f"threads {wrong}")
    into_out, a, out = fusewire.compile(lambda x, out: cp.add(x * 2, 1, out=out)), cp.arange(1000.0), cp.zeros(1000)
    with cp.cuda.Stream(non_blocking=True) as stream:
        into_out(a, out)
        stream.synchronize()
        stream.begin_capture()
        into_out(a, out)
        graph = stream.end_capture()
        out[...], a[...] = 0, 5
        graph.launch(stream)
        stream.synchronize()
        if differ(out, cp.full(1000, 11.0)):
            fail("a captured stream")
    # Many calls leave nothing behind.
    f = fusewire.compile(lambda x, y: (x + y, x[1:], x.sum()))
    x, y = cp.ones(1000), cp.ones(1000)
    f(x, y)
    gc.collect()
    pool = cp.get_default_memory_pool()
    used, counts = pool.used_bytes(), (sys.getrefcount(x), sys.getrefcount(x.dtype), sys.getrefcount(cp.ndarray))
    for _ in range(100_000):
        f(x, y)
    after = (sys.getrefcount(x), sys.getrefcount(x.dtype), sys.getrefcount(cp.ndarray))
    # Small results are cut from pieces of 64 KB.
    if abs(pool.used_bytes() - used) > 1 << 16 or any(abs(n - m) > 20 for n, m in zip(counts, after)):
        fail(f"left behind: {pool.used_bytes() - used} bytes, references {counts} -> {after}")
    # Memory that is not there.
    x, double = cp.ones(16 << 20, "f4"), lambda x: x * 2
    compiled = fusewire.compile(double)
    compiled(x)
    pool.set_limit(size=pool.total_bytes() + (1 << 20))
    errors = []
    for function in (double, compiled):
        held = []
        try:
            while True:
                held.append(function(x))
        except Exception as e:
            errors.append(type(e))
    pool.set_limit(size=0)
    if errors != [cp.cuda.memory.OutOfMemoryError] * 2 or differ(compiled(x), x * 2):
        fail(f"out of memory: {errors}")
    print(f"rest done ({time.time() - STARTED:.0f} s)", flush=True)


# --- programs ----------------------------------------------------------------------------------------------------------


def jacobi(u, steps):
    for _ in range(steps):
        u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    return u


def black_scholes(price, strike, t, rate, vol):
    d1 = (cp.log(price / strike) + (rate + vol * vol / 2) * t) / (vol * cp.sqrt(t))
    d2 = d1 - vol * cp.sqrt(t)
    n1, n2 = 0.5 * (1 + cp.tanh(0.7978845608 * (d1 + 0.044715 * d1**3))), 0.5 * (1 + cp.tanh(0.7978845608 * (d2 + 0.044715 * d2**3)))
    call = price * n1 - strike * cp.exp(-rate * t) * n2
    return call, call - price + strike * cp.exp(-rate * t)


def softmax(x):
    e = cp.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layer_norm(x, gamma, beta):
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return (x - mean) / cp.sqrt(variance + 1e-5) * gamma + beta


def image(photo):
    x = photo.astype(cp.float32) / 255
    blurred = (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] + x[1:-1, 1:-1]) * 0.2
    sharp = cp.clip(x[1:-1, 1:-1] * 1.8 - blurred * 0.8, 0, 1)
    grey = (sharp * cp.asarray(WEIGHTS)).sum(axis=-1, keepdims=True) if False else sharp.mean(axis=-1, keepdims=True)
    toned = cp.sqrt(grey + (sharp - grey) * 1.2 + 0.05)
    return (cp.clip(toned, 0, 1) * 255).astype(cp.uint8)


WEIGHTS = [0.3, 0.6, 0.1]


def gelu(x, bias):
    y = x + bias
    return 0.5 * y * (1 + cp.tanh(0.7978845608 * (y + 0.044715 * y * y * y)))


def leapfrog(x, v, dt, steps):
    for _ in range(steps):
        v -= 0.5 * dt * x
        x += dt * v
        v -= 0.5 * dt * x
    return (0.5 * v * v + 0.5 * x * x).sum()


def standardise(x):
    return (x - x.mean(axis=0)) / x.std(axis=0)


def check_programs():
    rng = np.random.default_rng(1)
    on = lambda a, t="f4": cp.asarray(a.astype(t))
    for t in ("f4", "f8"):
        compare(f"jacobi {t}", jacobi, on(rng.random((65, 130)), t), 6)
        n = 10007
        compare(f"black_scholes {t}", black_scholes, on(rng.uniform(10, 50, n), t), on(rng.uniform(10, 50, n), t), on(rng.uniform(0.1, 2, n), t), 0.05, 0.3)
        for shape in ((33, 1000), (5, 70000), (2000, 7)):
            compare(f"softmax {t} {shape}", softmax, on(rng.standard_normal(shape), t), exact=False)
            compare(f"layer_norm {t} {shape}", layer_norm, on(rng.standard_normal(shape), t), on(rng.random(shape[1]), t), on(rng.random(shape[1]), t), exact=False)
        compare(f"gelu {t}", gelu, on(rng.standard_normal((64, 100)), t), on(rng.random(100), t))
        compare(f"leapfrog {t}", leapfrog, on(rng.random(500), t), on(rng.random(500), t), 0.01, 5, exact=False)
        compare(f"standardise {t}", standardise, on(rng.random((300, 20)), t), exact=False)
    compare("image", image, cp.asarray(rng.integers(0, 256, (120, 160, 3)).astype("u1")), exact=False)
    print(f"programs done ({time.time() - STARTED:.0f} s)", flush=True)


def check_gathers():
    """Elements by arrays of indices and masks: CuPy's bits, whatever the index."""
    on = lambda args: [cp.asarray(a) if isinstance(a, np.ndarray) else a for a in gather_cases.raw(args)]
    rng = np.random.default_rng(5)
    for function, args, exact in [*gather_cases.cases(rng), *gather_cases.selections(rng)]:
        compare(f"{function.__name__} {[(str(a.dtype), a.shape) for a in on(args) if isinstance(a, cp.ndarray)]}", function, *on(args), exact=exact)
    for function, args in gather_cases.left(rng):
        compare(f"{function.__name__}, left to CuPy", function, *on(args), whole=False, exact=False, times=3)
    x, i = cp.asarray(rng.standard_normal((9, 12)).astype("f4")), cp.asarray(rng.integers(-99, 99, 7))
    for a, of_array in enumerate(gather_cases.ARRAY_VIEWS):
        for b, of_index in enumerate(gather_cases.INDEX_VIEWS):
            compare(f"view {a} of an array by view {b} of indices", gather_cases.at_arguments, of_array(x, cp), of_index(i, cp))
    big = cp.asarray(rng.standard_normal((4000, 300)).astype("f4"))
    far = cp.asarray(rng.integers(-9000, 9000, 10**6))
    compare("elements of a large array", gather_cases.pairs, big, far, far[::-1] % 7)
    compare("rows of a large array", gather_cases.scaled, big, far[:70000], big[0])
    compare("columns of a large array", gather_cases.columns, big, far[:1000])
    compare("rows and their softmax", gather_cases.shifted_rows, big, far[:5000], exact=False)
    compare("a large array by another", gather_cases.row, cp.asarray(rng.standard_normal(10**7)), cp.asarray(rng.integers(-(2**62), 2**62, 10**7)))
    print(f"gathers done ({time.time() - STARTED:.0f} s)", flush=True)


def check_foreign():
    """Arrays of other libraries: what CuPy makes of them undecorated, results and errors."""
    kinds = {"interface": foreign_cases.ByInterface, "DLPack": foreign_cases.ByCapsule}
    try:
        import torch

        kinds["torch"] = torch.from_dlpack
    except ImportError:
        print("NO TORCH HERE: its tensors are not tried")
    for t in ("f4", "f8", "i8"):
        array = plain(t, (6, 7), 1)
        for kind, make in kinds.items():
            other = make(plain(t, (6, 7), 2) % 5)
            for function in foreign_cases.ALL:
                compare(f"{function.__name__} of {kind} {t}", function, array, other, whole=False, exact=False, times=3)
        for function in (foreign_cases.own, foreign_cases.to_other_types, foreign_cases.by_module):
            for name, view in (("itself", array), ("transposed", array.T), ("every other", array[::2, ::2])):
                compare(f"{function.__name__} {t} {name}", function, view, whole=MAYBE)
    print(f"foreign arrays done ({time.time() - STARTED:.0f} s)", flush=True)


def check_loops():
    """Time steps, and functions of CuPy's inside of a region: the same bits, layouts and errors as undecorated."""
    rng = np.random.default_rng(7)
    for name, function, args, exact in loop_cases.loops(rng):
        compare(name, function, *[cp.asarray(a) if isinstance(a, np.ndarray) else a for a in args], exact=exact, times=3)
    base = cp.asarray(rng.standard_normal((40, 12)))
    for name, pair in (("itself", (base, base)), ("reversed", (base, base[::-1])), ("shifted", (base[1:], base[:-1]))):
        compare(f"two_arrays, {name}", loop_cases.two_arrays, *pair, 30, times=3)
    big = cp.asarray(rng.standard_normal((300, 400)).astype("f4"))
    compare("normalised, large", loop_cases.normalised, big, 50, exact=False)  # sums over several blocks in a graph
    compare("last_of_turns, large", loop_cases.last_of_turns, big, 50, exact=False)
    with cp.cuda.Stream(non_blocking=True):
        compare("jacobi on another stream", loop_cases.jacobi, big, 70)
    for t in ("f4", "f8"):
        f = lambda *shape: cp.asarray(rng.standard_normal(shape).astype(t))
        a, b, x, s = f(6, 8), f(8, 5), f(8), f(6, 6)
        spd = s @ s.T + 6 * cp.eye(6, dtype=t)
        calls = {
            "a @ b": (lambda a, b: (a + 1) @ b * 2, (a, b)), "a.T @ b": (lambda a, b: a.T @ b + 1, (f(8, 6), b)), "a @ x": (lambda a, x: a @ (x * 2), (a, x)), "x @ x": (lambda x: (x + 1) @ x * 2, (x,)),
            "stacks": (lambda a, b: a @ b + 1, (f(3, 6, 8), f(3, 8, 5))), "dot": (lambda a, b: cp.dot(a, b) + a.dot(b), (a, b)), "vdot": (lambda x: cp.vdot(x, x) + 1, (x,)), "inner": (lambda a, x: cp.inner(a, x) * 2, (a, x)),
            "tensordot": (lambda a, b: cp.tensordot(a, b, 1) * 2, (a, b)), "trace": (lambda a: a.trace() + cp.trace(a), (s,)), "inv": (lambda s: cp.linalg.inv(s + 1) * 2, (spd,)),
            "solve": (lambda s, x: cp.linalg.solve(s, x + 1) * 2, (spd, f(6))), "det": (lambda s: cp.linalg.det(s) * s, (spd,)), "cholesky": (lambda s: cp.linalg.cholesky(s) + 1, (spd,)),
            "norm": (lambda a: a / cp.linalg.norm(a), (a,)), "norm of rows": (lambda a: cp.linalg.norm(a, axis=1) * 2, (a,)), "sort": (lambda a: cp.sort(a + 1)[:, ::-1], (a,)), "argsort": (lambda x: cp.argsort(x * 2) + 1, (x,)),
            "cumsum": (lambda x: cp.cumsum(x + 1) * 2, (x,)), "cumsum of rows": (lambda a: cp.cumsum(a, axis=1) * 2, (a,)), "cumprod": (lambda x: (x + 1).cumprod(), (x,)), "searchsorted": (lambda x, y: cp.searchsorted(x, y * 2) + 1, (cp.sort(x), f(5))),
            "fft": (lambda x: cp.fft.fft(x * 2) * 2, (x,)), "rfft": (lambda x: cp.fft.rfft(x * 2) * 2, (x,)), "irfft": (lambda x: cp.fft.irfft(x * 2) * 2, (x,)), "fft2": (lambda a: cp.fft.fft2(a * 2) * 2, (a,)),
            "tril": (lambda a: cp.tril(a * 2) + cp.triu(a), (a,)), "repeat": (lambda x: cp.repeat(x * 2, 3) + 1, (x,)), "tile": (lambda x: cp.tile(x * 2, 3) + 1, (x,)), "take": (lambda a, i: cp.take(a * 2, i, axis=0) + 1, (a, cp.asarray([0, 2, -1]))),
            "mlp": (loop_cases.mlp, (f(32, 20), f(20, 30), f(30), f(30, 4), f(4))), "powers": (loop_cases.powers, (spd, f(6), 40)), "numpy's": (lambda a, b: np.matmul(a, b) + np.linalg.norm(a), (a, b)),
        }
        for name, (function, args) in calls.items():
            compare(f"{name} {t}", function, *args, exact=name not in ("powers",), times=3)
    compare("product of other shapes", lambda a, b: (a + 1) @ b, a, a, whole=MAYBE)
    compare("inverse of no matrix", lambda a: cp.linalg.inv(a + 1), x, whole=MAYBE)
    print(f"loops and calls done ({time.time() - STARTED:.0f} s)", flush=True)


def main():
    what = sys.argv[1:] or ["elementwise", "functions", "sums", "programs", "gathers", "foreign", "loops", "rest"]
    cp.zeros(1).sum()  # a context
    print(f"{cp.cuda.runtime.getDeviceProperties(0)['name'].decode()}, CuPy {cp.__version__}, NumPy {np.__version__}", flush=True)
    checks = {"programs": check_programs, "gathers": check_gathers, "foreign": check_foreign, "loops": check_loops, "rest": check_rest, "functions": check_functions, "sums": check_sums, "elementwise": check_elementwise}
    with np.errstate(all="ignore"):
        for name, check in checks.items():
            if name in what:
                check()
    print(f"{len(FAILURES)} failures ({time.time() - STARTED:.0f} s)")
    for text in FAILURES:
        print("FAIL", text[:200])
    sys.exit(min(len(FAILURES), 99))


if __name__ == "__main__":
    main()
