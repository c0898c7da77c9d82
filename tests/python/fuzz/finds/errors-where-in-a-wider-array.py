"""A loop narrower than the array that it writes where a mask is true: NumPy converts what is there, and warns.

watch: x
"""
def f(x, y, k):
    np.true_divide(1, k, where=y > 0, out=x)
# ---- call
x = numbers(3, 'c16', 24)
y = numbers(3, 'f8', 3)
arguments = (x, y, 0.5)
# ---- call
x = numbers((0, 3), 'c16', 24)
y = numbers(3, 'f8', 3)
arguments = (x, y, 0.5)
# ---- call
x = np.array([np.nan, 2.5, 1e300])
y = np.array([2.0, -1.0, -1.0])
arguments = (x, y, np.float32(0.5))
