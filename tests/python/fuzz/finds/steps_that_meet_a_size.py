"""A slice with a step that has to have the size of its target lies inside of its array.

watch: memory
"""
def f(x, y, z, k):
    x[k] = x[k:][1::2]
    y[:2] = y[k:][1::2]
    t = z[1:].flatten()
    t[len(t) // 2:] = t[::-2][::-1]
    z[::1] = z[len(z) // 2:][1::2]
    return t
# ---- call
memory = ramp(278, 'f8')
x = memory[9:9 + 4 * 5 * 4].reshape(4, 5, 4)
y = memory[100:106]
arguments = (x, y, memory[120:125], 2)
# ---- call
memory = ramp(278, 'f8')
x = memory[9:9 + 4 * 5 * 4].reshape(4, 5, 4)
y = memory[100:106]
arguments = (x, y, memory[120:125], 2)
