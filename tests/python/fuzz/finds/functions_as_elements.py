"""What is made in the call and is no number is refused by the array, not by the compiler.

watch: x
"""
def curry(by):
    def add(a):
        return a + by
    return add

def f(x, n):
    if n == 0:
        x[0] = curry(n)
    elif n == 1:
        x[...] = [curry(n), 1.0]
    elif n == 2:
        x[0] = iter([1.0])
    else:
        x[0] = [].append
# ---- call
x = numbers(2)
arguments = (x, 0)
# ---- call
arguments = (x, 1)
# ---- call
arguments = (x, 2)
# ---- call
arguments = (x, 3)
