"""dtypes 90003456, default

internal failure: f: a check inside Fusewire failed: src/graph/plan.cpp:12: check failed: buffer: %2 of region 1 has no memory
"""
def f(a0):
    t2 = np.negative(a0)
    if t2:
        pass
    t5 = np.fmax(float(), a0)
    t9 = np.argmin(t5)
    -t9
# ---- call
arguments = (1,)
