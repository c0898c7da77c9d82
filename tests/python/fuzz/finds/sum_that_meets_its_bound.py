"""A size s + i that guards keep at 0 or more, and ranges at 0 or less, is 0.

watch: memory
"""
def f(x, y, z, k):
    s1 = z[:k]
    y[2:].sum()
    z[:k] = s1
    s1[1] = y
# ---- call
memory = ramp(1)
x = memory
y = memory
arguments = x
# ---- call
memory = ramp(3)
arguments = (x, y, memory, -1)
# ---- call
arguments = (x, y, y, 1.0)
# ---- call
arguments = (x, y, x, -1)
