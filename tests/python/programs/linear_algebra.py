"""Linear algebra and graphs."""

import numpy as np

from programs.registry import normal, program, single, uniform, whole


@program(lambda: (normal(6, 6),),
         lambda: (single(4, 4),),
         lambda: (np.zeros((3, 3)),),
         lambda: (normal(2, 3),),
         lambda: (whole(-5, 5, 4, 4),),
         lambda: (normal(30, 30),),
         lambda: (np.asfortranarray(normal(5, 5)),),
         variants=56)
def lu_pivot(A):
    A = np.array(A, dtype=float)
    n, m = A.shape
    if n != m:
        raise np.linalg.LinAlgError("matrix must be square")
    P = np.arange(n)
    sign = 1
    for k in range(n - 1):
        p = k + np.argmax(np.abs(A[k:, k]))
        if A[p, k] == 0:
            raise np.linalg.LinAlgError("singular at column %d" % k)
        if p != k:
            A[[k, p]] = A[[p, k]]
            P[[k, p]] = P[[p, k]]
            sign = -sign
        A[k + 1:, k] /= A[k, k]
        A[k + 1:, k + 1:] -= np.outer(A[k + 1:, k], A[k, k + 1:])
    L = np.tril(A, -1) + np.eye(n)
    U = np.triu(A)
    return L, U, P, sign * np.prod(np.diag(A))


def spd(n):
    a = normal(n, n)
    return a @ a.T + n * np.eye(n)


@program(lambda: (spd(6),),
         lambda: (spd(3).astype(np.float32),),
         lambda: (-np.eye(3),),
         lambda: (np.eye(2, dtype=int) * 4,),
         lambda: (spd(20),),
         variants=28)
def cholesky(A):
    n = A.shape[0]
    L = np.zeros_like(A, dtype=float)
    for i in range(n):
        for j in range(i + 1):
            s = np.sum(L[i, :j] * L[j, :j])
            if i == j:
                d = A[i, i] - s
                if d <= 0:
                    raise ValueError(f"not positive definite: pivot {i} is {d:.3f}")
                L[i, j] = np.sqrt(d)
            else:
                L[i, j] = (A[i, j] - s) / L[j, j]
    return L


@program(lambda: (normal(6, 4),),
         lambda: (single(3, 3),),
         lambda: (np.zeros((3, 2)),),
         lambda: (normal(20, 12),),
         lambda: (normal(2, 4),),
         variants=36,
         tolerance=1e-05)
def qr_householder(A):
    R = np.array(A, dtype=np.float64, copy=True)
    m, n = R.shape
    Q = np.eye(m)
    for j in range(min(m - 1, n)):
        x = R[j:, j].copy()
        alpha = -np.copysign(np.sqrt((x * x).sum()), x[0])
        if alpha == 0:
            continue
        v = x
        v[0] -= alpha
        v /= np.sqrt((v * v).sum())
        R[j:] -= 2.0 * np.outer(v, v @ R[j:])
        Q[:, j:] -= 2.0 * np.outer(Q[:, j:] @ v, v)
    return Q, R


@program(lambda: (uniform(19), 4 + uniform(20), uniform(19), uniform(20)),
         lambda: (single(4), 4 + single(5), single(4), single(5)),
         lambda: (uniform(0), uniform(1), uniform(0), uniform(1)),
         lambda: (uniform(3), np.zeros(4), uniform(3), uniform(4)),
         lambda: (uniform(199), 4 + uniform(200), uniform(199), uniform(200)),
         variants=42)
def thomas(a, b, c, d):
    n = len(d)
    cp, dp = np.zeros(n), np.zeros(n)
    cp[0] = c[0] / b[0] if n > 1 else 0
    dp[0] = d[0] / b[0]
    for i in range(1, n):
        m = b[i] - a[i - 1] * cp[i - 1]
        if i < n - 1:
            cp[i] = c[i] / m
        dp[i] = (d[i] - a[i - 1] * dp[i - 1]) / m
    x = np.zeros(n)
    x[-1] = dp[-1]
    for i in range(n - 2, -1, -1):
        x[i] = dp[i] - cp[i] * x[i + 1]
    return x


@program(lambda: (normal(4, 4),),
         lambda: (normal(1, 1),),
         lambda: (whole(-4, 4, 5, 5),),
         lambda: (normal(3, 2),),
         variants=22)
def determinant_recursive(M):
    n = len(M)
    if n != M.shape[1]:
        raise ValueError("not square")
    if n == 1:
        return M[0, 0]
    if n == 2:
        return M[0, 0] * M[1, 1] - M[0, 1] * M[1, 0]
    det = 0
    for c in range(n):
        minor = np.delete(M[1:], c, axis=1)
        det += (-1) ** c * M[0, c] * determinant_recursive(minor)
    return det


@program(lambda: (normal(3, 4), normal(4, 5)),
         lambda: (single(2, 2), single(2, 2)),
         lambda: (normal(2, 3), normal(2, 3)),
         lambda: (whole(0, 5, 6, 6), whole(0, 5, 6, 6)),
         variants=12)
def matmul_triple(A, B):
    n, k = A.shape
    k2, m = B.shape
    assert k == k2, f"inner dimensions differ: {k} != {k2}"
    C = np.zeros((n, m), dtype=A.dtype)
    for i in range(n):
        for j in range(m):
            for l in range(k):
                C[i, j] += A[i, l] * B[l, j]
    return C


@program(lambda: (np.where(uniform(6, 6) < 0.5, uniform(6, 6) * 10, np.inf),),
         lambda: (np.full((3, 3), np.inf),),
         lambda: (whole(1, 9, 5, 5),),
         lambda: (uniform(30, 30),),
         variants=12)
def floyd_warshall(d):
    d = d.copy()
    n = d.shape[0]
    for i in range(n):
        d[i, i] = 0
    for k in range(n):
        d = np.minimum(d, d[:, k, None] + d[None, k, :])
    return d


@program(lambda: (uniform(5, 5), 0.85, 30),
         lambda: (np.zeros((3, 3)), 0.85, 5),
         lambda: ((uniform(50, 50) < 0.1).astype(float), 0.85, 60),
         variants=26,
         tolerance=1e-10)
def pagerank(links, d, iters):
    n = len(links)
    out = links.sum(axis=0)
    M = np.divide(links, out, out=np.full_like(links, 1 / n), where=out != 0)
    r = np.ones(n) / n
    for i in range(iters):
        r_new = (1 - d) / n + d * (M * r).sum(axis=1)
        delta = np.abs(r_new - r).sum()
        r = r_new
        if delta < 1e-9:
            break
    return r, i, np.argsort(-r, kind="stable")
