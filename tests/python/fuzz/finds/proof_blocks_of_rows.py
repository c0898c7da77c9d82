"""Blocks of rows of a part of an array: their ends are extremes, and the part is not larger than the whole by a guard.

watch: memory
"""
def f(x, y, z, k):
    t1 = x
    t1[1] = 0
    y.sum()
# ---- call
memory = ramp(10)
x = memory[6:6 + 2 * 2].reshape(2, 2)
y = x.T[::-1]
arguments = (x, y, x, 1)
