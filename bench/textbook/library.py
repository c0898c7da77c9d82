"""Programs whose statements are calls of NumPy's library: what lies between them is compiled, and each is one region."""

import numpy as np

from .common import dominant, r


def mlp_softmax(x, w1, b1, w2, b2):
    h = np.tanh(x @ w1 + b1)
    h = np.maximum(h @ w2 + b2, 0)
    e = np.exp(h - h.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def kalman_step(x, P, z, F, H, Q, R):
    x = F @ x
    P = F @ P @ F.T + Q
    S = H @ P @ H.T + R
    K = P @ H.T @ np.linalg.inv(S)
    x = x + K @ (z - H @ x)
    P = (np.eye(len(x)) - K @ H) @ P
    return x, P


def cg_step(A, x, r, p, rr):
    q = A @ p
    alpha = rr / (p @ q)
    x = x + alpha * p
    r = r - alpha * q
    new = r @ r
    p = r + new / rr * p
    return x, r, p, new


def covariance(X):
    """Covariances, correlations, and the share of the variance of each column."""
    centred = X - X.mean(axis=0)
    cov = centred.T @ centred / (len(X) - 1)
    sd = np.sqrt(np.diag(cov))
    return cov, cov / np.outer(sd, sd), np.diag(cov) / np.trace(cov)


def ridge(X, y, lam):
    w = np.linalg.solve(X.T @ X + lam * np.eye(X.shape[1]), X.T @ y)
    residual = y - X @ w
    return w, np.sqrt((residual**2).mean()), 1 - (residual**2).sum() / ((y - y.mean()) ** 2).sum()


def spectral_filter(x, keep):
    f = np.fft.rfft(x)
    power = f.real**2 + f.imag**2
    f[power < keep * power.max()] = 0
    return np.fft.irfft(f, len(x))


def black_scholes_paths(rng, s0, strike, rate, sigma, maturity, n):
    z = rng.standard_normal(n)
    s = s0 * np.exp((rate - 0.5 * sigma**2) * maturity + sigma * np.sqrt(maturity) * z)
    payoff = np.exp(-rate * maturity) * np.maximum(s - strike, 0)
    return payoff.mean(), payoff.std() / np.sqrt(n)


def bootstrap(x, places):
    means = x[places].mean(axis=1)
    return means.mean(), means.std(), np.percentile(means, 2.5), np.percentile(means, 97.5)


def n_body_frames(p, v, dt, steps):
    """Pulls of all pairs of a hundred bodies, (n, n, 3)."""
    for _ in range(steps):
        d = p[:, None, :] - p[None, :, :]
        a = -(d / ((d * d).sum(axis=-1) + 0.01)[..., None] ** 1.5).sum(axis=1)
        v += a * dt
        p += v * dt
    return p


def standard_scores(x):
    """Outliers by median and median deviation, without them once more."""
    deviation = np.abs(x - np.median(x))
    kept = x[deviation < 3 * np.median(deviation)]
    return (x - kept.mean()) / kept.std()


def histogram_entropy(x, bins):
    counts, _ = np.histogram(x, bins)
    p = counts / counts.sum()
    p = p[p > 0]
    return -(p * np.log(p)).sum()


PROGRAMS = {
    "mlp_softmax": (mlp_softmax, lambda n: (r(n, 64) - 0.5, r(64, 128) - 0.5, r(128), r(128, 10) - 0.5, r(10)), 256),
    "kalman_step": (kalman_step, lambda n: (r(4), np.eye(4), r(2), np.eye(4) + 0.1 * np.eye(4, k=1), np.eye(2, 4), 0.01 * np.eye(4), 0.1 * np.eye(2)), 4),
    "cg_step": (cg_step, lambda n: (dominant(n), r(n), r(n), r(n), 1.5), 200),
    "covariance": (covariance, lambda n: (r(n, 8),), 2000),
    "ridge": (ridge, lambda n: (r(n, 8), r(n), 0.1), 2000),
    "spectral_filter": (spectral_filter, lambda n: (r(n), 0.01), 4096),
    "black_scholes_paths": (black_scholes_paths, lambda n: (np.random.default_rng(3), 100.0, 105.0, 0.03, 0.2, 1.0, n), 100000),
    "bootstrap": (bootstrap, lambda n: (r(n), np.random.default_rng(4).integers(0, n, (200, n))), 500),
    "n_body_frames": (n_body_frames, lambda n: (r(n, 3), np.zeros((n, 3)), 0.01, 20), 100),
    "standard_scores": (standard_scores, lambda n: (r(n) ** 4,), 5000),
    "histogram_entropy": (histogram_entropy, lambda n: (r(n), 64), 20000),
}
