"""s0 * s1 == 1 of sizes.

watch: memory
"""
def f(x, y, z, k):
    np.roll(y, 1)
    y[-1] = (y[-1], y)
# ---- call
memory = ramp(10)
x = memory[5:5 + 5].reshape(1, 1, 5).transpose(1, 0, 2)
y = x[..., 0]
arguments = (x, y, x, 1)
