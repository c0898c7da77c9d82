"""Programs that walk several axes by one iterator: np.ndindex(), np.ndenumerate(), ndarray.flat, itertools."""

from itertools import combinations, product

import numpy as np

from .common import RNG


def centroid(image):
    total = y = x = 0.0
    for (i, j), v in np.ndenumerate(image):
        total += v
        y += v * i
        x += v * j
    return y / total, x / total


def erosion(mask):
    """Of a mask, by a cross; the border is taken away."""
    height, width = mask.shape
    out = np.zeros_like(mask)
    for i, j in np.ndindex(height - 2, width - 2):
        out[i + 1, j + 1] = all(mask[i + 1 + di, j + 1 + dj] for di, dj in ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0)))
    return out


def potential(positions, charges):
    energy = 0.0
    for i, j in combinations(range(len(charges)), 2):
        dx, dy = positions[i, 0] - positions[j, 0], positions[i, 1] - positions[j, 1]
        energy += charges[i] * charges[j] / np.sqrt(dx * dx + dy * dy)
    return energy


def pixel_area(width, height, steps):
    """Of the Mandelbrot set, by pixels whose orbit stays."""
    inside = 0
    for i, j in product(range(height), range(width)):
        c = complex(3.0 * j / width - 2.0, 2.0 * i / height - 1.0)
        z = 0j
        for _ in range(steps):
            z = z * z + c
            if z.real * z.real + z.imag * z.imag > 4.0:
                break
        else:
            inside += 1
    return np.float64(6.0) * inside / (width * height)


def checksum(image):
    a, b = 1, 0
    for v in image.flat:
        a = (a + v) % 65521
        b = (b + a) % 65521
    return b << 16 | a


PROGRAMS = {
    "centroid": (centroid, lambda n: (RNG.random((n, n)),), 100),
    "erosion": (erosion, lambda n: (RNG.random((n, n)) < 0.8,), 100),
    "potential": (potential, lambda n: (RNG.random((n, 2)), RNG.normal(size=n)), 100),
    "pixel_area": (pixel_area, lambda n: (n, n, 50), 60),
    "checksum": (checksum, lambda n: (RNG.integers(0, 256, (n, n)),), 100),
}
