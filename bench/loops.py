"""Loops of plain Python over arrays and elements, unmodified: compiled against plain, and against numba where it is installed.

    python bench/loops.py [--only NAME] [--numba]

Every program is the usual textbook form. Ratios of the best of several rounds, alternating; first call in milliseconds. A program
that is not one compiled region counts all the same, with the number of its breaks.
"""

from __future__ import annotations

import argparse
import copy
import math
import time

import numpy as np

import fusewire

RNG = np.random.default_rng(1)


def heat(u, n):
    for _ in range(n):
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])


def jacobi_until(u, tol):
    err = 1.0
    while err > tol:
        new = u.copy()
        new[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        err = np.abs(new - u).max()
        u = new
    return u


def gauss_seidel(u, n):
    for _ in range(n):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])


def wave(u, n):
    previous = u.copy()
    for _ in range(n):
        following = np.zeros_like(u)
        following[1:-1] = 2 * u[1:-1] - previous[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        previous, u = u, following
    return u


def fdtd(ex, ey, hz, n):
    for t in range(n):
        ey[0, :] = t * 0.01
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


def gray_scott(u, v, n):
    for _ in range(n):
        lu = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
        lv = v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:] - 4 * v[1:-1, 1:-1]
        uvv = u[1:-1, 1:-1] * v[1:-1, 1:-1] * v[1:-1, 1:-1]
        u[1:-1, 1:-1] += 0.16 * lu - uvv + 0.06 * (1 - u[1:-1, 1:-1])
        v[1:-1, 1:-1] += 0.08 * lv + uvv - 0.122 * v[1:-1, 1:-1]


def life(g, n):
    for _ in range(n):
        s = np.roll(g, 1, 0) + np.roll(g, -1, 0) + np.roll(g, 1, 1) + np.roll(g, -1, 1)
        g = ((s == 3) | ((s == 2) & (g == 1))).astype(g.dtype)
    return g


def lu_rows(a):
    for k in range(len(a)):
        for i in range(k + 1, len(a)):
            a[i, k] /= a[k, k]
            a[i, k + 1:] -= a[i, k] * a[k, k + 1:]


def lu_elements(a):
    n = len(a)
    for i in range(n):
        for j in range(i):
            s = a[i, j]
            for k in range(j):
                s -= a[i, k] * a[k, j]
            a[i, j] = s / a[j, j]
        for j in range(i, n):
            s = a[i, j]
            for k in range(i):
                s -= a[i, k] * a[k, j]
            a[i, j] = s


def product(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s


def floyd_warshall(d):
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]


def thomas(a, b, c, d):
    n = len(d)
    cp, dp, x = np.zeros(n), np.zeros(n), np.zeros(n)
    cp[0], dp[0] = c[0] / b[0], d[0] / b[0]
    for i in range(1, n):
        m = b[i] - a[i] * cp[i - 1]
        cp[i] = c[i] / m
        dp[i] = (d[i] - a[i] * dp[i - 1]) / m
    x[-1] = dp[-1]
    for i in range(n - 2, -1, -1):
        x[i] = dp[i] - cp[i] * x[i + 1]
    return x


def smooth(x, a):
    y = np.empty_like(x)
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = a * y[i - 1] + (1 - a) * x[i]
    return y


def prefix(x):
    s = 0.0
    out = np.zeros_like(x)
    for i, v in enumerate(x):
        s = s + v
        out[i] = s
    return out


def dot(a, b):
    s = 0.0
    for x, y in zip(a, b):
        s += x * y
    return s


def bubble(a):
    for i in range(len(a)):
        for j in range(len(a) - 1):
            if a[j] > a[j + 1]:
                t = a[j]
                a[j] = a[j + 1]
                a[j + 1] = t


def mandelbrot(cr, ci, out):
    for i in range(len(ci)):
        for j in range(len(cr)):
            zr = 0.0
            zi = 0.0
            k = 0.0
            while k < 50.0 and zr * zr + zi * zi < 4.0:
                t = zr * zr - zi * zi + cr[j]
                zi = 2 * zr * zi + ci[i]
                zr = t
                k += 1.0
            out[i, j] = k


def logistic(x, r, n):
    for i in range(n):
        x = r * x * (1 - x)
    return x


def leapfrog(x, v, n):
    for _ in range(n):
        v = v - 0.005 * x
        x = x + 0.01 * v
        v = v - 0.005 * x
    return x


def lorenz(s, n):
    for _ in range(n):
        d = np.array([10.0 * (s[1] - s[0]), s[0] * (28.0 - s[2]) - s[1], s[0] * s[1] - 8.0 / 3.0 * s[2]])
        s = s + 0.001 * d
    return s


def newton(x):
    for i in range(100):
        dx = (x**3 - 2) / (3 * x**2)
        x = x - dx
        if np.abs(dx).max() < 1e-12:
            break
    return x


def logistic_regression(X, y, w, n):
    for _ in range(n):
        p = 1 / (1 + np.exp(-(X @ w)))
        w = w - 0.1 * (X.T @ (p - y) / len(y))
    return w


def conjugate_gradient(A, b, n):
    x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    rs = r @ r
    for _ in range(n):
        Ap = A @ p
        alpha = rs / (p @ Ap)
        x = x + alpha * p
        r = r - alpha * Ap
        rn = r @ r
        p = r + (rn / rs) * p
        rs = rn
    return x


def kalman(zs, F, H, Q, R, x, P):
    out = np.empty((len(zs), x.shape[0]))
    eye = np.eye(x.shape[0])
    for i in range(len(zs)):
        x = F @ x
        P = F @ P @ F.T + Q
        S = H @ P @ H.T + R
        K = P @ H.T @ np.linalg.inv(S)
        x = x + K @ (zs[i] - H @ x)
        P = (eye - K @ H) @ P
        out[i] = x
    return out


def nbody(p, v, m, n):
    for _ in range(n):
        d = p[np.newaxis, :, :] - p[:, np.newaxis, :]
        r2 = (d * d).sum(axis=2) + 0.01
        a = (d * (m / (r2 * np.sqrt(r2)))[:, :, np.newaxis]).sum(axis=1)
        v = v + 0.001 * a
        p = p + 0.001 * v
    return p


def r(*shape):
    return RNG.random(shape)


SPD = r(200, 200)
SPD = SPD @ SPD.T + 200 * np.eye(200)
def first_above(x, t):
    for i in range(len(x)):
        if x[i] > t:
            return i
    return -1


def search2(a, v):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] > v:
                return i, j
    return -1, -1


def count(x):
    n = 0
    for v in x:
        if v > 0:
            n += 1
    return n


def histogram(b, k):
    h = np.zeros(k, dtype=np.int64)
    for i in range(len(b)):
        h[b[i]] += 1
    return h


def permuted(x, idx):
    s = 0.0
    for i in range(len(idx)):
        s += x[idx[i]]
    return s


def spmv(indptr, indices, data, x):
    y = np.zeros(len(indptr) - 1)
    for i in range(len(indptr) - 1):
        s = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            s += data[k] * x[indices[k]]
        y[i] = s
    return y


def binary_search(a, v):
    lo = 0
    hi = len(a)
    while lo < hi:
        mid = (lo + hi) // 2
        if a[mid] < v:
            lo = mid + 1
        else:
            hi = mid
    return lo


def collatz(starts):
    out = np.zeros(len(starts), dtype=np.int64)
    for i in range(len(starts)):
        n = int(starts[i])
        c = 0
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            c += 1
        out[i] = c
    return out


def edit_distance(a, b):
    d = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int64)
    for i in range(len(a) + 1):
        d[i, 0] = i
    for j in range(len(b) + 1):
        d[0, j] = j
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[len(a), len(b)]


def lcs(a, b):
    d = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int64)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            if a[i - 1] == b[j - 1]:
                d[i, j] = d[i - 1, j - 1] + 1
            else:
                d[i, j] = max(d[i - 1, j], d[i, j - 1])
    return d[len(a), len(b)]


def knapsack(w, v, cap):
    best = np.zeros(cap + 1)
    for i in range(len(w)):
        for c in range(cap, w[i] - 1, -1):
            best[c] = max(best[c], best[c - w[i]] + v[i])
    return best[cap]


def crc(data):
    c = 0xFFFF
    for b in data:
        c ^= int(b)
        for _ in range(8):
            if c & 1:
                c = (c >> 1) ^ 0xA001
            else:
                c >>= 1
    return c


def sieve(n):
    p = np.ones(n, dtype=np.bool_)
    p[:2] = False
    for i in range(2, n):
        if i * i >= n:
            break
        if p[i]:
            for j in range(i * i, n, i):
                p[j] = False
    return p


def argbest(x):
    best = x[0]
    k = 0
    for i in range(1, len(x)):
        if x[i] > best:
            best = x[i]
            k = i
    return k, best


def viterbi(logp, trans):
    n, m = logp.shape
    back = np.zeros((n, m), dtype=np.int64)
    v = logp[0].copy()
    for t in range(1, n):
        new = np.zeros(m)
        for j in range(m):
            best = v[0] + trans[0, j]
            arg = 0
            for i in range(1, m):
                s = v[i] + trans[i, j]
                if s > best:
                    best = s
                    arg = i
            new[j] = best + logp[t, j]
            back[t, j] = arg
        v = new
    path = np.zeros(n, dtype=np.int64)
    path[n - 1] = np.argmax(v)
    for t in range(n - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return path


def otsu(h):
    total = h.sum()
    sum_all = 0.0
    for i in range(len(h)):
        sum_all += i * h[i]
    w = 0.0
    s = 0.0
    best = 0.0
    level = 0
    for i in range(len(h)):
        w += h[i]
        if w > 0 and w < total:
            s += i * h[i]
            m = s / w - (sum_all - s) / (total - w)
            between = w * (total - w) * m * m
            if between > best:
                best = between
                level = i
    return level


def rle(x):
    values = np.zeros_like(x)
    counts = np.zeros(len(x), dtype=np.int64)
    k = 0
    values[0] = x[0]
    counts[0] = 1
    for i in range(1, len(x)):
        if x[i] == values[k]:
            counts[k] += 1
        else:
            k += 1
            values[k] = x[i]
            counts[k] = 1
    return values[:k + 1], counts[:k + 1]


def life_elements(g):
    n, m = g.shape
    out = np.zeros_like(g)
    for i in range(n):
        for j in range(m):
            s = 0
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    if di != 0 or dj != 0:
                        s += g[(i + di) % n, (j + dj) % m]
            if s == 3 or (s == 2 and g[i, j] == 1):
                out[i, j] = 1
    return out


def random_walk(steps, n):
    visits = np.zeros(n, dtype=np.int64)
    pos = n // 2
    for s in steps:
        pos = (pos + int(s)) % n
        visits[pos] += 1
    return visits


def insertion(a):
    for i in range(1, len(a)):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key
    return a


def escape_counts(c, limit):
    out = np.zeros(c.shape, dtype=np.int64)
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            z = 0j
            k = 0
            for k in range(limit):
                z = z * z + c[i, j]
                if z.real * z.real + z.imag * z.imag > 4.0:
                    break
            out[i, j] = k
    return out


def ints(most, *shape):
    return RNG.integers(0, most, shape)


def sparse(n):
    """indptr, indices and data of a matrix with four elements a row, and a vector."""
    indptr = np.concatenate([[0], np.cumsum(RNG.integers(0, 9, n))])
    return indptr, ints(n, indptr[-1]), r(indptr[-1]), r(n)


PROGRAMS = {
    "heat": (heat, lambda: (r(200, 200), 200)),
    "jacobi_until": (jacobi_until, lambda: (r(60, 60), 1e-4)),
    "gauss_seidel": (gauss_seidel, lambda: (r(80, 80), 70)),
    "wave": (wave, lambda: (r(2000), 500)),
    "fdtd": (fdtd, lambda: (r(200, 200), r(200, 200), r(200, 200), 200)),
    "gray_scott": (gray_scott, lambda: (r(128, 128), r(128, 128) * 0.1, 200)),
    "life": (life, lambda: ((r(128, 128) > 0.5).astype(np.int64), 100)),
    "lu_rows": (lu_rows, lambda: (r(120, 120) + 120 * np.eye(120),)),
    "lu_elements": (lu_elements, lambda: (r(100, 100) + 100 * np.eye(100),)),
    "product": (product, lambda: (r(80, 80), r(80, 80), np.zeros((80, 80)))),
    "floyd_warshall": (floyd_warshall, lambda: (r(80, 80),)),
    "thomas": (thomas, lambda: tuple(r(5000) + k for k in (0, 4, 0, 1))),
    "smooth": (smooth, lambda: (r(20000), 0.3)),
    "prefix": (prefix, lambda: (r(20000),)),
    "dot": (dot, lambda: (r(20000), r(20000))),
    "bubble": (bubble, lambda: (r(150),)),
    "mandelbrot": (mandelbrot, lambda: (np.linspace(-2, 1, 100), np.linspace(-1, 1, 80), np.zeros((80, 100)))),
    "logistic": (logistic, lambda: (0.3, 3.7, 20000)),
    "leapfrog": (leapfrog, lambda: (r(100), r(100), 1000)),
    "lorenz": (lorenz, lambda: (np.array([1.0, 1.0, 1.0]), 1000)),
    "newton": (newton, lambda: (r(1000) + 1,)),
    "logistic_regression": (logistic_regression, lambda: (r(500, 8), (r(500) > 0.5) * 1.0, np.zeros(8), 200)),
    "conjugate_gradient": (conjugate_gradient, lambda: (SPD, r(200), 100)),
    "kalman": (kalman, lambda: (r(200, 2), np.eye(4) + 0.1 * np.eye(4, k=2), np.eye(2, 4), 0.01 * np.eye(4), 0.1 * np.eye(2), np.zeros(4), np.eye(4))),
    "nbody": (nbody, lambda: (r(64, 3), r(64, 3), r(64), 100)),
    "first_above": (first_above, lambda: (r(20000), 0.9999)),
    "search2": (search2, lambda: (r(120, 120), 0.99995)),
    "count": (count, lambda: (r(20000) - 0.5,)),
    "histogram": (histogram, lambda: (ints(16, 20000), 16)),
    "permuted": (permuted, lambda: (r(500), ints(500, 20000))),
    "spmv": (spmv, lambda: sparse(2000)),
    "binary_search": (binary_search, lambda: (np.sort(r(100000)), 0.3)),
    "collatz": (collatz, lambda: (np.arange(1, 2000),)),
    "edit_distance": (edit_distance, lambda: (ints(4, 150), ints(4, 140))),
    "lcs": (lcs, lambda: (ints(4, 150), ints(4, 140))),
    "knapsack": (knapsack, lambda: (ints(30, 40) + 1, r(40), 500)),
    "crc": (crc, lambda: (ints(256, 4000).astype(np.uint8),)),
    "sieve": (sieve, lambda: (50000,)),
    "argbest": (argbest, lambda: (r(20000),)),
    "viterbi": (viterbi, lambda: (r(500, 8), r(8, 8))),
    "otsu": (otsu, lambda: (ints(1000, 256).astype(float),)),
    "rle": (rle, lambda: (np.repeat(ints(4, 3000), 3),)),
    "life_elements": (life_elements, lambda: (ints(2, 80, 80),)),
    "random_walk": (random_walk, lambda: (ints(3, 20000) - 1, 50)),
    "insertion": (insertion, lambda: (r(150),)),
    "escape_counts": (escape_counts, lambda: (3 * r(30, 30) - 2 + 1j * r(30, 30), 100)),
}


def seconds(function, arguments) -> float:
    given = copy.deepcopy(arguments)
    begin = time.perf_counter()
    function(*given)
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="programs whose name contains this")
    parser.add_argument("--numba", action="store_true", help="njit of the same source; what it cannot compile counts as 1")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(f"{'program':22}{'plain ms':>10}{'ratio':>9}{'first ms':>10}{'breaks':>8}" + (f"{'numba':>9}{'first ms':>10}" if options.numba else ""))
    ratios, peers, firsts = [], [], []
    for name, (function, make) in PROGRAMS.items():
        if options.only not in name:
            continue
        arguments = make()
        candidates = [function, fusewire.compile(function)]
        if options.numba:
            import numba
            candidates.append(numba.njit(function))
        first = [math.nan] * 3
        for i in range(1, len(candidates)):
            try:
                first[i] = 1e3 * seconds(candidates[i], arguments)
                seconds(candidates[i], arguments)
            except Exception:   # a peer that cannot compile it
                candidates[i] = None
        best = [math.inf] * 3
        for _ in range(options.rounds):
            for i, candidate in enumerate(candidates):
                if candidate is not None:
                    best[i] = min(best[i], seconds(candidate, arguments))
        ratio, peer = best[0] / best[1], best[0] / best[2] if best[2] < math.inf else 1.0
        ratios.append(ratio)
        peers.append(peer)
        firsts.append(first[1])
        breaks = len(fusewire._fusewire.describe(candidates[1])["breaks"])
        print(f"{name:22}{1e3 * best[0]:10.2f}{ratio:9.2f}{first[1]:10.1f}{breaks:8}" + (f"{peer:9.2f}{first[2]:10.0f}" if options.numba else ""), flush=True)
    mean = lambda values: math.exp(sum(map(math.log, values)) / len(values))
    print(f"geometric mean {mean(ratios):.2f}, least {min(ratios):.2f}, median first call {sorted(firsts)[len(firsts) // 2]:.0f} ms" + (f"; numba {mean(peers):.2f}" if options.numba else ""))


if __name__ == "__main__":
    main()
