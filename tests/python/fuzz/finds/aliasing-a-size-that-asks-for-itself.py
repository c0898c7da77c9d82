"""aliasing 3481472, portable

the process ended with SIGSEGV

watch: memory
"""
def f(x, y, z, k):
    s1 = 1
    z[:] = s1
    s2 = x[1::2, ::3][..., len(x) // 2:, -1].copy()
    t4 = 1
    s5 = s2.swapaxes(0, -1).reshape(-1)
    np
    return s2
# ---- call
memory = ramp(65, 'u1')
x = memory[7:7 + 3 * 1 * 4].reshape(3, 1, 4)
y = x[..., ::-1]
arguments = (x, y, y, 1)
