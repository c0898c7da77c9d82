"""loops 3124026

the process ended with SIGABRT

watch: box.content
"""
class Box:
    pass
box = Box

def f(x, y, m, k):
    a = x
    u = 1
    n = len(x)
    i = j = None
    for i in range(k + 65):
        if i == n - 1:
            for j in range(3):
                a[:i] += u
    return (a, u, i, j)
# ---- call
x = numbers((66,), 'f8', 32)
y = x
m = numbers((6, 4), 'f8', 4)
box.content = 0
arguments = (x, y, m, 3)
# ---- call
x = numbers((64,), 'f8', 32)
y = x
m = numbers((6, 4), 'f8', 4)
box.content = 0
arguments = (x, y, m, 3)
