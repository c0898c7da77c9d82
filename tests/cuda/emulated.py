"""Decorated functions on arrays of CuPy without a device: their memory is the host's, the driver and NVRTC are those of
fake_libraries.cpp, which run kernels on the host. The same functions on NumPy's arrays say what is right. Run by
tests/python/test_cupy.py, which puts the libraries in front: prints a line per case, and exits with the number of failures."""

import ctypes
import signal
import sys
import time

import cupy as cp
import cupy_backends.cuda.stream
import numpy as np

import fusewire
import foreign_cases
import gather_cases
import loop_cases
import sum_cases

driver = ctypes.CDLL("libcuda.so.1")
FAILURES = []


def use_fake_stream():
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    function = ctypes.cast(driver.fake_stream, ctypes.c_void_p)
    use_fake_stream.name = ctypes.create_string_buffer(b"intptr_t (void)")
    capsule = new(function, ctypes.cast(use_fake_stream.name, ctypes.c_char_p), None)
    cupy_backends.cuda.stream.__pyx_capi__["get_current_stream_ptr"] = capsule


def allocate(size):
    memory = ctypes.create_string_buffer(size + 512)
    start = (ctypes.addressof(memory) + 255) // 256 * 256
    return cp.cuda.MemoryPointer(cp.cuda.UnownedMemory(start, max(size, 1), memory, 0), 0)


def host(array):
    """The memory of a fake array as an array of NumPy's."""
    element = np.frombuffer((ctypes.c_char * array.itemsize).from_address(array.data.ptr), array.dtype, 1)
    return np.lib.stride_tricks.as_strided(element, array.shape, array.strides, writeable=True)


def device(array):
    if not isinstance(array, np.ndarray):
        return array
    made = cp.ndarray(array.shape, array.dtype, allocate(max(array.nbytes, 1)), strides=array.strides)
    host(made)[...] = array
    return made


def same(got, want):
    if isinstance(want, (tuple, list)):
        return type(got) is type(want) and len(got) == len(want) and all(map(same, got, want))
    if not isinstance(got, cp.ndarray):
        return type(got) is type(want) and got == want
    numbers, want = host(got), np.asarray(want)  # `got` owns the memory
    if numbers.dtype != want.dtype or numbers.shape != want.shape:
        return False
    return np.allclose(numbers, want, rtol=1e-5, equal_nan=True) if want.dtype.kind in "fc" else np.array_equal(numbers, want)


def check(function, *args, launches=True):
    """`launches`: whether there are any; None: nobody knows."""
    compiled = fusewire.compile(function, fullgraph=True)
    name = f"{function.__name__} of {', '.join(str(getattr(a, 'dtype', a)) for a in args)}"
    try:
        for _ in range(2):  # the first call compiles
            own = [a.copy(order="K") if isinstance(a, np.ndarray) else a for a in gather_cases.inside(args)]
            theirs = [device(a) for a in gather_cases.raw(args)]
            with np.errstate(all="ignore"):
                want = function(*own)
            driver.fake_launches()
            got = compiled(*theirs)
            count = driver.fake_launches()
    except Exception as e:
        return FAILURES.append(f"{name}: {type(e).__name__} {e}")
    if not same(got, want) or not all(same(t, o) for t, o, a in zip(theirs, own, args) if isinstance(a, np.ndarray)):
        FAILURES.append(f"{name}: wrong")
    elif launches is not None and launches != (count > 0):
        FAILURES.append(f"{name}: {count} launches")
    else:
        print(f"{name}: {count} launches")


def chain(x, y):
    return np.tanh(x * y + x) * 0.5 + 0.5


def total(x):
    return x.sum()


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layer_norm(x, gamma, beta):
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5) * gamma + beta


def views(x):
    return x.T, x[0], x[1, 2], x.reshape(-1), x[None], x[::-1], x[1:, ::2]


def reductions(x):
    return x.max(), x.min(axis=0), x.argmax(axis=1), (x > 0).any(), (x > 0).all(axis=0), x.prod(axis=1), x.var(), np.count_nonzero(x > 0)


def add_to(x, y):
    x += y
    x[1:] *= 2
    return x


def shift(x):
    x[1:] = x[:-1]


def through_view(x):
    y = x[1:]
    y += 1
    return x, y


def jacobi(u):
    u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    return u


def numbers(x, s, k):
    twice = s * s + 1.0
    return x * twice - s / 3.0**s, x + k, twice


def same_twice(x):
    return x + 1, x + 1


def casts(x):
    return x.astype("f8"), x.astype(np.int32), x.astype("f4"), x.copy()


def select(x, y):
    return np.where(x > y, x, y * 2), np.clip(x, -0.5, 0.5)


def joins(x, y):
    return np.concatenate([x, y]), np.stack([x, y], axis=1)


def likes(x):
    return np.zeros_like(x) + x, np.ones_like(x), np.full_like(x, 3)


def transposed(x, y):
    return x.T + y.T, x[:, None, :] + y[None]


def mask(x):
    x[x > 0] = 0
    return x


def into(x, y):
    np.add(x, y, out=y)
    return y


def powers(x):
    return x**2, x**3, x**0.5


def sizes(x):
    return x * x.shape[0] / x.size, x.ndim, x.dtype, len(x)


def unrolled(x, n):
    for _ in range(n):
        x = x * 1.5 + 1
    return x


def complex_numbers(x):
    return x * x + 1j * x, x.conj()


def truths(x):
    return ~(x > 0) & (x < 1)


def affine(x):
    return x * 2 + 1


def check_failures():
    """A launch that fails declines the call; CuPy, which has no device here, is asked then."""
    compiled = fusewire.compile(affine)
    x = device(np.ones(5))
    compiled(x)
    driver.fake_fail_at(0)
    try:
        compiled(x)
        FAILURES.append("a failing launch was not noticed")
    except Exception as e:
        if "cuda" not in type(e).__module__:
            FAILURES.append(f"a failing launch: {e!r}")
    driver.fake_fail_at(-1)
    if not same(compiled(x), np.full(5, 3.0)):
        FAILURES.append("after a failing launch")
    memory = cp.cuda.get_allocator() if hasattr(cp.cuda, "get_allocator") else allocate

    def none(size):
        raise MemoryError("nothing is left")

    cp.cuda.set_allocator(none)
    try:
        compiled(x)
        FAILURES.append("missing memory was not noticed")
    except MemoryError as e:
        if str(e) != "nothing is left":
            FAILURES.append(f"missing memory: {e!r}")
    cp.cuda.set_allocator(memory)


def check_slabs():
    """Small results of the default pool are cut from pieces of 64 KB, which go back when the last of them dies."""

    class Pool:
        given = 0

        def malloc(self, size):
            Pool.given += 1
            return allocate(size)

    pool, before = Pool(), (cp.get_default_memory_pool, cp.cuda.get_allocator())
    cp.get_default_memory_pool = lambda: pool
    compiled = fusewire.compile(affine)
    x = device(np.arange(5.0))
    cp.cuda.set_allocator(pool.malloc)
    held = [compiled(x) for _ in range(300)]
    if not 3 <= Pool.given <= 4:
        FAILURES.append(f"slabs: {Pool.given} allocations for 300 results")
    places = {y.data.ptr for y in held}
    if len(places) != 300 or any(p % 256 for p in places) or any(not same(y, np.arange(5.0) * 2 + 1) for y in held):
        FAILURES.append("slabs: results overlap or are wrong")
    owner = held[0].data.mem
    references = sys.getrefcount(owner)
    del held[1:50]
    if not sys.getrefcount(owner) == references - 49:
        FAILURES.append("slabs: a result that has died holds on to its piece")
    if not same(held[0], np.arange(5.0) * 2 + 1):
        FAILURES.append("slabs: the rest of a piece")
    count = Pool.given
    large = [compiled(device(np.ones(1000))) for _ in range(3)]
    if Pool.given != count + 3 or len({y.data.ptr for y in large}) != 3:
        FAILURES.append("slabs: large results are CuPy's")
    cp.cuda.set_allocator(before[1])  # not the default pool's: every allocation is seen
    if compiled(x).data.mem.size != 40:
        FAILURES.append("slabs: another allocator is passed by")
    cp.get_default_memory_pool = before[0]


def check_background():
    """While the compiler is at work, CuPy is asked, which has no device here; soon the compiled code runs, and the next
    process finds it. Nothing that the calls in between did counts against it, in regions either."""

    def whole(x):
        return x * 7 + 1.5

    def parts(x):
        y = x * 9 + 2.5
        z = sys.exc_info() and y  # a call that is not compiled
        return z * 3

    for function, want in ((whole, 8.5), (parts, 34.5)):
        compiled = fusewire.compile(function, background=1)
        x, refused = device(np.ones(50)), 0
        started = time.time()
        while time.time() - started < 120:
            try:
                result = compiled(x)
                break
            except Exception as e:
                if "cuda" not in type(e).__module__:
                    return FAILURES.append(f"{function.__name__} in the background: {e!r}")
                refused += 1
        if not refused:
            FAILURES.append(f"{function.__name__} in the background: somebody waited")
        if not same(result, np.full(50, want)):
            FAILURES.append(f"{function.__name__} in the background: another result")
        print(f"{function.__name__} in the background: {refused} calls were CuPy's")


def check_mixed():
    errors = []
    for function in (lambda x, y: x + y, fusewire.compile(lambda x, y: x + y)):
        try:
            function(np.ones(3), device(np.ones(3)))
        except Exception as e:  # CuPy's own
            errors.append((type(e), str(e)))
    if len(errors) != 2 or errors[0] != errors[1]:
        FAILURES.append(f"NumPy's array and CuPy's: {errors}")
    both = fusewire.compile(lambda x: x * 2)
    for _ in range(2):
        for make in (np.asarray, device):
            x = make(np.arange(4.0))
            result = both(x)
            if type(result) is not type(x) or not same(result if isinstance(result, cp.ndarray) else device(result), np.arange(4.0) * 2):
                FAILURES.append(f"both libraries: {type(x)} gave {type(result)}")


def check_marks():
    x = device(np.ones(5))
    fusewire.mark_dynamic(x, 0)
    fusewire.mark_static(x)
    if not same(fusewire.compile(affine)(x), np.full(5, 3.0)):
        FAILURES.append("an array with marks")


def check_objects():
    """What CuPy itself says of the arrays that are made."""
    x = device(np.arange(12.0).reshape(3, 4))
    fresh, view, inner = fusewire.compile(lambda x: (x + 1, x[1:], x[1:].T))(x)
    facts = (type(fresh), fresh.base, fresh.flags.c_contiguous, fresh.flags.f_contiguous, fresh.size, fresh.nbytes, fresh.strides)
    if facts != (cp.ndarray, None, True, False, 12, 96, (32, 8)):
        FAILURES.append(f"a fresh array: {facts}")
    if view.base is not x or inner.base is not x or view.data.mem is not x.data.mem or view.data.ptr != x.data.ptr + 32:
        FAILURES.append("a view")
    before = sys.getrefcount(x), sys.getrefcount(x.dtype), sys.getrefcount(x.data.mem), sys.getrefcount(None)
    function = fusewire.compile(lambda x: (x + 1, x[1:]))
    for _ in range(3000):
        function(x)
    after = sys.getrefcount(x), sys.getrefcount(x.dtype), sys.getrefcount(x.data.mem), sys.getrefcount(None)
    if any(abs(b - a) > 30 for a, b in zip(before, after)):
        FAILURES.append(f"references: {before} -> {after}")


def use_host_functions():
    """Some of CuPy's functions, by NumPy: they are replaced before anything is compiled. Answers how often each has been called."""
    calls = {}

    def by_numpy(function, name):
        def call(*args, **keywords):
            calls[name] = calls.get(name, 0) + 1
            return device(np.asarray(function(*[host(a).copy() if isinstance(a, cp.ndarray) else a for a in args], **keywords)))

        call.__name__ = name
        return call

    def asarray(a, dtype=None, order=None, *, copy=None, blocking=False):
        calls["asarray"] = calls.get("asarray", 0) + 1
        seen = a.__cuda_array_interface__
        return cp.ndarray(seen["shape"], seen["typestr"], cp.cuda.MemoryPointer(cp.cuda.UnownedMemory(seen["data"][0], 8 * a.array.size, a, 0), 0))

    cp.asarray = asarray
    for name in ("matmul", "sort", "cumsum", "linalg.inv", "linalg.det"):
        module, _, last = name.rpartition(".")
        setattr(getattr(cp, module) if module else cp, last, by_numpy(getattr(getattr(np, module) if module else np, last), name))
    return calls


def library(a, x):
    return np.linalg.det(a) * x, np.linalg.inv(a + 1) @ x, np.sort(x)[::-1] + 1, np.cumsum(x, 0)[1:]


def both_sides(a, x):
    if (x.sum() > 0) and float(x[0]) < 10:
        y = x + 1
    else:
        y = x * 2
    return a @ y, float(y[0]) * 2 > 1


def check_calls(calls):
    rng = np.random.default_rng(1)
    f = lambda *shape: rng.standard_normal(shape).astype("f4")
    check(loop_cases.mlp, f(5, 7), f(7, 6), f(6), f(6, 3), f(3))
    if calls.get("matmul", 0) < 4:
        FAILURES.append(f"products were not CuPy's: {calls}")
    a, x = rng.standard_normal((6, 6)), rng.standard_normal(6)
    check(library, a, x)
    check(loop_cases.powers, a, x, 40)
    for sign in (1, -1):
        check(both_sides, a, sign * abs(x))
    if any(calls.get(name, 0) < 2 for name in ("sort", "cumsum", "linalg.inv", "linalg.det")):
        FAILURES.append(f"functions were not CuPy's: {calls}")

    def refuses(a, x):
        return np.linalg.inv(a) + x  # of another shape: Python is asked, and raises

    for function in (refuses, fusewire.compile(refuses)):
        try:
            function(device(rng.standard_normal((3, 4))), device(x))
            FAILURES.append("a call that raises")
        except Exception as e:
            if "LinAlgError" not in type(e).__name__:
                FAILURES.append(f"a call that raises: {e!r}")


def check_loops():
    for name, function, args, _ in loop_cases.loops(np.random.default_rng(2)):
        before = driver.fake_chain_launches()
        check(function, *args, launches=args[0].size > 0 and args[-1] != 0)
        alike = function in (loop_cases.heat, loop_cases.jacobi, loop_cases.gray_scott, loop_cases.ping_pong) and args[0].shape == (9, 12) and args[-1] >= 40
        graphs = driver.fake_chain_launches() - before
        if alike and graphs < 2:
            FAILURES.append(f"{name}: {graphs} graphs")
    shared = np.random.default_rng(3).standard_normal((9, 12))  # arrays that share memory
    for make in (lambda x: (x, x), lambda x: (x, x[::-1]), lambda x: (x[1:], x[:-1])):
        results = []
        for array in (shared.copy(), device(shared)):
            function = loop_cases.two_arrays if isinstance(array, np.ndarray) else fusewire.compile(loop_cases.two_arrays, fullgraph=True)
            with np.errstate(all="ignore"):
                results.append((function(*make(array), 30), array))
        if not same(results[1][0], results[0][0]) or not same(results[1][1], results[0][1]):
            FAILURES.append("a loop over arrays that share memory")


def check_sums():
    """NumPy's bits."""
    long, short = ((2, 2, 3000),), ((3, 4, 5), (3, 40, 20), (300, 2, 5))
    for name, functions, layout, x in [*sum_cases.cases(long, ("f4",)), *sum_cases.cases(short)]:
        for function in functions:
            compiled = fusewire.compile(function, fullgraph=True)
            driver.fake_launches()
            results = compiled(layout(device(x)))
            if not driver.fake_launches():
                FAILURES.append(f"{function.__name__} of {name}: nothing is compiled")
            for text in sum_cases.differences([host(r) for r in results], sum_cases.right(function, layout(x))):
                FAILURES.append(f"{function.__name__} of {name}: {text}")


def check_gathers():
    for function, args, _ in [*gather_cases.cases(np.random.default_rng(5)), *gather_cases.selections(np.random.default_rng(6))]:
        check(function, *args, launches=None)
    x, i = np.random.default_rng(9).standard_normal((9, 12)).astype("f4"), np.array([0, -1, -1, 0, -1, 0, 0])
    for a, of_array in enumerate(gather_cases.ARRAY_VIEWS):
        for b, of_index in enumerate(gather_cases.INDEX_VIEWS):
            got = fusewire.compile(gather_cases.at_arguments, fullgraph=True)(of_array(device(x), cp), of_index(device(i), cp))
            if not same(got, gather_cases.at_arguments(of_array(x, np), of_index(i, np))):
                FAILURES.append(f"view {a} of an array by view {b} of indices")
    for function, args in gather_cases.left(np.random.default_rng(7)):
        # An index that CuPy takes by rules of its own is a call of CuPy's; the rest is where Python goes on.
        called = function in gather_cases.CALLED or args[1].dtype == "u8"
        try:
            fusewire.compile(function, fullgraph=True)(*map(device, args))
            FAILURES.append(f"{function.__name__}: nothing is left to CuPy")
        except Exception as e:
            text = str(e)
            if not ("by a mask on a device" in text or "or a mask on a device" in text or (called and ("cuda" in type(e).__module__ or type(e) is IndexError))):
                FAILURES.append(f"{function.__name__}: {e!r}")


def check_foreign(calls):
    """What another library's array is converted to goes on as an array of CuPy's; the array itself is an object among others."""
    x = np.random.default_rng(8).standard_normal((3, 4))
    for function, want in ((foreign_cases.converted, (x * 3, (x * 3).sum())), (foreign_cases.converted_on_the_way, (x * 4, x)), (foreign_cases.passed_through, (x * 2, x * 2 + 1))):
        compiled, before = fusewire.compile(function), calls.get("asarray", 0)
        try:
            compiled(device(x), foreign_cases.ByInterface(device(x)))  # a first call with a break is CuPy's
        except cp.cuda.runtime.CUDARuntimeError:
            before = calls.get("asarray", 0)
        for _ in range(3):
            array = device(x)
            driver.fake_launches()
            got = compiled(array, foreign_cases.ByInterface(array))
            if not driver.fake_launches() or not all(map(same, got, want)):
                FAILURES.append(f"{function.__name__} of another library's array")
        if calls.get("asarray", 0) - before != (0 if function is foreign_cases.passed_through else 3):
            FAILURES.append(f"{function.__name__}: {calls} calls")
    for function, want in ((foreign_cases.own, (x * 2, True, x + 1, x[1:] + 1, x + 1)), (foreign_cases.to_other_types, (x.astype("f4"), x * 2 + 0j, x.astype("f4"), x)), (foreign_cases.by_module, np.sin(x))):
        compiled, before = fusewire.compile(function, fullgraph=True), calls.get("asarray", 0)
        for _ in range(2):
            if not same(compiled(device(x)), want) or calls.get("asarray", 0) != before:
                FAILURES.append(f"{function.__name__} of CuPy's own array")
    for T in (foreign_cases.ByInterface, foreign_cases.ByCapsule):
        array = device(x)
        for function in foreign_cases.ALL:  # what CuPy, which has no device here, says to it
            outcomes = []
            for run in (function, fusewire.compile(function)):
                try:
                    outcomes.append(type(run(array, T(array))))
                except Exception as e:
                    outcomes.append((type(e), str(e)))
            if outcomes[0] != outcomes[1] and "cuda" not in outcomes[0][0].__module__:
                FAILURES.append(f"{function.__name__} of {T.__name__}: {outcomes}")


def check_interrupt():
    """Ctrl-C ends a loop between launches; the arrays are as before the call."""
    compiled = fusewire.compile(loop_cases.jacobi)
    x = np.random.default_rng(4).standard_normal((9, 12))
    array = device(x)
    compiled(array, 0)

    def handler(*_):
        raise KeyboardInterrupt("planted")

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        compiled(array, 10**9)
        FAILURES.append("nobody noticed a signal")
    except KeyboardInterrupt as e:
        if str(e) != "planted" or not same(array, x):
            FAILURES.append("an interrupted loop has left something")
    signal.signal(signal.SIGALRM, before)
    if not same(compiled(array, 3), loop_cases.jacobi(x.copy(), 3)):
        FAILURES.append("after an interrupted loop")


def main():
    use_fake_stream()
    cp.cuda.set_allocator(allocate)
    calls = use_host_functions()
    rng = np.random.default_rng(0)
    a, b, d = rng.standard_normal((5, 7)).astype("f4"), rng.standard_normal((5, 7)).astype("f4"), rng.standard_normal((5, 7))
    i = rng.integers(-9, 9, (5, 7)).astype("i4")
    for x in (a, d, i):
        check(total, x)
        check(affine, x)
    for function in (softmax, reductions, shift, through_view, jacobi, same_twice, casts, likes, mask, sizes, truths):
        check(function, a)
    for function in (chain, add_to, select, joins, transposed, into):
        check(function, a, b)
    check(views, a, launches=False)
    check(layer_norm, a, a[0].copy(), b[0].copy())
    check(numbers, a, 2.5, 3)
    check(powers, np.abs(d))
    check(unrolled, a, 4)
    check(complex_numbers, d + 1j * d)
    check(affine, a.astype("f2"))
    check(affine, np.zeros((0, 4), "f4"), launches=False)
    check(affine, np.ones((1, 1)))
    check(affine, np.full((), 3.0))
    check_sums()
    check_gathers()
    check_loops()
    check_calls(calls)
    check_foreign(calls)
    check_interrupt()
    check_failures()
    check_slabs()
    check_background()
    check_mixed()
    check_objects()
    check_marks()
    for text in FAILURES:
        print("FAIL", text)
    sys.exit(min(len(FAILURES), 99))


if __name__ == "__main__":
    main()
