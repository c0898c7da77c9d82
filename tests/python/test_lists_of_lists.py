"""Lists of lists that stand in arrays: tables by index, rows that are appended, and who may notice which list it is."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import fusewire
from compare import assert_same_call

SIZES = [1, 2, 5, 30, 90]


def check(function, make, calls=3):
    compiled = fusewire.compile(function, economy=False, background=False)
    for _ in range(calls):
        assert_same_call(function, compiled, make())


def compiled_once(function, *arguments):
    """Compiled, after a call that must have made one region of it."""
    compiled = fusewire.compile(function, economy=False, background=False)
    compiled(*copy.deepcopy(arguments))
    assert fusewire._fusewire.describe(compiled)["breaks"] == []
    return compiled


# ---- tables ---------------------------------------------------------------------------------------------------------


def lattice_paths(n):
    grid = [[1] * n for _ in range(n)]
    for i in range(1, n):
        for j in range(1, n):
            grid[i][j] = (grid[i - 1][j] + grid[i][j - 1]) % 1000007
    return grid[-1][-1]


def common_subsequence(a, b):
    n, m = len(a), len(b)
    table = [[0] * (m + 1) for _ in range(n + 1)]
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            if a[i - 1] == b[j - 1]:
                table[i][j] = table[i - 1][j - 1] + 1
            else:
                table[i][j] = max(table[i - 1][j], table[i][j - 1])
    return table[n][m]


def shortest_paths(n):
    far = [[float("inf")] * n for _ in range(n)]
    for i in range(n):
        far[i][i] = 0
        far[i][(i * 7 + 1) % n] = 1.0 + i % 3
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if far[i][k] + far[k][j] < far[i][j]:
                    far[i][j] = far[i][k] + far[k][j]
    return far


def life(n):
    grid = [[1 if (i * 7 + j * 13) % 5 < 2 else 0 for j in range(n)] for i in range(n)]
    for _ in range(3):
        after = [[0] * n for _ in range(n)]
        for i in range(n):
            for j in range(n):
                around = 0
                for di in (-1, 0, 1):
                    for dj in (-1, 0, 1):
                        if di or dj:
                            around += grid[(i + di) % n][(j + dj) % n]
                after[i][j] = 1 if around == 3 or (grid[i][j] and around == 2) else 0
        grid = after
    return grid


def heat(n):
    u = [[0.0 for _ in range(n)] for _ in range(n)]
    for i in range(n):
        u[0][i] = 100.0
    for _ in range(5):
        v = [row[:] for row in u]
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                v[i][j] = 0.25 * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1])
        u = v
    return u


def product(n):
    a = [[float(i + j) for j in range(n)] for i in range(n)]
    b = [[float(i - j) for j in range(n)] for i in range(n)]
    c = [[0.0 for _ in range(n)] for _ in range(n)]
    for i in range(n):
        for j in range(n):
            total = 0.0
            for k in range(n):
                total += a[i][k] * b[k][j]
            c[i][j] = total
    return c


def row_by_row(n):
    grid = [[i * j % 7 for j in range(n)] for i in range(n)]
    total = 0
    for row in grid:
        for x in row:
            total += x
    for i, row in enumerate(grid):
        row[i] = -1
    return total, [sum(r) for r in grid], max(grid[i][j] for i in range(n) for j in range(n)), len(grid), len(grid[0])


def cube(n):
    grid = [[[i + j + k for k in range(n)] for j in range(n)] for i in range(n)]
    for i in range(1, n):
        for j in range(n):
            for k in range(n):
                grid[i][j][k] += grid[i - 1][j][k] % 5
    return grid


PROGRAMS = [lattice_paths, shortest_paths, life, heat, product, row_by_row]


@pytest.mark.parametrize("function", PROGRAMS + [cube], ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", SIZES)
def test_tables(function, n):
    n = min(n, 20) if function is cube else n
    check(function, lambda: (n,))


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_tables_are_one_region(function):
    compiled_once(function, 80)


def test_of_two_sequences():
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 4, 120), rng.integers(0, 4, 90)
    check(common_subsequence, lambda: (a, b))
    compiled_once(common_subsequence, a, b)


def test_sizes_in_turn():
    compiled = fusewire.compile(shortest_paths, economy=False)
    for n in [80, 3, 1, 0, 17, 80, 64, 65]:
        assert repr(compiled(n)) == repr(shortest_paths(n)), n


# ---- rows that are appended -----------------------------------------------------------------------------------------


def epidemic(n):
    s, i, r = 990.0, 10.0, 0.0
    out = [[s, i, r]]
    for _ in range(n):
        infected, recovered = 0.3 * s * i / 1000.0 * 0.1, 0.1 * i * 0.1
        s -= infected
        i += infected - recovered
        r += recovered
        out.append([s, i, r])
    return out


def orbit(n):
    state = [1.0, 0.0]
    out = [state[:]]
    for _ in range(n):
        state = [state[0] + 0.01 * state[1], state[1] - 0.01 * state[0]]
        out.append(state)
    return np.array(out), state


def counted(n):
    out = []
    for k in range(n):
        out.append([k, k * k % 17])
    return out


def mixed(n):
    out = []
    for k in range(n):
        out.append([k, 0.5 * k])
    return out


def some_of_them(n):
    out = []
    for k in range(n):
        if k * k % 7 < 3:
            out.append([k, k + 1])
    return out


def triangle(n):
    rows = []
    for i in range(n):
        row = [1]
        for j in range(1, i):
            row.append(rows[i - 1][j - 1] + rows[i - 1][j])
        if i > 0:
            row.append(1)
        rows.append(row)
    return rows


def with_names(n):
    out = []
    for k in range(n):
        out.append((k, [k, k + 1], 0.5))
    return out


@pytest.mark.parametrize("n", [0, 1, 3, 70, 300])
@pytest.mark.parametrize("function", [epidemic, orbit, counted, mixed, some_of_them, triangle, with_names], ids=lambda f: f.__name__)
def test_rows_are_appended(function, n):
    check(function, lambda: (min(n, 60) if function is triangle else n,))


@pytest.mark.parametrize("function", [epidemic, counted, mixed], ids=lambda f: f.__name__)
def test_appended_rows_are_one_region(function):
    compiled_once(function, 300)


# ---- which list it is -----------------------------------------------------------------------------------------------


def one_list_many_times(n):
    grid = [[0] * 3] * n
    for i in range(n):
        grid[i][i % 3] += i
    return grid, grid[0] is grid[-1]


def written_after_it_was_appended(n):
    out = []
    for k in range(n):
        row = [k, k]
        out.append(row)
        row[0] = -k
    return out


def appended_twice(n):
    out = []
    for k in range(n):
        row = [k, k]
        out.append(row)
        out.append(row)
    out[0][1] = 99
    return out


def in_two_lists(n):
    a, b = [], []
    for k in range(n):
        row = [k, k]
        a.append(row)
        b.append(row)
    a[0][0] = 99
    return a, b


def known_by_two_names(n):
    grid = [[0] * n for _ in range(n)]
    same, row = grid, grid[n // 2]
    for i in range(n):
        same[i][i] = i
        row[i] += 100
    return grid


def with_its_row(n):
    grid = [[i] * n for i in range(n)]
    for i in range(n):
        grid[i][i] = 7
    last = grid[-1]
    last[0] = 5
    return grid, last


def only_a_row(n):
    grid = [[i] * n for i in range(n)]
    for i in range(n):
        grid[i][n - 1 - i] = 7
    return grid[n // 2]


def two_rows(n):
    grid = [[i] * n for i in range(n)]
    for i in range(n):
        grid[i][n - 1 - i] = 7
    return grid[0], grid[-1], grid[0]


def compared(n):
    grid = [[i % 2] * n for i in range(n)]
    same = 0
    for i in range(n):
        grid[i][0] = i % 2
        same += grid[i] == grid[0]
        same += 10 * (grid[i] is grid[0])
        same += 100 * (grid[i][0] in grid[i])
    return same


def replaced(n):
    grid = [[i] * n for i in range(n)]
    for i in range(n):
        grid[i][i] = 7
    old = grid[0]
    grid[0] = [5] * n
    grid[0][0] = 6
    old[-1] = 11
    return grid, old


def exchanged(n):
    grid = [[i] * n for i in range(n)]
    for i in range(n - 1):
        grid[i], grid[i + 1] = grid[i + 1], grid[i]
        grid[i][i] = -1
    return grid


def longer(n):
    grid = [[i] * n for i in range(n)]
    for i in range(n):
        grid[i][0] = 3
        grid[i].append(i)
    return grid


def grown_behind(n):
    grid = [[i] * n for i in range(n)]
    for i in range(n):
        grid[i][0] = 3
    first = grid[0]
    grid.append([8] * n)
    first[-1] = 77
    grid[-1][0] = 9
    return grid


def methods(n):
    grid = [[i * j % 5 for j in range(n)] for i in range(n)]
    for i in range(n):
        grid[i][0] = i
    grid.reverse()
    grid[0].sort()
    taken = grid.pop()
    grid.insert(0, taken)
    del grid[-1]
    return grid, taken, list(zip(*grid)), list(map(max, grid)), copy.deepcopy(grid)


def handed_to_a_helper(n):
    def fill(row, value):
        for j in range(len(row)):
            row[j] = value
        return row

    grid = [[0] * n for _ in range(n)]
    for i in range(n):
        kept = fill(grid[i], i)
    return grid, kept


class Board:
    def __init__(self, n):
        self.cells = [[0] * n for _ in range(n)]

    def mark(self, i, j):
        self.cells[i][j] += 1
        return self.cells[i]


def of_an_object(n):
    board = Board(n)
    for k in range(3 * n):
        row = board.mark(k % n, k * k % n)
    return board.cells, row


def kept_elsewhere(n, store):
    grid = [[0] * n for _ in range(n)]
    for i in range(n):
        grid[i][i] = i
    store["grid"] = grid
    store["row"] = grid[0]
    grid[0][0] = 5


def printed_half_way(n, out):
    grid = [[0] * n for _ in range(n)]
    for i in range(n):
        row = grid[i]
        for j in range(n):
            grid[j][i] += i
        out.append(str(row))
        row[i] = -1
    return grid


def outside(n):
    grid = [[0] * n for _ in range(n)]
    for i in range(n + 1):
        grid[i][0] = 1
    return grid


def outside_a_row(n):
    grid = [[0] * n for _ in range(n)]
    done = []
    try:
        for i in range(n):
            for j in range(n + 1):
                grid[i][j] = 1
                done.append(j)
    except IndexError as error:
        return grid, done, str(error)


def from_the_end(n):
    grid = [[0] * n for _ in range(n)]
    for i in range(n):
        grid[-i - 1][-1 - i] = i
    return grid


def other_numbers(n):
    grid = [[0] * n for _ in range(n)]
    for i in range(n):
        grid[i][i] = 0.5 * i
    grid[0][0] = None
    return grid


def too_great(n):
    grid = [[1] * n for _ in range(n)]
    for i in range(1, n):
        for j in range(n):
            grid[i][j] = grid[i - 1][j] * 3
    return grid


def to_arrays(n):
    grid = [[i * j for j in range(n)] for i in range(n)]
    for i in range(n):
        grid[i][0] = -1
    return np.array(grid), np.sum(grid, axis=0), np.asarray(grid[0]), np.array(grid, dtype=float) @ np.ones(n)


def of_different_lengths(n):
    grid = [[0] * (i + 1) for i in range(n)]
    for i in range(n):
        for j in range(i + 1):
            grid[i][j] = i * j
    return grid


def of_no_numbers(n):
    grid = [["."] * n for _ in range(n)]
    for i in range(n):
        grid[i][i] = "#"
    return ["".join(row) for row in grid]


WHICH = [
    one_list_many_times, written_after_it_was_appended, appended_twice, in_two_lists, known_by_two_names, with_its_row, only_a_row, two_rows,
    compared, replaced, exchanged, longer, grown_behind, methods, handed_to_a_helper, of_an_object, outside, outside_a_row, from_the_end,
    other_numbers, too_great, to_arrays, of_different_lengths, of_no_numbers,
]  # fmt: skip


def shape(value):
    """Which lists of the outcome are the same ones."""
    seen = {}

    def walk(v):
        if isinstance(v, (list, tuple)):
            if id(v) in seen:
                return ["again", seen[id(v)]]
            seen[id(v)] = len(seen)
            return [type(v).__name__, *map(walk, v)]
        return repr(v)

    return walk(value)


@pytest.mark.parametrize("n", [1, 2, 12, 80])
@pytest.mark.parametrize("function", WHICH, ids=lambda f: f.__name__)
def test_which_list_it_is(function, n):
    compiled = fusewire.compile(function, economy=False, background=False)
    for _ in range(3):
        try:
            expected = shape(function(n))
        except Exception as error:
            with pytest.raises(type(error), match="^" + str(error).replace("(", "\\(") + "$"):
                compiled(n)
            continue
        assert shape(compiled(n)) == expected


@pytest.mark.parametrize("n", [1, 12, 80])
def test_effects(n):
    for function, make in [(kept_elsewhere, dict), (printed_half_way, list)]:
        compiled = fusewire.compile(function, economy=False, background=False)
        for _ in range(3):
            own, other = make(), make()
            assert shape(compiled(n, own)) == shape(function(n, other))
            assert shape(list(own.values()) if make is dict else own) == shape(list(other.values()) if make is dict else other)


# ---- arrays by two indices in turn ----------------------------------------------------------------------------------


def chained(grid):
    for i in range(1, grid.shape[0]):
        for j in range(1, grid.shape[1]):
            if (i + j) % 3:
                grid[i][j] = grid[i - 1][j] + 0.5 * grid[i][j - 1]
            grid.T[j][i - 1] += 1.0
            grid[1:][i - 1][::2] *= 1.001
            grid[:, 1:][i][::-1][0] -= 0.25
    return grid


@pytest.mark.parametrize("layout", ["C", "F", "strided"])
@pytest.mark.parametrize("shape_", [(1, 1), (2, 2), (3, 7), (70, 66)])
def test_chained_subscripts(layout, shape_):
    def make():
        grid = np.random.default_rng(1).standard_normal((2 * shape_[0], 3 * shape_[1]))
        grid = grid[::2, ::3] if layout == "strided" else np.array(grid[: shape_[0], : shape_[1]], order=layout)
        return (grid,)

    check(chained, make)


def test_a_chained_subscript_writes_one_element():
    """The rest of the row is not touched: the plan has no loop over it."""

    def step(grid):
        for i in range(1, grid.shape[0]):
            for j in range(1, grid.shape[1]):
                grid[i][j] = grid[i - 1][j] + grid[i][j - 1]

    compiled = compiled_once(step, np.ones((80, 90)))
    plan = fusewire._fusewire.describe(compiled)["variants"][0]["plan"]
    assert "axes=[0]" not in plan and "axes=[-1, 0]" not in plan
