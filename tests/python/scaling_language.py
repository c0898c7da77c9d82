"""Constructs of the language that gain nothing by compiling: with or without a decorator they take as long as in Python."""

from __future__ import annotations

import functools
import itertools
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple

import numpy as np

from scaling import construct


def _program(lines: list[str], args: tuple, **names):
    """A function f of the source lines, made anew."""
    namespace = {"np": np, **names}
    exec("\n".join(lines), namespace)
    return namespace["f"], args


# ---- elements of containers -----------------------------------------------------------------------------------------


@construct("pairs")
def zip_of_pairs(n):
    def f(pairs):
        a, b = zip(*pairs)
        return np.array(a).sum() + np.array(b).sum()

    return f, ([(i, i + 1.0) for i in range(n)],)


@construct("words")
def index_of_letters(n):
    def f(words):
        idx = defaultdict(list)
        for i, w in enumerate(words):
            for ch in w:
                idx[ch].append(i)
        return {k: np.array(v).mean() for k, v in idx.items()}

    return f, (["abc"] * n,)


@construct("words")
def index_of_letters_below_another(n):
    def index(words):
        idx = defaultdict(list)
        for i, w in enumerate(words):
            for ch in w:
                idx[ch].append(i)
        return {k: np.array(v).mean() for k, v in idx.items()}

    def f(words):
        print(end="")
        return index(words)

    return f, (["abc"] * n,)


@construct("rows")
def column_of_a_table(n):
    def f(rows):
        cols = {"a": []}
        for row in rows:
            cols["a"].append(float(row))
        return np.asarray(cols["a"]).sum()

    return f, ([str(i) for i in range(n)],)


@construct("rows")
def columns_of_a_table(n):
    def f(rows):
        cols = {"a": [], "b": [], "c": []}
        for a, b, c in rows:
            cols["a"].append(a)
            cols["b"].append(b)
            cols["c"].append(c)
        return {name: np.array(col).mean() for name, col in cols.items()}

    return f, ([(i, i * 0.5, -i) for i in range(n)],)


@construct("elements")
def list_of_an_array(n):
    def f(x):
        out = []
        for v in x:
            out.append(float(v) * 2)
        return np.array(out).sum()

    return f, (np.arange(float(n)),)


@construct("elements")
def list_that_shrinks(n):
    def f(x):
        stack, total = list(x), 0.0
        while stack:
            total += stack.pop()
        return np.float64(total)

    return f, ([float(i) for i in range(n)],)


@construct("elements")
def queue(n):
    def f(x):
        todo, total = deque(x), 0
        while todo:
            v = todo.popleft()
            if v % 3 == 0 and v:
                todo.append(v // 3)
            total += v
        return np.int64(total)

    return f, (list(range(n)),)


@construct("keys")
def dict_that_grows(n):
    def f(x):
        seen = {}
        for i, v in enumerate(x):
            seen[v] = i
        return np.array(list(seen.values())).sum()

    return f, ([f"k{i}" for i in range(n)],)


@construct("keys")
def dict_of_the_caller(n):
    def f(table, keys):
        total = 0.0
        for key in keys:
            total += table[key]
        return np.sqrt(total)

    keys = [f"k{i}" for i in range(n)]
    return f, (dict.fromkeys(keys, 1.5), keys)


@construct("keys")
def dict_merged(n):
    def f(a, b):
        both = {**a, **b}
        both.update(a)
        return np.array([both[k] for k in a]).sum()

    return f, ({i: 1.0 for i in range(n)}, {i + n // 2: 2.0 for i in range(n)})


@construct("keys")
def counted_words(n):
    def f(words):
        counts = Counter(words)
        return np.array(sorted(counts.values())).sum()

    return f, ([f"w{i % (n // 2 + 1)}" for i in range(n)],)


@construct("elements")
def set_that_grows(n):
    def f(x):
        seen = set()
        for v in x:
            if v not in seen:
                seen.add(v)
        return np.int64(len(seen))

    return f, ([i * 7 % n for i in range(n)],)


@construct("elements")
def sorted_by_key(n):
    def f(rows):
        return np.array([v for v, _ in sorted(rows, key=lambda row: row[1])]).cumsum()

    return f, ([(i, -i) for i in range(n)],)


@construct("levels", most=1_000)
def nested_list(n):
    def f(node):
        depth = 0
        while node:
            node = node[0]
            depth += 1
        return np.int64(depth)

    node = []
    for _ in range(n):
        node = [node]
    return f, (node,)


@construct("nodes")
def linked_list(n):
    class Node:
        def __init__(self, value, next):
            self.value, self.next = value, next

    def f(node):
        total = 0.0
        while node is not None:
            total += node.value
            node = node.next
        return np.float64(total)

    node = None
    for i in range(n):
        node = Node(float(i), node)
    made = []
    while node is not None:  # so that it does not die recursively
        made.append(node)
        node = node.next
    return f, (made[0],)


# ---- objects --------------------------------------------------------------------------------------------------------


@construct("objects")
def objects_in_a_list(n):
    class Particle:
        def __init__(self, x):
            self.x = x
            self.v = 1.0

        def step(self, dt):
            self.x += self.v * dt

    def f(particles):
        for p in particles:
            p.step(0.5)
        return np.array([p.x for p in particles]).sum()

    return f, ([Particle(float(i)) for i in range(n)],)


@construct("objects", most=10_000, full=100_000)
def objects_made(n):
    Point = namedtuple("Point", "x y")

    def f(n):
        points = [Point(i, i * 0.5) for i in range(n)]
        return np.array([p.y for p in points]).sum()

    return f, (n,)


@construct("attributes", most=10_000)
def attributes_of_an_object(n):
    class Bag:
        pass

    def f(bag, names):
        total = 0.0
        for name in names:
            total += getattr(bag, name)
        return np.float64(total)

    bag, names = Bag(), [f"a{i}" for i in range(n)]
    for name in names:
        setattr(bag, name, 1.0)
    return f, (bag, names)


# ---- iterators ------------------------------------------------------------------------------------------------------


@construct("items")
def generator(n):
    def pairs(n):
        for i in range(n):
            yield i, i * 0.5

    def f(n):
        total = 0.0
        for i, v in pairs(n):
            total += i * v
        return np.float64(total)

    return f, (n,)


@construct("items")
def chained_iterators(n):
    def f(x):
        total = 0
        for a, b in zip(itertools.chain(x, x), itertools.accumulate(x)):
            total += a * b
        return np.float64(total)

    return f, ([1.0] * n,)


@construct("items")
def comprehensions(n):
    def f(x):
        squares = [v * v for v in x if v % 2]
        lookup = {v: i for i, v in enumerate(squares)}
        return np.array([lookup[v] for v in squares]).sum()

    return f, (list(range(n)),)


@construct("items")
def map_filter_reduce(n):
    def f(x):
        even = filter(lambda v: v % 2 == 0, map(lambda v: v + 1, x))
        return np.int64(functools.reduce(lambda a, b: a + b, even, 0))

    return f, (list(range(n)),)


# ---- text -----------------------------------------------------------------------------------------------------------


@construct("lines")
def text_parsed(n):
    def f(text):
        values = []
        for line in text.splitlines():
            name, _, number = line.partition("=")
            values.append(int(number) if name else 0)
        return np.array(values).sum()

    return f, ("\n".join(f"x{i}={i}" for i in range(n)),)


@construct("pieces")
def text_joined(n):
    def f(x):
        parts = []
        for v in x:
            parts.append(f"{v:d}")
        return np.int64(len(",".join(parts)))

    return f, (list(range(n)),)


# ---- calls ----------------------------------------------------------------------------------------------------------


@construct("calls")
def calls_of_a_helper(n):
    def helper(a, b):
        return a * 2 + b

    def f(n):
        total = 0
        for i in range(n):
            total = helper(total % 7, i)
        return np.int64(total)

    return f, (n,)


@construct("frames", most=100)
def recursion(n):
    def down(n, x):
        return x if n == 0 else down(n - 1, x) + 1

    def f(n):
        return np.float64(down(n, 0.0))

    return f, (n,)


@construct("calls", most=10_000, full=100_000)
def closures(n):
    def f(n):
        made = [lambda v, k=k: v + k for k in range(n)]
        return np.array([g(1) for g in made]).sum()

    return f, (n,)


@construct("arguments", most=10_000)
def arguments_by_star(n):
    def f(*values):
        return np.array(values).sum()

    return f, tuple(float(i) for i in range(n))


@construct("arguments", most=10_000)
def keywords_by_star(n):
    def total(**values):
        return sum(values.values())

    def f(table):
        return np.float64(total(**table))

    return f, ({f"k{i}": 1.0 for i in range(n)},)


@construct("exceptions", most=10_000, full=100_000)
def exceptions(n):
    def f(x):
        bad = 0
        for v in x:
            try:
                float(v)
            except ValueError:
                bad += 1
        return np.int64(bad)

    return f, (["no"] * n,)


# ---- code -----------------------------------------------------------------------------------------------------------


@construct("statements", most=10_000, gains=True)
def statements_without_arrays(n):
    lines = ["def f(a):"] + [f"    a = (a * {i % 7 + 2} + {i}) % 1000003" for i in range(n)] + ["    return np.int64(a)"]
    return _program(lines, (3,))


@construct("variables", most=1_000, full=10_000)
def variables(n):
    lines = ["def f(a):", "    v0 = a"] + [f"    v{i + 1} = v{i} + 1" for i in range(n)] + [f"    return np.int64(v{n})"]
    return _program(lines, (3,))


@construct("branches", most=1_000, full=10_000)
def branches(n):
    lines = ["def f(a):"]
    for i in range(n):
        lines += [f"    if a % {i + 2} == 0:", f"        a += {i}"]
    return _program(lines + ["    return np.int64(a)"], (3,))


@construct("functions", most=1_000, full=10_000)
def functions_of_a_module(n):
    lines = [f"def g{i}(a): return a + {i}" for i in range(n)] + ["def f(a):"]
    lines += [f"    a = g{i}(a)" for i in range(n)] + ["    return np.int64(a)"]
    return _program(lines, (3,))


@construct("keys")
def ordered_dict(n):
    def f(x):
        order = OrderedDict()
        for v in x:
            order[v] = v * 2
        for v in x[::2]:
            order.move_to_end(v)
        return np.array(list(order.values()))[-1]

    return f, (list(range(n)),)


@construct("elements")
def list_of_lists(n):
    def f(rows):
        total = 0.0
        for row in rows:
            for v in row:
                total += v
        return np.float64(total)

    return f, ([[1.0, 2.0, 3.0] for _ in range(n)],)
