"""A product starts from 1 + 0j: of one complex number it is not always that number."""
def f(x, y, k):
    return np.prod(x), np.prod(y), y.prod(axis=0), np.prod(k), np.cumprod(y), np.sum(k)
# ---- call
arguments = (np.complex128(complex(0.0, -0.0)), edge((1, 3), 'c8', 2), np.complex64(complex(float('inf'), 1)))
# ---- call
arguments = (np.array(complex(1, float('-inf'))), edge((1, 5), 'c16', 3), np.complex64(complex(-0.0, 0.0)))
