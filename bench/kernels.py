"""Element loops of plain Python, unmodified, compiled, against the same loops in C++ (kernels.cpp).

    python bench/kernels.py [--only NAME] [--numba]

C++ is built on the fly: g++ -O3 -march=native -ffp-contract=off. Ratios are its time over ours, above 1: faster than C++; medians of
the ratios of alternating calls. Results are compared bit by bit. Compile time is that of the first call, less a later one, in a process that has
compiled a loop before, the least of several.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import subprocess
import tempfile
import time
import types
from pathlib import Path

import numpy as np

import fusewire


def lu_rows(a):
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            left = a[i, j]
            for k in range(j):
                left -= a[i, k] * a[k, j]
            a[i, j] = left / a[j, j]
        for j in range(i, n):
            left = a[i, j]
            for k in range(i):
                left -= a[i, k] * a[k, j]
            a[i, j] = left


def lu_columns(a):
    n = len(a)
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]


def gauss_seidel(u, sweeps):
    n = len(u)
    for _ in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                u[i, j] = 0.2 * (u[i - 1, j] + u[i, j - 1] + u[i, j] + u[i, j + 1] + u[i + 1, j])


def edit_distance(a, b, d):
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)


def shortest_if(d):
    n = len(d)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]


def shortest_min(d):
    n = len(d)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                d[i, j] = min(d[i, j], d[i, k] + d[k, j])


def crc(data):
    rest = 0xFFFF
    for byte in data:
        byte = int(byte)
        for _ in range(8):
            if (rest ^ byte) & 1:
                rest = (rest >> 1) ^ 0x8408
            else:
                rest >>= 1
            byte >>= 1
    return rest ^ 0xFFFF


def smooth(x, y, a):
    s = x[0]
    for i in range(len(x)):
        s = a * x[i] + (1.0 - a) * s
        y[i] = s


def sparse_product(starts, columns, values, x, y):
    for i in range(len(y)):
        s = 0.0
        for k in range(starts[i], starts[i + 1]):
            s += values[k] * x[columns[k]]
        y[i] = s


def tridiagonal(a, b, c, d, x):
    n = len(d)
    for i in range(1, n):
        w = a[i - 1] / b[i - 1]
        b[i] -= w * c[i - 1]
        d[i] -= w * d[i - 1]
    x[n - 1] = d[n - 1] / b[n - 1]
    for i in range(n - 2, -1, -1):
        x[i] = (d[i] - c[i] * x[i + 1]) / b[i]


def mandelbrot(out, limit):
    h, w = out.shape
    for i in range(h):
        for j in range(w):
            cr = -2.0 + 3.0 * j / w
            ci = -1.0 + 2.0 * i / h
            zr = 0.0
            zi = 0.0
            k = 0
            while k < limit and zr * zr + zi * zi <= 4.0:
                t = zr * zr - zi * zi + cr
                zi = 2.0 * zr * zi + ci
                zr = t
                k += 1
            out[i, j] = k


def folding(bases, best):
    n = len(bases)
    for i in range(n - 2, -1, -1):
        for j in range(i + 1, n):
            best[i, j] = max(best[i, j], best[i, j - 1])
            best[i, j] = max(best[i, j], best[i + 1, j])
            if i < j - 1:
                best[i, j] = max(best[i, j], best[i + 1, j - 1] + (1 if bases[i] + bases[j] == 3 else 0))
            else:
                best[i, j] = max(best[i, j], best[i + 1, j - 1])
            for k in range(i + 1, j):
                best[i, j] = max(best[i, j], best[i, k] + best[k + 1, j])


def queens(columns, rising, falling, free, n):
    full = (1 << n) - 1
    count = 0
    row = 0
    columns[0] = rising[0] = falling[0] = 0
    free[0] = full
    while row >= 0:
        left = free[row]
        if left == 0:
            row -= 1
        else:
            bit = left & -left
            free[row] = left ^ bit
            if row == n - 1:
                count += 1
            else:
                columns[row + 1] = columns[row] | bit
                rising[row + 1] = (rising[row] | bit) << 1
                falling[row + 1] = (falling[row] | bit) >> 1
                row += 1
                free[row] = full & ~(columns[row] | rising[row] | falling[row])
    return count


def product_dot(a, b, c):
    n = len(a)
    for i in range(n):
        for j in range(n):
            s = 0.0
            for k in range(n):
                s += a[i, k] * b[k, j]
            c[i, j] = s


def product_rows(a, b, c):
    n = len(a)
    for i in range(n):
        for k in range(n):
            for j in range(n):
                c[i, j] += a[i, k] * b[k, j]


def jacobi(u, v):
    n = len(u)
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            v[i, j] = 0.2 * (u[i, j] + u[i, j - 1] + u[i, j + 1] + u[i - 1, j] + u[i + 1, j])


def histogram(x, counts):
    for i in range(len(x)):
        counts[int(x[i] * 64.0)] += 1


def convolution(u, w, v):
    n = len(u)
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            s = 0.0
            for p in range(3):
                for q in range(3):
                    s += u[i + p - 1, j + q - 1] * w[p, q]
            v[i, j] = s


def leaky(x, y):
    for i in range(len(x)):
        if x[i] > 0.0:
            y[i] = 2.0 * x[i]
        else:
            y[i] = 0.5 * x[i]


def rotation(r, p, q):
    for i in range(len(p)):
        for j in range(3):
            s = 0.0
            for k in range(3):
                s += r[j, k] * p[i, k]
            q[i, j] = s


RNG = np.random.default_rng(1)


def r(*shape):
    return RNG.random(shape)


def dominant(n):
    return r(n, n) + n * np.eye(n)


def graph(n):
    """Lengths of roads that are whole, as floats."""
    return RNG.integers(1, 1000, (n, n)).astype(float)


def texts(n):
    letters = [RNG.integers(0, 4, n).astype(np.uint8) for _ in range(2)]
    d = np.zeros((n + 1, n + 1), np.int64)
    d[0] = d[:, 0] = np.arange(n + 1)
    return *letters, d


def sparse(n, each):
    return np.arange(n + 1) * each, RNG.integers(0, n, n * each), r(n * each), r(n), np.zeros(n)


def empty(dtype, *shapes):
    return tuple(np.zeros(shape, dtype) for shape in shapes)


# Function, arguments; what C++ is given behind the arrays comes from them.
KERNELS = {
    "lu_rows": (lu_rows, lambda: (dominant(200),), lambda a: (len(a),)),
    "lu_columns": (lu_columns, lambda: (dominant(200),), lambda a: (len(a),)),
    "gauss_seidel": (gauss_seidel, lambda: (r(300, 300), 10), lambda u, sweeps: (len(u), sweeps)),
    "edit_distance": (edit_distance, lambda: texts(700), lambda a, b, d: (len(a), len(b))),
    "shortest_if": (shortest_if, lambda: (graph(160),), lambda d: (len(d),)),
    "shortest_min": (shortest_min, lambda: (graph(160),), lambda d: (len(d),)),
    "crc": (crc, lambda: (RNG.integers(0, 256, 100000).astype(np.uint8),), lambda data: (len(data),)),
    "smooth": (smooth, lambda: (*empty(float, 500000), r(500000), 0.1)[1::-1] + (0.1,), lambda x, y, a: (len(x), a)),
    "sparse_product": (sparse_product, lambda: sparse(20000, 20), lambda starts, columns, values, x, y: (len(y),)),
    "tridiagonal": (tridiagonal, lambda: (r(20000), r(20000) + 4, r(20000), r(20000), np.zeros(20000)), lambda a, b, c, d, x: (len(d),)),
    "mandelbrot": (mandelbrot, lambda: (*empty(np.int64, (100, 100)), 200), lambda out, limit: (*out.shape, limit)),
    "folding": (folding, lambda: (RNG.integers(0, 4, 200).astype(np.int32), *empty(np.int32, (200, 200))), lambda bases, best: (len(bases),)),
    "queens": (queens, lambda: (*empty(np.int64, 16, 16, 16, 16), 9), lambda *given: (given[-1],)),
    "product_dot": (product_dot, lambda: (r(160, 160), r(160, 160), *empty(float, (160, 160))), lambda a, b, c: (len(a),)),
    "product_rows": (product_rows, lambda: (r(160, 160), r(160, 160), *empty(float, (160, 160))), lambda a, b, c: (len(a),)),
    "jacobi": (jacobi, lambda: (r(500, 500), *empty(float, (500, 500))), lambda u, v: (len(u),)),
    "histogram": (histogram, lambda: (r(500000), *empty(np.int64, 64)), lambda x, counts: (len(x),)),
    "convolution": (convolution, lambda: (r(500, 500), r(3, 3), *empty(float, (500, 500))), lambda u, w, v: (len(u),)),
    "leaky": (leaky, lambda: (r(100000) - 0.5, *empty(float, 100000)), lambda x, y: (len(x),)),
    "rotation": (rotation, lambda: (r(3, 3), r(50000, 3), *empty(float, (50000, 3))), lambda r, p, q: (len(p),)),
}


def build() -> ctypes.CDLL:
    folder = Path(tempfile.mkdtemp(prefix="fusewire-kernels-"))
    source, library = Path(__file__).with_suffix(".cpp"), folder / "kernels.so"
    subprocess.run(["g++", "-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


class Cpp:
    """The C++ function of a kernel, called with the arguments of the Python function."""

    def __init__(self, function, numbers):
        self.function, self.numbers = function, numbers
        function.restype = None

    def prepare(self, given):
        """A call without arguments, and where it answers a number."""
        answer = ctypes.c_int64()
        arrays = [ctypes.c_void_p(a.ctypes.data) for a in given if isinstance(a, np.ndarray)]
        numbers = [ctypes.c_double(v) if isinstance(v, float) else ctypes.c_int64(v) for v in self.numbers(*given)]
        arguments = [*arrays, *numbers, ctypes.byref(answer)]
        return lambda: self.function(*arguments), answer


def fresh(given):
    return tuple(a.copy() if isinstance(a, np.ndarray) else a for a in given)


def timed(call) -> float:
    begin = time.thread_time()
    call()
    return time.thread_time() - begin


def twin(function):
    """Another function of the same code, with no variant yet."""
    return types.FunctionType(function.__code__.replace(co_name=function.__name__), function.__globals__, function.__name__)


def differs(given, others) -> bool:
    return any(a.tobytes() != b.tobytes() for a, b in zip(given, others) if isinstance(a, np.ndarray))


def measure(name, library, candidates, rounds):
    """Median of C++ time over that of each candidate."""
    function, make, numbers = KERNELS[name]
    given = make()
    cpp = Cpp(getattr(library, name), numbers)
    ratios = [[] for _ in candidates]
    expected, answer = None, None
    for number in range(rounds):
        own = fresh(given)
        call, answer = cpp.prepare(own)
        seconds = timed(call)
        for i, candidate in enumerate(candidates):
            theirs = fresh(given)
            result = [None]
            ratios[i].append(seconds / timed(lambda: result.__setitem__(0, candidate(*theirs))))
            if number == 0 and (differs(own, theirs) or (result[0] is not None and result[0] != answer.value)):
                raise SystemExit(f"{name}: the result is not that of C++")
    return [sorted(list_)[len(list_) // 2] for list_ in ratios]


def compile_ms(name) -> float:
    """What a first call takes longer than a later one."""
    function, make, _ = KERNELS[name]
    given = make()
    compiled = fusewire.compile(twin(function))
    first = timed(lambda: compiled(*fresh(given)))
    return 1e3 * (first - min(timed(lambda: compiled(*fresh(given))) for _ in range(3)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="kernels whose name contains this")
    parser.add_argument("--numba", action="store_true", help="njit of the same source beside it")
    parser.add_argument("--rounds", type=int, default=25)
    options = parser.parse_args()
    library = build()
    compile_ms("crc")   # LLVM starts
    print(f"{'kernel':18}{'C++/ours':>10}{'compile ms':>12}{'breaks':>8}" + (f"{'C++/numba':>11}" if options.numba else ""))
    ratios, peers, compiles = [], [], []
    for name in KERNELS:
        if options.only not in name:
            continue
        compiles.append(compile_ms(name))
        candidates = [fusewire.compile(KERNELS[name][0])]
        if options.numba:
            import numba
            candidates.append(numba.njit(KERNELS[name][0]))
        for candidate in candidates:
            for _ in range(2):
                candidate(*fresh(KERNELS[name][1]()))
        found = measure(name, library, candidates, options.rounds)
        ratios.append(found[0])
        peers += found[1:]
        breaks = len(fusewire._fusewire.describe(candidates[0])["breaks"])
        print(f"{name:18}{found[0]:10.2f}{compiles[-1]:12.1f}{breaks:8}" + (f"{found[1]:11.2f}" if options.numba else ""), flush=True)
    mean = lambda values: math.exp(sum(map(math.log, values)) / len(values))
    print(f"geometric mean {mean(ratios):.2f}, least {min(ratios):.2f}, median compile {sorted(compiles)[len(compiles) // 2]:.1f} ms"
          + (f"; numba {mean(peers):.2f}" if peers else ""))


if __name__ == "__main__":
    main()
