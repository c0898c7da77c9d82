"""NumPy's half-precision scalars report of a remainder what the quotient raises, and the other way round.

watch: log
"""
log = []

def f(x, y, k):
    if k == 0:
        return x[0] % y[0]
    if k == 1:
        return x[0] // y[0]
    return 1 % y[0]

def main(x, y, k):
    with np.errstate(invalid='warn' if k == 1 else 'ignore', divide='ignore' if k == 1 else 'warn'):
        return f(x, y, k)
# ---- call
arguments = (np.array([1], 'f2'), np.array([0.0], 'f2'), 0)
# ---- call
arguments = (np.array([1], 'f2'), np.array([-0.0], 'f2'), 0)
# ---- call
arguments = (np.array([np.inf], 'f2'), np.array([-0.0], 'f2'), 0)
# ---- call
arguments = (np.array([0], 'f2'), np.array([0.0], 'f2'), 0)
# ---- call
arguments = (np.array([1], 'f2'), np.array([6e-8], 'f2'), 0)
# ---- call
arguments = (np.array([np.nan], 'f2'), np.array([0.0], 'f2'), 0)
# ---- call
arguments = (np.array([7], 'f2'), np.array([-2], 'f2'), 0)
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
# ---- call
arguments = (np.array([1], 'f2'), np.array([0.0], 'f2'), 2)
# ---- call
arguments = (np.array([1], 'f2'), np.array([-0.0], 'f2'), 2)
# ---- call
arguments = (np.array([np.inf], 'f2'), np.array([-0.0], 'f2'), 2)
# ---- call
arguments = (np.array([0], 'f2'), np.array([0.0], 'f2'), 2)
# ---- call
arguments = (np.array([1], 'f2'), np.array([6e-8], 'f2'), 2)
# ---- call
arguments = (np.array([np.nan], 'f2'), np.array([0.0], 'f2'), 2)
# ---- call
arguments = (np.array([7], 'f2'), np.array([-2], 'f2'), 2)
