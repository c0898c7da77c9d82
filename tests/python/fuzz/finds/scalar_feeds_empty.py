"""A scalar that is computed on the way to an array without elements."""
def f(a, b):
    return np.less_equal(np.fmod(b, 0.0), a), np.zeros(0) + b % (b - b), np.full(0, b / 0.0)
# ---- call
arguments = (np.zeros(0), np.float64(1))
# ---- call
arguments = ((), 1)
