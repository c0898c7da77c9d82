"""An array that is all of a block of shared memory answers itself where it is contiguous: what is written later is seen.

watch: memory
"""
def f(x, y, z, k):
    s = np.ascontiguousarray(x[:])
    t = x.ravel()
    u = np.reshape(x, -1)
    y[1] = 1
    x[...] = s
    t[4:] += 1
    return s, t, u
# ---- call
memory = ramp(88, 'c16')
x = memory[13:13 + 5 * 3].reshape(5, 3)
y = x[:-1]
arguments = (x, y, x, 2)
# ---- call
memory = ramp(88, 'c16')
x = memory[13:13 + 5 * 3].reshape(5, 3)
y = x[1:]
arguments = (x, y, y, 2)
