"""A break that is not alone in its block: what is written there was lost

watch: box.content
"""
class Box:
    pass
box = Box
0

def pick(a, b):
    pass

def clipped(a, most):
    return a + 0.0

def steps(a):
    return a

def f(x, y, k):
    a1 = x * 1.0
    b1 = y + 0.5
    kept = []
    c1 = a1
    a1 -= a1
    for i in range(3):
        if np.any(np.sqrt(np.where(y > 3.0, x, c1)) != 1):
            for i in range(3):
                pass
                if -3.0 < clipped(x, 3.0).sum() < 10:
                    c1 = c1 + steps(x)
                    break
                b1[:1] = a1.sum() or -1
            y = abs(np.where(b1 > 1000.0, y, a1))
        pass
# ---- call
x = np.asarray(numbers((4,), 'f8', 0) * 1)
y = np.asarray(x[::-1])
box.content = 0
arguments = (x, y, 1)
# ---- call
x = np.asarray(numbers((4,), 'f8', 33) * -1)
y = np.asarray(x[::-1])
box.content = 0
arguments = (x, y, 3)
