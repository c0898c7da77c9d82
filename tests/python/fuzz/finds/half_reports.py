"""Conversions to half precision overflow where the processor has no instruction for them, too.

watch: log
"""
log = []

def f(x, y, k):
    np.copyto(y, len(x) * 1e+200)
    y[...] = x * k
    return y.astype('f4').astype('f2')

def main(x, y, k):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        result = f(x, y, k)
    log.append([str(w.message) for w in caught])
    return result
# ---- call
x = edge(5, 'f8')
arguments = (x, np.zeros(5, 'f2'), 7e4)
# ---- call
x = edge(5, 'f4')
arguments = (x, np.zeros(5, 'f2'), 7e4)
