"""A count over an axis of one element decides whether a division raises: its view had no memory"""
def f(a0, a1, a2):
    a2 %= np.count_nonzero(a1)
# ---- call
arguments = (edge, (1,), 1)
