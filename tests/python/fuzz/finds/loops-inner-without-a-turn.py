"""loops 1062, avx512

call 0: result: array(0.)
expected array(0.5)

watch: box.content
"""
class Box:
    pass
box = Box

def f(x, y, m, k):
    n = len(x)
    for i in range(n, -1, -1):
        for j in range(i):
            u = m[1, 1]
    return u
# ---- call
x = numbers(65)
y = numbers
m = numbers((2, 2))
box.content = 0
arguments = (x, y, m, 1.0)
