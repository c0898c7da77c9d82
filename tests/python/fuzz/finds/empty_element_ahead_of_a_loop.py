"""An element of an array without elements is loaded ahead of the loop that would use it: a slice of a new axis has stride 0 and may be empty.

watch: memory
"""
def f(x, y, z, k):
    t1 = np.ravel(np.atleast_2d(x)[1:])
    np.subtract(z, t1, out=z)
# ---- call
memory = ramp(1, 'f2')
x = memory[1:1:1]
y = memory
arguments = (x, y, x, True)
