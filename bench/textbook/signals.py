"""Filters, transforms and series in time."""

import math

import numpy as np

from .common import ints, r


def smooth(x, a):
    y = np.empty_like(x)
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = a * y[i - 1] + (1 - a) * x[i]
    return y


def prefix(x):
    s = 0.0
    out = np.zeros_like(x)
    for i, v in enumerate(x):
        s = s + v
        out[i] = s
    return out


def kalman(zs, F, H, Q, R, x, P):
    out = np.empty((len(zs), x.shape[0]))
    eye = np.eye(x.shape[0])
    for i in range(len(zs)):
        x = F @ x
        P = F @ P @ F.T + Q
        S = H @ P @ H.T + R
        K = P @ H.T @ np.linalg.inv(S)
        x = x + K @ (zs[i] - H @ x)
        P = (eye - K @ H) @ P
        out[i] = x
    return out


def viterbi(logp, trans):
    n, m = logp.shape
    back = np.zeros((n, m), dtype=np.int64)
    v = logp[0].copy()
    for t in range(1, n):
        new = np.zeros(m)
        for j in range(m):
            best = v[0] + trans[0, j]
            arg = 0
            for i in range(1, m):
                s = v[i] + trans[i, j]
                if s > best:
                    best = s
                    arg = i
            new[j] = best + logp[t, j]
            back[t, j] = arg
        v = new
    path = np.zeros(n, dtype=np.int64)
    path[n - 1] = np.argmax(v)
    for t in range(n - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return path


def random_walk(steps, n):
    visits = np.zeros(n, dtype=np.int64)
    pos = n // 2
    for s in steps:
        pos = (pos + int(s)) % n
        visits[pos] += 1
    return visits


def logistic(x, r, n):
    for i in range(n):
        x = r * x * (1 - x)
    return x


def biquad(x, b0, b1, b2, a1, a2):
    y = np.zeros_like(x)
    x1 = x2 = y1 = y2 = 0.0
    for n in range(len(x)):
        y[n] = b0 * x[n] + b1 * x1 + b2 * x2 - a1 * y1 - a2 * y2
        x2 = x1
        x1 = x[n]
        y2 = y1
        y1 = y[n]
    return y


def moving_statistics(x, w):
    n = len(x) - w + 1
    mean = np.empty(n)
    std = np.empty(n)
    for i in range(n):
        window = x[i:i + w]
        mean[i] = window.mean()
        std[i] = window.std()
    return mean, std


def moving_mean(x, w):
    out = np.zeros(len(x) - w + 1)
    s = 0.0
    for i in range(w):
        s += x[i]
    out[0] = s / w
    for i in range(w, len(x)):
        s += x[i] - x[i - w]
        out[i - w + 1] = s / w
    return out


def moving_maximum(x, w):
    """The deque of places in an array."""
    n = len(x)
    queue = np.zeros(n, dtype=np.int64)
    head = 0
    tail = 0
    out = np.zeros(n - w + 1)
    for i in range(n):
        while tail > head and x[queue[tail - 1]] <= x[i]:
            tail -= 1
        queue[tail] = i
        tail += 1
        if queue[head] <= i - w:
            head += 1
        if i >= w - 1:
            out[i - w + 1] = x[queue[head]]
    return out


def convolve(x, h):
    n = len(x)
    m = len(h)
    y = np.zeros(n + m - 1)
    for i in range(n):
        for j in range(m):
            y[i + j] += x[i] * h[j]
    return y


def haar(x):
    out = x.copy()
    n = len(x)
    while n > 1:
        half = n // 2
        tmp = out[:n].copy()
        for i in range(half):
            out[i] = (tmp[2 * i] + tmp[2 * i + 1]) / np.sqrt(2.0)
            out[half + i] = (tmp[2 * i] - tmp[2 * i + 1]) / np.sqrt(2.0)
        n = half
    return out


def fft(x):
    """Radix 2, in place, for a length that is a power of two."""
    n = len(x)
    a = x.astype(np.complex128)
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j ^= bit
        if i < j:
            a[i], a[j] = a[j], a[i]
    length = 2
    while length <= n:
        angle = -2 * math.pi / length
        step = complex(math.cos(angle), math.sin(angle))
        for i in range(0, n, length):
            w = 1 + 0j
            for k in range(length // 2):
                u = a[i + k]
                v = a[i + k + length // 2] * w
                a[i + k] = u + v
                a[i + k + length // 2] = u - v
                w *= step
        length *= 2
    return a


def dft(x):
    n = len(x)
    re = np.zeros(n)
    im = np.zeros(n)
    for k in range(n):
        for t in range(n):
            angle = 2 * np.pi * k * t / n
            re[k] += x[t] * np.cos(angle)
            im[k] -= x[t] * np.sin(angle)
    return re, im


def cordic(angles, table, gain):
    out = np.zeros((len(angles), 2))
    for i in range(len(angles)):
        x = gain
        y = 0.0
        z = angles[i]
        power = 1.0
        for k in range(len(table)):
            if z >= 0:
                x, y = x - y * power, y + x * power
                z -= table[k]
            else:
                x, y = x + y * power, y - x * power
                z += table[k]
            power *= 0.5
        out[i, 0] = x
        out[i, 1] = y
    return out


def ema_crossing(prices, fast, slow):
    """Buys where the fast average is above the slow one, sells where it is below."""
    f = prices[0]
    s = prices[0]
    af = 2 / (fast + 1)
    as_ = 2 / (slow + 1)
    cash = 1000.0
    shares = 0.0
    trades = 0
    for i in range(1, len(prices)):
        f = af * prices[i] + (1 - af) * f
        s = as_ * prices[i] + (1 - as_) * s
        if f > s and shares == 0:
            shares = cash / prices[i]
            cash = 0.0
            trades += 1
        elif f < s and shares > 0:
            cash = shares * prices[i]
            shares = 0.0
            trades += 1
    return cash + shares * prices[-1], trades


def hmm_forward(obs, start, trans, emit):
    n = len(obs)
    m = len(start)
    alpha = np.zeros((n, m))
    scale = np.zeros(n)
    alpha[0] = start * emit[:, obs[0]]
    scale[0] = alpha[0].sum()
    alpha[0] /= scale[0]
    for t in range(1, n):
        alpha[t] = (alpha[t - 1] @ trans) * emit[:, obs[t]]
        scale[t] = alpha[t].sum()
        alpha[t] /= scale[t]
    return np.log(scale).sum()


def hmm_forward_elements(obs, start, trans, emit):
    n = len(obs)
    m = len(start)
    alpha = np.zeros((n, m))
    for j in range(m):
        alpha[0, j] = start[j] * emit[j, obs[0]]
    logp = 0.0
    for t in range(1, n):
        total = 0.0
        for j in range(m):
            s = 0.0
            for i in range(m):
                s += alpha[t - 1, i] * trans[i, j]
            alpha[t, j] = s * emit[j, obs[t]]
            total += alpha[t, j]
        for j in range(m):
            alpha[t, j] /= total
        logp += np.log(total)
    return logp


def stochastic(n, m):
    p = r(n, m) + 0.1
    return p / p.sum(axis=1, keepdims=True)


def hmm(n):
    return np.random.default_rng(3).integers(0, 5, n), stochastic(1, 4)[0], stochastic(4, 4), stochastic(4, 5)


def peaks(x, most):
    """The places of the highest local maxima."""
    places = np.where((x[1:-1] > x[:-2]) & (x[1:-1] > x[2:]))[0] + 1
    order = np.argsort(x[places])[::-1][:most]
    return places[order]


def centred_mean(x, w):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = x[max(0, i - w):i + w + 1].mean()
    return out


def segment_means(x, ends):
    out = np.zeros(len(ends) - 1)
    for k in range(len(ends) - 1):
        out[k] = x[ends[k]:ends[k + 1]].sum() / max(1, ends[k + 1] - ends[k])
    return out


PROGRAMS = {
    "peaks": (peaks, lambda n: (r(n), 5), 20000),
    "centred_mean": (centred_mean, lambda n: (r(n), 3), 2000),
    "segment_means": (segment_means, lambda n: (r(n), np.sort(ints(n + 1, n // 10 + 1))), 20000),
    "smooth": (smooth, lambda n: (r(n), 0.3), 20000),
    "prefix": (prefix, lambda n: (r(n),), 20000),
    "kalman": (kalman, lambda n: (r(n, 2), np.eye(4) + 0.1 * np.eye(4, k=2), np.eye(2, 4), 0.01 * np.eye(4), 0.1 * np.eye(2), np.zeros(4), np.eye(4)), 200),
    "viterbi": (viterbi, lambda n: (r(n, 8), r(8, 8)), 500),
    "random_walk": (random_walk, lambda n: (ints(3, n) - 1, 50), 20000),
    "logistic": (logistic, lambda n: (0.3, 3.7, n), 20000),
    "biquad": (biquad, lambda n: (r(n), 0.2, 0.4, 0.2, -0.4, 0.2), 20000),
    "moving_statistics": (moving_statistics, lambda n: (r(n), 10), 1000),
    "moving_mean": (moving_mean, lambda n: (r(n), 10), 20000),
    "moving_maximum": (moving_maximum, lambda n: (r(n), 10), 10000),
    "convolve": (convolve, lambda n: (r(n), r(20)), 1000),
    "haar": (haar, lambda n: (r(2 ** (n.bit_length() - 1)) if n else r(0),), 8192),
    "fft": (fft, lambda n: (r(2 ** (n.bit_length() - 1)) if n else r(0),), 2048),
    "dft": (dft, lambda n: (r(n),), 100),
    "cordic": (cordic, lambda n: (3 * r(n) - 1.5, np.arctan(0.5 ** np.arange(24)), 0.6072529350088813), 1000),
    "ema_crossing": (ema_crossing, lambda n: (100 + np.cumsum(r(n) - 0.5), 12, 26), 20000),
    "hmm_forward": (hmm_forward, hmm, 1000),
    "hmm_forward_elements": (hmm_forward_elements, hmm, 1000),
}
