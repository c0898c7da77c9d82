"""Functions: calls of every form, closures, globals, generators, comprehensions, decorators. Part of corpus_lang."""

import functools

import numpy as np

from corpus_case import Corpus, numbers

counter = 0
registry: list = []
cache: dict = {}


def reset():
    global counter, registry, cache
    counter, registry, cache = 0, [], {"old": 1}
    globals().pop("brand_new", None)


corpus = Corpus(reset, lambda: (counter, registry, cache, globals().get("brand_new")))
case, group = corpus.case, corpus.group


def helper(x, k=2, *rest, key=1, **more):
    return x * k + sum(rest) + key, sorted(more)


def varied(a, b=10, /, c=20, *args, d, e=50, **kwargs):
    return (a, b, c, args, d, e, kwargs)


def bump(x):
    global counter
    counter += 1
    registry.append(counter)
    return x + counter


def uses_defaults(x, seen=[]):  # noqa: B006
    seen.append(len(seen))
    return x + len(seen), list(seen)


# ---- calls -----------------------------------------------------------------------------------------------------------

group("calls")


@case
def call_forms(x, k):
    return helper(x), helper(x, k), helper(x, 2, 3, 4), helper(x, key=5), helper(k=3, x=x), helper(x, z=1, a=2)


@case
def call_star(x, items):
    args = (x, *items)
    return helper(*args, key=2), helper(*[x], **{"k": 3, "w": 1})


@case
def call_star_mixed(x):
    return varied(1, *[2, 3], 4, d=x, **{"f": 6}), varied(*"ab", d=1, **{"e": 2, "g": x})


@case(n=[0, 1, 2, 3, 4, 5, 6, 7])
def call_errors(x, n):
    y = x + 1
    return [lambda: helper(), lambda: helper(y, 1, k=2), lambda: varied(1, d=y), lambda: varied(1),
            lambda: varied(a=1, d=2), lambda: varied(1, 2, 3, c=4, d=5), lambda: varied(1, d=1, **{"d": 2}), lambda: helper(*3)][n]()


@case
def call_positional_only(x):
    return varied(x, d=x, b=3)


@case
def call_nested(x):
    def inner(y, z=1):
        def innermost(w):
            return w * z

        return innermost(y) + innermost(y + 1)

    return inner(inner(x), z=3)


@case
def call_lambda(x, k):
    f = lambda y, m=3: y * m + (k or 0)
    return f(x), f(x, 2), (lambda *a: len(a))(x, k)


@case
def call_recursive(x, n):
    def fact(i):
        return 1 if i <= 1 else i * fact(i - 1)

    return x * fact(n)


@case
def call_mutually_recursive(x, n):
    def even(i):
        return True if i == 0 else odd(i - 1)

    def odd(i):
        return False if i == 0 else even(i - 1)

    return x if even(n) else -x


@case
def call_recursive_over_structure(x):
    def total(tree):
        return sum(map(total, tree)) if isinstance(tree, (list, tuple)) else tree

    return total([x, [x * 2, (x, 1)], []])


@case
def call_returning_many(x):
    def parts(a):
        return a.min(), a.max(), a * 2

    low, high, twice = parts(x)
    return twice - low + high


@case
def call_result_called(x):
    def maker(k):
        return lambda y: y * k

    return maker(3)(x), [maker(i)(x) for i in range(3)]


@case
def default_mutable(x):
    def f(a, seen=[]):  # noqa: B006
        seen.append(a.size)
        return len(seen)

    return f(x), f(x), f(x, []), f.__defaults__


@case
def default_evaluated_once(x, log):
    def f(a=log.append("made") or x + 1):
        return a

    return f() is f(), f()


@case
def keyword_only_defaults(x, k):
    def f(a, *, b=2, c):
        return a * b, c

    return f(x, c=k), f(x, b=k, c=1), f.__kwdefaults__


@case
def function_attributes(x):
    def f(a):
        f.calls += 1
        return a * f.calls

    f.calls = 0
    f(x)
    return f(x), f.calls, f.__name__, f.__qualname__


@case
def function_annotations_and_doc(x):
    def f(a: int, b: "str" = 3) -> float:
        """Doc."""
        return a

    return f.__annotations__, f.__doc__, f(x) + 1


@case
def functions_in_containers(x, n):
    table = {"add": lambda a: a + 1, "neg": lambda a: -a, "len": len}
    return [table[name](x) for name in ("add", "neg", "len")], [abs, max][n % 2](x.ravel()[0], 1) if n % 2 else None


@case
def builtin_passed_as_value(x, items):
    def apply(f, v):
        return f(v)

    return apply(len, items), apply(np.sum, x), apply(list, items), apply(type, items)


@case
def mutates_list_argument(x, items):
    def add(to, v):
        to.append(v)
        return to

    again = add(items, x)
    return again is items, len(again)


@case
def arguments_dict_is_fresh(x):
    def f(**kw):
        kw["new"] = 1
        return kw

    d = {"a": x}
    return f(**d), d, f(**d)["a"] is x


@case
def star_arguments_identity(x, items):
    def f(*a):
        return a

    t = (x, 1)
    return f(*t) == () or f(*t)[0] is x, f(*t), [*items, *t]


# ---- closures and globals --------------------------------------------------------------------------------------------

group("closures")


@case
def closure_reads(x, k):
    def f():
        return x * 2 if k is None else x * k

    return f(), f.__closure__[0].cell_contents is k


@case
def closure_nonlocal(x, n):
    total, last = 0, None

    def add(v):
        nonlocal total, last
        total = total + v
        last = v

    for i in range(n):
        add(x * i)
    return total, last


@case
def closure_shared_cell(x):
    v = x

    def get():
        return v

    def put(w):
        nonlocal v
        v = w

    put(get() + 1)
    return get, put, v


@case
def closure_rebound_after_def(x):
    v = 1

    def f():
        return x + v

    a = f()
    v = 2
    return a, f(), f


@case
def closure_returned(x, k):
    count = 0

    def step():
        nonlocal count
        count += 1
        return x + count

    step()
    return step, count


@case
def closure_in_loop(x, n):
    return [f(x) for f in [(lambda y, i=i: y + i) for i in range(n)]], [g() for g in [lambda: i for i in range(n)]]


@case
def closure_unbound_cell(x, flag):
    def f():
        return v + 1

    if flag:
        v = x
    return f()


@case
def closure_deleted_cell(x):
    v = x

    def f():
        return v

    f()
    del v
    return f()


@case
def closure_three_levels(x):
    a = 1

    def one():
        b = 2

        def two():
            nonlocal a, b
            a += 1
            b += a
            return x * a + b

        return two() + two(), b

    return one(), a


@case
def closure_exchanged_contents(x):
    v = x

    def f():
        return v * 2

    f.__closure__[0].cell_contents = x + 10
    return f(), v


@case(factory=True)
def closure_of_compiled_function():
    calls = 0
    history = []

    def f(x, k):
        nonlocal calls
        calls += 1
        history.append(k)
        return x * calls, len(history)

    return f


@case(factory=True)
def closure_array_updated():
    state = np.zeros(3)

    def f(v):
        nonlocal state
        state = state + v[:3]
        state[0] = 1
        return state * 2

    return f


@case(factory=True)
def closure_array_written():
    state = np.zeros(9)

    def f(v):
        state[: len(v)] += v
        return state.sum()

    return f


@case(factory=True)
def closure_function_replaced():
    def g(y):
        return y + 1

    def f(x):
        nonlocal g
        y = g(x)
        old = g
        g = lambda z: old(z) * 2 if len(z) < 99 else z
        return y

    return f


@case(factory=True)
def closure_cell_type_changes():
    value = 1

    def f(x, k):
        nonlocal value
        before = value
        value = k if k is not None else x
        return before, x + 1

    return f


@case
def globals_read(x):
    return x + counter, len(registry), cache["old"]


@case
def globals_written(x, k):
    global counter
    counter = x.sum()
    counter = counter + 1 if k is None else counter * 2
    return counter


@case
def globals_written_by_callee(x):
    return bump(bump(x)), counter, registry


@case
def globals_made_and_deleted(x, flag):
    global brand_new
    brand_new = x * 2
    y = brand_new + 1
    if flag:
        del brand_new
    return y


@case
def globals_mutated(x, k):
    registry.append(x)
    registry.append(registry[-1])
    cache[k] = x
    cache.pop("old")
    return registry is cache.setdefault("r", registry), x + 1


@case
def globals_rebound_in_loop(x, n):
    global counter
    for i in range(n):
        counter += i
        x = x + counter
    return x


@case
def globals_then_exception(x, flag):
    global counter
    counter = 5
    registry.append("a")
    y = x + counter
    if flag:
        raise ValueError("after")
    counter = 6
    return y


@case
def globals_dict(x):
    globals()["counter"] = 12
    return x + counter, "registry" in globals(), "nothing" in globals()


@case
def locals_dict(x, k):
    a = x + 1
    return sorted(locals()), locals()["a"] is a


@case
def builtin_shadowed(x):
    len = lambda v: 99  # noqa: A001
    return len(x), x + 1


@case
def del_and_rebind(x):
    y = x + 1
    del x
    x = y * 2
    del y
    return x


# ---- generators and comprehensions -----------------------------------------------------------------------------------

group("generators")


@case
def generator_consumed(x, n):
    def gen():
        for i in range(n):
            yield x + i

    return list(gen()), sum(1 for _ in gen())


@case
def generator_next(x):
    def gen():
        yield x
        yield x + 1

    g = gen()
    a = next(g)
    b = next(g)
    return a, b, next(g, "end"), next(g, None)


@case
def generator_partly_consumed(x, n):
    def gen():
        for i in range(5):
            yield i

    g = gen()
    total = x
    for i in g:
        total = total + i
        if i >= n:
            break
    return total, g


@case
def generator_send(x):
    def gen():
        got = yield x
        while got is not None:
            got = yield got * 2
        return "done"

    g = gen()
    out = [next(g), g.send(x + 1), g.send(3)]
    try:
        g.send(None)
    except StopIteration as e:
        out.append(e.value)
    return out


@case
def generator_throw_and_close(x, log):
    def gen():
        try:
            yield x
        except KeyError as e:
            yield e.args
        finally:
            log.append("closed")

    g = gen()
    first = next(g)
    second = g.throw(KeyError("k"))
    g.close()
    return first, second


@case
def generator_yield_from(x):
    def inner():
        got = yield x
        return got or "none"

    def outer():
        result = yield from inner()
        yield result
        yield from [x + 1, x + 2]

    return list(outer())


@case
def generator_return_value(x):
    def gen():
        yield 1
        return x * 2

    def run():
        value = yield from gen()
        yield value

    return list(run())


@case
def generator_side_effects(x, log):
    def gen():
        log.append("start")
        yield x
        log.append("middle")
        yield x * 2
        log.append("end")

    for i, y in enumerate(gen()):
        log.append(i)
    return y


@case
def generator_raises(x, log):
    def gen():
        yield x
        raise ValueError("gen")

    try:
        for y in gen():
            log.append(y.ndim)
    except ValueError as e:
        return str(e), y + 1


@case
def generator_returned(x, n):
    def gen():
        total = x
        for i in range(n):
            total = total + i
            yield total

    g = gen()
    if n > 2:
        next(g)
    return g


@case
def generator_infinite(x):
    def count(k):
        while True:
            yield k
            k += 1

    c = count(3)
    return [x + next(c) for _ in range(3)], c


@case
def generator_pipeline(x, n):
    def numbers_():
        yield from range(n)

    def squares(src):
        for s in src:
            yield s * s

    def odd(src):
        return (s for s in src if s % 2)

    return sum(odd(squares(numbers_()))) + x


@case
def generator_recursive(x):
    def walk(tree):
        for t in tree:
            if isinstance(t, list):
                yield from walk(t)
            else:
                yield t * x

    return list(walk([1, [2, [3]], 4]))


@case
def generator_expression(x, items):
    return sum(i * 2 for i in items if i != 2) + x


@case
def generator_expression_lazy(x, log):
    g = (log.append(i) or x + i for i in range(4))
    first = next(g)
    return first, list(log), g


@case
def generator_stop_iteration_inside(x):
    def gen():
        yield next(iter([]))

    y = x + 1
    return list(gen()), y


@case
def generator_with_try_finally(x, log):
    def gen():
        try:
            yield x
            yield x + 1
        finally:
            log.append("f")

    for y in gen():
        break
    log.append("after")
    return y


@case(factory=True)
def generator_function_itself():
    def f(x, n):
        for i in range(n):
            x = x + 1
            yield x
        return "end"

    return f


@case(factory=True)
def generator_drives_argument():
    def f(x, n):
        def gen():
            while True:
                got = yield
                if got is None:
                    return x
                yield got + x

        g = gen()
        next(g)
        return g.send(n), next(g)

    return f


@case
def coroutine_driven(x, k):
    class Later:
        def __await__(self):
            got = yield "waiting"
            return got

    async def work():
        got = await Later()
        return x * got

    c = work()
    first = c.send(None)
    try:
        c.send(3)
    except StopIteration as e:
        return first, e.value


@case
def async_generator_driven(x):
    async def gen():
        for i in range(3):
            yield x + i

    async def collect():
        return [y async for y in gen()]

    try:
        collect().send(None)
    except StopIteration as e:
        return e.value


@case
def async_with_driven(x, log):
    class Scope:
        async def __aenter__(self):
            log.append("in")
            return x

        async def __aexit__(self, *what):
            log.append("out")

    async def work():
        async with Scope() as s:
            return s + 1

    try:
        work().send(None)
    except StopIteration as e:
        return e.value


group("comprehensions")


@case
def comprehension_list(x, n):
    return [x * i for i in range(n)], [i for i in range(n) if i % 2 if i > 1]


@case
def comprehension_nested(x, n):
    return [[x[..., 0] * i + j for j in range(2)] for i in range(n)], [i * j for i in range(n) for j in range(i)]


@case
def comprehension_dict(x, items):
    return {i: x + k for k, i in enumerate(items)}, {k: v for k, v in zip("ab", items)}


@case
def comprehension_set(x, items):
    return {str(i) for i in items}, x + len({i for i in items})


@case
def comprehension_walrus(x, n):
    out = [y for i in range(n) if (y := i * 2) > 2]
    return out, x + y


@case
def comprehension_closure(x, k):
    return [x + j * (1 if k is None else k) for j in (1, 2)], [(lambda: x + j)() for j in range(2)]


@case
def comprehension_shadows(x, n):
    i = "outer"
    inner = [i for i in range(n)]
    return i, inner, x + 1


@case
def comprehension_calls_method(x):
    class Box:
        def __init__(self, v):
            self.v = v

        def all(self):
            return [self.v * i for i in range(3)]

    return Box(x).all()


@case
def comprehension_raises(x, items):
    y = x + 1
    return [y / (i - 2) if isinstance(i, int) else i - "s" for i in items]


@case
def comprehension_unpacks(x, xs):
    return [a + i for i, a in enumerate(xs)], [(*p, 1) for p in [(1, 2), (3,)]]


@case
def comprehension_side_effects(x, log, n):
    [log.append(x + i) for i in range(n)]
    return len(log)


@case
def comprehension_in_class_and_lambda(x):
    class C:
        values = [i * 2 for i in range(3)]

    return C.values, (lambda n: [x + i for i in range(n)])(2)


# ---- decorators ------------------------------------------------------------------------------------------------------

group("decorators")


def doubled(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return f(*args, **kwargs) * 2

    return wrapper


def times(n):
    def decorate(f):
        def wrapper(*args):
            out = args[0]
            for _ in range(n):
                out = f(out)
            return out

        return wrapper

    return decorate


@doubled
def plus_one(x):
    return x + 1


@case
def decorated_callee(x):
    return plus_one(x), plus_one.__name__, plus_one.__wrapped__(x)


@case
def decorated_inside(x, n):
    @doubled
    @times(n)
    def f(y):
        return y + 1

    return f(x)


@case
def decorator_class(x):
    class Counted:
        def __init__(self, f):
            self.f, self.calls = f, 0

        def __call__(self, *a):
            self.calls += 1
            return self.f(*a)

    @Counted
    def f(y):
        return y * 3

    f(x)
    return f(x), f.calls


@case
def decorator_registers(x, log):
    def register(f):
        log.append(f.__name__)
        return f

    @register
    def one(y):
        return y

    @register
    def two(y):
        return y + 1

    return two(one(x))


@case
def decorator_expression(x, d):
    table = {"id": lambda f: f, "neg": lambda f: lambda y: -f(y)}

    @table["neg"]
    def f(y):
        return y + 1

    return f(x)


@case
def decorator_memo(x, log):
    def memo(f):
        known = {}

        def wrapper(k):
            if k not in known:
                log.append(k)
                known[k] = f(k)
            return known[k]

        return wrapper

    @memo
    def f(k):
        return x * k

    return f(2), f(2) is f(2), f(3)


@case(factory=True)
def decorated_compiled():
    @doubled
    def f(x, k):
        return x + (k or 1)

    return f


@case
def property_and_static_made_inside(x):
    class C:
        @property
        @doubled
        def p(self):
            return x

        @staticmethod
        @doubled
        def s(y):
            return y + 1

        @classmethod
        def c(cls, y):
            return cls.s(y)

    return C().p, C.s(x), C.c(x)


# ---- functions as objects --------------------------------------------------------------------------------------------

group("functions as objects")


def documented(a, b: int = 2, *, c: "text" = 3) -> float:  # noqa: F821
    """Documented."""
    return a * b + c


documented.extra = 5


@case(name=["extra", "missing", "__doc__", "__name__", "__defaults__", "__dict__", "extra", "missing"])
def function_facts_read(x, name):
    f = documented
    return x + f.extra, f.__doc__, f.__name__, f.__defaults__, f.__kwdefaults__, f.__annotations__, getattr(f, name, "none"), hasattr(f, name)


@case
def function_facts_change_between_calls(x, n):
    before = documented.__name__, documented.__doc__, documented.extra
    documented.__name__ = f"name{n % 2}"
    documented.extra = n
    y = x + documented.extra
    after = documented.__name__, documented.extra
    documented.__name__, documented.extra = "documented", 5
    return before, after, y


@case
def function_made_is_described(x, k):
    def inner(p: int, q: "late" = k, /, *rest, r: float = 1.5, **more) -> list:  # noqa: F821
        """Inner."""
        return p

    inner.mark = x
    inner.__name__ = "renamed"
    inner.__doc__ = None
    inner.__defaults__ = (3,)
    del inner.mark
    return inner, inner.__name__, inner.__qualname__, inner.__annotations__, inner.__dict__, inner.__kwdefaults__, inner(x), inner.__module__


@case
def function_renamed_wrongly(x, k):
    def inner():
        return x + 1

    y = inner()
    inner.__name__ = k
    return y, inner.__name__


@case
def function_attribute_missing(x, flag):
    def inner():
        pass

    if flag:
        inner.there = x + 1
    return inner.there


@case
def functions_recursive_leave(x, n):
    def fact(i):
        return 1 if i <= 1 else i * fact(i - 1)

    def even(i):
        return True if i == 0 else odd(i - 1)

    def odd(i):
        return False if i == 0 else even(i - 1)

    keep = [fact]
    return x * fact(n), fact, [even, odd], keep, lambda: keep


@case(factory=True)
def function_counts_calls():
    def f(x):
        f.calls += 1
        f.last = x.shape
        return x + f.calls

    f.calls = 0
    return f


@case(factory=True)
def decorator_counts_calls():
    def counted(g):
        @functools.wraps(g)
        def wrapper(*args, **kwargs):
            wrapper.calls += 1
            return g(*args, **kwargs)

        wrapper.calls = 0
        return wrapper

    @counted
    def double(x):
        """Twice."""
        return x * 2

    def f(x, k):
        return double(x) + double(x + 1), double.calls, double.__doc__, double.__wrapped__(x)

    return f


@case
def wraps_made_inside(x, k):
    def decorate(f):
        @functools.wraps(f)
        def wrapper(*args, **kwargs):
            return f(*args, **kwargs)

        return wrapper

    inner = decorate(lambda y, z=2: y * z)
    outer = decorate(documented)
    return inner(x), outer(x), outer.__doc__, outer.extra, outer.__wrapped__ is documented, outer, inner.__name__


@case
def function_slots_called(x, k):
    return documented.__call__(x), documented.__get__(x)(), documented.__get__(None, int) is documented, (lambda y: y).__call__(k)


@case
def wraps_then_break(x, log):
    def decorate(f):
        @functools.wraps(f)
        def wrapper(y):
            return f(y) + 1

        return wrapper

    inner = decorate(lambda y: y * 2)
    y = inner(x)
    print(y.shape)
    inner.later = y
    log.append(inner.later + 1)
    return inner(y), inner.__dict__, inner


tail = functools.partial(documented, b=2, c=1)


@case
def partial_outside(x, k):
    return tail(x), tail(x, c=2), tail(x, b=k or 1), tail.func is documented, tail.keywords


@case(n=[1, 2, 3, 1, 2, 3, 1, 2])
def partial_changes_between_calls(x, n):
    part = functools.partial(documented, x, n)
    more = functools.partial(part, c=n)
    return part(), more(), more(c=0), part.args[1]


@case
def partial_wrong(x, n):
    y = x + 1
    return functools.partial(documented, y, 1, 2)() if n > 2 else functools.partial(documented, y, d=1)()
