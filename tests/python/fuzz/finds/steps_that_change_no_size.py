"""A part by steps that broadcasts with the whole: (n + 2) // 3 == n leaves one element or none."""
def f(y, k):
    t = np.empty_like(y)
    t[...] = y[::2]
    s = np.array(y[1::2])
    return y[::3] + y, y[::-2] * y, t, s[::2]
# ---- call
arguments = (ramp(1), 1)
# ---- call
arguments = (ramp(0), 1)
# ---- call
arguments = (ramp(1, 'i4'), 1)
