"""A mean in float16 that was asked for rounds its sum, too."""
def f(a0, a1, a2):
    t1 = np.mean(a0, keepdims=True, dtype='f2')
    t2 = a2
    t4 = np
    return t1
# ---- call
arguments = (edge(9, 'f8', 60)[::2], numbers, edge)
