"""Arguments that share memory, one of which is written: the order of reads and writes is NumPy's, and there is compiled code for it."""

import numpy as np
import pytest

import fusewire
from compare import assert_same_outcome, clone, run
from test_writes import assert_same_aliases, values


# ---- forms: f(a, b) writes into a, or b, or both ---------------------------------------------------------------------------------

def copies(a, b): a[...] = b
def copies_back(a, b): b[...] = a
def adds(a, b): a += b
def adds_to_other(a, b): b += a
def subtracts_twice(a, b):
    a -= b
    b -= a
def out(a, b): return np.add(a, b, out=a)
def out_other(a, b): return np.multiply(a, 2, out=b)
def first_element(a, b):
    a[0] = 7
    return b.copy()
def last_element(a, b):
    b[-1] = 7
    return a.copy()
def elements(a, b):
    for i in range(3):
        a[i] = b[i] + 1
def reads_between(a, b):
    x = b * 1
    a[...] = 3
    y = b + x
    b[0] = 9
    return x, y, a[:1].copy()
def through_views(a, b):
    v = b[::-1]
    a[1:] = v[1:]
    return v
def returns_views(a, b):
    a[0] = 5
    return a[1:], b[:1], b
def masked(a, b): a[b > 1] = 0
def masked_values(a, b):
    m = a > 1
    b[m] = a[m]
def both_filled(a, b):
    a.fill(1)
    b.fill(2)
def new_array(a, b):
    c = a + b
    a[...] = c
    return c


FORMS = [f for f in list(globals().values()) if getattr(f, "__module__", None) == __name__ and callable(f) and f.__code__.co_argcount == 2]


def pairs(dtype="f8"):
    """(name, whole memory, a, b): a and b of one shape that overlap in some way."""
    m = values((12,), dtype, 3)
    yield "shift_up", m, m[1:], m[:-1]
    yield "shift_down", m, m[:-1], m[1:]
    yield "far", m, m[:7], m[5:]
    yield "reversed", m, m, m[::-1]
    yield "reversed_parts", m, m[2:10], m[9:1:-1]
    yield "steps", m, m[::2], m[:6]
    yield "same_memory", m, m[:], m[:]
    yield "gaps_apart", m, m[::2], m[1::2]
    q = values((6, 6), dtype, 4)
    yield "transposed", q, q, q.T
    yield "rows", q, q[1:], q[:-1]
    yield "columns", q, q[:, :-1], q[:, 1:]
    yield "inner", q, q[:4, :4], q[1:5, 1:5]
    yield "corner", q, q[:-1, :-1], q[1:, 1:]
    yield "other_corner", q, q[1:, :-1], q[:-1, 1:]
    yield "flipped", q, q, q[::-1, ::-1]
    yield "column_and_row", q, q[:, 2], q[3]
    yield "fortran", (f := np.asfortranarray(q)), f[1:], f[:-1]
    c = values((4, 3, 5), dtype, 5)
    yield "three_axes", c, c[:, :, :-1], c[:, :, 1:]
    yield "blocks", c, c[:-1], c[1:]


def compare(form, compiled, arguments):
    f, g = lambda memory, *rest: form(*rest), lambda memory, *rest: compiled(*rest)
    expected, actual = run(f, clone(arguments)), run(g, clone(arguments))
    assert_same_outcome(expected, actual)
    if expected.error is None:
        assert_same_aliases(expected, actual)


@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
def test_overlapping_arguments(form):
    for dtype in ("f8", "i4"):
        for name, memory, a, b in pairs(dtype):
            compiled = fusewire.compile(form)
            for _ in range(2):
                compare(form, compiled, (memory, a, b))
            facts = fusewire._fusewire.describe(compiled)
            assert not [x for x in facts["breaks"] if x["reason"] in ("internal-error", "compile-failed")], (name, facts["breaks"])


REGULAR = ["shift_up", "shift_down", "far", "reversed", "reversed_parts", "steps", "same_memory", "transposed", "rows", "columns", "inner",
           "corner", "flipped", "fortran", "three_axes", "blocks"]


@pytest.mark.parametrize("name", REGULAR)
def test_regular_overlaps_are_compiled_whole(name):
    _, memory, a, b = next(p for p in pairs() if p[0] == name)
    compiled = fusewire.compile(adds)
    for _ in range(3):
        compare(adds, compiled, (memory, a, b))
    facts = fusewire._fusewire.describe(compiled)
    assert not facts["breaks"], facts["breaks"]
    assert facts["variants"] and sum(v["hits"] for v in facts["variants"]) == 3, facts


def test_variants_are_told_apart():
    """One function, called with arrays that overlap in turns in other ways, or not at all."""
    compiled = fusewire.compile(subtracts_twice)
    m, n = values((12,), "f8", 1), values((12,), "f8", 2)
    kinds = [(m, m[1:], m[:-1]), ((m, n), m[1:], n[:-1]), (m, m[:-1], m[1:]), (m, m[2:], m[:-2]), (m, m[:6], m[6:]), (m, m[::-1], m)]
    for _ in range(3):
        for memory, a, b in kinds:
            compare(subtracts_twice, compiled, (memory, a, b))
    facts = fusewire._fusewire.describe(compiled)
    assert sum(v["hits"] for v in facts["variants"]) >= 2 * len(kinds)


def test_one_variant_for_all_sizes():
    compiled = fusewire.compile(adds)
    for n in (5, 6, 17, 40):
        m = values((n, 3), "f8", n)
        compare(adds, compiled, (m, m[1:], m[:-1]))
    assert len(fusewire._fusewire.describe(compiled)["variants"]) == 1


def test_the_end_of_the_other_array_for_all_sizes():
    def f(a, tail): tail += a[:tail.shape[0]]

    compiled = fusewire.compile(f)
    for n in (30, 36, 50):
        m = values((n,), "f8", n)
        compare(f, compiled, (m, m, m[n // 2:]))
    assert len(fusewire._fusewire.describe(compiled)["variants"]) == 1


def test_read_only_views():
    m = values((8,), "f8", 1)
    locked = m[1:]
    locked.flags.writeable = False
    for form in (adds, adds_to_other):
        compiled = fusewire.compile(form)
        for _ in range(2):
            compare(form, compiled, (m, m[:-1], locked))
            compare(form, compiled, (m, m[:-1], m[1:]))


def test_parts_of_lower_rank():
    def f(a, row, column, element):
        row += a[1]
        column *= 2
        element[...] = a.sum()
        a[0] = column[:5]

    compiled = fusewire.compile(f)
    for order in "CF":
        q = np.array(values((6, 5), "f8", 4), order=order)
        for _ in range(2):
            compare(f, compiled, (q, q, q[2], q[:, 3], q[4, 4:5]))
    assert not fusewire._fusewire.describe(compiled)["breaks"]


def test_three_arrays():
    def f(a, b, c):
        a += b
        c[...] = a - c
        return b * 1

    compiled = fusewire.compile(f)
    m = values((10,), "f8", 1)
    for _ in range(2):
        compare(f, compiled, (m, m[1:-1], m[:-2], m[2:]))
        n = values((10,), "f8", 2)
        compare(f, compiled, ((m, n), m[1:-1], n[:-2], m[2:]))
    assert not fusewire._fusewire.describe(compiled)["breaks"]


def test_arrays_below_objects():
    class Field:
        pass

    def f(field):
        field.now += field.before

    def call(function, memory, now, before):
        field = Field()
        field.now, field.before = now, before
        function(field)
        return memory

    compiled = fusewire.compile(f)
    for _ in range(3):
        m = values((9,), "f8", 1)
        expected, actual = clone((m, m[1:], m[:-1])), clone((m, m[1:], m[:-1]))
        call(f, *expected)
        call(compiled, *actual)
        assert np.array_equal(expected[0], actual[0])


def test_other_types_of_view():
    """Parts of complex numbers, other element types: not regular parts, so Python runs the write."""
    def f(a, b): a += b

    z = np.arange(6) * (1 + 2j)
    w = np.arange(8.0)
    for memory, a, b in [(z, z.real, z.imag), (w, w[:4], w.view("i8")[2:6]), (w, w.view("i4")[:8], w.view("i4")[4:12])]:
        compiled = fusewire.compile(f)
        for _ in range(2):
            compare(f, compiled, (memory, a, b))


def random_view(rng, memory, shape):
    """A view of exactly that shape, or None."""
    view = memory
    if rng.random() < 0.3:
        view = view.transpose(rng.permutation(view.ndim))
    index = []
    for have, want in zip(view.shape, shape):
        step = int(rng.choice([1, 1, 1, 2, -1, -2]))
        span = (want - 1) * abs(step) + 1
        if span > have:
            return None
        low = int(rng.integers(0, have - span + 1))
        if step > 0:
            index.append(slice(low, low + span, step))
        else:
            last = low - 1
            index.append(slice(low + span - 1, last if last >= 0 else None, step))
    return view[tuple(index)]


STATEMENTS = ["a += b", "b -= a", "a[...] = b", "b[1:] = a[:-1]", "np.add(a, b, out=a)", "a[0] = b[-1]", "b[::-1] = a", "x = a + b; b[...] = x",
              "a *= 2", "a[b > a] = 1", "b[...] = np.where(a > b, a, b)", "v = a[1:]; v += b[1:]", "r.append(a * b)", "r.append(b[:1] + 0)",
              "m = a > 1; a[m] = b[m]", "m = b > 1; b[m] += 1", "np.copyto(a, b, where=b > 0)", "np.negative(b, out=a)"]


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_over_overlapping_views(seed):
    rng = np.random.default_rng(seed)
    for trial in range(4):
        lines = list(rng.choice(STATEMENTS, size=int(rng.integers(1, 6))))
        source = "def f(a, b, r):\n" + "".join(f"    {line}\n" for line in lines) + "    return r\n"
        scope = {"np": np}
        exec(source, scope)
        plain = scope["f"]
        compiled = fusewire.compile(plain)
        rank = int(rng.integers(1, 4))
        shape = tuple(int(n) for n in rng.integers(2, 5, rank))
        for _ in range(6):
            memory = values((9,) * rank, "f8" if rng.random() < 0.7 else "i8", int(rng.integers(1000)))
            a, b = random_view(rng, memory, shape), random_view(rng, memory, shape)
            if a is None or b is None:
                continue
            for _ in range(2):
                arguments = (memory, a, b)
                expected, actual = clone(arguments), clone(arguments)
                first, second = plain(expected[1], expected[2], []), compiled(actual[1], actual[2], [])
                context = f"{source}\n{a.strides} {b.strides} {a.shape}"
                assert np.array_equal(expected[0], actual[0]), context
                for x, y in zip(first, second, strict=True):
                    assert np.array_equal(x, y), context
