"""A place that only the few values left by guards prove: len(x) is 3 or 4, and the quotient of it a number for each.

watch: memory
"""
def f(x, y, z, k):
    y[:3][x.shape[0] - 1:] = x[::2][len(x) // 2:]
    t1 = np.stack([x])
    t1[1:1, -3]
    z[::3].ravel()
# ---- call
memory = ramp(12)
x = memory[8:8 + 4]
y = x[:-1]
arguments = (x, y, y, 1)
