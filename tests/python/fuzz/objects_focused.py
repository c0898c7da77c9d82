"""Small programs about one thing that objects, generators or exceptions do, with nothing around it that would be left to Python.

What is looked at in the end is what this one thing leaves behind: items sent, arguments and contexts of exceptions, the order of
dicts, where an iterator stands, which of two names that may be one object has been written.
"""

from __future__ import annotations

import random

from fuzz.program import Program

MODULE = """
import collections

class Boom(Exception):
    __qualname__ = '<locals>.Boom'

class Child(Boom):
    __qualname__ = '<locals>.Child'

class Kept(Exception):
    __qualname__ = '<locals>.Kept'
    def __init__(self, *args):
        super().__init__(*args[:1])
        self.first, self.count = args[:1], len(args)

class Noted(ValueError):
    __qualname__ = '<locals>.Noted'
    def __init__(self, n, more=2):
        self.n = n
        self.more = more + 1

class Scope:
    __qualname__ = '<locals>.Scope'
    def __init__(self, log, *swallowed):
        self.log, self.swallowed = log, swallowed
    def __enter__(self):
        self.log.append('enter')
        return self
    def __exit__(self, kind, error, tb):
        self.log.append((kind and kind.__name__, error is None, tb is None))
        if error is not None:
            self.log.append(len(error.args))
        return kind is not None and issubclass(kind, self.swallowed)

class Quiet:
    __qualname__ = '<locals>.Quiet'
    def __init__(self, log):
        self.log = log
    def __enter__(self):
        return self
    def __exit__(self, *what):
        self.log.append(what[0])
        self.log.append(what[1] is None)
        return True

@contextlib.contextmanager
def scoped(log, n):
    log.append(n)
    try:
        yield n + 1
    except ValueError as error:
        log.append(str(error))
    log.append('left')

def running(a):
    total = a
    while True:
        got = yield total
        total = total + (1 if got is None else got)

def finite(a, n):
    got = 0
    for i in range(n):
        sent = yield a + got
        got = i if sent is None else sent
    return n * 2 + 1

def silent(n):
    yield n
    yield n + 1

def outer(a, n):
    got = yield from finite(a, n)
    yield got

def listed(a, n):
    got = yield from [a, n]
    last = yield from silent(n)
    yield got, last

def twice(a, n):
    return (yield from outer(a, n))

def handling(a, n):
    try:
        raise KeyError(n)
    except KeyError:
        yield a
    yield a + 1

def catching(a):
    while True:
        try:
            yield a
        except ValueError as error:
            a = a + len(error.args)

def closing(a, log):
    try:
        yield a
        yield a + 1
    except ValueError as error:
        yield str(error)
    finally:
        log.append('closed')

def failing(kind, n):
    raise kind('f', n)

def passing(kind, n):
    try:
        failing(kind, n)
    except kind:
        raise
    finally:
        log.append(n)

class Item:
    __qualname__ = '<locals>.Item'
    {slots}
    count = 0
    scale = 2
    def __init__(self, x, k):
        self.x, self.k, self.log = x, k, [k]
        self.extra = 1
    def meth(self, a):
        return a * self.scale
    def tick(self):
        self.k += 1
        return self
    def swap(self, other):
        self.k, other.k = other.k, self.k
        return self.k
    @property
    def prop(self):
        return self.k * 2
    @prop.setter
    def prop(self, v):
        self.log.append(v)
        self.k = v
    @prop.deleter
    def prop(self):
        self.log.append('deleted')
        self.k = 0
    def get_level(self):
        return self.extra
    def set_level(self, v=1):
        self.extra = v
    def reset_level(self):
        self.extra, self.k = 0, self.k + 1
    level = property(get_level, set_level, reset_level)
    def __repr__(self):
        return 'an item'

class Heir(Item):
    __qualname__ = '<locals>.Heir'
    count = 3
    def meth(self, a):
        return super().meth(a) + self.k

methods = [Item.meth, lambda self, a: a + 5, lambda self, a: a - self.scale, lambda self, a: a * self.k]
props = [Item.__dict__['prop'], property(lambda self: 9, lambda self, v: self.log.append('set'), lambda self: self.log.append('gone')), property(lambda self: self.scale, Item.prop.fset)]
stores = [object.__setattr__, lambda self, name, v: object.__setattr__(self, name, [v])]
reads = [object.__getattribute__, lambda self, name: 5 if name in ('k', 'scale') else object.__getattribute__(self, name)]
log, table, other = [1, 2, 3], {{'a': 1, 'b': 2}}, {{'b': 3, 'c': 4}}
both = (log, log)
o, p, q = Item(numbers(4), 1), Item(numbers(4, seed=1), 2), Heir(numbers(4, seed=2), 3)
feed, more = iter(()), iter(())

ring, named = collections.deque([1, 2, 3], 4), collections.OrderedDict(a=1, b=2)

def factory(start):
    count, held = start, [start]
    def bump(by):
        nonlocal count
        count += by
        return count
    def hold(a):
        nonlocal held
        held = a
    def peek():
        return count, held
    return bump, hold, peek

bump, hold, peek = factory(1)

def drop(target, *names):
    for name in names:
        if name in vars(target):
            delattr(target, name)

def f(x, y, n, o, p):
    v = w = None
"""
ARRAYS = ["x", "y", "x + 1", "x * n", "x - y", "o.x"]
NUMBERS = ["n", "2", "3", "n + 1", "o.k", "1", "5", "-1"]
ERRORS = ["ValueError", "KeyError", "IndexError", "Boom", "Child", "Kept", "Noted", "ZeroDivisionError", "RuntimeError", "LookupError", "StopIteration"]
BROADER = {"KeyError": "LookupError", "IndexError": "LookupError", "Child": "Boom", "Noted": "ValueError", "ZeroDivisionError": "ArithmeticError", "Boom": "Exception", "Kept": "Exception", "ValueError": "Exception", "LookupError": "Exception", "StopIteration": "Exception", "RuntimeError": "Exception"}
# {a} an array, {n} a number, {o} and {p} instances that may be one, {e} an exception class, {b} one above it, {i} a small number; a program has at most two of a scene.
SCENES = {
    "send": ["g = running({a})\nv = next(g), g.send({n}), g.send({a})", "g = running({n})\nnext(g)\nv = g.send({n})\nw = x * g.send({n})", "g = finite({a}, 2)\nv = [next(g), g.send({n}), next(g, 'end')]", "g = finite({n}, {i})\nv = next(g, None)\nw = x * (g.send({n}) if n > 3 else 2)",
             "g = outer({a}, 2)\nv = next(g), g.send({n}), g.send({n})", "g = outer({n}, 2)\nnext(g)\nv = x * g.send({n})\nw = g.send(None)", "g = twice({n}, 3)\nv = [next(g), g.send({n}), g.send({n})]", "v = list(listed({a}, {n}))", "g = listed({n}, {n})\nv = next(g), g.send(None), [*g]",
             "g = (w * {n} for w in ({a}, {n}))\nv = next(g), g.send(None)", "g, h = running({n}), running({n})\nv = next(g), next(h), g.send(h.send({n}))", "g = running({n})\nnext(g)\nfor i in range({i}):\n    v = g.send(i)"],
    "stop": ["g = finite({a}, {i})\nv = []\ntry:\n    while True:\n        v.append(next(g))\nexcept StopIteration as stop:\n    w = stop.value, stop.args", "g = silent({n})\nnext(g)\nnext(g)\ntry:\n    v = g.send({n})\nexcept StopIteration as stop:\n    v = stop.value, x * 2",
             "g = finite({n}, 1)\nnext(g)\ntry:\n    v = g.send({n})\nexcept StopIteration as stop:\n    v = stop.args\n    w = x * stop.value", "def made():\n    v = yield {n}\n    return v\ng = made()\nnext(g)\ntry:\n    g.send({n})\nexcept StopIteration as stop:\n    v = stop.value",
             "def made():\n    v = yield from finite({n}, {i})\n    w = yield from silent(v)\n    return v, w\nv = list(made())", "g = handling({a}, {n})\nv = list(g)\ntry:\n    next(g)\nexcept StopIteration as stop:\n    w = stop.value, stop.__context__", "g = outer({n}, 1)\nv = [*g]\nw = next(g, x)"],
    "handled": ["g = handling({a}, {n})\nv = next(g)\ntry:\n    raise {e}({n})\nexcept {e} as error:\n    w = repr(error.__context__), next(g)", "g = handling({n}, {n})\nv = next(g)\ntry:\n    raise {e}\nexcept {b} as error:\n    w = error.__context__ is None\nlist(g)", "v = []\nfor w in handling({a}, {n}):\n    try:\n        raise {e}('z', {n})\n    except {b} as error:\n        v.append(repr(error.__context__))",
                "try:\n    raise {e}({n})\nexcept {e}:\n    g = handling({a}, {n})\n    v = next(g)\n    w = repr(sys.exc_info()[1]), next(g)", "g = handling({n}, 1)\nv = next(g)\nw = sys.exc_info()[0], list(g)", "g = handling({n}, 1)\nh = handling({a}, 2)\nv = next(g), next(h), next(g), next(h)\ntry:\n    raise {e}(1)\nexcept {e} as error:\n    w = repr(error.__context__)"],
    "throw": ["g = catching({n})\nv = next(g), g.throw(ValueError(1, {n})), g.throw(ValueError)\ng.close()", "g = closing({a}, log)\nv = next(g), g.throw(ValueError('t'))\ng.close()", "g = closing({a}, log)\nv = next(g)\ng.close()\nw = next(g, None)", "g = closing({n}, log)\nnext(g)\ntry:\n    g.throw({e}({n}))\nexcept {b} as error:\n    v = repr(error)\ng.close()",
              "g = silent({n})\nnext(g)\ntry:\n    g.throw({e}('t', {n}))\nexcept {b} as error:\n    v = error.args\nw = list(g)", "g = outer({n}, 2)\nnext(g)\ntry:\n    g.throw({e}({n}))\nexcept {b} as error:\n    v = error.args\nw = next(g, 7)"],
    "caught": ["try:\n    raise {e}({n})\nexcept {b} as error:\n    v = x * 3", "try:\n    try:\n        failing({e}, {n})\n    except {b}:\n        v = 'inner'\nexcept {e}:\n    v = 'outer'", "v = 0\ntry:\n    try:\n        raise {e}({n})\n    except {b}:\n        v = 1\n        raise\nexcept Exception:\n    v += 2", "def tried(kind):\n    try:\n        failing(kind, {n})\n    except {b} as error:\n        return 1\ntry:\n    v = tried({e}), x * 2\nexcept {e}:\n    v = 3", "try:\n    with suppress({b}):\n        failing({e}, {n})\n    v = 1\nexcept {e}:\n    v = 2", "try:\n    if n > {i}:\n        raise {e}('r', {n})\n    v = x + 1\nexcept {b} as error:\n    v = error.args", "try:\n    failing({e}, {n})\nexcept ({b}, TypeError) as error:\n    v = type(error), len(error.args)", "try:\n    try:\n        failing({e}, {n})\n    except {e2} as error:\n        v = 1, x * 2\nexcept {b} as error:\n    v = 2, x * 3",
               "try:\n    passing({e}, {n})\nexcept {b}:\n    v = log[-1]", "try:\n    v = table['zz']\nexcept LookupError as error:\n    v = error.args, x * 2", "try:\n    v = {n} // (n - {i})\nexcept ArithmeticError as error:\n    v = str(error)", "try:\n    v = log[{n} + 9]\nexcept {b} as error:\n    v = 'b'\nexcept LookupError:\n    v = 'l'", "v = 0\nfor kind in ({e}, {e2}, {e}):\n    try:\n        raise kind(v)\n    except {b}:\n        v += 1\n    except Exception:\n        v += 10",
               "with suppress({b}):\n    v = x * 2\n    raise {e}({n})\nw = y", "try:\n    raise {e}\nexcept {e2}:\n    v = 1\nexcept {b}:\n    v = 2\nelse:\n    v = 3\nfinally:\n    w = x * n"],
    "args": ["try:\n    raise {e}({n}, {n})\nexcept {b} as error:\n    v = error.args\n    error.args = ({n}, 'z')\n    w = error.args", "error = {e}({n}, 2)\nv = error.args\nerror.args = (x, {n})\nw = error.args", "error = {e}({n})\nv = error.args\nerror.args = ()\nw = len(error.args)", "error = Boom({n})\nv = len(error.args)\nerror.__init__({n}, x)\nw = error.args",
             "try:\n    raise Kept({n}, {a})\nexcept Exception as error:\n    v = error.first, error.count, error.args", "try:\n    raise Noted({n})\nexcept ValueError as error:\n    v = error.n, error.more, x * error.n", "error = Kept({n}, 2, 3)\nv = error.first\nw = x * error.count", "v = Noted({n}, {n})\nw = v.more, v.args", "error = {e}({n})\nerror.add_note('n')\nerror.mark = {n}\nv = error.__notes__, error.mark",
             "try:\n    raise Kept\nexcept Kept as error:\n    v = error.first, error.count", "try:\n    failing(Kept, {n})\nexcept Kept as error:\n    v = error.count, error.first"],
    "context": ["kept = {e}(1)\nv = []\nfor kind in ({e2}, LookupError):\n    try:\n        try:\n            raise kind({n}, 2)\n        except kind:\n            raise kept\n    except {e}:\n        v.append((type(kept.__context__), kept.__context__.args))", "try:\n    try:\n        raise {e}({n})\n    except {b}:\n        raise {e2}({n})\nexcept {e2} as error:\n    v = error.__context__.args, error.__cause__ is None", "first = {e}({n})\ntry:\n    try:\n        raise first\n    except {b}:\n        raise {e2}(2)\nexcept {e2} as second:\n    try:\n        raise first\n    except {b}:\n        v = first.__context__ is second, second.__context__ is None", "try:\n    try:\n        raise {e}({n})\n    except {b} as first:\n        raise {e2}('c') from first\nexcept {e2} as error:\n    v = error.__cause__.args, error.__context__ is error.__cause__, error.__suppress_context__", "try:\n    try:\n        raise {e}({n})\n    except {b}:\n        raise {e2}({n})\nexcept Exception as error:\n    v = repr(error.__context__), repr(error.__cause__)", "try:\n    raise {e}({n})\nexcept {e}:\n    try:\n        raise {e2}(2)\n    except {e2} as error:\n        v = error.__context__\n        w = x * 2", "try:\n    try:\n        failing({e}, {n})\n    except {b} as first:\n        raise {e2}('c') from first\nexcept Exception as error:\n    v = repr(error.__cause__), error.__suppress_context__",
                "try:\n    try:\n        raise {e}({n})\n    finally:\n        raise {e2}(n)\nexcept Exception as error:\n    v = type(error.__context__), error.args", "try:\n    try:\n        raise {e}\n    except {b}:\n        raise {e2} from None\nexcept Exception as error:\n    v = repr(error.__context__), error.__suppress_context__", "try:\n    try:\n        raise {e}(1)\n    except {b}:\n        v = table['zz']\nexcept Exception as error:\n    w = repr(error.__context__), x * n",
                "try:\n    raise {e}({n})\nexcept {b}:\n    v = x * 2\n    w = sys.exc_info()[1]", "kept = {e2}({n})\ntry:\n    try:\n        raise {e}(1)\n    except {b}:\n        raise kept\nexcept Exception as error:\n    v = error is kept, repr(kept.__context__)", "try:\n    raise {e}({n})\nexcept {b}:\n    x = x * 2\n    log.append(1)\n    raise {e2}({n})"],
    "with": ["with Quiet(log):\n    failing({e}, {n})\nv = log[-1]", "with Quiet(log):\n    if n > {i}:\n        raise {e}({n})\n    v = x * 3", "try:\n    with Scope(log, {e2}):\n        w = x * 2\n        failing({e}, {n})\nexcept {b} as error:\n    v = len(log)", "try:\n    with Scope(log):\n        raise {e}({n})\nexcept {b}:\n    v = log[-1]", "with Scope(log, {b}) as v:\n    w = x * 2\n    raise {e}({n})", "with Scope(log, {b}):\n    if n > {i}:\n        raise {e}('w', {n})\n    w = x * 3\nv = len(log)", "s = Scope(log, {e2})\ntry:\n    with s as v:\n        failing({e}, {n})\nexcept {b} as error:\n    w = error.args", "with Scope(log):\n    v = x + {n}", "with Scope(log, {b}) as s, Scope(s.log):\n    raise {e}", "with scoped(log, {n}) as v:\n    w = x * v", "with scoped(log, {n}) as v:\n    raise ValueError({n})",
             "for i in range({i}):\n    with Scope(log, {b}):\n        if i == 1:\n            raise {e}(i)\n        v = i", "with Scope([], {b}) as s:\n    raise {e}({n})\nv = s.log, s"],
    "made": ["v = {{'a': {a}, 'b': {n}}}", "v = {{'b': {n}, 'a': {a}, 'c': {n}}}", "v = {{w: {n} * 2 for w in ('z', 'y', 'x')}}", "v = dict(q={a}, p={n})", "v = dict(zip(('b', 'a'), ({a}, {n})))", "v = {{**table, 'z': {n}, 'a': {a}}}", "v = table | {{'y': {n}, 'x': {a}}}", "v = {{}}\nv['b'] = {n}\nv['a'] = {a}\ndel v['b']\nv['b'] = 4", "v = {{'a': {n}, 'b': {{'d': {a}, 'c': {n}}}}}",
             "v = {{'a': 1, 'b': {a}}}\nw = v.pop('a')\nv['a'] = {n}", "v = Item({a}, {n})\nv.k = {n}", "v = Item({a}, {n})\ndel v.k\nv.k = {n}", "v = Item({a}, {n})\ndel v.extra\nw = hasattr(v, 'extra'), x * 2", "v = Item({a}, {n})\nfor i in range({i}):\n    del v.k\n    v.k = i", "v = Item({a}, {n})\ndel v.extra\nv.extra = {n}\nw = list(vars(v))", "v = Heir({a}, {n})\nv.later = {a}\nw = vars(v)", "v = [{a}, {n}, [{n}, {a}]]", "v = ({n}, {a}), {n}", "v = lambda a, by={n}: a * by\nw = v(x)", "v = {{1, 3, {n}}}", "v = [{{'k': w, 'j': {n}}} for w in (x, {n})]", "v = Item({a}, {n}).tick()\nw = {{'o': v, 'n': v.k}}"],
    "arms": ["if x[0] > y[0]:\n    del {o}.extra\n    {o}.extra = {n}\nv = x * {o}.extra", "{o}.extra = {n}\nif x[0] > y[0]:\n    {o}.extra = {n}\n    {o}.k = {n}\nelse:\n    {o}.k = {n}\n    {o}.extra = 4\nv = x * {o}.k", "del {o}.extra\nif x[1] > y[1]:\n    {o}.extra = {n}\nelse:\n    {o}.extra = 8\nv = x + {o}.extra", "v = Item(x, 2)\nif x[0] > y[0]:\n    del v.k\n    v.k = {n}", "if x[0] > y[0]:\n    {o}.later = {n}\nelse:\n    {o}.log = [{n}]\nv = x + {o}.k",
             "v = 1\nif x[2] > y[2]:\n    table['z'] = {n}\n    v = table.pop('a')\n    table['a'] = v", "if x[0] > y[0]:\n    log.append({n})\nelse:\n    log[0] = {n}\nv = len(log)", "for i in range(4):\n    if x[i] > y[i]:\n        {o}.k += 1\nv = {o}.k", "del {o}.k\n{o}.k = {n}\nif x[0] > y[0]:\n    {o}.k = {n}\nv = x * {o}.k", "v = {{'b': 1, 'a': 2}}\nif x[0] > y[0]:\n    del v['b']\n    v['b'] = {n}", "if x[0] > y[0]:\n    bump({n})\nv = peek()"],
    "order": ["del {o}.k\n{o}.k = {n}\nv = list(vars({o}))", "del {o}.extra\n{o}.extra = {n}\nv = list({o}.__dict__)\nw = x * {n}", "v = {o}.extra\ndel {o}.extra\n{o}.later = {n}\n{o}.extra = v\nw = list(vars({o}).items())[-2:]", "{o}.later = {a}\n{o}.k = {n}\nv = [*vars({o})]", "v = {o}.extra\ndel {o}.extra\n{o}.k = {n}\n{o}.extra = v + 1\nw = x * {o}.extra", "delattr({o}, 'log')\nsetattr({o}, 'log', [{n}])\nv = vars({o}).keys()\nw = list(v)",
              "v = table.pop('a')\ntable['a'] = {n}\nw = list(table)", "del table['b']\ntable['z'] = {a}\ntable['b'] = {n}", "table.update(other)\nv = list(table), x * 2", "v = table.setdefault('q', {n})\nw = [*table.items()][0]", "{o}.k = {n}\ndel {o}.k\nv = hasattr({o}, 'k')\n{o}.k = 2", "try:\n    del {o}.later\n    {o}.later = 2\nexcept AttributeError:\n    {o}.later = {n}\nv = list(vars({o}))", "for name in ('extra', 'k'):\n    v = getattr({o}, name)\n    delattr({o}, name)\n    setattr({o}, name, v)\nw = list(vars({o}))"],
    "property": ["del {o}.level\nv = {o}.extra, {o}.k", "{o}.level = {n}\ndel {o}.level\nv = {o}.extra", "{o}.level += {n}\nv = x * {o}.level", "delattr({o}, 'level')\nv = x + {o}.level", "del {o}.prop\nv = {o}.k", "{o}.prop = {n}\nv = {o}.prop * x", "{o}.prop = {n}\ndel {o}.prop\nv = {o}.log", "{o}.prop += {n}\nv = {o}.k", "v = {o}.prop, type({o}).prop.fdel is None", "delattr({o}, 'prop')\nw = x * {o}.prop", "setattr({o}, 'prop', {n})\nv = x + {o}.prop", "v = {o}.prop\ndel {o}.prop\nw = v, {o}.prop"],
    "feed": ["v = next(feed)", "v = next(feed), next(feed)", "v = next(feed)\nw = x * next(feed)", "v = next(feed, 7)\nw = next(feed, 8), next(feed, 9)", "for w in feed:\n    if w == {n}:\n        break\nv = x + 1", "for i, w in zip(range({i}), feed):\n    v = w", "v = next(feed), next(more), next(feed)", "v = [w for w in feed]", "v = next(feed)\nlog.append(v)\nw = next(feed)", "v = sum(feed)\nw = x * n", "a, b = next(feed), next(more)\nv = x * 2", "if n > {i}:\n    v = next(feed)\nelse:\n    v = next(more)\nw = next(feed, None)",
             "v = list(zip(feed, more))", "v = {n} in feed", "try:\n    v = next(feed), next(feed), next(feed), next(feed)\nexcept StopIteration:\n    v = x * 2", "v = next(w for w in feed if w != {n})", "a, *b = feed\nv = a", "v = max(feed, default=0)"],
    "same": ["{o}.k = {n}\n{p}.k = {n} + 7\nv = {o}.k", "o.k = 1\np.k = {n}\nv = x * o.k", "o.log.append({n})\nv = len(p.log)", "p.log.append(x)\no.log[0] = {n}\nv = p.log[0]", "o.x[0] = {n}\nv = p.x * 2", "v = o.swap(p)\nw = p.k", "o.tick()\nv = p.tick().k", "o.extra = p\np.extra = {n}\nv = o.extra", "v = o is p\no.k += 2", "v = 2 if o is p else 3\nw = x * v", "del o.extra\nv = hasattr(p, 'extra')\no.extra = {n}", "a, b = both\na.append({n})\nv = len(b)", "both[0][0] = {n}\nv = both[1][0]", "log.append({n})\nv = both[1][-1]", "both[1].clear()\nv = len(both[0]), len(log)",
             "table['a'] = {n}\nother['a'] = {n} + 1\nv = table['a']", "table['k'] = {n}\nv = other.get('k', 4)", "o.k = {n}\nv = [w.k for w in (o, p)]", "x[0] = {n}\nv = y * 2", "log.append(1)\nv = o.log[-1]", "o.log = p.log\np.log.append({n})\nv = o.log", "v = o == p, o in (p,), [o].count(p)", "o.k, p.k = {n}, 8\nv = x * o.k", "a = [o, p]\na[0].k = {n}\nv = a[1].k"],
    "class": ["v = {o}.meth({a})", "v = {o}.meth(x) + {p}.meth(y)", "v = x * {o}.prop", "v = {o}.k\nw = x * {o}.scale", "{o}.k = {n}\nv = {o}.k", "v = Item.meth({o}, x)", "v = Item.scale\nw = x * type({o}).count", "v = hasattr({o}, 'zz'), x * 2", "v = getattr({o}, 'zz', 3)\nw = x * v", "{o}.mark = {n}\nv = x + 1", "v = q.meth(x), isinstance({o}, Heir)", "v = [w.meth(x) for w in (o, p)]", "Item.count += {n}\nv = {o}.count", "v = x * 2 if {o} else y", "v = {o} == {p}, x * 3"],
    "held": ["ring.append({n})\nv = len(ring)", "ring.appendleft({a})\nv = ring[-1]", "v = ring.pop()\nring.appendleft(v)", "ring.rotate({n})\nv = ring[0]", "ring.extend([{n}, {a}])\nv = x * 2", "ring[0] = {n}\nv = list(ring)", "ring.reverse()\nring.append({n})", "v = ring.popleft() if ring else 4\nring.append(v)", "named['c'] = {a}\nv = list(named)", "named.move_to_end('a')\nv = [*named]", "v = named.pop('b')\nnamed['b'] = {n}", "ring.clear()\nring.append({n})",
             "log.append({n})\nv = log.pop()", "log.insert(1, {a})\nv = len(log)", "v = log.pop(0)\nlog += [v, {n}]", "log.reverse()\nv = log[0]", "log[1:2] = [{n}, {n}]\nv = log[-1]", "log.extend(ring)\nv = len(log)", "del log[0]\nlog.append({a})", "v = log.pop(), x * 2", "v = [log.pop() for i in range({i})]"],
    "cells": ["v = bump({n})\nw = x * peek()[0]", "hold({a})\nv = peek()", "v = bump({n}), bump({n})", "hold([{n}])\npeek()[1].append({a})\nv = len(peek()[1])", "bump({n})\ntry:\n    failing({e}, bump(1))\nexcept {b}:\n    v = peek()[0]", "def made(a):\n    nonlocal v\n    v = a\n    return a * n\nw = made({a})", "c = {n}\ndef made():\n    nonlocal c\n    c += 1\n    return c\nv = made(), made(), c", "fs = [lambda a: a * i for i in (1, 2)]\nv = fs[0]({a})", "def made(by):\n    return lambda a: a + by\nv = made({n})({a}), made({n})", "c = {n}\nget = lambda: c\nc = {a}\nv = get()"],
}
# Between the calls of a scene about classes; what replaces what lives on.
CHANGES = ["Item.meth = methods[{m}]", "Item.meth = methods[{m}]", "Heir.meth = methods[{m}]", "Item.prop = props[{l}]", "Item.prop = props[{l}]", "Item.__setattr__ = stores[{s}]", "drop(Item, '__setattr__')", "Item.__getattribute__ = reads[{s}]", "drop(Item, '__getattribute__')", "Item.scale = {m}", "Item.zz = {m}", "drop(Item, 'zz')", "Item.__bool__ = lambda self: False", "drop(Item, '__bool__')",
           "Item.__eq__ = lambda self, other: True", "Item.__getattr__ = lambda self, name: 8", "drop(Item, '__getattr__')", "Heir.scale = {m}", "drop(Heir, 'scale')", "o.__class__ = Heir", "o.__class__ = Item", "o.scale = {m}", "p.scale = {m}", "drop(o, 'scale')", "o.meth = abs", "drop(o, 'meth')", "o.zz = {m}", "drop(o, 'zz')"]
FEEDS = ["iter([1, 2, 3, 4])", "iter([1, 2, 3, 4])", "iter((5, 6, 7))", "iter(range(6))", "iter(range(2, 9, 3))", "reversed([1, 2, 3])", "iter([1])", "enumerate([4, 5, 6])", "zip([1, 2, 3], [4, 5, 6])", "iter({'a': 1, 'b': 2})", "map(abs, [-1, -2, 3])"]
RESETS = {"arms": "log = [1, 2, 3]; table = {{'a': 1, 'b': 2}}; o, p = Item(numbers(4), 1), Item(numbers(4), 2)", "held": "log = [1, 2, 3]; ring = collections.deque([1, 2, 3], 4); named = collections.OrderedDict(a=1, b=2)", "with": "log = []", "throw": "log = []", "property": "o.log[:] = [1]; p.log[:] = [2]", "same": "log = [1, 2, 3]; both = {both}; table = {{'a': 1, 'b': 2}}; other = {other}", "order": "table = {{'a': 1, 'b': 2}}; o, p = Item(numbers(4), 1), Item(numbers(4), 2)", "class": "o.__dict__.update(k=1); p.__dict__.update(k=2)", "made": "table = {{'a': 1, 'b': 2}}"}
INSTANCES = ["o, p", "o, p", "o, p", "o, o", "p, o", "q, p", "q, q"]


class _Scene:
    def __init__(self, r: random.Random):
        self.r = r
        self.name = r.choice([*SCENES, "class", "class", "same"])

    def fill(self, form: str) -> str:
        r = self.r
        e = r.choice(ERRORS)
        words = {"{e}": e, "{b}": r.choice([BROADER[e], BROADER[e], "Exception", e]), "{e2}": r.choice(ERRORS), "{i}": str(r.choice([0, 1, 2, 3])), "{o}": r.choice(["o", "o", "p"]), "{p}": r.choice(["p", "p", "o"])}
        for key, word in words.items():
            form = form.replace(key, word)
        for key, choices in (("{a}", ARRAYS), ("{n}", NUMBERS)):
            while key in form:
                form = form.replace(key, r.choice(choices), 1)
        return form.replace("{{", "{").replace("}}", "}")

    def body(self) -> list[str]:
        lines = []
        for number, form in enumerate(self.r.sample(SCENES[self.name], self.r.choice([1, 1, 1, 2]))):
            lines += self.fill(form).split("\n")
            lines += ["u = v, w"] if number == 0 else []
        return [*lines, self.r.choice(["return x * 2, u, v, w", "return x + y, u, v, w", "x = x - y\nreturn x, u, v, w"])]

    def before(self, change: str) -> list[str]:
        """What a call finds."""
        r = self.r
        lines = [RESETS[self.name].format(both=r.choice(["(log, [1, 2])", "(log, [1, 2])", "(log, log)", "([4, 5], log)"]), other=r.choice(["{'b': 3}", "{'b': 3}", "table"]))] if self.name in RESETS else []
        if self.name == "feed":
            feed = r.choice(FEEDS[:4] if r.random() < 0.7 else FEEDS)
            lines += [f"feed = {feed}; more = {r.choice([r.choice(FEEDS), feed, 'feed'])}"]
        return [*lines, *([change] if change else [])]


def _calls(r: random.Random, scene: _Scene) -> list[str]:
    """What an iterator or a class is changes rarely, so that what was compiled is asked again."""
    changes = [change.format(m=r.randrange(4), l=r.randrange(3), s=r.randrange(2)) for change in r.sample(CHANGES, r.choice([1, 2, 3]))] if scene.name == "class" else []
    steady, which, n = scene.before(""), r.choice(INSTANCES[:3]), r.choice([1, 2, 3])
    calls = []
    for i in range(r.randint(6, 10)):
        if i > 2 and r.random() < 0.5:
            lines = scene.before(r.choice(changes) if changes else "")
            with_, number = r.choice(INSTANCES), r.choice([0, 1, 2, 3, 4])
        else:
            lines, with_, number = steady, which, n
        first = "x, y = numbers(4, 'f8', {i}), numbers(4, 'f8', {j})".format(i=i, j=i + 20)
        calls.append("\n".join([first, *lines, f"arguments = (x, y, {number}, {with_})"]))
    return calls


def program(r: random.Random) -> Program:
    scene = _Scene(r)
    slots = r.random() < 0.15 and scene.name not in ("order", "made", "class")
    lines = [line for part in scene.body() for line in part.split("\n")]
    source = MODULE.format(slots="__slots__ = 'x', 'k', 'log', '__dict__'" if slots else "pass") + "".join(f"    {line}\n" for line in lines)
    watch = ("o", "p", "q", "vars(o)", "Item.count", "log", "table", "other", "both", "list(ring)", "list(named.items())", *(("feed", "more") if scene.name == "feed" else ("(bump, hold, peek)",) if scene.name == "cells" else ()))
    return Program(source, tuple(_calls(r, scene)), watch)
