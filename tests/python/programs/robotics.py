"""Robotics."""

from dataclasses import dataclass, field, replace

import numpy as np

from programs.registry import normal, program, single, strided, uniform


@dataclass
class PID:
    kp: float
    ki: float
    kd: float
    integral: float = 0.0
    prev: float = None
    limits: tuple = (-10.0, 10.0)
    log: list = field(default_factory=list)

    def __call__(self, error, dt):
        self.integral += error * dt
        d = 0.0 if self.prev is None else (error - self.prev) / dt
        self.prev = error
        u = self.kp * error + self.ki * self.integral + self.kd * d
        lo, hi = self.limits
        if u < lo or u > hi:
            self.integral -= error * dt
            u = min(max(u, lo), hi)
        self.log.append(u)
        return u


@program(lambda: (PID(2.0, 0.5, 0.1), 1.0, 50),
         lambda: (PID(200.0, 0, 0), 5.0, 20),
         lambda: (PID(1, 0, 0, limits=(-1, 1)), np.array([1.0, 2.0]), 3),
         lambda: (PID(np.float32(1), 0, 0), np.float32(2), 5),
         variants=22)
def pid_plant(pid, target, n):
    x, v = 0.0, 0.0
    xs = np.zeros(n)
    for i in range(n):
        u = pid(target - x, 0.05)
        v += (u - 0.5 * v) * 0.05
        x += v * 0.05
        xs[i] = x
    overshoot = max(0.0, xs.max() - target)
    return xs, overshoot, pid


def rot(axis, angle):
    c, s = np.cos(angle), np.sin(angle)
    if axis == "x":
        return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
    if axis == "y":
        return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    if axis == "z":
        return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    raise ValueError(f"unknown axis {axis!r}")


@program(lambda: ("xyz", [0.1, 0.2, 0.3], normal(5, 3)),
         lambda: ("zyx", normal(3), single(2, 3)),
         lambda: ("xq", [1, 2], normal(1, 3)),
         lambda: ("", [], normal(2, 3)),
         variants=26,
         tolerance=1e-09)
def euler_rotate(order, angles, pts):
    M = np.eye(3)
    for ax, an in zip(order, angles):
        M = M @ rot(ax, an)
    return pts @ M.T, np.trace(M), np.allclose(M @ M.T, np.eye(3))


@dataclass(frozen=True)
class GridConfig:
    size: int = 10
    res: float = 0.5
    l_occ: float = 0.85
    l_free: float = -0.4


@program(lambda: (GridConfig(), np.array([2.5, 2.5]), uniform(8) * 2),
         lambda: (GridConfig(size=6, res=1.0), np.array([3, 3]), uniform(5)),
         lambda: (replace(GridConfig(), size=4), np.array([50.0, 1]), uniform(3)),
         variants=30,
         tolerance=1e-09)
def occupancy_grid(cfg, pose, ranges):
    grid = np.zeros((cfg.size, cfg.size))
    for angle, r in zip(np.linspace(0, 2 * np.pi, len(ranges), endpoint=False), ranges):
        for s in np.arange(0, r, cfg.res / 2):
            cell = ((pose + s * np.array([np.cos(angle), np.sin(angle)])) / cfg.res).astype(int)
            if (cell < 0).any() or (cell >= cfg.size).any():
                break
            grid[tuple(cell)] += cfg.l_free
        else:
            end = np.floor((pose + r * np.array([np.cos(angle), np.sin(angle)])) / cfg.res).astype(int)
            if np.all((end >= 0) & (end < cfg.size)):
                grid[end[0], end[1]] += cfg.l_occ
    return 1 - 1 / (1 + np.exp(grid)), grid


@program(lambda: (normal(50, 3), normal(50, 3)),
         lambda: (single(5, 3), single(5, 3)),
         lambda: (normal(3), normal(3)),
         lambda: (normal(4, 2), normal(4, 2)),
         lambda: (strided(5, 3), uniform(1, 3)),
         variants=22)
def cross_and_dot(a, b):
    c = np.stack([a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1],
                  a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2],
                  a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]], axis=-1)
    d = (a * b).sum(-1)
    n = np.sqrt((c**2).sum(-1, keepdims=True))
    unit = np.divide(c, n, out=np.zeros_like(c), where=n > 0)
    return c, d, unit
