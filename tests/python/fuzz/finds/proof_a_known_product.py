"""s1 * s2 == 16, and the rows of an array whose strides are partly known.

watch: memory
"""
def f(x, y, z, k):
    t2 = np.broadcast_to(z[1], (2, *z.shape))
    s3 = list(t2.reshape(-1))
    np
    return s3
# ---- call
memory = ramp(24)
x = memory[8:8 + 4 * 4].reshape(4, 4)
y = x
arguments = (x, y, x, 1)
