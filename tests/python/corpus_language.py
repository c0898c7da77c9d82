"""Functions over one array that use the language: those marked whole are captured without a break, the others break for the reason
given. In a file of its own, because pytest rewrites the assert statements of test files."""

import collections
import contextlib
import functools
import itertools
import math
import operator

import numpy as np

WHOLE = []
BROKEN = []


def whole(fn):
    WHOLE.append(fn)
    return fn


def broken(reason):
    def mark(fn):
        BROKEN.append((fn, reason))
        return fn
    return mark


# ---- sets -----------------------------------------------------------------------------------------------------------

@whole
def set_literal(a):
    s = {3, 1, 2}
    s.add(7)
    s.discard(1)
    return a * len(s), 3 in s, 1 in s


@whole
def set_constant_membership(a):
    return a + (1 if 2 in {1, 2, 3} else 5)


@whole
def set_operators(a):
    x, y = {1, 2, 3}, {2, 3, 4}
    n = len(x | y) + 10 * len(x & y) + 100 * len(x - y) + 1000 * len(x ^ y)
    return a * n, x < y, x <= (x | y), x.isdisjoint({9})


@whole
def set_update_inplace(a):
    x = {1, 2}
    x |= {5, 6}
    x -= {1}
    x.update([8, 9], (10,))
    return a + sum(x), x


@whole
def set_comprehension(a):
    s = {i % 3 for i in range(10)}
    total = a
    for i in s:
        total = total + i
    return total


@whole
def set_pop_and_copy(a):
    s = {1, 2, 3}
    t = s.copy()
    first = s.pop()
    return a * first, len(s), len(t), s == t


@whole
def frozenset_of_list(a):
    f = frozenset([1, 2, 2])
    return a * len(f), f, f | {5}


@whole
def set_of_strings_returned(a):
    return a + 1, {"x", "y"}


@whole
def set_remove_missing(a):
    try:
        {1}.remove(2)
    except KeyError as e:
        return a + e.args[0]


# ---- exceptions -----------------------------------------------------------------------------------------------------

class Custom(ValueError):
    pass


class Detailed(Exception):
    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


@whole
def raise_and_catch(a):
    try:
        raise ValueError("no")
    except ValueError as e:
        return a + len(e.args)


@whole
def raise_class(a):
    try:
        raise Custom
    except KeyError:
        return a
    except (TypeError, ValueError):
        return a * 2


@whole
def catch_in_caller(a):
    def inner(n):
        if n > 2:
            raise Custom(n)
        return n
    total = a
    for i in range(5):
        try:
            total = total + inner(i)
        except Custom as e:
            total = total * e.args[0]
    return total


@whole
def try_else_finally(a):
    log = []
    try:
        x = a + 1
    except ValueError:
        log.append("except")
    else:
        log.append("else")
    finally:
        log.append("finally")
    return x, log


@whole
def finally_after_raise(a):
    log = []
    try:
        try:
            raise KeyError("k")
        finally:
            log.append("finally")
    except KeyError as e:
        log.append(str(e))
    return a + 1, log


@whole
def return_in_finally(a):
    def f():
        try:
            raise ValueError
        finally:
            return 7
    return a * f()


@whole
def reraise(a):
    try:
        try:
            raise ValueError("x")
        except ValueError:
            raise
    except ValueError as e:
        return a * len(str(e))


@whole
def raise_from(a):
    try:
        try:
            {}["missing"]
        except KeyError as e:
            raise RuntimeError("wrapped") from e
    except RuntimeError as e:
        return a + 1, str(e), type(e.__cause__) is KeyError


@whole
def bare_except(a):
    try:
        [][3]
    except:
        return a - 1


@whole
def key_error_of_dict(a):
    d = {"x": a}
    out = []
    for k in ("x", "y"):
        try:
            out.append(d[k] + 1)
        except KeyError as e:
            out.append(e.args)
    return out


@whole
def index_error(a):
    xs = [a, a + 1]
    try:
        return xs[2]
    except IndexError as e:
        return xs[1], str(e)


@whole
def zero_division(a):
    def ratio(n):
        try:
            return 10 // n
        except ZeroDivisionError:
            return -1
    return a * ratio(0) + ratio(5)


@whole
def type_error_of_constants(a):
    try:
        return "1" + 2
    except TypeError as e:
        return a + 1, type(e).__name__ if False else "TypeError"


@whole
def value_error_of_int(a):
    try:
        n = int("x1")
    except ValueError:
        n = 4
    return a * n


@whole
def assert_caught(a):
    try:
        assert len(a.shape) == 9, "rank"
    except AssertionError as e:
        return a + 1, e.args


@whole
def custom_exception_attributes(a):
    try:
        raise Detailed(5, "text")
    except Detailed as e:
        return a * e.code, str(e)


@whole
def nested_handlers(a):
    out = []
    try:
        try:
            raise ValueError(1)
        except ValueError:
            out.append("first")
            raise KeyError(2)
    except KeyError as e:
        out.append(repr(e))
    return a + 1, out


@whole
def exception_in_loop_with_continue(a):
    total = a
    for text in ("1", "x", "3"):
        try:
            total = total + int(text)
        except ValueError:
            continue
    return total


@whole
def stop_iteration_by_hand(a):
    it = iter([1, 2])
    total = a
    while True:
        try:
            total = total + next(it)
        except StopIteration:
            break
    return total


@broken("python-exception")
def uncaught(a):
    raise ValueError("x")


@broken("python-exception")
def reads_context(a):
    try:
        [][1]
    except IndexError:
        raise ValueError(a)


# ---- with -----------------------------------------------------------------------------------------------------------

class Manager:
    def __init__(self, log, swallow=False):
        self.log = log
        self.swallow = swallow

    def __enter__(self):
        self.log.append("enter")
        return self

    def __exit__(self, kind, value, traceback):
        self.log.append("exit" if kind is None else kind.__name__)
        return self.swallow


@whole
def with_user_manager(a):
    log = []
    with Manager(log) as m:
        b = a + 1
    return b, log, m is not None


@whole
def with_early_return(a):
    log = []

    def f():
        with Manager(log):
            return a * 2
    return f(), log


# ---- generators -----------------------------------------------------------------------------------------------------

@whole
def generator_expression(a):
    return a * sum(i * i for i in range(4))


@whole
def generator_of_arrays(a):
    total = np.zeros_like(a)
    for x in (a * i for i in range(3)):
        total = total + x
    return total


@whole
def generator_function(a):
    def pairs(n):
        for i in range(n):
            yield i, a + i
    total = a
    for i, x in pairs(3):
        total = total + i * x
    return total


@whole
def generator_with_return_and_yield_from(a):
    def inner():
        yield 1
        yield 2
        return 10

    def outer():
        got = yield from inner()
        yield got
        yield from [20, 30]
    return a + 1, list(outer())


@whole
def generator_send(a):
    def accumulate():
        total = 0
        while True:
            got = yield total
            if got is None:
                return
            total += got
    g = accumulate()
    next(g)
    g.send(5)
    return a + g.send(6)


@whole
def generator_left_early(a):
    def count():
        n = 0
        while True:
            yield n
            n += 1
    for n in count():
        if n > 4:
            break
    return a * n


@whole
def generator_any_all(a):
    seen = []

    def check(x):
        seen.append(x)
        return x > 1
    return a + 1, any(check(i) for i in range(5)), all(check(i) for i in range(5)), seen


@whole
def generator_exception_passes(a):
    def g():
        yield 1
        raise ValueError("in generator")
    total = a
    try:
        for x in g():
            total = total + x
    except ValueError as e:
        return total, str(e)


@whole
def generator_try_inside(a):
    def g():
        try:
            yield 1
            yield 2
        finally:
            log.append("closed")
    log = []
    return a * sum(g()), log


@whole
def generator_close(a):
    log = []

    def g():
        try:
            yield 1
        finally:
            log.append("finally")
    it = g()
    x = next(it)
    it.close()
    return a + x, log


@whole
def generator_throw(a):
    def g():
        try:
            yield 1
        except KeyError:
            yield 2
    it = g()
    next(it)
    x = it.throw(KeyError("x"))
    return a * x, next(it, "end")


@broken("generator")
def generator_left_in_try(a):
    def g():
        try:
            yield 1
            yield 2
        finally:
            pass
    for x in g():
        break
    return a + x


# ---- match ----------------------------------------------------------------------------------------------------------

class Point:
    __match_args__ = ("x", "y")

    def __init__(self, x, y):
        self.x = x
        self.y = y


def classify(value):
    match value:
        case 0:
            return "zero"
        case int() | float():
            return "number"
        case "a" | "b":
            return "letter"
        case []:
            return "empty"
        case [x]:
            return ("one", x)
        case [x, *rest]:
            return ("many", x, len(rest))
        case {"kind": kind, **others}:
            return ("map", kind, len(others))
        case None:
            return "none"
        case _:
            return "other"


@whole
def match_constants(a):
    return a + 1, [classify(v) for v in (0, 3, 2.5, "b", "c", None)]


@whole
def match_sequences(a):
    return a + 1, [classify(v) for v in ([], [1], (1, 2, 3))]


@whole
def match_mappings(a):
    return a + 1, classify({"kind": "k", "n": 1}), classify({})


@whole
def match_guard(a):
    match a.shape:
        case (n, m) if n > m:
            return a + 1
        case (n, m):
            return a * m


# ---- builtins -------------------------------------------------------------------------------------------------------

@whole
def sorted_by_key(a):
    words = ["bb", "a", "ccc"]
    return a + 1, sorted(words), sorted(words, key=len, reverse=True), sorted([3, 1, 2], key=lambda x: -x)


@whole
def min_max_key_default(a):
    return a * max([1, 5, 3]), min(["bb", "a"], key=len), max([], default=4)


@whole
def lazy_map_filter(a):
    log = []

    def f(x):
        log.append(x)
        return x + 1
    it = map(f, [1, 2, 3])
    first = next(it)
    return a * first, log, list(filter(None, [0, 1, 2])), list(map(operator.add, [1, 2], [10, 20]))


@whole
def enumerate_zip_reversed(a):
    total = a
    for i, (x, y) in enumerate(zip([1, 2, 3], reversed([4, 5, 6])), start=1):
        total = total + i * x * y
    return total


@whole
def zip_strict(a):
    try:
        list(zip([1, 2], [1], strict=True))
    except ValueError as e:
        return a + 1, str(e)


@whole
def next_default(a):
    it = iter(())
    return a + next(it, 3)


@whole
def isinstance_of_abstract(a):
    return a + 1, isinstance([], collections.abc.Sequence), isinstance({}, collections.abc.Mapping), isinstance(1, (str, int))


@whole
def issubclass_of_user_class(a):
    return a + 1, issubclass(Custom, ValueError), issubclass(Custom, (KeyError, TypeError))


@whole
def getattr_default(a):
    return a + getattr(a, "nothing", 2)


@whole
def string_methods(a):
    words = "the quick brown".split()
    return a * len(words), "-".join(w.upper() for w in words), f"{len(words):03d}|{words[0]!r}"


@whole
def bytes_and_ints(a):
    return a + ord("a"), hex(255), bin(5), bytes([1, 2]), int.from_bytes(b"\x01\x00", "big")


@whole
def unbound_methods(a):
    return a + 1, list(map(str.upper, ["x", "y"])), sorted(["B", "a"], key=str.lower)


@whole
def dict_union_and_views(a):
    d = {"x": 1} | {"y": 2}
    d |= {"z": 3}
    keys = d.keys()
    d["w"] = 4
    return a * len(keys), list(keys), list(d.items()), sum(d.values())


@whole
def dict_changed_during_iteration(a):
    d = {"x": 1}
    try:
        for k in d:
            d[k + "y"] = 2
    except RuntimeError as e:
        return a + 1, str(e)


@whole
def sum_with_start(a):
    return sum([a, a], start=a)


@whole
def star_expressions(a):
    first, *rest = [a, a + 1, a + 2]
    xs = [*rest, first]
    return {**{"k": xs[0]}, "n": len([*rest, *rest])}


@whole
def walrus(a):
    if (n := a.shape[0]) > 1:
        return a * n
    return a


@whole
def nonlocal_counter(a):
    n = 0

    def bump():
        nonlocal n
        n += 1
        return n
    bump()
    return a * bump() + n


# ---- standard library -----------------------------------------------------------------------------------------------

@whole
def math_functions(a):
    return a * math.sqrt(16.0) + math.floor(2.7), math.gcd(12, 18), math.prod([2, 3]), math.inf > 1, math.isnan(math.nan)


@whole
def operator_functions(a):
    get = operator.itemgetter(1)
    return operator.mul(a, get([1, 2])), operator.itemgetter(0, 2)("abc"), operator.methodcaller("upper")("x")


@whole
def operator_attrgetter(a):
    return a + 1, operator.attrgetter("ndim")(a), operator.not_([]), operator.contains([1], 1)


@whole
def functools_partial_reduce(a):
    def scale(x, by, plus=0):
        return x * by + plus
    f = functools.partial(scale, by=2)
    g = functools.partial(f, plus=1)
    return f(a), g(a), functools.reduce(operator.add, [1, 2, 3], 10)


@whole
def itertools_finite(a):
    c = itertools.chain([1], (2, 3))
    return (a * sum(c), list(itertools.product("ab", [1, 2])), list(itertools.combinations([1, 2, 3], 2)),
            list(itertools.permutations([1, 2])), list(itertools.chain.from_iterable([[1], [2]])))


@whole
def itertools_lazy(a):
    return (a + 1, list(itertools.islice(itertools.count(5, 2), 3)), list(zip(itertools.cycle("ab"), range(5))),
            list(itertools.takewhile(lambda x: x < 3, itertools.count())), list(itertools.repeat(7, 2)),
            list(itertools.accumulate([1, 2, 3])), list(itertools.dropwhile(lambda x: x < 2, [1, 2, 1])))


@whole
def itertools_more(a):
    return (a + 1, list(itertools.zip_longest([1, 2], [3], fillvalue=0)), list(itertools.starmap(pow, [(2, 3), (3, 2)])),
            list(itertools.pairwise([1, 2, 3])), list(itertools.compress("abc", [1, 0, 1])))


@whole
def itertools_islice_takes_no_more(a):
    it = iter([1, 2, 3, 4])
    head = list(itertools.islice(it, 2))
    return a * next(it), head


@whole
def defaultdict_groups(a):
    groups = collections.defaultdict(list)
    for i in range(4):
        groups[i % 2].append(i)
    return a + len(groups), groups[0], dict(groups)


@broken("input-output")
def prints(a):
    print(a.shape)
    return a + 1


@broken("unsupported-call")
def identity_number(a):
    return a + id(a) * 0


# ---- more of the library --------------------------------------------------------------------------------------------

@whole
def list_sort(a):
    xs = [3, 1, 2]
    xs.sort()
    words = ["bb", "a"]
    words.sort(key=len, reverse=True)
    return a * xs[0], xs, words


@whole
def import_inside(a):
    import math as m
    from collections import abc
    return a * m.floor(2.5), isinstance([], abc.Sized)


@whole
def user_iterator(a):
    total = a
    for n in Countdown(3):
        total = total + n
    return total, list(Countdown(2)), sum(Countdown(4))


class Countdown:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n <= 0:
            raise StopIteration
        self.n -= 1
        return self.n


@whole
def custom_exception_hierarchy(a):
    out = []
    for cls in (Custom, KeyError, ZeroDivisionError):
        try:
            raise cls("x")
        except LookupError:
            out.append("lookup")
        except ValueError:
            out.append("value")
        except Exception as e:
            out.append(type(e) is ZeroDivisionError)
    return a + 1, out


@whole
def exception_from_manager_body(a):
    log = []
    try:
        with Manager(log):
            raise ValueError("x")
    except ValueError:
        log.append("caught")
    return a + 1, log


@whole
def manager_swallows(a):
    log = []
    with Manager(log, swallow=True):
        raise KeyError("x")
    return a + 1, log


@whole
def exception_in_comprehension(a):
    x = 5
    try:
        ys = [1 // x for x in (1, 0)]
    except ZeroDivisionError:
        ys = None
    return a * x, ys


@whole
def unpacking_errors(a):
    out = []
    for value in ([1], [1, 2], [1, 2, 3]):
        try:
            x, y = value
            out.append(x + y)
        except ValueError as e:
            out.append(str(e))
    return a + 1, out


@whole
def generator_pipeline(a):
    def source():
        for i in range(4):
            log.append(("made", i))
            yield i

    def double(items):
        for item in items:
            log.append(("doubled", item))
            yield 2 * item
    log = []
    return a * sum(double(source())), log


@whole
def recursive_generator(a):
    def walk(tree):
        if isinstance(tree, list):
            for branch in tree:
                yield from walk(branch)
        else:
            yield tree
    return a + 1, list(walk([1, [2, [3]], 4]))


@whole
def zip_takes_in_order(a):
    it = iter([1, 2, 3, 4, 5])
    return a + 1, list(zip(it, it)), list(it)


@whole
def set_order_after_growth(a):
    s = set()
    for i in range(20, 0, -3):
        s.add(i)
    return a + 1, list(s), sorted(s)


@whole
def string_building(a):
    parts = []
    for i, name in enumerate(["x", "y"]):
        parts.append(f"{name}={i:>3}")
    return a + 1, ", ".join(parts), "%s-%d" % ("k", 3), "{}:{n}".format(1, n=2)


@whole
def contextlib_managers(a):
    with contextlib.suppress(KeyError):
        {}["missing"]
    with contextlib.nullcontext(5) as x:
        b = a * x
    return b


# ---- breaks inside constructs: same answers -------------------------------------------------------------------------

@broken("input-output")
def print_in_handler(a):
    total = a
    for i in range(3):
        try:
            if i == 1:
                raise ValueError(i)
            total = total + i
        except ValueError as e:
            print("handler", e)
            total = total * 2
    return total


@broken("input-output")
def print_in_finally(a):
    try:
        b = a + 1
        try:
            raise KeyError("k")
        finally:
            print("finally")
    except KeyError:
        b = b * 2
    return b


@broken("input-output")
def print_in_generator(a):
    def g():
        for i in range(3):
            print(i)
            yield a + i
    total = a
    for x in g():
        total = total + x
    return total


@broken("input-output")
def print_between_uses_of_exception(a):
    try:
        {}["k"]
    except KeyError as e:
        saved = e
    b = a + 1
    print(repr(saved))
    return b + len(saved.args)


@broken("input-output")
def print_with_iterators_alive(a):
    it = map(lambda x: x + 1, [1, 2, 3])
    b = a * next(it)
    print(type(it).__name__)
    return b + next(it)


@broken("input-output")
def print_with_set_alive(a):
    s = {1, 2}
    b = a + len(s)
    s.add(5)
    print(s)
    s.discard(1)
    return b, s


@whole
def dicts_of_other_classes(a):
    d = collections.OrderedDict(x=1, y=2)
    e = d.copy()
    return a + 1, type(e), d == collections.OrderedDict(y=2, x=1), d == {"y": 2, "x": 1}
