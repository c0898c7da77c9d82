"""Scalars read from an array that was written with its own elements, which is then overwritten: they are what they were.

watch: memory
"""
def put(a, b):
    t = a.copy()
    b[...] = t

def f(x, y, z, k):
    put(y, y)
    s = list(z)
    t = z[-1].item()
    z[::-1] = s
    return s, t
# ---- call
memory = ramp(2)
x = memory
y = x[1:]
arguments = (x, y, memory, 0)
# ---- call
memory = ramp(9)
x = memory[:4]
y = memory[2:5]
arguments = (x, y, memory[1:6], 0)
