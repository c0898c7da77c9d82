"""No access outside of an array: sizes that are 1 by inequality or by clipping, arrays of very many axes, and checked code."""

import time

import numpy as np
import pytest

import fusewire
from fusewire import _fusewire
from compare import assert_same_call


def check(function, *calls):
    """`calls` are tuples of arguments: one compiled function sees them all."""
    for options in ({}, {"checked": True, "verify_passes": True}):
        compiled = fusewire.compile(function, economy=False, **options)
        for arguments in calls:
            assert_same_call(function, compiled, arguments)
        breaks = _fusewire.describe(compiled)["breaks"]
        assert not [b for b in breaks if b["class"] == "bug"], breaks


def vector(n, dtype=float):
    return np.arange(n, dtype=dtype) + 1


def test_rows_with_gaps_are_summed_by_native_code():
    """Stretches of such rows are bounded by a product of sizes, which is checked when the call runs where it is not proved."""
    for function in (lambda x: x[:, 1:].sum(), lambda x: x[1:, :-1].sum(), lambda x: (x[:, 2:] * 2).sum()):
        compiled = fusewire.compile(function, economy=False)
        for shape in ((3, 5), (40, 300), (2, 3), (700, 41)):
            assert_same_call(function, compiled, (vector(shape[0] * shape[1]).reshape(shape),))
        assert not _fusewire.describe(compiled)["breaks"]


def test_parts_of_turns_at_a_step_of_any_sign():
    """x[i * step:i * step + k] in turns: the first and the last one are looked at, and those between lie between."""
    def overlap_add(frames, window, out, norm, count, step, size):
        for i in range(count):
            out[..., i * step:i * step + size] += frames[..., i] * window
            norm[..., i * step:i * step + size] += window ** 2
        return out

    compiled = fusewire.compile(overlap_add, economy=False)
    started = time.perf_counter()
    for count, step in ((20, 8), (100, 8), (1, 8), (1, -3), (30, 0), (30, -2), (0, 4)):
        x = np.zeros(max(0, count * step) + 16)
        assert_same_call(overlap_add, compiled, (vector(16 * count).reshape(16, count), np.hanning(16), x, x.copy(), count, step, 16))
    assert time.perf_counter() - started < 3
    assert not [b for b in _fusewire.describe(compiled)["breaks"] if b["class"] == "bug"]


# --- a size that is 1 because nothing else is possible

def clipped_into_view(y):
    y[1:3] = y[2:4].copy()
    return y


def length_by_assertion(x, y):
    assert 0 < len(y) < 2
    x[:] = y
    return x


def clipped_copyto(x):
    np.copyto(x[1:3], x[2:4])
    return x


def strided_view(x, y):
    y[1::2] = y[1:-1]
    x[...] = y
    return x


def clipped_operand(x, y):
    return x * y[2:4]


def clipped_broadcast_to(x, y):
    return np.broadcast_to(y[2:4], (5,)) + x[0]


def clipped_rows(x):
    return x + x[2:4]


def clipped_columns(x):
    return x * x[:, 2:4] + x[2:4]


def clipped_then_reduced(x):
    part = x[2:4]
    return (x + part).sum(0), (part - x).max(axis=1, keepdims=True), (x * part).mean()


def clipped_out(x, out):
    np.add(x, x[2:4], out=out)
    return out


def between_indices(x, y, a, b):
    assert 0 < b - a < 2
    return x - y[a:b]


def halved(x, y):
    n = len(y)
    assert 2 <= n <= 3
    return x + y[: n // 2]


def clipped_mask(x, y):
    return np.where(x > y[2:4], y[2:4], x)


def stays_broadcast(x):
    row = x[2:4]
    total = x + row
    assert len(x) == 3  # learnt after the operation
    return total, total.T.copy()


def twice_broadcast(x):
    column = x[:, 2:4]
    return (x + column) * column.T


@pytest.mark.parametrize("function, arguments", [
    (clipped_into_view, (vector(3),)),
    (length_by_assertion, (vector(4), vector(1))),
    (clipped_copyto, (vector(3),)),
    (strided_view, (vector(4), vector(3)[:1])),
    (clipped_operand, (vector(5), vector(3))),
    (clipped_broadcast_to, (vector(2), vector(3))),
    (clipped_rows, (vector(12).reshape(3, 4),)),
    (clipped_columns, (vector(9).reshape(3, 3),)),
    (clipped_columns, (np.asfortranarray(vector(9).reshape(3, 3)),)),
    (clipped_then_reduced, (vector(12).reshape(3, 4),)),
    (clipped_then_reduced, (np.asfortranarray(vector(12).reshape(3, 4)),)),
    (clipped_out, (vector(12).reshape(3, 4), np.zeros((3, 4)))),
    (between_indices, (vector(5), vector(7), 3, 4)),
    (halved, (vector(5), vector(3))),
    (clipped_mask, (vector(5), vector(3))),
    (stays_broadcast, (vector(12).reshape(3, 4),)),
    (twice_broadcast, (vector(9).reshape(3, 3),)),
], ids=lambda v: v.__name__ if callable(v) else "")
def test_sizes_that_are_one_by_inequality(function, arguments):
    check(function, arguments, arguments)


def scalar_into_part_then_product(x, y):
    x[1:3, 1:3] = y[1:, :-1].sum()
    y[:, 1:] = y * x
    return y


def test_a_shape_that_does_not_fit_is_numpys_to_report():
    square = vector(16).reshape(4, 4)
    check(scalar_into_part_then_product, (square.copy(), square.copy()), (vector(4).reshape(4, 1), vector(4).reshape(4, 1)))


def halves_that_are_equal(x, y, k):
    np.add(1, 1, out=y[k:, 1::2], where=x[1::2, 0] > 0)
    return y


def test_an_equality_of_quotients_of_which_one_becomes_known():
    check(halves_that_are_equal, (vector(9).reshape(3, 3), np.asfortranarray(np.ones((2, 2))), 1))


def reversed_plus_broadcast(x, y):
    return x[::-1] + y, np.add(x, y, out=x)


def test_broadcast_arrays_that_are_empty():
    for n in (3, 0, 1):
        check(reversed_plus_broadcast, (vector(n), np.broadcast_to(vector(1), (n,))))


# --- very many axes

def many_axes_plus(x):
    return x + 1


def many_axes_expanded(x):
    return x[(None,) * 30] * 2


def many_axes_transposed(x):
    return (x + 1).T


def many_axes_reshaped(x):
    return x.reshape((1,) * 40 + (len(x),)) + 1


def many_axes_zeros(x):
    return np.zeros((1,) * 40) + x[0]


def many_axes_broadcast(x):
    return np.broadcast_to(x, (1,) * 40 + x.shape)


def many_axes_stacked(x):
    return np.stack([x, x])


def many_axes_grown(x):
    while x.ndim < 40:
        x = x[None]
    return x + 1


def many_axes_outer(x):
    return np.add.outer(x, x)


@pytest.mark.parametrize("function, x", [
    (many_axes_plus, np.ones((1,) * 32)),
    (many_axes_plus, np.ones((1,) * 31 + (3,))),
    (many_axes_plus, np.ones((1,) * 64)),
    (many_axes_plus, np.ones((1,) * 30 + (3,))),
    (many_axes_expanded, vector(3)),
    (many_axes_expanded, vector(12).reshape(3, 4)),
    (many_axes_transposed, np.ones((1,) * 63 + (2,))),
    (many_axes_reshaped, vector(3)),
    (many_axes_zeros, vector(3)),
    (many_axes_broadcast, vector(3)),
    (many_axes_stacked, np.ones((1,) * 31)),
    (many_axes_stacked, np.ones((1,) * 30)),
    (many_axes_grown, vector(3)),
    (many_axes_outer, np.ones((1,) * 16)),
], ids=lambda v: v.__name__ if callable(v) else str(v.ndim))
def test_very_many_axes_are_left_to_python(function, x, capfd):
    check(function, (x,), (x.copy(),))
    assert "fusewire" not in capfd.readouterr().err


# --- other internal checks that arguments could reach

def divided_by_a_difference(x, y):
    n = len(x) - len(y)
    return x[: 10 // n], x[: 10 % n]


def test_divisors_between_sizes():
    check(divided_by_a_difference, (vector(9), vector(4)), (vector(9), vector(8)), (vector(4), vector(4)))
