"""A sum over an axis of one element is written into: it is an array of its own.

watch: memory
"""
def f(x, y, z, k):
    t1 = np.atleast_2d(y).sum(axis=0)
    t1[1] += 1
    t2 = y * 2
    t3 = np.atleast_2d(t2).max(axis=0, keepdims=True)
    t3[0, 1:] += 5
    return (x, t1, t2, t3)
# ---- call
memory = ramp(19, 'u1')
x = memory
y = memory[11 + 0:11 + 0 + 3]
arguments = (x, y, memory[11 + 3:11 + 2 * 3], 2)
