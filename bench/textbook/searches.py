"""Programs that look for something and keep what they have found: a tuple or None, one list or another, an entry of a
table."""

import numpy as np

from .common import RNG, ints


def closest(points):
    best, least = None, float("inf")
    for i in range(len(points)):
        for j in range(i + 1, len(points)):
            d = (points[i, 0] - points[j, 0]) ** 2 + (points[i, 1] - points[j, 1]) ** 2
            if d < least:
                least, best = d, (i, j)
    return best, least


def earliest(jobs, done):
    """The job that ends first, by time and number."""
    best = key = None
    for i, duration in enumerate(jobs):
        if done[i]:
            continue
        k = (duration, i)
        if key is None or k < key:
            key, best = k, (i, duration)
    return best


def intervals(x, level):
    start, out = None, []
    for i, v in enumerate(x):
        if v > level:
            if start is None:
                start = (i, v)
        elif start is not None:
            out.append((start[0], i, start[1]))
            start = None
    return out


def sides(x, pivot):
    left, right = [], []
    for v in x:
        side = left if v < pivot else right
        side.append(v)
    return left, right


RULES = {
    ("A", 0): ("B", 1, 1),
    ("A", 1): ("C", 1, -1),
    ("B", 0): ("A", 1, -1),
    ("B", 1): ("B", 1, 1),
    ("C", 0): ("B", 1, -1),
    ("C", 1): ("A", 1, 1),
}


def turing(tape, steps):
    tape, at, state = tape.copy(), len(tape) // 2, "A"
    for k in range(steps):
        if not 0 <= at < len(tape):
            break
        state, tape[at], move = RULES[state, int(tape[at])]
        at += move
    return tape, at, state


def codons(dna):
    """How many stop codons there are, and letters of two kinds."""
    stops, pairs = 0, 0
    for i in range(len(dna) - 2):
        if (dna[i], dna[i + 1], dna[i + 2]) in ((3, 0, 0), (3, 0, 2), (3, 2, 0)):
            stops += 1
        if dna[i] in (1, 2):
            pairs += 1
    return stops, pairs


def sizes(x):
    """Counts by the name of a class."""
    counts = {}
    for v in x:
        name = "small" if v < -0.5 else "medium" if v < 0.5 else "large"
        counts[name] = counts.get(name, 0) + 1
    return counts


PROGRAMS = {
    "closest": (closest, lambda n: (RNG.normal(size=(n, 2)),), 80),
    "earliest": (earliest, lambda n: (RNG.random(n), RNG.random(n) < 0.3), 4000),
    "intervals": (intervals, lambda n: (RNG.normal(size=n), 0.5), 4000),
    "sides": (sides, lambda n: (RNG.normal(size=n), 0.1), 4000),
    "turing": (turing, lambda n: (np.zeros(n, dtype=np.int64), 2000), 400),
    "codons": (codons, lambda n: (ints(4, n),), 4000),
    "sizes": (sizes, lambda n: (RNG.normal(size=n),), 4000),
}
