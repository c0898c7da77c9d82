"""Writes layouts.golden: the strides of results that the installed NumPy allocates, for random operand layouts.

    python gen_layouts.py > layouts.golden

A line is "OP {key=value ...} OPERAND... -> OPERAND", an operand being SHAPE:STRIDES ("2x3:12,4", in bytes; "-:-" is a
scalar). Every element has 4 bytes, but operands marked with a leading '~' have 8 and are converted by the operation.
"""

import random

import numpy as np

RNG = random.Random(20240607)


def base(shape, dtype):
    return np.zeros([2 * n for n in shape], dtype)


def operand(shape, dtype="f4"):
    """An array of this shape with a random memory layout."""
    rank = len(shape)
    perm = RNG.sample(range(rank), rank)
    repeated = [RNG.random() < 0.15 for _ in shape]
    inner = [1 if repeated[a] else shape[a] for a in perm]
    gaps = RNG.random() < 0.5
    a = base(inner, dtype) if gaps else np.zeros(inner, dtype)
    index = []
    for n in inner:
        if gaps:
            start = RNG.randrange(n + 1)
            window = slice(start, start + n) if RNG.random() < 0.5 else slice(0, 2 * n, 2)
        else:
            window = slice(None)
        index.append(window)
    a = a[tuple(index)]
    a = a[tuple(slice(None, None, RNG.choice([1, 1, -1])) for _ in inner)]
    a = a.transpose(np.argsort(perm))
    a = np.broadcast_to(a, shape)
    assert a.shape == tuple(shape)
    return a


def random_shape(rank):
    # Distinct sizes, so that a wrong order shows; some axes of size 1.
    sizes = RNG.sample([2, 3, 4, 5, 6], rank)
    return [1 if RNG.random() < 0.15 else n for n in sizes]


def partial(shape):
    """A shape that broadcasts to `shape`."""
    keep = RNG.choice([len(shape)] * 3 + list(range(len(shape) + 1)))
    return [1 if RNG.random() < 0.2 else n for n in shape[len(shape) - keep:]]


def show(a, mark=""):
    shape = "x".join(map(str, a.shape)) or "-"
    strides = ",".join(map(str, a.strides)) or "-"
    return f"{mark}{shape}:{strides}"


def line(op, operands, result, attrs="", marks=None):
    marks = marks or [""] * len(operands)
    shown = " ".join(show(a, m) for a, m in zip(operands, marks))
    print(f"{op} {{{attrs}}} {shown} -> {show(result)}")


def elementwise(count):
    for _ in range(count):
        shape = random_shape(RNG.randrange(2, 5))
        op = RNG.choice(["add", "add", "add", "add", "negative", "where", "clip"])
        arity = {"add": 2, "negative": 1}.get(op, 3)
        kinds = [RNG.choice(["f4", "f4", "f4", "f8"]) for _ in range(arity)]
        if op == "where":
            kinds = ["?"] + ["f4"] * 2
        elif op == "negative" or "f4" not in kinds:
            kinds = ["f4"] * arity
        operands = [operand(shape if arity == 1 else partial(shape), k) for k in kinds]
        result = {"add": np.add, "negative": np.negative, "where": np.where, "clip": np._core.umath.clip}[op](*operands)
        if not isinstance(result, np.ndarray) or result.ndim < 2:
            continue
        marks = ["~" if k == "f8" else "?" if k == "?" else "" for k in kinds]
        line(op, operands, result, marks=marks)


def likes(count):
    for _ in range(count):
        a = operand(random_shape(RNG.randrange(2, 5)))
        line("cast", [a], a.astype("i4"))
        line("copy", [a], np.copy(a))
        line("copy", [a], np.empty_like(a))


def reductions(count):
    for _ in range(count):
        shape = random_shape(RNG.randrange(2, 5))
        a = operand(shape)
        rank = len(shape)
        axes = tuple(sorted(RNG.sample(range(rank), RNG.randrange(1, rank + 1))))
        keepdims = RNG.random() < 0.5
        op = RNG.choice(["sum", "prod", "max", "any", "mean", "var", "std", "ptp", "argmax", "count_nonzero"])
        if op == "argmax":
            axes = axes[:1]
        axis = axes[0] if op == "argmax" else axes
        result = getattr(np, op)(a, axis=axis, keepdims=keepdims)
        if isinstance(result, np.ndarray) and result.ndim > 0:
            shown = "axes=" + ",".join(map(str, axes)) + f" keepdims={int(keepdims)}"
            line(op, [a], result, shown)


def joins(count):
    for _ in range(count):
        shape = random_shape(RNG.randrange(2, 5))
        axis = RNG.randrange(len(shape))
        operands = []
        for _ in range(RNG.randrange(1, 4)):
            mine = list(shape)
            mine[axis] = RNG.choice([1, 2, 3])
            operands.append(operand(mine))
        line("concatenate", operands, np.concatenate(operands, axis=axis), f"axis={axis}")


elementwise(400)
likes(80)
reductions(400)
joins(120)
