"""A sum over a part of every row, whose rows are gathered some at a time: min(rows, what is left) times a width."""
def f(x, k):
    return x[:, 1:].sum(), x[:, :k].mean(), x[1:, ::-1].std()
# ---- call
arguments = (ramp(15).reshape(3, 5), 2)
# ---- call
arguments = (ramp(9000).reshape(9, 1000), 999)
# ---- call
arguments = (ramp(40, 'f4').reshape(20, 2), 1)
