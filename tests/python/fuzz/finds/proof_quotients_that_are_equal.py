"""(s0 + 3) // 4 == (s0 + 1) // 2 leaves s0 <= 3.

watch: memory
"""
def f(x, y, z, k):
    s1 = z[::2].copy()
    np.copyto(s1, s1[::2])
    y += 1
    return s1
# ---- call
memory = ramp(1)
x = memory
y = window
arguments = (x, y, x, 1)
