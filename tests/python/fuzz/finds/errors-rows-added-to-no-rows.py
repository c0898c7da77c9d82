"""errors 80004975, economy_off

call 0: warnings [], expected [('RuntimeWarning', 'invalid value encountered in divide', '<fuzzed>', 4)]

watch: log; x
tolerance: 0.0001
"""
log = 1

def f(x, y, k):
    t1 = (x * (y / y)).sum(0)
    return t1
# ---- call
x = numbers((0, 1))
y = numbers(2)
y.flat = np.asarray(1e+200).astype('f4')
arguments = (x, y, 1.0)
