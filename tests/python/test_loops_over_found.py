"""Loops over what a mask, np.nonzero, np.unique have found: as many turns as array data decides, of items that are in the array."""

from __future__ import annotations

import numpy as np
import pytest

import fusewire
from compare import assert_same_call


def places(x):
    found, total = np.flatnonzero(x > 0.5), 0
    for i in range(len(found)):
        total += found[i]
    return total


def values(x):
    found, total = x[x > 0.5], 0.0
    for i in range(found.shape[0]):
        total += found[i]
    return total


def walked(x):
    total = 0.0
    for v in x[x > 0.5]:
        total += v
    return total


def counted(x):
    total = 0.0
    for k, v in enumerate(x[x > 0.5]):
        total += k * v
    return total


def in_pairs(x):
    found, total = np.flatnonzero(x > 0.5), 0.0
    for i, v in zip(found, x[found]):
        total += i * v
    return total


def backwards(x):
    total = 0.0
    for v in reversed(x[x > 0.5]):
        total = total * 0.5 + v
    return total


def stored(x):
    out = np.zeros_like(x)
    for k in np.flatnonzero(x > 0.5):
        out[k] = x[k] * 2
    return out


def of_two(x):
    found, total = np.where(x > 0.8)[0], 0.0
    for i in range(len(found)):
        for j in range(i + 1, len(found)):
            total += abs(x[found[i]] - x[found[j]])
    return total


def gaps(x):
    most = 0
    for gap in np.diff(np.where(x > 0.5)[0]):
        most = max(most, gap)
    return most


def neighbours(x):
    found, total = x[x > 0.5], 0.0
    for i in range(1, len(found)):
        total += found[i] - found[i - 1]
    return total


def until_the_end(x):
    found, i, total = np.where(x > 0.5)[0], 0, 0.0
    while i < len(found):
        total += x[found[i]]
        i += 1
    return total


def stretches(x):
    found = np.nonzero(x > 0.5)[0]
    for k in range(len(found) - 1):
        a, b = found[k], found[k + 1]
        x[a:b] = x[a:b].mean()
    return x


def filled(x):
    found = x[x > 0.5]
    out = np.zeros(len(found))
    for i in range(len(found)):
        out[i] = found[i] * 2
    return out


def appended(x):
    out = []
    for i in np.where(x > 0.5)[0]:
        out.append(x[i] * 2)
    return np.array(out)


def kept_apart(x):
    peaks, last, kept = np.flatnonzero((x[1:-1] > x[:-2]) & (x[1:-1] > x[2:])) + 1, -100, []
    for p in peaks:
        if p - last >= 3:
            kept.append(p)
            last = p
    return kept


def rows(x):
    image, total = x[:x.size // 8 * 8].reshape(8, -1), 0.0
    for y, z in np.argwhere(image > 0.5):
        total += image[y, z] * y
    for y, z in zip(*np.nonzero(image > 0.5)):
        total -= image[y, z] * z
    return total


def votes(x):
    image, cosines, total = x[:x.size // 8 * 8].reshape(8, -1), np.cos(np.linspace(0, 3, 9)), np.zeros(40)
    for y, z in zip(*np.nonzero(image > 0.7)):
        for k in range(9):
            total[int(y * cosines[k]) + 20] += 1
    return total


def one_too_far(x):
    found, total = x[x > 0.5], 0.0
    for i in range(len(found) + (x[0] > 0.9)):
        total += found[i]
    return total


def unpacked(x):
    a, b = x[x > 0.995]
    return a - b


WHOLE = [places, values, walked, counted, in_pairs, backwards, stored, of_two, gaps, neighbours, until_the_end, stretches, filled, rows, votes]
FORMS = WHOLE + [appended, kept_apart, one_too_far, unpacked]


def reals(n, seed=0):
    return np.random.default_rng(seed).random(n)


def inputs():
    yield from (reals(n, n) for n in (300, 301, 80, 16, 9, 8))
    yield np.zeros(200)
    yield np.ones(120)
    yield np.eye(1, 90)[0]
    yield np.where(np.arange(100) == 50, 0.75, 0.1)
    yield np.where(reals(150) > 0.3, reals(150), np.nan)
    yield reals(600)[::2]
    yield reals(300)[::-1]
    yield reals(250).astype(np.float32)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_what_is_found(form):
    compiled = fusewire.compile(form, background=False)
    for x in inputs():
        assert_same_call(form, compiled, (x,))


@pytest.mark.parametrize("form", WHOLE, ids=lambda form: form.__name__)
def test_whole(form):
    compiled = fusewire.compile(form, economy=False, fullgraph=True, background=False)
    for n in (300, 400, 500):
        assert_same_call(form, compiled, (reals(n),))
