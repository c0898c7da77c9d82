"""The language inside compiled functions: each case is captured whole and answers what plain Python answers; what is not captured
breaks with the reason given."""

import numpy as np
import pytest

import fusewire
from corpus_language import BROKEN, WHOLE

A = np.arange(6.0).reshape(2, 3) + 1


def same(left, right):
    assert type(left) is type(right), (left, right)
    if isinstance(left, (tuple, list)):
        assert len(left) == len(right), (left, right)
        for a, b in zip(left, right):
            same(a, b)
    elif isinstance(left, dict):
        assert list(left) == list(right), (left, right)
        for key in left:
            same(left[key], right[key])
    elif isinstance(left, (set, frozenset)):
        assert list(left) == list(right), (left, right)
    elif isinstance(left, type):
        assert left is right
    elif isinstance(left, np.ndarray):
        assert left.dtype == right.dtype and left.shape == right.shape
        assert np.array_equal(left, right)
    else:
        assert left == right, (left, right)


@pytest.mark.parametrize("fn", WHOLE, ids=lambda fn: fn.__name__)
def test_whole(fn):
    expected = fn(A.copy())
    explained = fusewire.explain(fn)(A.copy())
    assert not explained.facts["breaks"], explained.facts["breaks"]
    same(explained.result, expected)


@pytest.mark.parametrize("fn, reason", BROKEN, ids=lambda x: getattr(x, "__name__", x))
def test_broken(fn, reason, capsys):
    def outcome(call):
        try:
            result = call(A.copy())
        except Exception as e:
            return type(e), str(e), capsys.readouterr().out
        return result, None, capsys.readouterr().out
    expected = outcome(fn)
    compiled = fusewire.compile(fn)
    for _ in range(3):
        same(outcome(compiled), expected)
    explained = None
    if expected[1] is None:
        explained = fusewire.explain(fn)(A.copy())
        assert reason in {b["reason"] for b in explained.facts["breaks"]}, explained.facts["breaks"]


# ---- identity, containers in themselves, namespaces -----------------------------------------------------------------

def behaves(fn, *args, calls=3):
    """The compiled function answers what `fn` answers, on every call."""
    compiled = fusewire.compile(fn)
    for _ in range(calls):
        try:
            expected = fn(*args)
        except Exception as e:
            with pytest.raises(type(e)) as raised:
                compiled(*args)
            assert str(raised.value) == str(e)
        else:
            same(compiled(*args), expected)
    return compiled


def test_containers_in_themselves():
    def shown(a, make):
        x, d = make([1, 2]), {}
        x.append(x)
        d["d"] = [d]
        return str(x), repr(d), x == x, a + 1
    behaves(shown, A, list)

    def compared(a, make):
        x, y = make([1]), make([1])
        x.append(x)
        y.append(y)
        return x == y, a + 1
    behaves(compared, A, list)

    def returned(a):
        x = [a + 1]
        x.append(x)
        return x
    result = fusewire.compile(returned)(A)
    assert result[1] is result and np.array_equal(result[0], A + 1)


def test_arguments_behind_a_star_with_a_list_in_itself():
    """The call goes on behind a stop where its arguments are a list that cannot be looked into."""
    def g(*args):
        return len(args), args[0] is args[0][-1], args[1:]
    def f(x, d, more):
        return g(d, *map(str, more), x.sum(), *more)
    d = [1]
    d.append(d)
    compiled = fusewire.compile(f)
    for more in ((1, 2), (), (3,), list(range(50)), (1, 2)):
        assert compiled(A, d, more) == f(A, d, more)


def test_scalars_of_classes_with_a_dtype_of_their_own():
    """NumPy, asked for the dtype of such a scalar, raises over the class's attribute."""
    class Record(np.void):
        dtype = "f,f"
    def f(x, r):
        return x + len(type(r).__name__)
    assert np.array_equal(fusewire.compile(f)(A, Record(1)), f(A, Record(1)))


def test_deep_tuples():
    def f(a):
        t = ()
        for _ in range(500):
            t = (t,)
        return t, a + 1
    depth, t = 0, fusewire.compile(f)(A)[0]
    while t:
        depth, t = depth + 1, t[0]
    assert depth == 500


def test_nan_is_one_object():
    def f(a, nan):
        d = {nan: 1}
        return nan in d, d.get(nan), nan in [nan], [nan].index(nan), list(d)[0] is nan, nan == nan, a + 1
    behaves(f, A, float("nan"))
    behaves(f, A, 1.5)


def test_tuples_repeat_as_themselves():
    def f(a, t):
        return t * 1 is t, t[:] is t, tuple(t) is t, t + () is t, () + t is t, a + 1
    behaves(f, A, (A, 2))
    s = "text"
    compiled = fusewire.compile(lambda a, s: (s * 1, s[:], str(s), a + 1))
    assert all(part is s for part in compiled(A, s)[:3])


def test_negative_length():
    class Bad:
        size = -1

        def __len__(self):
            return self.size

    def f(a, bad):
        return (a + 1) if bad else a
    behaves(f, A, Bad())
    behaves(lambda a, bad: a + len(bad), A, Bad())
    Bad.size = 0
    behaves(f, A, Bad())


def test_isinstance_asks_proxies():
    class Proxy:
        def __init__(self, target):
            object.__setattr__(self, "target", target)

        def __getattribute__(self, name):
            return getattr(object.__getattribute__(self, "target"), name)

    class Claims:
        __class__ = property(lambda self: int)

    def f(a, p):
        return isinstance(p, int), isinstance(p, str), a + 1
    for p in (Proxy(1), Proxy("s"), Claims(), 1, "s", object()):
        behaves(f, A, p)


def test_methods_that_are_none():
    class NoEqual:
        __eq__ = None
        __len__ = None

    behaves(lambda a, n: (n == 3, a + 1), A, NoEqual())
    behaves(lambda a, n: (bool(n), a + 1), A, NoEqual())


def test_namespace_written_as_dict():
    names = {"counter": 0, "np": np}
    exec("def f(x):\n    y = counter\n    globals()['counter'] = 12\n    return x + counter, y\n", names)
    compiled = fusewire.compile(names["f"])
    for x in (A, A.astype("f4"), A):
        names["counter"] = 0
        result, before = compiled(x)
        assert before == 0 and np.array_equal(result, x + 12)


def test_functions_made_anew_share_a_variant():
    def opaque(sink=[]):
        sink.append(1)

    hidden = fusewire.disable(opaque)

    def f(x, k, offset):
        total = 0

        def add(v):
            nonlocal total
            total = total + v
        add(x * k)
        hidden()
        add(x + offset)
        return total
    compiled = fusewire.compile(f)
    for i in range(12):
        same(compiled(A, 2, 1), f(A, 2, 1))
    for region in fusewire.explain(f)(A, 2, 1).facts.get("regions", []):
        assert len(region["variants"]) <= 1, region

    def other(x, g):
        return g(x) + 1, g is g
    compiled = fusewire.compile(other)
    for k in range(12):
        same(compiled(A, lambda x: x * k), other(A, lambda x: x * k))


def test_identity_of_functions_made_anew():
    def f(x, g, h):
        return g is h, g == h, g(x) + h(x)

    def make(k):
        return lambda x: x * k
    one, two = make(1), make(2)
    compiled = fusewire.compile(f)
    for g, h in [(one, one), (one, two), (two, one), (two, two), (one, np.sin), (one, behaves)]:
        if h is not behaves:
            same(compiled(A, g, h), f(A, g, h))


def test_functions_and_instances_are_not_kept_alive():
    import gc
    import weakref

    class Holder:
        def __init__(self):
            self.k = 2.0

    def f(x, g, holder):
        return g(x) * holder.k
    compiled = fusewire.compile(f)
    k = np.ones(3)
    g, holder = (lambda x: x + k[0]), Holder()
    compiled(A, g, holder)
    compiled(A, g, holder)
    dead = [weakref.ref(g), weakref.ref(holder), weakref.ref(k)]
    del g, holder, k
    gc.collect()
    assert [ref() for ref in dead] == [None, None, None]


def test_finalizers_keep_their_place():
    log = []

    class Noisy:
        def __del__(self):
            log.append("gone")

    def f(x):
        a = Noisy()
        y = x + 1
        a = None
        log.append("after")
        return y
    compiled = fusewire.compile(f)
    for _ in range(3):
        same(compiled(A), A + 1)
    assert log == ["gone", "after"] * 3


def test_a_thousand_leaves():
    nested = [{"a": float(i), "b": (i, [i])} for i in range(333)]
    flat = [float(i) for i in range(1000)]

    def f(x, nested, flat):
        return x + nested[7]["a"] * flat[9] + nested[-1]["b"][1][0] + len(flat)
    explained = fusewire.explain(f)(A, nested, flat)
    assert not explained.facts["breaks"], explained.facts["breaks"]
    same(explained.result, f(A, nested, flat))
    nested[7]["a"] = 3.5
    behaves(f, A, nested, flat)


def test_read_only_members():
    def f(a, r):
        try:
            r.start = 5
        except AttributeError as e:
            return str(e), a + r.start
    behaves(f, A, range(3))


def test_super_takes_no_cell_object():
    import types

    class X:
        def meth(self, a):
            super()
            return a + 1
    behaves(X.meth, types.CellType(X()), A)
    behaves(X.meth, X(), A)


def test_a_submodule_that_nobody_has_loaded(tmp_path, monkeypatch):
    """`from package import submodule` loads it; what is no submodule is an ImportError as ever."""
    package = tmp_path / "fusewire_test_package"
    package.mkdir()
    (package / "__init__.py").write_text("known = 5\n")
    (package / "below.py").write_text("value = 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    import fusewire_test_package  # noqa: F401

    @fusewire.compile
    def f(x):
        y = x * 2 + 1
        from fusewire_test_package import below, known
        return y * below.value + known

    @fusewire.compile
    def g(x):
        y = x * 2 + 1
        from fusewire_test_package import nothing
        return y * nothing

    for _ in range(3):
        same(f(A), (A * 2 + 1) * 7 + 5)
        with pytest.raises(ImportError, match="cannot import name 'nothing'"):
            g(A)
