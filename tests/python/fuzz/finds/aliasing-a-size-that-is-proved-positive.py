"""A size of which more is proved than its range says divides: the rows of half an array.

watch: memory
"""
def f(x, y, z, k):
    x[len(x) // 2:].sum()
    x[...] = k
# ---- call
memory = ramp(60, 'f8')
x = memory[7:7 + 2 * 5].reshape(5, 2).T
y = x[-1]
arguments = (x, y, x[:0], True)
