"""Selections by masks that go back through the mask, where= of ufuncs, putmask, conversions that may be the array itself."""

import numpy as np
import pytest

import fusewire
from compare import assert_same_call, assert_same_outcome, clone, run
from test_writes import assert_same_aliases, values


def values_of_other(a, b, s):
    m = a > b
    a[m] = b[m]
def same_mask_written_twice(a, b, s): a[a > b] = b[a > b]
def scaled(a, b, s):
    m = b > 1
    a[m] *= s
def shifted_by_other(a, b, s):
    m = b > 0
    a[m] += b[m]
def expression(a, b, s):
    m = a != b
    a[m] = (a[m] + b[m]) * s - b[m]
def divided(a, b, s):
    m = b != 0
    a[m] = a[m] / b[m]
def rows(a, b, s):
    m = b[:, 0] > 0
    a[m] = b[m]
def mask_changes(a, b, s):
    m = a > 1
    x = b[m]
    m[0] = False
    m[1:] = m[:-1]
    a[m] = s
def view_of_mask(a, b, s):
    m = a > 1
    a[1:][m[1:]] = b[1:][m[1:]]
def read_before_write(a, b, s):
    m = a > 0
    x = a[m]
    a[...] = s
    a[m] = x
def selection_kept(a, b, s):
    m = a > 0
    x = a[m]
    a[m] = 0
    return x
def selection_summed(a, b, s): return a[a > 0].sum()
def different_masks(a, b, s):
    a[a > 1] = a[a <= 1][:1]
def in_place_of_selection(a, b, s):
    m = a > 0
    x = a[m]
    y = x
    x += 1
    b[m] = y
def add_where(a, b, s): return np.add(a, b, out=a, where=a > b)
def divide_where(a, b, s): np.divide(a, b, out=a, where=b != 0)
def scalar_where(a, b, s): np.multiply(a, s, out=b, where=a > 1)
def row_where(a, b, s): np.subtract(a, b, out=a, where=b[0] > 0)
def negative_where(a, b, s): np.negative(b, out=a, where=b > 0)
def compare_where(a, b, s):
    c = np.zeros(a.shape, bool)
    np.greater(a, b, out=c, where=b > 0)
    return c
def where_without_out(a, b, s): return np.add(a, b, where=a > b)[a > b]
def putmask(a, b, s): np.putmask(a, a > b, b)
def putmask_scalar(a, b, s): np.putmask(a, b > 0, 1)
def putmask_repeats(a, b, s): np.putmask(a, b > 0, [1, 2])
def putmask_own(a, b, s): np.putmask(a, a > 0, a[::-1])
def asarrays(a, b, s): return np.asarray(a) is a, np.asanyarray(a) is a, np.array(a, copy=None) is a, np.asarray(b, copy=True), np.array(b, copy=False) is b
def asarray_types(a, b, s): return np.asarray(a, dtype="f4"), np.asanyarray(b, dtype="f8"), np.array(a, dtype="f4", copy=None)
def never_copied(a, b, s): return np.asarray(a, dtype="c16", copy=False)


FORMS = [f for f in list(globals().values()) if getattr(f, "__module__", None) == __name__ and callable(f) and f.__code__.co_argcount == 3]
COMPILED = {values_of_other, same_mask_written_twice, scaled, shifted_by_other, expression, divided, rows, read_before_write, in_place_of_selection,
            add_where, divide_where, scalar_where, row_where, negative_where, compare_where, putmask, putmask_scalar, putmask_own, asarrays,
            asarray_types, view_of_mask}
COMPLEX = {divide_where, add_where, scaled, negative_where, putmask, expression}


def compare(form, compiled, arguments):
    assert_same_outcome(run(form, clone(arguments)), run(compiled, clone(arguments)))


@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
def test_forms(form):
    for dtype in ("f8", "f4", "i8", "u1", "c16"):
        if dtype == "c16" and form not in COMPLEX:
            continue
        compiled = fusewire.compile(form)
        for seed in range(4):
            a, b = values((5, 4), dtype, seed), values((5, 4), dtype, seed + 10)
            for layout in (lambda x: x, np.asfortranarray, lambda x: np.repeat(x, 2, axis=0)[::2]):
                compare(form, compiled, (layout(a), layout(b), 2 if dtype != "f8" else 2.5))
        facts = fusewire._fusewire.describe(compiled)
        assert not [x for x in facts["breaks"] if x["reason"] in ("internal-error", "compile-failed")], facts["breaks"]
        if dtype == "f8" and form in COMPILED:
            assert facts["variants"] and not facts["breaks"], facts["breaks"]


def test_nothing_outside_the_mask_warns():
    def f(a, b):
        m = b != 0
        a[m] = a[m] / b[m]
        np.divide(1.0, b, out=a, where=m)
        return a

    compiled = fusewire.compile(f)
    a, b = np.arange(6.0), np.array([0.0, 1, 2, 0, 4, 5])
    for _ in range(2):
        assert_same_call(f, compiled, (a, b))
    facts = fusewire._fusewire.describe(compiled)
    assert not facts["breaks"] and facts["variants"][0]["declines"] == 0


def test_what_is_selected_warns():
    def f(a, b):
        m = a > 0
        a[m] = a[m] / b[m]

    compiled = fusewire.compile(f)
    for _ in range(3):
        assert_same_call(f, compiled, (np.arange(6.0), np.array([0.0, 1, 2, 0, 4, 5])))


def test_what_selections_cannot_be_asked():
    forms = [lambda a: 1 if a[a > 3] else 2, lambda a: not a[a > 9], lambda a: a[a > 2] == 3, lambda a: -a[a > 2], lambda a: len(a[a > 2]),
             lambda a: 3.0 in a[a > 2], lambda a: [x for x in a[a > 2]], lambda a: a[a > 2].shape, lambda a: a[a > 2] is a[a > 2],
             lambda a: (a[a > 2] < 3).all(), lambda a: a[a > 2][0], lambda a: str(a[a > 2]), lambda a: a[a > 2] + a, lambda a: np.sqrt(a[a > 2]),
             lambda a: a + a[a > -1], lambda a: [a[a > 2]], lambda a: type(a[a > 2]), lambda a: isinstance(a[a > 2], np.ndarray),
             lambda a: a[a > 2] @ a[a > 2], lambda a: a[a > 2] ** 2, lambda a: a[a > 2] // 2, lambda a: hash(a[a > 2]), lambda a: divmod(a[a > 2], 2)]
    for f in forms:
        compiled = fusewire.compile(f)
        for array in (np.arange(5.0), np.arange(4.0), np.zeros(3)):
            assert_same_call(f, compiled, (array,))


def test_masks_of_another_shape():
    def f(a, m): a[m] = 1

    compiled = fusewire.compile(f)
    for m in (np.ones(3, bool), np.ones((5, 4), bool), np.ones((5, 3), bool), np.ones(5, bool), np.array(True)):
        assert_same_call(f, compiled, (values((5, 4), "f8", 1), m))


class Box:
    def __init__(self, a):
        self.a = a


def test_selections_in_loops():
    """What a loop is the first to settle is settled in front of it."""

    def inner(r, m, p, n):
        r = r[m]
        d = np.zeros(n)
        for i in range(n):
            for k in range(p[i], p[i + 1]):
                d[i] += r[k]
        return d

    def boxed(r, m, p, n):
        box, s = [r[m]], 0.0
        for i in range(n):
            for k in range(i + 1):
                s += box[0][k]
        return s, box[0]

    def written(r, m, p, n):
        q = r[m]
        q *= 2
        for i in range(n):
            q[i] += 1
        r[m] = q
        return q

    def selected_again(r, m, p, n):
        q = r[m]
        for _ in range(n):
            r[m] += q
        return q

    def held(r, m, p, n):
        box, other, d = Box(r[m]), Box(r[m]), np.zeros(n)
        for i in range(len(d)):
            for k in range(p[i], p[i + 1]):
                if other.a[k] == i:
                    d[i] = box.a[k]
        return d, box.a

    p = np.array([0, 3, 8, 12, 16])
    for f in (inner, boxed, written, selected_again, held):
        compiled = fusewire.compile(f)
        for m in (np.ones(20, bool), np.arange(20) > 3, np.arange(20) % 5 > 0):
            assert_same_call(f, compiled, (np.arange(20.0), m, p, 4))
            assert_same_call(f, compiled, (np.arange(20), m, p, 4))
