"""What a square is decomposed into has the layout of the square"""
def f(a0):
    t1 = np.square(np.broadcast_to(a0, (2, 3)))
    return t1
# ---- call
arguments = (edge(3, '?'),)
