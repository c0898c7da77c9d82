"""A division by one of two constants raises what it raises: complex numbers divided by zero, 1 / np.where(..., 0, 1)."""
def f(x, y, k):
    return 0 / x, np.zeros(1) / x, 1 / np.where(y > k, 0.0, 1.0), np.where(y > k, 1e300, 1.0) * 1e300, np.where(y > k, -1.0, 1.0) ** 0.5
# ---- call
arguments = (np.zeros(3, 'c16'), ramp(5), 1)
# ---- call
arguments = (edge(3, 'c8'), ramp(9, 'f4'), -100)
