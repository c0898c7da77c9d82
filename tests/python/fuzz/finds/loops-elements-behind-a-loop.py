"""An element at a place that a loop has decided is inside of its array, where it is a result, too.

watch: m
"""
def f(x, y, m, k):
    u = y[1]
    n = len(x)
    count = 0
    for i, (z, q) in enumerate(zip(x, y)):
        if u > k:
            pass
        elif x[i] > 0:
            count += 2
        u = x[count % n]
    for i in range(1, n):
        count = int(x[i] * 3) % 7
    v = y[count % n]
    if count > 2:
        v = m[i % 4, 1]
    return u, v
# ---- call
x, y, m = numbers(70, 'f4', 33), numbers(70, 'f4', 42), numbers((6, 4), 'f4', 3)
arguments = (x, y, m, 3)
# ---- call
x, y, m = numbers(3, 'f2', 17), numbers(3, 'f2', 42), numbers((6, 4), 'f2', 3)
arguments = (x, y, m, 3)
