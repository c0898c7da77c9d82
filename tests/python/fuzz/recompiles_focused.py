"""Small programs about one thing that compiled code relies on: what lies at one place, or what a class or a function is.

Everything else stays as it is while that changes back and forth, among values of one type: nothing but the guard about it can
tell the calls apart.
"""

from __future__ import annotations

import random

from fuzz.program import Program

HEAD = """
import collections

Q, TABLE, PAIR, ITEMS = 1, {'p': 0, 'q': 1}, [1, 0], [1, 2, 3]

def double(a):
    return a * 2

def less(a):
    return a - 1

def plain(a, by):
    return a * by

def wide(a, by=3, *, to=4):
    return a + by * to

def holder(q):
    def get():
        return q
    def put(v):
        nonlocal q
        q = v
    return get, put

get, put = holder(1)

def ask(q=1):
    return q

class Box:
    __qualname__ = '<locals>.Box'
    c = 1
    def __init__(self):
        self.q = 1

box = Box()

class Thing:
    __qualname__ = '<locals>.Thing'
    scale, other = 2, 3
    def __init__(self, k):
        self.k = k
    def apply(self, a):
        return a * self.scale
    @property
    def prop(self):
        return self.k + 1
    @staticmethod
    def fixed(a):
        return a + 4
    @classmethod
    def ofclass(cls, a):
        return a * cls.other
    def __repr__(self):
        return 'a thing'

class Base:
    __qualname__ = '<locals>.Base'
    scale, other = 7, 8
    def apply(self, a):
        return a - 9

class Heir(Thing):
    __qualname__ = '<locals>.Heir'

thing, twin, heir = Thing(3), Thing(3), Heir(3)
grid, wider = numbers((3, 3), seed=5), numbers((6, 6), seed=6)
first, second = ITEMS, PAIR
# They live as long as the module: what has gone is told apart by that alone.
methods = [Thing.apply, lambda self, a: a + 5, lambda self, a: a * a, Base.apply]
props = [Thing.__dict__['prop'], property(lambda self: self.k * 5), property(lambda self: 6, lambda self, v: None), 4]
fixeds = [Thing.__dict__['fixed'], staticmethod(double), staticmethod(less), classmethod(lambda cls, a: a - cls.scale), double]
ofclasses = [Thing.__dict__['ofclass'], classmethod(lambda cls, a: a * 7), staticmethod(double)]
specials = [lambda self, *rest: 0, lambda self, *rest: 1, lambda self, *rest: 2, lambda self, *rest: True, lambda self, *rest: False]
stores = [lambda self, name, v: object.__setattr__(self, name, v + 1), lambda self, name, v: None]
reads = [lambda self, name: 5 if name in ('k', 'scale') else object.__getattribute__(self, name), lambda self, name: object.__getattribute__(self, 'k' if name == 'zz' else name)]

def drop(target, *names):
    for name in names:
        if name in vars(target):
            delattr(target, name)
"""

# How what lies there is read, and how it is changed.
PLACES = [("k", "k = {v}"), ("k", "k = {v}"), ("Q", "Q = {v}"), ("Q", "Q = {v}"), ("box.q", "box.q = {v}"), ("box.c", "Box.c = {v}"), ("Box.c", "Box.c = {v}"), ("TABLE['q']", "TABLE['q'] = {v}"), ("PAIR[0]", "PAIR[0] = {v}"),
          ("get()", "put({v})"), ("ask()", "ask.__defaults__ = ({v},)")]
SETTINGS = ("Q", "box.c", "Box.c", "ask()")   # a number there is a constant of what is compiled; elsewhere only what is asked about it counts
# kind: values; numbers read from one; other reads. {i}, {j}: one and another of some, the same wherever the program has them
VALUES = {
    "int": (["1", "-1", "2", "-2", "3", "-3", "0", "1", "-1", "2", "127", "128", "255", "256", "-128", "-129", "300", "65536", "1 << 30", "-(1 << 30)", "(1 << 31) - 1", "1 << 31", "-(1 << 31)", "1 << 40", "-(1 << 40)", "1 << 61", "1 << 62", "1 << 70"],
            ["{q}", "{q} * {q}", "{q} + {q}", "{q} * 3", "abs({q})", "-{q}", "{q} - 7", "(5, 6, 7)[{q} % 3]", "(5, 6, 7)[{q}]", "{{0: 4, 1: 5, -1: 6}}.get({q}, 7)", "max({q}, {n})", "({q} == {n})", "(2 if {q} > {n} else 3)", "{q} % 7", "{q} // 2", "len(range({q} % 9))"],
            ["{q} == {n}", "{q} > {n}", "{q}", "not {q}", "str({q})", "x.reshape(1, 3, 1).sum(axis={q})", "x[{q}]", "x[{q}:]", "x[:{q}]", "x[::{q}]", "np.roll(x, {q})", "x.astype('u1') + {q}", "x.astype('i1') * {q}", "x.astype('i4') + {q}", "x.astype('i8') * {q}",
             "x ** {q}", "np.int8(3) + {q}", "np.zeros({q} % 5)", "'abc'[{q}]", "{q} * {q}", "{q} in (1, 2, {n})", "np.full(3, {q})", "divmod({q}, 3)", "f'{{{q}}}'", "[w + {q} for w in (1, 2)]", "np.arange({q} % 7)"]),
    "sign": (["1", "-1", "2", "-2", "0", "3", "-3"], ["{q}", "{q}", "{q} + 4", "(2 if {q} > 0 else 3)", "abs({q})"], ["{q}", "{q} == {n}", "{q} < 0", "x[{q}:]", "np.roll(x, {q})", "x[::{q} * 2 + 1]", "str({q})", "x.reshape(1, 3, 1).sum(axis={q})", "divmod({q}, 2)"]),
    "few": (["0.5", "1.5", "2.5"], ["(4 if {q} == {f} else 5)", "(4 if {q} != {f} else 5)", "(2 if {q} < {f} else 3)", "(2 if {q} <= {f} else 3)", "(2 if {q} > {f} else 3)", "(2 if {q} >= {f} else 3)"],
            ["np.zeros(3 if {q} == {f} else 4)", "np.zeros(3 if {q} > {f} else 4)", "np.zeros(3 if {f} <= {q} else 4)", "{q} == {f}", "[x, y][{q} < {f}]", "x if {q} == {f} else y", "x[:1 if {q} != {f} else 2]"]),
    "bool": (["True", "False"], ["{q}", "(2 if {q} else 3)", "(5, 7)[{q}]", "{q} + 1", "str({q}).count('e')", "(4 if {q} is True else 5)", "(not {q})"],
             ["{q}", "not {q}", "{q} is False", "str({q})", "x.sum(keepdims={q})", "np.array({q})", "x if {q} else y", "({q}, 1)", "{q} == 1", "x[{q}:]"]),
    "singleton": (["None", "...", "NotImplemented", "None", "x.dtype", "np.dtype('i4')", "np.float32", "np.int16", "float", "int", "np.add", "np.sin"], ["(2 if {q} is None else 3)", "(4 if {q} is ... else 5)", "(6 if {q} in (None, float) else 7)", "(3 if {q} is np.add else 4)"],
                  ["{q} is None", "{q} == float", "{q} in (None, np.add)", "x[{q}]", "x.astype({q})", "np.zeros(3, {q})", "isinstance({q}, type)", "x.sum(axis={q})", "{q}", "callable({q})"]),
    "float": (["0.5", "1.5", "2.5", "3.5", "-1.5", "0.0", "-0.0", "1e300", "np.nan", "np.inf", "2.0"], ["{q}", "(2 if {q} < {f} else 3)", "(2 if {q} <= {f} else 3)", "(4 if {q} == {f} else 5)", "(4 if {q} != {f} else 5)", "(3 if {q} > {f} else 4)", "(3 if {q} >= {f} else 4)",
               "max({q}, {f})", "min({q}, {f})", "(1 if {q} else 6)", "(2 if {f} < {q} * 2 < 9 else 3)", "(5 if abs({q}) <= {f} else 6)", "(2 if {q} - 1 > {f} else 7)", "(2 if -{q} < {f} / 2 else 7)", "len(range(int({q} > {f}) + 1))", "(3 if {q} == {n} else 4)"],
              ["{q}", "{q} < {f}", "{q} <= {f}", "{q} == {f}", "{q} != {f}", "{q} >= {f}", "np.zeros(3 if {q} < {f} else 4)", "np.zeros(3 if {q} <= {f} else 4)", "np.zeros(3 if {q} == {f} else 4)", "x[:2 if {q} > {f} else 1]", "x.sum() if {q} <= {f} else y", "int({q})", "str({q})", "round({q})", "{q} * 2", "np.ones(2 if {q} else 3)"]),
    "scalar": (["np.float64(0.5)", "np.float64(1.5)", "np.float64(2.5)", "np.float64(-2.5)", "np.float64('nan')"], ["{q}", "(2 if {q} < {f} else 3)", "(2 if {q} <= {f} else 3)", "(4 if {q} == {f} else 5)"], ["{q} < {f}", "np.zeros(3 if {q} > {f} else 4)", "np.zeros(3 if {q} == {f} else 4)", "{q}"]),
    "complex": (["1j", "2j", "1 + 1j", "1 - 1j", "0j"], ["{q}", "(2 if {q} == 1j else 3)", "abs({q})"], ["{q}", "{q} == 2j", "str({q})", "{q}.real", "bool({q})"]),
    "text": (["'a'", "'b'", "'f4'", "'f8'", "'ab'", "''", "'i4'", "'ba'", "'scale'", "'other'"], ["len({q})", "(2 if {q} == 'a' else 3)", "{{'a': 4, 'f4': 5, 'b': 6}}.get({q}, 7)", "getattr(thing, {q}, 9)", "{q}.count('a')", "(5 if {q} < 'b' else 6)"],
             ["{q}", "x.astype({q})", "{q} + 'z'", "{q} in ('a', 'b', 'f4')", "{q}.upper()", "hasattr(Thing, {q})", "np.zeros(3, {q})", "{q}[0]", "{q} == 'f8'", "f'{{{q}}}!'", "{{{q}: x}}", "list({q})"]),
    "dict": (["{{'a': {i}, 'b': {j}}}", "{{'b': {j}, 'a': {i}}}", "{{'a': {i}}}", "{{'a': {i}, 'c': {j}}}", "{{'a': {i}, 'bb': {j}}}", "{{'a': {i}, 'b': {j}, 'cc': 5}}", "{{}}", "{{'b': {i}}}", "{{1: {i}, 'a': {j}}}"],
             ["len({q})", "sum({q}.values())", "sum(len(str(w)) for w in {q})", "{q}.get('a', 7)", "{q}.get('b', 8)", "(2 if 'a' in {q} else 3)", "(4 if 'b' in {q} else 5)", "sum((i + 1) * v for i, v in enumerate({q}.values()))", "(5 if 'bb' not in {q} else 6)"],
             ["list({q})", "{q}['a']", "'b' in {q}", "'c' not in {q}", "next(iter({q}))", "[w for w in {q}.items()]", "''.join(str(w) for w in {q})", "dict({q})", "tuple({q}.values())", "{q}.get('cc')", "{{**{q}, 'z': 1}}", "sorted({q}, key=str)", "{q} == {{'a': {i}}}", "{{v: w for w, v in {q}.items()}}"]),
    "list": (["[{i}, {j}]", "[{j}, {i}]", "[{i}, {i}]", "[{i}, {j}, 2]", "[{i}]", "[]", "[{i}, 2.5]", "['a', {j}]"], ["len({q})", "sum(w for w in {q} if w != 'a')", "{q}[0]", "{q}[-1]", "(2 if {i} in {q} else 3)", "sum(i for i, w in enumerate({q}))"],
             ["list({q})", "{q}[0]", "{q}[1:]", "{j} in {q}", "[w for w in {q}]", "np.array({q})", "{q} == [{i}, {j}]", "({q}[0], x)", "{q} + [1]", "bool({q})", "{q}.index({j})", "list(reversed({q}))", "list(zip({q}, x))"]),
    "tuple": (["({i}, {j})", "({j}, {i})", "({i}, {j}, 2)", "({i},)", "()", "({i}, 2.5)", "('a', {j})"], ["len({q})", "{q}[0]", "{q}[-1]", "(2 if {i} in {q} else 3)"], ["{q}", "{q}[0]", "np.zeros({q})", "{q} == ({i}, {j})", "[*{q}]", "x.reshape({q})", "{q}.index({j})", "{q} + (x,)", "hash({q})"]),
    "set": (["{{1, 2}}", "{{2, 3}}", "{{1, 3}}", "{{'a', 1}}", "{{'b', 1}}", "{{1, 5}}"], ["len({q})", "(2 if 1 in {q} else 3)", "(4 if 'a' in {q} else 5)", "(6 if 5 not in {q} else 7)", "(2 if {j} in {q} else 4)"], ["1 in {q}", "2 not in {q}", "'a' in {q}", "{q} == {{1, 2}}", "bool({q})", "{q} | {{9}} == {{1, 2, 9}}", "len({q})"]),
    "function": (["double", "less", "lambda a: a + 3", "np.abs", "np.negative", "thing.apply", "heir.apply", "Thing.fixed"], ["{q}(2)", "(2 if {q} is double else 3)"], ["{q}(x)", "{q}(x) + {q}(y)", "{q} is less", "[{q}(w) for w in (x, y)]", "{q} in (double, np.abs)", "callable({q})"]),
    "range": (["range(2)", "range(3)", "range(1, 3)", "range(0, 4, 2)", "range(2, 0, -1)", "range(0)"], ["len({q})", "sum({q})", "(2 if 1 in {q} else 3)"], ["list({q})", "1 in {q}", "[x * w for w in {q}]", "{q}[0]", "list(zip({q}, x))", "np.array({q})"]),
    "class": (["Thing", "Heir", "Base", "Box", "thing", "heir", "box"], ["getattr({q}, 'scale', 4)", "(2 if isinstance({q}, Thing) else 3)", "(2 if {q} is Thing else 3)", "(5 if hasattr({q}, 'apply') else 6)"], ["{q}.scale", "issubclass({q}, Thing)", "hasattr({q}, 'other')", "{q} is heir", "isinstance({q}, Heir)", "type({q}) is Thing", "{q}.apply(x)"]),
    "deque": (["collections.deque([{i}, {j}])", "collections.deque([{j}, {i}])", "collections.deque([{i}, {j}], 2)", "collections.deque([{i}, {j}], 3)", "collections.deque([{i}, {j}, 2])", "collections.deque()"], ["len({q})", "{q}[0]", "sum({q})", "(2 if {i} in {q} else 3)", "{q}[-1]"],
              ["{q}[0]", "list({q})", "({q}.append({i}), list({q}))", "({q}.rotate(1), {q}[0])", "{q}.popleft()", "[x * w for w in {q}]", "{q}.maxlen", "{q}[1]", "bool({q})"]),
    "ordered": (["collections.OrderedDict(a={i}, b={j})", "collections.OrderedDict(b={j}, a={i})", "collections.OrderedDict(a={i})", "collections.OrderedDict(a={i}, c={j})", "collections.defaultdict(int, a={i})", "collections.OrderedDict(a={i}, b={j}, c=1)"], ["len({q})", "{q}.get('b', 4)", "sum({q}.values())", "{q}['a']", "(2 if 'b' in {q} else 3)"],
                ["list({q})", "{q}['b']", "({q}.move_to_end('a'), list({q}))", "next(iter({q}))", "[*{q}.items()]", "{q}.pop('a')", "({q}.update(z=1), list({q}))"]),
    "iterator": (["iter([{i}, {j}])", "iter([{i}, {j}, 2])", "iter([{j}])", "iter([])", "iter(({i}, {j}))", "iter(range(3))", "iter(range({i}, 9))", "enumerate([{i}, {j}])", "enumerate([{i}, {j}, 2], 1)", "zip([{i}], [{j}])", "zip([{i}, 2], [{j}, 3])", "reversed([{i}, {j}])", "iter({{'a': {i}}})"], ["sum(1 for w in {q})", "len(list({q}))"],
                 ["next({q})", "list({q})", "next({q}, 7)", "[w for w in {q}]", "(next({q}, 7), next({q}, 8))", "max({q}, default=3)", "sorted({q}, key=str)", "[(v, w) for v, w in zip({q}, x)]"]),
    "arrays": (["(x, y)", "(x, x)", "(y, y)", "(y, x)"], ["(2 if {q}[0] is {q}[1] else 3)", "(5 if {q}[0] is x else 6)"], ["{q}[0] is {q}[1]", "{q}[0] is x", "{q}[0] is not y", "({q}[0], {q}[1])", "{q}[0] + {q}[1]"]),
    "things": (["(thing, twin)", "(thing, thing)", "(twin, thing)", "(twin, twin)"], ["(2 if {q}[0] is {q}[1] else 3)", "(5 if {q}[0] == {q}[1] else 6)", "(5 if {q}[0] is not thing else 6)"], ["{q}[0] is {q}[1]", "(setattr({q}[0], 'k', {i}), setattr({q}[1], 'k', {j}), {q}[0].k)", "{q}[0] in ({q}[1], 1)", "{q}[0] is thing"]),
    "lists": (["(ITEMS, PAIR)", "(ITEMS, ITEMS)", "(PAIR, ITEMS)", "(PAIR, PAIR)"], ["(2 if {q}[0] is {q}[1] else 3)", "len({q}[0])"], ["{q}[0] is {q}[1]", "({q}[0].append({i}), {q}[1][-1])", "({q}[1].reverse(), {q}[0][0])", "{q}[0] is ITEMS", "{q}[0] == {q}[1]"]),
    "layout": (["grid", "grid.T", "grid[::-1]", "grid[:, ::-1]", "wider[::2, ::2]", "wider[:3, :3]", "wider[::2, :3]", "wider[3:]", "wider[:, :3]", "grid[::-1, ::-1]", "np.broadcast_to(x.ravel()[:3], (3, 3))", "grid[:, :1]", "grid[:1]", "np.broadcast_to(grid[:, :1], (3, 3))", "wider.T[:3, :3]", "grid.copy()"],
               ["{q}.sum()", "{q}[0, 1]", "{q}.strides[0]", "len({q})", "{q}[-1, 0]", "(2 if {q}.flags.c_contiguous else 3)"], ["{q} + 1", "{q} * {q}", "{q}.T - 1", "{q}.sum(axis=0)", "{q}.reshape(-1)", "{q}.ravel()", "{q} + grid", "{q}[1:] - {q}[:-1]", "{q}[:, 0] * 2", "{q}.copy()", "{q}.strides", "{q}.max(axis=1)", "{q}[::-1] + 1", "np.concatenate([{q}, grid[:, :1]], axis=1)"]),
}
# what is changed in place: changes; reads; others. Every change leaves the rest of its kind as it was at the first call.
CHANGES = {
    "method": (["Thing.apply = methods[{m}]", "Thing.apply = methods[{m}]", "drop(Heir, 'apply')", "Heir.apply = methods[{m}]", "drop(thing, 'apply')", "thing.apply = double", "heir.apply = less"], ["{o}.apply({i})"], ["{o}.apply(x)", "{o}.apply(x) + {o}.apply(y)", "[{o}.apply(w) for w in (x, y)]", "Thing.apply({o}, x)", "super(Heir, heir).apply(x)"]),
    "property": (["Thing.prop = props[{m}]", "Thing.prop = props[{m}]", "drop(Heir, 'prop')", "Heir.prop = props[{m}]"], ["{o}.prop", "getattr({o}, 'prop', 3)"], ["{o}.prop", "({o}.prop, {o}.prop)", "isinstance(Thing.prop, int)"]),
    "wrapped": (["Thing.fixed = fixeds[{m}]", "Thing.ofclass = ofclasses[{l}]", "Thing.fixed = fixeds[{m}]", "Thing.ofclass = ofclasses[{l}]", "Heir.fixed = fixeds[{m}]", "drop(Heir, 'fixed')"], ["{o}.ofclass({i})"], ["{o}.fixed(x)", "{o}.ofclass(x)", "Thing.ofclass(x)", "Heir.fixed(x)", "Thing.fixed(x)"]),
    "constant": (["Thing.scale = {n}", "Thing.scale = -{n}", "Thing.other = {n}", "Heir.scale = {n}", "drop(Heir, 'scale')", "thing.scale = {n}", "drop(thing, 'scale')", "heir.other = {n}", "drop(heir, 'other')", "Thing.extra = {n}", "drop(Thing, 'extra')", "thing.extra = {n}", "drop(thing, 'extra')"],
                 ["{o}.scale", "Thing.scale", "{o}.other", "getattr({o}, 'extra', 3)", "hasattr({o}, 'extra')", "type({o}).scale"], ["x * {o}.scale", "hasattr({o}, 'extra')", "getattr(Thing, 'extra', x)", "'scale' in vars({o})", "{o}.apply(x)", "{o}.ofclass(y)"]),
    "special": (["Thing.__len__ = specials[{m}]", "Thing.__bool__ = specials[-{l} - 1]", "Thing.__eq__ = specials[{m}]", "Thing.__getitem__ = specials[{m}]", "Thing.__call__ = specials[{m}]", "Thing.__add__ = specials[{m}]", "Thing.__contains__ = specials[-{l} - 1]", "drop(Thing, '__len__', '__bool__')", "drop(Thing, '__eq__', '__call__')",
                 "Thing.__hash__ = specials[{l}]", "Thing.__radd__ = specials[{m}]", "Thing.__lt__ = specials[{m}]", "Thing.__index__ = specials[{m}]", "Thing.__neg__ = specials[{m}]", "drop(Thing, '__getitem__')"],
                ["(2 if {o} else 3)", "({o} == 3)", "(4 if {o} != thing else 5)", "callable({o})"], ["bool({o})", "len({o})", "{o} == 3", "{o}[1]", "{o}(x)", "{o} + 1", "3 in {o}", "not {o}", "{o} < 2", "x[:{o}]", "-{o}", "x if {o} else y", "1 + {o}", "hasattr(Thing, '__len__')", "{o} in (1, {o})"]),
    "store": (["Thing.__setattr__ = stores[{s}]", "drop(Thing, '__setattr__')", "Thing.__getattribute__ = reads[{s}]", "drop(Thing, '__getattribute__')", "Thing.__getattr__ = specials[{m}]", "drop(Thing, '__getattr__')", "Thing.k = props[2]", "drop(Thing, 'k')"],
              ["{o}.k", "getattr({o}, 'zz', 3)", "{o}.scale", "(4 if hasattr({o}, 'zz') else 5)"], ["{o}.k", "{o}.apply(x)", "hasattr({o}, 'zz')", "getattr({o}, 'zz', x)", "setattr({o}, 'k', 3)", "setattr({o}, 'n', {i})", "{o}.__dict__.get('n')"]),
    "bases": (["Heir.__bases__ = (Thing,)", "Heir.__bases__ = (Thing, Base)", "Heir.__bases__ = (Base, Thing)", "thing.__class__ = Heir", "thing.__class__ = Thing", "heir.__class__ = Thing", "heir.__class__ = Heir"], ["{o}.scale", "Heir.other", "isinstance({o}, Heir)", "isinstance({o}, Base)"], ["{o}.apply(x)", "type({o}) is Thing", "Heir.apply(heir, x)", "issubclass(Heir, Base)"]),
    "fields": (["plain.__defaults__ = None", "plain.__defaults__ = ({n},)", "plain.__kwdefaults__ = None", "plain.__kwdefaults__ = {{'by': {n}}}", "wide.__defaults__ = ({n},)", "wide.__kwdefaults__ = {{'to': {n}}}", "wide.__defaults__ = None", "plain.__code__ = (lambda a, by: a - by).__code__", "plain.mark = {n}", "drop(plain, 'mark')", "wide.mark = {n}", "drop(wide, 'mark')"],
               ["getattr({h}, 'mark', 3)", "len({h}.__defaults__ or ())", "(2 if {h}.__defaults__ is None else 3)", "(4 if {h}.__kwdefaults__ is None else 5)", "({h}.__kwdefaults__ or {{}}).get('to', 6)", "hasattr({h}, 'mark')"], ["wide(x)", "wide(x, {i})", "plain(x, {i})", "plain(x)", "{h}.__kwdefaults__", "{h}.__defaults__", "{h}.__closure__ is None", "wide(x, to={i})"]),
    "builtin": (["len = lambda a: 7", "globals().pop('len', None)", "abs = lambda a: a + 1", "globals().pop('abs', None)", "max = min", "globals().pop('max', None)", "EXTRA = {n}", "globals().pop('EXTRA', None)", "isinstance = lambda a, b: False", "globals().pop('isinstance', None)"],
                ["len(x)", "abs(-2)", "max(k, 3)", "isinstance(k, int)", "globals().get('EXTRA', 4)"], ["len(x)", "abs(x)", "max(1, 2)", "EXTRA", "'EXTRA' in globals()", "[len(w) for w in (x, y)]", "isinstance(x, np.ndarray)"]),
    "names": (["double, less = less, double", "double.__code__ = less.__code__", "double = lambda a: a + {n}", "Thing, Base = Base, Thing", "np = __import__('numpy')", "thing, heir = heir, thing", "ITEMS, PAIR = PAIR, ITEMS", "get, put = holder({n})", "box = Box(); box.q = {n}"], ["double({i})", "len(ITEMS)", "get()", "box.q", "thing.scale"],
              ["double(x)", "less(double(x))", "ITEMS is PAIR", "thing is heir", "thing.apply(x)", "isinstance(thing, Thing)", "[w for w in ITEMS]"]),
    "aliases": (["second = first", "second = PAIR", "first = ITEMS", "first, second = second, first", "first = [{n}]; second = [{n}]", "first = thing; second = twin", "first = thing; second = thing", "first = TABLE; second = {{'p': 1, 'q': 2}}", "first = second = TABLE", "first = grid; second = wider[:3, :3]", "first = second = grid"],
                ["(2 if first is second else 3)", "len(first)", "(3 if first == second else 4)"], ["first is second", "(first.append({i}), second[-1])", "(setattr(first, 'k', {i}), second.k)", "(first.update(p={i}), second['p'])", "(second.clear(), len(first))", "first is not ITEMS", "np.shares_memory(first, second)", "(first.fill({i}), second * 2)"]),
    "contents": (["ITEMS[:] = [{n}, 2, 3]", "ITEMS[:] = [2, {n}]", "ITEMS.reverse()", "TABLE['p'] = {n}", "TABLE['r'] = {n}", "TABLE.pop('r', None)", "TABLE = dict(reversed(TABLE.items()))", "thing.k = {n}", "thing.k = [{n}]", "PAIR[0] = ITEMS", "PAIR[0] = PAIR[1]", "put({n})", "put([{n}])", "thing.n = {n}", "drop(thing, 'n')"],
                 ["ITEMS[0]", "sum(ITEMS)", "TABLE.get('r', 5)", "len(TABLE)", "TABLE['p']", "sum((i + 1) * v for i, v in enumerate(TABLE.values()))", "(2 if 'r' in TABLE else 3)"], ["list(TABLE)", "'r' in TABLE", "ITEMS[-1]", "thing.k", "get()", "PAIR[0] is ITEMS", "list(vars(thing))", "[v for v in TABLE.values()]", "max(ITEMS)", "hasattr(thing, 'n')"]),
}
NUMBER_USES = ["return x * {n}", "return x + {n}, {n}", "return x * {n} + y", "return x - {n}, {r}", "return np.full(3, {n}) + x", "for i in range(2):\n    x = x * {n}\nreturn x", "v = {n}\nreturn x * v, v", "return x * {n}, {n}"]
READ_USES = ["return x * 2, {r}", "return {'v': x * 2, 'b': {r}, 'a': 3}", "return x + 1, {'z': {r}, 'b': y, 'c': {n}}", "v = {r}\nreturn x + y, v", "return x + 1 if ({r}) else x * 2", "if {r}:\n    return x * 2\nreturn x - y", "w = x - 1\nreturn w, {r}, {r}", "try:\n    v = {r}\nexcept (TypeError, LookupError, AttributeError) as error:\n    return x * 2, str(error)\nreturn x * 3, v",
             "v = x * {n}\nreturn v, {r}", "v = 3\nwhile v > 1 and ({r}):\n    v -= 1\nreturn x * v", "x = x * 2 if not ({r}) else y * 3\nreturn x + 1"]
WATCH = ("Q", "box", "TABLE", "PAIR", "ITEMS", "vars(thing)", "vars(twin)", "vars(heir)", "first", "second", "grid")


class _Words:
    """{i}, {j}, {m} ... of a program: what they are is settled once for each state, for all else once."""

    def __init__(self, r: random.Random):
        self.r = r
        i = r.choice([1, 2, 3, 5])
        self.fixed = {"i": str(i), "j": str(i + r.choice([1, 2, 4])), "o": r.choice(["thing", "thing", "heir", "k"]), "h": r.choice(["plain", "plain", "wide"])}

    def fill(self, form: str) -> str:
        r = self.r
        words = {**self.fixed, "n": r.choice(["1", "2", "3", "5", "-2", "0", "-1"]), "f": r.choice(["0.5", "1.5", "2.5", "1.5", "2.0", "0.0"]), "m": str(r.randrange(4)), "l": str(r.randrange(3)), "s": str(r.randrange(2))}
        for key, word in words.items():
            form = form.replace(f"{{{key}}}", word)
        return form.replace("{{", "{").replace("}}", "}")


def _body(r: random.Random, words: _Words, numbers: list[str], reads: list[str]) -> list[str]:
    """Two or three ways to read the same thing at most: what one of them relies on is not told by another."""
    number, read = words.fill(r.choice(numbers)), words.fill(r.choice(reads))
    form = r.choice(NUMBER_USES if r.random() < 0.5 else READ_USES)
    return form.replace("{n}", number).replace("{r}", read).split("\n")


def _order(r: random.Random, states: list[str]) -> list[str]:
    """The first for some time, then back and forth."""
    made = [states[0]] * r.choice([1, 2, 3, 3])
    for _ in range(r.randint(5, 8)):
        made.append(states[0] if r.random() < 0.4 else r.choice(states))
    return made


def _values(r: random.Random, words: _Words):
    kind = r.choice([*VALUES, "sign", "sign", "few", "few", "few", "layout", "layout", "dict"])
    values, numbers, reads = VALUES[kind]
    fitting = [place for place in PLACES if (place[0] in SETTINGS) == (kind == "sign")] if kind in ("few", "float", "sign") else PLACES
    place, store = r.choice(fitting)
    states = [store.format(v=words.fill(v)) for v in r.sample(values, min(len(values), r.choice([2, 2, 3, 4])))]
    put = lambda forms: [form.replace("{q}", place) for form in forms]
    return states, put(numbers), put(reads)


def _changes(r: random.Random, words: _Words):
    changes, numbers, reads = CHANGES[r.choice([*CHANGES, "store", "store", "method", "property", "wrapped", "fields", "fields"])]
    some = [words.fill(change) for change in r.sample(changes, min(len(changes), r.choice([1, 2, 3, 4])))]
    return ["pass", *some], numbers, reads


def program(r: random.Random) -> Program:
    words = _Words(r)
    states, numbers, reads = (_values if r.random() < 0.6 else _changes)(r, words)
    body = _body(r, words, numbers, reads)
    size, dtype = r.choice(["3", "3", "3", "4", "(3, 1)"]), r.choice(["f8", "f8", "f8", "f4", "i8"])
    third = r.choice(["thing", "thing", "heir"]) if words.fixed["o"] == "k" else r.choice(["1", "2", "2.5"])
    calls = []
    for number, state in enumerate(_order(r, states)):
        lines = [f"x, y, k = numbers({size}, {dtype!r}, {number}), numbers({size}, {dtype!r}, {number + 20}), {third}", state, "arguments = (x, y, k)"]
        calls.append("\n".join(lines))
    source = HEAD + "\ndef f(x, y, k):\n" + "".join(f"    {line}\n" for line in body)
    return Program(source, tuple(calls), WATCH, None, r.choice([(), (), (), (("recompile_limit", 3),)]))
