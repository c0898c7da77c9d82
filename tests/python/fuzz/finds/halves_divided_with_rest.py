"""NumPy's half-precision scalars report of a remainder what the quotient raises, and the other way round.

watch: log
"""
log = []

def f(x, y, k):
    return x[0] % y[0], x[0] // y[0], 1 % y[0], x % y, x // y
# ---- call
arguments = (np.array([1], 'f2'), np.array([0.0], 'f2'), 1)
# ---- call
arguments = (np.array([1], 'f2'), np.array([-0.0], 'f2'), 1)
# ---- call
arguments = (np.array([np.inf], 'f2'), np.array([-0.0], 'f2'), 1)
# ---- call
arguments = (np.array([0], 'f2'), np.array([0.0], 'f2'), 1)
# ---- call
arguments = (np.array([1], 'f2'), np.array([6e-8], 'f2'), 1)
# ---- call
arguments = (np.array([np.nan], 'f2'), np.array([0.0], 'f2'), 1)
# ---- call
arguments = (np.array([7], 'f2'), np.array([-2], 'f2'), 1)
