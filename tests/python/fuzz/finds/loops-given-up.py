"""A loop that is traced for all of its turns and given up leaves nothing in the graph.

watch: box.content
"""
class Box:
    pass
box = Box

def f(x, y, m, k):
    x
    b = y
    s = x[0]
    u = y[1]
    n = len(x)
    for i in range(n - 2, -1, -1):
        if i > 5:
            if x[-1 - i] > k:
                s = i * 0.01
            else:
                u, s = (u, u)
        if i > 5:
            steps = 0.0
            while steps < 70.0 and i > 5:
                steps += 1.0
                if x[i - 1] > 2.5:
                    continue
            b[i] = u
        else:
            m[i % 3] = s
# ---- call
x = numbers((75,), 'f4', 33)
y = numbers((75,), 'f4', 12)
m = numbers((6, 4), 'f4', 8)
box.content = 0
arguments = (x, y, m, 0.5)
