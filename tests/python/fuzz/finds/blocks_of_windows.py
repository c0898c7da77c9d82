"""Arrays that share memory, of which the first is a window that hides whose memory it is, or all lie in one buffer object.

watch: memory
"""
def f(x, y, z, k):
    np.copyto(x, 1, where=x > k)
    z.sum()
    return y - 1
# ---- call
memory = ramp(16)
arguments = (memory[12:13], memory[2:16], window(memory, 15, (2,), (-1,)), 1)
# ---- call
held = bytearray(80)
memory = np.frombuffer(held)
arguments = (np.frombuffer(held, count=4, offset=16), memory, np.frombuffer(held, offset=40), 1)
