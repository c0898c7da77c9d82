"""Guards: the stub in machine code against the slow checker, and both against what Python itself says.

The module under test, _fw_guards_test, builds guard sets from Python, runs both checkers and hands back what they
leave in the call frame.
"""

import gc
import math
import random
import struct
import subprocess
import sys
import textwrap
import types

import numpy as np
import pytest

import _fw_guards_test as t   # built by meson with the option tests; on PYTHONPATH

INT64 = (-2**63, 2**63 - 1)
DTYPES = "?bBhHiIlLefdFD"


def blank():
    pass


class GuardSet:
    """A guard set under construction; sources are named by small ints."""

    def __init__(self):
        self.h = t.new()
        self.count = 0
        self.symbols = 0

    def __del__(self):
        t.free(self.h)

    def source(self, kind, base=-1, index=0, obj=None):
        if isinstance(obj, str) and kind != "const":
            obj = sys.intern(obj)
        return t.source(self.h, kind, base, index, obj)

    def arg(self, i):
        return self.source("arg", index=i)

    def guard(self, kind, source=-1, **kw):
        if kind in ("dict_contains", "dict_not_contains", "no_instance_attr"):
            kw["object"] = sys.intern(kw["object"])
        self.count += 1
        return t.guard(self.h, kind, source, **kw)

    def symbol(self, origin, source, axis=0):
        name = f"s{self.symbols}"
        t.symbol(self.h, name, origin, source, axis)
        self.symbols += 1
        return name

    def relation(self, left, op, right):
        return self.guard("sym", left=str(left), relation=["==", "!=", "<", "<="].index(op), right=str(right))

    def input(self, kind, source):
        return t.input(self.h, kind, source)

    def object(self, source):
        return t.object(self.h, source)

    def build(self, sort=False):
        return t.build(self.h, sort)

    def check(self, *args, function=blank):
        """(failed, frame) of both, which must agree."""
        failed, reason, frame = t.slow(self.h, args, function)
        fast_failed, fast_frame = t.fast(self.h, args, function)
        assert (failed, frame) == (fast_failed, fast_frame), (reason, t.print(self.h, function.__code__))
        if failed is not None:
            assert reason
        return failed, frame

    def passes(self, *args, function=blank):
        return self.check(*args, function=function)[0] is None

    def reason(self, *args, function=blank):
        assert not self.passes(*args, function=function)
        return t.slow(self.h, args, function)[1]


def array_set(example):
    s = GuardSet()
    x = s.arg(0)
    s.guard("array", x, like=example)
    for i in range(example.ndim):
        s.symbol("dim", x, i)
        s.symbol("stride", x, i)
    s.input("array", x)
    s.build()
    return s


# ---------------------------------------------------------------------------------------------- version

def test_version_check_passes_here():
    assert t.version_check() == ""


def test_tripwire_for_unknown_and_other_versions():
    here = sys.hexversion
    assert t.version_mismatch(here, here) == ""
    assert "not supported" in t.version_mismatch(here, 0x030E00F0)
    assert "not supported" in t.version_mismatch(here, 0x030A00F0)
    other = 0x030B00F0 if sys.version_info[1] != 11 else 0x030C00F0
    assert "compiled for Python" in t.version_mismatch(other, here)


# ---------------------------------------------------------------------------------------------- layouts

def expected_layout(a):
    """classifyLayout in plain Python, from the text of array_layout.h."""
    n = a.ndim
    if a.flags.c_contiguous:
        return tuple(range(n)), 0, 0, 0
    if a.flags.f_contiguous:
        return tuple(reversed(range(n))), 0, 0, 0
    votes = [abs(s) if d != 1 else 0 for s, d in zip(a.strides, a.shape)]
    order = []                       # innermost first
    for axis in reversed(range(n)):
        place = len(order)
        for j in reversed(range(len(order))):
            if votes[axis] and votes[order[j]]:
                if votes[axis] >= votes[order[j]]:
                    break
                place = j
        order.insert(place, axis)
    order.reverse()
    bcast = sum(1 << i for i in range(n) if a.strides[i] == 0 and a.shape[i] != 1)
    neg = sum(1 << i for i in range(n) if a.strides[i] < 0 and a.shape[i] != 1)
    big = [i for i in reversed(order) if a.shape[i] != 1]
    expected, packed = a.itemsize, not bcast and not neg
    for i in big:
        packed = packed and a.strides[i] == expected
        expected *= a.shape[i]
    inner = bool(big) and a.strides[big[0]] == a.itemsize
    return tuple(order), 0 if packed else 1 if inner else 2, bcast, neg


def random_array(rng, dtype=None, ndim=None):
    dtype = np.dtype(dtype or rng.choice(DTYPES))
    ndim = rng.randrange(5) if ndim is None else ndim
    shape = [rng.choice([0, 1, 1, 2, 3, 5]) for _ in range(ndim)]
    a = np.zeros([n * 2 + 1 for n in shape], dtype)
    perm = list(range(ndim))
    kind = rng.randrange(6)
    if kind == 0:
        a = np.zeros(shape, dtype, order=rng.choice("CF"))
    elif kind == 1:
        rng.shuffle(perm)
        a = np.zeros([shape[i] for i in np.argsort(perm)] if ndim else [], dtype).transpose(perm)
    elif kind == 2:
        a = a[tuple(slice(None, None, rng.choice([1, 2, -1, -2])) for _ in shape)]
    elif kind == 3:
        rng.shuffle(perm)
        a = a[tuple(slice(0, n) for n in shape)].transpose(perm)
    elif kind == 4 and ndim:
        axis = rng.randrange(ndim)
        a = np.broadcast_to(np.zeros([1 if i == axis else n for i, n in enumerate(shape)], dtype), shape)
    else:
        a = np.zeros(shape, dtype)
    return np.asanyarray(a)


def test_layout_class_is_as_stated():
    rng = random.Random(1)
    seen = set()
    for _ in range(4000):
        a = random_array(rng, "d")
        assert t.layout(a) == expected_layout(a), (a.shape, a.strides)
        seen.add(t.layout(a)[1:])
    assert len(seen) > 10


def test_layout_follows_numpys_iterator():
    """For a single operand, order='K' of a copy has the order that we answer, among the axes that vote."""
    rng = random.Random(2)
    for _ in range(2000):
        a = random_array(rng, "d")
        if a.size == 0 or any(s == 0 for s in a.strides):
            continue
        order = [i for i in t.layout(a)[0] if a.shape[i] > 1]
        strides = np.positive(a).strides
        assert [strides[i] for i in order] == sorted((strides[i] for i in order), reverse=True)


def test_layout_of_size_one_axes_is_deterministic():
    base = np.zeros((6, 1, 4))
    for stride in (0, 8, 1000, -16):
        a = np.lib.stride_tricks.as_strided(base, (6, 1, 4), (32, stride, 8))
        assert t.layout(a) == ((0, 1, 2), 0, 0, 0)
        b = np.lib.stride_tricks.as_strided(base, (3, 1, 2), (64, stride, 8))
        assert t.layout(b) == ((0, 1, 2), 1, 0, 0)


# ---------------------------------------------------------------------------------------------- arrays

def same_class(a, b):
    return (type(b) is np.ndarray and a.ndim == b.ndim and a.dtype == b.dtype and a.dtype.num == b.dtype.num
            and b.dtype.metadata is None and b.flags.aligned and expected_layout(a) == expected_layout(b))


def test_array_guard_is_exactly_the_class():
    rng = random.Random(3)
    passed = 0
    for _ in range(300):
        a = random_array(rng, rng.choice("fd"), rng.randrange(4))
        s = array_set(a)
        others = [random_array(rng, rng.choice("fd"), a.ndim) for _ in range(20)] + [a, a.copy(), a.T, a[::-1] if a.ndim else a]
        for b in others:
            failed, frame = s.check(b)
            assert (failed is None) == same_class(a, b), (a.shape, a.strides, b.shape, b.strides)
            if failed is None:
                passed += 1
                assert frame[0] == [v for pair in zip(b.shape, b.strides) for v in pair]
                assert frame[1] == [b.ctypes.data]
    assert passed > 500


@pytest.mark.parametrize("char", DTYPES)
def test_every_dtype(char):
    a = np.zeros(3, char)
    s = array_set(a)
    assert s.passes(a)
    for other in DTYPES:
        assert s.passes(np.zeros(3, other)) == (other == char)
    assert not s.passes(np.zeros(3, "O")) and not s.passes(np.zeros(3, "U3")) and not s.passes(np.zeros(3, "M8[s]"))
    if a.dtype.itemsize > 1:
        assert not s.passes(a.astype(a.dtype.newbyteorder()))
    assert not s.passes(np.zeros(3, np.dtype(char, metadata={"unit": "m"})))
    assert s.passes(np.zeros(3, np.dtype(char).newbyteorder().newbyteorder()))   # maybe an equal, other dtype object


def test_array_refusals():
    a = np.zeros((3, 4))
    s = array_set(a)
    raw = np.zeros(3 * 4 * 8 + 1, np.uint8)
    unaligned = raw[1:].view(np.float64).reshape(3, 4) if raw[1:].size % 8 == 0 else None
    assert unaligned is not None and not unaligned.flags.aligned and not s.passes(unaligned)

    class Sub(np.ndarray):
        pass
    for bad in (a.view(Sub), np.ma.array(a), np.matrix(a), [[1.0]], 1.0, None, np.float64(1), a.T, a[0], np.zeros((3, 4), "q")):
        assert not s.passes(bad)
    assert "float32" in s.reason(np.zeros((3, 4), "f")) and "float64" in s.reason(np.zeros((3, 4), "f"))
    assert "ndim" in s.reason(np.zeros(3))
    assert "list" in s.reason([1])
    assert "layout" in s.reason(a.T.copy().T)
    long_long = array_set(np.zeros(3, "l"))
    assert not long_long.passes(np.zeros(3, "q"))


def test_writeable_and_overlap():
    s = GuardSet()
    x, y = s.arg(0), s.arg(1)
    s.guard("writeable", x)
    s.guard("no_overlap", x, other=y)
    s.build()
    buf = np.zeros(20)
    ro = np.zeros(3)
    ro.flags.writeable = False
    assert s.passes(buf[:10], buf[10:]) and s.passes(buf[10:], buf[:10]) and s.passes(buf[:0], buf)
    assert not s.passes(buf, buf) and not s.passes(buf[:10], buf[9:]) and not s.passes(buf[10::-1], buf[10:])
    assert not s.passes(buf[::2], buf[1::2])      # conservative
    assert not s.passes(ro, buf) and s.passes(buf, ro)
    assert not s.passes(1, buf) and not s.passes(buf, None)
    assert "overlap" in s.reason(buf, buf) and "read-only" in s.reason(ro, buf)


def test_overlap_is_conservative_and_tight():
    rng = random.Random(4)
    buf = np.zeros(60)
    for _ in range(2000):
        a, b = (buf[rng.randrange(60):rng.randrange(61):rng.choice([1, 2, 3])][::rng.choice([1, -1])] for _ in range(2))
        assert t.may_overlap(a, b) == np.may_share_memory(a, b)


# ---------------------------------------------------------------------------------------------- scalars

INTS = [0, 1, -1, 5, 2**29, 2**30 - 1, 2**30, -2**30, 2**31, 2**40, -2**60, 2**62, *INT64, 2**63, -2**63 - 1, 10**30, -10**30]


@pytest.mark.parametrize("lo,hi", [INT64, (0, 10), (-2**40, 2**40), (2**62, INT64[1]), (INT64[0], -1), (1, 1)])
def test_int_range(lo, hi):
    s = GuardSet()
    x = s.arg(0)
    s.guard("int_range", x, lo=lo, hi=hi)
    s.symbol("int", x)
    s.input("int", x)
    s.build()
    for v in INTS:
        failed, frame = s.check(v)
        assert (failed is None) == (lo <= v <= hi)
        if failed is None:
            assert frame[0] == [v] and frame[1][0][:8] == struct.pack("<q", v)
    for bad in (True, 1.0, "1", None, np.int64(1), types.SimpleNamespace(), type("I", (int,), {})(3)):
        assert not s.passes(bad)


def test_scalar_inputs():
    s = GuardSet()
    kinds = [("float", float), ("bool", bool), ("complex", complex)]
    for i, (kind, tp) in enumerate(kinds):
        s.guard("type", s.arg(i), object=tp)
        s.input(kind, s.arg(i))
    s.build()
    for f, b, c in [(1.5, True, 2 - 3j), (-0.0, False, complex(float("inf"), -0.0)), (math.nan, True, 0j)]:
        failed, (_, inputs, _) = s.check(f, b, c)
        assert failed is None
        assert inputs[0][:8] == struct.pack("<d", f) and inputs[1][:8] == bytes([b] + [0] * 7)
        assert inputs[2] == struct.pack("<dd", c.real, c.imag)
    assert not s.passes(1, True, 0j) and not s.passes(1.0, 1, 0j) and not s.passes(np.float64(1), True, 0j)


@pytest.mark.parametrize("char", DTYPES)
def test_numpy_scalars(char):
    import ctypes
    value = np.dtype(char).type(1)
    s = GuardSet()
    s.guard("type", s.arg(0), object=type(value))
    s.input("scalar", s.arg(0))
    s.build()
    failed, frame = s.check(value)
    assert failed is None
    assert ctypes.string_at(frame[1][0], value.nbytes) == value.tobytes()
    assert not s.passes(np.zeros((), char)) and not s.passes(1 if char != "l" else 1.0)


EQUALS = [None, True, False, 0, 1, -1, 7, 2**30, -2**40, 2**63, 10**40, -10**40, 0.0, -0.0, 1.5, math.nan, math.inf, 1j, complex(0.0, -0.0), "",
          "abc", "é", "\u20ac\U0001f600", b"", b"abc", (), (1,), (1, 2.0), (1.0, 2), (0.0,), (-0.0,), ("a", (None, True)), ("a", (None, 1)), Ellipsis]


@pytest.mark.parametrize("i", range(len(EQUALS)))
def test_equals(i):
    def image(v):
        if type(v) is tuple:
            return tuple, tuple(image(w) for w in v)
        return type(v), struct.pack("<d", v) if type(v) is float else repr(v)
    s = GuardSet()
    s.guard("equals", s.arg(0), object=EQUALS[i])
    s.build()
    others = EQUALS + [np.float64(1.5), np.int64(7), [1], {}, type("S", (str,), {})("abc"), struct.unpack("<d", b"\x01\0\0\0\0\0\xf8\x7f")[0]]
    for v in others:
        clone = eval(repr(v), {"nan": math.nan, "inf": math.inf}) if type(v) in (int, str, bytes, tuple, complex) else v
        for w in (v, clone):
            assert s.passes(w) == (image(w) == image(EQUALS[i])), (w, EQUALS[i])


def test_equals_refuses_what_it_cannot_compare():
    s = GuardSet()
    s.guard("equals", s.arg(0), object=[1])
    with pytest.raises(ValueError, match="cannot|no constant"):
        s.build()


# ---------------------------------------------------------------------------------------------- symbols

RELATIONS = [("s0", "==", "s1"), ("s0", "!=", "1"), ("s0 + s1", "<", "100"), ("2*s0 + 3", "<=", "s1*s1"), ("s0//4", "==", "s1//4"),
             ("s0 % 8", "==", "s1 % 8"), ("s0//3", "<=", "s1"), ("s0 % 3", "!=", "s1 % 5"), ("min(s0, s1)", "<", "max(s0, 7)"),
             ("s0*s1", "<", "9223372036854775807"), ("s0*s1 + s0 + s1*s1*s0", "!=", "s1 + 5000000000")]


@pytest.mark.parametrize("left,op,right", RELATIONS)
def test_relations(left, op, right):
    s = GuardSet()
    for i in range(2):
        s.guard("int_range", s.arg(i), lo=INT64[0], hi=INT64[1])
        s.symbol("int", s.arg(i))
    s.relation(left, op, right)
    s.build()
    rng = random.Random(5)
    values = [0, 1, -1, 3, 8, -8, 10, 2**31, -2**31, 2**62, *INT64]
    outcomes = set()
    for a in values + [rng.randrange(-50, 50) for _ in range(30)]:
        for b in values + [rng.randrange(-50, 50) for _ in range(5)]:
            passed = s.passes(a, b)
            scope = {"s0": a, "s1": b}
            exact = eval(f"({left}) {op} ({right})", {"min": min, "max": max}, scope)
            small = abs(a) < 2**20 and abs(b) < 2**20
            assert passed == exact if small else not (passed and not exact)
            outcomes.add(passed)
    assert len(outcomes) == 2


def test_relation_reason_names_shapes():
    def f(x, y):
        pass
    s = GuardSet()
    for i in range(2):
        s.guard("array", s.arg(i), like=np.zeros(3))
        s.symbol("dim", s.arg(i))
    s.relation("s0", "==", "s1")
    s.build()
    assert s.passes(np.zeros(4), np.zeros(4), function=f)
    text = s.reason(np.zeros(4), np.zeros(5), function=f)
    assert "x.shape[0] = 4" in text and "y.shape[0] = 5" in text


def test_validation():
    s = GuardSet()
    s.symbol("dim", s.arg(0))
    with pytest.raises(ValueError, match="without a guard"):
        s.build()
    s = GuardSet()
    s.input("float", s.arg(0))
    with pytest.raises(ValueError, match="guard of its type"):
        s.build()
    s = GuardSet()
    s.symbol("int", s.arg(0))
    s.relation("s0", "<", "3")
    s.guard("int_range", s.arg(0), lo=0, hi=9)
    with pytest.raises(ValueError, match="before the guard"):
        s.build()
    s.build(sort=True)          # sorting puts it right
    assert s.passes(2) and not s.passes(3) and not s.passes(10)


# ---------------------------------------------------------------------------------------------- paths

class Plain:
    pass


class Slotted:
    __slots__ = ("u", "v")


class Mixed(Slotted):           # slots and a dict
    pass


class OwnGetattr:
    def __getattr__(self, name):
        raise AssertionError("Python code was run")


@pytest.mark.parametrize("cls", [Plain, Slotted, Mixed])
def test_instance_attributes(cls):
    s = GuardSet()
    u = s.source("attr", s.arg(0), obj="u")
    v = s.source("attr", s.arg(0), obj="v")
    s.guard("equals", u, object=7)
    s.guard("type", v, object=float)
    s.input("float", v)
    s.object(u)
    s.build()
    o = cls()
    assert not s.passes(o)
    o.u = 7
    assert not s.passes(o)
    o.v = 2.5
    failed, frame = s.check(o)
    assert failed is None and frame[2] == [7] and frame[1][0][:8] == struct.pack("<d", 2.5)
    o.u = 8
    assert not s.passes(o)
    o.u = 7
    if hasattr(o, "__dict__"):
        o.__dict__["w"] = 1           # materialised dict
        assert s.passes(o)
        if cls is Plain:
            o.__dict__.update({1: 2})     # dict of general keys
            assert s.passes(o)
            del o.__dict__["u"]
            assert not s.passes(o)
            o.__dict__ = {"v": 1.0, "u": 7}
            assert s.passes(o)
    other = cls()
    other.v, other.u = 1.0, 7         # other order
    assert s.passes(other)
    del other.u
    assert not s.passes(other)
    assert not s.passes(OwnGetattr()) and not s.passes(3) and not s.passes(None)


def test_many_instances_share_one_cell():
    s = GuardSet()
    s.guard("type", s.source("attr", s.arg(0), obj="w"), object=int)
    s.build()
    for n in range(60):
        o = Plain()
        for i in random.Random(n).sample(range(40), n % 40):
            setattr(o, f"a{i}", 0.5)
        assert not s.passes(o)
        o.w = 1
        assert s.passes(o)
        del o.w
        assert not s.passes(o)


def test_dict_items():
    s = GuardSet()
    s.guard("type", s.source("dict_item", s.arg(0), obj="rate"), object=float)
    s.guard("dict_contains", s.arg(0), object="n")
    s.guard("dict_not_contains", s.arg(0), object="z")
    s.build()

    class Evil:
        def __init__(self, h):
            self.h = h

        def __hash__(self):
            return self.h

        def __eq__(self, other):
            raise AssertionError("Python code was run")

    class D(dict):
        pass
    good = {"rate": 1.0, "n": 3}
    assert s.passes(good)
    assert s.passes({1: 2, **good}) and s.passes({None: 2, (b"x"): 1, **good})
    assert s.passes({"".join(["ra", "te"]): 1.0, "n": 0})
    assert not s.passes({**good, "z": 0}) and not s.passes({"rate": 1.0}) and not s.passes({"n": 1}) and not s.passes({})
    assert not s.passes({"rate": 1, "n": 3})
    assert not s.passes(D(good)) and not s.passes(None) and not s.passes([("rate", 1.0)])
    assert not s.passes({Evil(hash("rate")): 1, **{}}) and not s.passes({Evil(hash("z")): 1})
    big = {f"k{i}": i for i in range(10000)}
    big.update(good)
    assert s.passes(big)
    del big["n"]
    assert not s.passes(big)
    big["n"] = 4
    assert s.passes(big)
    for i in range(10000):
        del big[f"k{i}"]
        if i % 997 == 0:
            assert s.passes(big)


def test_dict_keys():
    s = GuardSet()
    s.guard("dict_keys", s.arg(0), object=("a", "b"))
    s.build()
    assert s.passes({"a": 1, "b": 2})
    for bad in ({"b": 1, "a": 2}, {"a": 1}, {"a": 1, "b": 2, "c": 3}, {}, {"a": 1, 2: 2}, None, ["a", "b"]):
        assert not s.passes(bad)


def test_no_instance_attr():
    s = GuardSet()
    s.guard("no_instance_attr", s.arg(0), object="m")
    s.build()
    o = Plain()
    assert s.passes(o) and s.passes(3) and s.passes(Slotted())
    o.m = 1
    assert not s.passes(o)
    del o.m
    assert s.passes(o)
    o.__dict__["m"] = 2
    assert not s.passes(o)


def make_closure():
    n = 3

    def inner(x, k=10, *, kw=20):
        return x + n + G + k + kw + len("x")

    def setter(v):
        nonlocal n
        n = v

    def deleter():
        nonlocal n
        del n
    return inner, setter, deleter


G = 5


def test_function_paths():
    global G
    inner, setter, deleter = make_closure()
    s = GuardSet()
    fn = s.source("function")
    arg = s.arg(0)
    for base in (fn, arg):
        s.guard("equals", s.source("cell", base, 0), object=3)
        s.guard("equals", s.source("dict_item", s.source("globals", base), obj="G"), object=5)
        s.guard("is", s.source("dict_item", s.source("builtins", base), obj="len"), object=len)
        s.guard("dict_not_contains", s.source("globals", base), object="len")
        s.guard("equals", s.source("default", base, 0), object=10)
        s.guard("equals", s.source("kwdefault", base, obj="kw"), object=20)
    s.guard("function_code", fn, object=inner.__code__)
    s.build()
    check = lambda a=inner: s.passes(a, function=inner)
    assert check()
    assert not check(len) and not check(blank) and not check(None)
    for set_, reset in [(lambda: setter(4), lambda: setter(3)), (deleter, lambda: setter(3)),
                        (lambda: globals().update(G=6), lambda: globals().update(G=5)),
                        (lambda: globals().pop("G"), lambda: globals().update(G=5)),
                        (lambda: globals().update(len=1), lambda: globals().pop("len")),
                        (lambda: setattr(inner, "__defaults__", ()), lambda: setattr(inner, "__defaults__", (10,))),
                        (lambda: setattr(inner, "__defaults__", None), lambda: setattr(inner, "__defaults__", (10,))),
                        (lambda: setattr(inner, "__kwdefaults__", None), lambda: setattr(inner, "__kwdefaults__", {"kw": 20})),
                        (lambda: setattr(inner, "__kwdefaults__", {"kw": 1}), lambda: setattr(inner, "__kwdefaults__", {"kw": 20}))]:
        set_()
        assert not check()
        reset()
        assert check()
    old = inner.__code__
    inner.__code__ = old.replace(co_name="other")
    assert not check()
    inner.__code__ = old
    assert check()
    names = [t.describe(s.h, i, inner.__code__) for i in range(8)]
    assert "x" in names and any("n (closure of" in n for n in names) and any(n.startswith("G (global of") for n in names), names


def test_items_lengths_methods():
    s = GuardSet()
    x = s.arg(0)
    s.guard("length", x, lo=3)
    s.guard("equals", s.source("item", x, 0), object=1)
    s.guard("equals", s.source("item", s.source("item", x, 2), 1), object="b")
    s.build()
    assert s.passes((1, 2, (3, "b"))) and s.passes([1, 2, [3, "b"]]) and s.passes([1, 2, (3, "b", 4)])
    for bad in ((1, 2), (1, 2, (3,)), (1, 2, 3), (2, 2, (3, "b")), (), [], None, {0: 1}, (1, 2, (3, "b"), 4), "abc"):
        assert not s.passes(bad)
    u = GuardSet()                     # without the length guard
    u.guard("equals", u.source("item", u.arg(0), 2), object=1)
    u.build()
    assert u.passes([0, 0, 1, 5]) and u.passes((0, 0, 1)) and not u.passes([0, 0]) and not u.passes(3)
    m = GuardSet()
    m.guard("is", m.source("bound_func", m.arg(0)), object=Methodical.go)
    m.guard("type", m.source("bound_self", m.arg(0)), object=Methodical)
    m.build()
    o = Methodical()
    assert m.passes(o.go) and not m.passes(o.other) and not m.passes(Methodical.go) and not m.passes(print)


class Methodical:
    def go(self):
        pass

    def other(self):
        pass


def test_type_version_and_type_attr():
    class Local(Methodical):
        pass
    s = GuardSet()
    tp = s.source("type_of", s.arg(0))
    version = t.type_version(Local)
    assert version > 0 and version == t.type_version(Local)
    s.guard("type", s.arg(0), object=Local)
    s.guard("type_version", tp, lo=version)
    s.guard("is", s.source("type_attr", tp, obj="go"), object=Methodical.go)
    s.build()
    o = Local()
    assert s.passes(o) and s.passes(Local()) and not s.passes(Methodical())
    Local.extra = 1
    assert s.check(o)[0] == 1
    version2 = t.type_version(Local)
    assert version2 != version
    u = GuardSet()
    u.guard("type_version", u.arg(0), lo=version2)
    u.guard("is", u.source("type_attr", u.arg(0), obj="go"), object=Methodical.go)
    u.build()
    assert u.passes(Local) and not u.passes(3) and not u.passes(o) and not u.passes(Methodical)
    Methodical.go2 = 1                 # a base class changes
    assert not u.passes(Local)
    del Methodical.go2


def test_not_same_and_state():
    s = GuardSet()
    s.guard("not_same", s.arg(0), other=s.source("item", s.arg(1), 0))
    s.guard("state", lo=t.state_address(), hi=41)
    s.build()
    a = [1]
    t.set_state(41)
    assert s.passes(a, (3,)) and not s.passes(a, (a,)) and not s.passes(a, ())
    t.set_state(42)
    assert s.check(a, (3,))[0] == 1


def test_broken_path_of_an_object_is_reported_behind_the_guards():
    s = GuardSet()
    s.object(s.source("item", s.arg(0), 1))
    s.guard("type", s.arg(0), object=tuple)
    s.build()
    assert s.check((1, "two")) == (None, ([], [], ["two"]))
    assert s.check((1,))[0] == 1 == s.count


# ---------------------------------------------------------------------------------------------- random sets

class Box:
    def __init__(self, **kw):
        self.__dict__.update(kw)


def random_object(rng, depth=2):
    pick = rng.randrange(13 if depth else 8)
    if pick == 0:
        return random_array(rng)
    if pick == 1:
        return rng.choice(INTS)
    if pick == 2:
        return rng.choice([0.0, -0.0, 1.5, math.nan])
    if pick == 3:
        return rng.choice([None, True, False, "abc", "x" * rng.randrange(4), b"q", 1j])
    if pick == 4:
        return np.dtype(rng.choice(DTYPES)).type(1)
    if pick == 5:
        return rng.choice([blank, len, np.add, Plain, np])
    if pick in (6, 7):
        return random_array(rng, rng.choice("fd"), rng.choice([1, 2]))
    if pick == 8:
        return tuple(random_object(rng, depth - 1) for _ in range(rng.randrange(4)))
    if pick == 9:
        return [random_object(rng, depth - 1) for _ in range(rng.randrange(4))]
    if pick == 10:
        return {rng.choice("abcd"): random_object(rng, depth - 1) for _ in range(rng.randrange(4))}
    if pick == 11:
        return Box(**{rng.choice("abcd"): random_object(rng, depth - 1) for _ in range(rng.randrange(4))})
    o = Mixed()
    o.u = random_object(rng, depth - 1)
    o.other = 1
    return o


class RandomSet:
    """Guards that hold for the given arguments, at random."""

    def __init__(self, rng, args):
        self.rng, self.s, self.ints, self.arrays = rng, GuardSet(), [], []
        for i, a in enumerate(args):
            self.describe(self.s.arg(i), a)
        for (x, a) in self.arrays:
            for (y, b) in self.arrays:
                if x < y and rng.random() < 0.3 and not np.may_share_memory(a, b):
                    self.s.guard("no_overlap", x, other=y)
        for (m, v) in self.ints:
            for (n, w) in self.ints:
                if rng.random() < 0.2:
                    self.s.relation(m, "==" if v == w else "<" if v < w else "!=", n)
        self.s.build(sort=rng.random() < 0.7)

    def describe(self, src, a):
        rng, s = self.rng, self.s
        chance = lambda p=0.5: rng.random() < p
        if chance(0.1):
            return
        if chance(0.3):
            s.object(src)
        if type(a) is np.ndarray and a.dtype.char in DTYPES:
            s.guard("array", src, like=a)
            self.arrays.append((src, a))
            for i in range(a.ndim):
                if chance():
                    self.ints.append((s.symbol("dim", src, i), a.shape[i]))
                if chance(0.2):
                    self.ints.append((s.symbol("stride", src, i), a.strides[i]))
            if chance():
                s.input("array", src)
            if chance() and a.flags.writeable:
                s.guard("writeable", src)
        elif type(a) is int and INT64[0] <= a <= INT64[1]:
            if chance(0.3):
                return s.guard("equals", src, object=a)
            s.guard("int_range", src, lo=rng.choice([INT64[0], a, max(a - 5, INT64[0])]), hi=rng.choice([INT64[1], a]))
            self.ints.append((s.symbol("int", src), a))
            if chance():
                s.input("int", src)
        elif type(a) in (float, bool, complex):
            if chance():
                return s.guard("equals", src, object=a)
            s.guard("type", src, object=type(a))
            s.input(type(a).__name__, src)
        elif a is None or type(a) in (str, bytes, int):
            s.guard("equals", src, object=a)
        elif isinstance(a, np.generic):
            s.guard("type", src, object=type(a))
            s.input("scalar", src)
        elif type(a) in (tuple, list):
            if chance():
                s.guard("type", src, object=type(a))
            if chance():
                s.guard("length", src, lo=len(a))
            for i, v in enumerate(a):
                self.describe(s.source("item", src, i), v)
        elif type(a) is dict:
            if chance():
                s.guard("dict_keys", src, object=tuple(a))
            for k in "abcd":
                if k not in a and chance():
                    s.guard("dict_not_contains", src, object=k)
                if k in a and chance():
                    s.guard("dict_contains", src, object=k)
            for k, v in a.items():
                self.describe(s.source("dict_item", src, obj=k), v)
        elif type(a) in (Box, Mixed):
            if chance():
                s.guard("type", src, object=type(a))
            if chance(0.3):
                s.guard("type_version", s.source("type_of", src), lo=t.type_version(type(a)))
            if chance(0.3):
                s.guard("no_instance_attr", src, object="zz")
            for k, v in a.__dict__.items():
                self.describe(s.source("attr", src, obj=k), v)
            if type(a) is Mixed:
                self.describe(s.source("attr", src, obj="u"), a.u)
        elif a is blank:
            s.guard("function_code", src, object=blank.__code__)
        else:
            s.guard("is", src, object=a)


def mutate(rng, a, depth=2):
    """`a` changed in place or replaced."""
    roll = rng.random()
    if roll < 0.3:
        return random_object(rng, depth)
    if type(a) is np.ndarray and roll < 0.9:
        choices = [a.copy(), a.copy("F"), a.T, a.astype("f"), a[..., None], a[::-1] if a.ndim else a, a[::2] if a.ndim else a,
                   np.zeros([n + rng.randrange(2) for n in a.shape], a.dtype)]
        b = rng.choice(choices)
        if rng.random() < 0.1:
            b.flags.writeable = False
        return b
    if type(a) is int:
        return rng.choice([a + 1, a - 1, -a, a * 2**20, float(a) if abs(a) < 2**100 else 0.0, bool(a)])
    if type(a) in (list, tuple) and a:
        parts = list(a)
        if rng.random() < 0.3:
            parts.pop(rng.randrange(len(parts)))
        else:
            i = rng.randrange(len(parts))
            parts[i] = mutate(rng, parts[i], depth - 1)
        return type(a)(parts) if rng.random() < 0.9 else list(parts)
    if type(a) in (dict, Box, Mixed):
        inner = a if type(a) is dict else a.__dict__
        if inner and rng.random() < 0.6:
            k = rng.choice(list(inner))
            inner[k] = mutate(rng, inner[k], depth - 1)
        elif rng.random() < 0.5:
            inner[rng.choice(["a", "b", "zz"])] = random_object(rng, 0)
        elif rng.random() < 0.5:
            inner[7] = 1
        elif inner:
            del inner[rng.choice(list(inner))]
    return a


@pytest.mark.parametrize("seed", range(40))
def test_stub_agrees_with_slow_checker(seed):
    rng = random.Random(seed)
    outcomes = [0, 0]
    for _ in range(10):
        args = [random_object(rng) for _ in range(rng.randrange(1, 5))]
        r = RandomSet(rng, args)
        assert r.s.passes(*args)
        for _ in range(25):
            i = rng.randrange(len(args))
            args[i] = mutate(rng, args[i])
            outcomes[r.s.passes(*args)] += 1
        del r
    assert min(outcomes) > 0


# ---------------------------------------------------------------------------------------------- memory

def two_arrays():
    s = GuardSet()
    for i in range(2):
        s.guard("array", s.arg(i), like=np.zeros((3, 4)))
        for axis in range(2):
            s.symbol("dim", s.arg(i), axis)
        s.input("array", s.arg(i))
    s.relation("s0", "==", "s2")
    s.relation("s1", "==", "s3")
    return s


def test_a_million_calls_leave_reference_counts_alone():
    s = two_arrays()
    d = s.source("dict_item", s.arg(2), obj="rate")
    s.guard("type", d, object=float)
    s.guard("type", s.source("attr", s.arg(3), obj="w"), object=list)
    s.object(d)
    s.build()
    o = Plain()
    o.w = []
    args = (np.zeros((5, 6)), np.ones((5, 6)), {"rate": 1.25}, o)
    bad = (np.zeros(5), *args[1:])
    watched = [*args, args[2]["rate"], o.w, np.dtype("d"), sys.intern("rate")]
    before = [sys.getrefcount(w) for w in watched]
    _, failures = t.bench(s.h, args, blank, 1_000_000)
    assert failures == 0
    assert [sys.getrefcount(w) for w in watched] == before
    _, failures = t.bench(s.h, bad, blank, 100_000)
    assert failures == 100_000
    assert [sys.getrefcount(w) for w in watched] == before


def test_ten_thousand_emissions_reuse_the_arena():
    gc.collect()
    marker = ["kept"]
    before, count = t.arena_stats(), sys.getrefcount(marker)
    keep = []
    for i in range(10_000):
        s = two_arrays()
        s.guard("is", s.arg(2), object=marker)
        s.build()
        keep.append(s)
        if len(keep) > 50:
            del keep[random.Random(i).randrange(len(keep))]
    peak = t.arena_stats()
    assert peak[0] == 1 and peak[1] <= before[1] + 51
    del keep, s
    gc.collect()
    assert t.arena_stats()[1:] == before[1:] and sys.getrefcount(marker) == count


def test_fork_does_not_share_code():
    script = textwrap.dedent("""
        import os, sys
        sys.path[:0] = %r
        import test_guards as g, numpy as np, _fw_guards_test as t
        a = np.zeros((3, 4))
        s = g.two_arrays(); s.build()
        assert s.passes(a, a)
        gone = g.two_arrays(); gone.build()
        pid = os.fork()
        if pid == 0:
            del gone
            for _ in range(200):              # would overwrite the parent's stubs if memory were shared
                r = g.GuardSet(); r.guard("is", r.arg(0), object=None); r.build(); assert r.passes(None)
            assert s.passes(a, a)
            os._exit(0)
        keep = []
        for _ in range(200):
            r = g.GuardSet(); r.guard("is", r.arg(0), object=1); r.build(); keep.append(r)
            assert r.passes(1) and s.passes(a, a) and gone.passes(a, a)
        assert os.waitpid(pid, 0)[1] == 0
        assert not s.passes(a, a[:2])
    """) % ([__file__.rsplit("/", 1)[0], t.__file__.rsplit("/", 1)[0]],)
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_no_page_is_writable_and_executable():
    s = two_arrays()
    s.build()
    with open("/proc/self/maps") as maps:
        mine = [line for line in maps if "fusewire-guards" in line]
    assert len(mine) >= 2
    assert all("w" not in line.split()[1] or "x" not in line.split()[1] for line in mine)
