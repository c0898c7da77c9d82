"""A floor division whose quotient is 0 takes the sign from a / b, which may underflow.

watch: log
"""
log = []

def f(x, y, k):
    r = x // y, x % y
    x //= y[0]
    return r

def main(x, y, k):
    with np.errstate(under=k):
        return f(x, y, k)
# ---- call
arguments = (np.array([0.1, -0.1, 0.0] * 5), np.array([1.7e308, 1.7e308, np.inf] * 5), 'warn')
# ---- call
arguments = (np.array([0.1, -0.1, 0.0] * 5, 'f4'), np.array([3e38, 3e38, np.inf] * 5, 'f4'), 'warn')
# ---- call
arguments = (np.array([0.1, -0.1, 0.0] * 5), np.array([1.7e308, 1.7e308, np.inf] * 5), 'raise')
# ---- call
arguments = (np.array([2.0 ** -1000, 1.0]), np.array([2.0 ** 60, 3.0]), 'warn')
# ---- call
arguments = (np.array([2.0 ** -1000, 1.0]), np.array([3 * 2.0 ** 60, 3.0]), 'ignore')
