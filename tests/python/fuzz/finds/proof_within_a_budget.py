"""What a proof follows in vain must not use up the time of the others.

watch: memory
"""
def f(x, y, z, k):
    s1 = x[:, k:] + 0
    s1[4:]
    x[:, k:][1:] = s1[1:]
    s4 = y
    y[0], s1 = (s4[1].copy(), s1[1, 1][0])
# ---- call
memory = ramp(37)
x = memory[7:7 + 3 * 5 * 2].reshape(3, 5, 2)
y = x[1]
arguments = (x, y, x[1], 1)
