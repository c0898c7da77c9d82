"""np.float64(x) of an array of that type is x itself."""
def f(x, y, k):
    t = np.float64(x)
    t += k
    u = np.float64(y)
    v = np.float64(np.broadcast_to(y, (2, len(y))))
    u[:1] = 7
    return t, u, v, np.float64(x[0]), np.float32(x[::-1])
# ---- call
arguments = (ramp(3), ramp(3, 'i4'), 2)
# ---- call
arguments = (ramp(3), ramp(3), 2)
# ---- call
x = ramp(1)
arguments = (x, x, 2)
