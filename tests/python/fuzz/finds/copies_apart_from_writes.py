"""A copy that a write keeps apart by its number, and one that the plan makes of the same value.

watch: memory
"""
def f(x, y, z, k):
    t1 = np.empty_like(x)
    t1[...] = z
    z[1:].fill(k)
    t3 = x.flatten()
    t4 = t1
    return t3, t4
# ---- call
memory = ramp(14)
arguments = (memory[9:13], 0, memory[10:14], 1)
# ---- call
memory = ramp(14, 'i4')
arguments = (memory[2:6], 0, memory[8:12], 1)
