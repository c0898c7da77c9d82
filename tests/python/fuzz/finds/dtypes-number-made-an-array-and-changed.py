"""An array made of a NumPy scalar is not the scalar: the statements rung changed the argument"""
def f(a0, a1):
    t2 = np.array(a1, dtype='f2')
    t3 = a1
    t2 //= t3
# ---- call
arguments = (edge, edge((), 'f2', 1)[()])
