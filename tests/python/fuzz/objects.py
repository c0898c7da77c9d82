"""Classes, closures, generators and exceptions.

A program is two classes, a context manager, a few instances, closures over shared cells and a function that reads, writes and
deletes attributes of instances and classes, writes arrays, drives generators by hand, calls methods that raise halfway, and
catches some of what they raise. It is called several times with changing arguments; after every call everything that it could
have changed is compared.
"""

from __future__ import annotations

import random
import textwrap

from fuzz import objects_focused
from fuzz.program import Program

CALLS = 9
ERRORS = ["ValueError", "KeyError", "ZeroDivisionError", "IndexError", "AttributeError", "Boom", "Exception"]
# {a} an array, {n} a number, {o} an instance, {c} a class, {v} a local variable, {m} a call of a method, {e} an exception class.
ARRAYS = ["x", "y", "x[1:]", "y[::-1]", "x * {n}", "y + 1", "x - y", "{o}.x", "{o}.x[1:]", "{o}.x * 2", "{c}.shared",
          "np.maximum(x, {n})", "{o}.scaled(x)", "{v}", "x.sum()", "np.where(x > {n}, x, y)", "{m}", "x / (y - {n})", "np.sqrt({o}.x)",
          "{o}.x.astype('i1') + x"]
NUMBERS = ["k", "n", "2", "-1", "0.5", "{o}.k", "{c}.count", "{o}.count", "k + 1", "n - 1", "{o}.prop", "len({o}.log)",
           "getattr({o}, 'k', 3)", "getattr({o}, 'extra', 3)", "{c}.table.get('a', 1)", "int(x.shape[0])", "{v}",
           "k * 2 if n > 1 else n", "{o}.log[-1]", "type({o}).count", "{o}.__dict__.get('k', 5)", "hasattr({o}, 'extra')",
           "isinstance({o}, Sub)"]
SIMPLE = ["x[1:] += y[:-1]", "x[...] = {a}", "x *= 2", "x += {a}", "y[::2] = {n}", "{o}.x = {a}", "{o}.x += {n}", "{o}.x[0] = {n}",
          "{v} = {a}", "{v} = {n}", "{v} = {v}, {a}", "{o}.k = {n}", "{o}.k += 1", "{c}.count += 1", "{o}.count += {n}",
          "type({o}).count -= 1", "{o}.log.append({n})", "{o}.log.append({a})", "{c}.table['a'] = {n}", "{c}.table[n] = {a}",
          "{o}.table['a'] = {n}", "del {c}.table['a']; {c}.table['a'] = 1", "{o}.log.append(x); {v} = {o}.log.pop()", "{o}.log[0] = {a}",
          "{o}.log = [{n}]", "setattr({o}, 'extra', {n})", "{o}.extra = {a}", "del {o}.extra; {o}.extra = 2",
          "delattr({o}, 'k'); {o}.k = n", "{o}.prop = {n}", "del {o}.prop; {o}.k = 2", "{v} = {o}.prop", "{m}", "{v} = {m}",
          "{o}.slot = {n}", "del {o}.slot; {o}.slot = k", "{c}.label = 'l'", "del {c}.label; {c}.label = n", "{o}.other = {o}",
          "{v} = {o}.other.k", "{c}.shared = {a}", "{c}.shared[0] += 1", "{o}.log += [{n}, {n}]", "{o}.log.extend(({n}, x))",
          "super_log.append({n})", "{v} = {o}.make({n})", "{o} = {o}.make({n})", "{v} = [w for w in {o}.walk(x, n)]",
          "{v} = sum({o}.walk(k, 2))", "{o}.x, {v} = {a}, {o}.x", "{o}.log.append({o})", "{v} = {c}.count, {o}.k, {o}.x",
          "y[1:] = x[:-1] * {n}", "x -= y * {n} + 1", "g = {o}.walk({a}, 3); {v} = next(g); g.close()",
          "{v} = (lambda a: a * k + {n})({a})", "{o}.err = None",
          # closures over cells of the module's factory, and over the function's own
          "{v} = bump({n})", "{v} = peek()", "hold({a})", "{v} = tally[0]; tally[0] = {n}", "add = lambda a, by={n}: a + by; {v} = add({a})", "{v} = (lambda: k)()",
          "fs = [lambda a: a + i for i in range(2)]; {v} = fs[0]({n})", "fs = [lambda a, i=i: a * i for i in (1, 2)]; {v} = fs[1]({a})", "{v} = [fn({a}) for fn in (np.abs, lambda a: a * k)]",
          "{v} = curry({n})({a})", "{v} = curry({n}); {v} = {v}({n})",
          # generators by hand
          "g = {o}.walk({a}, 3); next(g); {v} = next(g, None)", "g = pairs({a}, {n}); {v} = next(g); {v} = g.send({n})", "{v} = list(pairs({a}, {n}))", "{v} = [*both({a}, {n})]",
          "g = both({a}, {n}); {v} = next(g), next(g); del g", "{v} = dict(zip(('a', 'b'), pairs({a}, {n})))", "{v} = next((w for w in ({n}, {a}) if w is not None), 7)", "{v} = sum(w.sum() for w in (x, y))",
          "kept.append(pairs({a}, {n})); {v} = next(kept[-1])", "{v} = next(kept[0], 5) if kept else 0", "del kept[:]", "{v} = any(w > {n} for w in (n, 1))", "{v} = max((w for w in (n, k)), default=0)"]
FAILS = ["raise {e}('r', n)", "raise {e}", "raise {e}({n}) from None", "{v} = n // (n - 2)", "{v} = {o}.missing", "{v} = {o}.log[7]",
         "x[n + 4] = 1", "x[:3] += y[:2]", "{v} = None + k", "{v} = {c}.table['zz']", "assert n != 3, {n}", "raise", "{v} = int('q')",
         "raise {e}(x) from Boom('c')", "{o}.check({n})", "{o}.check(n)", "raise Boom(n, {o})",
         "g = {o}.walk({a}, 3); {v} = next(g); g.throw({e}('t'))", "raise {e}('c') from sys.exc_info()[1]"]
BLOCKS = ["if n > {i}:", "if {n} == {n}:", "for i in range({i}):", "for w in {o}.walk({a}, {i}):", "with Scope({o}, {e}) as {v}:", "try",
          "try", "try", "for w in {o}.log[:3]:", "while n > 0 and {o}.tick():", "with suppress({e}):", "with np.errstate(all='raise'):",
          "for {v} in ({a} for i in range({i})):"]
HANDLED = ["raise", "super_log.append(sys.exc_info()[0])", "u = sys.exc_info()[1].args", "raise Boom('again')", "x[:2] *= 3",
           "super_log.append(repr(sys.exc_info()[1]))", "{o}.k = 4", "super_log.append(sys.exc_info()[1].__context__)",
           "u = type(sys.exc_info()[1])", "{o}.err = sys.exc_info()[1]", "y = x * 2 + {a}", "raise ValueError({n}) from None"]
MODULE = """
class Boom(Exception):
    __qualname__ = '<locals>.Boom'
    def __init__(self, *args):
        super().__init__(*args)
        self.first = args[:1]

class Scope:
    __qualname__ = '<locals>.Scope'
    def __init__(self, o, swallow):
        self.o, self.swallow = o, swallow
    def __enter__(self):
        self.o.log.append('enter')
        return self.o.k
    def __exit__(self, kind, error, tb):
        self.o.log.append(kind and kind.__name__)
        return kind is not None and issubclass(kind, self.swallow) and kind is not KeyError

super_log = []
kept = []
tally = [0]

def factory(start):
    count, held = start, None
    def bump(by):
        nonlocal count
        count += by
        return count
    def peek():
        return count, held
    def hold(a):
        nonlocal held
        held = a
    return bump, peek, hold

bump, peek, hold = factory(1)

def curry(by):
    def add(a):
        return a + by
    return add

def pairs(a, n):
    got = yield a
    while n > 0:
        n = n - 1
        try:
            got = yield a * n if got is None else a + got
        except ValueError as error:
            yield str(error)
    return n

def both(a, n):
    last = yield from pairs(a, 2)
    yield last
    yield from (a + i for i in range(2))

{decorator}
{helper}

class Base:
    __qualname__ = '<locals>.Base'
    {slots}
    count = 0
    table = {{'a': 4}}
    label = 'base'
    shared = np.arange(5.0)
    def __init__(self, x, k):
        self.x, self.k, self.log = x, k, [7, k, x]
        self.slot = self.extra = 1
        self.other = self
        self.err = None
        Base.count += 1
    def make(self, k):
        return type(self)(self.x[:4], k)
    def scaled(self, a):
        self.k += 1
        return a * self.k
    def check(self, v):
        self.log.append('check')
        if v > 1:
            raise ValueError('check', v)
        return self
    def __repr__(self):
        return 'an instance'
    def tick(self):
        self.k -= 1
        return self.k > 0
    @property
    def prop(self):
        if self.k == 3:
            raise Boom('prop')
        return self.k * 2
    @prop.setter
    def prop(self, v):
        self.log.append(v)
        self.k = v // 2
    @prop.deleter
    def prop(self):
        self.log.append(self.k)
        del self.k
    def walk(self, a, n):
        try:
            for i in range(n):
                self.count += 1
                yield a + i
        {walk_end}
            self.log.append('walked')
{base}
class Sub(Base):
    __qualname__ = '<locals>.Sub'
    {subslots}
    count = 10
    def scaled(self, a):
        a = super().scaled(a)
        self.x[0] = self.k
        return a
{sub}
o, p = Base(numbers(5), 2), Sub(numbers(5, seed=1), 1)
def f(x, y, k, n, o, p):
{main}
"""


class _Generator:
    def __init__(self, r: random.Random):
        self.random = r
        self.methods: list[str] = []   # that may be called
        self.instances = ["o", "p"]
        self.loops = self.budget = 0
        self.helps = False   # the helper does not call itself

    def fill(self, form: str, depth: int = 0) -> str:
        """The form with random contents; deep ones become simple."""
        pick = self.random.choice
        parts = {"o": lambda: pick(self.instances), "c": lambda: pick(["Base", "Sub"]), "v": lambda: pick(["u", "v", "w"]),
                 "e": lambda: pick(ERRORS), "i": lambda: str(pick([0, 1, 2, 3])),
                 "n": lambda: self.fill(pick(NUMBERS if depth < 2 else NUMBERS[:8]), depth + 1),
                 "a": lambda: self.fill(pick(ARRAYS if depth < 2 else ARRAYS[:4]), depth + 1), "m": lambda: self.call(depth)}
        for key, part in parts.items():
            while f"{{{key}}}" in form:
                form = form.replace(f"{{{key}}}", part(), 1)
        return form

    def call(self, depth: int) -> str:
        if self.helps and self.random.random() < 0.25:
            return self.fill("helper({o}, {a}, {n})", depth + 1)
        if not self.methods or depth > 1:
            return self.fill("{o}.tick()")
        return self.fill(f"{{o}}.{self.random.choice(self.methods)}({{a}}, {{n}})", depth + 1)

    def block(self, indent: int, count: int) -> list[str]:
        lines: list[str] = []
        for _ in range(count):
            self.budget -= 1
            chance = self.random.random()
            if chance < 0.28 and indent < 5 and self.budget > 0:
                lines += self.compound(indent)
            elif chance < 0.42:
                lines.append(self.fill(self.random.choice(FAILS)))
                if self.random.random() < 0.92:
                    lines[-1] = self.fill("if n == {i}: ") + lines[-1]
            elif chance < 0.46:
                leave = self.random.choice(["break", "continue"]) if self.loops else "return {v}, {n}"
                lines.append(self.fill("if n == {i}: " + leave))
            else:
                lines.append(self.fill(self.random.choice(SIMPLE)))
        return [line if line.startswith(" ") else "    " * indent + line for line in lines]

    def compound(self, indent: int) -> list[str]:
        head = self.fill(self.random.choice(BLOCKS))
        inside = lambda: self.block(indent + 1, self.random.randint(1, 3))
        pad = "    " * indent
        if head != "try":
            loop = head.startswith(("for", "while"))
            self.loops += loop
            lines = [pad + head, *([pad + "    n -= 1"] if head.startswith("while") else []), *inside()]
            self.loops -= loop
            return lines
        lines = [pad + "try:", *inside()]
        kinds = self.random.choice(["except", "except", "except", "finally", "both"])
        if kinds != "finally":
            for _ in range(self.random.randint(1, 2)):
                clause = self.random.choice(["except {e}:", "except {e} as err:", "except ({e}, {e}) as err:"])
                lines += [pad + self.fill(clause), *inside()]
                if self.random.random() < 0.5:
                    lines.append(pad + "    " + self.fill(self.random.choice(HANDLED)))
            if self.random.random() < 0.3:
                lines += [pad + "else:", *inside()]
        if kinds != "except":
            lines += [pad + "finally:", *inside()]
        return lines

    def method(self, name: str, calls: list[str]) -> str:
        self.instances, self.methods, self.budget = ["self"], calls, 6
        body = self.block(2, self.random.randint(1, 4))
        return "\n".join([f"    def {name}(self, x, n):", "        k, y, u, v, w = n, x[::-1], 1, x, n", *body, self.fill("        return {a}")])

    def program(self) -> str:
        helper = textwrap.dedent(self.method("helper", []))
        self.helps = True
        base = [self.method("one", []), self.method("two", ["one"]), self.method("three", ["one"])]
        sub = [self.method("one", []), self.method("three", ["one", "two"])]
        if self.random.random() < 0.5:
            sub[0] = sub[0].replace("w = n, x[::-1], 1, x, n", "w = n, x[::-1], 1, x, super().one(x, n)")
        self.instances, self.methods, self.budget = ["o", "p"], ["one", "two", "three"], 16
        main = ["    u, v, w = k, x, 0", *self.block(1, self.random.randint(3, 8)), self.fill("    return {v}, {a}, {n}")]
        slots = self.random.random() < 0.25
        return MODULE.format(helper=helper, decorator=self.random.choice(["@compiled", ""]), base="\n".join(base), sub="\n".join(sub), main="\n".join(main),
                             slots="__slots__ = 'x', 'k', 'log', 'slot', '__dict__'" if slots else "pass",
                             subslots="__slots__ = 'extra', 'other'" if slots else "pass",
                             walk_end=self.random.choice(["finally:", "finally:", "except ValueError:", "except GeneratorExit:"]))



def _calls(r: random.Random) -> list[str]:
    """What makes x and y, k, n, and which instances."""
    shapes = [(5, "f8"), (5, "f8"), (7, "f8"), (5, "i8"), (5, "f4")]
    some = [(r.choice(shapes), r.choice([1, 2, 3, 2.5]), r.choice([0, 1, 2, 3]), r.choice(["o, p", "o, p", "p, o", "o, o", "p, p"])) for _ in range(4)]
    made = []
    for i in range(CALLS):
        (shape, dtype), k, n, which = r.choice(some)
        made.append(f"arguments = (numbers({shape}, {dtype!r}, {i}), numbers({shape}, {dtype!r}, {i + 20}), {k}, {n}, {which})")
    return made


def program(r: random.Random) -> Program:
    if r.random() < 0.5:
        return objects_focused.program(r)
    return Program(_Generator(r).program(), tuple(_calls(r)), ("o", "p", "Base", "Sub", "super_log", "kept", "tally", "(bump, peek, hold)"))
