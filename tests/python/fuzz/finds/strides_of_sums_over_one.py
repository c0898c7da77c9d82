"""Reductions over axes of size one answer arrays of their own, in the order of the operand's axes.

watch: memory
"""
def f(x, y, z, k):
    wide = np.broadcast_to(x[:, 0], (2, 3))[None].max(axis=0)
    return z[None].sum(axis=0), z[None].max(axis=0, keepdims=True), z[:, None].any(axis=1), wide, wide + x[:2]
# ---- call
memory = ramp(58, 'u1')
x = memory[7:7 + 3 * 3].reshape(3, 3).T
arguments = (x, x, x, -1)
# ---- call
memory = ramp(58, 'f8')
x = memory[7:7 + 3 * 3].reshape(3, 3).T
arguments = (x, x, x[:2], -1)
