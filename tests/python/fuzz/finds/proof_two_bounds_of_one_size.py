"""s1 - 1 <= (s0 + 2) // 3 and s0 <= 2 * s1 - 1 leave s1 <= 4.

watch: memory
"""
def put(a, b):
    a[...] = b

def f(x, y, z, k):
    s2 = y.copy()
    put(y, s2)
    s2[1] += z[::3][:len(y) - 1]
# ---- call
memory = ramp(14)
x = memory[10:9 + 2 * 2:2]
y = x
arguments = (x, y, window(memory, 10 + 2, (2,), (-1,)), 1)
