"""loops 3151, avx2

call 0: warnings [], expected [('RuntimeWarning', 'overflow encountered in add', '<fuzzed>', 9)]

watch: box.content
"""
class Box:
    pass
box = Box

def f(x, y, m, k):
    a = x
    n = len(x)
    for i in range(n):
        a = a + a
# ---- call
x = edge(75, 'f4')
y = edge
m = numbers
box.content = 0
arguments = (x, y, m, 1.0)
