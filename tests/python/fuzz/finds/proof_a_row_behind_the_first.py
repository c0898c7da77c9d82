"""(s0 - 1) * s1 == 12, so there are two rows at least; and 12 elements from the second row on end in front of the end.

watch: memory
"""
def f(x, y, z, k):
    t2 = np.broadcast_to(z[::-1][::-1], (2, *z.shape))
    s3 = list(t2.reshape(-1))
    x.fill(k)
    return s3
# ---- call
memory = ramp(24)
x = memory[8:8 + 4 * 4].reshape(4, 4)
y = x
arguments = (x, y, x[1:], 1)
