"""An array may be one of two; in one arm of a later branch the one is written, and the other arm gives the name another.

watch: A; B; S; v; w
"""
def f(A, B, S, v, w, n):
    k, i, kept, s, e, C = (0, 0, 1, 0.0, v, A + B)
    for i in range(3):
        k += 1
    for i in range(k + 2):
        if np.linalg.det(C) > 0.5:
            C = A
        else:
            A[i % n] = np.sort(A[i % n])
# ---- call
rng = np.random.default_rng(32)
n = 8
A, B, S, v, w = [(rng.standard_normal(s) * 2).astype('i8') for s in ((n, n), (n, n), (3, n, n), (n,), (n,))]
arguments = (A, B, S, v, w, n)
