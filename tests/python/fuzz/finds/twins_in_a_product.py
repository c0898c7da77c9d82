"""A matrix times its own transpose has other bits than times the transpose of an equal one.

watch: A; B; S; v; w
"""
def f(A, B, S, v, w, n):
    k, i, kept, s, e, C = (0, 0, 1, 0.0, v, A + B)
    B[...] = (A + B) @ C.T
    return np.dot(A + B, (A + B).T), C @ C.T
# ---- call
rng = np.random.default_rng(1)
n = 17
A, B, S, v, w = [rng.standard_normal(s).astype('f8') for s in (n, (n, n), 1, n, n)]
arguments = (A, B, S, v, w, n)
