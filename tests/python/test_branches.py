"""Decisions on array data inside of compiled code: both ways are traced and joined.

A case is a function and argument lists that go both ways. It is run plain and compiled, several times over, and compared
in everything that can be seen; CAPTURED ones must be one graph (`fullgraph=True`), BROKEN ones give plain Python's result
by a graph break with a reason.
"""

import time

import numpy as np
import pytest

import fusewire
from compare import assert_same_call, clone
from observe import assert_same_observation, observe

N = 6


def arrays(*factors):
    return [(np.arange(1.0, N + 1) * f,) for f in factors]


BOTH = arrays(1, -1, 0)


# ---- captured -----------------------------------------------------------------------------------------------------

def if_else(x):
    if x.sum() > 0:
        y = x * 2
    else:
        y = x - 1
    return y + 1


def if_alone(x):
    y = x + 1
    if x.sum() > 0:
        y = y * 2
    return y.sum()


def elif_chain(x):
    s = x.sum()
    if s > 5:
        y = x + 1
    elif s < -5:
        y = x - 1
    elif s == 0:
        y = x * 0.5
    else:
        y = x / 4
    return y


def expression(x):
    return (x * 2 if x[0] > 0 else x * 3) + 1


def expression_of_numbers(x):
    scale = 2.0 if x.max() > 3 else 0.5
    return x * scale


def number_returned(x):
    return x.max() if x.sum() > 0 else x.min()


def python_float_returned(x):
    return 1.5 if x.sum() > 0 else -2.5


def bool_returned(x):
    return True if x.sum() > 0 else False


def conjunction(x):
    if x.sum() > 0 and x[0] < 2:
        return x + 1
    return x - 1


def disjunction(x):
    if x[0] > 0 or x[1] == 0:
        y = x + 1
    else:
        y = x - 1
    return y


def value_of_and(x):
    return (x.sum() and x.max()) + x


def value_of_or(x):
    return (x.sum() or x.max()) + x


def negation(x):
    if not x.any():
        return x + 5
    return x / x.max()


def negated_value(x):
    flag = not x.sum() > 0
    return x + flag


def chained(x):
    if -1 < x[0] < 3:
        y = x * x
    else:
        y = x + x
    return y


def early_return(x):
    if x.sum() < 0:
        return np.zeros_like(x)
    y = np.sqrt(x)
    return y + 1


def nested(x):
    if x.sum() > 0:
        if x[0] > 0.5:
            y = x * 2
        else:
            y = x * 3
    else:
        if x[1] < -1:
            y = x - 1
        else:
            y = x - 2
    return y


def in_sequence(x):
    y = x + 0.0
    if x[0] > 0:
        y = y + 1
    if x[1] > 0:
        y = y * 2
    if x[2] < 0:
        y = y - 3
    if x[3] == 0:
        y = y / 5
    return y


def helper(x, s):
    if s > 0:
        return x * s
    return x - s


def inlined(x):
    return helper(x, x.sum()) + helper(-x, x.min())


def clip(x, lo=None):
    if lo is not None and x.min() < lo:
        x = x - x.min() + lo
    return x * 1.0


def inlined_with_default(x):
    return clip(x) + clip(x, 0.0)


def loop_with_decisions(x):
    y = x * 1.0
    for k in range(4):
        if y.sum() > 10 * k:
            y = y * 0.5
        else:
            y = y + 1
    return y


def loop_left_early(x):
    y = x * 1.0
    for k in range(5):
        y = y * 0.5
        if abs(y).max() < 0.9:
            break
    return y


def loop_left_early_else(x):
    y = x * 1.0
    for k in range(3):
        y = y * 0.5
        if y.max() < 0.9:
            break
    else:
        y = y + 100
    return y


def loop_continued(x):
    total = x * 0
    for k in range(4):
        if x[k] < 0:
            continue
        total = total + x * k
    return total


def loop_over_list(x):
    y = x * 1.0
    for factor in [0.5, 0.25, 0.125]:
        y = y * factor
        if y.max() < 0.5:
            break
    return y


def unused_on_one_side(x):
    if x.sum() > 0:
        t = x / 3
        y = t + 1
    else:
        y = x - 1
    return y


def tuple_joined(x):
    if x.sum() > 0:
        a, b = x + 1, x.max()
    else:
        a, b = x - 1, x.min()
    return a, b


def tuple_returned(x):
    if x.sum() > 0:
        return x + 1, 1.0
    return x - 1, 2.0


def list_made(x):
    if x.sum() > 0:
        out = [x + 1, x + 2]
    else:
        out = [x - 1, x - 2]
    return out


def list_appended(x):
    out = [x * 1.0]
    if x.sum() > 0:
        out.append(x + 1)
    else:
        out.append(x - 1)
    return out


def dict_filled(x):
    out = {}
    if x.sum() > 0:
        out["a"] = x + 1
    else:
        out["a"] = x - 1
    return out


def written_in_arms(x):
    y = np.zeros(N)
    if x.sum() > 0:
        y[1:] = x[1:]
    else:
        y[0] = x[0]
    y += 1
    return y


def written_in_one_arm(x):
    y = x * 2
    v = y[1:3]
    if x.sum() > 0:
        y *= 3
    return y, v + 1, v


def view_written(x):
    y = x * 2
    v = y[1:3]
    if x.sum() > 0:
        v += 10
    else:
        v[0] = 7
    return y


def swapped(x):
    a, b = x + 1, x + 2
    if x.sum() > 0:
        a, b = b * 1.0, a * 1.0
    else:
        a, b = a * 2.0, b * 2.0
    return a - b


def read_only_afterwards(x):
    y = x
    if x.max() > 3:
        y = x / x.max()
    return (y * 2).sum(), y[0], y.shape


def same_in_both(x):
    y = x + 1
    if x.sum() > 0:
        t = y * 2
    else:
        t = y * 3
    return t, y


def warning_in_arm(x):
    if x.sum() > 0:
        return np.log(x - 1)
    return np.sqrt(x)


def warning_of_unused(x):
    y = x + 1
    if x.sum() > 0:
        x / 0.0
    return y


def warning_of_unused_twice(x):
    if x.sum() > 0:
        np.log(x - 2)
        y = x + 1
    else:
        np.log(x - 2)
        y = x - 1
    np.log(x - 2)
    return y


def warning_of_unused_nested(x):
    y = x + 1
    if x.sum() > 0:
        if x[0] > 0.5:
            x / 0.0
        y = y * 2
    return y


def no_warning_of_other_arm(x):
    s = x.sum()
    if s != 0:
        y = x / s
    else:
        y = x + 1
    return y


def nothing_left(x):
    if x.sum() > 0:
        pass
    return x + 1


def cell(x):
    y = x + 1
    if x.sum() > 0:
        y = x * 2

    def inner():
        return y + 1
    return inner() + inner()


def comprehension(x):
    return sum([x * k if x.sum() > 0 else x + k for k in range(3)])


def zero_rank(x):
    t = np.asarray(x[0])
    return x + 1 if t else x - 1


def one_element(x):
    return x + 1 if x[:1] else x - 1


def complex_truth(x):
    z = x[0] * 1j
    return x + 1 if z else x - 1


def long_tail(x):
    if x[0] < -5:
        return x * 0
    y = x + 1
    if y[1] < 0:
        return y * 2
    z = y + 1
    if z[2] < -1:
        return z * 3
    return z / 4


def two_conditions_of_one(x):
    s = x.sum()
    y = x + 1 if s > 0 else x + 2
    z = y * 2 if s > 0 else y * 3
    return z


def raised(x):
    y = x * 2
    if x.sum() < 0:
        raise ValueError("negative")
    return y + 1


def asserted(x):
    y = np.sqrt(x)
    if not x[0] >= 0:
        raise AssertionError(f"negative {len(x)}")
    return y + 1


def raised_in_an_arm(x):
    if x[0] > 0:
        y = x * 2
        if x[1] > 3:
            raise ValueError("large")
    else:
        y = x - 1
    return y


def raised_otherwise(x):
    if x[0] > 0.5:
        y = x / x.max()
    elif x[0] < -0.5:
        y = x - 1
    else:
        raise KeyError("small")
    return y


def raised_where_much_is_computed(x):
    if x.max() > 3:
        y = x * 2
    else:
        t = x / 0.0
        raise ValueError(t)
    return y


def replaced_in_sequence(x):
    y = x * 1.0
    if x[0] > 0:
        y = y + 1
    y *= 2
    if x[1] > 0:
        y = y * 3
        y[0] = 5
    return y


def written_after_join(x):
    y, z = x * 1.0, x * 2.0
    if x[0] > 0:
        y = z
    y += 1
    return y


CAPTURED = [f for f in list(globals().values()) if getattr(f, "__module__", None) == __name__ and
            f.__name__ not in ("arrays", "helper", "clip")]


def check(function, calls, **options):
    compiled = fusewire.compile(function, **options)
    for arguments in calls * 2:
        assert_same_observation(observe(function, clone(arguments)), observe(compiled, clone(arguments)))
    return compiled


@pytest.mark.parametrize("function", CAPTURED, ids=lambda f: f.__name__)
def test_captured(function):
    check(function, BOTH + arrays(0.3, -0.1, 7), fullgraph=True)


# ---- broken -------------------------------------------------------------------------------------------------------

def iterator_from_outside(x):
    it = iter(BOX.list)
    y = x * next(it)
    if x.sum() > 0:
        next(it)
    return y * next(it)


def argument_or_new(x):
    return x if x.sum() > 0 else -x


def argument_or_new_written(x):
    y = x
    if x.sum() > 0:
        y = x * 2
    y += 1
    return x.sum()


def argument_read_after_write(x):
    y = x
    if x.sum() > 0:
        y = x * 2
    x += 1
    return y.sum()


def argument_viewed_after_write(x):
    y = x
    if x.sum() > 0:
        y = x * 2
    v = y[1:]
    x += 1
    return v.sum()


def view_of_either(x):
    y = x
    if x.sum() > 0:
        y = x * 2
    return y[1:]


def identity_asked(x):
    y = x
    if x.sum() > 0:
        y = x * 2
    return x + (1 if y is x else 2)


def two_or_one(x):
    a = x * 2
    if x.sum() > 0:
        b = a
    else:
        b = x * 3
    b += 1
    return a, b


def one_array_or_two(x):
    if x.sum() > 0:
        a = b = x * 2
    else:
        a, b = x * 2, x * 3
    a += 1
    return a, b


def seen_under_another_name(x):
    y, z = x * 1.0, x * 2.0
    if x[0] > 0:
        y = z
    y += 1
    return y, z


def seen_in_a_view(x):
    y, z = x * 1.0, x * 2.0
    v = z[1:]
    if x[0] > 0:
        y = z
    y += 1
    return y, v + 0


def another_shape(x):
    return x[1:] * 2 if x.sum() > 0 else x * 3


def another_dtype(x):
    return x > 0 if x.sum() > 0 else x * 3


def another_layout(x):
    m = np.ones((2, 3)) * x[0]
    y = m + 1 if x.sum() > 0 else (m.T + 1).T
    return y.flags.f_contiguous, y


def int_chosen(x):
    k = 2 if x.sum() > 0 else 3
    return x[:k] * 2


def none_or_array_held(x):
    y = None
    if x.sum() > 0:
        y = x + 1
    return [y]


def string_chosen(x):
    return "up" if x.sum() > 0 else "down", x * 2


def unbound_then(x):
    if x.sum() > 0:
        y = x + 1
    return y * 2


def printed(x):
    y = x * 2
    if x.sum() > 0:
        print("positive")
    return y + 1


def raised_and_caught(x):
    try:
        y = x * 2
        if x.sum() < 0:
            raise ValueError("negative")
        return y + 1
    except ValueError:
        return x * 3


def argument_written(x):
    if x.sum() > 0:
        x[1:] *= 2
    return x + 1


def attribute_written(x):
    box = BOX
    if x.sum() > 0:
        box.content = x + 1
    else:
        box.content = x - 1
    return x * 2


def while_loop(x):
    y = x * 1.0
    while abs(y).max() > 1:
        y = y * 0.5
    return y


def ambiguous(x):
    return x + 1 if x else x - 1


def ambiguous_caught(x):
    try:
        return x + 1 if x > 0 else x - 1
    except ValueError:
        return x * 7


def list_of_another_size(x):
    out = [x + 1]
    if x.sum() > 0:
        out.append(x + 2)
    return out


def iterator_afterwards(x):
    it = iter([1.0, 2.0, 3.0])
    if x.sum() > 0:
        next(it)
    return x * next(it)


def generator_afterwards(x):
    it = (k * 1.0 for k in (1, 2, 3))
    if x.sum() > 0:
        next(it)
    return x * next(it)


def set_changed(x):
    s = {1}
    if x.sum() > 0:
        s.add(2)
    return x * len(s)


class Box:
    content = None
    list = [1.0, 2.0, 3.0, 4.0]




BOX = Box()
BROKEN = [f for f in list(globals().values()) if getattr(f, "__module__", None) == __name__ and callable(f)
          and f not in CAPTURED and not f.__name__.startswith("test_")
          and f.__name__ not in ("arrays", "helper", "clip", "check", "Box")]


@pytest.mark.parametrize("function", BROKEN, ids=lambda f: f.__name__)
def test_broken(function):
    compiled = fusewire.compile(function)
    for arguments in (BOTH + arrays(0.3, -0.1, 7)) * 2:
        expected = observe(function, clone(arguments), lambda: (BOX.content,))
        assert_same_observation(expected, observe(compiled, clone(arguments), lambda: (BOX.content,)))


@pytest.mark.parametrize("function", [if_else, expression, written_in_arms, nested, early_return], ids=lambda f: f.__name__)
@pytest.mark.parametrize("x", [np.zeros(0), np.ones(1), -np.ones(1), np.arange(12.0)[::2], np.arange(6.0)[::-1],
                               -np.arange(12.0)[::-2], np.full(6, np.nan), np.ones(6, np.float32), -np.arange(6)],
                         ids=["empty", "one", "minus-one", "strided", "reversed", "strided-back", "nan", "f32", "i64"])
def test_layouts(function, x):
    check(function, [(x,), (-x,)])


def test_compiled_code_runs_on_both_sides():
    compiled = fusewire.compile(nested)
    for arguments in BOTH * 20:
        compiled(*arguments)
    facts = fusewire._fusewire.describe(compiled)
    assert len(facts["variants"]) == 1 and not facts["regions"]
    assert facts["variants"][0]["hits"] >= 50 and facts["variants"][0]["declines"] == 0


def test_shared_memory():
    def f(x, y):
        a = x * 1.0
        if y.sum() > 0:
            a += y
        x += 1
        if a.max() > 3:
            a = a - y
        return a, x

    compiled = fusewire.compile(f)
    for turn in range(3):
        x = np.arange(8.0) - 2 * turn
        for make in (lambda x: (x, x), lambda x: (x, x[::-1]), lambda x: (x[1:], x[:-1]), lambda x: (x[::2], x[1::2]),
                     lambda x: (x.reshape(2, 4), x.reshape(4, 2).T)):
            arguments = make(x)
            assert_same_observation(observe(f, clone(arguments)), observe(compiled, clone(arguments)))


def test_told_with_the_line():
    text = str(fusewire.explain(if_else, verbose=True)(*BOTH[0]))
    line = if_else.__code__.co_firstlineno
    assert f"line={line + 1} {{" in text and "cond(" in text
    assert f"multiply(%0, %1) : f64[s0] line={line + 2}" in text


def test_reason_names_the_variable():
    with pytest.raises(fusewire.GraphBreakError, match="y is an array or None"):
        fusewire.compile(none_or_array_held, fullgraph=True)(*BOTH[0])
    with pytest.raises(fusewire.GraphBreakError, match="in line .*input, output"):
        fusewire.compile(printed, fullgraph=True)(*BOTH[0])


@pytest.mark.parametrize("count", [5, 60, 250])
def test_many(count):
    lines = [f"    if x[{k % N}] > {k % 3}:\n        y = y + {k}" for k in range(count)]
    scope: dict = {}
    exec("def f(x):\n    y = x * 1.0\n" + "\n".join(lines) + "\n    return y", scope)
    check(scope["f"], BOTH, fullgraph=count < 100)


def test_deeply_nested():
    lines = ["    " * (k + 1) + f"if x[{k % N}] > {k}:" for k in range(20)]
    scope: dict = {}
    exec("def f(x):\n    y = x * 1.0\n" + "\n".join(lines) + "\n" + "    " * 21 + "y = y + 1\n    return y", scope)
    check(scope["f"], BOTH + [(np.full(N, 100.0),)])


def identity_of_results(x, y):
    if float(y.sum()) > 0:   # both sides trace what follows
        pass
    z = np.abs(y)
    a = z if x.any() else -y
    return z, a


def identity_behind_a_loop(x, y):
    a = z = np.zeros_like(y)
    for _ in range(70):
        z = z + np.abs(y)
        a = z if x.any() else z - y
    return z, a


@pytest.mark.parametrize("function", [identity_of_results, identity_behind_a_loop])
def test_one_array_is_one_result(function):
    compiled = fusewire.compile(function, economy=False)
    for x in (np.array([3, 0]), np.array([0, 0]), np.array([-1, -2])):
        plain, result = function(x, x + 1), compiled(x, x + 1)
        assert (plain[0] is plain[1]) == (result[0] is result[1])
        assert_same_observation(observe(function, (x, x + 1)), observe(compiled, (x, x + 1)))


def _nested_branches(depth):
    lines = ["def f(x, y, z, n):", "    a = b = c = 0.0", "    for i in range(n):"]
    for d in range(depth):
        pad = "    " * (2 + d)
        lines += [f"{pad}x[i % 5] += {d}.5", f"{pad}a += x[{d % 5}]", f"{pad}if x[i % 5] + y[{d % 5}] > {d}:"]
    lines += ["    " * (2 + depth) + line for line in ("z[i % 5] = a", "b += 1.0")]
    for d in range(depth - 1, -1, -1):
        lines += ["    " * (2 + d) + line for line in ("else:", "    y[i % 5] -= 0.25", "    c += 1.0")]
    namespace = {}
    exec("\n".join([*lines, "    return a, b, c"]), namespace)
    return namespace["f"]


@pytest.mark.parametrize("depth", [1, 5, 10])
def test_branches_in_branches(depth):
    """What a branch leaves where it was is asked once, however many branches and results it goes through."""
    f = _nested_branches(depth)
    compiled = fusewire.compile(f, background=False, economy=False, fullgraph=True)
    began = time.process_time()
    for n in (100, 90):
        assert_same_call(f, compiled, (np.arange(5.0), np.arange(5.0), np.zeros(5), n))
    assert time.process_time() - began < 3


@pytest.mark.parametrize("economy", (True, False))
def test_a_list_of_the_caller_that_only_one_arm_has_looked_into(economy):
    """What an arm appends before anybody has looked into the list is appended to what it holds."""

    def append_and_cut(x, kept):
        if x.any():
            kept.append(2)
        del kept[3:]
        kept.append(x.size)

    compiled = fusewire.compile(append_and_cut, economy=economy, compile_all=True)
    for _ in range(3):
        for x in (np.ones(3), np.zeros(3)):
            for kept in ([1, 1, 1], [], [1], [5, 4, 3, 2, 1]):
                assert_same_call(append_and_cut, compiled, (x, kept))
