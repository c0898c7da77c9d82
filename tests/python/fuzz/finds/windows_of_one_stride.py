"""Axes of one stride, and axes that interleave: the order of the axes of what is made of them is NumPy's.

watch: memory
"""
def f(y):
    t = np.transpose(y)
    return t + 0, +t, t.copy(), t.astype('f4'), np.zeros_like(t).T, np.add(t, y.T[::-1]), y[..., ::-1].T * 2, t[::2] + 0
# ---- call
memory = ramp(9)
arguments = (window(memory, 1, (2, 2), (1, 1)),)
# ---- call
memory = ramp(9, 'f4')
arguments = (window(memory, 4, (3, 2), (-1, 1)),)
# ---- call
memory = ramp(20)
arguments = (window(memory, 0, (3, 4), (2, 1)),)
# ---- call
memory = ramp(20)
arguments = (window(memory, 0, (3, 1, 4), (1, 5, 1)),)
