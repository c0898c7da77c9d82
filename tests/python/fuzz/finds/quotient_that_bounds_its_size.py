"""One row of a quotient that is 2, when s is 4 or 5 by that.

watch: memory
"""
def f(x, y, z, k):
    np.flip(x)[::2] = np.flip(x[2:])[1::2]
    np
# ---- call
memory = ramp(55, 'u1')
x = memory[9:9 + 5]
y = memory
arguments = (x, y, y, 1)
