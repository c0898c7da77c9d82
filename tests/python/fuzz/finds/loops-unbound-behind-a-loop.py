"""loops 3594, avx512

the process ended with SIGSEGV

watch: box.content
"""
class Box:
    pass
box = Box

def f(x, y, m, k):
    s = x
    n = len(x)
    for i, z in enumerate(y):
        if i:
            s
    for i in range(n):
        pass
        steps += 1.0
# ---- call
x = numbers(65)
y = x
m = numbers
box.content = 0
arguments = (x, y, m, 1)
