"""Lists in lists of which array data decides how long each one is (src/frame_eval/pooled_list.h)."""

import bisect
from collections import defaultdict

import fusewire
import numpy as np
import pytest
from compare import assert_same_call, assert_same_calls

X = np.random.default_rng(5).normal(size=400)
ARRAYS = [X, -X, abs(X), X[:40], X[:2], X[:1], X[:0]]


def rows_of(x, k):
    rows = [[] for _ in range(k)]
    for i in range(len(x)):
        rows[int(abs(x[i]) * 7) % k].append(i)
    return rows


def built(x):
    return rows_of(x, 9)


def built_by_appending(x):
    rows = []
    for _ in range(70):
        rows.append([])
    for i, v in enumerate(x):
        rows[int(abs(v) * 30) % 70].append(v)
    return rows


def few(x):
    sides = [[], []]
    for v in x:
        sides[int(v < 0)].append(float(v))
    return sides


def names_of_rows(x):
    left, right = [], []
    sides = [left, right]
    for v in x:
        sides[int(v < 0)].append(float(v))
    return len(left), len(right)


def of_pairs(x):
    rows = [[] for _ in range(80)]
    for i, v in enumerate(x):
        rows[int(abs(v) * 40) % 80].append((i, v, v > 0))
    total = 0.0
    for row in rows:
        for i, v, positive in row:
            total += v * i if positive else -1.0
    return total, rows


def of_ints_and_floats(x):
    rows = [[] for _ in range(70)]
    for i, v in enumerate(x):
        k = int(abs(v) * 40) % 70
        if v > 0:
            rows[k].append(i)
        else:
            rows[k].append(float(v))
    return rows


def of_names(x):
    rows = [[] for _ in range(70)]
    for v in x:
        rows[int(abs(v) * 40) % 70].append("up" if v > 0 else "down")
    return rows


def filtered(x):
    n = len(x)
    rows = [[j for j in range(n) if abs(x[i] - x[j]) < 0.1] for i in range(n)]
    total = 0.0
    for i in range(n):
        for j in rows[i]:
            total += x[j] * (i - j)
    return total, rows


def read_and_set(x):
    rows = rows_of(x, 67)
    n = 0
    for row in rows:
        if row:
            n += row[0] + 3 * row[-1] + 5 * row[len(row) // 2]
            row[-1] = -n % 1000
    for i in range(len(x)):
        row = rows[i % 67]
        if len(row) > 2:
            row[1] += row[0]
            row[-2] = i
    return n, rows


def index_outside(x):
    rows = rows_of(x, 67)
    n = 0
    for row in rows:
        n += row[2]
    return n


def popped(x):
    rows = [[] for _ in range(65)]
    out = []
    for i, v in enumerate(x):
        row = rows[int(abs(v) * 40) % 65]
        if len(row) > 2:
            out.append(row.pop())
        elif len(row) == 2 and v > 1:
            out.append(row.pop(0))
        elif v < -2:
            row.clear()
        else:
            row.append(i)
    return out, rows


def popped_empty(x):
    rows = [[] for _ in range(65)]
    n = 0
    for i, v in enumerate(x):
        if v > 0:
            rows[i % 65].append(i)
        else:
            n += rows[(i * 7) % 65].pop()
    return n


def emptied(x):
    rows = rows_of(x, 66)
    out = []
    for u in range(66):
        while rows[u]:
            out.append(rows[u].pop())
    return out, rows


def methods(x):
    rows = rows_of(x, 65)
    n = 0
    for row in rows:
        if len(row) > 2:
            row.insert(1, 5)
            row.reverse()
            n += row.index(5) + row.count(5) + (7 in row) + 2 * (row[0] not in row)
            row.remove(5)
            row.extend([1, 2])
            row += [3]
            n += sum(row) + max(row) * 3 + min(row) * 7
            row.sort()
            n += sorted(row)[1]
            del row[0]
    return n, rows


def other_lists_of_rows(x):
    rows = rows_of(x, 65)
    longest, total = [], 0
    for row in rows:
        own = list(row)
        own[0:1] = []
        if len(row) > len(longest):
            longest = row
        total += len(row[1:]) + len(row.copy())
    return total, len(longest)


def arrays_of_rows(x):
    rows = [[] for _ in range(65)]
    for v in x:
        rows[int(abs(v) * 40) % 65].append(float(v))
    means = np.zeros(65)
    for i, row in enumerate(rows):
        if len(row) > 1:
            means[i] = np.mean(row) + np.array(row).max()
    return means


def replaced(x):
    rows = rows_of(x, 65)
    for i, v in enumerate(x):
        if v > 1:
            rows[i % 65] = []
        elif v < -1:
            rows[i % 65] = [i, i + 1]
        rows[i % 65].append(i)
    return rows


def replaced_under_another_name(x):
    rows = rows_of(x, 65)
    for i, v in enumerate(x):
        row = rows[i % 65]
        if v > 1:
            rows[i % 65] = []
        row.append(i)
    return rows


def replaced_behind_a_name(x):
    rows = rows_of(x, 65)
    first = rows[0]
    for i in range(len(x)):
        rows[i % 65] = []
        first.append(i)
    return len(first), rows


def shared(x):
    rows = rows_of(x, 65)
    for i in range(64):
        rows[i + 1] = rows[i]
    for i, v in enumerate(x):
        rows[i % 65].append(i)
    return [len(row) for row in rows]


def appended_twice(x):
    rows = []
    for i in range(70):
        row = []
        rows.append(row)
        if i % 3 == 0:
            rows.append(row)
        row.append(i)
    for i, v in enumerate(x):
        rows[int(abs(v) * 20) % 70].append(i)
    return [len(row) for row in rows]


def filled_behind_appending(x):
    rows = []
    for i in range(70):
        row = []
        rows.append(row)
        for v in x[: i % 9]:
            if v > 0:
                row.append(v)
        row.append(1.0 * i)
    return rows


def grown_while_walked(x):
    rows = rows_of(x, 65)
    n = 0
    for i in range(65):
        for j in rows[i]:
            k = (j * 7) % 65
            if len(rows[k]) < 9:
                rows[k].append(j)
            n += 1
    return n, rows


def shrunk_while_walked(x):
    rows = rows_of(x, 65)
    n = 0
    for i in range(65):
        for j in rows[i]:
            n += j
            if len(rows[(i + j % 2) % 65]) > 3:
                rows[(i + j % 2) % 65].pop()
    return n, rows


def same_row_by_two_names(x):
    rows = rows_of(x, 65)
    n = 0
    for i, v in enumerate(x):
        a, b = rows[i % 65], rows[int(abs(v) * 40) % 65]
        a.append(i)
        n += len(b)
        b.append(-i)
        n += len(a) + (a[-1] if len(a) else 0)
    return n, rows


def one_row(x):
    rows = rows_of(x, 65)
    return rows[3]


def two_rows(x):
    rows = rows_of(x, 65)
    return rows[3], rows[3]


def rows_and_a_row(x):
    rows = rows_of(x, 65)
    return rows, rows[3]


def handed_on(x):
    groups, current = [], []
    for v in x:
        if v > 1:
            groups.append(current)
            current = []
        current.append(float(v))
    groups.append(current)
    return groups


def last_row(x):
    row, n = [], 0
    for i, v in enumerate(x):
        row = [0]
        for k in range(int(abs(v) * 3)):
            row.append(k * i)
        n += sum(row)
    return n, row


def triangle(n):
    rows = []
    for i in range(n):
        row = [1]
        for j in range(1, i):
            row.append((rows[i - 1][j - 1] + rows[i - 1][j]) % 1000003)
        if i:
            row.append(1)
        rows.append(row)
    return rows


def edges_outside(x):
    rows = rows_of(x, 65)
    kept = rows
    kept[2].append(77)
    return len(rows[2]), kept is rows


def paths(x):
    stack, n = [(0, [0])], 0
    while stack:
        u, path = stack.pop()
        n += len(path)
        for k in range(1, 4):
            v = u * 3 + k
            if v < len(x) and x[v] > -0.5:
                longer = []
                for w in path:
                    longer.append(w)
                longer.append(v)
                stack.append((v, longer))
    return n


def by_key(x):
    d = defaultdict(list)
    for i, v in enumerate(x):
        d[int(v * 10)].append(i)
    n = 0
    for k in d:
        for i in d[k]:
            n += i * k
    return n, d


def by_setdefault(x):
    d = {}
    for i, v in enumerate(x):
        d.setdefault(int(v * 10), []).append(float(v))
    t = 0.0
    for k, vs in d.items():
        t += len(vs) * vs[0]
    return t, d


def by_test(x):
    d = {}
    for i, v in enumerate(x):
        k = int(v * 10)
        if k not in d:
            d[k] = []
        d[k].append(i)
    return {k: len(vs) for k, vs in d.items()}


def by_first(x):
    d = {}
    for i, v in enumerate(x):
        k = int(v * 10)
        if k in d:
            d[k].append(i)
        else:
            d[k] = [i]
    n = 0
    for vs in d.values():
        n += sum(vs)
    return n


def cells(x):
    grid = defaultdict(list)
    n = len(x) // 2
    for i in range(n):
        grid[int(x[2 * i] // 0.3), int(x[2 * i + 1] // 0.3)].append(i)
    pairs = 0
    for i in range(n):
        a, b = int(x[2 * i] // 0.3), int(x[2 * i + 1] // 0.3)
        for da in (-1, 0, 1):
            for db in (-1, 0, 1):
                if (a + da, b + db) in grid:
                    for j in grid[a + da, b + db]:
                        if j > i and (x[2 * i] - x[2 * j]) ** 2 + (x[2 * i + 1] - x[2 * j + 1]) ** 2 < 0.09:
                            pairs += 1
    return pairs


def groups(x):
    out, cur = [], []
    for v in x:
        if v > 1:
            out.append(cur)
            cur = []
        cur.append(float(v))
    out.append(cur)
    return out


def groups2(x):
    out, cur = [], [x[0]]
    for i in range(1, len(x)):
        if x[i] > x[i - 1]:
            cur.append(x[i])
        else:
            out.append(cur)
            cur = [x[i]]
    out.append(cur)
    return max(len(g) for g in out), out


def groups3(x):
    out, cur = [], []
    for v in x:
        if v > 0:
            cur.append(v)
        elif cur:
            out.append(cur)
            cur = []
    if cur:
        out.append(cur)
    return [len(g) for g in out]


def groups4(x):
    out, cur = [], []
    same = cur
    for v in x:
        if v > 1:
            out.append(cur)
            cur = []
        cur.append(float(v))
    return out, len(cur), same


def groups5(x):
    cur = []
    same = cur
    for v in x:
        if v > 1:
            cur = []
        cur.append(v)
    return same, cur


def runs(x):
    out = []
    for v in x:
        s = 1 if v > 0 else -1
        if out and out[-1][0] == s:
            out[-1][1] += 1
        else:
            out.append([s, 1])
    return out


def pts(x):
    hull = []
    for i, v in enumerate(x):
        while len(hull) >= 2 and hull[-1][1] < v:
            hull.pop()
        hull.append([i, float(v)])
    return hull


def compared(x):
    rows = rows_of(x, 65)
    n = 0
    for i in range(64):
        n += rows[i] == rows[i + 1]
    return n


def rerooms(x):
    rows = [[] for _ in range(70)]
    r = rows[0]
    rows.append([5])
    r.append(1)
    return len(rows[0]), len(rows), len(r)


def rerooms_in_loop(x):
    rows = [[] for _ in range(70)]
    r = rows[0]
    for i in range(len(x)):
        rows.append([i])
        r.append(i)
    return len(rows[0]), len(rows)


def swapped(x):
    a = [[] for _ in range(70)]
    b = [[1] for _ in range(70)]
    r = a[0]
    for i in range(len(x)):
        a, b = b, a
        r.append(i)
        a[1].append(i)
    return len(a[0]), len(b[0]), len(a[1]), len(r)


def table_cleared(x):
    d = {}
    for v in x:
        d.setdefault(int(v * 3), []).append(1)
    r = d[int(x[0] * 3)]
    d.clear()
    for v in x:
        d.setdefault(int(v * 5), []).append(1)
    n = len(r)
    r.append(7)
    return n, d


def table_replaced(x):
    d = defaultdict(list)
    n = 0
    for i, v in enumerate(x):
        r = d[int(v * 3)]
        d[int(v * 5)].append(i)
        r.append(-i)
        n += len(r)
    return n, d


def table_set(x):
    d = {}
    for i, v in enumerate(x):
        k = int(v * 3)
        if k not in d:
            d[k] = []
        r = d[k]
        if v > 1:
            d[k] = [0]
        r.append(i)
    return d


def is_the_same(x):
    rows = [[] for _ in range(70)]
    n = 0
    for i, v in enumerate(x):
        n += rows[i % 70] is rows[int(abs(v) * 30) % 70]
    return n


def added_to(x):
    rows = [[] for _ in range(70)]
    for i, v in enumerate(x):
        rows[int(abs(v) * 30) % 70] += [i, i + 1]
        rows[i % 70] += rows[(i + 1) % 70]
        if len(rows[i % 70]) > 9:
            rows[i % 70] = [i]
    return rows


def added_to_entries(x):
    d = defaultdict(list)
    for i, v in enumerate(x):
        d[int(v * 3)] += [i]
    return d


def worked_outer(x):
    st = [[0]]
    n = 0
    for i, v in enumerate(x):
        r = st[-1]
        if v > 0.5:
            st.append([i])
        elif len(st) > 2:
            st.pop()
            st.append([-i])
        r.append(i)
        n += len(r) + len(st[-1])
    return n


def worked_outer2(x):
    st = [[0]]
    n = 0
    for i, v in enumerate(x):
        if v > 0.5:
            st.append([i])
        elif len(st) > 2:
            p = st.pop()
            p.append(3)
            st[-1].extend(p)
            n += len(p)
        st[-1].append(i)
    return n, len(st)


def tuple_rows(x):
    q = [(0, [])]
    n = 0
    for i, v in enumerate(x):
        k, r = q[-1]
        r.append(i)
        if v > 0:
            q.append((i, [k]))
        elif len(q) > 1:
            k, r = q.pop()
            r.append(k)
            n += len(r)
    return n, len(q)


def copies_of_the_list(x):
    rows = [[i] for i in range(70)]
    other = list(rows)
    third = rows[:]
    for i, v in enumerate(x):
        rows[i % 70].append(i)
    return len(other[0]), len(third[3])


def in_closure(x):
    rows = [[] for _ in range(70)]

    def add(k, v):
        rows[k].append(v)

    for i, v in enumerate(x):
        add(int(abs(v) * 30) % 70, i)
    return [len(r) for r in rows]


class Bins:
    def __init__(self, n):
        self.rows = [[] for _ in range(n)]
        self.best = None

    def put(self, k, v):
        row = self.rows[k]
        row.append(v)
        if self.best is None or len(row) > len(self.best):
            self.best = row


def an_object_keeps_the_longest(x):
    b = Bins(70)
    for i, v in enumerate(x):
        b.put(int(abs(v) * 30) % 70, i)
    return len(b.best), sum(len(r) for r in b.rows)


def rec_alias(x):
    st, n = [], 0
    for i, v in enumerate(x):
        st.append([i, v])
        p = st[i // 2]
        st[-1][0] += 1
        p[0] += 2
        n += p[0]
    return n, st


def rec_pop(x):
    st, n = [[0, 0.5]], 0.0
    for i, v in enumerate(x):
        if v > 0:
            st.append([i, v])
        elif len(st) > 1:
            p = st.pop()
            p[0] += 5
            n += p[0] * p[1]
            st[-1][0] = p[0]
    return n, st


def rec_append(x):
    st = []
    for i, v in enumerate(x):
        st.append([i, v])
        if v > 1:
            st[-1].append(3)
    return st


def longer_in_an_arm(x):
    r = []
    rows = [r]
    if x[0] > 0:
        for i in range(len(x)):
            rows.append([i])
    r.append(1)
    rows[0].append(2)
    return len(r), len(rows[0]), len(rows)


def longer_in_arms(x):
    n = 0
    for k in range(5):
        r = [k]
        rows = [r]
        if x[k] > 0:
            for i in range(len(x)):
                rows.append([i])
        else:
            rows.append([1, 2])
        r.append(1)
        rows[0].append(2)
        n += len(r) + len(rows[0]) + len(rows) + rows[0][0]
    return n


def longer_in_an_arm_behind_a_name(x):
    rows = [[] for _ in range(70)]
    r = rows[3]
    if x[0] > 0:
        rows.append([1])
    r.append(5)
    return len(rows[3]), len(r), len(rows)


def grown_later(x):
    rows = []
    for i in range(70):
        rows.append([i])
    r = rows[5]
    for i in range(len(x)):
        if x[i] > 0:
            rows.append([i])
        rows[i % 70].append(i)
    return len(r), len(rows)


def kept_best(x):
    rows = [[i] for i in range(70)]
    best, n = rows[0], 0
    for i, v in enumerate(x):
        n += len(best) + best[0]
        r = rows[i % 70]
        r.append(i)
        if len(r) > 2:
            best = r
        if v > 0.5:
            rows[(i * 3) % 70] = [-i]
    return n


def kept_best2(x):
    rows = [[i] for i in range(70)]
    best, n = rows[0], 0
    for i, v in enumerate(x):
        n += best[0]
        if v > 0.5:
            rows[(i * 3) % 70] = [-i]
        elif v > 0:
            best = rows[i % 70]
    return n


def kept_popped(x):
    st = [[0, 0.5]]
    best, n = st[0], 0
    for i, v in enumerate(x):
        n += best[0]
        if v > 0:
            st.append([i, v])
        elif len(st) > 1:
            st.pop()
        if v > 1:
            best = st[-1]
    return n


def last_of_the_turn(x):
    rows = [[i] for i in range(70)]
    n = 0
    for i in range(1, len(x)):
        for k in range(3):
            r = rows[(i + k) % 70]
            n += len(r)
            if x[i] > 0.5:
                rows[(i * 3) % 70] = [k]
        n += r[0]
    return n


def kept_from_a_dict_that_is_cleared(x):
    d = {}
    best, n = [0], 0
    for i, v in enumerate(x):
        d.setdefault(int(v * 3), []).append(i)
        best = d[int(v * 3)]
        if i % 50 == 49:
            d.clear()
        n += best[0]
    return n


class Sparse:
    """Rows of places and values, in the order of the places."""

    def __init__(self, n):
        self.places = [[] for _ in range(n)]
        self.values = [[] for _ in range(n)]

    def add(self, i, j, v):
        k = bisect.bisect_left(self.places[i], j)
        if k < len(self.places[i]) and self.places[i][k] == j:
            self.values[i][k] += v
        else:
            self.places[i].insert(k, j)
            self.values[i].insert(k, v)


def assembled(x):
    matrix = Sparse(66)
    for i, v in enumerate(x):
        matrix.add(int(abs(v) * 30) % 66, i % 7, v)
    return matrix.places, [sum(row) for row in matrix.values]


def popped_before_anything_is_put(x):
    rows, n = [[] for _ in range(66)], 0
    for i, v in enumerate(x):
        if v > 5:
            n += rows[i % 66].pop() + rows[i % 66][0]
        rows[i % 66].append(i)
    return n, rows


def lists_of_lists_of_lists(x):
    c = [[] for _ in range(70)]
    n = 0
    for i, v in enumerate(x):
        k = int(abs(v) * 30) % 70
        c[k].append([i])
        r = c[k][0]
        c[k].append([])
        c[k].append([])
        r.append(i)
        n += len(r) + len(c[k][0])
    return n, c[0], sum(len(q) for q in c)


def popped_from_lists_of_lists(x):
    c = [[] for _ in range(70)]
    n = 0
    for i, v in enumerate(x):
        k = i % 70
        c[k].append([i])
        if v > 0:
            p = c[k].pop()
            c[k].append([5, 6])
            p.append(i)
            n += len(p) + len(c[k][-1])
    return n


def copied_with_lists(x):
    c = [[[0]] for _ in range(70)]
    for i, v in enumerate(x):
        d = c[i % 70][:]
        c[i % 70][0].append(i)
        d[0].append(-i)
        if len(c[i % 70]) < 3:
            c[i % 70].append([i])
    return [len(q[0]) for q in c]


def lists_in_records(x):
    st = []
    for i, v in enumerate(x):
        st.append([i, []])
        st[-1][1].append(v)
        p = st[i // 2][1]
        st[i // 2][1] = [i]
        p.append(1)
    return sum(len(b) for _, b in st), len(st)


EVERY = [
    built,
    built_by_appending,
    few,
    names_of_rows,
    of_pairs,
    of_ints_and_floats,
    of_names,
    filtered,
    read_and_set,
    index_outside,
    popped,
    popped_empty,
    emptied,
    methods,
    other_lists_of_rows,
    arrays_of_rows,
    replaced,
    replaced_under_another_name,
    replaced_behind_a_name,
    shared,
    appended_twice,
    filled_behind_appending,
    grown_while_walked,
    shrunk_while_walked,
    same_row_by_two_names,
    one_row,
    two_rows,
    rows_and_a_row,
    handed_on,
    last_row,
    edges_outside,
    paths,
    compared,
    by_key,
    by_setdefault,
    by_test,
    by_first,
    cells,
    groups,
    groups2,
    groups3,
    groups4,
    groups5,
    runs,
    pts,
    rerooms,
    rerooms_in_loop,
    swapped,
    table_cleared,
    table_replaced,
    table_set,
    is_the_same,
    added_to,
    added_to_entries,
    worked_outer,
    worked_outer2,
    tuple_rows,
    copies_of_the_list,
    in_closure,
    an_object_keeps_the_longest,
    rec_alias,
    rec_pop,
    rec_append,
    longer_in_an_arm,
    longer_in_arms,
    longer_in_an_arm_behind_a_name,
    grown_later,
    kept_best,
    kept_best2,
    kept_popped,
    last_of_the_turn,
    kept_from_a_dict_that_is_cleared,
    assembled,
    popped_before_anything_is_put,
    lists_of_lists_of_lists,
    popped_from_lists_of_lists,
    copied_with_lists,
    lists_in_records,
]


@pytest.mark.parametrize("function", EVERY, ids=lambda f: f.__name__)
def test_as_python(function):
    for options in ({}, {"checked": True}, {"compile_all": True}):
        assert_same_calls(function, ARRAYS, 2, economy=False, **options)


@pytest.mark.parametrize("n", [0, 1, 2, 40, 130])
def test_triangle(n):
    compiled = fusewire.compile(triangle, economy=False)
    for _ in range(3):
        assert_same_call(triangle, compiled, (n,))
