"""Arguments without any stride: the one element that they have is read before the loops."""
def f(x, y):
    return x + 1, np.where(y, x, 0)
# ---- call
arguments = (np.broadcast_to(np.float32(3), (2, 3)), True)
# ---- call
arguments = (np.broadcast_to(np.int8(3), (4, 1)), np.ones(1))
# ---- call
arguments = (np.broadcast_to(np.float32(3), (0, 3)), True)
