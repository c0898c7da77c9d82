"""A constant that its integer type does not hold is reported when it is cast, not when the cast is compiled.

watch: log
"""
log = []

def f(x):
    np.min(1e300, keepdims=True).astype('i8')
    return np.float64(-1.5).astype('i4'), np.float32(7.9).astype('u1'), np.full(3, -9.2233720368547758e18).astype('i8')
# ---- call
arguments = (edge(3, 'f8'),)
