"""stacks 25071051: two lists of tuples whose items are of other classes were asked for the dtype of a tuple (a crash).

watch: x
"""
import bisect
import heapq
from collections import deque

def f(x, n, limit):
    s, k, t, q, last, z, v, i = 0.0, 0, 0, 0, None, x * 0.5, 0.5, 0
    a = [float(v)]
    b = []
    heapq.heapify(a)
    for i in range(n):
        v = x[i]
        t += 1
        if x[k % n] < 0.4:
            if i % 3 == 0:
                heapq.heappush(a, 0.0)
        for j in (1, -1):
            b.append((s, (i, i)))
        heapq.heappush(a, z[k % n])
    while len(a) > 0:
        t += 1
        if t > limit: break
        i = t % n
        v = x[t % n]
        q = heapq.heappop(a)
        z[k % n] = q
    while a:
        t += 1
        if t > limit: break
        i = t % n
        v = x[t % n]
        q = heapq.heappop(a)
        k += 1 if q > 0.5 else 0
        s = float(q) * 0.5 + v
        if t % 2: continue
    t = 0
    while b and t < limit:
        t += 1
        new = []
        for q in b:
            s = s * 0.5 + 1.0
            if t % 3 < 2:
                new.append((s, (i, k)))
        b = new
    return a, b, len(a), z
# ---- call
n = 70
x = np.random.default_rng(36).random(n)
arguments = (x, n, 200)
# ---- call
n = 2
x = np.random.default_rng(23).random(n)
arguments = (x, n, 5)
# ---- call
n = 3
x = np.random.default_rng(31).random(n)
arguments = (x, n, 1000)
