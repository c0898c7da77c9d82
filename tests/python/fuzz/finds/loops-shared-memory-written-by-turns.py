"""loops 1025, everything_checked

call 0: arguments[0]: array([1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1.])
expected array([ 1. , -2.5, -2. ,  1. ,  1. , -3.5, -2. , -1. ,  1. , -3. ,  1. ,
        1. ,  1. ,  1. ,  1. ])

watch: box.content
"""
class Box:
    pass
box = Box

def f(x, y, m, k):
    a = x
    b = y.copy()
    u = 1
    n = len(x)
    for i in b:
        1
    for i in range(n):
        if x[i] > 1.0:
            y[i] = u
        if i:
            a[...] = y
    for i in range:
        pass
# ---- call
x = numbers(15)
y = x[::1]
m = numbers
box.content = 0
arguments = (x, y, m, 1)
