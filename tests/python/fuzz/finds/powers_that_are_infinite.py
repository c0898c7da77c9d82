"""Infinities that a power has exactly are reported by some of the libraries that NumPy uses.

watch: log
tolerance: 0.0001
"""
log = []

def f(x, y, k):
    r = x ** y
    x **= -k
    return r, np.power(0.0 * y[1], y[0])
# ---- call
arguments = (np.array([0.0, -0.0, 3.0] * 5), np.array([-np.inf, 1.0, -np.inf] * 5), np.inf)
# ---- call
arguments = (np.array([0.0, -0.0, 3.0], 'f4'), np.array([-np.inf, 1.0, -np.inf], 'f4'), np.float32(np.inf))
# ---- call
arguments = (np.array([0.0, -0.0, 3.0], 'f2'), np.array([-np.inf, 1.0, -np.inf], 'f2'), np.float16(np.inf))
# ---- call
arguments = (np.array([1e300, 0.5, np.inf]), np.array([np.inf, 3.0, np.inf]), 1.0)
# ---- call
arguments = (np.array([-1e38, 0.5, np.inf], 'f4'), np.array([np.inf, 3.0, np.inf], 'f4'), np.float32(1))
