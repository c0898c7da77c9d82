"""Writes into arrays: slices, elements, masks, views, aliases, out=, and arguments changed in place. Part of corpus_lang."""

import numpy as np

from corpus_case import Corpus, numbers

corpus = Corpus()
case, group = corpus.case, corpus.group


def same(f=None):
    def make():
        a = numbers(8)
        return a if f is None else f(a)

    return make


def pair(f, g):
    """Makers of two arrays over one storage are single arguments: a tuple."""
    def make():
        a = numbers(10)
        return f(a), g(a)

    return make


OVERLAPS = [pair(lambda a: a[:6], lambda a: a[:6]), pair(lambda a: a[:6], lambda a: a[2:8]), pair(lambda a: a[2:8], lambda a: a[:6]),
            pair(lambda a: a[:5], lambda a: a[5:]), pair(lambda a: a[::2], lambda a: a[1::2]), pair(lambda a: a[:6], lambda a: a[5::-1]),
            lambda: (numbers(6), numbers(6, seed=1)), lambda: (numbers(6), numbers(6, "f4"))]

group("writes")


@case
def write_slice(v):
    v[1:3] = 7
    v[:1] = v[-1:]
    return v.sum()


@case
def write_element(v, k):
    v[0] = k
    v[-1] = v[0] + 1
    return v


@case
def write_every_second(v):
    v[::2] = 0
    v[1::2] += 10
    return v


@case
def write_reversed(v):
    v[::-1] = v
    return v


@case
def write_shifted_forward(v):
    v[1:] = v[:-1]
    return v


@case
def write_shifted_backward(v):
    v[:-1] += v[1:]
    return v


@case
def write_overlap_own_right_side(v):
    v[1:-1] = (v[:-2] + v[2:]) / 2 if v.dtype.kind == "f" else v[:-2] + v[2:]
    return v * 2


@case
def write_mask(v):
    v[v < 0] = 0
    v[v > 4] -= 1
    return v


@case
def write_mask_of_other(v):
    m = v > 0
    w = v * 2
    w[m] = -1
    w[~m] = v[~m]
    return w, m


@case
def write_fancy(v):
    v[[0, 1]] = 9
    v[np.array([0, -1])] += 1
    return v


@case
def write_fancy_repeated(v):
    v[[0, 0, 1]] += 1
    return v


@case
def write_row_and_column(m):
    m[0] = 1
    m[:, 1] = m[:, 0] * 2
    m[..., -1] += 3
    return m


@case
def write_diagonal_block(m):
    m[:2, :2] = m[1:, :2][:2] if m.shape[0] > 2 else 5
    m[0, 0] = -1
    return m.sum(axis=0)


@case
def write_broadcast(m):
    m[...] = m[0] + m[:, :1]
    return m


@case
def write_transposed(m):
    m.T[0] = 8
    m[:] = m.T if m.shape[0] == m.shape[1] else m
    return m


@case
def write_all(x, k):
    x[...] = k
    x[()] += 1
    return x


@case
def write_fill_and_methods(v):
    v.fill(3)
    v[:2].fill(4)
    v.sort()
    return v


@case
def write_sort_and_partition(v):
    w = v.copy()
    w.sort()
    v[::-1].sort()
    return v, w, np.sort(v)


@case
def write_wrong_shape(v):
    v[0] = 5
    v[1:3] = np.arange(7)
    return v


@case
def write_wrong_type(v, k):
    v[0] = k
    v[1] = "text"
    return v


@case
def write_read_only(v):
    w = v * 2
    v.flags.writeable = False
    w[0] = 1
    v[0] = 1
    return w


@case
def write_setitem_casts(x):
    y = np.zeros(x.shape, np.float32)
    y[...] = x.real
    z = np.zeros(x.shape, np.int16)
    z[...] = x.real
    return y, z


@case
def write_then_read_order(v):
    a = v[0]
    v[0] = 100
    b = v[0]
    v[0] = a
    return a, b, v


@case
def write_zero_size(v):
    w = v[:0]
    w[...] = 1
    w += 2
    v[5:5] = []
    return w, v


group("augmented")


@case
def augmented_array(x, k):
    y = x
    y += k
    y *= 2
    return x is y, y


@case
def augmented_casting_error(x):
    x += 0.5
    return x


@case
def augmented_rebinds_scalar(v):
    s = v[0]
    t = s
    s += 1
    return s, t, v


@case
def augmented_slice(v, j):
    v[1:] *= j
    v[:-1] -= v[1:]
    return v


@case
def augmented_with_other(x, y):
    x += y
    x -= y * 2
    return x


@case
def augmented_all_operators(v):
    w = np.arange(1, 7)
    w += 3
    w -= 1
    w *= 2
    w //= 3
    w %= 5
    w **= 2
    w <<= 1
    w >>= 2
    w |= 8
    w &= 12
    w ^= 5
    return w, v + 1


@case
def augmented_division(v, k):
    v /= 2
    v /= k
    return v


@case
def augmented_local_copy(x):
    y = x.copy()
    y += 1
    y[..., 0] = 0
    return x, y


@case
def augmented_in_loop(v, n):
    for i in range(n):
        v += i
        v[i % len(v)] *= 2
    return v


@case
def augmented_list_of_arrays(xs):
    for x in xs:
        x += 1
    return xs


@case
def augmented_attribute_and_item(v):
    class Box:
        pass

    b = Box()
    b.v = v
    b.v += 1
    d = {"v": v}
    d["v"] *= 2
    return b, d, b.v is v


group("views and aliases")


@case
def view_written(v):
    w = v[1:4]
    w += 5
    w[0] = -1
    return v, w


@case
def view_of_view(v):
    w = v[::2][1:]
    w[...] = 3
    return w, v, w.base is v


@case
def view_returned(x):
    return x[..., 1:], x.T, x.reshape(-1), x[...]


@case
def view_reads_after_write(v):
    w = v[::-1]
    v[0] = 42
    a = w[-1]
    w[0] = 24
    return a, v[-1], w


@case
def view_of_temporary(x):
    t = x * 2
    w = t[..., ::2]
    t += 1
    return w, t


@case
def view_of_temporary_written(x):
    t = x + 1
    t[..., :1] = 0
    u = t.T
    u += 1
    return t, u


@case
def view_reshaped_written(v):
    n = len(v) // 2 * 2
    w = v[:n].reshape(2, -1)
    w[1] = w[0] * 2
    return w, v


@case
def view_ravel_and_flatten(m):
    r, f = m.ravel(), m.flatten()
    r[0] = 77
    f[1] = 88
    return r, f, m


@case
def view_newaxis_and_squeeze(v):
    w = v[None, :, None]
    w[0, 0, 0] = 5
    return w.squeeze(), v


@case
def view_transposes(m):
    t = m.T
    t[0, 0] = 9
    s = np.swapaxes(m, 0, -1)
    return t, s, m


@case
def view_broadcast(v):
    w = np.broadcast_to(v, (2, len(v)))
    v[0] = 3
    return w, w + 1


@case
def view_as_other_dtype(v):
    w = v.view(np.uint8)
    v[0] = 0
    return w[:4], v


@case
def view_real_imag(x):
    y = x.astype(complex)
    y.real = 1
    y.imag[...] = x.real
    return y


@case
def view_diagonal(m):
    d = np.diagonal(m)
    m[0, 0] = 50
    return d, m.trace()


@case
def alias_locals(v):
    a = b = v
    a[0] = 1
    b = b + 1
    b[1] = 2
    return a, b, a is v


@case
def alias_in_containers(v):
    box = {"a": v, "b": [v, v[1:]]}
    box["b"][1][0] = 30
    box["a"] *= 2
    return box


@case
def alias_returned_twice(x):
    y = x + 1
    return y, y, [y], y[...], x


@case
def alias_rebinding(v):
    w = v
    v = v * 2
    w[0] = 0
    return v, w


@case
def alias_attribute_of_argument(v):
    w = v.T
    w[0] = 5
    return v


@case
def alias_conditional(v, flag):
    w = v if flag else v.copy()
    w[0] = 11
    return v, w, w is v


group("overlapping arguments")


@case(p=OVERLAPS)
def overlap_write_first(p):
    a, b = p
    a[:3] = b[:3] * 2
    return a.sum() + b.sum()


@case(p=OVERLAPS)
def overlap_add_in_place(p):
    a, b = p
    n = min(len(a), len(b))
    a[:n] += b[:n]
    return b


@case(p=OVERLAPS)
def overlap_write_then_read(p):
    a, b = p
    a[0] = 99
    c = b * 2
    a[1:3] = c[:2]
    return c, b[0]


@case(p=OVERLAPS)
def overlap_both_written(p):
    a, b = p
    a += 1
    b *= 2
    a[0], b[-1] = b[-1], a[0]
    return a, b


@case(p=OVERLAPS)
def overlap_out_argument(p):
    a, b = p
    n = min(len(a), len(b))
    np.add(a[:n], 1, out=b[:n], casting="unsafe")
    return np.multiply(b[:n], 2, out=a[:n], casting="unsafe")


@case(p=OVERLAPS)
def overlap_two_parameters(p):
    def f(a, b):
        a[1:] = b[: len(a) - 1] if len(b) >= len(a) - 1 else 0
        return a + 1

    return f(*p), p[0] is p[1]


@case(p=OVERLAPS)
def overlap_read_only_use(p):
    a, b = p
    n = min(len(a), len(b))
    return a[:n] * b[:n] + a[:n]


group("out and methods")


@case
def out_argument(x):
    out = np.empty_like(x)
    r = np.multiply(x, 2, out=out)
    np.add(out, 1, out)
    return r is out, out


@case
def out_of_argument(x, y):
    np.add(x, y, out=x)
    return x


@case
def out_of_reduction(m):
    out = np.zeros(m.shape[-1], m.dtype)
    r = np.sum(m, axis=0, out=out)
    return r is out, m.sum(axis=-1)


@case
def out_where(v):
    out = np.zeros_like(v)
    np.negative(v, out=out, where=v > 0)
    return out


@case
def out_wrong_shape(v):
    out = np.zeros(len(v) + 1)
    v[0] = 3
    return np.add(v, 1, out=out)


@case
def methods_in_place(v):
    v.clip(0, 5, out=v)
    v.put([0], [7])
    return v


@case
def methods_copyto_and_place(v):
    np.copyto(v, 2, where=v < 0)
    np.place(v, v > 4, [1, 2])
    np.putmask(v, v == 2, 9)
    return v


@case
def methods_resize_and_shape(v):
    w = v.copy()
    w.shape = (-1, 1)
    return w, np.resize(v, 3), v.reshape(1, -1).shape


@case
def ufunc_at_and_reduce(v):
    np.add.at(v, [0, 0], 2)
    return np.add.reduce(v), np.maximum.accumulate(v), np.multiply.outer(v[:2], v[:2])


group("swaps and steps")


@case
def swap_rows(m):
    m[[0, 1]] = m[[1, 0]] if len(m) > 1 else m
    return m


@case
def swap_through_temporary(v):
    t = v[0]
    v[0] = v[1]
    v[1] = t
    return v


@case
def swap_views_is_a_trap(m):
    m[0], m[-1] = m[-1], m[0]
    return m


@case
def stencil_steps(v, n):
    u, w = v.astype(float), np.zeros(len(v))
    for _ in range(n):
        w[1:-1] = u[1:-1] + 0.25 * (u[2:] + u[:-2] - 2 * u[1:-1])
        u, w = w, u
    return u, w


@case
def buffers_alternate(v, n):
    a, b = v.copy(), v * 0
    for i in range(n):
        b[...] = a
        b[0] += i
        a, b = b, a
    return a, b, a is b


@case
def running_state(v):
    state = np.zeros(3)
    out = np.empty(len(v))
    for i, e in enumerate(v):
        state[i % 3] += e
        out[i] = state.sum()
    return out, state


@case
def prefix_sums_by_hand(v):
    for i in range(1, len(v)):
        v[i] += v[i - 1]
    return v


@case
def prints_between_writes(v):
    v[0] = 1
    print(v[:2])
    v[1:] += v[0]
    print(v.sum())
    v *= 2
    return v


@case
def exception_between_writes(v, n):
    try:
        v[0] = 10
        v[1:] = v[: n - 1]
        v[1] = 20
    except ValueError:
        v[-1] = 30
    return v


@case
def callee_writes(v, k):
    def fill(a, value):
        a[...] = value
        return a

    def shift(a):
        a[1:] = a[:-1]

    r = fill(v[:2], 3 if k is None else 4)
    shift(v)
    return r, v


@case
def global_array_made_and_written(x):
    table = np.zeros((2, *x.shape), x.dtype)
    table[0] = x
    table[1] = table[0] * 2
    return table, table[0] is table[0]


@case
def transcendental_mix(v):
    return v.sum(), v.mean(), np.sqrt(np.abs(v)), v @ v, np.where(v > 0, v, -v)


@case(ulp=2)
def transcendental_ulp(v):
    return np.exp(-np.abs(v)), np.tanh(v), np.sin(v)


@case
def concatenation_and_stack(v, n):
    w = np.concatenate([v, v[:n]])
    s = np.stack([v, v * 2])
    s[0, 0] = 99
    return w, s, np.hstack([v, 1]), v


@case
def object_array_falls_back(v):
    o = np.array([1, "a", None], dtype=object)
    o[0] = v[0].item()
    return o, v + 1


@case
def array_subclass_falls_back(v):
    class Sub(np.ndarray):
        pass

    s = v.view(Sub)
    s[0] = 4
    return type(s + 1).__name__, v


@case
def errstate_warning_line(v):
    y = v * 2

    z = 1 / (y - y)
    return z
