"""Collections: deques, namedtuples, dataclass functions, Counter, OrderedDict, defaultdict, enums, copies, objects as keys, iterators
made outside. Part of corpus_lang; test_collections.py wants each of them captured without a break."""

import collections
import copy
import dataclasses
import enum
import typing
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple

import numpy as np

from corpus_case import Corpus, numbers

corpus = Corpus()
case, group = corpus.case, corpus.group

Point = namedtuple("Point", "x y", defaults=(0,))


class Scored(typing.NamedTuple):
    name: str
    value: object = 1.0

    def doubled(self):
        return self._replace(value=self.value * 2)


class Vector(namedtuple("Vector", "x y")):
    __slots__ = ()

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    @property
    def total(self):
        return self.x + self.y


class Color(enum.Enum):
    RED = 1
    GREEN = 2
    BLUE = 4


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 5


@dataclasses.dataclass
class State:
    x: object
    rate: float = 0.5
    tags: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Key:
    name: str
    index: int = 0


class Plain:
    def __init__(self, value):
        self.value = value


class Hashed:
    def __init__(self, value, log):
        self.value, self.log = value, log

    def __hash__(self):
        self.log.append("hash")
        return hash(self.value)

    def __eq__(self, other):
        self.log.append("eq")
        return type(other) is Hashed and self.value == other.value


class Config(dict):
    def scaled(self, x):
        return x * self["scale"] if "scale" in self else x

    def __missing__(self, key):
        return key


group("deques")


@case
def deque_built(x, k):
    q = deque([x, 1], maxlen=3)
    q.append(k)
    q.append(x * 2)
    q.appendleft("first")
    return q, len(q), q.maxlen, q[0], q[-1] is q[2], bool(q), deque().maxlen


@case
def deque_window(x):
    window = deque(maxlen=2)
    out = []
    for i in range(4):
        window.append(x * i)
        out.append(sum(window))
    return out, list(window)


@case
def deque_methods(x):
    q = deque([3, 1, 2, 1])
    q.rotate(1)
    q.rotate(-2)
    q.extend([5, 6])
    q.extendleft((7, 8))
    q.insert(1, "in")
    q.remove(2)
    q.reverse()
    c = q.copy()
    a, b = q.pop(), q.popleft()
    q[0] = x
    del q[1]
    return q, a, b, c, c.count(1), c.index(1), 5 in c, c == deque(c), x + len(q)


@case
def deque_errors(x):
    q = deque()
    try:
        q.popleft()
    except IndexError as e:
        first = str(e)
    try:
        deque([1], maxlen=1).insert(0, 2)
    except IndexError as e:
        return first, str(e), x + 1


@case
def deque_changed_while_iterated(x):
    q = deque([1, 2])
    y = x * 2
    try:
        for i in q:
            q.append(i)
    except RuntimeError as e:
        return str(e), q, y


@case(q=[lambda: deque(), lambda: deque([1.5]), lambda: deque([numbers(3)], maxlen=2), lambda: deque([1, 2], maxlen=2),
         lambda: deque(maxlen=0), lambda: deque("ab"), lambda: deque([1]), lambda: deque([None], 1)])
def deque_argument_appended(x, q):
    q.append(x + 1)
    return q


@case(q=[lambda: deque([1, 2]), lambda: deque([1.5, 2]), lambda: deque([numbers(3), 1], maxlen=2), lambda: deque([1, 2], maxlen=3),
         lambda: deque([1]), lambda: deque("ab"), lambda: deque([1, 2, 3]), lambda: deque([None, 0], 5)])
def deque_argument_changed(x, q, log):
    q.append(x)
    q.appendleft(1)
    log.append(q.pop())
    first = q.popleft()
    q.rotate(1)
    q.extend([x * 2, 7])
    q[0] = "new"
    log.append(q)
    return first, list(q), q.maxlen, x * len(q)


@case
def deque_iterated(x):
    q = deque([x, x + 1, 2])
    it = iter(q)
    first = next(it)
    return first, it, [i for i in reversed(q)], max(deque([1, 3, 2]))


@case(q=[lambda: deque([1, 2])] * 3)
def deque_of_outside_twice(x, q):
    same = q
    same.append(x)
    return q is same, len(q), q[-1] is x, x * 2


group("namedtuples")


@case
def namedtuple_constructed(x, k):
    p = Point(x * 2, k)
    q = Point(y=1, x=x)
    return p, q.x, q.y, q[0] is q.x, len(p), Point(1), p._fields, isinstance(p, tuple), type(p) is Point


@case
def namedtuple_methods(x):
    p = Point(x, 2)
    q = p._replace(y=x + 1)
    r = Point._make([3, x])
    return q, r, p._asdict(), [*p][1], p == Point(x, 2)[0:0] or (1, 2) == Point(1, 2), Point(1, 2) < Point(1, 3)


@case
def namedtuple_typed(x):
    s = Scored("n", x)
    return s.doubled(), Scored("d"), s.name, s.value * 3


@case
def namedtuple_derived(x):
    v = Vector(x, 1) + Vector(x, 2)
    return v, v.total, v.x, v + v


@case(p=[lambda: Point(numbers(3), 2), lambda: Point(1.5, 2), lambda: Vector(1, 2), lambda: Point(1, numbers(2)), lambda: Scored("x", 2)])
def namedtuple_argument(x, p):
    a, b = p
    return p, p[1], a, x * 2 if b is None else b, len(p), p[:1], p + (1,)


@case(p=[lambda: Point(numbers(3), 2), lambda: Point(1.5, 2.5), lambda: Vector(1, 2)])
def namedtuple_argument_fields(x, p):
    return p._replace(x=x + 1), p.x, p.y * 2


@case
def namedtuple_wrong(x):
    y = x + 1
    try:
        Point._make([1, 2, 3])
    except TypeError:
        return y


@case
def namedtuple_as_key(x):
    d = {Point(1, 2): x, (3, 4): 1}
    return d[1, 2] * 2, d[Point(3, 4)], Point(1, 2) in d, len(d)


group("dataclasses")


@case
def dataclass_replaced(x):
    s = State(x)
    t = dataclasses.replace(s, x=x + 1, rate=2.0)
    return t, s.tags is t.tags, t.x * t.rate


@case
def dataclass_as_dict(x):
    s = State(x * 2, tags=["a"])
    d = dataclasses.asdict(s)
    return d, d["x"] is s.x, d["tags"] is s.tags, dataclasses.astuple(Key("k", 2)), x + 1


@case(s=[lambda: State(numbers(3)), lambda: State(numbers(3), 2.0, ["t"]), lambda: State(1.5)])
def dataclass_argument_replaced(x, s):
    return dataclasses.replace(s, x=x), s.x


@case
def dataclass_fields_listed(x):
    return [f.name for f in dataclasses.fields(State)], dataclasses.is_dataclass(State), x * 2


group("dicts of other classes")


@case
def counter_used(x, text):
    c = Counter("abca")
    c["a"] += 2
    c.update("bb")
    c.update({"z": 3})
    missing = c["none"]
    return c, missing, c["a"], len(c), list(c.elements())[:2], sum(c.values()), x * c["b"]


@case
def counter_arithmetic(x):
    a, b = Counter(a=3, b=1), Counter(a=1, c=2)
    a.subtract(b)
    return a, a + b, +a, a.total(), x + 1


@case(c=[lambda: Counter("aab"), lambda: Counter(), lambda: Counter({"a": 5}), lambda: Counter([1, 2, 1])])
def counter_argument(x, c):
    c["a"] += 1
    c["new"] = x
    return c["missing"], c["a"], len(c), x * 2


@case
def defaultdict_used(x):
    d = defaultdict(list)
    d["a"].append(x)
    d["a"].append(x + 1)
    n = defaultdict(int)
    for ch in "abca":
        n[ch] += 1
    return d, n, n.default_factory, "q" in n, n.get("q"), defaultdict(None, a=1)


@case(d=[lambda: defaultdict(list), lambda: defaultdict(list, a=[1]), lambda: defaultdict(list, {"b": [2]}), lambda: defaultdict(int)])
def defaultdict_argument_changed(x, d):
    y = x + 1
    d["n"] = y
    d["more"]
    return d.default_factory, d["more"], len(d), y * 2


@case
def defaultdict_without_factory(x):
    y = x + 1
    try:
        return defaultdict()["a"]
    except KeyError as e:
        return e.args, y


@case
def ordered_dict_used(x):
    d = OrderedDict(a=x, b=2)
    d["c"] = 3
    d.move_to_end("a")
    d.move_to_end("c", last=False)
    first = d.popitem(last=False)
    e = d.copy()
    e.pop("b")
    return d, list(d), first, e, d == OrderedDict(a=x, b=2) if False else d == {"b": 2}, list(d.items()), x + 1


@case(d=[lambda: OrderedDict(a=1, b=2, c=3), lambda: OrderedDict(c=1, a=2, b=3), lambda: OrderedDict(a=numbers(2), b=1, c=0)])
def ordered_dict_argument(x, d):
    d.move_to_end("a")
    d["new"] = x * 2
    last = d.popitem()
    del d["b"]
    d.move_to_end("c", False)
    return last, list(d), d


@case(d=[lambda: OrderedDict(a=1, b=2), lambda: OrderedDict(b=2, a=1)])
def ordered_dict_order_is_guarded(x, d):
    return list(d), [v for v in d.values()], x + 1


@case
def dict_subclass_made(x):
    c = Config(scale=2)
    c["more"] = x
    return c, c.scaled(x), c["absent"], c.get("absent"), len(c), "scale" in c, dict(c), c == {"scale": 2} if False else 1


@case(c=[lambda: Config(scale=2), lambda: Config(), lambda: Config(scale=numbers(1)[0])])
def dict_subclass_argument(x, c):
    c["seen"] = 1
    return c.scaled(x), c["nothing"], list(c)


@case
def dicts_compared(x):
    a = {"x": 1, "y": [1, 2]}
    return a == {"y": [1, 2], "x": 1}, a == {"x": 1}, a != {"x": 1, "y": 3}, OrderedDict(a=1, b=2) == OrderedDict(b=2, a=1), \
        OrderedDict(a=1, b=2) == {"b": 2, "a": 1}, x + 1


group("keys")


@case(d=[lambda: {0: 1.5, 1: 2}, lambda: {0: numbers(3), 2: 1}, lambda: {(1, 2): 3, 0: 1}, lambda: {None: 1, 0: 2, 2.5: 3}])
def dict_of_numbers_as_keys(x, d):
    d[7] = x * 2
    return d[0], list(d), d.get(1), (1, 2) in d


@case(d=[lambda: {Color.RED: 2.0, Color.BLUE: 1}, lambda: {Color.RED: numbers(2)}, lambda: {int: 3, Color.RED: 1}])
def dict_of_members_as_keys(x, d):
    d[Color.GREEN] = x
    return d[Color.RED], Color.BLUE in d, len(d), [k for k in d], x + 1


@case
def objects_as_keys(x):
    a, b = Plain(1), Plain(2)
    d = {a: x, b: x + 1}
    d[a] = 3
    return d[a], d[b], Plain(1) in d, len(d), {int: 1, Plain: 2}[Plain]


@case
def dataclass_as_key(x):
    d = {Key("a"): x}
    d[Key("a")] = x + 1
    d[Key("b", 2)] = 5
    return len(d), d[Key("a")], Key("c") in d, d.get(Key("b", 2))


@case
def hashes_asked_for(x, log):
    a, b, c = Hashed(1, log), Hashed(1, log), Hashed(2, log)
    d = {a: x}
    d[a] = 2
    d[b] = x + 1
    return len(d), d[a], c in d, d.get(b), {**d}[b], log, x * 2


@case
def objects_as_keys_leave(x):
    a = Plain(1)
    return {a: x + 1, Color.RED: 1, int: 2}, a


@case
def unhashable_key(x, items):
    y = x + 1
    try:
        {}[[1]] = 2
    except TypeError:
        return y


@case(s=[lambda: {1, 2}, lambda: {2.5}, lambda: set(), lambda: {(1, 2), "a"}, lambda: {Color.RED, 1}])
def set_argument_asked(x, s):
    seen = []
    for i in (1, "a", 1):
        if i not in s:
            s.add(i)
            seen.append(i)
    s.discard(2)
    return seen, 2 in s, (1, 2) in s, x + len(seen)


@case(s=[frozenset({1, 2}), frozenset(), frozenset("ab")])
def frozenset_argument_asked(x, s):
    return 1 in s, "a" in s, x * 2


@case
def set_of_objects(x):
    a, b = Plain(1), Plain(x)
    seen = {a}
    seen.add(b)
    seen.add(a)
    return a in seen, Plain(1) in seen, len(seen), {a: 1}.keys() is None, seen if False else bool(seen), x + 1


@case(objects=[lambda: [Plain(1), Plain(2)], lambda: [Plain(1)] * 2, lambda: [Plain(3)]])
def set_of_objects_of_outside(x, objects):
    seen = set()
    for o in objects:
        if o not in seen:
            seen.add(o)
    return len(seen), objects[0] in seen, x * 2


@case
def set_of_objects_leaves(x):
    a = Plain(x)
    return {a, 1}, a


@case
def set_of_members(x):
    warm = {Color.RED, Color.BLUE}
    return Color.RED in warm, Color.GREEN in warm, len(warm), warm | {Color.GREEN} == set(Color), x + 1


group("enums")


@case
def enum_members_found(x):
    return Color(2), Color["BLUE"], Color(1) is Color.RED, Color.RED.name, Color.GREEN.value * x


@case
def enum_iterated_over(x):
    return [c.name for c in Color], len(Color), Color.RED in Color, [c.value for c in Color if c is not Color.RED], x + 1


@case
def enum_int_members(x):
    return x * Level.HIGH.value, Level(1) is Level.LOW, Level["HIGH"]


@case(c=[Color.RED, Color.GREEN, Color.BLUE, Color.RED])
def enum_argument_dispatch(x, c):
    table = {Color.RED: 1, Color.GREEN: 2.5}
    return x * table.get(c, 0), c == Color.RED, c.name, Color(c.value) is c


@case(c=[Color.RED, Color.GREEN, Color.BLUE, 1, None, Level.LOW, "RED", Color.RED])
def enum_argument_in_sets(x, c):
    warm = {Color.RED, Color.BLUE, 1}
    return c in warm, c in {Color.RED: 1, 1: 2}, x + (2 if c in {Color.GREEN} else 1)


@case(c=[Color.RED, Color.GREEN, Plain(1), Color.RED, 2], s=[lambda: {Color.RED, 2}, lambda: {Color.RED}, set, lambda: {Color.BLUE}, lambda: {2}])
def enum_argument_in_set_argument(x, c, s):
    return c in s, x + 1


@case
def enum_unknown(x):
    y = x + 1
    try:
        Color["PINK"]
    except KeyError as e:
        return e.args, y


group("copies")


@case
def copies_of_containers(x):
    inner = [x, 1]
    a = {"k": inner, "t": (1, inner)}
    s, d = copy.copy(a), copy.deepcopy(a)
    d["k"].append(3)
    return s["k"] is inner, d["k"] is d["t"][1], d["k"][0] is x, a, d, copy.copy((1, 2)), copy.deepcopy((1, "a"))


@case
def copies_of_arrays(x, m):
    y = copy.copy(x)
    y[...] = 0
    z = copy.deepcopy(m.T)
    return y, z, x


@case
def copies_of_objects(x):
    p = Plain([x, 1])
    q, r = copy.copy(p), copy.deepcopy(p)
    r.value.append(2)
    return q.value is p.value, r.value, p.value, copy.deepcopy(State(x)), copy.copy(Point(1, x)), copy.copy(deque([1, x], 3))


group("iterators made outside")

LISTS = [lambda: iter([1.5, 2, 3, 4]), lambda: iter([numbers(3), 2, 3]), lambda: iter((1, 2, 3)), lambda: iter([1]), lambda: iter(()),
         lambda: iter(range(5, 20, 4)), lambda: iter(range(1))]


def advanced(make, count=1):
    def fresh():
        it = make()
        for _ in range(count):
            next(it, None)
        return it
    return fresh


@case(it=LISTS + [advanced(LISTS[0]), advanced(LISTS[5])])
def iterator_next(x, it):
    first = next(it, None)
    return first, it, x * 2


@case(it=[LISTS[0], advanced(LISTS[0]), LISTS[5], LISTS[2], LISTS[3]])
def iterator_loop(x, it):
    out = []
    for i in it:
        out.append(i * x)
        if len(out) == 2:
            break
    return out, it


@case(it=[LISTS[0], advanced(LISTS[0], 2), LISTS[2], LISTS[5]])
def iterator_drained(x, it):
    rest = list(it)
    return rest, next(it, "end"), x + len(rest)


@case(it=[lambda: enumerate([7, 8, 9]), advanced(lambda: enumerate([7, 8, 9])), lambda: enumerate((1.5, 2), 3),
          lambda: zip([1, 2], [3.5, 4]), advanced(lambda: zip([1, 2], (3.5, 4))), lambda: map(Plain, [1, 2])])
def iterator_of_iterators(x, it):
    first = next(it)
    return first if type(first) is tuple else first.value, [type(i) for i in it], x + 1


@case
def iterator_over_changed_list(x):
    items = [1, 2, 3]

    def both():
        return iter(items)

    it = both()
    pair = next(it), next(it)
    items.append(x)
    return pair, [i for i in it], x * 2


@case
def iterators_left_behind(x):
    a, b, c = iter([x, 1, 2]), enumerate("abc"), zip((1, 2), [3, 4])
    next(a), next(b), next(c)
    r = iter(range(3))
    next(r)
    d = iter({"p": 1, "q": x})
    next(d)
    return a, b, c, r, d, map(abs, [-1, 2]), iter("xyz"), x + 1
