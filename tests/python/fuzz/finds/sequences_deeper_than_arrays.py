"""A sequence that is assigned may not be nested deeper than what it is assigned to, whatever its sizes are.

watch: x
"""
def f(x, k):
    if k == 0:
        x[...] = [x * 2]
    elif k == 1:
        x[:1] = [[x[0]]]
    elif k == 2:
        x[...] = x[None] + 1
    elif k == 3:
        np.copyto(x, [x * 2])
    else:
        x[None] = [x * 2]
# ---- call
x = numbers(3)
arguments = (x, 0)
# ---- call
arguments = (x, 1)
# ---- call
arguments = (x, 2)
# ---- call
arguments = (x, 3)
# ---- call
arguments = (x, 4)
