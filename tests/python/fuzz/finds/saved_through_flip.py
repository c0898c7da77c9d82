"""Elements saved through a reversed view, written one by one, and put back with copyto; the function has seen one axis before.

watch: memory
"""
def f(x, y, z, k):
    s = np.flip(y)[1::2, :1].copy()
    y.squeeze()[0], y.squeeze()[1] = (1, 0)
    np.copyto(np.flip(y)[1::2], s)
# ---- call
memory = ramp(16)
x = memory[12:16].reshape(4)
arguments = (x, x, x, 1)
# ---- call
x = memory[12:16].reshape(4, 1)
y = x.copy()
arguments = (x, y, x, 1)
