"""Object protocol: attributes, descriptors, operators, special methods, classes of every make. Part of corpus_lang."""

import dataclasses
import enum
import functools
import operator
import types
import typing
import weakref
from collections import namedtuple

import numpy as np

from corpus_case import Corpus, numbers

__all__ = ["corpus"]


class Tally:
    total = 0
    history: list = []


def reset():
    Tally.total = 0
    Tally.history = []


corpus = Corpus(reset, lambda: (Tally.total, Tally.history, sorted(k for k in vars(Tally) if not k.startswith("_"))))
case, group = corpus.case, corpus.group


# ---- classes that the functions use ---------------------------------------------------------------------------------

class Point:
    scale = 2

    def __init__(self, x, k=1):
        self.x = x
        self.k = k

    def scaled(self, by=1):
        return self.x * self.k * by

    @property
    def doubled(self):
        return self.x * 2

    @property
    def weight(self):
        return self.k

    @weight.setter
    def weight(self, value):
        if value is None:
            raise ValueError("no weight")
        self.k = value

    @weight.deleter
    def weight(self):
        del self.k

    @classmethod
    def unit(cls, x):
        return cls(x, 1)

    @staticmethod
    def norm(x):
        return (x * x).sum()


class Point3(Point):
    scale = 3

    def __init__(self, x, k=1, depth=0):
        super().__init__(x, k)
        self.depth = depth

    def scaled(self, by=1):
        return super().scaled(by) + self.depth


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a, b=None):
        self.a = a
        if b is not None:
            self.b = b


class Typed:
    """A data descriptor with storage of its own."""

    def __init__(self, kind):
        self.kind = kind

    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner=None):
        return self if instance is None else instance.__dict__[self.name]

    def __set__(self, instance, value):
        if not isinstance(value, self.kind):
            raise TypeError(f"{self.name}: {type(value).__name__}")
        instance.__dict__[self.name] = value


class Noted:
    """A descriptor that only sets: what the instance dict holds is read first."""

    def __set__(self, instance, value):
        instance.__dict__["node"] = value
        instance.__dict__["sets"] = instance.__dict__.get("sets", 0) + 1


class Graph:
    node = Noted()


class Lazy:
    """A non-data descriptor: the instance dict wins once it is filled."""

    def __init__(self, make):
        self.make = make
        self.name = make.__name__

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        value = instance.__dict__[self.name] = self.make(instance)
        return value


class Described:
    size = Typed((int, float))

    def __init__(self, size):
        self.size = size

    @Lazy
    def squares(self):
        return np.arange(4.0) * self.size


class Fallback:
    def __init__(self, known):
        self.known = known

    def __getattr__(self, name):
        if name.startswith("no"):
            raise AttributeError(name)
        return (name, self.known)


class Recorder:
    def __init__(self):
        object.__setattr__(self, "seen", [])

    def __setattr__(self, name, value):
        self.seen.append((name, value))
        object.__setattr__(self, name, value)

    def __delattr__(self, name):
        self.seen.append(("del", name))
        object.__delattr__(self, name)


class Everything:
    def __init__(self):
        self.asked = []

    def __getattribute__(self, name):
        if name != "asked":
            object.__getattribute__(self, "asked").append(name)
        return object.__getattribute__(self, name)

    value = 5


class Vec:
    """Operators with reflected and in-place forms."""

    def __init__(self, a):
        self.a = a

    def __add__(self, o):
        return Vec(self.a + (o.a if isinstance(o, Vec) else o))

    def __radd__(self, o):
        return Vec(o + self.a)

    def __sub__(self, o):
        if not isinstance(o, Vec):
            return NotImplemented
        return Vec(self.a - o.a)

    def __mul__(self, o):
        return Vec(self.a * o)

    __array_ufunc__ = None

    def __rmul__(self, o):
        return ("rmul", Vec(o * self.a))

    def __matmul__(self, o):
        return (self.a * o.a).sum()

    def __neg__(self):
        return Vec(-self.a)

    def __iadd__(self, o):
        self.a = self.a + o
        return self

    def __eq__(self, o):
        return isinstance(o, Vec) and bool((self.a == o.a).all())

    def __lt__(self, o):
        return self.a.sum() < o.a.sum()

    def __hash__(self):
        return 7

    def __len__(self):
        return len(self.a)

    def __getitem__(self, i):
        return self.a[i]

    def __setitem__(self, i, value):
        self.a[i] = value

    def __contains__(self, value):
        return bool((self.a == value).any())

    def __iter__(self):
        return iter(self.a.tolist())

    def __bool__(self):
        return bool(self.a.any())

    def __call__(self, by=1):
        return self.a * by

    def __index__(self):
        return len(self.a) % 3

    def __float__(self):
        return float(self.a.sum())

    def __repr__(self):
        return f"Vec({self.a.tolist()})"


class Sub(Vec):
    def __radd__(self, o):
        return ("sub first", o.a if isinstance(o, Vec) else o)


@dataclasses.dataclass
class Body:
    mass: float
    at: np.ndarray
    tags: list = dataclasses.field(default_factory=list)

    def moved(self, by):
        return dataclasses.replace(self, at=self.at + by)


@dataclasses.dataclass(frozen=True, order=True)
class Fixed:
    a: int
    b: float = 1.5

    @property
    def both(self):
        return self.a * self.b


@dataclasses.dataclass(slots=True)
class Packed:
    u: object
    v: object = None

    def __post_init__(self):
        if self.v is None:
            self.v = self.u


Pair = namedtuple("Pair", "first second", defaults=[1])


class Named(typing.NamedTuple):
    x: object
    k: float = 2.0

    def scaled(self):
        return self.x * self.k


class Color(enum.Enum):
    RED = 1
    GREEN = 2
    BLUE = RED

    def scale(self, x):
        return x * self.value


class Flags(enum.Flag):
    A = 1
    B = 2
    C = A | B


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 3


class Meta(type):
    def __call__(cls, *args):
        made = super().__call__(*args)
        made.by_meta = True
        return made

    def __len__(cls):
        return 42


class WithMeta(metaclass=Meta):
    def __init__(self, x):
        self.x = x


class Base:
    made = ()

    def __init_subclass__(cls, **options):
        cls.made = (*Base.made, cls.__name__, tuple(options.items()))

    def who(self):
        return ["Base"]


class Left(Base):
    def who(self):
        return ["Left"] + super().who()


class Right(Base, mark=1):
    def who(self):
        return ["Right"] + super().who()


class Diamond(Left, Right):
    def who(self):
        return ["Diamond"] + super().who()


# ---- attributes -----------------------------------------------------------------------------------------------------

group("attributes")


@case
def attribute_read(x, k):
    p = Point(x, 2)
    return p.x + p.k, p.scale


@case(k=[1, 2, 3.5, "s", None, 1, 2, 3])
def attribute_write(x, k):
    p = Point(x)
    p.k = k
    p.extra = x + 1
    return p


@case(p=[lambda: Point(numbers(3)), lambda: Point(numbers(3, "f4"), 2), lambda: Point3(numbers((2, 2)), 2.5, 1), lambda: Slotted(1)] * 2)
def attribute_of_argument(p, k):
    p.x = p.x * 2
    p.k += k
    return p.x + p.k


@case
def descriptor_that_only_sets(x, k):
    graph = Graph()
    unset = type(graph.node).__name__
    graph.node = {"x": x * 2}
    first = graph.node
    graph.node = k
    return unset, first, graph.node, hasattr(graph, "node"), getattr(graph, "node", 0), graph.sets


@case(p=[lambda: Point(numbers(3)), lambda: Slotted(numbers(3)), lambda: Described(2), lambda: Fallback(1), lambda: 5, lambda: None] * 2)
def attribute_missing(p):
    try:
        return p.nothing
    except AttributeError as e:
        return str(e), e.name, e.obj is p


@case
def attribute_deleted(x):
    p = Point(x)
    del p.k
    try:
        return p.k
    except AttributeError as e:
        return e.args, p.x + 1


@case(name=["x", "k", "scale", "doubled", "none", "scaled", "__class__", "__dict__"])
def getattr_by_name(x, name):
    return getattr(Point(x), name, "default") if name != "scaled" else getattr(Point(x), name)()


@case(name=["x", "k", "new", "weight", "doubled", "scale", "x", "__class__"])
def setattr_by_name(x, name):
    p = Point(x)
    setattr(p, name, x + 1)
    return p


@case(name=["x", "k", "none", "scale", "doubled", "", "__init__", "weight"])
def hasattr_by_name(x, name):
    return hasattr(Point(x), name), x * 2 if hasattr(x, name) else x


@case
def delattr_by_name(x, flag):
    p = Point(x)
    delattr(p, "x" if flag else "absent")
    return vars(p)


@case
def vars_and_dict(x, k):
    p = Point(x, k)
    p.__dict__["k2"] = x * 2
    p.__dict__.update(k3=p.k2 + 1)
    return p.k3, sorted(vars(p)), p


@case
def attribute_augmented(x, k):
    p = Point(x.copy(), 1)
    p.x += k
    p.k *= 3
    return p


@case
def attribute_chain(x):
    outer = Point(Point(Point(x)))
    outer.x.x.k = 5
    outer.x.x.x = outer.x.x.x - 1
    return outer.x.x.k, outer.x.x.x, outer


@case
def attribute_shared(x):
    a = Point(x)
    b = Point(a.x)
    a.x[0] = 100
    b.x = b.x + 1
    return a, b, a.x is b.x


@case
def class_attribute_written(x, k):
    Tally.total += x.sum()
    Tally.history.append(k)
    Tally.history = Tally.history + [x]
    return Tally.total * 2


@case
def class_attribute_added(x):
    Tally.extra = x
    try:
        return Tally.extra + Tally().extra
    finally:
        del Tally.extra


@case
def instance_hides_class(x, flag):
    p = Point(x)
    if flag:
        p.scale = 10
    return x * p.scale, Point.scale, type(p).scale


@case
def slots_read_write(x, k):
    s = Slotted(x)
    s.b = k
    s.a = s.a + s.b
    return s


@case
def slots_unset(x):
    s = Slotted(x)
    try:
        return s.b
    except AttributeError:
        s.b = s.a * 2
    return s.b


@case
def slots_no_dict(x):
    s = Slotted(x)
    s.c = x + 1
    return s


@case(name=["abc", "no", "known", "nope", "value", "x", "none", "k"])
def getattr_hook(x, name):
    f = Fallback(x)
    f.x = x + 1
    return getattr(f, name), f.x, f.other


@case
def setattr_hook(x, k):
    r = Recorder()
    r.a = x
    r.a = r.a + k
    r.b = r.a
    del r.b
    return r


@case
def getattribute_hook(x):
    e = Everything()
    y = x * e.value
    e.other = y
    return e.other + e.value, list(e.asked)


# ---- descriptors and properties ------------------------------------------------------------------------------------

group("descriptors")


@case
def property_read(x):
    p = Point(x)
    return p.doubled + p.weight


@case(k=[3, 2.5, None, 1, None, 2, "s", 4])
def property_set(x, k):
    p = Point(x)
    p.weight = k
    p.weight += 1
    return p.scaled(), p


@case
def property_deleted(x):
    p = Point(x)
    del p.weight
    return "k" in p.__dict__, p.weight


@case
def property_read_only(x):
    p = Point(x)
    y = x + 1
    p.doubled = y
    return y


@case(k=[1, 2.5, "no", 3, None, 1, 2, 3])
def data_descriptor(x, k):
    d = Described(k)
    d.size = d.size + 1
    return x * d.size, d, Described.size is Described.__dict__["size"]


@case
def data_descriptor_beats_dict(x):
    d = Described(2)
    d.__dict__["size"] = 100
    return x * d.size


@case
def non_data_descriptor(x):
    d = Described(3)
    a = d.squares
    b = d.squares
    return a is b, a + 1, d


@case
def non_data_descriptor_hidden(x):
    d = Described(3)
    d.__dict__["squares"] = x
    return d.squares + 1


@case
def methods_as_descriptors(x):
    bound = Point(x, 2).scaled
    plain = Point.scaled
    return bound(2), plain(Point(x, 3)), plain.__get__(Point(x, 4))(), bound.__self__.k


@case
def method_from_instance_dict(x):
    p = Point(x)
    p.scaled = lambda by=1: by - x
    return p.scaled(), p.scaled(5), Point.scaled(p)


@case
def method_assigned_to_class(x):
    class Local(Point):
        pass

    Local.tripled = lambda self: self.x * 3
    return Local(x).tripled()


@case
def class_method(x):
    p = Point.unit(x)
    q = p.unit(x + 1)
    r = Point3.unit(x)
    return p, q, r, type(r).__name__


@case
def static_method(x):
    return Point.norm(x), Point(x).norm(x + 1), Point3.norm(x)


@case
def getattr_of_type(x):
    return getattr(Point, "scale") * x, hasattr(Point, "x"), Point.__dict__["scale"], Point3.__mro__[1] is Point


# ---- super and inheritance --------------------------------------------------------------------------------------------

group("super and inheritance")


@case
def super_method(x, k):
    return Point3(x, 2, k).scaled(2)


@case
def super_init(x):
    p = Point3(x, depth=x)
    return p.depth is p.x, p


@case
def super_diamond(x):
    return Diamond().who(), Left().who(), x + len(Diamond.__mro__)


@case
def super_explicit(x):
    return super(Point3, Point3(x, 2, 1)).scaled(3)


@case
def super_attribute_missing(x):
    class C(Point):
        def go(self):
            return super().nothing

    y = x + 1
    return C(y).go()


@case
def super_property(x):
    class C(Point):
        @property
        def doubled(self):
            return super().doubled + 1

    return C(x).doubled


@case
def super_classmethod(x):
    class C(Point):
        @classmethod
        def unit(cls, x):
            made = super().unit(x * 2)
            made.tag = cls.__name__
            return made

    return C.unit(x)


@case
def method_overridden_in_instance_class(x, flag):
    p = Point3(x, 2, 1) if flag else Point(x, 2)
    return p.scaled() + p.scale


@case
def class_of_instance_changed(x):
    p = Point(x, 2)
    p.depth = 4
    p.__class__ = Point3
    return p.scaled(), p.scale, type(p).__name__


@case
def isinstance_and_issubclass(x, k):
    found = [isinstance(k, int), isinstance(k, (float, str)), isinstance(x, np.ndarray), issubclass(Point3, Point),
             issubclass(Point, (Point3, int)), isinstance(True, int), isinstance(Point3(1), Point), isinstance(k, int | None)]
    return found, x + sum(found)


@case
def type_of(x, k):
    t = type(k)
    return t is int, t.__name__, type(x) is np.ndarray, type(Point(1)) is Point, x * 2 if t is float else x


@case
def type_as_constructor(x, k):
    return type(k)(3), type(x) is type(x + 1), type([])((1, 2))


@case
def isinstance_of_abc(x, k):
    import collections.abc as abc
    import numbers as kinds

    return isinstance(k, kinds.Number), isinstance(x, abc.Iterable), isinstance(k, abc.Hashable), x + 1


# ---- operators and special methods ----------------------------------------------------------------------------------

group("operators")


@case
def operator_add(x, y):
    a, b = Vec(x), Vec(y)
    return (a + b).a, (a + 1).a, (1 + a).a, -a


@case
def operator_not_implemented(x, k):
    try:
        return Vec(x) - k
    except TypeError as e:
        return str(e), Vec(x) - Vec(x)


@case
def operator_reflected(x, k):
    return 2 * Vec(x), x * Vec(x), k * Vec(x)


@case
def operator_subclass_first(x):
    return Vec(x) + Sub(x), Sub(x) + Vec(x), (3 + Sub(x))


@case
def operator_in_place(x, k):
    v = w = Vec(x)
    v += k
    return v is w, v, x


@case
def operator_in_place_falls_back(x):
    v = w = Vec(x)
    v -= Vec(x * 2)
    v *= 3
    return v is w, v, w


@case
def operator_matmul(x):
    return Vec(x) @ Vec(x + 1)


@case
def operator_equal(x, y):
    return Vec(x) == Vec(x.copy()), Vec(x) != Vec(x + 1), Vec(x) == 3, 3 != Vec(x)


@case
def operator_order(x):
    a, b = Vec(x), Vec(x + 1)
    small = a if a < b else b
    return small is a, max(a, b) is b, sorted([b, a])[0] is a, a > b


@case
def operator_order_missing(x):
    y = x + 1
    return Point(y) < Point(x)


@case
def special_len(x):
    return len(Vec(x)) * x, bool(Vec(x * 0)), len(WithMeta)


@case
def special_getitem(x):
    v = Vec(x)
    v[0] = v[-1] * 2
    return v[0], v[0:1], v, x


@case(k=[1, -1, 0.5, 99, "s", 2, None, 4])
def special_contains(x, k):
    return k in Vec(x), k not in Vec(x), x + 1


@case
def special_iter(v):
    total = 0
    for e in Vec(v):
        total += e
    return total, list(Vec(v)), [*Vec(v + 1)]


@case
def special_bool(x, flag):
    v = Vec(x if flag else x * 0)
    return "yes" if v else "no", not v, v and 3, v or 4


@case
def special_call(x, k):
    v = Vec(x)
    return v(), v(k), v(by=3), callable(v), callable(3)


@case
def special_hash(x):
    a, b = Vec(x), Vec(x.copy())
    d = {a: 1}
    d[b] = 2
    return len(d), list(d.values()), hash(a), a in d


@case
def special_hash_missing(x):
    class Equal:
        def __eq__(self, o):
            return True

    y = x * 2
    return {Equal(): y}


@case
def special_index_and_float(v):
    w = Vec(v)
    return v[w] if len(v) > 2 else None, float(w), [10, 20, 30][w]


@case
def special_repr_and_format(v):
    class Money:
        def __init__(self, v):
            self.v = v

        def __format__(self, how):
            return f"{how}:{self.v}"

        def __str__(self):
            return "money"

    m = Money(3)
    return f"{m:x} {m!s} {m}", repr(Vec(v)), str(m), "%s" % m


@case
def special_enter_exit(x, log):
    class Scope:
        def __enter__(self):
            log.append("in")
            return x + 1

        def __exit__(self, *what):
            log.append(what[0])

    with Scope() as y:
        z = y * 2
    return z


@case
def special_iterator_class(x, n):
    class Down:
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            return self

        def __next__(self):
            if self.n <= 0:
                raise StopIteration
            self.n -= 1
            return self.n

    down, total = Down(n), x
    for i in down:
        total = total + i
    return total, down, list(Down(n))


@case
def special_getitem_iteration(x):
    class Old:
        def __getitem__(self, i):
            if i >= 3:
                raise IndexError(i)
            return x * i

    return [y for y in Old()], sum(Old())


@case
def special_raises(x, flag):
    class Bad:
        def __add__(self, o):
            raise ValueError("add")

        def __bool__(self):
            raise RuntimeError("bool")

    b = Bad()
    y = x + 1
    if flag:
        return b + y
    return y if b else x


@case
def special_bool_of_wrong_type(x):
    class Bad:
        def __bool__(self):
            return 3

    y = x + 1
    return y if Bad() else x


@case
def special_len_negative(x):
    class Bad:
        def __len__(self):
            return -1

    y = x + 1
    return y if Bad() else x


@case
def special_new(x):
    class Single:
        made = 0

        def __new__(cls, x):
            cls.made += 1
            self = super().__new__(cls)
            self.early = cls.made
            return self

        def __init__(self, x):
            self.x = x

    a, b = Single(x), Single(x + 1)
    return a.early, b.early, b.x


@case
def special_class_getitem(x):
    class Box:
        def __class_getitem__(cls, key):
            return (cls.__name__, key)

    return Box[3], Box[int, str], x * 2


# ---- dataclasses, namedtuples, enums, classes -------------------------------------------------------------------------

group("dataclasses")


@case
def dataclass_made(x, k):
    b = Body(k, x)
    b.tags.append("new")
    return b, b.at * 2


@case
def dataclass_argument_defaults(x):
    a, b = Body(1.0, x), Body(1.0, x)
    a.tags.append(1)
    return a.tags, b.tags, a.tags is b.tags


@case
def dataclass_replace(x, k):
    return Body(1.0, x, [1]).moved(k)


@case(k=[1, 2, 3.5, 1, 2, "a", None, 1])
def dataclass_equal_and_order(x, k):
    a, b = Fixed(1, 1.5), Fixed(k)
    return a == b, a != b, hash(a) == hash(Fixed(1)), a < b, a.both * x


@case
def dataclass_frozen(x):
    f = Fixed(2)
    y = x * f.both
    try:
        f.a = 3
    except dataclasses.FrozenInstanceError as e:
        return y, e.args
    return None


@case
def dataclass_slots(x):
    p = Packed(x)
    p.v = p.v + 1
    return p, p.u is x


@case
def dataclass_fields(x):
    return [f.name for f in dataclasses.fields(Body)], dataclasses.asdict(Fixed(1)), dataclasses.astuple(Fixed(3)), x + 1


@case
def dataclass_repr(v):
    return repr(Fixed(2)), str(Packed(1, 2)), v * 2


@case
def dataclass_made_inside(x, k):
    @dataclasses.dataclass
    class Local:
        a: object
        b: object = 2

    p = Local(x, b=k)
    p.a = p.a + 1
    return p.a, p.b, repr(Local(1)), Local(1) == Local(1, 2)


@case
def dataclass_missing_argument(x):
    y = x + 1
    return Body(y)


@case
def dataclass_argument_mutated(x):
    b = Body(2.0, x)
    for _ in range(3):
        b.at = b.at * b.mass
        b.mass -= 1
    return b


@case
def namedtuple_made(x, k):
    p = Pair(x, k)
    return p, p.first + 1, p[1], len(p), p._replace(second=0), p._asdict()


@case
def namedtuple_unpacked(x):
    a, b = Pair(x)
    first, *rest = Named(x)
    return a, b, first + 1, rest, Pair._fields


@case
def namedtuple_method(x):
    n = Named(x, 3.0)
    return n.scaled(), n == (x, 3.0) if x is None else n.k, Named._make([x, 1]).scaled()


@case
def namedtuple_immutable(x):
    p = Pair(x)
    y = x + 1
    p.first = y
    return p


@case(c=[Color.RED, Color.GREEN, Color.BLUE, Color.RED, 1, None, Color.GREEN, Level.LOW])
def enum_compared(x, c):
    if c is Color.RED:
        return c.scale(x)
    if c == Color.GREEN:
        return c.value + x, c.name
    return x, Color(1), Color["GREEN"], Color.BLUE is Color.RED


@case(c=[1, 2, 3, Color.RED, None, "RED", 1, 2])
def enum_looked_up(x, c):
    y = x + 1
    return Color(c), y


@case
def enum_iterated(x):
    return [x * c.value for c in Color], len(Color), Color.RED in Color, list(Color.__members__)


@case
def enum_flags(x):
    f = Flags.A | Flags.B
    return f is Flags.C, Flags.A in f, bool(f & Flags.A), (f ^ Flags.A) is Flags.B, x * f.value


@case
def enum_int(x):
    return x * Level.HIGH, Level.LOW < Level.HIGH, Level.LOW + 1, [0, 1, 2, 3][Level.HIGH], f"{Level.LOW:d}"


@case
def enum_as_key(x, d):
    names = {Color.RED: "r", Color.GREEN: "g"}
    names[Color.BLUE] = "b"
    return names, x + len(names)


group("classes made inside")


@case
def local_class(x, k):
    class Local:
        factor = 3

        def __init__(self, x):
            self.x = x

        def go(self):
            return self.x * self.factor * k

    return Local(x).go()


@case
def local_class_returned(x):
    class Local:
        value = x

        def __len__(self):
            return 4

    return Local, Local(), len(Local())


@case
def local_class_closure(x):
    count = 0

    class Counter:
        def hit(self):
            nonlocal count
            count += 1
            return x + count

    c = Counter()
    c.hit()
    return c.hit(), count


@case
def local_class_body_runs(x, n):
    class Table:
        values = []
        for i in range(n):
            values.append(i * 2)
        total = sum(values)

    return Table.total + x, Table.values, Table.__name__


@case
def local_subclass_of_list(x):
    class Stack(list):
        def push(self, v):
            self.append(v)
            return self

        @property
        def top(self):
            return self[-1]

    s = Stack([1])
    s.push(x).push(x + 1)
    return s.top, len(s), s, isinstance(s, list)


@case
def local_subclass_of_dict(x):
    class Auto(dict):
        def __missing__(self, key):
            self[key] = made = x * len(key)
            return made

    a = Auto(z=1)
    return a["one"], a["one"] is a["one"], a["z"], a.get("q"), a


@case
def local_subclass_of_int(x):
    class Odd(int):
        def __add__(self, o):
            return Odd(int(self) + o + 1)

    return int(Odd(3) + 4), type(Odd(3) + 4).__name__, x * int(Odd(2))


@case
def local_exception_class(x, flag):
    class Mine(ValueError):
        def __init__(self, x, code):
            super().__init__("mine", code)
            self.x = x

    try:
        if flag:
            raise Mine(x + 1, 7)
    except ValueError as e:
        return e.x, e.args, type(e).__name__
    return x


@case
def local_metaclass(x):
    w = WithMeta(x)
    return w.by_meta, w.x + 1, type(WithMeta) is Meta


@case
def type_three_arguments(x):
    made = type("Made", (Point,), {"scale": 9, "go": lambda self: self.x * self.scale})
    return made(x).go(), made.__name__, made.__mro__[1] is Point


@case
def init_subclass(x):
    class Third(Base, a=1, b=2):
        pass

    return Third.made, x * len(Third.made)


@case
def abstract_class(x, flag):
    import abc

    class Shape(abc.ABC):
        @abc.abstractmethod
        def area(self):
            ...

    class Square(Shape):
        def area(self):
            return x * x

    return Square().area() if flag else Shape()


@case
def generic_class(x):
    T = typing.TypeVar("T")

    class Box(typing.Generic[T]):
        def __init__(self, v):
            self.v = v

    return Box[int](x).v + 1, Box(x).v is x


@case
def object_identity(x, y):
    a, b = Point(x), Point(x)
    same = a
    return a is b, a is same, a.x is b.x, a == b, a == same, x is y, [a, b].index(b), a in [b]


@case
def id_compared(x):
    y = x
    z = x + 0
    return id(x) == id(y), id(x) == id(z), z


@case
def object_in_two_places(x):
    p = Point(x)
    holder = {"a": p, "b": [p, p]}
    holder["b"][0].k = 9
    return holder, p


@case
def object_cycle(x):
    a, b = Point(x), Point(x)
    a.other, b.other = b, a
    a.other.other.k = 11
    return a


@case
def bound_method_kept(x):
    p = Point(x, 2)
    go = p.scaled
    p.k = 5
    return go(), go.__self__ is p, go == p.scaled, [f() for f in (go, p.scaled)]


@case
def dir_and_callable(x):
    return "scaled" in dir(Point(x)), callable(Point), callable(Point(x)), x * 2


group("lifetime")


@case
def finalizer_runs_at_once(x, log):
    class Noisy:
        def __del__(self):
            log.append("gone")

    a = Noisy()
    y = x + 1
    a = None
    log.append("after")
    [Noisy()].pop()
    log.append("end")
    return y


@case
def finalizer_at_return(x, log):
    class Noisy:
        def __del__(self):
            log.append("gone")

    def inner():
        n = Noisy()
        log.append("inner")
        return x + len(type(n).__name__)

    y = inner()
    log.append("back")
    return y


@case
def weak_reference_callback(x, log):
    p = Point(x)
    r = weakref.ref(p, lambda ref: log.append("dead"))
    y = r().x + 1
    del p
    log.append(r() is None)
    return y


@case
def weak_reference_to_function(x):
    def inner():
        return x

    r = weakref.ref(inner)
    y = inner() + 1
    alive = r() is inner
    del inner
    return alive, r() is None, y


@case
def weak_keys(x):
    d = weakref.WeakKeyDictionary()
    p = Point(x)
    d[p] = 1
    f = lambda: ()
    held = {weakref.ref(f): x}
    n = len(d)
    del p
    return n, len(d), len(held), x + 1


@case
def methods_blocked_by_none(x):
    class NoEqual:
        __eq__ = None

    class NoRight(Vec):
        __radd__ = None

    out = []
    for act in (lambda: NoEqual() == 3, lambda: 3 == NoEqual(), lambda: Vec(x) + NoRight(x), lambda: {NoEqual(): 1}):
        try:
            out.append(act())
        except TypeError as e:
            out.append(str(e))
    return out, x + 1


@case
def isinstance_by_class_attribute(x):
    class Proxy:
        @property
        def __class__(self):
            return Point

    p = Proxy()
    return isinstance(p, Point), isinstance(p, Proxy), type(p) is Proxy, p.__class__ is Point, x + 1


@case
def containers_in_themselves_shown(x):
    a, d = [1, 2], {}
    a.append(a)
    d["d"] = [d]
    return str(a), repr(d), x + 1


@case
def nan_keeps_its_identity(x):
    nan = float("nan")
    return nan in [nan], nan in {nan: 1}, {nan: 1}[nan], [nan] == [nan], (nan, x is None) == (nan, False), nan == nan, x + 1


@case
def immutable_repeats_itself(x, items):
    t = (x, 1)
    return t * 1 is t, t[:] is t, tuple(t) is t, t + () is t, "ab" * 1, [t][0] is t, x + 1


@case
def del_local_and_reuse(x):
    p = Point(x)
    q = p
    del p
    try:
        p  # noqa: F821
    except UnboundLocalError as e:
        return e.args, q.x + 1


group("callables")


class Scaler:
    """Scales."""

    def __init__(self, by):
        self.by = by

    def __call__(self, a, *more, key=0):
        return a * self.by + len(more) + key

    def method(self, a, k=1):
        return a + self.by * k

    @staticmethod
    def static(a):
        return a - 1

    @classmethod
    def made(cls, by):
        return cls(by)

    @property
    def half(self):
        return self.by / 2

    @half.setter
    def half(self, value):
        self.by = value * 2


class Ordered:
    def __init__(self, v):
        self.v = v

    def __lt__(self, other):
        return self.v < other.v


second, ends = operator.itemgetter(1), operator.itemgetter(0, -1)
shape, summed = operator.attrgetter("shape"), operator.methodcaller("sum", 0)
static = staticmethod(Scaler.static)
scaler = Scaler(2)


@case
def callables_kept(x, k):
    bound, unbound, make = scaler.method, Scaler.method, Scaler.made
    return bound(x), unbound(scaler, x, k=2), make(3)(x, 1, key=2), scaler(x), Scaler.static(x), static(x), types.MethodType(Scaler.method, scaler)(x)


@case
def callables_of_operator(x, items):
    return shape(x), summed(x), second([x, 1]), ends(items), sorted([(2, "a"), (1, "b")], key=second)


@case(n=[1, 2, 3, 1, 2, 3, 1, 2])
def getter_changes_between_calls(x, n):
    return operator.itemgetter(n % 3)([x, 1, 2]), operator.attrgetter("ndim" if n > 1 else "size")(x)


@case
def class_facts(x, k):
    s = Scaler(k)
    return type(s).__name__, Scaler.__doc__, Scaler.__qualname__, Scaler.__module__, Scaler.__bases__, hasattr(Scaler, "by"), s.__doc__, x + 1


@case
def class_renamed_between_calls(x, n):
    before = Scaler.__name__
    Scaler.__name__ = f"Scaler{n % 2}"
    after = Scaler.__name__
    Scaler.__name__ = "Scaler"
    return before, after, x + 1


@case
def class_attribute_missing(x, flag):
    y = x + 1
    return Scaler.nothing if flag else getattr(Scaler, "nothing", y)


@case
def property_set_by_name(x, k):
    s = Scaler(1)
    s.half = k
    setattr(s, "half", s.half + 1)
    return s.by, x + 1


@case
def sorted_objects(x, items):
    try:
        return [o.v for o in sorted(map(Ordered, items))], [o.v for o in sorted(map(Ordered, items), reverse=True)], x + 1
    except TypeError as e:
        return str(e)


@case
def sorted_by_comparison(x, log, items):
    def by(a, b):
        log.append((a, b))
        return (a > b) - (a < b)

    key = functools.cmp_to_key(by)
    return sorted(items, key=key), max(items, key=key, default=None), x + 1


@case
def sort_fails_halfway(x, log):
    values = [3, 2, "a", 1]
    try:
        values.sort()
    except TypeError as e:
        log.append(str(e))
    objects = [Ordered(2), Ordered(1), Ordered("s"), Ordered(0)]
    try:
        objects.sort()
    except TypeError:
        log.append([o.v for o in objects])
    return values, x + 1


class Picky:
    def __init__(self, log):
        self.log = log

    @property
    def fails(self):
        self.log.append("fails")
        raise AttributeError("inside")

    @property
    def works(self):
        return len(self.log)

    @property
    def wrong(self):
        raise KeyError("wrong")


class Answering(Picky):
    def __getattr__(self, name):
        self.log.append(name)
        if name.startswith("no"):
            raise AttributeError(name)
        return name


class Deciding(Answering):
    def __getattribute__(self, name):
        if name == "hidden":
            raise AttributeError(name)
        return super().__getattribute__(name)


@case
def missing_attribute_caught(x, log):
    p = Picky(log)
    try:
        x = x + p.nothing
    except AttributeError:
        x = x * 2
    try:
        p.fails
    except AttributeError as e:
        log.append(e.args)
    return x, getattr(p, "fails", 1), getattr(p, "nothing", 2), hasattr(p, "fails"), hasattr(p, "works"), p.works


@case(name=["fails", "works", "other", "nothing", "hidden", "wrong", "log", "__class__"], log=[list] * 8)
def look_up_with_fallbacks(x, log, name):
    p, q, r = Picky(log), Answering(log), Deciding(log)
    return [getattr(o, name, "default") for o in (p, q, r)], [hasattr(o, name) for o in (p, q, r)], x + len(log)


@case(name=["fails", "works", "other", "nothing", "hidden", "wrong", "log", "__class__"])
def look_up_of_argument(x, log, name, p=Answering([])):  # noqa: B008
    p.log.clear()
    y = getattr(p, name)
    return y, list(p.log), x + 1
