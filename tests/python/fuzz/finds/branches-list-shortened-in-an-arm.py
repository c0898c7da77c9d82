"""branches 50002098, avx512

call 2: result: length 2, expected 1: [np.int32(-1), 0], expected [np.int32(-1)]

watch: box.content
"""
class Box:
    pass
box = Box

def f(x, y, k):
    x
    b1 = y
    kept = [y, 0]
    if b1.sum():
        if b1.sum():
            pass
        else:
            pass
        del kept[1]
    return kept
# ---- call
x = 1
box.content = 0
arguments = x
# ---- call
x = numbers(2, 'i4') * 1
y = x[1]
arguments = (x, y, 1)
# ---- call


