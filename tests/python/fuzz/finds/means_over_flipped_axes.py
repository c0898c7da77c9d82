"""Means of converted values over axes that no run of memory has."""
def f(x):
    return x[:, ::-1].mean(axis=(0, 1)), x[:, ::-1].mean(axis=(0, 1), keepdims=True)
# ---- call
arguments = (np.arange(24, dtype='u1').reshape(3, 2, 4).transpose(0, 2, 1),)
# ---- call
arguments = (np.arange(300, dtype='u1').reshape(3, 50, 2).transpose(0, 2, 1),)
