"""branches 9031, avx2

the process ended with SIGILL

watch: box.content
"""
class Box:
    pass
box = Box

def pick(a, b):
    pass

def clipped(a, most):
    return a

def f(x, y, k):
    a1 = x
    b1 = y
    None
    c1 = a1
    if 1 == c1.sum():
        pass
    elif float(abs(-b1).sum()) > 0:
        pass
    elif np.any(steps(x if x.sum() > 2 else b1) != 3.0):
        pass
    if len(y):
        pass
    for i in range(2):
        pass
        if np.any(pick(np.zeros_like(x), x) != k):
            break
        y -= a1
    np.sqrt(y)
# ---- call
x = np.asarray(numbers((4,), 'f8', 7) * 1)
y = np.asarray(x[::-1])
box.content = 0
arguments = (x, y, 1)
