"""A loop over max(min(max(n, 0), m), 0) runs below n, and below m.

watch: memory
"""
def f(x, y, z, k):
    z[k], z = (1, z)
    return x[-1:][:k, 0] + 0
# ---- call
memory = ramp(28)
x = memory[8:8 + 4 * 5].reshape(4, 5)
y = x
arguments = (x, y, x[1:], 1)
