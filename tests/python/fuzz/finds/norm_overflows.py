"""np.dot reports what it raises, in norms too.

watch: A; B; S; v; w
"""
def f(A, B, S, v, w, n):
    e = v
    kept = []
    for i in range(n):
        if np.linalg.norm(e):
            e = A
        kept.append(np.dot(v, v))
        v = v * 1e30
    return kept
# ---- call
rng = np.random.default_rng(1)
n = 2
A, B, S, v, w = [rng.standard_normal(s).astype('f4') for s in ((n, n), n, 1, n, n)]
A *= 1e+30
arguments = (A, B, S, v, w, n)
