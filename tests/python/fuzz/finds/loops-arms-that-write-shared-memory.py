"""loops 9306, avx512

the process ended with SIGSEGV

watch: box.content
"""
class Box:
    pass
box = Box

def f(x, y, m, k):
    a = x
    b = y
    s = x.sum()
    for i in range(1):
        x
        if a[i - 1]:
            if y[2]:
                m += s
            else:
                x[...] = 1
        b[i] = s
# ---- call
x = numbers(3, 'i4')
y = x[::1]
m = numbers(1, 'i4')
box.content = 0
arguments = (x, y, m, 0)
