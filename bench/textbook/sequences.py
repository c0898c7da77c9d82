"""Sequences, dynamic programming, whole numbers and geometry: elements only."""

import numpy as np

from .common import ints, r


def floyd_warshall(d):
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]


def bubble(a):
    for i in range(len(a)):
        for j in range(len(a) - 1):
            if a[j] > a[j + 1]:
                t = a[j]
                a[j] = a[j + 1]
                a[j + 1] = t


def insertion(a):
    for i in range(1, len(a)):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key
    return a


def first_above(x, t):
    for i in range(len(x)):
        if x[i] > t:
            return i
    return -1


def search2(a, v):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] > v:
                return i, j
    return -1, -1


def count(x):
    n = 0
    for v in x:
        if v > 0:
            n += 1
    return n


def permuted(x, idx):
    s = 0.0
    for i in range(len(idx)):
        s += x[idx[i]]
    return s


def binary_search(a, v):
    lo = 0
    hi = len(a)
    while lo < hi:
        mid = (lo + hi) // 2
        if a[mid] < v:
            lo = mid + 1
        else:
            hi = mid
    return lo


def collatz(starts):
    out = np.zeros(len(starts), dtype=np.int64)
    for i in range(len(starts)):
        n = int(starts[i])
        c = 0
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            c += 1
        out[i] = c
    return out


def edit_distance(a, b):
    d = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int64)
    for i in range(len(a) + 1):
        d[i, 0] = i
    for j in range(len(b) + 1):
        d[0, j] = j
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[len(a), len(b)]


def lcs(a, b):
    d = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int64)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            if a[i - 1] == b[j - 1]:
                d[i, j] = d[i - 1, j - 1] + 1
            else:
                d[i, j] = max(d[i - 1, j], d[i, j - 1])
    return d[len(a), len(b)]


def knapsack(w, v, cap):
    best = np.zeros(cap + 1)
    for i in range(len(w)):
        for c in range(cap, w[i] - 1, -1):
            best[c] = max(best[c], best[c - w[i]] + v[i])
    return best[cap]


def crc(data):
    c = 0xFFFF
    for b in data:
        c ^= int(b)
        for _ in range(8):
            if c & 1:
                c = (c >> 1) ^ 0xA001
            else:
                c >>= 1
    return c


def sieve(n):
    p = np.ones(n, dtype=np.bool_)
    p[:2] = False
    for i in range(2, n):
        if i * i >= n:
            break
        if p[i]:
            for j in range(i * i, n, i):
                p[j] = False
    return p


def argbest(x):
    best = x[0]
    k = 0
    for i in range(1, len(x)):
        if x[i] > best:
            best = x[i]
            k = i
    return k, best


def rle(x):
    values = np.zeros_like(x)
    counts = np.zeros(len(x), dtype=np.int64)
    k = 0
    values[0] = x[0]
    counts[0] = 1
    for i in range(1, len(x)):
        if x[i] == values[k]:
            counts[k] += 1
        else:
            k += 1
            values[k] = x[i]
            counts[k] = 1
    return values[:k + 1], counts[:k + 1]


def levenshtein(a, b):
    previous = np.arange(len(b) + 1)
    current = np.zeros(len(b) + 1, dtype=np.int64)
    for i in range(len(a)):
        current[0] = i + 1
        for j in range(len(b)):
            cost = previous[j] if a[i] == b[j] else previous[j] + 1
            current[j + 1] = min(cost, previous[j + 1] + 1, current[j] + 1)
        previous, current = current, previous
    return previous[len(b)]


def matrix_chain(dims):
    n = len(dims) - 1
    cost = np.zeros((n, n), dtype=np.int64)
    split = np.zeros((n, n), dtype=np.int64)
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            cost[i, j] = 2**62
            for k in range(i, j):
                c = cost[i, k] + cost[k + 1, j] + dims[i] * dims[k + 1] * dims[j + 1]
                if c < cost[i, j]:
                    cost[i, j] = c
                    split[i, j] = k
    return cost[0, n - 1], split


def dtw(x, y):
    n = len(x)
    m = len(y)
    d = np.full((n + 1, m + 1), np.inf)
    d[0, 0] = 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = abs(x[i - 1] - y[j - 1])
            d[i, j] = cost + min(d[i - 1, j], d[i, j - 1], d[i - 1, j - 1])
    return d[n, m]


def needleman_wunsch(a, b, match, mismatch, gap):
    n = len(a)
    m = len(b)
    score = np.zeros((n + 1, m + 1), dtype=np.int64)
    for i in range(n + 1):
        score[i, 0] = gap * i
    for j in range(m + 1):
        score[0, j] = gap * j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            s = match if a[i - 1] == b[j - 1] else mismatch
            score[i, j] = max(score[i - 1, j - 1] + s, score[i - 1, j] + gap, score[i, j - 1] + gap)
    left = np.full(n + m, -1)
    right = np.full(n + m, -1)
    i = n
    j = m
    k = n + m
    while i > 0 or j > 0:
        k -= 1
        if i > 0 and j > 0 and score[i, j] == score[i - 1, j - 1] + (match if a[i - 1] == b[j - 1] else mismatch):
            i -= 1
            j -= 1
            left[k] = a[i]
            right[k] = b[j]
        elif i > 0 and score[i, j] == score[i - 1, j] + gap:
            i -= 1
            left[k] = a[i]
        else:
            j -= 1
            right[k] = b[j]
    return score[n, m], left[k:], right[k:]


def smith_waterman(a, b, match, mismatch, gap):
    n = len(a)
    m = len(b)
    h = np.zeros((n + 1, m + 1), dtype=np.int64)
    best = 0
    place = (0, 0)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            s = match if a[i - 1] == b[j - 1] else mismatch
            h[i, j] = max(0, h[i - 1, j - 1] + s, h[i - 1, j] + gap, h[i, j - 1] + gap)
            if h[i, j] > best:
                best = h[i, j]
                place = (i, j)
    return best, place


def sorting_network(a):
    """Odd-even transposition."""
    n = len(a)
    for phase in range(n):
        for i in range(phase % 2, n - 1, 2):
            if a[i] > a[i + 1]:
                a[i], a[i + 1] = a[i + 1], a[i]
    return a


def bitonic_sort(a):
    n = len(a)
    k = 2
    while k <= n:
        j = k // 2
        while j > 0:
            for i in range(n):
                other = i ^ j
                if other > i:
                    if (i & k == 0 and a[i] > a[other]) or (i & k != 0 and a[i] < a[other]):
                        a[i], a[other] = a[other], a[i]
            j //= 2
        k *= 2
    return a


def prime_factor_counts(n):
    counts = np.zeros(n + 1, dtype=np.int64)
    for i in range(2, n + 1):
        m = i
        p = 2
        while p * p <= m:
            while m % p == 0:
                counts[i] += 1
                m //= p
            p += 1
        if m > 1:
            counts[i] += 1
    return counts


def josephus(n, k):
    alive = np.ones(n, dtype=np.bool_)
    order = np.zeros(n, dtype=np.int64)
    place = -1
    for i in range(n):
        steps = 0
        while steps < k:
            place = (place + 1) % n
            if alive[place]:
                steps += 1
        alive[place] = False
        order[i] = place
    return order


def point_in_polygon(points, polygon):
    inside = np.zeros(len(points), dtype=np.bool_)
    n = len(polygon)
    for k in range(len(points)):
        x = points[k, 0]
        y = points[k, 1]
        found = False
        j = n - 1
        for i in range(n):
            if (polygon[i, 1] > y) != (polygon[j, 1] > y):
                if x < (polygon[j, 0] - polygon[i, 0]) * (y - polygon[i, 1]) / (polygon[j, 1] - polygon[i, 1]) + polygon[i, 0]:
                    found = not found
            j = i
        inside[k] = found
    return inside


def convex_hull(x, y):
    """Monotone chain: the places of the hull of points that are sorted by x."""
    n = len(x)
    hull = np.zeros(2 * n, dtype=np.int64)
    k = 0
    for i in range(n):
        while k >= 2 and ((x[hull[k - 1]] - x[hull[k - 2]]) * (y[i] - y[hull[k - 2]])
                          - (y[hull[k - 1]] - y[hull[k - 2]]) * (x[i] - x[hull[k - 2]])) <= 0:
            k -= 1
        hull[k] = i
        k += 1
    lower = k + 1
    for i in range(n - 2, -1, -1):
        while k >= lower and ((x[hull[k - 1]] - x[hull[k - 2]]) * (y[i] - y[hull[k - 2]])
                              - (y[hull[k - 1]] - y[hull[k - 2]]) * (x[i] - x[hull[k - 2]])) <= 0:
            k -= 1
        hull[k] = i
        k += 1
    return hull[:k - 1]


def longest_palindrome(s):
    start = 0
    longest = 0
    for i in range(len(s)):
        for lo, hi in ((i, i), (i, i + 1)):
            while lo >= 0 and hi < len(s) and s[lo] == s[hi]:
                lo -= 1
                hi += 1
            if hi - lo - 1 > longest:
                longest = hi - lo - 1
                start = lo + 1
    return s[start:start + longest]


PROGRAMS = {
    "longest_palindrome": (longest_palindrome, lambda n: (ints(2, n),), 500),
    "floyd_warshall": (floyd_warshall, lambda n: (r(n, n),), 80),
    "bubble": (bubble, lambda n: (r(n),), 150),
    "insertion": (insertion, lambda n: (r(n),), 150),
    "first_above": (first_above, lambda n: (r(n), 0.9999), 20000),
    "search2": (search2, lambda n: (r(n, n), 0.99995), 120),
    "count": (count, lambda n: (r(n) - 0.5,), 20000),
    "permuted": (permuted, lambda n: (r(n), ints(n, 40 * n)), 500),
    "binary_search": (binary_search, lambda n: (np.sort(r(n)), 0.3), 100000),
    "collatz": (collatz, lambda n: (np.arange(1, n),), 2000),
    "edit_distance": (edit_distance, lambda n: (ints(4, n), ints(4, n)), 145),
    "lcs": (lcs, lambda n: (ints(4, n), ints(4, n)), 145),
    "knapsack": (knapsack, lambda n: (ints(30, 40) + 1, r(40), n), 500),
    "crc": (crc, lambda n: (ints(256, n).astype(np.uint8),), 4000),
    "sieve": (sieve, lambda n: (n,), 50000),
    "argbest": (argbest, lambda n: (r(n),), 20000),
    "rle": (rle, lambda n: (np.repeat(ints(4, n), 3),), 3000),
    "levenshtein": (levenshtein, lambda n: (ints(4, n), ints(4, n + 2)), 120),
    "matrix_chain": (matrix_chain, lambda n: (ints(30, n // 2 + 1) + 1,), 140),
    "dtw": (dtw, lambda n: (r(n), r(n + 1)), 120),
    "needleman_wunsch": (needleman_wunsch, lambda n: (ints(4, n), ints(4, n + 3), 1, -1, -2), 120),
    "smith_waterman": (smith_waterman, lambda n: (ints(4, n), ints(4, n + 3), 2, -1, -1), 120),
    "sorting_network": (sorting_network, lambda n: (r(n),), 150),
    "bitonic_sort": (bitonic_sort, lambda n: (r(2 ** (n.bit_length() - 1)) if n else r(0),), 512),
    "prime_factor_counts": (prime_factor_counts, lambda n: (n,), 4000),
    "josephus": (josephus, lambda n: (n, 3), 500),
    "point_in_polygon": (point_in_polygon, lambda n: (r(n, 2), r(20, 2)), 1000),
    "convex_hull": (convex_hull, lambda n: (np.sort(r(n)), r(n)), 5000),
}
