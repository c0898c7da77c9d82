"""errors 80005616, portable

call 0: warnings [], expected [('RuntimeWarning', 'overflow encountered in multiply', '<fuzzed>', 5)]

watch: log; x
tolerance: 0.0001
"""
log = 1

def f(x, y, k):
    x.sum(0)
    y * y * x
# ---- call
x = numbers((0, 3))
y = numbers(3)
y.flat = np.asarray(1e+300).astype('f8')
arguments = (x, y, 1.0)
