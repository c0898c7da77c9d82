"""Behind a branch whose sides return by themselves, what one array may be is still known.

watch: box.content
"""
class Box:
    pass
box = Box

def f(x, y, k):
    a1 = x
    b1 = y
    kept = 1
    p1 = None
    c1 = b1
    for w in (1, 0.5):
        if float(max(float(b1.sum()), 1000.0)) > 0:
            break
    else:
        np.sqrt(c1 - x.sum() + x)
    y = np.abs(b1)
    a1 = y if a1.any() else -c1
    return (y, a1, b1, p1, c1, kept)
# ---- call
x = np.asarray(numbers((1,), 'i4', 47) * -1)
y = np.asarray(x)
box.content = 0
arguments = (x, y, 0)
# ---- call
x = np.asarray(numbers((1,), 'i4', 20) * -1)
y = np.asarray(numbers((1,), 'i4', 31) * 1)
box.content = 0
arguments = (x, y, 3)
# ---- call
x = np.asarray(numbers((9,), 'i4', 43) * 2)
y = np.asarray(numbers((9,), 'i4', 10) * 2)
box.content = 0
arguments = (x, y, 1)
