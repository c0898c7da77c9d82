"""x[-2] where s0 * s1 is 16: the place is 16 - 2 * s1.

watch: memory
"""
def f(x, y, z, k):
    z
    x[-2] = 1
    list(x.ravel().reshape(x.ravel().shape))
# ---- call
memory = ramp(25)
x = memory[9:9 + 4 * 4].reshape(4, 4)
y = 1
arguments = (x, y, y, 0)
