"""Statistics, learning, particles, finance and numerical methods."""

import numpy as np

from .common import r


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


def nbody(p, v, m, n):
    for _ in range(n):
        d = p[np.newaxis, :, :] - p[:, np.newaxis, :]
        r2 = (d * d).sum(axis=2) + 0.01
        a = (d * (m / (r2 * np.sqrt(r2)))[:, :, np.newaxis]).sum(axis=1)
        v = v + 0.001 * a
        p = p + 0.001 * v
    return p


def k_means(X, centres, steps):
    k = len(centres)
    for _ in range(steps):
        d = ((X[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        labels = d.argmin(axis=1)
        for j in range(k):
            members = X[labels == j]
            if len(members) > 0:
                centres[j] = members.mean(axis=0)
    return centres, labels


def k_means_elements(X, centres, steps):
    n, d = X.shape
    k = len(centres)
    labels = np.zeros(n, dtype=np.int64)
    for _ in range(steps):
        for i in range(n):
            best = np.inf
            for j in range(k):
                s = 0.0
                for a in range(d):
                    s += (X[i, a] - centres[j, a]) ** 2
                if s < best:
                    best = s
                    labels[i] = j
        sums = np.zeros((k, d))
        counts = np.zeros(k)
        for i in range(n):
            counts[labels[i]] += 1
            for a in range(d):
                sums[labels[i], a] += X[i, a]
        for j in range(k):
            if counts[j] > 0:
                for a in range(d):
                    centres[j, a] = sums[j, a] / counts[j]
    return labels


def nearest_neighbours(train, labels, test, k, classes):
    out = np.zeros(len(test), dtype=np.int64)
    for i in range(len(test)):
        d = np.sqrt(((train - test[i]) ** 2).sum(axis=1))
        nearest = np.argsort(d)[:k]
        votes = np.bincount(labels[nearest], minlength=classes)
        out[i] = np.argmax(votes)
    return out


def nearest_neighbour_elements(train, labels, test):
    out = np.zeros(len(test), dtype=np.int64)
    for i in range(len(test)):
        best = 1e300
        for j in range(len(train)):
            s = 0.0
            for a in range(train.shape[1]):
                d = train[j, a] - test[i, a]
                s += d * d
            if s < best:
                best = s
                out[i] = labels[j]
    return out


def n_body_pairs(pos, vel, mass, dt, steps):
    n = len(mass)
    for _ in range(steps):
        for i in range(n):
            for j in range(i + 1, n):
                dx = pos[i, 0] - pos[j, 0]
                dy = pos[i, 1] - pos[j, 1]
                dz = pos[i, 2] - pos[j, 2]
                d2 = dx * dx + dy * dy + dz * dz + 0.01
                mag = dt / (d2 * np.sqrt(d2))
                vel[i, 0] -= dx * mass[j] * mag
                vel[i, 1] -= dy * mass[j] * mag
                vel[i, 2] -= dz * mass[j] * mag
                vel[j, 0] += dx * mass[i] * mag
                vel[j, 1] += dy * mass[i] * mag
                vel[j, 2] += dz * mass[i] * mag
        for i in range(n):
            for a in range(3):
                pos[i, a] += dt * vel[i, a]
    return pos


def lotka_volterra(y):
    return np.array([1.1 * y[0] - 0.4 * y[0] * y[1], 0.1 * y[0] * y[1] - 0.4 * y[1]])


def runge_kutta(y, h, steps):
    out = np.zeros((steps + 1, len(y)))
    out[0] = y
    for i in range(steps):
        k1 = lotka_volterra(y)
        k2 = lotka_volterra(y + 0.5 * h * k1)
        k3 = lotka_volterra(y + 0.5 * h * k2)
        k4 = lotka_volterra(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        out[i + 1] = y
    return out


def oscillator(x, v):
    return v, -x - 0.1 * v


def runge_kutta_scalars(x, v, h, steps):
    for _ in range(steps):
        a1, b1 = oscillator(x, v)
        a2, b2 = oscillator(x + 0.5 * h * a1, v + 0.5 * h * b1)
        a3, b3 = oscillator(x + 0.5 * h * a2, v + 0.5 * h * b2)
        a4, b4 = oscillator(x + h * a3, v + h * b3)
        x += h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        v += h / 6 * (b1 + 2 * b2 + 2 * b3 + b4)
    return x, v


def monte_carlo_pi(rng, n):
    inside = 0
    for _ in range(n):
        x = rng.random()
        y = rng.random()
        if x * x + y * y <= 1.0:
            inside += 1
    return 4.0 * inside / n


def option_price(rng, s0, strike, rate, sigma, maturity, steps, paths):
    dt = maturity / steps
    s = np.full(paths, s0)
    for _ in range(steps):
        z = rng.standard_normal(paths)
        s = s * np.exp((rate - 0.5 * sigma**2) * dt + sigma * np.sqrt(dt) * z)
    return np.exp(-rate * maturity) * np.maximum(s - strike, 0).mean()


def binomial_option(s0, strike, rate, sigma, maturity, n):
    dt = maturity / n
    u = np.exp(sigma * np.sqrt(dt))
    d = 1 / u
    p = (np.exp(rate * dt) - d) / (u - d)
    discount = np.exp(-rate * dt)
    values = np.zeros(n + 1)
    for i in range(n + 1):
        values[i] = max(strike - s0 * u**i * d**(n - i), 0.0)
    for step in range(n - 1, -1, -1):
        for i in range(step + 1):
            hold = discount * (p * values[i + 1] + (1 - p) * values[i])
            values[i] = max(hold, strike - s0 * u**i * d**(step - i))
    return values[0]


def brownian_bridge(normals, t):
    n = len(normals)
    w = np.zeros(n + 1)
    dt = t / n
    for i in range(n):
        w[i + 1] = w[i] + np.sqrt(dt) * normals[i]
    bridge = np.zeros(n + 1)
    for i in range(n + 1):
        bridge[i] = w[i] - i / n * w[n]
    return bridge


def attitude(q, gyro, dt):
    """A quaternion driven by angular rates."""
    out = np.zeros((len(gyro), 4))
    for i in range(len(gyro)):
        wx, wy, wz = gyro[i]
        dq = 0.5 * np.array([-q[1] * wx - q[2] * wy - q[3] * wz,
                             q[0] * wx + q[2] * wz - q[3] * wy,
                             q[0] * wy - q[1] * wz + q[3] * wx,
                             q[0] * wz + q[1] * wy - q[2] * wx])
        q = q + dt * dq
        q = q / np.linalg.norm(q)
        out[i] = q
    return out


def bisection(targets, tol):
    roots = np.zeros(len(targets))
    for i in range(len(targets)):
        lo = 0.0
        hi = 2.0
        while hi - lo > tol:
            mid = 0.5 * (lo + hi)
            if mid * mid * mid < targets[i]:
                lo = mid
            else:
                hi = mid
        roots[i] = 0.5 * (lo + hi)
    return roots


def gaussian(x):
    return np.exp(-x * x / 2) / np.sqrt(2 * np.pi)


def simpson(a, b, n):
    h = (b - a) / n
    s = gaussian(a) + gaussian(b)
    for i in range(1, n):
        if i % 2 == 1:
            s += 4 * gaussian(a + i * h)
        else:
            s += 2 * gaussian(a + i * h)
    return s * h / 3


def welford(x):
    mean = 0.0
    m2 = 0.0
    n = 0
    for v in x:
        n += 1
        delta = v - mean
        mean += delta / n
        m2 += delta * (v - mean)
    return mean, m2 / (n - 1)


def seeded(seed):
    return np.random.default_rng(seed)


def correlation(x):
    c = np.cov(x)
    d = np.sqrt(np.diag(c))
    return c / np.outer(d, d)


def closest_pair(x, y):
    least = np.inf
    pair = (0, 0)
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            d = (x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2
            if d < least:
                least = d
                pair = (i, j)
    return pair, least


PROGRAMS = {
    "correlation": (correlation, lambda n: (r(8, n),), 20000),
    "closest_pair": (closest_pair, lambda n: (r(n), r(n)), 150),
    "leapfrog": (leapfrog, lambda n: (r(n), r(n), 1000), 100),
    "lorenz": (lorenz, lambda n: (np.array([1.0, 1.0, 1.0]), n), 1000),
    "newton": (newton, lambda n: (r(n) + 1,), 1000),
    "logistic_regression": (logistic_regression, lambda n: (r(n, 8), (r(n) > 0.5) * 1.0, np.zeros(8), 200), 500),
    "nbody": (nbody, lambda n: (r(n, 3), r(n, 3), r(n), 100), 64),
    "k_means": (k_means, lambda n: (r(n, 3), r(4, 3), 30), 500),
    "k_means_elements": (k_means_elements, lambda n: (r(n, 3), r(4, 3), 5), 400),
    "nearest_neighbours": (nearest_neighbours, lambda n: (r(n, 4), seeded(5).integers(0, 3, n), r(n, 4), 5, 3), 300),
    "nearest_neighbour_elements": (nearest_neighbour_elements, lambda n: (r(n, 4), seeded(5).integers(0, 3, n), r(n, 4)), 100),
    "n_body_pairs": (n_body_pairs, lambda n: (r(n // 4, 3), r(n // 4, 3), r(n // 4), 0.001, 8), 120),
    "runge_kutta": (runge_kutta, lambda n: (np.array([10.0, 5.0]), 0.01, n), 1000),
    "runge_kutta_scalars": (runge_kutta_scalars, lambda n: (1.0, 0.0, 0.01, n), 10000),
    "monte_carlo_pi": (monte_carlo_pi, lambda n: (seeded(6), n), 20000),
    "option_price": (option_price, lambda n: (seeded(7), 100.0, 105.0, 0.05, 0.2, 1.0, n, 500), 252),
    "binomial_option": (binomial_option, lambda n: (100.0, 105.0, 0.05, 0.2, 1.0, n), 120),
    "brownian_bridge": (brownian_bridge, lambda n: (seeded(8).standard_normal(n), 1.0), 10000),
    "attitude": (attitude, lambda n: (np.array([1.0, 0.0, 0.0, 0.0]), r(n, 3), 0.01), 1000),
    "bisection": (bisection, lambda n: (r(n), 1e-9), 500),
    "simpson": (simpson, lambda n: (-1.0, 2.0, n), 5000),
    "welford": (welford, lambda n: (r(n),), 20000),
}
