"""Programs that people write, each in one region: k-means, masked Mandelbrot, peaks, bootstrap, Otsu's threshold."""

from __future__ import annotations

import numpy as np
import pytest

import fusewire
from compare import assert_same_call


def kmeans_step(X, C):
    d = ((X[:, None, :] - C[None, :, :]) ** 2).sum(axis=2)
    labels = np.argmin(d, axis=1)
    for j in range(len(C)):
        C[j] = X[labels == j].mean(axis=0)
    return labels


def mandelbrot_step(z, c, n):
    m = np.abs(z) <= 2
    z[m] = z[m] ** 2 + c[m]
    n[m] += 1
    return m.sum()


def peaks(x, least):
    inner = (x[1:-1] > x[:-2]) & (x[1:-1] > x[2:]) & (x[1:-1] > least)
    at = np.where(inner)[0] + 1
    order = np.argsort(x[at])[::-1]
    return at[order], np.diff(at), x[at].mean()


def bootstrap(x, places):
    means = x[places].mean(axis=1)
    return means.mean(), means.std(), np.sort(means)


def otsu(image):
    counts, edges = np.histogram(image, bins=64, range=(0.0, 1.0))
    p = counts / counts.sum()
    middle = (edges[:-1] + edges[1:]) / 2
    weight = np.cumsum(p)
    mean = np.cumsum(p * middle)
    between = (mean[-1] * weight - mean) ** 2 / (weight * (1 - weight) + 1e-12)
    return middle[np.argmax(between)]


def outliers(x):
    centre = np.median(x)
    spread = np.median(np.abs(x - centre))
    kept = x[np.abs(x - centre) < 3 * spread]
    return kept.mean(), kept.std(), len(kept) / len(x)


def class_statistics(x, labels):
    counts = np.bincount(labels)
    sums = np.bincount(labels, weights=x)
    return sums / counts


RNG = np.random.default_rng(7)
PROGRAMS = {
    "kmeans": (kmeans_step, lambda n: (RNG.normal(size=(n, 8)), RNG.normal(size=(5, 8)) / 4)),
    "mandelbrot": (
        mandelbrot_step,
        lambda n: (RNG.normal(size=n) * (1 + 1j), RNG.normal(size=n) * (0.5 + 1j), np.zeros(n, np.int64)),
    ),
    "peaks": (peaks, lambda n: (np.sin(np.arange(n) / 3) + RNG.normal(size=n) / 4, 0.2)),
    "bootstrap": (bootstrap, lambda n: (RNG.normal(size=n), RNG.integers(0, n, (40, n)))),
    "otsu": (otsu, lambda n: (RNG.random((n, 4)),)),
    "outliers": (outliers, lambda n: (RNG.normal(size=n),)),
    "class_statistics": (class_statistics, lambda n: (RNG.normal(size=n), RNG.integers(0, 4, n))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_region(name):
    function, make = PROGRAMS[name]
    compiled = fusewire.compile(function, fullgraph=True)
    for n in (300, 2000, 400):
        assert_same_call(function, compiled, make(n), ulp=0)
    described = fusewire._fusewire.describe(compiled)
    assert not described["breaks"]
    assert sum(v["hits"] for v in described["variants"]) >= 2


@pytest.mark.parametrize("name", PROGRAMS)
def test_small_and_empty(name):
    function, make = PROGRAMS[name]
    compiled = fusewire.compile(function)
    for n in (50, 6, 3, 2, 1):
        assert_same_call(function, compiled, make(n), ulp=0)
