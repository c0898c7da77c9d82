"""Time steps and library calls on arrays of CuPy, for tests/cuda/emulated.py (without a device) and package_on_gpu.py. Every function is to be one region.
`xp` is CuPy there, and NumPy for what is right."""

import numpy as np


def heat(u, dt, dx, n):
    for _ in range(n):
        lap = (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]) / dx**2
        u[1:-1, 1:-1] += dt * lap
    return u


def jacobi(u, n):
    for _ in range(n):
        u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    return u


def ping_pong(u, n):
    v = u.copy()
    for _ in range(n):
        v[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
        u, v = v, u
    return u


def wave(u, v, c, n):
    for _ in range(n):
        w = 2 * v - u
        w[1:-1, 1:-1] += c * (v[2:, 1:-1] + v[:-2, 1:-1] + v[1:-1, 2:] + v[1:-1, :-2] - 4 * v[1:-1, 1:-1])
        u, v = v, w
    return v


def three_arrays(u, v, n):
    w = np.zeros_like(u)
    for _ in range(n):
        w[1:-1] = 2 * v[1:-1] - u[1:-1] + 0.1 * (v[2:] - 2 * v[1:-1] + v[:-2])
        u, v, w = v, w, u
    return v


def gray_scott(u, v, n):
    for _ in range(n):
        lu = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        lv = v[2:, 1:-1] + v[:-2, 1:-1] + v[1:-1, 2:] + v[1:-1, :-2] - 4 * v[1:-1, 1:-1]
        uvv = u[1:-1, 1:-1] * v[1:-1, 1:-1] ** 2
        u[1:-1, 1:-1] += 0.16 * lu - uvv + 0.035 * (1 - u[1:-1, 1:-1])
        v[1:-1, 1:-1] += 0.08 * lv + uvv - 0.1 * v[1:-1, 1:-1]
    return u, v


def old_and_new(u, n):
    for _ in range(n):
        old = u.copy()
        u[1:-1] = 0.5 * (old[2:] + old[:-2])
    return u


def two_arrays(u, v, n):
    for _ in range(n):
        u[1:] += 0.5 * v[:-1]
        v[:-1] -= 0.25 * u[1:]
    return u


def momentum(x, v, n):
    for _ in range(n):
        v *= 0.9
        v += 0.1 * x
        x -= v
    return x


def rows(u, n):
    out = np.zeros_like(u)
    for k in range(n):
        out[k] = u[k] * 2 + k
    return out


def times_of_turns(u, dt, n):
    t = 0.0
    for k in range(n):
        u = u + dt * t + k * dt
        t += dt
    return u, t


def normalised(u, n):
    for _ in range(n):
        u = u * 1.1
        u = u / np.sqrt((u * u).sum())
    return u


def nested(u, n):
    for _ in range(n):
        for _ in range(60):
            u = u * 0.99 + 0.1
        u = u - u.mean()
    return u


def last_of_turns(u, n):
    for _ in range(n):
        u = u * 0.9 + 1
        s = u.sum(axis=0)
    return u, s


def until_small(u, tol):
    err = 1.0
    while err > tol:
        new = u * 0.5
        err = float(np.abs(new - u).max())
        u = new
    return u, err


def break_when_small(u, tol, n):
    for _ in range(n):
        new = u * 0.5
        err = np.abs(new - u).max()
        u = new
        if err < tol:
            break
    return u


def turns_until(u, tol, n):
    count = 0
    for k in range(n):
        u = u * 0.5
        count += 1
        if float(u.max()) < tol:
            break
    return u, k, count


def restored(u, n):
    saved = u.copy()
    for _ in range(n):
        u[1:] = u[:-1] * 0.5
    out = u * 1
    u[:] = saved
    return out


def turns_of_views(u, n):
    v = u[::-1]
    for _ in range(n):
        v[1:] = 0.5 * (v[1:] + v[:-1])
    return v


def loops(rng, n=47):
    """Name, function, arguments as NumPy's arrays, and whether the elements are exactly CuPy's."""
    a, b = rng.standard_normal((9, 12)), rng.standard_normal((9, 12))
    f = a.astype("f4")
    cases = [
        (heat, (a, 0.1, 0.5, n), True), (heat, (f, 0.1, 0.5, n), True), (jacobi, (a, n), True), (jacobi, (f, 0), True), (jacobi, (f, 1), True), (jacobi, (f, 100), True),
        (jacobi, (np.ones((3, 3)), n), True), (jacobi, (np.ones((2, 2)), n), True), (ping_pong, (a, n), True), (ping_pong, (f, n + 1), True), (wave, (a, b, 0.1, n), True),
        (three_arrays, (a, b, n), True), (gray_scott, (abs(a) * 0.1, abs(b) * 0.1, n), True), (old_and_new, (f, n), True), (two_arrays, (a, b, n), True), (momentum, (a, b, n), True),
        (rows, (rng.standard_normal((50, 4)), 50), True), (times_of_turns, (a, 0.1, n), True), (normalised, (a, n), False), (nested, (a, 50), False), (last_of_turns, (a, n), False),
        (until_small, (a, 1e-3), True), (break_when_small, (a, 1e-3, 100), True), (turns_until, (a, 1e-3, 100), True), (restored, (a, n), True), (turns_of_views, (a, n), True), (momentum, (np.ones(0), np.ones(0), n), True),
    ]
    return [(f"{function.__name__} {args[0].dtype} {args[0].shape} {args[-1]}", function, args, exact) for function, args, exact in cases]


# --- library calls: `xp` stands for the module -------------------------------------------------------------------------


def mlp(x, w1, b1, w2, b2):
    return np.tanh(np.maximum(x @ w1 + b1, 0) @ w2 + b2) * 0.5


def powers(a, x, n):
    for _ in range(n):
        y = a @ x
        x = y / np.sqrt((y * y).sum())
    return x
