"""complex takes a np.float64 for a float: == answers Python's bool, + Python's complex."""
def f(z, x):
    return 0.5j == x, 0.5j != x, z == x, z != x, x == z, type(z + x), type(x + z), z in (x, 1), [x].count(z)
# ---- call
arguments = (1 + 0j, np.float64(1))
# ---- call
arguments = (1j, np.float64('nan'))
# ---- call
arguments = (1 + 0j, np.float32(1))
# ---- call
arguments = (1 + 0j, np.array(1.0))
