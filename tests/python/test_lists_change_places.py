"""Lists of numbers that are others from turn to turn: prev = cur, prev, cur = cur, prev; whatever other names they have."""
import numpy as np
import pytest

import fusewire
from fusewire import _fusewire
from compare import assert_same_call


def edit_distance(a, b):
    prev = list(range(len(b) + 1))
    for i in range(1, len(a) + 1):
        cur = [i] + [0] * len(b)
        for j in range(1, len(b) + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            cur[j] = min(prev[j] + 1, cur[j - 1] + 1, prev[j - 1] + cost)
        prev = cur
    return prev[-1], prev


def swapped_rows(a, b):
    n = len(b)
    prev = [0] * (n + 1)
    cur = [0] * (n + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, n + 1):
            cur[j] = prev[j - 1] + 1 if a[i - 1] == b[j - 1] else max(prev[j], cur[j - 1])
        prev, cur = cur, prev
    return prev, cur


def behind_the_loop(a, b):
    prev = [0.0] * (len(b) + 1)
    for i in range(len(a)):
        cur = [0.0] * (len(b) + 1)
        for j in range(len(b)): cur[j + 1] = prev[j] + a[i] * 0.5
        prev = cur
    return prev, prev is cur if len(a) else None, cur[0] if len(a) else None


def first_one_kept(a, b):
    first = prev = [1] * (len(b) + 1)
    for i in range(len(a)):
        prev[0] = i + 7
        cur = [0] * (len(b) + 1)
        for j in range(len(b)): cur[j + 1] = prev[j] + b[j]
        prev = cur
    return first, prev, first is prev


def first_one_read(a, b):
    first = prev = [1] * (len(b) + 1)
    s = 0
    for i in range(len(a)):
        prev[0] = i + 7
        s += first[0]
        cur = [0] * (len(b) + 1)
        for j in range(len(b)): cur[j + 1] = prev[j] + b[j]
        prev = cur
    return first, prev, s


def first_one_written(a, b):
    first = prev = [1] * (len(b) + 1)
    s = 0
    for i in range(len(a)):
        first[0] = i + 7
        cur = [0] * (len(b) + 1)
        for j in range(len(b)): cur[j + 1] = prev[j] + b[j]
        s += prev[0]
        prev = cur
    return first, prev, s


def two_names(a, b):
    prev = [1] * (len(b) + 1)
    last = prev
    for i in range(len(a)):
        cur = [i] * (len(b) + 1)
        for j in range(len(b)): cur[j + 1] = prev[j] + b[j] + last[j]
        last = prev = cur
        last[0] += 1
    return last, prev, last is prev


def two_behind(a, b):
    one, two = [1] * (len(b) + 1), [2] * (len(b) + 1)
    for i in range(len(a)):
        new = [i] * (len(b) + 1)
        for j in range(len(b)): new[j + 1] = (one[j] + two[j] + b[j]) % 100
        one, two = two, new
    return one, two


def swapped_with_another_name(a, b):
    x = [0] * (len(b) + 1); y = [1] * (len(b) + 1); z = x
    for i in range(len(a)):
        for j in range(len(b)): x[j] = y[j] + b[j]
        z[0] += 1
        x, y = y, x
    return x, y, z, z is x


def history(a, b):
    rows = []
    prev = [0] * (len(b) + 1)
    for i in range(len(a)):
        cur = [0] * (len(b) + 1)
        for j in range(len(b)): cur[j + 1] = prev[j] + b[j]
        rows.append(cur)
        prev = cur
    return rows, prev


def in_a_branch(a, b):
    prev = [0] * (len(b) + 1)
    for i in range(len(a)):
        cur = [i] * (len(b) + 1)
        for j in range(len(b)): cur[j + 1] = prev[j] + b[j]
        if a[i] > 1: prev = cur
    return prev


def shorter_each_turn(a, b):
    level = [v * 1 for v in b]
    while len(level) > 1:
        nxt = []
        for k in range(0, len(level) - 1, 2): nxt.append(level[k] + level[k + 1])
        if len(level) % 2: nxt.append(level[-1])
        level = nxt
    return level


def while_turns(a, b):
    prev = [0] * (len(b) + 1)
    i = 0
    while i < len(a):
        cur = [i] + [0] * len(b)
        for j in range(len(b)): cur[j + 1] = max(prev[j], cur[j]) + (1 if a[i] == b[j] else 0)
        prev = cur
        i += 1
    return prev


class Row:
    def __init__(self, n): self.values = [0] * n


def in_an_attribute(a, b):
    row = Row(len(b) + 1)
    for i in range(len(a)):
        new = [0] * (len(b) + 1)
        for j in range(len(b)): new[j + 1] = row.values[j] + a[i]
        row.values = new
    return row.values


def in_a_tuple(a, b):
    state = ([0] * (len(b) + 1), 0)
    for i in range(len(a)):
        new = [0] * (len(b) + 1)
        for j in range(len(b)): new[j + 1] = state[0][j] + a[i]
        state = (new, state[1] + 1)
    return state


def generations(a, b):
    cells = [int(v) % 2 for v in b] + [0]
    for i in range(len(a)):
        new = [0] * len(cells)
        for j in range(len(cells)): new[j] = cells[j - 1] ^ cells[(j + 1) % len(cells)]
        cells = new
    return cells, sum(cells)


def floats_behind_ints(a, b):
    prev = [0] * (len(b) + 1)
    for i in range(len(a)):
        cur = [0] * (len(b) + 1)
        for j in range(len(b)): cur[j + 1] = prev[j] * 0.5 + b[j]
        prev = cur
    return prev


def joined(a, b):
    ends = [0] + [int(v) for v in b] + [1.5] if len(a) > 5 else [0] + list(range(len(b)))
    s = 0
    for i in range(len(a)): s += ends[i % len(ends)] + ends[a[i] % len(ends)]
    return ends, s


def left_by_an_error(a, b):
    prev = [0] * (len(b) + 1); i = -1
    try:
        for i in range(len(a)):
            cur = [0] * (len(b) + 1)
            for j in range(len(b)): cur[j + 1] = prev[j] + 10 // int(a[i])
            prev = cur
    except ZeroDivisionError: return prev, i
    return prev


def outside_of_it(a, b):
    prev = [0] * (len(b) + 1); cur = None
    for i in range(len(a)):
        cur = [i] + [0] * len(b)
        for j in range(len(b)): cur[j + a[i]] = prev[j] + 1
        prev = cur
    return prev, cur


def nested_turns(a, b):
    best = None; total = 0
    for k in range(3):
        prev = list(range(len(b) + 1))
        for i in range(len(a)):
            cur = [i + 1] + [0] * len(b)
            for j in range(len(b)): cur[j + 1] = min(prev[j] + (a[i] != b[j]), prev[j + 1] + 1, cur[j] + 1)
            prev = cur
        total += prev[-1]
        best = prev if best is None or prev[-1] < best[-1] else best
    return total, best


def helper(prev, x, b):
    cur = [0] * len(prev)
    for j in range(len(b)): cur[j + 1] = prev[j] + x
    return cur


def made_by_a_function(a, b):
    prev = [0] * (len(b) + 1)
    for i in range(len(a)): prev = helper(prev, int(a[i]), b)
    return prev


def in_a_cell(a, b):
    prev = [0] * (len(b) + 1)
    def get(j): return prev[j]
    for i in range(len(a)):
        cur = [0] * (len(b) + 1)
        for j in range(len(b)): cur[j + 1] = get(j) + int(b[j])
        prev = cur
    return prev, get(1)


def swap_in_helper(x, y): return y, x


def swapped_by_a_function(a, b):
    x = [0] * (len(b) + 1); y = [1] * (len(b) + 1)
    for i in range(len(a)):
        for j in range(len(b)): x[j] = y[j + 1] + int(b[j])
        x, y = swap_in_helper(x, y)
    return x, y, x is y


def items_swapped(a, b):
    rows = [[0] * (len(b) + 1), [1] * (len(b) + 1)]
    for i in range(len(a)):
        for j in range(len(b)): rows[0][j] = rows[1][j + 1] + int(b[j])
        rows[0], rows[1] = rows[1], rows[0]
    return rows


def by_parity(a, b):
    rows = [[0] * (len(b) + 1), [1] * (len(b) + 1)]
    for i in range(len(a)):
        cur, prev = rows[i % 2], rows[1 - i % 2]
        for j in range(len(b)): cur[j] = prev[j + 1] + int(b[j])
    return rows


def three_places(a, b):
    p, q, r = [0] * (len(b) + 1), [1] * (len(b) + 1), [2] * (len(b) + 1)
    for i in range(len(a)):
        for j in range(len(b)): r[j] = p[j] + q[j + 1]
        p, q, r = q, r, p
    return p, q, r


def copied(a, b):
    prev = [0] * (len(b) + 1)
    for i in range(len(a)):
        cur = prev[:]
        for j in range(len(b)): cur[j] = cur[j] + prev[j + 1] + int(a[i])
        prev = cur
    return prev


def copied_otherwise(a, b):
    prev = [0] * (len(b) + 1)
    for i in range(len(a)):
        cur = list(prev)
        for j in range(len(b)): cur[j] = cur[j] + prev[j + 1] + int(a[i])
        prev = cur.copy()
    return prev, sum(prev), max(prev)


def comprehended(a, b):
    prev = [0 for _ in range(len(b) + 1)]
    for i in range(len(a)):
        cur = [0 for _ in range(len(b) + 1)]
        for j in range(len(b)): cur[j + 1] = prev[j] + int(a[i])
        prev = cur
    return prev


def each_a_comprehension(a, b):
    prev = [j * 0.5 for j in range(len(b) + 1)]
    for i in range(len(a)):
        prev = [prev[j - 1] + prev[j] * 0.25 for j in range(len(prev))]
    return prev


def emptied(a, b):
    prev = [1] * len(b)
    for i in range(len(a)):
        cur = [0] * len(b)
        for j in range(len(b)): cur[j] = prev[j] * 2 % 101
        prev = cur
    return prev


def items_taken(a, b):
    q = list(range(len(b) + 1))
    for i in range(len(a)):
        k = a[i] % len(q)
        v = q[k]; q[k] = q[-1]
        if len(q) > 2: q.pop()
    return q


def asked_for(a, b):
    q = list(range(len(b)))
    n = 0
    for i in range(len(a)):
        if a[i] in q: n += 1
        q[i % max(1, len(q))] = -1
    return n, q, q.count(-1), q.index(-1) if -1 in q else None


FUNCTIONS = (edit_distance, swapped_rows, behind_the_loop, first_one_kept, first_one_read, first_one_written, two_names, two_behind,
             swapped_with_another_name, history, in_a_branch, shorter_each_turn, while_turns, in_an_attribute, in_a_tuple, generations,
             floats_behind_ints, joined, left_by_an_error, outside_of_it, nested_turns, made_by_a_function, in_a_cell, swapped_by_a_function, items_swapped,
             by_parity, three_places, copied, copied_otherwise, comprehended, each_a_comprehension, emptied, items_taken, asked_for)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_python(function):
    rng = np.random.default_rng(5)
    for economy in (False, True):
        compiled = fusewire.compile(function, economy=economy)
        for sizes in ((20, 30), (21, 30), (100, 7), (1, 9), (2, 80), (3, 1), (0, 5), (5, 0)):
            a, b = (rng.integers(0, 4, n) for n in sizes)
            for _ in range(2): assert_same_call(function, compiled, (a, b))
        breaks = _fusewire.describe(compiled)["breaks"]
        assert not [b for b in breaks if b["class"] == "bug"], breaks


@pytest.mark.parametrize("function", (edit_distance, swapped_rows, behind_the_loop, two_behind, generations, in_a_tuple, made_by_a_function, in_a_cell,
                                      swapped_by_a_function, items_swapped, three_places, copied, comprehended, each_a_comprehension),
                         ids=lambda f: f.__name__)
def test_one_region(function):
    compiled = fusewire.compile(function, economy=False, fullgraph=True)
    rng = np.random.default_rng(6)
    for sizes in ((20, 30), (21, 30), (100, 7)):
        a, b = (rng.integers(0, 4, n) for n in sizes)
        assert_same_call(function, compiled, (a, b))


def caller_two(x, a, b):
    for i in range(len(x)):
        a, b = b, a
        a[i] += 1
    return a, b


def caller_three(x, a, b):
    c = [7] * len(a)
    for i in range(len(x)):
        a, b, c = b, c, a
        a[i] += 1
    return a, b, c


def caller_until(x, a, b):
    i = 0
    while i < len(x) and x[i] < 0.9:
        a, b = b, a
        a[i] += b[i]
        i += 1
    return a, b, i


def caller_one(x, a, b):
    for v in x:
        if v > 0.5:
            a = b
        a[0] += 1
    return a, b


@pytest.mark.parametrize("function", [caller_two, caller_three, caller_until, caller_one], ids=lambda f: f.__name__)
def test_the_callers_stay_what_they_are(function):
    """They are the same objects behind the loop, each under the name that it has there."""
    compiled = fusewire.compile(function, background=False)
    for count in (66, 67, 68, 69, 0, 1, 2, 3, 66):
        x = np.random.default_rng(count).random(count)
        given = [[[j] * 100 for j in range(2)] for _ in range(2)]
        expected, actual = function(x, *given[0]), compiled(x, *given[1])
        names = [[[item is one for one in lists] for item in result] for result, lists in zip((expected, actual), given)]
        assert expected == actual and given[0] == given[1] and names[0] == names[1]
