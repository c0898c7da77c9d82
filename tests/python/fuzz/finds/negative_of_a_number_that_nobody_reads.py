"""Nothing but a check: a plan without kernels that may decline."""
def f(x, y, k):
    for i in range(3):
        p2 = x if x.any() else y
    t1 = -x.sum()
# ---- call
arguments = (np.array([5]), np.array([1]), 1)
# ---- call
arguments = (np.array([-2**63]), np.array([1]), 1)
# ---- call
arguments = (np.array([-2**63]), np.array([1]), 1)
# ---- call
arguments = (np.array([-2**63]), np.array([1]), 1)
