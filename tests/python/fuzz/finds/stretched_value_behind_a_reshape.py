"""A stretched value, and one in another order, is stored through a reshape; an empty array is flattened.

watch: memory
"""
def f(x, y, z, k):
    x.reshape(x.shape[::-1])[...] = y[1]
    x[1:] = x[1]
    z.reshape(z.shape[::-1])[...] = z.reshape(z.shape[::-1]).sum(0)
    np.multiply(z[len(z) // 2:, 1:][0, 1:2], 1, z[::2])
    return x.T[..., 3:].real.reshape(-1)
# ---- call
memory = ramp(62, 'i4')
x = memory[11:11 + 3 * 3].reshape(3, 3)
y = memory[11 + 3:11 + 3 + 3 * 3].reshape(3, 3)
arguments = (x, y, memory[40:52].reshape(4, 3), 2)
# ---- call
memory = ramp(62, 'f8')
x = memory[11:11 + 3 * 3].reshape(3, 3)
y = memory[11 + 3:11 + 3 + 3 * 3].reshape(3, 3)
arguments = (x, y, memory[40:52].reshape(3, 4), 2)
