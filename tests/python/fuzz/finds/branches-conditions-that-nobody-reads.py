"""A condition that chooses between equal values is computed for its reports, inside of an arm, too.

watch: log
"""
log = []

def f(x, y, k):
    kept = []
    1.0 if y.sum() else 2.0
    if k == 0:
        np.where(x / x, y, y) * 1.0
    if k == 1:
        kept.append(np.where(np.sqrt(x) > 2, y, y))
    if k == 2 and y.sum() > -100:
        x[...] = np.where(x - x.max(), x, x)
    if k == 3 and y.sum() > -100:
        kept.append((x[:1] / x[1]).argmax())
    return kept
# ---- call
arguments = (np.array([0.0, -2.0, 2.0]), numbers(3, 'f8', 21), 0)
# ---- call
arguments = (np.array([0.0, -2.0, 2.0]), numbers(3, 'f8', 21), 1)
# ---- call
arguments = (np.array([0.0, np.inf, 2.0]), numbers(3, 'f8', 21), 2)
# ---- call
arguments = (np.array([1.0, 0.0, 2.0]), numbers(3, 'f8', 21), 3)
