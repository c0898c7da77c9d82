"""Functions as objects, decorators, context managers and generators: each case is captured whole, without a break, and answers what
plain Python answers on every call."""

import contextlib
import functools
import operator
import types

import numpy as np
import pytest

import fusewire
from observe import assert_same_observation, observe

WHOLE = []


def whole(function):
    WHOLE.append(function)
    return function


def documented(a, b: int = 2, *, c: "text" = 3) -> float:  # noqa: F821
    """Documented."""
    return a * b + c


documented.extra = 5


@contextlib.contextmanager
def scaled(a, log):
    """A scope with an array in it."""
    log.append("in")
    try:
        yield a * 2
    except KeyError as e:
        log.append(e.args)
    finally:
        log.append("out")


@contextlib.contextmanager
def plain_scope(log):
    log.append("in")
    yield len(log)
    log.append("out")


class Twice:
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


def free(a):
    return a + 7


half_added = functools.partial(documented, b=0.5, c=1)
second, both = operator.itemgetter(1), operator.itemgetter(0, -1)
shape_of, summed = operator.attrgetter("shape"), operator.methodcaller("sum", 0)
static = staticmethod(free)
twice = Twice(2)


# ---- attributes of functions ---------------------------------------------------------------------------------------


@whole
def facts_of_a_function_outside(a):
    f = documented
    return (a + f.extra, f.__name__, f.__qualname__, f.__doc__, f.__module__, f.__defaults__, f.__kwdefaults__, f.__code__.co_name,
            f.__closure__, f.__annotations__["b"], f.__dict__["extra"], hasattr(f, "missing"), getattr(f, "missing", 3), f.__class__)


@whole
def facts_of_a_function_made_here(a):
    def inner(x, y: int = 1, *, z=2) -> "float":
        """Inner."""
        return x + y + z + a.sum()

    inner.calls = 0
    inner.calls += 1
    inner.__name__ = "renamed"
    return (inner(a), inner.calls, inner.__name__, inner.__qualname__, inner.__doc__, inner.__module__, inner.__defaults__,
            inner.__kwdefaults__, inner.__annotations__, inner.__dict__, len(inner.__closure__), hasattr(inner, "nothing"))


@whole
def annotated_function_leaves(a):
    def inner(x: int, y: "text" = 2, *, z: float = 3.0) -> list:  # noqa: F821
        """Doc."""
        return [x, y, z]

    inner.mark = a + 1
    inner.__doc__ = "Other."
    return inner, inner.mark, inner.__dict__


@whole
def recursive_function_leaves(a):
    def fact(n):
        return 1 if n <= 1 else n * fact(n - 1)

    def even(n):
        return n == 0 or odd(n - 1)

    def odd(n):
        return n != 0 and even(n - 1)

    return a * fact(3), fact, even, [odd]


@whole
def function_counts_its_calls(a):
    def counted(x):
        counted.calls += 1
        return x * counted.calls

    counted.calls = 0
    return counted(a) + counted(a), counted.calls


def tallied(a):
    tallied.count += 1
    tallied.last = a.shape
    return a + tallied.count


@whole
def function_outside_is_written(a):
    tallied.count = 0
    return tallied(a) + tallied(a), tallied.count, tallied.last


@whole
def wraps_inside(a):
    def decorate(f):
        @functools.wraps(f)
        def wrapper(*args, **kwargs):
            """Not seen."""
            return f(*args, **kwargs) * 2

        return wrapper

    @decorate
    def inner(x, k=1):
        """Inner."""
        return x + k

    outside = decorate(documented)
    return (inner(a), inner(a, k=2), inner.__name__, inner.__doc__, inner.__wrapped__(a), outside(a), outside.extra,
            outside.__qualname__, outside.__wrapped__ is documented)


@whole
def setattr_by_name(a):
    t = Twice(3)
    setattr(t, "extra", a + 1)
    delattr(t, "by")
    return t.extra, hasattr(t, "by")


@whole
def facts_of_classes(a):
    t = Twice(2)
    return a + 1, type(t).__name__, Twice.__qualname__, Twice.__doc__, Twice.__module__, Twice.__bases__, hasattr(Twice, "no"), t.__class__.__name__


# ---- callables -----------------------------------------------------------------------------------------------------


@whole
def partials(a):
    made = functools.partial(documented, c=4)
    nested = functools.partial(made, a, b=3)
    return half_added(a), half_added(a, c=2), made(a), nested(), nested(c=1), functools.reduce(operator.add, [a, a, 1])


@whole
def getters(a):
    pairs = [(2, "b"), (1, "a")]
    return second([1, a]), both("abc"), shape_of(a), summed(a), sorted(pairs, key=second), static(a)


@whole
def callable_objects(a):
    bound, unbound, kept = twice.method, Twice.method, Twice(3)
    return (twice(a), twice(a, 1, 2, key=3), bound(a), bound(a, k=2), unbound(twice, a), kept(a), Twice.static(a), kept.static(a),
            Twice.made(4)(a), documented.__call__(a), types.MethodType(free, a)(), documented.__get__(a)())


@whole
def property_with_setter(a):
    t = Twice(2)
    t.half = 5
    t.half += 1
    return a * t.by, t.half


class Fallback:
    @property
    def fails(self):
        raise AttributeError("inside")

    def __getattr__(self, name):
        if name == "nothing":
            raise AttributeError(name)
        return name


@whole
def missing_attributes(a):
    t, f = Twice(2), Fallback()
    try:
        a = a + t.nothing
    except AttributeError:
        a = a * 2
    return a, getattr(t, "nothing", 1), f.fails, f.other, hasattr(f, "nothing"), getattr(f, "nothing", 3), hasattr(t, "half")


@whole
def sorted_by_comparisons(a):
    log = []

    def by(p, q):
        log.append((p, q))
        return q - p

    words = [Twice(3), Twice(1), Twice(2)]
    return a + 1, sorted([3, 1, 2, 5], key=functools.cmp_to_key(by)), [t.by for t in sorted(words, key=operator.attrgetter("by"))], log


@whole
def partials_leave(a):
    made = functools.partial(documented, c=4)
    return made, functools.partial(made, a + 1), operator.itemgetter(1, 2), operator.methodcaller("sum", axis=0), made.func(a)


# ---- context managers of generators ----------------------------------------------------------------------------------


@whole
def contextmanager_outside(a):
    log = []
    with scaled(a, log) as b:
        b = b + 1
    with plain_scope(log) as n, plain_scope(log) as m:
        b = b * (n + m)
    return b, log


@whole
def contextmanager_swallows(a):
    log = []
    with scaled(a, log) as b:
        b = b + 1
        raise KeyError("inside")
    return b, log


@whole
def contextmanager_passes_on(a):
    log = []
    try:
        with scaled(a, log) as b, plain_scope(log):
            b = b + 1
            raise ValueError("inside")
    except ValueError as e:
        log.append(e.args)
    return b, log


@whole
def contextmanager_made_here(a):
    log = []

    @contextlib.contextmanager
    def scope(k):
        log.append(k)
        try:
            yield a + k
        finally:
            log.append(-k)

    with scope(1) as x, scope(2) as y:
        z = x * y
    for i in range(3):
        with scope(i) as w:
            if i == 1:
                continue
            z = z + w
    return z, log


@whole
def suppressed(a):
    b = a
    with contextlib.suppress(KeyError, IndexError):
        b = b + 1
        [][1]
        b = b + 2
    with contextlib.nullcontext(a) as c:
        b = b + c
    return b


@whole
def closed(a):
    class_log = []

    def gen():
        try:
            yield a
            yield a + 1
        finally:
            class_log.append("closed")

    with contextlib.closing(gen()) as g:
        first = next(g)
    return first + 1, class_log


# ---- generators ------------------------------------------------------------------------------------------------------


@whole
def generators_thrown_into(a):
    log = []

    def inner():
        while True:
            try:
                got = yield len(log)
                log.append(got)
            except KeyError as e:
                log.append(e.args[0])
            except IndexError:
                return "returned"
            finally:
                log.append("f")

    def outer():
        result = yield from inner()
        log.append(result)
        yield a * 2

    g = outer()
    seen = [next(g), g.send(5), g.throw(KeyError("k")), g.throw(IndexError())]
    g.close()
    h = outer()
    next(h)
    h.close()
    return seen, log


@whole
def generator_closes_its_delegate(a):
    log = []

    def inner():
        try:
            yield a
        finally:
            log.append("inner")

    def outer():
        try:
            yield from inner()
        finally:
            log.append("outer")

    g = outer()
    first = next(g)
    g.close()
    return first + 1, log


# ---- exceptions ------------------------------------------------------------------------------------------------------


@whole
def raise_from_and_notes(a):
    log = []
    try:
        try:
            raise KeyError("a")
        except KeyError as e:
            raise ValueError("b") from e
    except ValueError as e:
        log.append((type(e.__cause__), e.__cause__.args, e.__suppress_context__, e.__context__ is e.__cause__))
        e.add_note("noted")
        e.add_note("twice")
        log.append(e.__notes__)
    try:
        try:
            raise KeyError("a")
        except KeyError:
            [][1]
    except IndexError as e:
        log.append((type(e.__context__), e.__cause__, e.__suppress_context__))
    return a + len(log), log


@whole
def finally_returns(a):
    def f(k):
        try:
            if k:
                raise ValueError("lost")
            return a
        finally:
            if k == 1:
                return a + k

    def g():
        for i in range(3):
            try:
                continue
            finally:
                if i == 1:
                    break
        return i

    return f(0), f(1), g()


@pytest.mark.parametrize("fn", WHOLE, ids=lambda fn: fn.__name__)
def test_whole(fn):
    arguments = [np.arange(6.0).reshape(2, 3) + 1, np.arange(4), np.arange(2, dtype="f4"), np.arange(6.0).reshape(2, 3) - 5]
    compiled = fusewire.compile(fn)
    for array in [*arguments, *arguments]:
        expected = observe(fn, (array.copy(),))
        assert_same_observation(expected, observe(compiled, (array.copy(),)), None)
    assert not fusewire._fusewire.describe(compiled)["breaks"]


def test_a_class_that_learns_to_be_called():
    class Thing:
        pass

    thing, x = Thing(), np.arange(3.0)
    compiled = fusewire.compile(lambda x, k: x * 2 + callable(k), background=False)
    for _ in range(4):
        assert compiled(x, thing)[0] == 0
    Thing.__call__ = lambda self: 1
    assert compiled(x, thing)[0] == 1
    del Thing.__call__
    assert compiled(x, thing)[0] == 0
