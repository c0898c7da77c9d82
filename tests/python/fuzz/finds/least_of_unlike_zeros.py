"""Which of two zeros fmin and fmax of constants answer is NumPy's business.

watch: log
"""
log = []

def f(x):
    x[...] = np.fmin(0, -0.0)
    return (np.fmin(0, -0.0), np.fmin(-0.0, 0), np.fmax(0, -0.0), np.fmax(-0.0, 0), np.minimum(0, -0.0), np.minimum(-0.0, 0),
            np.maximum(np.float32(0), np.float32(-0.0)), np.maximum(np.float16(0), np.float16(-0.0)))
# ---- call
arguments = (edge(1, 'f2'),)
# ---- call
arguments = (edge(3, 'f8'),)
