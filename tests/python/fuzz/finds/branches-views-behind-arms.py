"""branches 1113, unoptimised

the process ended with SIGILL

watch: box.content
"""
class Box:
    pass
box = Box

def f(x, y, k):
    a1 = x
    b1 = y
    c1 = a1[1:]
    if b1.sum():
        x + c1
    else:
        for i in range(2):
            if a1.sum():
                c1.sum
            else:
                c1[...] = 1
            pass
# ---- call
x = numbers(3)
y = edge(1, 'f8')
box.content = 0
arguments = (x, y, 1)
