"""A sequence of rows is stored row by row: rows of the target itself are read when they may have been overwritten."""
def f(x, y, k):
    s = list(x[1:-1])
    x[1:-1] = s[::-1]
    x[:2] = [x[1] * 1, x[0] + k]
    x[0] = x[0, 1], *x[0, :1], x[1, 1], k
    y[...] = x[1], x[0]
    return x, y
# ---- call
x = ramp(16).reshape(4, 4)
arguments = (x, x[:2], 1)
# ---- call
x = ramp(16).reshape(4, 4)
arguments = (x, ramp(8).reshape(2, 4), 1)
