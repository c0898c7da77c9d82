"""An element of an empty array was loaded in front of a loop without a turn

watch: memory
"""
def f(x, y, z, k):
    t1 = np.ravel(np.atleast_2d(x)[1:])
    np.subtract(z, t1, out=z)
# ---- call
memory = ramp(25, 'f2')
x = memory[4:4 + 2 * 0:2]
y = memory
arguments = (x, y, x, True)
