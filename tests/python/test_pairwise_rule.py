"""The order in which NumPy adds, as src/graph/pairwise_order.h states it, checked against NumPy itself.

The model below is written from that header's text in plain Python; it shares no code with the C++ side. If a NumPy
release changes its iterator or its loops, this file says so before any compiled function can differ.
"""

import itertools

import numpy as np
import pytest

BUFFER = 8192
rng = np.random.default_rng(20240607)


def pairwise(values):
    """Pairwise sum of a 1-d array of f32 or f64 (f16 has been widened to f32 by the caller)."""
    n = len(values)
    zero = values.dtype.type(-0.0)
    if n < 8:
        res = zero
        for v in values:
            res = res + v
        return res
    if n <= 128:
        r = values[:8].copy()
        full = n - n % 8
        for i in range(8, full, 8):
            r = r + values[i:i + 8]
        res = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
        for v in values[full:]:
            res = res + v
        return res
    half = n // 2
    half -= half % 8
    return pairwise(values[:half]) + pairwise(values[half:])


def pairwise_complex(values):
    """Counts real numbers: blocks of 64 complex values, four accumulators, halves in multiples of four values."""
    n = 2 * len(values)
    real = values.real.dtype.type
    if n < 8:
        re, im = real(-0.0), real(-0.0)
        for v in values:
            re, im = re + v.real, im + v.imag
        return re, im
    if n <= 128:
        re, im = values.real[:4].copy(), values.imag[:4].copy()
        full = len(values) - len(values) % 4
        for i in range(4, full, 4):
            re = re + values.real[i:i + 4]
            im = im + values.imag[i:i + 4]
        a = (re[0] + re[1]) + (re[2] + re[3])
        b = (im[0] + im[1]) + (im[2] + im[3])
        for v in values[full:]:
            a, b = a + v.real, b + v.imag
        return a, b
    half = n // 2
    half -= half % 8
    half //= 2
    left, right = pairwise_complex(values[:half]), pairwise_complex(values[half:])
    return left[0] + right[0], left[1] + right[1]


def iteration_axes(a):
    """Axes of size > 1, innermost first, by NumPy's insertion sort over absolute strides."""
    strides = [0 if n == 1 else abs(s) for n, s in zip(a.shape, a.strides)]
    order = []
    for axis in reversed(range(a.ndim)):
        at = len(order)
        for i in reversed(range(len(order))):
            s0, s1 = strides[axis], strides[order[i]]
            if s0 == 0 or s1 == 0:
                continue
            if s1 <= s0:
                break
            at = i
        order.insert(at, axis)
    return [axis for axis in order if a.shape[axis] != 1]


def inner_calls(a, axes, buffered):
    """For each kept index: lists of element sequences, one list entry per call of the inner loop; or, when the inner
    axis is a kept one, single elements."""
    order = iteration_axes(a)
    runs = []  # coalesced: [size, stride, reduced, axes innermost first]
    for axis in order:
        n, s, red = a.shape[axis], a.strides[axis], axis in axes
        if runs and red and runs[-1][2] and runs[-1][0] * runs[-1][1] == s:
            runs[-1][0] *= n
        else:
            runs.append([n, s, red])
    if not runs or not runs[0][2]:
        chunk = None
    else:
        dims = [r[0] for r in itertools.takewhile(lambda r: r[2], runs)]
        chunk = chunk_length(dims, buffered)
    return order, runs, chunk


def chunk_length(dims, buffered):
    """(chunk, period): calls get `chunk` elements, restarting after every `period`."""
    cost = best_cost = 2 if buffered else 1
    size = best = dims[0]
    core, dim = 1, 0
    for i, n in enumerate(dims[1:], 1):
        if size >= BUFFER and cost > 1:
            break
        cost = 2
        core_here, size = size, size * n
        if cost * best <= best_cost * min(size, BUFFER):
            best_cost, core, best, dim = cost, core_here, size, i
    period = best
    if (buffered or dim) and best > BUFFER:
        best = core * (BUFFER // core)
    return best, period


def model_reduce(a, axes, dtype, op="sum"):
    axes = set(axes)
    buffered = np.dtype(dtype) != a.dtype
    order, runs, chunk = inner_calls(a, axes, buffered)
    kept = [ax for ax in range(a.ndim) if ax not in axes]
    red = [ax for ax in reversed(order) if ax in axes]
    ones = [ax for ax in axes if ax not in red]
    t = a.transpose(kept + ones + red)
    out_shape = [a.shape[ax] for ax in kept]
    rows = t.reshape(int(np.prod(out_shape, dtype=int)), -1).astype(dtype)  # C order of the reduced axes
    work = np.float32 if dtype == np.float16 else dtype
    out = np.empty(len(rows), dtype)
    for r, row in enumerate(rows):
        acc = np.dtype(dtype).type(1 if op == "prod" else 0)
        if chunk is None:
            calls = [row[i:i + 1] for i in range(len(row))]
        else:
            length, period = chunk
            calls = [row[s:min(s + length, p + period)] for p in range(0, len(row), period)
                     for s in range(p, min(p + period, len(row)), length)]
        for call in calls:
            if op == "prod":
                acc = np.dtype(work).type(acc)
                for v in call.astype(work):
                    # Arrays multiply complex numbers with a fused step, scalars and the inner reduction loop do not.
                    fused = chunk is None and np.dtype(work).kind == "c"
                    acc = np.multiply(np.array([acc]), np.array([v]))[0] if fused else acc * v
                acc = np.dtype(dtype).type(acc)
            elif np.dtype(dtype).kind == "c":
                re, im = pairwise_complex(call)
                acc = np.dtype(dtype).type(complex(acc.real + re, acc.imag + im))
            else:
                acc = np.dtype(dtype).type(np.dtype(work).type(acc) + pairwise(call.astype(work)))
        out[r] = acc
    return out.reshape(out_shape)


def same_bits(x, y):
    x, y = np.asarray(x), np.asarray(y)
    assert x.dtype == y.dtype and x.shape == y.shape
    return x.tobytes() == y.tobytes()


def data(shape, dtype):
    x = rng.standard_normal(shape) * np.exp(rng.standard_normal(shape) * 2)
    if np.dtype(dtype).kind == "c":
        return (x + 1j * rng.standard_normal(shape)).astype(dtype)
    return x.astype(dtype)


def layouts(shape, dtype):
    """Named arrays of this shape in every kind of layout."""
    yield "c", data(shape, dtype)
    yield "f", np.asfortranarray(data(shape, dtype))
    big = data([2 * n + 1 for n in shape], dtype)
    yield "strided", big[tuple(slice(0, 2 * n, 2) for n in shape)]
    yield "gap", data(shape[:-1] + (shape[-1] + 3,), dtype)[..., :shape[-1]]
    yield "negative", data(shape, dtype)[tuple(slice(None, None, -1) for _ in shape)]
    if len(shape) > 1:
        yield "negative0", data(shape, dtype)[::-1]
        yield "negative1", data(shape, dtype)[:, ::-1]
        yield "broadcast0", np.broadcast_to(data((1,) + shape[1:], dtype), shape)
        yield "broadcast1", np.broadcast_to(data(shape[:-1] + (1,), dtype), shape)
    if len(shape) > 2:
        for perm in itertools.permutations(range(len(shape))):
            inverse = np.argsort(perm)
            yield f"perm{perm}", data([shape[p] for p in perm], dtype).transpose(inverse)
            yield f"gap{perm}", data([shape[p] + (p == 1) for p in perm], dtype).transpose(inverse)[:, :shape[1]]


SHAPES = [(1,), (3,), (7,), (8,), (9,), (127,), (128,), (129,), (1000,), (8191,), (8192,), (8193,), (20000,),
          (1, 1), (1, 5), (5, 1), (3, 4), (40, 300), (300, 40), (130, 130), (3, 9000), (9000, 3), (2, 5000), (5000, 2),
          (3, 4, 5), (20, 1, 30), (17, 33, 29), (2, 3, 4200), (100, 10, 12), (6, 90, 91), (3, 5, 2, 7)]


def all_axes(ndim):
    for k in range(1, ndim + 1):
        yield from itertools.combinations(range(ndim), k)


@pytest.mark.parametrize("dtype", ["f4", "f8", "F", "D", "f2"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sum(shape, dtype):
    for name, a in layouts(shape, dtype):
        for axes in all_axes(a.ndim):
            want = np.add.reduce(a, axis=axes)
            got = model_reduce(a, axes, a.dtype)
            assert same_bits(got, want), (name, axes)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("pair", [("f4", "f8"), ("f2", "f4"), ("i8", "f8"), ("F", "D")], ids=str)
def test_casting_sum(shape, pair):
    for name, a in layouts(shape, pair[0] if pair[0] != "i8" else "f8"):
        if pair[0] == "i8":
            a = (a * 1e17).astype("i8", order="K") if "gap" not in name and "broad" not in name and "strid" not in name else None
        if a is None:
            continue
        for axes in all_axes(a.ndim):
            want = np.add.reduce(a, axis=axes, dtype=pair[1])
            got = model_reduce(a, axes, np.dtype(pair[1]))
            assert same_bits(got, want), (name, axes)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "F"])
@pytest.mark.parametrize("shape", [s for s in SHAPES if np.prod(s) < 20000], ids=str)
def test_prod(shape, dtype):
    for name, a in layouts(shape, dtype):
        a = np.exp(a * 0.01).astype(dtype) if "bro" not in name and "str" not in name and "gap" not in name else a
        for axes in all_axes(a.ndim):
            with np.errstate(all="ignore"):
                want = np.multiply.reduce(a, axis=axes)
                got = model_reduce(a, axes, a.dtype, "prod")
            equal = same_bits(got, want) or np.array_equal(got, want, equal_nan=True)
            assert equal, (name, axes)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "F", "D"])
def test_negative_zero(dtype):
    """Sums start from +0, so that a sum of -0 alone is +0."""
    a = np.full((3, 5), -0.0, dtype)
    for axes in all_axes(2):
        assert same_bits(model_reduce(a, axes, a.dtype), np.add.reduce(a, axis=axes))
    assert not np.signbit(np.sum(a).real)
