"""np.where picks lanes after the division: what the lanes that are not picked raise is reported too."""
def f(x):
    return np.where(x != 0, 1 / x, 0), np.where(x > 0, np.sqrt(x), 0), np.where(x < 9, x * 1e308 * 10, 0)
# ---- call
arguments = (np.array([0.0, 1.0, -1.0]),)
# ---- call
arguments = (np.zeros(1),)
# ---- call
arguments = (np.arange(-5.0, 33.0),)
# ---- call
arguments = (np.arange(-5.0, 33.0).astype('f4'),)
