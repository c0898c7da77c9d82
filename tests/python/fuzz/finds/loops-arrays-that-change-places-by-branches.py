"""Two arrays change places in every turn, if the data say so: capturing this took twice as long for each further turn.

watch: x
"""
def f(x, y, k):
    a = x * 0.5
    b = y + 0.5
    p = 0.0
    steps = 0.0
    while steps < 60.0:
        steps += 1.0
        if y[1] < y[2]:
            p = b[k]
            a, b = b, a
    return p, a, b
# ---- call
x = numbers(3, 'i8', 3)
y = edge(3, 'i8', 15)
arguments = (x, y, 1)
# ---- call
x = numbers(3, 'i8', 3)
y = ramp(3)
arguments = (x, y, 1)
