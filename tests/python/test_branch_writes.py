"""Arrays that a side of a branch on array data writes into: they stay where they are, unless the old content is still wanted.

Each statement list is the body of a loop over turns, of a function without one, and of a function that writes into the caller's array; all are
compared with plain Python. Where memory goes is in the goldens of the plans; here it has to be right.
"""
import itertools
import linecache
import time

import numpy as np
import pytest

import fusewire
from compare import assert_same_outcome, clone, run

# x, y, z: arrays of n elements; i: a turn; k: a place that data decides.
BODIES = [
    ["if x[i] > y[i]:", "    x[k] = y[i]"],
    ["if x[i] > y[i]:", "    x[k] += 1", "else:", "    k = (k + 1) % n", "    y[k] = x[i]", "    x[k] = 1"],
    ["if x[i] > 0:", "    for j in range(i, n, k + 1):", "        x[j] = -x[j]"],
    ["if x[i] > 0:", "    for j in range(n - 1):", "        x[j + 1] = x[j] * 0.5 + y[k]"],
    ["if x[i] > 0:", "    x[k:] = y[k:]", "else:", "    y[:k] -= x[:k]"],
    ["if x[i] > 0:", "    x[1:] = x[:-1]"],
    ["if x[i] > 0:", "    x[::-1] = x"],
    ["if x[i] > 0:", "    x[k] = x[n - 1 - k]", "    x[n - 1 - k] = y[k]"],
    ["old = x[k]", "if x[i] > 0:", "    x[k] = 2 * old", "    y[i] += old", "x[n - 1] = old"],
    ["old = x.copy()", "if x[i] > 0:", "    x[k] = 7", "z[i] += old[k] + x[k]"],
    ["s = x.sum()", "if s > 0:", "    x[k] -= s", "z[i] = s + x.sum()"],
    ["before = x * 2", "if x[i] > 0:", "    x[k] = before[i]", "z[i] = before[k]"],
    ["part = x[1:]", "if x[i] > 0:", "    x[k] = 3", "z[i] = part.sum()"],
    ["part = x[1:]", "if x[i] > 0:", "    part[...] = y[1:]", "z[i] = x.sum()"],
    ["if x[i] > 0:", "    x[k] = 1", "    if y[i] > 0:", "        y[k] = x[i]", "        x[i] = y[k] - 1", "    else:", "        x[0] = -1"],
    ["if x[i] > 0:", "    if y[i] > 0:", "        x[k] = y[i]", "elif y[i] > 0:", "    x[i] = y[k]"],
    ["if x[i] > 0:", "    x, y = y, x", "    x[k] = 1", "else:", "    y[k] = 2"],
    ["if x[i] > 0:", "    t = x[i]", "    x[i] = x[k]", "    x[k] = t"],
    ["if x[i] > 0:", "    u = x", "else:", "    u = y", "z[i] = u[k]"],
    ["w = x if x[i] > 0 else y", "z[i] = w.sum()", "x[k] = 0.5"],
    ["j = i", "while j > 0 and x[j] > y[k]:", "    x[j - 1] = x[j]", "    j -= 1", "x[j] = y[i]"],
    ["if x[i] > 0:", "    k = int(abs(y[i])) % n", "    x[k] = y[k]", "if x[k] > 1:", "    break"],
    ["if x[i] > 3:", "    continue", "x[k] += 1", "if x[k] > 5:", "    y[i] = x[k]"],
    ["if x[i] > 0:", "    x[k] = np.log(y[i])"],
    ["if x[i] > 0:", "    x[k] = 1 / y[i]", "    x[n - k - 1] = 2"],
    ["if x[i] > 0:", "    np.multiply(x, 2, out=x)", "    x[k] = x[i]"],
    ["if x[i] > 0:", "    np.copyto(x, y)", "    y[k] = x[i]"],
    ["if x[i] > 0:", "    x[k] = y[i + n]"],
]
TEMPLATES = {
    "loop": """def f(x, y, z, n):
    x, y = x.copy(), y.copy()
    k = n // 2
    for i in range(n):
        {body}
    return x, y, z, k
""",
    "in_place": """def f(x, y, z, n):
    k = n // 3
    for i in range(n):
        {body}
    return k
""",
    "straight": """def f(x, y, z, n):
    x, y = x + 0, y + 0
    i, k = n // 4, n // 2
    for _ in range(1):
        {body}
    return x, y, z, k
""",
    "while": """def f(x, y, z, n):
    x, y = x.copy(), y.copy()
    i, k = 0, 0
    total = 0.0
    while i < n and total < 1e6:
        {body}
        total += x[i]
        i += 1
    return x, y, z, k
""",
}
counter = itertools.count()


def program(template, statements):
    indent = "\n" + " " * (template.split("{body}")[0].rsplit("\n", 1)[1].count(" "))
    text = template.format(body=indent.join(statements))
    name = f"<branch writes {next(counter)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope = {"np": np}
    exec(compile(text, name, "exec"), scope)
    return scope["f"]


def cases(aliases=False):
    rng = np.random.default_rng(5)
    for n in (0, 1, 2, 3, 70, 300):
        x, y, z = (np.round(rng.random(n) * 8 - 4) for _ in range(3))
        yield x, y, z, n
        yield abs(x) + 1, abs(y) + 1, z, n
        if aliases:
            memory = np.round(rng.random(2 * n + 2) * 8 - 4)
            yield memory[:n], memory[:n], z, n
            yield memory[:n], memory[1:n + 1], z, n
            yield memory[:n], memory[:2 * n:2], z, n
            yield memory[:n][::-1], memory[:n], memory[n:2 * n], n


def check(f, calls, **options):
    compiled = fusewire.compile(f, economy=False, recompile_limit=256, churn_limit=0, **options)
    for arguments in calls:
        expected = run(f, clone(arguments))
        for _ in range(2):
            assert_same_outcome(expected, run(compiled, clone(arguments)))
    return compiled


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("statements", BODIES, ids=" ".join)
def test_like_python(template, statements):
    if template == "while" and "continue" in " ".join(statements):
        pytest.skip("would not end")
    check(program(TEMPLATES[template], statements), cases(aliases=template == "in_place"))


def stores_what_was_there(a, out):
    whole = a * 3.0
    rest = np.abs(whole)
    for i in range(len(a)):
        if rest[i] > 2:
            whole[i] = rest[i] * 2
    out[...] = rest
    return whole


def swaps_first(a, out):
    whole = a * 3.0
    first, last = whole[0], whole[-1]
    for i in range(len(a) - 1):
        whole[i] = whole[i + 1] + first
        if whole[i] > last:
            whole[-1] = first
            first = whole[i]
    out[0] = first
    out[-1] = last
    return whole, first + last


def reads_between(a, out):
    whole = a * 3.0
    double = whole * 2
    whole[0] = 1
    more = whole + double
    whole[1:] = more[1:] - whole[:-1]
    out[...] = double + whole[0]
    whole[-1] = double[-1] + whole[0]
    return whole, double, more


@pytest.mark.parametrize("f", [stores_what_was_there, swaps_first, reads_between])
def test_read_before_overwritten(f):
    rng = np.random.default_rng(1)
    check(f, [(np.round(rng.random(n) * 4), np.zeros(n)) for n in (2, 3, 80, 300)])


def test_no_copies_in_turns():
    """Ten times as many turns over an array of a million elements take not much longer: they do not copy it."""
    text = """def f(x, turns):
    x = x + 0.0
    k = 0
    for i in range(turns):
        if x[i] > x[k]:
            k += 1
            x[k] = x[i]
        else:
            for j in range(k):
                x[j] = x[j + 1]
    return x
"""
    scope = {}
    exec(compile(text, "<turns>", "exec"), scope)
    compiled = fusewire.compile(scope["f"], economy=False)
    x = np.arange(1e6)[::-1].copy()
    np.testing.assert_array_equal(compiled(x, 100), scope["f"](x, 100))
    def best(turns):
        times = []
        for _ in range(7):
            begin = time.perf_counter()
            compiled(x, turns)
            times.append(time.perf_counter() - begin)
        return min(times)
    assert best(2000) < 4 * best(200)
