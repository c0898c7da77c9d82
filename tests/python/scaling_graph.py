"""Constructs whose graphs grow: compiled code gains on them, and what it takes to make it grows in a straight line."""

from __future__ import annotations

import numpy as np

from scaling import construct

ROWS = 1000  # of what is compiled at once; more are for fuller runs


def _function(lines, args, arguments="x"):
    """f(arguments) of the source lines, made anew."""
    namespace = {"np": np}
    exec("\n".join([f"def f({arguments}):", *(f"    {line}" for line in lines)]), namespace)
    return namespace["f"], args


def _names(n):
    return [f"x{i}" for i in range(n)]


# ---- operations -----------------------------------------------------------------------------------------------------


@construct("operations", most=ROWS, full=10_000, gains=True)
def chained_operations(n):
    lines = [f"x = x * y + {i}.5" if i % 2 else f"x = x - y * {i}.25" for i in range(n)]
    return _function([*lines, "return x * 0"], (np.ones(7), np.full(7, 0.01)), "x, y")


@construct("operations", most=ROWS, full=10_000, gains=True)
def operations_that_read_the_first(n):
    return _function(["s = x", *(f"s = s * 0.5 + x * {i}" for i in range(n)), "return s"], (np.ones(9),))


@construct("reductions", most=100, full=ROWS, gains=True)
def reductions_one_after_the_other(n):
    return _function(["s = 0.0", *(f"s = (x * s + {i}).max()" for i in range(n)), "return s"], (np.full(7, 0.1),))


@construct("reductions", most=ROWS, gains=True)
def reductions_side_by_side(n):
    return _function([f"return [{', '.join(f'(x + {i}).max()' for i in range(n))}]"], (np.ones(9),))


@construct("operations", most=100, full=ROWS, gains=True)
def matrices_and_their_rows(n):
    lines = [f"x = x - x.sum(axis=1, keepdims=True) * {i}.5e-3" for i in range(n)]
    return _function([*lines, "return x"], (np.ones((3, 4)),))


# ---- arguments, outputs ---------------------------------------------------------------------------------------------


@construct("arguments", most=100, gains=True)
def arguments_of_one_size(n):
    names = _names(n)
    return _function([f"return {' + '.join(names)}"], tuple(np.ones(5) for _ in names), ", ".join(names))


@construct("arguments", most=100, gains=True)
def arguments_of_many_sizes(n):
    names = _names(n)
    line = f"return [{', '.join(f'{name} * 2 + {i}' for i, name in enumerate(names))}]"
    return _function([line], tuple(np.ones(3 + i % 50) for i in range(n)), ", ".join(names))


@construct("outputs", most=ROWS, gains=True)
def many_outputs(n):
    return _function([f"return [{', '.join(f'x + {i}' for i in range(n))}]"], (np.ones(9),))


@construct("outputs", most=ROWS, gains=True)
def outputs_that_are_views(n):
    return _function(["y = x * 2", f"return [{', '.join(f'y[{i}:]' for i in range(n))}]"], (np.ones(n + 1),))


# ---- joins ----------------------------------------------------------------------------------------------------------


@construct("arrays", gains=True)
def stack_of_arrays(n):
    def f(arrays):
        return np.stack(arrays)

    return f, ([np.ones(3) for _ in range(n)],)


@construct("arrays", gains=True)
def concatenate_of_arrays(n):
    def f(arrays):
        return np.concatenate(arrays)

    return f, ([np.ones(1 + i % 5) for i in range(n)],)


@construct("arrays", gains=True)
def vstack_of_results(n):
    def f(arrays):
        return np.vstack([a * 2 for a in arrays]) + 1

    return f, ([np.ones(3) for _ in range(n)],)


# ---- writes and views -----------------------------------------------------------------------------------------------


@construct("writes", most=100, full=ROWS, gains=True)
def writes_into_elements(n):
    return _function([*(f"x[{i}] = y[{i}] * 2" for i in range(n)), "return x"], (np.ones(n), np.ones(n)), "x, y")


@construct("writes", most=100, full=ROWS, gains=True)
def writes_into_fresh_memory(n):
    lines = [f"r[{i}] = x[{i}] + r[{max(i - 1, 0)}]" for i in range(n)]
    return _function(["r = np.zeros(len(x))", *lines, "return r"], (np.ones(n),))


@construct("arrays", most=100, gains=True)
def arguments_that_are_written(n):
    names = _names(n)
    return _function([f"{name} += 1" for name in names], tuple(np.ones(5) for _ in names), ", ".join(names))


@construct("rows", most=100, gains=True)
def rows_that_are_written(n):
    return _function([line for i in range(n) for line in (f"r = x[{i}]", "r += 1")], (np.ones((n, 3)),))


@construct("views", most=ROWS, gains=True)
def sums_of_slices(n):
    return _function(["r = 0.0", *(f"r = r + x[{i}:{i} + 4]" for i in range(n)), "return r"], (np.ones(n + 4),))


@construct("views", most=ROWS, gains=True)
def views_of_views(n):
    lines = ["x = x[1:]" if i % 3 else "x = x.reshape(-1, 1).T[0]" for i in range(n)]
    return _function([*lines, "return x + 1"], (np.ones(n + 4),))


# ---- symbols --------------------------------------------------------------------------------------------------------


@construct("sizes", most=100, full=ROWS, gains=True)
def sums_of_sizes(n):
    names = _names(n)
    line = f"return x0[:1] * ({' + '.join(f'len({name})' for name in names)})"
    return _function([line], tuple(np.ones(2 + i % 7) for i in range(n)), ", ".join(names))


@construct("divisions", most=ROWS, gains=True)
def sizes_that_are_halved(n):
    lines = [f"k = k // 2 + k // {3 + i % 2} + 1" for i in range(n)]
    return _function(["k = len(x)", *lines, "return x[:k] * 2"], (np.ones(1000),))


@construct("sizes", most=100, full=ROWS, gains=True)
def least_of_sizes(n):
    names = _names(n)
    line = f"return x0[:min({', '.join(f'len({name})' for name in names)}, 1000)] * 2"
    return _function([line], tuple(np.ones(2 + i % 7) for i in range(n)), ", ".join(names))
