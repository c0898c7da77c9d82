"""Partial differential equations on grids: whole arrays or elements."""

import numpy as np

from .common import ints, r


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


def heat_1d(u, alpha, steps):
    for _ in range(steps):
        u[1:-1] = u[1:-1] + alpha * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def heat_1d_elements(u, alpha, steps):
    new = u.copy()
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            new[i] = u[i] + alpha * (u[i + 1] - 2 * u[i] + u[i - 1])
        u, new = new, u
    return u


def heat_3d(u, alpha, steps):
    for _ in range(steps):
        lap = (u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1] + u[1:-1, 2:, 1:-1] + u[1:-1, :-2, 1:-1]
               + u[1:-1, 1:-1, 2:] + u[1:-1, 1:-1, :-2] - 6 * u[1:-1, 1:-1, 1:-1])
        u[1:-1, 1:-1, 1:-1] += alpha * lap
    return u


def red_black_sor(u, f, omega, h, sweeps):
    n, m = u.shape
    for _ in range(sweeps):
        for colour in range(2):
            for i in range(1, n - 1):
                for j in range(1 + (i + colour) % 2, m - 1, 2):
                    residual = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - h * h * f[i, j]) - u[i, j]
                    u[i, j] += omega * residual
    return u


def pressure_poisson(p, b, dx, dy, sweeps):
    for _ in range(sweeps):
        pn = p.copy()
        p[1:-1, 1:-1] = (((pn[1:-1, 2:] + pn[1:-1, :-2]) * dy**2 + (pn[2:, 1:-1] + pn[:-2, 1:-1]) * dx**2)
                         / (2 * (dx**2 + dy**2)) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 1:-1])
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0
    return p


def cavity_flow(u, v, p, dt, dx, dy, rho, nu, steps, sweeps):
    b = np.zeros_like(p)
    for _ in range(steps):
        un = u.copy()
        vn = v.copy()
        b[1:-1, 1:-1] = rho * (1 / dt * ((u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx) + (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy))
                               - ((u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx))**2
                               - 2 * ((u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dy) * (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx))
                               - ((v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy))**2)
        p = pressure_poisson(p, b, dx, dy, sweeps)
        u[1:-1, 1:-1] = (un[1:-1, 1:-1]
                         - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, :-2])
                         - vn[1:-1, 1:-1] * dt / dy * (un[1:-1, 1:-1] - un[:-2, 1:-1])
                         - dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, :-2])
                         + nu * (dt / dx**2 * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, :-2])
                                 + dt / dy**2 * (un[2:, 1:-1] - 2 * un[1:-1, 1:-1] + un[:-2, 1:-1])))
        v[1:-1, 1:-1] = (vn[1:-1, 1:-1]
                         - un[1:-1, 1:-1] * dt / dx * (vn[1:-1, 1:-1] - vn[1:-1, :-2])
                         - vn[1:-1, 1:-1] * dt / dy * (vn[1:-1, 1:-1] - vn[:-2, 1:-1])
                         - dt / (2 * rho * dy) * (p[2:, 1:-1] - p[:-2, 1:-1])
                         + nu * (dt / dx**2 * (vn[1:-1, 2:] - 2 * vn[1:-1, 1:-1] + vn[1:-1, :-2])
                                 + dt / dy**2 * (vn[2:, 1:-1] - 2 * vn[1:-1, 1:-1] + vn[:-2, 1:-1])))
        u[0, :] = 0
        u[:, 0] = 0
        u[:, -1] = 0
        u[-1, :] = 1
        v[0, :] = 0
        v[-1, :] = 0
        v[:, 0] = 0
        v[:, -1] = 0
    return u, v, p


def adi(u, p, q, steps, a, b):
    """Alternating directions: tridiagonal sweeps along columns, then along rows."""
    n = u.shape[0]
    v = np.zeros_like(u)
    for _ in range(steps):
        for i in range(1, n - 1):
            v[0, i] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = v[0, i]
            for j in range(1, n - 1):
                p[i, j] = a / (a * p[i, j - 1] + b)
                q[i, j] = (u[j, i - 1] + u[j, i] + u[j, i + 1] + a * q[i, j - 1]) / (a * p[i, j - 1] + b)
            v[n - 1, i] = 1.0
            for j in range(n - 2, 0, -1):
                v[j, i] = p[i, j] * v[j + 1, i] + q[i, j]
        for i in range(1, n - 1):
            u[i, 0] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = u[i, 0]
            for j in range(1, n - 1):
                p[i, j] = a / (a * p[i, j - 1] + b)
                q[i, j] = (v[i - 1, j] + v[i, j] + v[i + 1, j] + a * q[i, j - 1]) / (a * p[i, j - 1] + b)
            u[i, n - 1] = 1.0
            for j in range(n - 2, 0, -1):
                u[i, j] = p[i, j] * u[i, j + 1] + q[i, j]
    return u


def black_scholes_explicit(strike, rate, sigma, maturity, m, steps):
    """A European put by explicit finite differences."""
    s = np.linspace(0, 3 * strike, m + 1)
    v = np.maximum(strike - s, 0)
    dt = maturity / steps
    j = np.arange(1, m)
    a = 0.5 * dt * (sigma**2 * j**2 - rate * j)
    b = 1 - dt * (sigma**2 * j**2 + rate)
    c = 0.5 * dt * (sigma**2 * j**2 + rate * j)
    for k in range(steps):
        v[1:-1] = a * v[:-2] + b * v[1:-1] + c * v[2:]
        v[0] = strike * np.exp(-rate * (k + 1) * dt)
        v[-1] = 0
    return s, v


def ising_checkerboard(spins, beta, rng, sweeps):
    n, m = spins.shape
    black = (np.arange(n)[:, None] + np.arange(m)) % 2 == 0
    for _ in range(sweeps):
        for mask in (black, ~black):
            field = np.roll(spins, 1, 0) + np.roll(spins, -1, 0) + np.roll(spins, 1, 1) + np.roll(spins, -1, 1)
            flip = rng.random(spins.shape) < np.exp(-2 * beta * spins * field)
            spins[mask & flip] *= -1
    return spins


def ising_flips(spins, beta, rows, columns, uniform):
    n, m = spins.shape
    for k in range(len(uniform)):
        i = rows[k]
        j = columns[k]
        field = spins[(i + 1) % n, j] + spins[(i - 1) % n, j] + spins[i, (j + 1) % m] + spins[i, (j - 1) % m]
        change = 2 * spins[i, j] * field
        if change <= 0 or uniform[k] < np.exp(-beta * change):
            spins[i, j] = -spins[i, j]
    return spins


def rule_110(cells, steps):
    history = np.zeros((steps, len(cells)), dtype=np.int64)
    n = len(cells)
    for t in range(steps):
        history[t] = cells
        new = np.zeros_like(cells)
        for i in range(n):
            pattern = 4 * cells[(i - 1) % n] + 2 * cells[i] + cells[(i + 1) % n]
            new[i] = (110 >> pattern) & 1
        cells = new
    return history


def spins(n):
    return np.where(r(n, n) < 0.5, -1, 1)


def flips(n, k):
    rng = np.random.default_rng(4)
    return spins(n), 0.4, rng.integers(0, max(n, 1), k), rng.integers(0, max(n, 1), k), rng.random(k)


PROGRAMS = {
    "heat": (heat, lambda n: (r(n, n), n), 200),
    "jacobi_until": (jacobi_until, lambda n: (r(n, n), 1e-4), 60),
    "gauss_seidel": (gauss_seidel, lambda n: (r(n, n), 10), 80),
    "wave": (wave, lambda n: (r(n), 500), 2000),
    "fdtd": (fdtd, lambda n: (r(n, n), r(n, n), r(n, n), n), 200),
    "gray_scott": (gray_scott, lambda n: (r(n, n), r(n, n) * 0.1, 200), 128),
    "life": (life, lambda n: ((r(n, n) > 0.5).astype(np.int64), 100), 128),
    "life_elements": (life_elements, lambda n: (ints(2, n, n),), 80),
    "heat_1d": (heat_1d, lambda n: (r(n), 0.2, 200), 2000),
    "heat_1d_elements": (heat_1d_elements, lambda n: (r(n), 0.2, 20), 1000),
    "heat_3d": (heat_3d, lambda n: (r(n // 3, n // 3, n // 3), 0.1, 80), 100),
    "red_black_sor": (red_black_sor, lambda n: (r(n, n), r(n, n), 1.5, 0.1, 8), 80),
    "pressure_poisson": (pressure_poisson, lambda n: (r(n, n), r(n, n), 0.1, 0.1, 80), 60),
    "cavity_flow": (cavity_flow, lambda n: (np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n)), 0.001, 0.05, 0.05, 1.0, 0.1, 10, 20), 41),
    "adi": (adi, lambda n: (r(n, n), np.zeros((n, n)), np.zeros((n, n)), 3, 0.5, 2.5), 70),
    "black_scholes_explicit": (black_scholes_explicit, lambda n: (50.0, 0.05, 0.2, 1.0, n, 400), 100),
    "ising_checkerboard": (ising_checkerboard, lambda n: (spins(n), 0.4, np.random.default_rng(2), 40), 80),
    "ising_flips": (ising_flips, lambda n: flips(n, 50 * n), 80),
    "rule_110": (rule_110, lambda n: (np.eye(1, n, n // 2, dtype=np.int64)[0], 30), 200),
}
