"""A product of sizes is positive, so each of them is, also where a sum stands for it.

watch: memory
"""
def f(x, y, z, k):
    s1 = y[0 - 1:] * 1
    x[1:-1] = [x[1], *x[1:1]]
    s1[-1], z[1] = (x[...][1].copy(), s1.reshape(-1)[0].copy())
    put(y[x.shape[0] - 1:], s1)
# ---- call
memory = ramp(29)
x = memory[9:9 + 5 * 2 * 2].reshape(5, 2, 2)
y = x[...]
arguments = (x, y, x.swapaxes(0, 1), 1)
