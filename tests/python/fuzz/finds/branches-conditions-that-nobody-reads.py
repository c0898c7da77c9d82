"""A condition that chooses between equal values is computed for its reports, inside of an arm, too.

watch: log
"""
log = []

def f(x, y, k):
    kept = []
    if y.sum() > k:
        kept.append(np.where(np.sqrt(x), y, y))
        x[...] = np.where(x - x.sum(), x, x)
    first = np.where(x / x[0] > 1, y, y)[:1].argmax()
    return kept, first
# ---- call
x, y = edge((2, 3), 'f8', 29), numbers((2, 3), 'f8', 21)
arguments = (x, y, -1.0)
# ---- call
x, y = edge((2, 3), 'f8', 29), numbers((2, 3), 'f8', 21)
arguments = (x, y, 1e9)
# ---- call
x, y = np.array([[0.0, -2.0, 1.0]]), numbers((1, 3), 'f8', 21)
arguments = (x, y, -1.0)
