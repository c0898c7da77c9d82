"""Guards tell after a view was made that it has one row: the row has no say in the order of axes of what is joined.

watch: memory
"""
def f(x, y, z, k):
    t1 = np.concatenate([z.T, y[:1][:len(y) - 1]])
    return t1
# ---- call
memory = ramp(10)
x = memory[6:6 + 2 * 2].reshape(2, 2)
y = x
arguments = (x, y, y, 1)
