"""Tables filled step by step."""

import numpy as np

from programs.registry import normal, program, single, uniform, whole


@program(lambda: ("kitten", "sitting"),
         lambda: ("", "abc"),
         lambda: ("flaw", "lawn"),
         lambda: ("intentionally", "execution of things"),
         lambda: ([1, 2, 3], [2, 3, 4]),
         variants=18)
def edit_distance(a, b):
    d = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    d[:, 0] = np.arange(len(a) + 1)
    d[0, :] = np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[-1, -1], d


@program(lambda: (normal(12), normal(15)),
         lambda: (single(5), single(4)),
         lambda: (normal(0), normal(3)),
         lambda: (normal(6, 2), normal(7, 2)),
         lambda: (normal(30), normal(30)),
         variants=28)
def dtw(x, y):
    n, m = len(x), len(y)
    D = np.full((n + 1, m + 1), np.inf)
    D[0, 0] = 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            c = abs(x[i - 1] - y[j - 1]) if x.ndim == 1 else np.sqrt(((x[i - 1] - y[j - 1]) ** 2).sum())
            D[i, j] = c + min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1])
    return D[n, m], D[1:, 1:]


@program(lambda: ([1, 3, 4, 5], [1, 4, 5, 7], 7),
         lambda: (whole(1, 6, 8), whole(1, 9, 8), 15),
         lambda: ([], [], 5),
         lambda: (whole(1, 20, 30), uniform(30), 100),
         variants=30)
def knapsack(weights, values, cap):
    best = np.zeros(cap + 1)
    keep = np.zeros((len(weights), cap + 1), dtype=bool)
    for i, (w, v) in enumerate(zip(weights, values)):
        cand = best[:-w] + v if w else best + v
        better = cand > best[w:]
        best[w:] = np.where(better, cand, best[w:])
        keep[i, w:] = better
    chosen, c = [], cap
    for i in range(len(weights) - 1, -1, -1):
        if keep[i, c]:
            chosen.append(i)
            c -= weights[i]
    return best[cap], chosen[::-1]


@program(lambda: (uniform(4, 4), 0.9, 30),
         lambda: (single(3, 5), 0.5, 5),
         lambda: (np.full((5, 5), -1.0), 0.95, 100),
         variants=16)
def gridworld_value_iteration(reward, gamma, sweeps):
    V = np.zeros(reward.shape)
    actions = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
    def overlap(d):
        if d == 0:
            return slice(None), slice(None)
        return (slice(1, None), slice(None, -1))[::d]
    def shifted(V, dy, dx):
        out = V.copy()
        (ys, yd), (xs, xd) = overlap(dy), overlap(dx)
        out[yd, xd] = V[ys, xs]
        return out
    for it in range(sweeps):
        Q = np.stack([reward + gamma * shifted(V, *a) for a in actions.values()])
        newV = Q.max(axis=0)
        if np.max(np.abs(newV - V)) < 1e-6:
            V = newV
            break
        V = newV
    policy = np.array(list(actions))[Q.argmax(axis=0)]
    return V, policy, it


@program(lambda: (30,),
         lambda: (2,),
         lambda: (200,),
         lambda: (np.int64(50),),
         lambda: (1,),
         variants=12)
def sieve(n):
    is_p = np.ones(n + 1, dtype=bool)
    is_p[:2] = False
    for i in range(2, int(n**0.5) + 1):
        if is_p[i]:
            is_p[i * i::i] = False
    return np.flatnonzero(is_p)


@program(lambda: (6,),
         lambda: (4,),
         lambda: (3,),
         lambda: (1,),
         variants=6)
def nqueens(n):
    sols = []
    board = np.full(n, -1)
    def place(row):
        if row == n:
            sols.append(board.copy())
            return
        for c in range(n):
            prev = board[:row]
            if np.any(prev == c) or np.any(np.abs(prev - c) == row - np.arange(row)):
                continue
            board[row] = c
            place(row + 1)
            board[row] = -1
    place(0)
    return len(sols), sols[:3]
