"""Classes made in a function, caches, locks and groups of exceptions. Part of corpus_lang."""

import functools
import sys
import threading

import numpy as np

from corpus_case import Corpus, numbers

LOCK, RLOCK = threading.Lock(), threading.RLock()
calls: list = []


class Lazy:
    """A module's class with properties that are computed once."""

    def __init__(self, a):
        self.a = a

    @functools.cached_property
    def total(self):
        calls.append("total")
        return self.a.sum() * 2

    @functools.cached_property
    def twice(self):
        calls.append("twice")
        return self.total * 2, self

    @functools.cached_property
    def fails(self):
        calls.append("fails")
        raise KeyError("fails")


class LazySub(Lazy):
    @functools.cached_property
    def total(self):
        return super().total + 1


class Plain:
    """A base that a class in a function derives from."""

    scale = 3

    def __init__(self, v):
        self.v = v

    def scaled(self, y):
        return y * self.scale + self.v


class Told:
    """A base that hears of its subclasses."""

    known: list = []

    def __init_subclass__(cls, **more):
        cls.known.append((cls.__name__, sorted(more)))


class Named:
    """A descriptor that hears of its name."""

    def __set_name__(self, owner, name):
        calls.append((owner.__name__, name))

    def __get__(self, obj, owner=None):
        return 7


@functools.lru_cache(maxsize=4)
def scaled_by(k):
    calls.append(("scaled_by", k))
    return np.full(6, float(k) if isinstance(k, int) else 1.5)


@functools.cache
def pair_of(a, b=2):
    calls.append(("pair_of", a, b))
    return [a, b]


def reset():
    calls.clear()
    Told.known.clear()
    scaled_by.cache_clear()
    pair_of.cache_clear()


corpus = Corpus(reset, lambda: (calls, Told.known, scaled_by.cache_info(), pair_of.cache_info(), LOCK.locked()))
case, group = corpus.case, corpus.group

# ---- classes made in the function ------------------------------------------------------------------------------------

group("classes made in a function")


@case
def class_used_inside(x, k):
    class Scale:
        factor = 2

        def __init__(self, by):
            self.by = by

        def __call__(self, y):
            return y * self.by * self.factor

    s = Scale(k)
    return s(x), s.factor, Scale.factor, isinstance(s, Scale), type(s) is Scale, Scale.__name__, Scale.__qualname__


@case
def class_derived_inside(x, k):
    class A:
        """A base."""

        def __init__(self, v):
            self.v = v

        def get(self):
            return self.v * 2

        @property
        def half(self):
            return self.v / 2

        @half.setter
        def half(self, value):
            self.v = value * 2

        @staticmethod
        def plus(a, b=1):
            return a + b

        @classmethod
        def made(cls, v):
            return cls(v)

    class B(A):
        def __init__(self, v):
            super().__init__(v + 1)

        def get(self):
            return super().get() + 1

    b, a = B(x), A.made(x)
    b.half = x * 3
    c = B.made(k and x)
    return b.get(), a.get(), b.half, A.plus(x), b.plus(x, 2), c.v, issubclass(B, A), isinstance(b, A), isinstance(a, B), A.__doc__


@case
def class_leaves(x, k):
    class Box:
        count = 2

        def __init__(self, v):
            self.v = v

        def twice(self):
            return self.v * self.count

    return Box, Box(x + 1)


@case
def class_leaves_by_its_method(x):
    class Box:
        def me(self):
            return __class__

    return Box().me() is Box, x + 1


@case
def class_instance_leaves(x, log):
    class P(Plain):
        scale = 5

    p = P(x)
    log.append(p)
    y = p.scaled(x)
    log.append(y)
    return type(p).__name__, type(p).__mro__[1] is Plain, p.v is x


@case
def class_function_leaves(x):
    class P:
        k = 3

        def f(self, y=2):
            return y * self.k

        g = f

    return P.f, P().f(x), P.__dict__["g"] is P.f


@case
def class_closes_over_variables(x, k):
    offset = x + 1

    class Shift:
        start = offset

        def go(self, y):
            return y + offset + self.start

    offset = x + 2
    return Shift().go(x), Shift.start


@case
def class_operators(x, k):
    class V:
        def __init__(self, a):
            self.a = a

        def __add__(self, other):
            return V(self.a + (other.a if isinstance(other, V) else other))

        __radd__ = __add__

        def __mul__(self, k):
            return V(self.a * k)

        def __len__(self):
            return len(self.a)

        def __getitem__(self, i):
            return self.a[i]

        def __eq__(self, other):
            return isinstance(other, V)

        def __bool__(self):
            return True

        def __repr__(self):
            return "V"

    v = V(x) + V(x) * 2 + 1
    w = 1 + v
    return v.a, w.a, v[0], v == w, bool(v), repr(v), len(v)


@case
def class_annotated(x):
    class P:
        a: int = 1
        b: float

        def f(self, y: int) -> float:
            return y * self.a

    return P().f(x), P.__annotations__, hasattr(P, "b")


@case
def class_body_computes(x, items):
    class P:
        n = len(items)
        table = [i * 2 for i in range(3)]
        first = table[0]
        both = x * 2
        if n > 2:
            big = True

    return P.n, P.table, P.first, P.both, hasattr(P, "big")


@case
def class_in_a_loop(x, n):
    total = x
    for i in range(3):
        class Add:
            by = i

            def go(self, y):
                return y + self.by

        total = Add().go(total)
    return total


@case
def class_attribute_counted(x):
    class P:
        count = 0

        def __init__(self):
            P.count += 1

    P()
    P()
    return P.count, x + 1


@case
def class_told_of_subclasses(x):
    class T(Told):
        pass

    class U(Told, extra=1):
        pass

    return x + 1, T.__name__


@case
def class_with_named_descriptor(x):
    class P:
        d = Named()

    return P().d * x


@case
def class_with_slots(x):
    class P:
        __slots__ = ("a", "b")

        def __init__(self, a):
            self.a = a

    p = P(x)
    return p.a + 1, hasattr(p, "b"), hasattr(p, "__dict__")


@case
def class_with_metaclass(x):
    class Meta(type):
        def __call__(cls, *args):
            return args

    class P(metaclass=Meta):
        pass

    return P(x, 1)


@case
def class_with_descriptors_that_raise(x):
    class Asked:
        def __init__(self, there):
            self.there = there

        def __get__(self, instance, owner=None):
            instance.asked += 1
            if not self.there:
                raise AttributeError("not here")
            return instance.asked

    class P:
        asked = 0
        here = Asked(True)
        gone = Asked(False)

    p, q = P(), P()
    q.gone = 5
    return hasattr(p, "here"), hasattr(p, "gone"), p.asked, getattr(p, "here", 7), getattr(p, "gone", 8), p.asked, hasattr(q, "gone"), q.asked, x + 1


@case
def class_with_getattr(x):
    class P:
        def __getattr__(self, name):
            if name == "missing":
                raise AttributeError(name)
            return x * len(name)

    p = P()
    p.real = x + 1
    return p.ab, p.real, getattr(p, "missing", 3), hasattr(p, "missing")


@case
def class_exception(x, flag):
    class Mine(ValueError):
        pass

    try:
        if flag:
            raise Mine("mine")
    except ValueError as e:
        return type(e).__name__, e.args, x + 1
    return x + 2


@case
def class_decorated(x):
    def register(cls):
        cls.extra = 4
        return cls

    def wrap(cls):
        return cls

    @wrap
    class A:
        def f(self):
            return x * 2

    @register
    class B:
        pass

    return A().f(), B.extra, B().extra


@case
def class_generic_method_binding(x):
    class A:
        def f(self, y):
            return y + 1

    a = A()
    bound, function = a.f, A.f
    return bound(x), function(a, x), bound.__self__ is a, a.f == a.f


@case
def class_error_in_body(x, flag):
    try:
        class A:
            k = 1 / (0 if flag else 1)
    except ZeroDivisionError:
        return x + 1
    return A.k, x


@case
def class_of_same_name_twice(x):
    def make(k):
        class A:
            by = k

            def go(self, y):
                return y * self.by

        return A

    a, b = make(2), make(3)
    return a().go(x), b().go(x), a is b, a.__name__ == b.__name__


# ---- caches ----------------------------------------------------------------------------------------------------------

group("caches")


@case(x=[lambda: Lazy(numbers(4)), lambda: Lazy(numbers(4)), lambda: LazySub(numbers(3)), lambda: Lazy(numbers(6, "f4"))])
def cached_property_outside(x, y):
    return y * x.total, x.total is x.total, sorted(x.__dict__)


@case
def cached_property_made_here(x):
    o = Lazy(x)
    first = o.twice
    return first[0], first[1] is o, o.twice is first, o, x * o.total


@case
def cached_property_of_subclass(x):
    o = LazySub(x)
    return o.total, o.total + 1, sorted(o.__dict__)


@case
def cached_property_raises(x, log):
    o = Lazy(x)
    try:
        o.fails
    except KeyError as e:
        log.append(e.args)
    return sorted(o.__dict__), x + 1


@case
def cached_property_deleted(x):
    o = Lazy(x)
    a = o.total
    o.a = o.a + 1
    b = o.total
    del o.total
    return a, b, o.total


@case
def cached_property_alias(x):
    o = Lazy(x)
    o.__dict__["total"] = 5
    return o.total + x, "total" in vars(o)


@case
def instance_dict_written_beside(x, k):
    """What a dict from outside got may be an attribute of the instance whose own it is."""
    o = Lazy(x)
    own = vars(o)
    own["total"] = k
    y = o.total
    own["fresh"] = x + 1
    return y, o.fresh * 2


@case
def instance_dict_read_beside(x, k):
    o = Lazy(x)
    own = vars(o)
    o.a = k
    y = own["a"]
    del o.a
    return y, x * 2, own.get("a")


@case
def lru_cache_called(x):
    a = scaled_by(2)
    b = scaled_by(2)
    return a is b, a + 1, x * 2


@case
def lru_cache_in_order(x, log):
    for k in (1, 2, 3, 1, 2, 4, 5, 1, "s", 2.5, (1, 2)):
        log.append(scaled_by(k).sum())
    y = x + 1
    return y, scaled_by.cache_info(), scaled_by(1)[0], scaled_by(2)[0], scaled_by.cache_info()


@case
def lru_cache_result_changed(x):
    scaled_by(3)[0] = 5
    return scaled_by(3) + 1, pair_of(1), pair_of(1) is pair_of(1)


@case
def lru_cache_many_arguments(x, n):
    return scaled_by(n), pair_of(n, 3), pair_of(n, b=3), pair_of(1.0), pair_of(1), x + 1


@case
def lru_cache_unhashable(x, items):
    return pair_of(items), x + 1


# ---- locks -----------------------------------------------------------------------------------------------------------

group("locks")


@case
def lock_outside(x, k):
    y = x + 1
    with LOCK:
        z = y * 2
        w = z - x
    return w * 3, z, LOCK.locked()


@case
def rlock_outside(x):
    with RLOCK:
        y = x + 1
        with RLOCK:
            y = y * 2
    return y - 1


@case
def lock_and_writes(x, log):
    with LOCK:
        log.append(1)
        x[0] = 2
        y = x * 2
    log.append(y)
    x[-1:] = 3
    with LOCK:
        log.append(LOCK.locked())
    return y


@case
def lock_body_raises(x, flag, log):
    try:
        with LOCK:
            y = x + 1
            if flag:
                raise ValueError("inside")
            y = y * 2
    except ValueError as e:
        log.append(e.args)
        return x - 1, LOCK.locked()
    return y, LOCK.locked()


@case
def lock_returns_inside(x, flag):
    with LOCK:
        if flag:
            return x + 1
        y = x * 2
    return y


@case
def lock_by_hand(x):
    LOCK.acquire()
    try:
        y = x * 2 + 1
    finally:
        LOCK.release()
    return y, LOCK.locked()


@case
def lock_in_a_loop(x, n):
    total = x
    for _ in range(n):
        with LOCK:
            total = total * 2 + 1
    return total


@case
def lock_output_inside(x):
    with LOCK:
        y = x + 1
        print("inside", LOCK.locked())
        z = y * 2
    return z, LOCK.locked()


@case
def locks_nested(x):
    with LOCK, RLOCK:
        y = x * 2 + 1
    with RLOCK:
        z = y + x
    return y, z


# ---- exceptions ------------------------------------------------------------------------------------------------------

group("exceptions")


@case
def group_split(x, n):
    log = []
    try:
        raise ExceptionGroup("g", [ValueError(1), ExceptionGroup("h", [TypeError(2), KeyError(3)]), OSError(4)])
    except* (TypeError, OSError) as g:
        log.append((g.message, len(g.exceptions), [type(e).__name__ for e in g.exceptions]))
    except* (ValueError, KeyError) as g:
        log.append((g.message, len(g.exceptions), [type(e).__name__ for e in g.exceptions]))
    return log, x + 1


@case
def group_rest_is_raised(x, flag):
    try:
        try:
            raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
        except* ValueError:
            y = x + 1
    except ExceptionGroup as rest:
        return y, rest.message, len(rest.exceptions), type(rest.exceptions[0]).__name__
    return None


@case
def group_handler_raises(x):
    try:
        try:
            raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
        except* ValueError:
            raise KeyError("k")
    except BaseException as e:
        return type(e).__name__, len(e.exceptions), x + 1


@case
def group_naked_exception(x):
    try:
        raise ValueError(3)
    except* ValueError as g:
        y = x + len(g.exceptions) + g.exceptions[0].args[0]
    else:
        y = None
    return y


@case
def group_not_wanted(x):
    try:
        try:
            raise ValueError(3)
        except* TypeError:
            pass
    except ValueError as e:
        return x + e.args[0]


@case
def exc_info_in_handler(x, log):
    try:
        raise ValueError(1)
    except ValueError as e:
        kind, value, tb = sys.exc_info()
        log.append((kind is ValueError, value is e, tb is not None))
        y = x + 1
    return y, sys.exc_info() == (None, None, None)
