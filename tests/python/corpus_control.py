"""Functions with every form of control flow, for tests that edit bytecode. CASES: (function, calls), a call being a
tuple of arguments. Generators are driven by `drive`, so that their suspensions are part of the result."""

import contextlib


class Boom(Exception):
    pass


class Manager:
    def __init__(self, log, swallow=False):
        self.log, self.swallow = log, swallow

    def __enter__(self):
        self.log.append("enter")
        return self

    def __exit__(self, kind, value, tb):
        self.log.append(("exit", kind and kind.__name__))
        return self.swallow

    async def __aenter__(self):
        await Later("aenter")
        return self.__enter__()

    async def __aexit__(self, *what):
        await Later("aexit")
        return self.__exit__(*what)


class Later:
    """An awaitable that suspends once."""

    def __init__(self, value):
        self.value = value

    def __await__(self):
        got = yield ("waiting", self.value)
        return self.value, got


def boom(x=1):
    if x:
        raise Boom(x)
    return x


def drive(generator, sends=("a", "b", Boom("thrown"), "c", "d", "e", "f", "g")):
    """What a generator or coroutine yields and returns when values are sent and exceptions thrown into it."""
    seen, sends = [], iter(sends)
    try:
        seen.append(generator.send(None))
        for value in sends:
            if isinstance(value, Exception):
                seen.append(generator.throw(value))
            else:
                seen.append(generator.send(value))
    except StopIteration as stop:
        seen.append(("returned", stop.value))
    except Boom as error:
        seen.append(("raised", str(error)))
    finally:
        generator.close()
    return seen


def nested_loops(n, m):
    total = 0
    for i in range(n):
        for j in range(m):
            if j == 3:
                continue
            if i * j > 12:
                break
            total += i * j
        else:
            total += 100
    else:
        total = -total
    return total


def while_else(n):
    seen = []
    while n > 0:
        n -= 1
        if n == 7:
            break
        if n % 2:
            continue
        seen.append(n)
    else:
        seen.append("else")
    return seen, n


def conditions(a, b, c):
    x = a and b or c
    y = a if b is None else (b if c is not None else -1)
    z = not a or (1 < b < 9 if b else False)
    return x, y, z, a == b != c, a is c, b in (1, 2), b not in (1, 2)


def try_all(x, log):
    try:
        log.append("try")
        if x == 1:
            boom()
        elif x == 2:
            raise KeyError("k")
        elif x == 3:
            return "early"
        elif x == 4:
            {}[5]
        elif x == 5:
            raise SystemExit
    except Boom as e:
        log.append(("boom", e.args))
        x = "handled"
    except (KeyError, ValueError) as e:
        log.append(type(e).__name__)
        raise TypeError("from") from e
    else:
        log.append("else")
    finally:
        log.append("finally")
    return x, log


def try_in_loop(n):
    seen = []
    for i in range(n):
        try:
            try:
                boom(i % 3)
            finally:
                seen.append(i)
                if i == 4:
                    continue
        except Boom as e:
            if i > 6:
                break
            seen.append(str(e))
        seen.append(-i)
    return seen


def with_blocks(x, log):
    with Manager(log) as outer, Manager(log, swallow=x == 1) as inner:
        if x == 0:
            return outer is inner, log
        boom(x)
    with contextlib.suppress(ZeroDivisionError):
        1 // (x - 1)
    return log


def groups(kind):
    try:
        raise ExceptionGroup("g", [Boom(1), kind("two")])
    except* Boom as e:
        first = len(e.exceptions)
    except* ValueError:
        first = "value"
    return first


def comprehensions(n):
    k = 3
    squares = [i * i + k for i in range(n) if i % 2]
    table = {i: [j for j in range(i)] for i in range(n)}
    both = {(i, j) for i in range(2) for j in "ab"}
    return squares, table, sorted(both), sum(x for x in squares), [i for i in squares if (k := i) > 5], k


def matching(value):
    match value:
        case {"op": str(op), **rest} if rest:
            return "map", op, rest
        case [1, *others, 2]:
            return "list", others
        case (x, y) | [x, y, _]:
            return "pair", x, y
        case complex(real=r):
            return "complex", r
        case None | True:
            return "constant"
        case str() as s:
            return f"text {s!r:>10} {s}"
        case _:
            return "other"


def arguments(a, /, b=2, *args, c, d=4, **kw):
    del b
    return a, args, c, d, sorted(kw.items()), max(*args, key=lambda v: -v), dict(kw, z=a), dict(**kw, y=1)


def closures(n):
    counter = 0

    def step(by=n):
        nonlocal counter
        counter += by
        return counter

    adders = [lambda v, k=k: v + k + counter for k in range(3)]
    return [step(), step(3)] + [f(n) for f in adders]


def containers(n):
    a, (b, *c), d = 1, range(n), "end"
    values = [a, b, *c, d]
    values[1:3] = ["x", "y", "z"]
    values[0] += 5
    del values[-1]
    return values, values[::2], {"a": a, **{"b": b}}, (*c, a), {*c}, f"{a:{n}d}|{d!s}"


def unbound(flag):
    if flag:
        value = 1
    del flag
    return value


def generator(n):
    got = []
    try:
        for i in range(n):
            try:
                got.append((yield i))
            except Boom as e:
                got.append(str(e))
        inner = yield from delegate(got)
    finally:
        got.append("closed")
    return got, inner


def delegate(got):
    try:
        while True:
            x = yield ("inner", len(got))
            if x == "d":
                return x
            got.append(x)
    except Boom as e:
        return "caught " + str(e)


async def coroutine(n, log):
    first = total = None
    async with Manager(log, swallow=True) as m:
        first = await Later(n)
        total = [x async for x in ticker(n)]
        async for value in ticker(2):
            total.append(value)
        else:
            total.append("else")
        if n > 2:
            boom(n)
    return first, total, m.log


async def ticker(n):
    for i in range(n):
        await Later(i)
        yield i


class Base:
    def method(self, x):
        return ["base", x]


class Derived(Base):
    def method(self, x):
        parts = [super().method(x + i) for i in range(2)] if False else []
        for i in range(2):
            parts.append(super().method(x + i))
        return parts + [__class__.__name__]


def long_body(n):
    a = b = c = 0
    for i in range(n):
        if i % 2:
            a += i * i - (b & 7) + (c ^ i) * 3 - (a >> 2) + i * 5 - (b | 1) + (c << 1) - i // 3 + (a & 15) * 2
            b += i * i - (b & 7) + (c ^ i) * 3 - (a >> 2) + i * 5 - (b | 1) + (c & 255) - i // 3 + (a & 15) * 2
            c = (a + b) & 1023
        else:
            c += i * i - (b & 7) + (c ^ i) * 3 - (a >> 2) + i * 5 - (b | 1) + (a & 255) - i // 3 + (a & 15) * 2
        a, b = b & 65535, a & 65535
    return a, b, c


CASES = [
    (nested_loops, [(0, 0), (5, 6), (3, 2)]),
    (while_else, [(5,), (12,), (0,)]),
    (conditions, [(0, 1, 2), (3, None, 3), (1, 5, None), (0, 0, 0)]),
    (try_all, [(x, []) for x in range(6)]),
    (try_in_loop, [(3,), (11,)]),
    (with_blocks, [(x, []) for x in range(3)]),
    (groups, [(ValueError,), (TypeError,)]),
    (comprehensions, [(0,), (5,)]),
    (matching, [({"op": "x", "y": 1},), ({"op": "x"},), ([1, 5, 6, 2],), ((7, 8),), ([7, 8, 9],), (2j,), (None,),
                ("s",), (5,)]),
    (closures, [(4,)]),
    (containers, [(3,), (5,)]),
    (unbound, [(True,), (False,)]),
    (generator, [(0,), (2,), (5,)]),
    (coroutine, [(1, []), (3, [])]),
    (Derived.method, [(Derived(), 1)]),
    (long_body, [(0,), (9,)]),
    (lambda x: arguments(x, 1, 5, 3, c=x, e=6), [(1,), ("text",)]),
    (arguments, []),
]
