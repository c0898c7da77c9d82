"""An element of an array that a loop overwrites, and nobody reads again, is stored behind the loop: it has the value of before.

watch: x
"""
def f(x, k):
    a = x * 0.5
    n = len(x)
    x[:] = a[n // 2]
    for i in range(1, n):
        b = a[::-1]
        b[(k * 3 + i) % n] = 0
    return k
# ---- call
x = ramp(70)
arguments = (x, 2)
# ---- call
x = ramp(70)
arguments = (x, 2)
# ---- call
x = ramp(71)
arguments = (x, 2)
