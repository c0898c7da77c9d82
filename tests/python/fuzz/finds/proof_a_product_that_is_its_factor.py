"""s0 * s1 == s0 says that s1 is 1 where there is anything.

watch: memory
"""
def f(x, y, z, k):
    np.add(z.ravel(), 1, out=y.T)
    y + z[1:1]
# ---- call
memory = ramp(2)
x = memory
y = x[:, None]
arguments = (x, y, y, 0)
