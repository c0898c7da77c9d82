"""The strides of an empty argument have a say in the order of the axes of np.concatenate

watch: memory
"""
def f(x, y, z, k):
    t1 = np.concatenate([z[x.shape[0]:, :], z])
    s2 = t1.astype(t1.dtype)
    x[1] = 1
    return s2
# ---- call
memory = ramp(1)
x = memory
y = x
arguments = (x, y, x, 1)
# ---- call

# ---- call

# ---- call
memory = ramp(16)
x = memory[12:12 + 4]
arguments = (x, y, np.broadcast_to(x, (2, 4)), 1)
