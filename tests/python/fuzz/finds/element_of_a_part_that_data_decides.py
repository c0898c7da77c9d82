"""t[1] of a part of x of a size that data decides is x[1]: it does not mention the size, which has to be 2 at least.

watch: x
"""
def f(x, k):
    t = x.ravel()[:int(x.sum())]
    t.ravel()[1] *= k
# ---- call
x = numbers(1)
arguments = (x, 0)
# ---- call
x = numbers(4) * 0 + 1
arguments = (x, 7)
# ---- call
x = numbers(4) * 0
arguments = (x, 7)
# ---- call
x = numbers(1) * 0 + 3
arguments = (x, 7)
# ---- call
x = np.ones(9)
arguments = (x, 7)
