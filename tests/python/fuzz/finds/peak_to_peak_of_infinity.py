"""inf - inf inside np.ptp, of which only a position is used."""
def f(a):
    return np.argmax(np.ptp(float('inf'))), np.argmin(np.ptp(a))
# ---- call
arguments = (np.full(3, float('inf')),)
