"""What was read of an array stays what it was, whatever is written afterwards; what is read later sees the write. Elements are
scalars of their own, views look at the memory."""

import copy

import numpy as np
import pytest

import fusewire
from compare import assert_same_call
from observe import assert_same_observation, observe


def element(x):
    z = x[0]
    x[0] = x[4]
    return z


def last_of_a_shift(x):
    last = x[-1]
    x[1:] = x[:-1]
    return last


def rotated(x):
    last = x[-1]
    x[1:] = x[:-1]
    x[0] = last
    return x, last


def pair_in_a_tuple(x):
    z = x[0], x[:2][1]
    x *= 2
    return z


def of_a_reshaped_view(x):
    z = x.reshape(2, 3)[1, 1]
    x += 1
    return z


def python_float(x):
    z = x.max(), float(x[1])
    x[1] = x[4]
    return z


def item(x):
    z = x[0].item(), x.item(1)
    x -= 3
    return z


def scalar_methods(x):
    z = np.float64(x[1]), x[1].copy(), x[1].astype(float), x[1].conj(), abs(x[1]), +x[1]
    x *= 2
    return z


def as_list(x):
    z = list(x)
    x *= 2
    return z


def as_tuple(x):
    z = tuple(x[:3])
    x *= 2
    return z


def starred(x):
    z = [*x, 1]
    x *= 2
    return z


def unpacked(x):
    a, b, *rest = x
    x *= 2
    return a, b, rest


def in_a_dict(x):
    z = {i: v for i, v in enumerate(x)}
    x *= 2
    return z


def in_a_set(x):
    s = {x[0], x[1]}
    x += 1
    return sorted(s), f"{x[0]:.2f}"


def in_a_comprehension(x):
    z = [v for v in x[:3]]
    x[:] = x[::-1]
    return z


def sorted_before(x):
    z = sorted(x)
    x *= 2
    return z


class Holder:
    pass


def in_an_attribute(x):
    h = Holder()
    h.first = x[0]
    x += 1
    return h.first, h.__dict__


def by_an_inner_function(x):
    def up():
        x[0] = x[1]

    z = x[0]
    up()
    return z


def out_argument(x):
    z = x[2]
    np.add(x, 1, out=x)
    return z


def through_an_alias(x):
    y = x[1:]
    z = x[2]
    y *= 3
    return z, y[1]


def a_view_looks_at_the_memory(x):
    z = x[:2]
    x += 1
    return z, z[0]


def conditional(x):
    z = x[1] if x[0] < 1 else x[2]
    x *= 2
    return z


def generator_expression(x):
    g = (v + 1 for v in x)
    x *= 2
    return list(g)


def zipped(x):
    z = zip(x, x)
    x *= 2
    return list(z)


def mapped(x):
    it = map(float, x)
    x *= 2
    return list(it)


def iterator(x):
    it = iter(x[1:])
    a = next(it)
    x *= 2
    return a, next(it)


def iterator_of_a_view(x):
    v = x[2:4]
    it = iter(v)
    x *= 2
    return next(it) + 0


def loop_that_writes_ahead(x):
    for e in x:
        x[-1] += e
    return x


def loop_that_scales(x):
    out = []
    for e in x:
        out.append(e + 1)
        x *= 2
    return out


def loop_over_a_view(x):
    out = []
    for e in x[1:-1]:
        out.append(e)
        x[2:] -= 1
    return out


def loop_backwards(x):
    out = []
    for e in x[::-2]:
        out.append(e)
        x += e
    return out


def loop_reversed(x):
    out = []
    for e in reversed(x):
        out.append(e * 1)
        x[:3] = e
    return out


def numbered(x):
    for i, e in enumerate(x):
        x[-1 - i] = e * 2
    return x


def by_next(x):
    it = iter(x)
    a = next(it) + 1
    x[x > 0.5] = x.min()
    return a, next(it) + 1


def zip_with_a_write(x):
    total = 0.0
    for a, b in zip(x, x[::-1]):
        x += a * b
        total += b
    return x, total


def bubble_sort(x):
    n = len(x)
    for i in range(n):
        for j in range(n - 1 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
    return x


def insertion_sort(x):
    for i in range(1, len(x)):
        key = x[i]
        j = i - 1
        while j >= 0 and x[j] > key:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = key
    return x


def fresh_array(x):
    y = x * 2
    z = y[0], y[1:3]
    y += 1
    it = iter(y)
    first = next(it)
    y[1] = 7
    return z, first, next(it)


PROGRAMS = [f for f in list(globals().values()) if getattr(f, "__module__", None) == __name__ and f is not Holder]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "c16"])
def test_reads_and_writes_of_an_argument(program, dtype):
    compiled = fusewire.compile(program)
    data = (np.array([0.3, 0.9, 0.8, 0.7, 0.2, 0.95]) * 20).astype(dtype)
    for call in range(4):
        x, y = data.copy(), data.copy()
        if call == 3:
            x, y = np.repeat(data, 2)[::2], np.repeat(data, 2)[::2]
        assert_same_observation(observe(program, (x,)), observe(compiled, (y,)))


# ---- layouts of results -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", "CF")
def test_copies_keep_the_order_where_numpy_does(order):
    x = np.asarray(np.arange(6.0).reshape(2, 3), order=order)
    for f in (lambda a: a.__copy__(), lambda a: type(a).__copy__(a), lambda a: a.copy(), lambda a: a.copy("K"),
              lambda a: np.copy(a), lambda a: copy.copy(a), lambda a: a.T.__copy__()):
        assert fusewire.compile(f)(x).strides == f(x).strides


@pytest.mark.parametrize("shapes", [((2, 2, 1), (2, 1, 1)), ((3, 1, 2), (1, 4, 2)), ((1, 3), (3, 1)), ((2, 1, 3, 1), (2, 5, 1, 1))])
def test_axes_of_size_1_do_not_order_the_others(shapes):
    for a_order in "CF":
        for b_order in "CF":
            a, b = (np.asarray(np.random.rand(*s), order=o) for s, o in zip(shapes, (a_order, b_order)))
            for f in (lambda a, b: a + b, lambda a, b: a * b - a, lambda a, b: np.where(a > b, a, b)):
                expected, actual = f(a, b), fusewire.compile(f)(a, b)
                sizes = [n > 1 for n in expected.shape]
                assert [s for s, n in zip(actual.strides, sizes) if n] == [s for s, n in zip(expected.strides, sizes) if n]
                assert np.array_equal(actual, expected)


def test_one_variant_serves_sizes_1_and_others_apart():
    f = fusewire.compile(lambda a, b: a + b)
    for n in (3, 1, 4, 1, 2):
        a, b = np.asfortranarray(np.random.rand(2, 3, n)), np.random.rand(2, 3, n)
        assert_same_call(lambda: (a + b).strides, lambda: f(a, b).strides, ()) if n > 1 else None
        assert np.array_equal(f(a, b), a + b)


# ---- lists that contain themselves --------------------------------------------------------------------------------


def test_cyclic_lists_reach_numpy():
    def shape():
        items = []
        items.append(items)
        return np.array([items, items, items], dtype=object).shape

    def total(x):
        items = [1.0]
        items.append(items)
        try:
            return np.sum(items) + x
        except (ValueError, TypeError, RecursionError) as error:
            return type(error).__name__

    assert fusewire.compile(shape)() == shape()
    assert_same_call(total, fusewire.compile(total), (np.arange(3.0),))


def test_lists_that_share_their_parts():
    def f(x):
        items = [1.0, 2.0]
        for _ in range(6):
            items = [items, items]
        return np.array(items).sum() + x

    assert_same_call(f, fusewire.compile(f), (np.arange(3.0),))
