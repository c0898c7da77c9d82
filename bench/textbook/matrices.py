"""Linear algebra as the textbooks' loops have it."""

import numpy as np

from .common import dominant, ints, r, spd


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


def dot(a, b):
    s = 0.0
    for x, y in zip(a, b):
        s += x * y
    return s


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


def spmv(indptr, indices, data, x):
    y = np.zeros(len(indptr) - 1)
    for i in range(len(indptr) - 1):
        s = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            s += data[k] * x[indices[k]]
        y[i] = s
    return y


def sparse(n):
    """indptr, indices and data of a matrix with four elements a row on average, and a vector."""
    indptr = np.concatenate([[0], np.cumsum(ints(9, n))])
    return indptr, ints(n, indptr[-1]), r(indptr[-1]), r(n)


def cholesky(a):
    n = a.shape[0]
    low = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            s = 0.0
            for k in range(j):
                s += low[i, k] * low[j, k]
            if i == j:
                low[i, j] = np.sqrt(a[i, i] - s)
            else:
                low[i, j] = (a[i, j] - s) / low[j, j]
    return low


def triangular_solve(low, b):
    n = len(b)
    x = np.zeros(n)
    for i in range(n):
        s = b[i]
        for j in range(i):
            s -= low[i, j] * x[j]
        x[i] = s / low[i, i]
    return x


def back_substitution(up, b):
    n = len(b)
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - np.dot(up[i, i + 1:], x[i + 1:])) / up[i, i]
    return x


def gram_schmidt(a):
    m, n = a.shape
    q = np.zeros((m, n))
    upper = np.zeros((n, n))
    for j in range(n):
        v = a[:, j].copy()
        for i in range(j):
            upper[i, j] = q[:, i] @ a[:, j]
            v = v - upper[i, j] * q[:, i]
        upper[j, j] = np.sqrt(v @ v)
        q[:, j] = v / upper[j, j]
    return q, upper


def modified_gram_schmidt(a):
    m, n = a.shape
    q = a.copy()
    upper = np.zeros((n, n))
    for k in range(n):
        s = 0.0
        for i in range(m):
            s += q[i, k] * q[i, k]
        upper[k, k] = np.sqrt(s)
        for i in range(m):
            q[i, k] = q[i, k] / upper[k, k]
        for j in range(k + 1, n):
            s = 0.0
            for i in range(m):
                s += q[i, k] * q[i, j]
            upper[k, j] = s
            for i in range(m):
                q[i, j] -= q[i, k] * s
    return q, upper


def syrk(alpha, beta, c, a):
    n, m = a.shape
    for i in range(n):
        for j in range(i + 1):
            c[i, j] *= beta
        for k in range(m):
            for j in range(i + 1):
                c[i, j] += alpha * a[i, k] * a[j, k]
    return c


def syr2k(alpha, beta, c, a, b):
    n, m = a.shape
    for i in range(n):
        c[i, :i + 1] *= beta
        for k in range(m):
            c[i, :i + 1] += a[:i + 1, k] * alpha * b[i, k] + b[:i + 1, k] * alpha * a[i, k]
    return c


def trmm(alpha, a, b):
    m, n = b.shape
    for i in range(m):
        for j in range(n):
            for k in range(i + 1, m):
                b[i, j] += a[k, i] * b[k, j]
            b[i, j] = alpha * b[i, j]
    return b


def gauss_pivot(a, b):
    n = len(b)
    for k in range(n - 1):
        p = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[p, k]):
                p = i
        if p != k:
            for j in range(n):
                a[k, j], a[p, j] = a[p, j], a[k, j]
            b[k], b[p] = b[p], b[k]
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            for j in range(k, n):
                a[i, j] -= factor * a[k, j]
            b[i] -= factor * b[k]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        s = b[i]
        for j in range(i + 1, n):
            s -= a[i, j] * x[j]
        x[i] = s / a[i, i]
    return x


def gauss_pivot_rows(a, b):
    n = len(b)
    for k in range(n):
        p = k + np.argmax(np.abs(a[k:, k]))
        if p != k:
            a[[k, p]] = a[[p, k]]
            b[[k, p]] = b[[p, k]]
        for i in range(k + 1, n):
            m = a[i, k] / a[k, k]
            a[i, k:] -= m * a[k, k:]
            b[i] -= m * b[k]
    return a, b


def jacobi_eigenvalues(a, sweeps):
    n = a.shape[0]
    for _ in range(sweeps):
        for p in range(n - 1):
            for q in range(p + 1, n):
                if a[p, q] != 0:
                    theta = (a[q, q] - a[p, p]) / (2 * a[p, q])
                    if theta >= 0:
                        t = 1 / (theta + np.sqrt(1 + theta * theta))
                    else:
                        t = -1 / (-theta + np.sqrt(1 + theta * theta))
                    c = 1 / np.sqrt(1 + t * t)
                    s = t * c
                    for k in range(n):
                        x = a[k, p]
                        y = a[k, q]
                        a[k, p] = c * x - s * y
                        a[k, q] = s * x + c * y
                    for k in range(n):
                        x = a[p, k]
                        y = a[q, k]
                        a[p, k] = c * x - s * y
                        a[q, k] = s * x + c * y
    return np.diag(a)


def kaczmarz(a, b, x, sweeps):
    for _ in range(sweeps):
        for i in range(a.shape[0]):
            row = a[i]
            x = x + (b[i] - row @ x) / (row @ row) * row
    return x


def banded_solve(low, up, b, width):
    """L U x = b where both have bands of a width."""
    n = len(b)
    y = np.zeros(n)
    for i in range(n):
        s = b[i]
        for j in range(max(0, i - width), i):
            s -= low[i, j] * y[j]
        y[i] = s
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        s = y[i]
        for j in range(i + 1, min(n, i + width + 1)):
            s -= up[i, j] * x[j]
        x[i] = s / up[i, i]
    return x


def pca_power_iteration(X, k, steps):
    Xc = X - X.mean(axis=0)
    C = Xc.T @ Xc / (len(X) - 1)
    d = C.shape[0]
    values = np.zeros(k)
    vectors = np.zeros((k, d))
    for i in range(k):
        v = np.ones(d) / np.sqrt(d)
        for _ in range(steps):
            w = C @ v
            v = w / np.linalg.norm(w)
        values[i] = v @ C @ v
        vectors[i] = v
        C = C - values[i] * np.outer(v, v)
    return values, vectors


def pagerank(A, d, tol):
    n = A.shape[0]
    out = A.sum(axis=0)
    M = A / out
    rank = np.ones(n) / n
    while True:
        new = (1 - d) / n + d * (M @ rank)
        if np.abs(new - rank).sum() < tol:
            break
        rank = new
    return new


PROGRAMS = {
    "lu_rows": (lu_rows, lambda n: (dominant(n),), 120),
    "lu_elements": (lu_elements, lambda n: (dominant(n),), 100),
    "product": (product, lambda n: (r(n, n), r(n, n), np.zeros((n, n))), 80),
    "thomas": (thomas, lambda n: tuple(r(n) + k for k in (0, 4, 0, 1)), 5000),
    "dot": (dot, lambda n: (r(n), r(n)), 20000),
    "conjugate_gradient": (conjugate_gradient, lambda n: (spd(n), r(n), 100), 200),
    "spmv": (spmv, sparse, 2000),
    "cholesky": (cholesky, lambda n: (spd(n),), 80),
    "triangular_solve": (triangular_solve, lambda n: (dominant(n), r(n)), 200),
    "back_substitution": (back_substitution, lambda n: (dominant(n), r(n)), 500),
    "gram_schmidt": (gram_schmidt, lambda n: (dominant(n),), 80),
    "modified_gram_schmidt": (modified_gram_schmidt, lambda n: (dominant(n),), 70),
    "syrk": (syrk, lambda n: (1.5, 1.2, r(n, n), r(n, n // 2)), 70),
    "syr2k": (syr2k, lambda n: (1.5, 1.2, r(n, n), r(n, n // 2), r(n, n // 2)), 80),
    "trmm": (trmm, lambda n: (1.5, r(n, n), r(n, n // 2)), 80),
    "gauss_pivot": (gauss_pivot, lambda n: (r(n, n), r(n)), 70),
    "gauss_pivot_rows": (gauss_pivot_rows, lambda n: (r(n, n), r(n)), 80),
    "jacobi_eigenvalues": (jacobi_eigenvalues, lambda n: (spd(n // 3), 2), 80),
    "kaczmarz": (kaczmarz, lambda n: (dominant(n), r(n), np.zeros(n), 10), 80),
    "banded_solve": (banded_solve, lambda n: (dominant(n), dominant(n), r(n), 4), 500),
    "pca_power_iteration": (pca_power_iteration, lambda n: (r(n, 8), 3, 100), 200),
    "pagerank": (pagerank, lambda n: (r(n, n), 0.85, 1e-10), 100),
}
