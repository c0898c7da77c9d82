"""Statistics and learning."""

import numpy as np

from programs.registry import normal, program, single, uniform, whole


@program(lambda: (normal(30), whole(0, 30, 20, 30)),
         lambda: (single(8), whole(0, 8, 5, 8)),
         lambda: (normal(4), whole(0, 9, 2, 4)),
         lambda: (normal(500), whole(0, 500, 100, 500)),
         variants=26)
def bootstrap_mean(data, index):
    means = np.array([data[idx].mean() for idx in index])
    means.sort()
    lo, hi = means[int(0.025 * len(means))], means[int(0.975 * len(means))]
    return means.mean(), means.std(ddof=1), (lo, hi)


@program(lambda: (normal(60, 2), 3, 10),
         lambda: (single(20, 3), 2, 5),
         lambda: (np.ones((5, 2)), 2, 3),
         lambda: (normal(500, 4), 8, 20),
         lambda: (normal(3, 1), 4, 2),
         variants=42)
def kmeans(X, k, iters):
    centroids = X[:k].copy()
    for it in range(iters):
        d = np.linalg.norm(X[:, None] - centroids[None], axis=2)
        labels = np.argmin(d, axis=1)
        new = np.empty_like(centroids)
        for j in range(k):
            members = X[labels == j]
            if len(members) == 0:
                new[j] = centroids[j]
            else:
                new[j] = members.mean(axis=0)
        if np.allclose(new, centroids):
            break
        centroids = new
    inertia = sum(((X[labels == j] - centroids[j]) ** 2).sum() for j in range(k))
    return centroids, labels, inertia, it


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


@program(lambda: (normal(50, 3), whole(0, 2, 50), 0.5, 40),
         lambda: (single(12, 2), whole(0, 2, 12), 0.1, 5),
         lambda: (normal(20, 2) * 1000, whole(0, 2, 20), 1.0, 5),
         lambda: (normal(2000, 10), whole(0, 2, 2000), 0.5, 20),
         variants=32,
         tolerance=1e-09)
def logreg(X, y, lr, n_iter):
    w = np.zeros(X.shape[1])
    for i in range(n_iter):
        p = sigmoid(X.dot(w))
        w -= lr * X.T.dot(p - y) / len(y)
    p = sigmoid(X @ w)
    eps = 1e-15
    pc = np.clip(p, eps, 1 - eps)
    loss = -np.mean(y * np.log(pc) + (1 - y) * np.log(1 - pc))
    acc = np.mean((p > 0.5) == y)
    return w, float(loss), acc


@program(lambda: (normal(60), 10),
         lambda: (single(20), 5),
         lambda: (np.ones(8), 3),
         lambda: (normal(2000), 30),
         lambda: (normal(4), 6),
         variants=24,
         tolerance=1e-12)
def autocorr(x, maxlag):
    x = x - x.mean()
    var = (x * x).sum()
    if var == 0:
        return np.full(maxlag, np.nan)
    return np.array([1.0] + [(x[:-k] * x[k:]).sum() / var for k in range(1, maxlag)])


@program(lambda: (normal(101), [0.1, 0.5, 0.9]),
         lambda: (single(10), (0.25,)),
         lambda: (normal(0), [0.5]),
         lambda: (np.array([1, np.nan, 3]), [0.5]),
         lambda: (whole(0, 100, 51), np.array([0, 1.0])),
         variants=16)
def quantiles_manual(x, qs):
    s = np.sort(x)
    n = len(s)
    out = []
    for q in qs:
        pos = q * (n - 1)
        lo = int(np.floor(pos))
        hi = min(lo + 1, n - 1)
        frac = pos - lo
        out.append(s[lo] * (1 - frac) + s[hi] * frac)
    return out, s[n // 2] if n else None


@program(lambda: (normal(30, 4),),
         lambda: (single(6, 2),),
         lambda: (np.ones((3, 3)),),
         lambda: (np.array([[1.0, np.nan], [2, 3], [4, 5]]),),
         lambda: (normal(500, 10),),
         lambda: (np.zeros((0, 2)),),
         lambda: (normal(1, 3),),
         variants=22,
         tolerance=1e-05)
def describe(X):
    names = [f"x{i}" for i in range(X.shape[1])]
    res = {}
    for name, col in zip(names, X.T):
        with np.errstate(invalid="ignore", divide="ignore"):
            m, s = col.mean(), col.std(ddof=1)
            z = (col - m) / s
            res[name] = {"mean": m, "std": s, "skew": (z**3).mean(), "kurt": (z**4).mean() - 3,
                         "nan": int(np.isnan(col).sum()), "min": np.nanmin(col), "argmax": int(col.argmax())}
    return res


@program(lambda: (normal(50),),
         lambda: (single(9),),
         lambda: (np.array([5.0]),),
         lambda: (np.zeros(0),),
         lambda: ([1, 2, 3],),
         lambda: (np.array([1.0, np.inf, 2, np.nan]),),
         variants=24)
def welford(xs):
    n, mean, m2 = 0, 0.0, 0.0
    mn = mx = None
    for x in xs:
        n += 1
        delta = x - mean
        mean += delta / n
        m2 += delta * (x - mean)
        mn = x if mn is None or x < mn else mn
        mx = x if mx is None or x > mx else mx
    if n < 2:
        return mean, float("nan"), mn, mx
    return mean, m2 / (n - 1), mn, mx


@program(lambda: (normal(40), 10),
         lambda: (single(30), 4),
         lambda: (whole(0, 20, 50), 5),
         lambda: (np.ones(3), 3),
         lambda: (normal(0), 2),
         lambda: (normal(5000), 50),
         variants=44)
def histogram_manual(x, bins):
    try:
        lo, hi = x.min(), x.max()
    except ValueError as e:
        print("empty:", e)
        return np.zeros(bins, int), None
    width = (hi - lo) / bins or 1.0
    idx = np.minimum(((x - lo) / width).astype(int), bins - 1)
    counts = np.bincount(idx, minlength=bins)
    edges = lo + width * np.arange(bins + 1)
    for c, e in zip(counts, edges):
        print("%8.3f %s" % (e, "#" * int(c if c < 20 else 20)))
    return counts, edges


@program(lambda: (np.array([[0.9, 0.1], [0.5, 0.5]]), 20),
         lambda: (uniform(4, 4), 5),
         lambda: (np.eye(3), 3),
         lambda: (np.array([[1.0, -1], [0.5, 0.5]]), 3),
         variants=22,
         tolerance=1e-09)
def markov_stationary(P, iters):
    if (P < 0).any():
        raise ValueError("negative probability")
    P = P / P.sum(axis=1, keepdims=True)
    pi = np.full(len(P), 1.0 / len(P))
    for i in range(iters):
        nxt = pi @ P
        if np.abs(nxt - pi).sum() < 1e-10:
            return nxt, i
        pi = nxt
    return pi, iters
