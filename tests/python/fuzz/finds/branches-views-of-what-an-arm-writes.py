"""branches 1132, everything

the process ended with SIGSEGV

watch: box.content
"""
class Box:
    pass
box = Box

def f(x, y, k):
    c1 = x
    x.sum() or b1
    pass
    if c1.sum():
        pass
    c1 if y.sum() else c1
    x[...] = 1
# ---- call
x = numbers(1)
y = x[::1]
box.content = 0
arguments = (x, y, 1)
