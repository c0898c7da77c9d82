"""s0 * s1 == 0 and s0 >= 1 leave s1 == 0: the last row has no elements.

watch: memory
"""
def f(x, y, z, k):
    s1 = z.ravel().copy()
    x.sort
    z.ravel()[:1] = s1[:1]
    return z[-1]
# ---- call
memory = ramp(1)
x = window(memory, 1, (1, 0), (1, 1))
y = memory
arguments = (x, y, x, 1)
