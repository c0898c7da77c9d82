"""Elements by arrays of indices and masks. Arguments are NumPy's arrays. An index that is out of bounds stands as `Wrapped(index, size)`: CuPy
wraps it, NumPy has to be given what it is then."""

import numpy as np


class Wrapped:
    def __init__(self, index, size):
        self.index, self.size = np.asarray(index), size

    def raw(self):
        return self.index

    def inside(self):
        return (self.index.astype("i8") % self.size).astype("i8")


def raw(args):
    return tuple(a.raw() if isinstance(a, Wrapped) else a for a in args)


def inside(args):
    return tuple(a.inside() if isinstance(a, Wrapped) else a for a in args)


def row(x, i):
    return x[i]


def scaled(x, i, w):
    return x[i] * w + 1


def columns(x, i):
    return x[:, i]


def pairs(x, i, j):
    return x[i, j]


def grid(x, i, j):
    return x[i[:, None], j[None]], x[i[:, None], j] + 1


def apart(x, i, j):
    return x[i, :, j], x[i, None, j], x[i, ..., j]


def last(x, i):
    return x[..., i], x[..., i, :]


def beside_slices(x, i):
    return x[i, 1:], x[::-1, i], x[1:, i, ::2], x[i, ::-2, 1:]


def beside_ints(x, i):
    return x[1, i], x[i, -1], x[:, 1, i], x[1, :, i], x[i, 0, 1]


def new_axes(x, i):
    return x[None, i], x[i, None], x[:, None, i]


def listed(x):
    return x[[0, -1, 2]], x[:, [1]], x[[0, 1], [2, -3]], x[[0, 2, 1, 0, 2, 1, 0, 2, 1, 0, 2, 1, 0, 2, 1, 0, 2, 1]]


def taken(x, i):
    return np.take(x, i, axis=0), x.take(i, axis=-1) * 2, np.take(x[0, 0], i)


def taken_flat(x, i):
    return np.take(x * 2, i) + 1


def at_number(x, k):
    return x[k], x[k, 1:], x[:, k, k]


def at_highest(x):
    return x[x.argmax()], x[x.argmin()] * 2


def two_sources(x, y, i):
    return x[i] + y[i], x[i] * x


def chained(x, i, j):
    return x[i[j]]


def reduced(x, i):
    return x[i].sum(axis=1), x[i].max(), x[:, i].mean(axis=0)


def shifted_rows(x, i):
    y = x[i]
    e = np.exp(y - y.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def normalised_by(x, i):
    y = x - x.mean(axis=1, keepdims=True)
    return y[i], y


def chosen(x, i):
    return np.where(x[i] > 0, x[i], -x[i] * 0.5)


def computed_index(x, i):
    return x[i * 2 + 1] - x[-i]


def computed_source(x, i):
    y = x * 2 + 1
    return y[i] + y


def of_views(x, i):
    return x[::2][i], x[::-1][i], x.T[i], x[:, 1::2][i], np.broadcast_to(x[0], (4, 7))[i], x.reshape(-1)[i]


def at_views(x, i):
    return x[i[::2]], x[i[::-1]], x[i.reshape(2, -1)], x[i.reshape(2, -1).T]


def permuted(x, i):
    x[:] = x[i]
    return x


def added_to(x, i):
    x += x[i]
    return x


def before_a_write(x, i):
    y = x[i]
    x += 1
    return y, x[i]


def part_of_it(x, i):
    x[1:] = x[i][1:] * x[:-1]
    return x


def into(x, y, i):
    y[1:] = x[i]
    np.add(x[i], 1, out=y[:-1])
    return y


def turns(x, i, n):
    for _ in range(n):
        x = x[i] * 0.5 + x
    return x


def turns_in_place(x, i, n):
    for _ in range(n):
        x[1:] = x[i][1:] + 1
    return x


def turns_of_places(x, i, n):
    for _ in range(n):
        i = i[i]
        x = x + i
    return x[i]


def marked(x):
    x[x > 0] = 0
    return x


def marked_rows(x, m, v):
    x[m] = v
    return x


def marked_where(x, y, m):
    x[m] = y[m]
    return x


def changed_where(x, m):
    x[m] += 1
    x[m] *= 3
    x[x > 2] -= 2
    return x


def computed_where(x, y, m):
    x[m] = x[m] * 2 + y[m]
    return x


def at_arguments(x, i):
    return x[i] * 2, x[:, i], x[i, i] + 1, x[i[:3], 1:], x[i].max(axis=1)


# Of a matrix, and of indices along both of its axes: what is handed to a function. `xp` is the module that the arrays are of.
ARRAY_VIEWS = [lambda x, xp: x.T, lambda x, xp: x[::-1], lambda x, xp: x[:, ::-1], lambda x, xp: x[::2, 1:], lambda x, xp: x[::-2, ::-3], lambda x, xp: xp.broadcast_to(x[0], (5, 12)), lambda x, xp: xp.broadcast_to(x[:, :1], (9, 6)),
               lambda x, xp: x.T[::-1], lambda x, xp: x[2:3], lambda x, xp: x[:, 4:5], lambda x, xp: x]
INDEX_VIEWS = [lambda i, xp: i, lambda i, xp: i[::-1], lambda i, xp: i[::2], lambda i, xp: xp.broadcast_to(i[0], (4,)), lambda i, xp: i[:1]]


# --- left to CuPy ----------------------------------------------------------------------------------------------------------


def selected(x, m):
    y = x * 2
    return y[m] + 1, y


def selected_before(x, m):
    part = x[m]
    x += 1
    return part, x[m].sum() + part.sum(), np.exp(part * 2)


def selected_in_turns(x, m, n):
    for _ in range(n):
        part = x[m]
        x = x * 0.5 + part.sum()
    return x


def assigned(x, i, v):
    x[i] = v
    return x * 2


def assigned_through(x, i, w):
    x[i] += w
    x[i, None] *= 2
    return x + 1


def assigned_marked(x, m, v):
    x[m] = v * 2
    return x


# Of uint64, of everything, and of nothing: calls of CuPy's own.
CALLED = [row, columns, taken_flat]

GATHERED_TYPES = ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?", "c8", "c16"]


def numbers(rng, shape, dtype):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        return rng.integers(0, 100, shape).astype(dtype)
    if dtype.kind == "c":
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def cases(rng):
    """Function, arguments as NumPy's arrays, whether elements are CuPy's bit for bit."""
    x1, x2, x3 = rng.standard_normal(11), rng.standard_normal((9, 7)).astype("f4"), rng.standard_normal((5, 4, 6)).astype("f4")
    index = lambda size, *shape: rng.integers(-size, size, shape)
    wild = lambda size, *shape: Wrapped(rng.integers(-5 * size, 5 * size, shape), size)
    result = [(row, (numbers(rng, (9, 3), t), index(9, 13)), True) for t in GATHERED_TYPES]
    result += [(scaled, (numbers(rng, 11, t), index(11, 33), numbers(rng, 33, t)), True) for t in ("f2", "f4", "i4", "c16")]
    result += [(row, (x1, index(11, 12).astype(t)), True) for t in ("i1", "i2", "i4", "i8")]
    result += [(row, (x1, rng.integers(0, 11, 12).astype(t)), True) for t in ("u1", "u2", "u4")]
    result += [(row, (x1, wild(11, n)), True) for n in (0, 1, 2, 7, 5000)]
    result += [(row, (x1, Wrapped(np.array(far, t), 11)), True) for far, t in (([-(2**63), 2**63 - 1, -1, 11], "i8"), ([-128, 127], "i1"), ([2**32 - 1, 0], "u4"))]
    result += [(row, (x, wild(len(x), 6)), True) for x in (rng.standard_normal(1), rng.standard_normal(2), rng.standard_normal((3, 0)), rng.standard_normal((1, 1)), rng.standard_normal((3, 5, 2)))]
    result += [(row, (x2, wild(9, *shape)), True) for shape in ((3, 4), (2, 1, 3), (0, 2), ())]
    result += [(scaled, (x2, wild(9, 40), x2[0]), True), (scaled, (rng.standard_normal((300, 64)).astype("f4"), wild(300, 500), rng.standard_normal((500, 1)).astype("f4")), True)]
    result += [(columns, (x2, wild(7, 10)), True), (columns, (x2, wild(7, 2, 3)), True), (columns, (x3, wild(4, 9)), True)]
    result += [(pairs, (x2, wild(9, 10), wild(7, 10)), True), (pairs, (x2, wild(9, 3, 1), wild(7, 4)), True), (pairs, (x3, wild(5, 1), wild(4, 5)), True)]
    result += [(grid, (x2, wild(9, 5), wild(7, 4)), True), (apart, (x3, wild(5, 8), index(4, 8)), True)]
    result += [(last, (x3, index(4, 5)), True), (beside_slices, (x3, index(4, 5)), True), (beside_ints, (x3, index(4, 5)), True), (new_axes, (x3, index(4, 5)), True)]
    result += [(listed, (x2,), True), (taken, (x3, index(5, 3)), True), (at_number, (x3, np.array(3)), True), (at_highest, (x1,), True)]
    result += [(two_sources, (x2, x2 + 1, index(9, 9)), True), (chained, (x1, index(11, 6), index(6, 20)), True)]
    result += [(reduced, (x2, index(7, 20)), False), (shifted_rows, (x2, index(9, 20)), False), (shifted_rows, (rng.standard_normal((4, 300)).astype("f4"), index(4, 6)), False)]
    result += [(normalised_by, (x2, index(9, 9)), False), (chosen, (x2, index(9, 9)), True), (computed_index, (x1, Wrapped(rng.integers(0, 5, 20), 11)), True)]
    result += [(computed_source, (x2, index(9, 9)), True), (of_views, (x2, index(4, 10)), True), (at_views, (x2, index(9, 10)), True)]
    result += [(permuted, (x, rng.permutation(len(x))), True) for x in (x1, x2, x3)]
    result += [(f, (x, index(len(x), len(x))), True) for f in (added_to, before_a_write, part_of_it) for x in (x1, x2)]
    result += [(into, (x2, rng.standard_normal((10, 7)).astype("f4"), index(9, 9)), True)]
    result += [(f, (x1, index(11, 11), n), True) for f in (turns, turns_in_place, turns_of_places) for n in (0, 1, 45)]
    mask = rng.random((9, 7)) > 0.5
    result += [(marked, (x,), True) for x in (x1, x2, np.ones(0), np.ones(1))]
    result += [(marked_rows, (x2, mask, 3.5), True), (marked_rows, (x2, mask[:, 0].copy(), 2), True)]
    return result


def left(rng):
    """What is compiled up to a statement that CuPy runs."""
    x, mask, places = rng.standard_normal((9, 7)), rng.random((9, 7)) > 0.5, rng.permutation(9)[:4]
    some = rng.standard_normal(int(mask.sum()))
    result = [(f, (x, m)) for f in (selected, selected_before) for m in (mask, mask[:, 0].copy(), mask & False)]
    result += [(selected_in_turns, (x, mask, 3)), (assigned, (x, places, 2.5)), (assigned, (x, places, x[:4] + 1)), (assigned_through, (x, places, x[:4] + 1))]
    result += [(f, (x, np.array([2, 0, 2**64 - 1, 6], "u8"))) for f in CALLED] + [(taken_flat, (x, places))]
    return result + [(assigned_marked, (x, mask, some)), (assigned, (x[:, 0].copy(), places.astype("u8"), 1)), (row, (np.ones((0, 3)), np.zeros(0, "i8"))), (row, (np.ones((0, 3)), places))]


def selections(rng):
    """The same of what is selected and goes back through the same mask."""
    x, y, mask = rng.standard_normal((9, 7)), rng.standard_normal((9, 7)), rng.random((9, 7)) > 0.5
    result = [(f, args, True) for m in (mask, mask[:, 0].copy(), mask & False) for f, args in ((marked_where, (x, y, m)), (changed_where, (x, m)), (computed_where, (x, y, m)))]
    return result + [(changed_where, (np.ones(0), np.ones(0, bool)), True), (changed_where, (x[:, 0].copy(), mask[:, 0].copy()), True)]
