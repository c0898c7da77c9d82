"""Loops whose turns append to lists: as one loop of the graph, whatever their length."""
import numpy as np
import pytest

import compare
import fusewire
from compare import assert_same_call


def floats(x, n):
    out = []
    for i in range(n):
        out.append(float(x[i]) * 2.0)
    return out


def scalars(x, n):
    out = []
    for v in x:
        out.append(v * v + 1)
    return out


def ints(x, n):
    out = []
    for i in range(n):
        out.append(i * i)
    return out


def data_ints(x, n):
    out = [3]
    for v in x:
        out.append(int(v * 100))
    return out, len(out)


def bools(x, n):
    out = []
    for i in range(n):
        out.append(i % 3 == 0)
    return out


def as_array(x, n):
    out = []
    for v in x:
        out.append(v * 0.5)
    return np.array(out), np.asarray(out).sum()


def ints_as_array(x, n):
    out = []
    for i in range(n):
        out.append(2 * i)
    return np.array(out)


def rows(x, n):
    out = []
    for i in range(n):
        out.append(x * i)
    return out


def stacked(x, n):
    out = []
    for i in range(n):
        out.append(np.sqrt(x[:5]) + i)
    return np.stack(out), np.array(out), np.vstack(out), np.concatenate(out), len(out)


def history(x, n):
    u = x.copy()
    us = []
    for k in range(n):
        u = u * 0.9 + 0.1
        us.append(u.copy())
    return us, u


def last_of_them(x, n):
    ys = [1.0]
    for k in range(n):
        ys.append(ys[-1] * 0.99 + 0.01)
    return ys


def under_a_condition(x, n):
    out = []
    for v in x:
        if v > 0.5:
            out.append(v)
    return out, len(out)


def condition_as_array(x, n):
    out = []
    for i in range(n):
        if x[i] > 0.5:
            out.append(i)
    return np.array(out)


def two_branches(x, n):
    low, high = [], []
    for v in x:
        if v > 0.5:
            high.append(v)
        else:
            low.append(-v)
    return low, high


def either(x, n):
    out = []
    for v in x:
        if v > 0.5:
            out.append(v)
        else:
            out.append(-v)
    return out


def several_appends(x, n):
    out = []
    for v in x:
        if v > 0.3:
            out.append(v)
        if v > 0.6:
            out.append(v * 2)
            out.append(v * 3)
        out.append(0 * v)
    return out


def pairs(x, n):
    out = []
    for i in range(n):
        out.append((i, x[i]))
    return out


def pairs_as_array(x, n):
    out = []
    for i in range(n):
        out.append((i, x[i]))
    return np.array(out)


def nested(x, n):
    out = []
    for i in range(n):
        for j in range(3):
            out.append(x[i] * j)
    return out


def triangle(x, n):
    out = []
    for i in range(n):
        for j in range(i):
            out.append(x[i] * x[j])
    return np.array(out)


def twice(x, n):
    out = []
    for v in x:
        out.append(v)
    for v in x:
        out.append(v * 2)
    out.append(x.sum())
    return out


def left(x, n):
    out = []
    for v in x:
        out.append(v)
        if v > 0.97:
            break
    return out


def skipped(x, n):
    out = []
    for v in x:
        if v < 0.4:
            continue
        out.append(v)
    return out


def read_behind(x, n):
    out = []
    for v in x:
        out.append(v + 1)
    s = 0.0
    for v in out:
        s += v
    return s, out[0], out[-1], out[n // 2]


def read_rows(x, n):
    out = []
    for i in range(n):
        out.append(x[:4] * i)
    s = 0.0
    for row in out:
        s += row.sum()
    return s


def comprehension(x, n):
    return [v * v for v in x]


def comprehension_as_array(x, n):
    return np.array([v * 2 for v in x])


def filtered(x, n):
    return [v for v in x if v > 0.5]


def rows_of_matrix(x, n):
    m = np.outer(x, x[:6])
    return np.array([row.sum() for row in m])


def filtered_then_array(x, n):
    return np.array([v for v in x if v > 0.5])


def inner_lists(x, n):
    total = 0.0
    for i in range(n):
        row = []
        for j in range(n):
            row.append(x[j] * i)
        total += np.array(row).sum()
    return total


def head_items(x, n):
    out = [x[0], x[1]]
    for i in range(2, n):
        out.append(out[i - 1] * 0.5 + out[i - 2] * 0.25)
    return out


def complexes(x, n):
    out = []
    for v in x:
        out.append(complex(v, 1.0))
    return out


def aliased(x, n):
    out = []
    same = out
    for v in x:
        out.append(v)
        same.append(-v)
    return out, same


ALL = [floats, scalars, ints, data_ints, bools, as_array, ints_as_array, rows, stacked, history, last_of_them,
       under_a_condition, condition_as_array, two_branches, either, several_appends, pairs, pairs_as_array, nested,
       triangle, twice, left, skipped, read_behind, read_rows, comprehension, comprehension_as_array, filtered,
       rows_of_matrix, filtered_then_array, inner_lists, head_items, complexes, aliased]


@pytest.mark.parametrize("function", ALL, ids=lambda f: f.__name__)
def test_one_region(function):
    compiled = fusewire.compile(function, fullgraph=True)
    for n in (70, 120, 71):
        assert_same_call(function, compiled, (np.random.default_rng(n).random(n), n))


@pytest.mark.parametrize("function", ALL, ids=lambda f: f.__name__)
def test_sizes(function):
    compiled = fusewire.compile(function)
    for n in (0, 1, 2, 3, 80, 0, 5000 if function not in (triangle, inner_lists) else 200, 1):
        assert_same_call(function, compiled, (np.random.default_rng(n).random(n), n))
    for dtype in (np.float32, np.int64):
        x = (np.random.default_rng(1).random(90) * 10).astype(dtype)
        assert_same_call(function, compiled, (x, 90))


# ---- what is Python's, or another thing than it seems --------------------------------------------------------------

def the_array_as_well(x, n):
    u, out = x.copy(), []
    for k in range(n):
        u = u * 0.5 + 0.1
        out.append(u)
    return out, u, out[-1] is u


def the_array_only(x, n):
    u, out = x.copy(), []
    for k in range(n):
        u = u * 0.5 + 0.1
        out.append(u)
    return out


def the_array_before(x, n):
    u, out = x * 1.0, []
    for k in range(n):
        out.append(u)
        u = u * 0.5 + 0.1
    return out, u


def from_the_callers(x, n):
    u, out = x, []
    for k in range(n):
        out.append(u)
        u = u * 0.5 + 0.1
    return out, u


def with_the_first(x, n):
    u = x * 1.0
    out = [u]
    for k in range(n):
        u = u * 0.5 + 0.1
        out.append(u)
    return out


def the_first_as_well(x, n):
    u = first = x * 1.0
    out = []
    for k in range(n):
        out.append(u)
        u = u * 0.5 + 0.1
    return out, first


def the_first_written(x, n):
    u = first = x * 1.0
    out = []
    for k in range(n):
        out.append(u)
        u = u * 0.5 + 0.1
    first[0] = 9.0
    return out


def changed_by_condition(x, n):
    u, out = x * 1.0, []
    for k in range(n):
        out.append(u)
        if x[k] > 0.5:
            u = u * 0.5 + 0.1
    return out


def before_and_after(x, n):
    u, old, new = x * 1.0, [], []
    for k in range(n):
        old.append(u)
        u = u * 0.5 + 0.1
        new.append(u)
    return old, new


def before_and_written(x, n):
    u, out = x * 1.0, []
    for k in range(n):
        out.append(u)
        u = u * 0.5 + 0.1
        u[0] = k
    return out


def before_and_written_in_place(x, n):
    u, out = x * 1.0, []
    for k in range(n):
        out.append(u)
        u *= 0.5
    return out


def two_before(x, n):
    u, v, out = x * 1.0, x + 1.0, []
    for k in range(n):
        out.append(u)
        u, v = v, u + v
    return out


def written_behind(x, n):
    u, out = x.copy(), []
    for k in range(n):
        u = u * 0.5 + 0.1
        out.append(u)
    u[0] = 7.0
    return out


def written_in_the_turn(x, n):
    out = []
    for k in range(n):
        u = x * k
        out.append(u)
        u[0] = -1.0
    return out


def written_in_the_next(x, n):
    u, out = x.copy(), []
    for k in range(n):
        u[0] = k
        u = u * 0.5
        out.append(u)
    return out


def one_array_in_all(x, n):
    u, out = x.copy(), []
    for k in range(n):
        u[0] = k
        out.append(u)
    return out


def arrays_of_the_caller(x, n):
    out = []
    for k in range(n):
        out.append(x)
    return out


def views(x, n):
    out = []
    for k in range(n):
        out.append(x[k:k + 2])
    return out


def matrix_rows(x, n):
    m, out = np.outer(x, x[:3]), []
    for row in m:
        out.append(row)
    return out


def in_two_lists(x, n):
    a, b = [], []
    for k in range(n):
        u = x[:3] + k
        a.append(u)
        b.append(u)
    return a, b


def twice_in_one(x, n):
    out = []
    for k in range(n):
        u = x[:3] + k
        out.append(u)
        out.append(u)
    return out


def in_a_tuple(x, n):
    out = []
    for k in range(n):
        out.append((k, x[:3] * k, (x[k], True)))
    return out


def item_written(x, n):
    out = []
    for k in range(n):
        out.append(x[:3] + k)
    if n:
        out[0][1] = 5.0
        out[-1] *= 2
    return out


def item_leaves(x, n):
    out = []
    for k in range(n):
        out.append(x[:3] + k)
    return (out, out[0], out[n // 2]) if n else out


def walked_and_kept(x, n):
    out, last = [], None
    for k in range(n):
        out.append(x[:3] + k)
    for last in out:
        pass
    return out, last


def appends_itself(x, n):
    out = []
    for v in x:
        out.append(v)
    out.append(out)
    return len(out), out[-1] is out


def changing_kind(x, n):
    out, s = [], 0
    for v in x:
        out.append(s)
        s += v
    return out


def kind_by_data(x, n):
    out = []
    for v in x:
        out.append(v if v > 0.5 else 0)
    return out


def none_by_data(x, n):
    out = []
    for v in x:
        out.append(v if v > 0.5 else None)
    return out


def words(x, n):
    out = []
    for i in range(n):
        out.append("even" if i % 2 == 0 else "odd")
    return out


def ragged(x, n):
    out = []
    for i in range(n):
        out.append(x[:i] * 2)
    return out


def mixed_heads(x, n):
    out = [0, 1.5, "a"]
    for v in x:
        out.append(v)
    return out


def float_head(x, n):
    ys = [1.0]
    for v in x:
        ys.append(ys[-1] + v)
    return ys


def changed_behind(x, n):
    out = []
    for v in x:
        out.append(v)
    out.insert(0, 1.0)
    if n:
        out[1] = 2.0
        out.pop()
    out.extend([3.0, 4.0])
    out += [5.0]
    return out + [6.0], out * 2, out[1:3], out[::-1], sorted(out), list(reversed(out)), 5.0 in out, out == [1], tuple(out)


def sorted_in_place(x, n):
    out = []
    for v in x:
        out.append(v)
    out.sort()
    return out


def numbers_of_it(x, n):
    out = []
    for v in x:
        out.append(v)
    return (sum(out), min(out), max(out), len(out), np.mean(out), np.max(out)) if out else None


def sum_min_max(x, n):
    out, whole, floats = [], [], []
    for i in range(n):
        out.append(x[i] - 0.5)
        whole.append(i * 3 - n)
        floats.append(float(x[i]) * 0.1)
    return sum(out), sum(whole), min(out), max(out), min(whole), max(whole), sum(out, 1.5), sum(whole, 7), min(floats)


def sum_of_an_array(x, n):
    return sum(x), min(x), max(x), sum(x, 2.0), sum(np.arange(n)), sum(x > 0.5)


def with_nans(x, n):
    out = []
    for v in x:
        out.append(np.nan if v > 0.5 else v)
    return sum(out), min(out), max(out)


def with_others(x, n):
    out = []
    for v in x:
        out.append(v * 2)
    s = 0.0
    for i, v in enumerate(out):
        s += i * v
    for a, b in zip(out, x):
        s += a * b
    return s


def by_a_function(x, n):
    out = []

    def add(v):
        out.append(v)
        return len(out)

    k = 0
    for v in x:
        k = add(v)
    return out, k


def length_in_the_turn(x, n):
    out = []
    for v in x:
        if len(out) < 50:
            out.append(v)
    return out


def length_as_number(x, n):
    out = []
    for v in x:
        out.append(len(out) + v)
    return out


def until_full(x, n):
    out = []
    for v in x:
        if v > 0.3:
            out.append(v)
        if len(out) >= 20:
            break
    return out


def returned_inside(x, n):
    out = []
    for v in x:
        out.append(v)
        if v > 0.98:
            return out
    return np.array(out)


def appended_on_the_way_out(x, n):
    out = []
    for v in x:
        if v > 0.98:
            out.append(-1.0)
            break
        out.append(v)
    else:
        out.append(-2.0)
    return out


def while_loop(x, n):
    out, k = [], 0
    while k < n and (k < 3 or out[-1] < 0.99):
        out.append(x[k])
        k += 1
    return out


def collatz(x, n):
    out = [n + 1]
    while out[-1] != 1:
        out.append(out[-1] // 2 if out[-1] % 2 == 0 else 3 * out[-1] + 1)
    return out


def while_data(x, n):
    k = int(x[0] * 100) + 1 if n else 1
    out = []
    while k != 1:
        out.append(k)
        if k % 2 == 0:
            k //= 2
        else:
            k = 3 * k + 1
    return out


def until_it_converges(x, n):
    u, errors = x.copy(), []
    err = 1.0
    while n and err > 1e-3:
        v = 0.5 * (u + np.sqrt(u))
        err = np.abs(v - u).max()
        errors.append(err)
        u = v
    return errors, u


def longer_than_guessed(x, n):
    out, k = [], 0.0
    while k < n * 100:
        k += 1.0 + x[0]
        out.append(k)
    return len(out), np.array(out).sum()


def loop_under_a_condition(x, n):
    out = [1.5]
    if n and x[0] > 0.5:
        for v in x:
            out.append(float(v))
    return out


def loops_in_both_arms(x, n):
    out = []
    if n and x[0] > 0.5:
        for v in x:
            out.append(v)
    else:
        for v in x:
            out.append(-v)
    return out


def fails(x, n):
    out = []
    for i in range(n):
        out.append(10 // int(x[i] * 10 - 5))
    return out


def index_error(x, n):
    out = []
    for i in range(n + 1):
        out.append(x[i])
    return out


def warns(x, n):
    out = []
    for v in x:
        out.append(np.sqrt(v - 0.01))
    return np.array(out)


def in_a_dict(x, n):
    d = {"a": [], "b": []}
    for v in x:
        d["a"].append(v)
        d["b"].append(-v)
    return d


def grouped(x, n):
    d = {0: [], 1: []}
    for i in range(n):
        d[i % 2].append(x[i])
    return d


def of_lists(x, n):
    table = []
    for i in range(n):
        row = []
        for j in range(4):
            row.append(x[i] * j)
        table.append(row)
    return table


def cleared(x, n):
    out = []
    for i in range(n):
        out.append(x[i])
        if i == 50:
            out = []
    return out


def cleared_by_data(x, n):
    out = []
    for v in x:
        if v > 0.9:
            out = []
        out.append(v)
    return out


def new_in_each_turn(x, n):
    means = []
    for i in range(n):
        near = []
        for j in range(n):
            if abs(x[i] - x[j]) < 0.1:
                near.append(x[j])
        means.append(sum(near) / len(near))
    return means


def local_and_conditional(x, n):
    s = 0.0
    for v in x:
        t = []
        if v > 0.5:
            t.append(v)
        s += len(t)
    return s


def nested_comprehension(x, n):
    return [[a * b for a in x[:4]] for b in x]


def generator(x, n):
    return sum(v * v for v in x), np.array(list(v + 1 for v in x)), max((v for v in x), default=0)


def squares(x):
    for v in x:
        yield v * v
    yield 0.5


def generators(x, n):
    return sum(squares(x)), list(squares(x)), max(squares(x)), min(v if v > 0.5 else 1 - v for v in x)


def generator_twice(x, n):
    g = (v + 1 for v in x)
    first = next(g, None)
    return first, sum(g), sum(g)


def generator_in_a_loop(x, n):
    s = 0.0
    for i in range(n):
        s += sum(v * i for v in x)
    return s


def filtered_generator(x, n):
    return sum(v for v in x if v > 0.5), len(list(v for v in x if v > 0.5))


def generator_for(x, n):
    s = 0.0
    for v in squares(x):
        s += v
    return s


def generator_that_fails(x, n):
    return sum(10 // int(v * 10 - 5) for v in x)


def grows_while_walked(x, n):
    out = []
    for v in x:
        out.append(v)
    for v in out:
        if len(out) < n + 30:
            out.append(v * 0.5)
    return out


def extended_in_one_arm(x, n):
    out = []
    for v in x:
        out.append(v)
    if n and x[0] > 0.5:
        out.append(-1.0 * x[0])
    return out


def filled_in_a_loop_around(x, n):
    out = []
    for v in x:
        out.append(v)
    for i in range(3):
        for v in x:
            out.append(v * i)
    return out


def filled_in_a_long_loop_around(x, n):
    out = []
    for v in x:
        out.append(v)
    for i in range(n):
        for j in range(i):
            out.append(x[j] * i)
        if x[i] > 0.5:
            out.append(x[i])
    return out


def comparisons(x, n):
    out, other = [], []
    for v in x:
        out.append(v > 0.5)
        other.append(not v > 0.5)
    return out, other, np.array(out).sum()


def walked_twice(x, n):
    out = []
    for v in x:
        out.append(v)
    s = 0.0
    for a in out:
        for b in out:
            s += a * b
    return s


def unpacked(x, n):
    out = []
    for i in range(n):
        out.append((i, x[i]))
    s = 0
    for i, v in out:
        s += i * v
    return s


def of_rows(x, n):
    m = np.outer(x, x[:3])
    return np.array([np.sqrt(row) for row in m]), [row.sum() for row in m]


def float32s(x, n):
    y = x.astype(np.float32)
    out = []
    for v in y:
        out.append(v * 2)
    return out, np.array(out)


OTHERS = [value for name, value in list(globals().items())
          if callable(value) and getattr(value, "__module__", "") == __name__ and not name.startswith("test_") and value not in ALL]


@pytest.mark.parametrize("function", OTHERS, ids=lambda f: f.__name__)
def test_others(function):
    compiled = fusewire.compile(function)
    for n in (90, 0, 1, 2, 3, 120, 90, 64, 65):
        assert_same_call(function, compiled, (np.random.default_rng(n).random(n), n))
    for dtype in (np.float32, np.int64):
        x = (np.random.default_rng(1).random(90) * 10).astype(dtype)
        assert_same_call(function, compiled, (x, 90))


def extend_the_callers(out, x):
    for v in x:
        out.append(v * 2)
    return len(out)


def test_a_list_of_the_caller():
    compiled = fusewire.compile(extend_the_callers)
    for n in (0, 1, 3, 70, 200):
        given, expected = [1, "a"], [1, "a"]
        x = np.random.default_rng(n).random(n)
        assert compiled(given, x) == extend_the_callers(expected, x)
        assert [(type(v), v) for v in given] == [(type(v), v) for v in expected]


def long_list(x):
    out = []
    for v in x:
        out.append(v)
    return out


def long_rows(x):
    out = []
    for v in x:
        out.append(np.full(3, v))
    return out


USES = {
    "item": lambda o: o[len(o) // 2], "first": lambda o: o[0], "last": lambda o: o[-1], "slice": lambda o: o[1:3], "reverse": lambda o: o[::-1],
    "beyond": lambda o: o[1000], "before": lambda o: o[-1000], "by_bool": lambda o: o[True], "by_scalar": lambda o: o[np.int64(1)],
    "equal": lambda o: (o == [1.0], o == o, o != list(o)), "sum": lambda o: o + [1.0], "product": lambda o: o * 2, "truth": lambda o: 1 if o else 2,
    "not": lambda o: not o, "none": lambda o: o is None, "copy": lambda o: o.copy(), "list": lambda o: list(o), "tuple": lambda o: tuple(o),
    "set": lambda o: len(o), "isinstance": lambda o: isinstance(o, list), "type": lambda o: type(o), "text": lambda o: str(len(o)) + str(o)[:3],
    "enumerate": lambda o: list(enumerate(o)), "zip": lambda o: list(zip(o, o)), "map": lambda o: list(map(np.sum, o)), "array": lambda o: np.array(o),
    "asarray": lambda o: np.asarray(o, dtype=np.float32), "sum_of": lambda o: np.sum(o), "mean": lambda o: np.mean(o, axis=0), "sqrt": lambda o: np.sqrt(o),
    "stack": lambda o: np.stack(o), "stack_1": lambda o: np.stack(o, axis=-1), "vstack": lambda o: np.vstack(o), "hstack": lambda o: np.hstack(o),
    "column_stack": lambda o: np.column_stack(o), "concatenate": lambda o: np.concatenate(o), "concatenate_none": lambda o: np.concatenate(o, axis=None),
    "pop": lambda o: (o.pop(), o), "pop_0": lambda o: (o.pop(0), o), "insert": lambda o: (o.insert(1, o[0]), o), "index": lambda o: o.append(2.0) or o[-1],
    "extend": lambda o: (o.extend([1.0, 2.0]), o), "extend_self": lambda o: (o.extend(o), len(o)), "clear": lambda o: (o.clear(), o),
    "plus_array": lambda o: np.ones(3) + o[0], "times_scalar": lambda o: np.float64(2.0) * len(o), "unpack": lambda o: [*o, 1], "star": lambda o: max(*o[:2], 0),
    "into_array": lambda o: np.zeros((len(o),) + np.shape(o[0])) + np.array(o), "reversed": lambda o: list(reversed(o)), "any": lambda o: any(v is None for v in o),
    "dict": lambda o: {"a": o, "b": o}, "both": lambda o: (o, o), "in": lambda o: None in o, "nested": lambda o: [o, [o]], "store": lambda o: (o.__setitem__(0, 1.5), o),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("make", [long_list, long_rows], ids=lambda f: f.__name__)
def test_uses(make, use):
    function = USES[use]

    def both(x):
        return function(make(x))

    compiled = fusewire.compile(both)
    for n in (80, 0, 1, 2, 3, 100, 80):
        assert_same_call(both, compiled, (np.random.default_rng(n).random(n),))


def test_tuples_beside_the_list_that_holds_them():
    """They are the same objects; numbers may be others of the same value."""
    def first(x):
        out = []
        for i in range(len(x)):
            out.append((i, x[i]))
        return out, out[1]

    def alone(x):
        out = []
        for i in range(len(x)):
            out.append((i, x[i]))
        return out[1], len(out)

    def inside(x):
        out = []
        for i in range(len(x)):
            out.append((i, x[i]))
        return {"last": out[-1], "all": out}

    def again(x):
        out = []
        for v in x:
            out.append((v,))
            out.append(out[-1])
        return out

    def twice(x):
        out = []
        for v in x:
            t = (v, 1)
            out.append(t)
            out.append(t)
        return out

    def each(r):
        return all(r[k] is r[k + 1] for k in range(0, len(r), 2))

    for function, same in ((again, each), (twice, each), (first, lambda r: r[0][1] is r[1]), (alone, lambda r: True), (inside, lambda r: r["all"][-1] is r["last"])):
        compiled = fusewire.compile(function)
        for n in (70, 70, 200, 3):
            x = np.arange(float(n))
            got = compiled(x)
            assert str(got) == str(function(x)) and same(got)


@pytest.mark.parametrize("axis", [0, 1, 2, 3, -1, -2, -3])
@pytest.mark.parametrize("shape", [(), (4,), (1,), (2, 3), (1, 3), (2, 1), (2, 3, 4)], ids=str)
def test_stacked_along_any_axis(shape, axis):
    def stacked(x):
        out = []
        for v in x:
            out.append(np.full(shape, v) * 2)
        return np.stack(out, axis=axis)

    compiled = fusewire.compile(stacked, economy=False)
    for n in (80, 1, 2, 100):
        x = np.random.default_rng(n).random(n)
        assert_same_call(stacked, compiled, (x,))
        if -len(shape) - 1 <= axis <= len(shape):
            assert compiled(x).strides == stacked(x).strides


def test_a_list_that_gets_numbers_of_another_class_in_a_second_loop():
    def kept(x):
        s, all = 0.0, [0.25]
        for _ in x:
            all.append(s * 0.5)
        for v in x:
            all.append(s)
            if v > 0:
                s += v
        return s, all

    compiled = fusewire.compile(kept, economy=False)
    for n in (66, 0, 1, 3):
        assert_same_call(kept, compiled, (np.random.default_rng(n).standard_normal(n),))
