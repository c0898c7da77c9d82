"""A part is saved through views, overwritten through another name, and put back: what was saved has to be there again.

watch: memory
"""
class Box:
    def __init__(self, a):
        self.a = a
    def shift(self, by):
        self.a[1] = by

def put(a, b):
    a[...] = b

def f(x, y, k):
    s = np.array(np.expand_dims(y, 0)[..., 1:2, :])
    Box(x).shift(k)
    put(np.expand_dims(y, 0)[..., 1:2, :], s)
# ---- call
memory = ramp(35)
x = memory[10:35].reshape(5, 5)
arguments = (x, x, 0)
