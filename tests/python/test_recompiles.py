"""Values that change from call to call: numbers among globals and class attributes are read by every call once they have
changed, any other value that keeps changing is looked at by Python, with compiled code before and behind; nothing is compiled
without end, nobody is warned, and every call answers what Python answers. Classes that change elsewhere keep their variants."""

import gc
import warnings
import weakref

import numpy as np
import pytest

import fusewire
from compare import assert_same_call

X = np.arange(8.0) - 3


def facts(f):
    return fusewire._fusewire.describe(f)


def variants(f):
    known = facts(f)
    return len(known["variants"]) + sum(len(region["variants"]) for region in known["regions"])


def changing(f):
    return [b["detail"] for b in facts(f)["breaks"] if b["reason"] == "changing-value"]


class Particle:
    count = 0
    scale = 2.0

    def __init__(self, x):
        Particle.count += 1
        self.number = Particle.count
        self.x = x

    def weight(self):
        return (self.x * self.scale).sum() + self.number


counter = 0


def class_counter(x, i):
    Particle.count += 1
    return (x * Particle.scale + 1).sum() + Particle.count


def objects_made(x, i):
    particle = Particle(x)
    return particle.weight() + (x * 2).sum()


def global_counter(x, i):
    global counter
    counter += 1
    return (x * 2 + counter).sum()


def steps(x, i):
    for k in range(i % 40):
        x = x * 0.5 + k
    return x


def rows_stacked(x, i):
    return np.stack([x] * (1 + i % 30)).sum(axis=0) * 2


def list_to_array(x, i):
    return (np.array([1.0 * k for k in range(1 + i % 30)]) * 2).sum() + x


def other_keys(x, i):
    total = 0.0
    for key, value in {f"{i}.{k}": 1.0 * k for k in range(3)}.items():
        total = total + (x * value).sum()
    return total


CACHE, GROUPS, COUNTS = {}, {}, {}


def memo(x, i):
    key = 7 * i
    if key not in CACHE:
        CACHE[key] = (x * x).sum()
    return CACHE[key] + (x + 1).sum()


def computed_key(x, i):
    GROUPS.setdefault(f"g{i % 37}", []).append((x * 2).sum())
    return (x + 1).sum() + len(GROUPS)


def counted_words(x, i):
    word = f"w{i % 25}"
    COUNTS[word] = COUNTS.get(word, 0) + 1
    return (x * COUNTS[word]).sum()


def by_name(x, i, table={f"n{k}": 2.0 * k for k in range(60)}):
    return (x * table[f"n{i}"] + 1).sum()


def indexed_list(x, i, weights=[1.0 * k for k in range(60)]):
    return (x * weights[i] + x[i % 8]).sum()


def own_function(x, i):
    return apply(lambda y: y + i, x)


def apply(function, x):
    return function(x) * 2 + (x + 1)


def beyond_64_bits(x, i):
    n = 2**62 + i * 10**9
    return (x * 2).sum() + n % 7 + hundreds(n)


def hundreds(n):
    return n // 10**20


def modes(x, i):
    kind = "abcdef"[i % 6]
    if kind == "a":
        return (x * 2).sum()
    if kind == "b":
        return (x + 2).sum()
    if kind == "c":
        return np.exp(x).sum()
    return x - len(kind) if kind == "d" else x


PROGRAMS = (class_counter, objects_made, global_counter, steps, rows_stacked, list_to_array, other_keys, memo, computed_key,
            counted_words, by_name, indexed_list, own_function, beyond_64_bits, modes)


def reset_state():
    global counter
    counter = Particle.count = 0
    for table in (CACHE, GROUPS, COUNTS):
        table.clear()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_values_that_change_with_every_call(program):
    reset_state()
    expected = [program(X, i) for i in range(60)]
    reset_state()
    compiled = fusewire.compile(program)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(60):
            assert_same_call(lambda: expected[i], lambda: compiled(X, i), ())
    assert variants(compiled) <= 12, [b["detail"] for b in facts(compiled)["breaks"]]
    used = sum(v["hits"] for v in facts(compiled)["variants"]) + sum(r["hits"] for r in facts(compiled)["regions"])
    assert used >= 30, "hardly anything ran compiled"


def test_the_reason_is_told():
    f = fusewire.compile(lambda x, names, i: (x * names[i]).sum())
    for i in range(8):
        f(X, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], i)
    (detail,) = changing(f)
    assert "compiled for" in detail
    (told,) = [b for b in facts(f)["breaks"] if b["reason"] == "changing-value"]
    assert told["class"] == "limit" and "churn_limit" in told["hint"] and told["line"] > 0 and told["file"].endswith(".py")


def test_the_limit_is_a_setting():
    names = [1.0 * k for k in range(40)]
    f = fusewire.compile(lambda x, i: (x * names[i]).sum(), churn_limit=8)
    for i in range(8):
        f(X, i)
    assert not changing(f) and variants(f) == 8
    for i in range(8, 12):
        assert f(X, i) == (X * names[i]).sum()
    assert changing(f) and variants(f) < 8

    never = fusewire.compile(lambda x, i: (x * names[i]).sum(), churn_limit=0, recompile_limit=6)
    with pytest.warns(RuntimeWarning, match="recompile limit"):
        for i in range(12):
            assert never(X, i) == (X * names[i]).sum()
    assert not changing(never)


def test_variants_that_are_used_again_stay():
    kinds = ["sum", "max", "min", "mean", "std"]
    f = fusewire.compile(lambda x, kind: getattr(x * 2, kind)() + 1)
    for kind in kinds[:4] * 3:
        assert f(X, kind) == getattr(X * 2, kind)() + 1
    assert len(facts(f)["variants"]) == 4 and not changing(f)


DT, STEPS = 0.5, 3


def test_settings_are_constants_until_they_change():
    global DT, STEPS

    def f(x):
        for _ in range(STEPS):
            x = x + DT
        return x

    compiled = fusewire.compile(f)
    try:
        for DT, STEPS in ((0.5, 3), (0.5, 3), (0.25, 3), (0.125, 3), (1, 3), (1.5, 3), (1.5, 2), (1.5, 3)):
            assert np.array_equal(compiled(X), f(X))
        assert variants(compiled) <= 4  # a constant; any float; an int; another number of steps
    finally:
        DT, STEPS = 0.5, 3


# ---- classes ------------------------------------------------------------------------------------------------------


def shape_class():
    class Base:
        offset = 1.0

        def inherited(self, x):
            return x + self.offset

    class Shape(Base):
        factor = 2.0
        made = 0
        __slots__ = ("height",)

        def __init__(self):
            self.height = 3.0
            self.width = 4.0

        def area(self, x):
            return x * self.factor * self.height

        @property
        def double(self):
            return 2 * self.width

        @staticmethod
        def shifted(x):
            return x - 1

        @classmethod
        def scaled(cls, x):
            return x * cls.factor

    return Base, Shape


def measure(shape, x):
    return (shape.area(x) + shape.double * shape.shifted(x) + shape.scaled(x) + shape.inherited(x) +
            getattr(shape, "extra", 0.0))


def other_method(self, x):
    return x * 5


def replace_bases(base, cls, shape):
    class Other(base):
        def inherited(self, x):
            return x - 100

    class Mixed(Other):
        pass

    cls.__bases__ = (Other,)


CHANGES = {
    "a counter": (lambda base, cls, shape: setattr(cls, "made", cls.made + 1), True),
    "a new attribute": (lambda base, cls, shape: setattr(cls, "unheard_of", 1), True),
    "a counter of the base": (lambda base, cls, shape: setattr(base, "unheard_of", 1), True),
    "a number": (lambda base, cls, shape: setattr(cls, "factor", 3.0), False),
    "a number of another type": (lambda base, cls, shape: setattr(cls, "factor", np.float32(3)), False),
    "a number of the base": (lambda base, cls, shape: setattr(base, "offset", 7.0), False),
    "a number that hides the base's": (lambda base, cls, shape: setattr(cls, "offset", 8.0), False),
    "a method": (lambda base, cls, shape: setattr(cls, "area", other_method), False),
    "a method of the base": (lambda base, cls, shape: setattr(base, "inherited", other_method), False),
    "a method that hides the base's": (lambda base, cls, shape: setattr(cls, "inherited", other_method), False),
    "a property": (lambda base, cls, shape: setattr(cls, "double", property(lambda self: 9.0)), False),
    "a property that is none": (lambda base, cls, shape: setattr(cls, "double", 10.0), False),
    "a static method": (lambda base, cls, shape: setattr(cls, "shifted", staticmethod(lambda x: x + 6)), False),
    "a class method": (lambda base, cls, shape: setattr(cls, "scaled", classmethod(lambda c, x: x / 2)), False),
    "what was absent": (lambda base, cls, shape: setattr(cls, "extra", 11.0), False),
    "what was absent in the base": (lambda base, cls, shape: setattr(base, "extra", 12.0), False),
    "a descriptor over an attribute": (lambda base, cls, shape: setattr(cls, "width", property(lambda self: 13.0)), False),
    "a slot": (lambda base, cls, shape: setattr(cls, "height", property(lambda self: 14.0)), False),
    "__getattr__": (lambda base, cls, shape: setattr(cls, "__getattr__", lambda self, name: 15.0), False),
    "__getattribute__": (lambda base, cls, shape: setattr(
        cls, "__getattribute__", lambda self, name: 16.0 if name == "factor" else object.__getattribute__(self, name)), False),
    "the bases": (replace_bases, False),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_counts_of_a_class(name):
    change, harmless = CHANGES[name]
    base, cls = shape_class()
    shape = cls()
    compiled = fusewire.compile(measure)
    for _ in range(3):
        assert np.array_equal(compiled(shape, X), measure(shape, X))
    before = variants(compiled)
    assert before >= 1
    for _ in range(6):
        change(base, cls, shape)
        assert np.array_equal(compiled(shape, X), measure(shape, X))
    if harmless:
        assert variants(compiled) == before


def test_methods_replaced_by_ones_at_the_same_address():
    base, cls = shape_class()
    shape = cls()
    compiled = fusewire.compile(measure, recompile_limit=64)
    for k in range(60):
        cls.area = eval(f"lambda self, x: x * {k}")
        cls.double = property(eval(f"lambda self: {k} + 0.5"))
        cls.shifted = staticmethod(eval(f"lambda x: x + {k}"))
        assert np.array_equal(compiled(shape, X), measure(shape, X))


def test_attributes_deleted_and_made_again():
    base, cls = shape_class()
    shape = cls()
    compiled = fusewire.compile(measure)
    for k in range(12):
        if k % 3 == 1:
            cls.offset = 50.0
        elif k % 3 == 2:
            del cls.offset
        assert np.array_equal(compiled(shape, X), measure(shape, X))
    assert variants(compiled) <= 4


def test_special_methods_that_come_later():
    class Number:
        def __init__(self, value):
            self.value = value

        def __mul__(self, other):
            return other * self.value

    def f(n, x):
        return (n * x if n else x).sum()

    compiled, n = fusewire.compile(f), Number(2.0)
    for _ in range(3):
        assert compiled(n, X) == f(n, X)
    for attribute, value in (("unused", 1), ("__bool__", lambda self: False), ("__bool__", lambda self: True),
                             ("__mul__", lambda self, x: x + 1), ("__len__", lambda self: 0)):
        setattr(Number, attribute, value)
        assert compiled(n, X) == f(n, X)
    del Number.__bool__
    assert compiled(n, X) == f(n, X)


def test_super_finds_what_the_bases_hold_now():
    class A:
        def go(self, x):
            return x + 1

    class B(A):
        pass

    class C(B):
        calls = 0

        def go(self, x):
            C.calls += 1
            return super().go(x) * 2

    compiled, plain = fusewire.compile(lambda c, x: c.go(x)), lambda c, x: c.go(x)
    c = C()
    for _ in range(6):
        assert np.array_equal(compiled(c, X), plain(c, X))
    B.go = lambda self, x: x - 7
    assert np.array_equal(compiled(c, X), plain(c, X))
    del B.go
    A.go = lambda self, x: x * 11
    assert np.array_equal(compiled(c, X), plain(c, X))


def test_a_class_that_has_used_up_its_versions():
    base, cls = shape_class()
    shape = cls()
    for k in range(1500):  # 3.13 gives a class a thousand
        cls.made = k
        shape.factor
    compiled = fusewire.compile(measure)
    for k in range(6):
        cls.made = k
        assert np.array_equal(compiled(shape, X), measure(shape, X))
    cls.area = other_method
    assert np.array_equal(compiled(shape, X), measure(shape, X))


@pytest.mark.parametrize("attribute, values", [("__module__", "abc"), ("__doc__", ["one", None, "two"]), ("__qualname__", "pqr"),
                                               ("__name__", "xyz")])
def test_what_a_class_says_of_itself(attribute, values):
    class Local:
        pass

    def f(cls, x):
        return (getattr(cls, attribute), cls.__module__, cls.__doc__, cls.__name__, cls.__qualname__), x * 2

    compiled = fusewire.compile(f)
    for value in [*values, *values]:
        setattr(Local, attribute, value)
        for _ in range(3):
            assert compiled(Local, X)[0] == f(Local, X)[0]


def test_a_class_that_is_being_made():
    """A metaclass may use the class while it has no MRO."""
    seen = []

    class Meta(type):
        def mro(cls):
            for ask in (lambda: cls.missing, lambda: super(cls, cls).missing, lambda: hasattr(cls, "missing"),
                        lambda: type.__getattribute__(cls, "__name__"), lambda: isinstance(cls, type)):
                for _ in range(3):
                    try:
                        seen.append(fusewire.compile(ask, compile_all=True)())
                    except (AttributeError, TypeError) as error:
                        seen.append(type(error).__name__)
            return type.mro(cls)

    def classes():
        seen.clear()
        kinds = [Meta("A", (), {}), Meta("B", (int,), {})]
        return kinds, list(seen)

    _, compiled = classes()
    with fusewire.config.patch(enable=False):
        assert compiled == classes()[1]


def test_facts_keep_no_class_alive():
    compiled = fusewire.compile(measure)
    references = []
    for _ in range(3):
        base, cls = shape_class()
        shape = cls()
        for _ in range(3):
            cls.made += 1
            compiled(shape, X)
        references += [weakref.ref(base), weakref.ref(cls), weakref.ref(cls.area), weakref.ref(cls.double.fget)]
    del base, cls, shape
    gc.collect()
    assert [r() for r in references] == [None] * len(references)


# ---- where arrays lie in memory that they share ----------------------------------------------------------------------


def rows_of_an_array(x):
    for r in x:
        r[1:] -= r[:-1]
        x[1::2] -= r
    return x


def columns_of_an_array(x):
    for k in range(x.shape[1]):
        c = x[:, k]
        c += x[:, 0] * 0.5
        x[k % len(x)] *= 1.25
    return x


def windows(x):
    for k in range(len(x) - 8):
        w = x[k : k + 8]
        w[1:] += w[:-1]
        x[::3] -= w[0]
    return x


def steps(x):
    for k in range(1, len(x) // 2):
        w = x[::k]
        w[1:] -= w[0] * 0.25
        x[k:] += w[-1]
    return x


@pytest.mark.parametrize(
    "function, shape",
    [(rows_of_an_array, (44, 44)), (columns_of_an_array, (44, 44)), (windows, (400,)), (steps, (300,))],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_places_in_shared_memory_that_change_cost_few_variants(function, shape):
    """With warnings as errors: nobody could act on one."""
    compiled = fusewire.compile(function)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for _ in range(3):
            mine, theirs = (np.linspace(-1, 1, int(np.prod(shape))).reshape(shape) for _ in range(2))
            np.testing.assert_array_equal(compiled(mine), function(theirs))
    assert variants(compiled) < 16


def test_rows_passed_to_a_function():
    def step(x, r):
        r[1:] -= r[:-1]
        x[1::2] -= r
        return x.sum()

    compiled = fusewire.compile(step)
    mine, theirs = (np.linspace(-1, 1, 44 * 44).reshape(44, 44) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for r, s in zip(mine, theirs):
            assert compiled(mine, r) == step(theirs, s)
    np.testing.assert_array_equal(mine, theirs)
    assert variants(compiled) < 16


def test_places_that_stay_are_compiled():
    def step(x, r):
        r[1:] -= r[:-1]
        x[1::2] -= r
        return x.sum()

    compiled = fusewire.compile(step)
    mine, theirs = (np.linspace(-1, 1, 64).reshape(8, 8) for _ in range(2))
    for _ in range(20):
        assert compiled(mine, mine[3]) == step(theirs, theirs[3])
    assert variants(compiled) == 1 and not facts(compiled)["breaks"]


def test_limits_of_regions_warn_nobody():
    def walk(x, names):
        for name in names:
            x = x * name + 1
            hash(name)
        return x

    compiled = fusewire.compile(walk, churn_limit=0, recompile_limit=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for n in range(12):
            names = [np.float64(n), float(n), n, np.float32(n), np.int16(n), np.int8(n), True] * 12
            np.testing.assert_array_equal(compiled(X, names), walk(X, names))
