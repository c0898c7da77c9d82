"""The standard library that numerical code leans on: itertools, functools, operator, math, collections. Part of corpus_lang."""

import collections
import copy
import functools
import heapq
import itertools
import math
import operator
import types
import weakref

import numpy as np

from corpus_case import Corpus, numbers

COUNTER = [itertools.count(3)]   # a global's iterator


def reset():
    COUNTER[0] = itertools.count(3)


corpus = Corpus(reset, lambda: COUNTER[0])
case, group = corpus.case, corpus.group

group("itertools")


@case
def itertools_chain(x, items):
    return list(itertools.chain(items, [1], "ab")), [y + 1 for y in itertools.chain.from_iterable([[x], [x * 2]])]


@case
def itertools_count_cycle_repeat(x):
    c = itertools.count(2, 3)
    out = [x + next(c) for _ in range(3)]
    cyc = itertools.cycle([1, 2])
    return out, [next(cyc) for _ in range(5)], list(itertools.repeat(x, 2)), c, cyc


@case
def itertools_islice(x, n):
    return list(itertools.islice(range(10), n)), list(itertools.islice("abcdefg", 1, None, 2)), itertools.islice(itertools.count(), n), x + n


@case
def itertools_accumulate(x, items):
    return list(itertools.accumulate([1, 2, 3])), list(itertools.accumulate([x, x, x])), list(
        itertools.accumulate([3, 1, 2], max)), list(itertools.accumulate([1, 2], initial=10))


@case
def itertools_product(x, n):
    total = x
    for a, b in itertools.product(range(n), (1, 2)):
        total = total + a * b
    return total, list(itertools.product("ab", repeat=2))


@case
def itertools_combinatorics(x):
    return list(itertools.permutations([1, 2, 3], 2)), list(itertools.combinations("abc", 2)), sum(
        a * b for a, b in itertools.combinations_with_replacement([1, 2], 2)) + x


@case
def itertools_zip_longest(x, items):
    return [a if b is None else (a, b) for a, b in itertools.zip_longest(items, [1, 2])], list(
        itertools.zip_longest("a", "bc", fillvalue=x))


@case
def itertools_takewhile_dropwhile(x, items):
    keep = [i for i in items if not isinstance(i, str)]
    return list(itertools.takewhile(lambda i: i < 2, keep)), list(itertools.dropwhile(lambda i: i < 2, keep)), list(
        itertools.filterfalse(None, [0, 1, x is None]))


@case
def itertools_groupby(x):
    out = {}
    for key, group_ in itertools.groupby([1, 1, 2, 3, 3], key=lambda v: v > 1):
        out[key] = [x + g for g in group_]
    return out


@case
def itertools_pairwise_starmap(x, items):
    return list(itertools.pairwise(items)), list(itertools.starmap(lambda a, b: x * a + b, [(1, 2), (3, 4)]))


@case
def itertools_tee_compress(x, items):
    a, b = itertools.tee(items)
    next(a, None)
    return list(a), list(b), list(itertools.compress("abc", [1, 0, 1])), x + 1


group("iterators of dicts, sets and itertools made outside")

STEPS = [lambda: iter({"a": 1, "b": 2.5, "c": 3}), lambda: iter({"a": 1, "b": 2}.values()), lambda: iter({"a": numbers(3), "b": 2}.items()),
         lambda: iter({1, 2, 3}), lambda: itertools.count(2), lambda: itertools.count(0.5, 3), lambda: itertools.chain([1, 2], (3, 4.5)),
         lambda: itertools.islice([1, 2, 3, 4, 5], 1, 4), lambda: itertools.islice(itertools.count(), 2, None, 2),
         lambda: itertools.zip_longest([1, 2, 3], [4, 5], fillvalue=0), lambda: itertools.product([1, 2], "ab"), lambda: itertools.cycle([1, 2]),
         lambda: itertools.repeat(numbers(3), 4), lambda: itertools.accumulate([1, 2, 3]), lambda: itertools.combinations([1, 2, 3], 2),
         lambda: reversed([1, 2, 3]), lambda: reversed({"a": 1, "b": 2}), lambda: itertools.takewhile(lambda v: v < 3, [1, 2, 3]),
         lambda: itertools.starmap(max, [(1, 2), (3, 2), (1, "s")]), lambda: itertools.pairwise([1, 2, 3]), lambda: filter(lambda v: v > 1, [1, 2, 3]),
         lambda: itertools.tee([1, 2])[0], lambda: itertools.chain.from_iterable([[1], [], [2, 3]]), lambda: iter([3, 2, 0].pop, 2)]
LONG = [lambda: list(range(3000)), lambda: range(3000), lambda: dict.fromkeys(range(900), 2), lambda: [0.5] * 700, lambda: (i for i in range(800)),
        lambda: [1] * 600 + ["s"], lambda: set(range(900)), lambda: itertools.chain(range(500), [numbers(2)])]


@case(it=STEPS, sets=len(STEPS))
def outside_step(x, it):
    y = x * 2
    first = next(it)
    x[:1] += 1
    return y, first, next(it, "end"), it


@case(it=STEPS, sets=len(STEPS))
def outside_loop(x, it):
    out = []
    for i, v in zip(range(4), it):
        out.append((i, v))
        x = x + 1
    for v in it:
        x = x * 2
        if len(out) > 3:
            break
        out.append(v)
    return out, x, it


@case(it=STEPS[:9] + STEPS[16:20], sets=13)
def outside_loop_that_raises(x, it):
    y = x
    for v in itertools.islice(it, 5):
        x[1:] += 1
        y = y * v
    return y


@case
def outside_of_a_global(x, n):
    y = x * 2
    return y + next(COUNTER[0]), [next(COUNTER[0]) for _ in range(n)]


@case(big=LONG)
def long_generator_expressions(x, big):
    y = x * 2
    total = sum(v * v for v in big)
    return y * total, total, max((v + 1 for v in big), default="none"), any(v == 7 for v in big), y


@case(big=LONG)
def long_generator_expressions_kept(x, big):
    y = x * 2
    g = (v for v in big if v != 3)
    first = next(g)
    return y, first, [v for v in g][:5], list(g), {v % 3: v for v in big if v}, y + 1


group("functools")


@case
def functools_partial(x, k):
    f = functools.partial(lambda a, b=1, *, c=0: a * b + c, x)
    g = functools.partial(f, c=2)
    return f(), g(3), g.args, g.keywords, functools.partial(int, base=2)("101")


@case
def functools_partial_of_numpy(x):
    total = functools.partial(np.sum, axis=-1)
    return total(x), total(x, keepdims=True)


@case
def functools_reduce(x, items, xs):
    return functools.reduce(operator.add, [1, 2, 3]), functools.reduce(lambda a, b: a + b, xs, 0), functools.reduce(
        lambda a, b: b, items, x)


@case
def functools_reduce_empty(x):
    y = x + 1
    return functools.reduce(operator.add, []), y


@case
def functools_wraps(x):
    def outer(f):
        @functools.wraps(f)
        def g(y):
            """inner"""
            return f(y) + 1

        return g

    @outer
    def h(y):
        """doc"""
        return y * 2

    return h(x), h.__name__, h.__doc__, h.__wrapped__(x)


@case(factory=True)
def functools_lru_cache():
    calls = []

    @functools.lru_cache(maxsize=2)
    def slow(k):
        calls.append(k)
        return k * 2

    def f(x, n):
        return x * slow(n) + slow(n), slow.cache_info().hits

    return f


@case
def functools_cache_inside(x, n):
    @functools.cache
    def fib(i):
        return i if i < 2 else fib(i - 1) + fib(i - 2)

    return x + fib(n + 5)


@case
def functools_cached_property(x, log):
    class C:
        @functools.cached_property
        def heavy(self):
            log.append("once")
            return x * 2

    c = C()
    return c.heavy is c.heavy, c.heavy + 1, vars(c)


@case
def functools_total_ordering_and_cmp(x):
    @functools.total_ordering
    class V:
        def __init__(self, v):
            self.v = v

        def __eq__(self, o):
            return self.v == o.v

        def __lt__(self, o):
            return self.v < o.v

    return V(1) <= V(2), V(3) >= V(4), sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: b - a)), x + 1


@case(k=[1, 2.5, "s", None, [1], 3, True, 1.5])
def functools_singledispatch(x, k):
    @functools.singledispatch
    def f(v):
        return "any"

    @f.register
    def _(v: int):
        return x + v

    @f.register
    def _(v: float):
        return x * v

    return f(k)


@case
def functools_partialmethod(x):
    class C:
        def scale(self, by, y):
            return y * by

        twice = functools.partialmethod(scale, 2)

    return C().twice(x)


group("operator and math")


@case
def operator_functions(x, k):
    return operator.add(x, 1), operator.mul(x, x), operator.neg(x), operator.getitem([1, 2], 0), operator.truth(k), operator.not_(k)


@case
def operator_compared(x, n):
    return operator.lt(n, 3), operator.eq(n, 3), operator.is_(None, None), operator.contains([1, 2], n), operator.index(n), x + 1


@case
def operator_getters(x):
    item, items, attribute, call = operator.itemgetter(1), operator.itemgetter(0, 2), operator.attrgetter("shape"), operator.methodcaller("sum")
    return item([1, x]), items("abc"), attribute(x), call(x), operator.attrgetter("real.ndim")(x)


@case
def operator_module_in_place(x, log):
    y = operator.iadd(log, [1])
    z = x.copy()
    w = operator.imul(z, 2)
    return y is log, w is z, w


@case
def operator_as_table(x, text):
    table = {"abc": operator.add, "x": operator.sub}
    return table.get(text, operator.mul)(x, 2)


@case
def math_functions(x, n):
    return math.sqrt(n), math.floor(2.7), math.ceil(2.1), math.pi, math.hypot(3, 4), math.gcd(12, n), math.fsum([0.1] * 3), x * math.trunc(2.9)


@case(k=[0.5, -1.0, 2, 0, 1e308, float("nan"), None, float("inf")])
def math_domain(x, k):
    y = x + 1
    return math.log(k), math.sqrt(k), y


@case(k=[0.5, -1.0, 2, 0, 1e9, float("nan"), True, float("inf")])
def math_classification(x, k):
    return math.isnan(k), math.isinf(k), math.isfinite(k), math.copysign(1, k), math.isclose(k, 0.5), x if math.isnan(k) else -x


@case
def math_integers(n):
    return math.factorial(n), math.comb(5, 2), math.isqrt(17), math.prod([1, 2, n]), math.lcm(4, 6), math.perm(4, 2), np.arange(n)


group("collections")


@case
def collections_defaultdict(x, items):
    d = collections.defaultdict(list)
    for i, item in enumerate(items):
        d[i % 2].append(item)
    d["arrays"].append(x)
    return d, d["none"], len(d), d.get("zz")


@case
def collections_defaultdict_argument(x):
    d = collections.defaultdict(lambda: x * 2)
    a = d["new"]
    return a is d["new"], dict(d), "other" in d


@case
def collections_ordered_dict(x):
    d = collections.OrderedDict(a=1, b=x)
    d.move_to_end("a")
    d["c"] = 3
    return d, list(d), d.popitem(last=False), list(reversed(d)), d == {"a": 1, "c": 3}


@case
def collections_counter(x, text):
    c = collections.Counter(text)
    c.update("ab")
    c["z"] += 1
    return c, c["none"], c.most_common(1), sum(c.values()) + x, c - collections.Counter("a")


@case
def collections_chainmap(x):
    m = collections.ChainMap({"a": x}, {"a": 1, "b": 2})
    m["c"] = 3
    return m["a"], m["b"], m.maps, len(m)


@case
def collections_user_containers(x):
    class L(collections.UserList):
        pass

    u = L([1, 2])
    u.append(x)
    return u.data, u[0], len(u), collections.UserDict(a=1)["a"]


@case
def collections_deque_algorithms(x, n):
    seen, queue = {0}, collections.deque([0])
    while queue:
        i = queue.popleft()
        for j in (i + 1, i + 2):
            if j <= n and j not in seen:
                seen.add(j)
                queue.append(j)
    return sorted(seen), x + len(seen)


group("others")


@case
def heap_used(x, items):
    heap = [5, 3, 8]
    heapq.heapify(heap)
    heapq.heappush(heap, 1)
    return heapq.heappop(heap), heap, heapq.nsmallest(2, [3, 1, 2]), x * 2


@case
def copy_used(x, d):
    deep = copy.deepcopy({"x": x, "again": x, "d": d})
    shallow = copy.copy(d)
    shallow["n"] = 1
    return deep["x"] is deep["again"], deep["x"] + 1, shallow, d


@case
def simple_namespace(x, k):
    s = types.SimpleNamespace(x=x, k=k)
    s.y = s.x + 1
    del s.k
    return s, s == types.SimpleNamespace(x=1) if False else s.y


@case
def weak_references(x):
    class C:
        pass

    c = C()
    c.x = x
    r = weakref.ref(c)
    alive = r() is c
    y = r().x + 1
    del c
    return alive, r() is None, y


@case
def module_attributes(x):
    import math as m

    from math import tau

    m2 = __import__("operator")
    return x * tau, m.e, m2.add(1, 2), np.pi


@case
def import_inside(x, flag):
    if flag:
        import itertools as it

        return list(it.repeat(x, 2))
    from collections import deque

    return deque([x])


@case
def import_error(x):
    y = x + 1
    from math import nothing_there

    return nothing_there, y


@case
def struct_and_regex(x, text):
    import re

    found = re.match(r"(\w)", text)
    return found and found.group(1), re.sub("a", "b", text), x + len(re.findall(".", text))


@case
def random_of_seed(x):
    import random

    r = random.Random(3)
    g = np.random.default_rng(1)
    return x + r.randint(1, 5), g.integers(0, 9, 3), r.choice("abc")


@case
def fractions_and_decimals(x):
    from decimal import Decimal
    from fractions import Fraction

    return Fraction(1, 3) + 1, Decimal("1.10") * 2, x + int(Fraction(4, 2))


@case
def time_and_gc_calls(x):
    import gc
    import time

    before = time.perf_counter()
    gc.collect()
    return time.perf_counter() >= before, x + 1


@case
def warnings_given(x, n):
    import warnings

    y = x + 1
    if n > 2:
        warnings.warn(f"n is {n}", UserWarning, stacklevel=1)
    return y * 2


@case
def stack_inspected(x):
    import sys

    y = x + 1
    frame = sys._getframe()
    return frame.f_code.co_name, sorted(frame.f_locals), frame.f_lineno - frame.f_code.co_firstlineno, y


@case
def threads_used(x):
    import threading

    out = []
    t = threading.Thread(target=lambda: out.append(x + 1))
    t.start()
    t.join()
    return out, x * 2
