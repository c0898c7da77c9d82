"""branches 102937, checked

internal failure: f: a check inside Fusewire failed: ../../src/frame_eval/numpy/memory.cpp:32: check failed: graph::info(op).cls == graph::OpClass::kView || op == Op::kReal || op == Op::kImag (/tmp/fusewire_failure_f_c0cb3cb28893.py)

watch: box.content
"""
class Box:
    pass
box = Box

def steps(a):
    return a

def f(x, y, k):
    a1 = x * 1.0
    b1 = y
    1
    a1
    if a1.any():
        p1 = float(((b1 - y.sum()) / x).sum())
    else:
        pass
    -steps(x).sum()
    for i in range(3):
        a1[...] = a1[::-1]
        if float((x / b1).sum()) > -1:
            continue
        a1 = np.abs(b1)
# ---- call
x = np.asarray(numbers((4,), 'f8', 39) * 2)
y = np.asarray(x[::-1])
box.content = 0
arguments = (x, y, 1)
