"""Reductions convert piece by piece: a stretched axis has no say in the order of their results, as it has in what astype makes.

watch: memory
"""
def f(x, y, z, k):
    s1 = x[None].sum(axis=0)
    s2 = np.expand_dims(y, 0).mean(axis=0)
    s3 = z[None].any(axis=0)
    s4 = z[None].sum(axis=0, dtype='f8')
    s5 = y[:, None].prod(axis=1)
    return s1, s2, s3, s4, s5, np.count_nonzero(y[None], axis=0)
# ---- call
memory = ramp(14, 'i2')
x = np.broadcast_to(memory[11:11 + 3], (2, 3))
arguments = (x, window(memory, 1, (2, 3), (0, 1)), window(memory, 1, (2, 2, 2), (0, 0, 1)), 1)
# ---- call
memory = ramp(14, '?')
x = np.broadcast_to(memory[11:11 + 3], (2, 3))
arguments = (x, window(memory, 1, (2, 3), (0, 1)), window(memory, 1, (2, 2, 2), (1, 0, 0)), 1)
# ---- call
memory = ramp(14, 'f2')
x = np.broadcast_to(memory[11:11 + 3], (2, 3))
arguments = (x, window(memory, 1, (2, 3), (0, 1)), window(memory, 1, (2, 2, 2), (0, 2, 0)), 1)
