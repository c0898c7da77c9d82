"""Images, small networks and fractals."""

import numpy as np

from .common import ints, r


def mandelbrot(cr, ci, out):
    for i in range(len(ci)):
        for j in range(len(cr)):
            zr = 0.0
            zi = 0.0
            k = 0.0
            while k < 50.0 and zr * zr + zi * zi < 4.0:
                t = zr * zr - zi * zi + cr[j]
                zi = 2 * zr * zi + ci[i]
                zr = t
                k += 1.0
            out[i, j] = k


def escape_counts(c, limit):
    out = np.zeros(c.shape, dtype=np.int64)
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            z = 0j
            k = 0
            for k in range(limit):
                z = z * z + c[i, j]
                if z.real * z.real + z.imag * z.imag > 4.0:
                    break
            out[i, j] = k
    return out


def otsu(h):
    total = h.sum()
    sum_all = 0.0
    for i in range(len(h)):
        sum_all += i * h[i]
    w = 0.0
    s = 0.0
    best = 0.0
    level = 0
    for i in range(len(h)):
        w += h[i]
        if w > 0 and w < total:
            s += i * h[i]
            m = s / w - (sum_all - s) / (total - w)
            between = w * (total - w) * m * m
            if between > best:
                best = between
                level = i
    return level


def histogram(b, k):
    h = np.zeros(k, dtype=np.int64)
    for i in range(len(b)):
        h[b[i]] += 1
    return h


def conv2d(image, kernel):
    n, m = image.shape
    k = kernel.shape[0]
    out = np.zeros((n - k + 1, m - k + 1))
    for i in range(n - k + 1):
        for j in range(m - k + 1):
            s = 0.0
            for a in range(k):
                for b in range(k):
                    s += image[i + a, j + b] * kernel[a, b]
            out[i, j] = s
    return out


def conv2d_bias(x, weights, bias):
    """Channels last: (n, h, w, c) with (k, k, c, filters)."""
    k = weights.shape[0]
    n, h, w, _ = x.shape
    out = np.empty((n, h - k + 1, w - k + 1, weights.shape[3]))
    for i in range(h - k + 1):
        for j in range(w - k + 1):
            out[:, i, j, :] = np.sum(x[:, i:i + k, j:j + k, :, np.newaxis] * weights[np.newaxis, :, :, :], axis=(1, 2, 3))
    return out + bias


def max_pool(x):
    n, m = x.shape
    out = np.zeros((n // 2, m // 2))
    for i in range(n // 2):
        for j in range(m // 2):
            out[i, j] = max(x[2 * i, 2 * j], x[2 * i, 2 * j + 1], x[2 * i + 1, 2 * j], x[2 * i + 1, 2 * j + 1])
    return out


def max_pool_slices(x, size):
    n, m = x.shape[0] // size, x.shape[1] // size
    out = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            out[i, j] = np.max(x[i * size:(i + 1) * size, j * size:(j + 1) * size])
    return out


def mlp(batches, w1, b1, w2, b2, w3, b3):
    out = np.zeros((len(batches), w3.shape[1]))
    for i in range(len(batches)):
        x = np.maximum(batches[i] @ w1 + b1, 0)
        x = np.maximum(x @ w2 + b2, 0)
        x = x @ w3 + b3
        e = np.exp(x - np.max(x))
        out[i] = e / e.sum()
    return out


def cnn(image, kernels, bias, w):
    """One convolution, ReLU, pooling by two, and a dense layer."""
    h, m = image.shape
    f, k, _ = kernels.shape
    conv = np.zeros((f, h - k + 1, m - k + 1))
    for c in range(f):
        for i in range(h - k + 1):
            for j in range(m - k + 1):
                s = bias[c]
                for a in range(k):
                    for b in range(k):
                        s += image[i + a, j + b] * kernels[c, a, b]
                conv[c, i, j] = max(s, 0.0)
    pooled = np.zeros((f, conv.shape[1] // 2, conv.shape[2] // 2))
    for c in range(f):
        for i in range(pooled.shape[1]):
            for j in range(pooled.shape[2]):
                best = conv[c, 2 * i, 2 * j]
                for a in range(2):
                    for b in range(2):
                        if conv[c, 2 * i + a, 2 * j + b] > best:
                            best = conv[c, 2 * i + a, 2 * j + b]
                pooled[c, i, j] = best
    return pooled.reshape(-1) @ w


def bilateral(image, radius, sigma_s, sigma_r):
    n, m = image.shape
    out = np.zeros_like(image)
    for i in range(n):
        for j in range(m):
            total = 0.0
            weight = 0.0
            for di in range(-radius, radius + 1):
                for dj in range(-radius, radius + 1):
                    y = min(max(i + di, 0), n - 1)
                    x = min(max(j + dj, 0), m - 1)
                    d = image[y, x] - image[i, j]
                    w = np.exp(-(di * di + dj * dj) / (2 * sigma_s**2) - d * d / (2 * sigma_r**2))
                    total += w * image[y, x]
                    weight += w
            out[i, j] = total / weight
    return out


def median_filter(image):
    n, m = image.shape
    out = image.copy()
    window = np.zeros(9)
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            k = 0
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    window[k] = image[i + di, j + dj]
                    k += 1
            for a in range(1, 9):
                value = window[a]
                b = a - 1
                while b >= 0 and window[b] > value:
                    window[b + 1] = window[b]
                    b -= 1
                window[b + 1] = value
            out[i, j] = window[4]
    return out


def median_filter_slices(image):
    out = image.copy()
    for i in range(1, image.shape[0] - 1):
        for j in range(1, image.shape[1] - 1):
            out[i, j] = np.median(image[i - 1:i + 2, j - 1:j + 2])
    return out


def sobel(image):
    n, m = image.shape
    out = np.zeros((n, m))
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            gx = (image[i - 1, j + 1] + 2 * image[i, j + 1] + image[i + 1, j + 1]
                  - image[i - 1, j - 1] - 2 * image[i, j - 1] - image[i + 1, j - 1])
            gy = (image[i + 1, j - 1] + 2 * image[i + 1, j] + image[i + 1, j + 1]
                  - image[i - 1, j - 1] - 2 * image[i - 1, j] - image[i - 1, j + 1])
            out[i, j] = np.sqrt(gx * gx + gy * gy)
    return out


def hough_lines(edges, angles):
    n, m = edges.shape
    reach = int(np.ceil(np.sqrt(n * n + m * m)))
    votes = np.zeros((2 * reach + 1, len(angles)), dtype=np.int64)
    for y in range(n):
        for x in range(m):
            if edges[y, x]:
                for k in range(len(angles)):
                    rho = x * np.cos(angles[k]) + y * np.sin(angles[k])
                    votes[int(round(rho)) + reach, k] += 1
    return votes


def julia(c, n, limit):
    out = np.zeros((n, n), dtype=np.int64)
    for i in range(n):
        for j in range(n):
            z = complex(-1.5 + 3.0 * j / n, -1.5 + 3.0 * i / n)
            k = 0
            while abs(z) <= 2 and k < limit:
                z = z * z + c
                k += 1
            out[i, j] = k
    return out


def mandelbrot_masks(c, limit):
    z = np.zeros_like(c)
    counts = np.zeros(c.shape, dtype=np.int64)
    for k in range(limit):
        inside = np.abs(z) <= 2
        z[inside] = z[inside] ** 2 + c[inside]
        counts[inside] = k
    return counts


def mandelbrot_where(c, limit):
    z = np.zeros_like(c)
    counts = np.zeros(c.shape, dtype=np.int64)
    for _ in range(limit):
        inside = z.real**2 + z.imag**2 <= 4
        z = np.where(inside, z * z + c, z)
        counts += inside
    return counts


def components(image):
    """Two passes, with union and find in an array."""
    n, m = image.shape
    labels = np.zeros((n, m), dtype=np.int64)
    parent = np.zeros(n * m + 1, dtype=np.int64)
    following = 1
    for i in range(n):
        for j in range(m):
            if image[i, j]:
                up = labels[i - 1, j] if i > 0 else 0
                left = labels[i, j - 1] if j > 0 else 0
                if up == 0 and left == 0:
                    parent[following] = following
                    labels[i, j] = following
                    following += 1
                elif up != 0 and left != 0:
                    a = up
                    while parent[a] != a:
                        a = parent[a]
                    b = left
                    while parent[b] != b:
                        b = parent[b]
                    if a < b:
                        parent[b] = a
                        labels[i, j] = a
                    else:
                        parent[a] = b
                        labels[i, j] = b
                else:
                    labels[i, j] = up + left
    for i in range(n):
        for j in range(m):
            if labels[i, j]:
                a = labels[i, j]
                while parent[a] != a:
                    a = parent[a]
                labels[i, j] = a
    return labels


def flood_fill(image, row, column, colour):
    n, m = image.shape
    old = image[row, column]
    if old == colour:
        return image
    stack = np.zeros((4 * n * m + 1, 2), dtype=np.int64)
    stack[0, 0] = row
    stack[0, 1] = column
    top = 1
    while top > 0:
        top -= 1
        i = stack[top, 0]
        j = stack[top, 1]
        if 0 <= i < n and 0 <= j < m and image[i, j] == old:
            image[i, j] = colour
            stack[top, 0], stack[top, 1] = i + 1, j
            stack[top + 1, 0], stack[top + 1, 1] = i - 1, j
            stack[top + 2, 0], stack[top + 2, 1] = i, j + 1
            stack[top + 3, 0], stack[top + 3, 1] = i, j - 1
            top += 4
    return image


def bresenham(image, lines):
    for k in range(len(lines)):
        x0, y0, x1, y1 = lines[k]
        dx = abs(x1 - x0)
        dy = -abs(y1 - y0)
        sx = 1 if x0 < x1 else -1
        sy = 1 if y0 < y1 else -1
        err = dx + dy
        while True:
            image[y0, x0] = 1
            if x0 == x1 and y0 == y1:
                break
            e2 = 2 * err
            if e2 >= dy:
                err += dy
                x0 += sx
            if e2 <= dx:
                err += dx
                y0 += sy
    return image


def newton_fractal(n, steps):
    """Which root of z**3 - 1 Newton's method finds from each place."""
    out = np.zeros((n, n), dtype=np.int64)
    for i in range(n):
        for j in range(n):
            z = complex(-2.0 + 4.0 * (j + 0.5) / n, -2.0 + 4.0 * (i + 0.5) / n)
            for _ in range(steps):
                z = z - (z ** 3 - 1) / (3 * z ** 2)
            out[i, j] = 0 if z.real > 0 else 1 if z.imag > 0 else 2
    return out


PROGRAMS = {
    "newton_fractal": (newton_fractal, lambda n: (n, 20), 20),
    "mandelbrot": (mandelbrot, lambda n: (np.linspace(-2, 1, n), np.linspace(-1, 1, n), np.zeros((n, n))), 90),
    "escape_counts": (escape_counts, lambda n: (3 * r(n, n) - 2 + 1j * r(n, n), 100), 30),
    "otsu": (otsu, lambda n: (ints(1000, n).astype(float),), 256),
    "histogram": (histogram, lambda n: (ints(16, n), 16), 20000),
    "conv2d": (conv2d, lambda n: (r(n, n), r(3, 3)), 80),
    "conv2d_bias": (conv2d_bias, lambda n: (r(2, n // 3, n // 3, 3), r(3, 3, 3, 4), r(4)), 80),
    "max_pool": (max_pool, lambda n: (r(n, n),), 160),
    "max_pool_slices": (max_pool_slices, lambda n: (r(n, n), 3), 160),
    "mlp": (mlp, lambda n: (r(n, 16), r(16, 32), r(32), r(32, 32), r(32), r(32, 10), r(10)), 500),
    "cnn": (cnn, lambda n: (r(n // 3, n // 3), r(2, 3, 3), r(2), r(2 * (max(n // 3 - 2, 0) // 2) ** 2, 10)), 120),
    "bilateral": (bilateral, lambda n: (r(n // 2, n // 2), 2, 1.5, 0.3), 80),
    "median_filter": (median_filter, lambda n: (r(n // 2, n // 2),), 120),
    "median_filter_slices": (median_filter_slices, lambda n: (r(n // 4, n // 4),), 120),
    "sobel": (sobel, lambda n: (r(n, n),), 120),
    "hough_lines": (hough_lines, lambda n: (r(n, n) > 0.95, np.linspace(-np.pi / 2, np.pi / 2, 70)), 80),
    "julia": (julia, lambda n: (-0.7 + 0.27j, n, 40), 80),
    "mandelbrot_masks": (mandelbrot_masks, lambda n: (3 * r(n, n) - 2 + 2j * r(n, n) - 1j, 70), 100),
    "mandelbrot_where": (mandelbrot_where, lambda n: (3 * r(n, n) - 2 + 2j * r(n, n) - 1j, 70), 100),
    "components": (components, lambda n: (ints(2, n, n),), 100),
    "flood_fill": (flood_fill, lambda n: ((r(n, n) > 0.7).astype(np.int64), n // 2, n // 2, 7), 100),
    "bresenham": (bresenham, lambda n: (np.zeros((max(n, 1), max(n, 1)), dtype=np.int64), ints(max(n, 1), n, 4)), 200),
}
