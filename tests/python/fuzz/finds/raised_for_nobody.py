"""What raises counts, also where the machine code can tell that its value does not matter."""
def f(x, y, u):
    r = [np.where(y - y, 1 / x, 0)]
    r.append(np.where(u >= 0, 7.0, np.log(x)))
    r.append((1 / x > 2) & (y != y))
    r.append((x * 1e308 * 1e10).astype('i4') * (y ^ y))
    r.append(1 / x < np.inf)
    r.append(np.logical_or(np.sqrt(x) > 1, y == y))
    r.append(np.minimum((x / 0).astype('i8'), -2**63))
    return r
# ---- call
arguments = (np.array([1.0, 0.0, -1.0]), np.array([0, 3, -2]), np.zeros(3, 'u1'))
# ---- call
arguments = (np.zeros(1), np.zeros(1, int), np.zeros(1, 'u8'))
# ---- call
arguments = (np.arange(-40.0, 33.0), np.arange(73), np.arange(73).astype('u1'))
# ---- call
arguments = (np.arange(-40.0, 33.0).astype('f4'), np.arange(73).astype('i2'), np.arange(73).astype('u2'))
# ---- call
arguments = (np.float64(0), np.int64(3), np.uint8(1))
# ---- call
arguments = (np.ones(9) / 4, np.arange(9), np.arange(9).astype('u1'))
