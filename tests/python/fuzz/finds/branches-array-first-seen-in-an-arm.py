"""branches 1208, portable

call 1: arguments[0]: array([[-1. , -0.5],
       [ 5. ,  5. ]])
expected array([[-1. , -0.5],
       [ 2.5,  2.5]])

watch: box.content
"""
class Box:
    pass
box = Box

def f(x, y, k):
    a1 = x * 1.0
    c1 = a1
    if (x.mean() and 0) < x.sum():
        pass
        c1[1] = 0
        x[1] = y.sum()
    return x or 1
# ---- call
x = edge(2, 'f4')
y = numbers(1)
box.content = 0
arguments = (x, y, 1)
# ---- call
x = numbers((2, 2))
y = x[1]
arguments = (x, y, 1)
