"""A product of f16 whose value nobody needs rounds all the same, and overflows"""
def f(a0, a1):
    np.add(a0, np.reciprocal(a0), out=a0)
    t1 = np.logical_and(np.prod(a0), 0)
    return t1
# ---- call
arguments = (edge(3, 'f2', 99), 1)
