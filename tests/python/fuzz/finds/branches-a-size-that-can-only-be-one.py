"""branches 80005545, unoptimised

internal failure: pass canonicalize: unsound result: %14 = define: binds what is no symbol

watch: box.content
"""
class Box:
    pass
box = Box

def f(x, y, k):
    a1 = x
    b1 = y
    p1 = b1[::-1].ravel()[:a1.sum()]
    p1[1:] = 1
# ---- call
x = numbers(1, 'i4')
y = numbers(1)
box.content = 0
arguments = (x, y, 1)
