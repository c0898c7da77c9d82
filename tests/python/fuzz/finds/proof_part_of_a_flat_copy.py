"""x is three by three by its flat copy alone, y a part of x, by strides.

watch: memory
"""
def f(x, y, z, k):
    s1 = list(x.ravel())
    y *= y.copy()
    y
    x.ravel()[...] = s1
    s2 = y.copy()
    np(s2[1])
# ---- call
memory = ramp(16)
x = memory[7:7 + 3 * 3].reshape(3, 3)
y = x.T
arguments = (x, y, x, 0)
