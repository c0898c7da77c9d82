"""2**31 becomes an i32 with a warning also where the number is known"""
def f(a0):
    t2 = np.fabs(2 ** 31)
    t2.astype('i4')
# ---- call
arguments = (edge,)
