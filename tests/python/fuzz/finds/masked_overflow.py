"""A ufunc under a mask: its operands are computed, and report, everywhere."""
def f(x, y):
    np.true_divide(x * 1e200 * y, 1, where=x > 0, out=x)
# ---- call
arguments = (edge(1, 'f4'), 1)
# ---- call
arguments = (numbers(9, 'f4', 2), edge(9, 'f4'))
