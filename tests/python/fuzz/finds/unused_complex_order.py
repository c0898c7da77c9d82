"""Ordering complex numbers raises "invalid" for a NaN, whether anybody uses the answer or not."""
def f(a):
    a > 0
    np.less_equal(a, a)
# ---- call
arguments = (edge(15, 'c16', 1),)
# ---- call
arguments = (np.complex64(complex(float('nan'), 1)),)
