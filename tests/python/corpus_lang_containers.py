"""Containers: lists, tuples, dicts, sets, deques, strings, slices, unpacking, aliasing, iterators. Part of corpus_lang."""

from collections import deque

import numpy as np

from corpus_case import Corpus, numbers

corpus = Corpus()
case, group = corpus.case, corpus.group

group("lists")


@case
def list_built(x, k):
    out = [x, k]
    out.append(x + 1)
    out.extend([1, 2])
    out += (3,)
    out.insert(0, "first")
    return out


@case
def list_argument_mutated(x, items):
    items.append(x)
    items[0] = x * 2
    items.reverse()
    return len(items), items


@case
def list_methods(x, n):
    a = [3, 1, 2, 1]
    a.remove(1)
    b = a.copy()
    b.sort()
    a.pop(n % 3)
    return a, b, b.index(2), b.count(1), x + len(a)


@case(n=[0, 1, -1, 5, 3, -9, 2, None])
def list_index(x, n):
    items = [x, x + 1, x + 2]
    y = x * 2
    return items[n], y


@case(n=[0, 1, -1, 5, 3, -9, 2, "s"])
def list_item_written_or_deleted(x, n):
    items = [x, 1, 2, 3]
    items[n] = x + 1
    del items[n]
    return items


@case(j=[0, 1, 2, 5, -7, None, "s", 1.5])
def list_index_errors_told(x, j):
    """Every one of them has its own text."""
    told = []
    for what in (lambda a: a[j], lambda a: a.pop(j), lambda a: a.__setitem__(j, 1), lambda a: [].pop(j), lambda a: (1, 2)[j]):
        items = [x, 1]
        try:
            told.append(what(items))
        except (IndexError, TypeError) as e:
            told.append((type(e), str(e)))
    items = [x]
    try:
        items[j] = x + 1
    except IndexError as e:
        told.append(e.args)
    try:
        del items[j]
    except IndexError as e:
        told.append(repr(e))
    return told, items


@case
def list_slices(x, n):
    a = list(range(8))
    b = a[n:6:2]
    a[1:3] = [x, x, x]
    a[::4] = ["p", "q", "r"][: len(a[::4])]
    del a[-2:]
    return a, b, a[::-1]


@case
def list_operators(x, items):
    a = [x] + list(items)
    return a * 2, [0] * 3, [1, 2] < [1, 3], a == a, len(a) and a[-1], 2 in [1, 2]


@case
def list_concatenation_error(x, k):
    y = x + 1
    return [y] + k


@case
def list_aliased(x, n):
    a = [1]
    b = a
    c = [a, b, list(a)]
    b.append(x)
    c[0][0] = n
    return a is c[1], a == c[2], c, b


@case
def list_in_itself(x):
    a = [x]
    a.append(a)
    return a[1] is a, a


@case
def list_of_arrays_summed(xs):
    total = 0
    for x in xs:
        total = total + x
    return total, len(xs)


@case
def list_of_arrays_replaced(xs):
    for i in range(len(xs)):
        xs[i] = xs[i] * 2
    return xs


@case
def list_of_arrays_written(xs):
    for x in xs:
        x[0] = 9
    return xs[0].sum()


@case
def list_sorted_by_key(x, items):
    pairs = [(3, x), (1, x + 1), (2, None)]
    pairs.sort(key=lambda p: -p[0])
    return pairs, sorted(pairs, key=lambda p: p[0], reverse=True)[0][1]


@case
def list_clear_and_reuse(x, log):
    log += [1, 2]
    old = log
    log.clear()
    log.append(x)
    return old is log


@case
def list_equality_of_arrays(x):
    a, b = [x], [x]
    return a == b, x in a, a.index(x), [x, 1] == [x, 2]


@case
def list_augmented_alias(x, items):
    other = items
    items += [x]
    items = items + [1]
    return other, items, other is items


group("tuples")


@case
def tuple_built(x, k):
    t = (x, k, (1, x))
    return t, t[0] + 1, t[2][1] is x, t + (1,), t * 1, len(t)


@case
def tuple_compared(x, n):
    t = (n, 2)
    return t < (3, 1), t == (3, 2), (1, n) in [(1, 3)], hash((1, 2)) == hash((1, 2)), max((n, 1), (1, n)), x + 1


@case
def tuple_immutable(x):
    t = (x, [1])
    try:
        t[0] = 1
    except TypeError as e:
        t[1].append(str(e))
    return t


@case
def tuple_augmented_item(x):
    t = ([x], 1)
    try:
        t[0] += [2]
    except TypeError:
        pass
    return t


@case
def tuple_methods(x, k):
    t = (1, 2, 2, k)
    return t.count(2), t.index(2), t[1:], t[::-1], x + len(t)


@case
def tuple_identity(x, items):
    t = tuple(items)
    return tuple(t) is t, t[:] is t, (*t,), tuple([x])[0] is x


group("unpacking")


@case
def unpack_plain(x, items):
    a, b, c = items
    return x + a, b, c


@case
def unpack_star(x, items):
    first, *middle, last = items
    return first, middle, last, x + len(middle)


@case
def unpack_nested(x):
    (a, [b, *c]), d = (x, "bcd"), [1]
    return a + 1, b, c, d


@case
def unpack_swap(x, y):
    x, y = y, x
    a = [1, 2, 3]
    a[0], a[-1] = a[-1], a[0]
    return x, y, a


@case
def unpack_order_of_assignment(x):
    a = [0, 0, 0]
    i = 0
    i, a[i] = 1, x
    a[i], i = 5, 2
    return a, i


@case
def unpack_array(m):
    a, b, c = m
    return a + b - c, a.base is not None


@case
def unpack_array_of_elements(v):
    a, b, *rest = v
    return a + b, rest, type(a)


@case
def unpack_dict_and_string(x, d):
    a, b = d
    c, e = "xy"
    return a, b, c + e, d[a]


@case
def unpack_multiple_targets(x, items):
    a = b = [x]
    (c, *_), e = f = ([1, 2], 3)
    return a is b, c, e, f


@case
def star_expressions(x, items):
    return [*items, x], (*items,), {*map(str, items)}, {**{"a": x}, "b": 1, **{"a": 2}}


@case
def star_not_iterable(x, k):
    y = x + 1
    return [*k, y]


group("dicts")


@case
def dict_built(x, k):
    d = {"x": x, k: 1, 3: [x]}
    d["y"] = x + 1
    d.update(z=2, x=3)
    d |= {"w": 4}
    return d


@case
def dict_argument_read(x, d):
    return x * d["a"] + d.get("b", 0), "c" in d, len(d)


@case
def dict_argument_written(x, d):
    d["new"] = x
    d["a"] = d.pop("b", None)
    d.setdefault("list", []).append(x)
    return list(d)


@case
def dict_deleted(x, d):
    y = x + 1
    del d["b"]
    d["b"] = y
    return list(d)


@case
def dict_methods(x, d):
    copy = d.copy()
    copy["q"] = x
    return copy, list(d.items()), list(d.values()), d.get("zz"), dict(d) == d, copy.popitem()


@case
def dict_views(x, d):
    keys, values = d.keys(), d.values()
    d["later"] = x
    return keys, values, "later" in keys, len(values), keys & {"a"}, list(reversed(d))


@case
def dict_key_error(x, d, k):
    y = x + 1
    try:
        return d[k] + y
    except KeyError as e:
        return e.args, y


@case
def dict_of_arrays_updated(d, k):
    for key in d:
        d[key] = d[key] * 2
    return sum(d.values())


@case
def dict_merged(x, d):
    return d | {"a": x}, {"z": 1} | d, {**d, "a": 0}, d


@case
def dict_nested(x):
    d = {"a": {"b": {"c": x}}}
    d["a"]["b"]["c"] = d["a"]["b"]["c"] + 1
    d["a"]["e"] = d["a"]["b"]
    return d, d["a"]["e"] is d["a"]["b"]


@case
def dict_order_kept(x):
    d = {"a": 1, "b": 2, "c": 3}
    del d["a"]
    d["a"] = x
    d["b"] = 4
    return list(d), d


@case
def dict_unhashable_key(x):
    y = x + 1
    return {y: 1}


@case
def dict_keys_mixed(x):
    d = {1: "int", 1.0: "float", True: "bool", "1": x, (1, 2): 2, None: 3}
    return d, d[1], d[True], d[1, 2]


@case
def dict_counting(x, text):
    seen = {}
    for c in text:
        seen[c] = seen.get(c, 0) + 1
    return seen, x + len(seen)


@case
def dict_fromkeys_and_constructor(x, items):
    return dict.fromkeys("ab", x), dict([("a", 1), ("b", x)]), dict(a=1, **{"c": x}), dict(zip("xyz", items))


@case
def dict_mutated_through_alias(x, d):
    other = d
    nested = {"d": d}
    other["k"] = x
    nested["d"]["k2"] = x
    return d is nested["d"], len(d)


@case
def dict_nan_key(x):
    nan = float("nan")
    d = {nan: x}
    return d[nan], float("nan") in d, nan in d


group("sets")


@case
def set_built(x, items):
    s = set(items)
    s.add(1)
    s.add("t")
    s.discard(2)
    return s, len(s), 1 in s, x + len(s)


@case
def set_operators(x, n):
    a, b = {1, 2, n}, {2, 3}
    return a | b, a & b, a - b, a ^ b, a <= b, {2} < b, a.isdisjoint(b), x + len(a)


@case
def set_argument_mutated(x):
    s = {1, 2}
    t = s
    t |= {5}
    s.update([7, 8])
    s.remove(1)
    return s, s is t, x


@case
def set_errors(x, k):
    s = {1, 2}
    y = x + 1
    s.remove(k)
    return s, y


@case
def set_frozen(x, n):
    f = frozenset([1, n])
    return f, f | {9}, {f: x}[frozenset([n, 1])], hash(f) == hash(frozenset([n, 1]))


@case
def set_pop_until_empty(x):
    s, total = {4}, x
    while s:
        total = total + s.pop()
    return total, s


group("deques and strings")


@case
def deque_used(x, n):
    q = deque([1, 2], maxlen=3)
    q.append(x)
    q.appendleft(n)
    q.extend([7])
    q.rotate(1)
    return q, q[0], len(q), q.pop(), q.popleft()


@case(q=[lambda: deque([1, 2]), lambda: deque([], 2), lambda: deque([5], 1), lambda: deque("abc")] * 2)
def deque_argument(x, q):
    q.append(x)
    q.appendleft(x)
    return q.pop() is x, len(q)


@case
def deque_as_window(x, n):
    window, out = deque(maxlen=2), []
    for i in range(n):
        window.append(x + i)
        out.append(sum(window))
    return out, window


@case
def string_built(x, text, n):
    s = text + "!" * n
    s += f"{n:03d}|{text!r:>8}|{x.ndim}"
    return s.upper(), s[1:4], s[::-1], len(s), "a" in s


@case
def string_methods(x, text):
    return (text.split(","), text.replace("a", "b"), text.strip("a"), text.startswith("a"), text.find("l"), text.join(["1", "2"]),
            text.title(), text.encode(), text.isalpha(), text.center(9, "*"), text.partition("l"), x + len(text))


@case
def string_formatting(x, k, text):
    return f"{k} {text:>{6}} {k!r}", "%s-%d" % (text, 3), "{0}{a}".format(text, a=k), str(k) + text, repr(text)


@case
def string_format_error(x, k):
    y = x + 1
    return f"{k:.2f}", y


@case
def string_of_array(v):
    return f"{v.sum()} {v.dtype} {v.shape}", str(v[0]), repr(v[:2])


@case
def string_as_key_and_branch(x, text):
    table = {"abc": 1, "": 2}
    if text in table:
        return x * table[text]
    return text > "b", text == "x", x


@case
def string_comparison_and_order(text):
    return sorted(text), min(text, "m"), text < "hello", ord(text[0]) if text else None, chr(97) + text


@case
def bytes_used(x):
    b = b"abc"
    ba = bytearray(b)
    ba[0] = 120
    ba.append(1)
    return b[1], b + b"d", ba, bytes(ba), x + len(b), b.hex()


@case
def string_building_in_loop(x, items):
    parts = []
    for i, item in enumerate(items):
        parts.append(f"{i}={item}")
    return ";".join(parts), x + len(parts)


group("slices and subscripts")


@case
def slice_object(v, n):
    s = slice(n, None, 2)
    return v[s], s.start, s.indices(5), [1, 2, 3, 4][s], s == slice(n, None, 2)


@case
def slice_of_everything(x):
    t, s, r = (1, 2, 3, 4), "abcd", range(10)
    return t[1:3], s[-2:], r[2:8:3], r[-1], x[..., 1:], len(r[::3])


@case
def subscript_chained(x):
    data = {"a": [(x, 1), (x + 1, 2)]}
    return data["a"][-1][0][..., 0], data["a"][0][1]


@case
def subscript_augmented(x, k):
    data = [x, 2, {"v": 3}]
    data[0] = data[0] + 1
    data[1] *= 5
    data[2]["v"] -= 1
    data[-1]["w"] = k
    return data


@case
def subscript_evaluated_once(x, log):
    def index():
        log.append("i")
        return 0

    data = [x.sum()]
    data[index()] += 1
    return data


@case
def subscript_tuple_key(x):
    grid = {(i, j): x * i + j for i in range(2) for j in range(2)}
    grid[1, 1] = 0
    return grid[0, 1], grid


group("iterators")


@case
def iterator_by_hand(x, items):
    it = iter(items)
    out = []
    while True:
        try:
            out.append(next(it))
        except StopIteration:
            break
    return out, x + len(out)


@case
def iterator_advanced_partway(x, items):
    it = iter(items)
    first = next(it, None)
    return first, it, x + 1


@case(it=[lambda: iter([1, 2, 3]), lambda: iter((1,)), lambda: iter({"a": 1}), lambda: iter(range(4)), lambda: enumerate("ab"),
          lambda: zip([1], [2]), lambda: (i for i in range(3)), lambda: reversed([1, 2])])
def iterator_argument_advanced(x, it):
    first = next(it)
    return first, x * 2


@case(it=[lambda: iter([1, 2, 3]), lambda: iter((1,)), lambda: iter([]), lambda: iter(range(9)), lambda: map(abs, [-1, -2]),
          lambda: filter(None, [0, 1]), lambda: (i for i in range(3)), lambda: iter([1, "s"])])
def iterator_argument_consumed(x, it):
    for i in it:
        x = x + i
        if i == 2:
            break
    return x


@case
def iterator_shared(x):
    it = iter(range(6))
    pairs = list(zip(it, it))
    return pairs, x + len(pairs)


@case
def iterator_enumerate(x, items):
    total = x
    for i, item in enumerate(items, 1):
        total = total + i
    return total, list(enumerate("ab", start=5)), enumerate(items)


@case
def iterator_zip(x, items):
    for a, b in zip(items, range(2)):
        x = x + b
    return x, list(zip("ab", items, strict=False)), zip([1, 2], [3])


@case
def iterator_zip_strict(x, items):
    y = x + 1
    return list(zip(items, [1, 2], strict=True)), y


@case
def iterator_map_filter(x, items):
    doubled = list(map(lambda i: i * 2, items))
    kept = list(filter(lambda i: i != 2, items))
    lazy = map(lambda i, j: (i, j), items, "ab")
    return doubled, kept, next(lazy, None), lazy, x + 1


@case
def iterator_reversed(x, items):
    out = x
    for i in reversed(range(3)):
        out = out * 2 + i
    return out, list(reversed([1, 2])), reversed((1, 2, 3)), next(reversed(items), None)


@case
def iterator_callable_sentinel(x):
    values = [3, 2, 1, 0, 5]
    total = x
    for v in iter(values.pop, 3):
        total = total + v
    return total, values


@case
def iterator_exhausted_stays(x):
    it = iter([1])
    return list(it), list(it), next(it, "no"), x + 1


@case
def iterator_of_mutated_list(x):
    items = [1, 2, 3]
    it = iter(items)
    next(it)
    items.append(x)
    del items[0]
    return list(it)


group("built-in functions")


@case
def builtin_sum(x, xs, items):
    return sum([1, 2, 3]), sum(xs[:1], x[:0].sum()), sum((i for i in items if i != "a"), 1)


@case
def builtin_min_max(x, items):
    return min(1, 2.5), max([3, 1]), min([], default=7), max("ab", "b", key=len), max(x[..., 0].ravel().tolist(), default=0), min(items, key=str)


@case
def builtin_any_all(x, items):
    return any(items), all(items), any([]), all([]), any(i == 2 for i in items), x if all(i for i in (1, 2)) else None


@case
def builtin_any_stops_early(x, log):
    found = any(log.append(i) or i == 2 for i in range(5))
    return found, x + len(log)


@case
def builtin_sorted(x, items):
    return sorted([3, 1, 2]), sorted("bca", reverse=True), sorted([(2, "a"), (1, "b")]), sorted(items), x + 1


@case
def builtin_sorted_stable(x):
    return sorted([(1, "b"), (0, "z"), (1, "a")], key=lambda p: p[0]), x * 2


@case
def builtin_range(x, n):
    r = range(1, n, 2)
    return len(r), list(r), 3 in r, r == range(1, n, 2), r[:1], x + sum(r), bool(range(0))


@case
def builtin_range_errors(x, k):
    y = x + 1
    return list(range(k)), y


@case
def builtin_abs_round_divmod(x, k):
    return abs(k), round(k, 1), divmod(k, 2), pow(k, 2), round(2.5), round(3.5), x + abs(-1)


@case
def builtin_conversions(x, k):
    return int(k), float(k), bool(k), str(k), complex(k), x + int(2.9)


@case
def builtin_conversions_from_text(x, text):
    y = x + len(text)
    try:
        return int(text, 16), y
    except ValueError as e:
        return str(e), y


@case
def builtin_len_of_many(x, d, items, text):
    return len(d), len(items), len(text), len(x), len(range(4)), len({1, 2}), x * len(items)


@case
def builtin_list_tuple_set(x, items, text):
    return list(text), tuple(items), set(text), list({"a": 1}), tuple(x.shape), list(x.shape) + [1]


@case
def builtin_iter_of_bad(x, k):
    y = x + 1
    return next(k), y


@case
def builtin_chr_ord_hex(n):
    return chr(97 + n), ord("a") + n, hex(n), bin(n), oct(8), ascii("é"), np.zeros(n)


@case
def builtin_callable_object_type(x):
    o = object()
    return callable(len), isinstance(o, object), o is o, type(o).__name__, x + 1


@case
def builtin_slice_and_enumerate_objects(v):
    return v[slice(None)], v[slice(1, 3)], [v[s] for s in (slice(0, 1), slice(-1, None))]


@case
def builtin_eval_exec(x, k):
    scope = {"x": x}
    exec("y = x + 1", scope)
    return scope["y"], eval("k", {"k": k})


@case
def builtin_input_like_output(x, items):
    print(*items, sep="-", end="|")
    print(x.shape, file=None)
    return x + 1


class Emptier:
    """Compares unequal, and changes a container while it does."""

    def __init__(self, container, refill=()):
        self.container = container
        self.refill = refill

    def __eq__(self, other):
        self.container.clear()
        self.container.extend(self.refill)
        return False

    def __repr__(self):
        return "Emptier()"

    __hash__ = None


@case(kind=[lambda: list, lambda: deque] * 4, refill=[(), (), (1, 2, 3), (1, 2, 3), (7,), (7,), range(9), range(9)])
def container_changed_by_a_comparison(kind, refill):
    results = []
    for ask in (lambda c, e: e in c, lambda c, e: c.count(e), lambda c, e: c.index(e), lambda c, e: c.remove(e),
                lambda c, e: c == kind([e, 2, 3]), lambda c, e: kind([e, 2, 3]) == c):
        container = kind([1, 2, 3])
        try:
            results.append(ask(container, Emptier(container, refill)))
        except (RuntimeError, ValueError, IndexError) as error:
            results.append((type(error).__name__, str(error)))
        results.append(list(container))
    return results
