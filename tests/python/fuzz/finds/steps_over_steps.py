"""Slices with steps of slices with steps lie inside of their array.

watch: memory
"""
def f(x, y, z, k):
    return z[::2][::-2], x[:, ::3, 1][1, ::-2], z[::-3][1::2]
# ---- call
memory = ramp(93, 'f8')
x = memory[10:10 + 2 * 5 * 2].reshape(2, 5, 2)
arguments = (x, x, x.reshape(-1), 2)
# ---- call
memory = ramp(93, 'f8')
x = memory[10:10 + 2 * 3 * 3].reshape(2, 3, 3)
arguments = (x, x, x.reshape(-1), 2)
