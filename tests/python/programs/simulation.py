"""Simulation: partial differential equations, particles, automata."""

from dataclasses import dataclass, field

import numpy as np

from programs.registry import frozen, normal, program, single, strided, uniform, whole


@program(lambda: (uniform(50), 0.1, 20),
         lambda: (single(30), 0.1, 5),
         lambda: (uniform(3), 0.2, 3),
         lambda: (uniform(0), 0.1, 2),
         lambda: (strided(20), 0.1, 4),
         lambda: (whole(0, 9, 12), 0.1, 2),
         lambda: ([1.0, 2, 3], 0.1, 1),
         lambda: (frozen(uniform(5)), 0.1, 1),
         lambda: (uniform(400), 0.1, 200),
         variants=30)
def heat1d(u, alpha, steps):
    u = u.copy()
    for n in range(steps):
        un = u.copy()
        u[1:-1] = un[1:-1] + alpha * (un[2:] - 2 * un[1:-1] + un[:-2])
        u[0] = 0
        u[-1] = 0
    return u


@program(lambda: (uniform(20, 30), 0.1, 5),
         lambda: (single(8, 8), 0.2, 3),
         lambda: (uniform(100, 100), 0.2, 10),
         lambda: (frozen(uniform(6, 6)), 0.1, 2),
         lambda: (strided(6, 9), 0.1, 2),
         lambda: (uniform(5), 0.1, 1),
         lambda: (uniform(2, 2), 0.1, 1),
         variants=16)
def heat2d_inplace(u, k, steps):
    """explicit 2D heat equation, boundary fixed, changes u"""
    for _ in range(steps):
        lap = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
        u[1:-1, 1:-1] += k * lap
    return u.max(), u.min(), u.mean()


@program(lambda: (uniform(64), uniform(64), 0.5, 30),
         lambda: (single(16), single(16), 0.5, 8),
         lambda: (uniform(64), single(64), 0.4, 3),
         lambda: (uniform(4), uniform(5), 0.5, 2),
         variants=16)
def wave1d(u, u_prev, c, nt):
    energies = []
    for t in range(nt):
        u_next = np.zeros_like(u)
        u_next[1:-1] = 2 * u[1:-1] - u_prev[1:-1] + c**2 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u_prev, u = u, u_next
        if t % 5 == 0:
            energies.append(float((u**2).sum()))
    return u, energies


@program(lambda: (20, 0.001),
         lambda: (10, 0.0001),
         lambda: (5, 0.5),
         lambda: (3, 1e-09),
         variants=18)
def jacobi_laplace(n, tol):
    p = np.zeros((n, n))
    p[:, -1] = np.linspace(0, 1, n)
    err = 1.0
    it = 0
    while err > tol:
        pn = p.copy()
        p[1:-1, 1:-1] = (pn[1:-1, 2:] + pn[1:-1, :-2] + pn[2:, 1:-1] + pn[:-2, 1:-1]) / 4
        p[:, 0] = 0
        p[0, :] = p[1, :]
        p[-1, :] = p[-2, :]
        norm = np.sum(np.abs(pn))
        err = np.sum(np.abs(p - pn)) / norm if norm else 0.0
        it += 1
        if it >= 500:
            break
    return p, it, err


@program(lambda: (normal(8, 8) + 10 * np.eye(8), normal(8), 15),
         lambda: (normal(3, 3) + 5 * np.eye(3), normal(3), 30),
         lambda: (np.eye(4, dtype=np.float32), single(4), 3),
         lambda: (np.eye(2), normal(3), 3),
         variants=54)
def gauss_seidel(A, b, iters):
    x = np.zeros_like(b)
    n = len(b)
    for it in range(iters):
        x_old = x.copy()
        for i in range(n):
            s = 0.0
            for j in range(n):
                if j != i:
                    s += A[i, j] * x[j]
            x[i] = (b[i] - s) / A[i, i]
        if np.max(np.abs(x - x_old)) < 1e-8:
            break
    return x, it


@program(lambda: (uniform(40), 0.02, 10),
         lambda: (single(20), 0.1, 3),
         variants=8)
def burgers_laxfriedrichs(u, lam, nt):
    flux = lambda v: 0.5 * v * v
    for n in range(nt):
        f = flux(u)
        u[1:-1] = 0.5 * (u[2:] + u[:-2]) - 0.5 * lam * (f[2:] - f[:-2])
    return u


C = np.array([[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1], [1, 1], [-1, 1], [-1, -1], [1, -1]])


W = np.array([4/9] + [1/9] * 4 + [1/36] * 4)


OPP = [0, 3, 4, 1, 2, 7, 8, 5, 6]


def equilibrium(rho, ux, uy):
    feq = np.zeros((9,) + rho.shape)
    usqr = 1.5 * (ux**2 + uy**2)
    for i in range(9):
        cu = 3.0 * (C[i, 0] * ux + C[i, 1] * uy)
        feq[i] = W[i] * rho * (1 + cu + 0.5 * cu**2 - usqr)
    return feq


@program(lambda: (1 + 0.1 * uniform(12, 16), 0.6, 4),
         lambda: (1 + 0.1 * uniform(5, 5), 1.0, 2),
         lambda: (1 + 0.1 * uniform(40, 60), 0.7, 3),
         variants=30)
def lattice_boltzmann(rho, tau, steps):
    f = equilibrium(rho, 0.05 * np.ones_like(rho), np.zeros_like(rho))
    obstacle = np.zeros(rho.shape, dtype=bool)
    obstacle[2:4, 2:4] = True
    for it in range(steps):
        for i in range(9):
            f[i] = np.roll(np.roll(f[i], C[i, 0], axis=0), C[i, 1], axis=1)
        bounced = f[:, obstacle]
        bounced = bounced[OPP]
        rho = f.sum(axis=0)
        ux = (f * C[:, 0].reshape(9, 1, 1)).sum(axis=0) / rho
        uy = (f * C[:, 1].reshape(9, 1, 1)).sum(axis=0) / rho
        feq = equilibrium(rho, ux, uy)
        f += (feq - f) / tau
        f[:, obstacle] = bounced
    return rho, ux, uy


@dataclass
class Body:
    mass: float
    pos: np.ndarray
    vel: np.ndarray
    trail: list = field(default_factory=list)

    def kinetic(self):
        return 0.5 * self.mass * np.dot(self.vel, self.vel)


@program(lambda: (3, 5, 0.01),
         lambda: (2, 10, 0.1),
         lambda: (5, 2, 0.01),
         variants=16,
         tolerance=1e-12)
def nbody_objects(n, steps, dt):
    bodies = [Body(1.0 + i, np.array([float(i), i * 0.5, 0.0]), np.array([0.0, 0.1 * i, 0.0])) for i in range(n)]
    for s in range(steps):
        for b in bodies:
            acc = np.zeros(3)
            for o in bodies:
                if o is b:
                    continue
                d = o.pos - b.pos
                r2 = (d * d).sum() + 1e-6
                acc += o.mass * d / (r2 * np.sqrt(r2))
            b.vel += dt * acc
        for b in bodies:
            b.pos += dt * b.vel
            b.trail.append(b.pos.copy())
    return bodies, sum(b.kinetic() for b in bodies)


@program(lambda: (0.99, 0.01, 0.0, 0.3, 0.1, 100, 0.5),
         lambda: (0.9, 0.1, 0.0, 0.5, 0.2, 30, 1),
         lambda: (np.float32(0.9), np.float32(0.1), np.float32(0), 0.5, 0.2, 5, 1),
         variants=18)
def sir(S, I, Rr, beta, gamma, days, dt):
    hist = np.empty((days, 3))
    for day in range(days):
        hist[day] = S, I, Rr
        new_inf = beta * S * I * dt
        new_rec = gamma * I * dt
        S, I, Rr = S - new_inf, I + new_inf - new_rec, Rr + new_rec
    peak = hist[:, 1].argmax()
    return hist, int(peak), hist[peak, 1]


@program(lambda: ((uniform(10, 12) < 0.4).astype(int), 5),
         lambda: ((uniform(30, 30) < 0.3).astype(np.uint8), 10),
         lambda: (uniform(6, 6) < 0.5, 2),
         lambda: (np.zeros((0, 4), int), 2),
         variants=14)
def game_of_life(board, gens):
    seen = set()
    for g in range(gens):
        n = np.zeros(board.shape, dtype=int)
        n[1:, 1:] += board[:-1, :-1]; n[1:, :-1] += board[:-1, 1:]
        n[:-1, 1:] += board[1:, :-1]; n[:-1, :-1] += board[1:, 1:]
        n[:-1] += board[1:]; n[1:] += board[:-1]
        n[:, :-1] += board[:, 1:]; n[:, 1:] += board[:, :-1]
        birth = (n == 3) & (board == 0)
        survive = ((n == 2) | (n == 3)) & (board == 1)
        board[...] = 0
        board[birth | survive] = 1
        key = board.tobytes()
        if key in seen:
            print("cycle at generation", g)
            break
        seen.add(key)
    return board, len(seen)


@program(lambda: (-0.7 + 0.27j, 16, 12, 20),
         lambda: (0.3 + 0.5j, 30, 20, 8),
         variants=20)
def julia_masked(c, w, h, maxit):
    zx, zy = np.meshgrid(np.linspace(-1.5, 1.5, w), np.linspace(-1, 1, h))
    z = zx + 1j * zy
    M = np.zeros(z.shape, dtype=np.int32)
    alive = np.ones(z.shape, dtype=bool)
    for i in range(maxit):
        z[alive] = z[alive] ** 2 + c
        alive &= np.abs(z) <= 2.0
        M[alive] += 1
        if not alive.any():
            break
    return M


class GrayScott:
    def __init__(self, n, F=0.04, k=0.06):
        self.n, self.F, self.k = n, F, k
        self.U = np.ones((n + 2, n + 2))
        self.V = np.zeros((n + 2, n + 2))
        r = n // 4
        self.U[n//2-r:n//2+r, n//2-r:n//2+r] = 0.5
        self.V[n//2-r:n//2+r, n//2-r:n//2+r] = 0.25
        self.t = 0

    def lap(self, Z):
        return Z[0:-2, 1:-1] + Z[1:-1, 0:-2] - 4 * Z[1:-1, 1:-1] + Z[1:-1, 2:] + Z[2:, 1:-1]

    def step(self):
        U, V = self.U, self.V
        u, v = U[1:-1, 1:-1], V[1:-1, 1:-1]
        Lu, Lv = self.lap(U), self.lap(V)
        uvv = u * v * v
        u += 0.16 * Lu - uvv + self.F * (1 - u)
        v += 0.08 * Lv + uvv - (self.F + self.k) * v
        for Z in (U, V):
            Z[0, :] = Z[-2, :]
            Z[-1, :] = Z[1, :]
            Z[:, 0] = Z[:, -2]
            Z[:, -1] = Z[:, 1]
        self.t += 1


@program(lambda: (12, 8),
         lambda: (4, 2),
         lambda: (100, 10),
         variants=24)
def gray_scott(n, steps):
    g = GrayScott(n)
    for i in range(steps):
        g.step()
        if i % 4 == 0:
            print(f"{g.t:4d} U={g.U.mean():.6f} V={g.V.max():.6f}")
    return g


@program(lambda: (normal(50), normal(50), normal(5, 50), uniform(5)),
         lambda: (uniform(8), uniform(8), uniform(3, 8), uniform(3)),
         variants=24,
         tolerance=1e-12)
def particle_filter(particles, obs_noise, process_noise, observations):
    w = np.ones(len(particles)) / len(particles)
    est = []
    for z, noise in zip(observations, process_noise):
        particles = particles + 0.1 * noise
        w = w * np.exp(-0.5 * ((particles - z) / 0.5) ** 2)
        w += 1e-300
        w /= w.sum()
        est.append((w * particles).sum())
        if 1.0 / (w**2).sum() < len(particles) / 2:
            cum = np.cumsum(w)
            cum[-1] = 1.0
            idx = np.searchsorted(cum, (np.arange(len(w)) + 0.5) / len(w))
            particles = particles[idx]
            w = np.full(len(w), 1.0 / len(w))
    return np.array(est), particles, w


@program(lambda: (normal(30, 2), normal(30, 2) * 0.1, 10),
         lambda: (single(5, 2), single(5, 2), 3),
         variants=8)
def boids(pos, vel, steps):
    n = len(pos)
    for _ in range(steps):
        d = pos[:, None, :] - pos[None, :, :]
        dist = np.sqrt((d**2).sum(-1))
        near = (dist < 1.0) & (dist > 0)
        count = np.maximum(near.sum(1), 1)[:, None]
        centre = (near[..., None] * pos[None]).sum(1) / count
        align = (near[..., None] * vel[None]).sum(1) / count
        sep = (near[..., None] * d).sum(1)
        vel = vel + 0.01 * (centre - pos) + 0.05 * (align - vel) + 0.02 * sep
        speed = np.sqrt((vel**2).sum(1, keepdims=True))
        vel = np.where(speed > 0.5, vel / np.maximum(speed, 1e-9) * 0.5, vel)
        pos = (pos + vel + 5) % 10 - 5
    return pos, vel
