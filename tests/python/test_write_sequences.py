"""Random sequences of two to six writes through slices, masks, views and `out=`, on arrays that may share memory."""

import linecache
import random
import warnings

import numpy as np
import pytest

import fusewire

SLICES = [":-1", "1:", "::2", "::-1", "1:-1", "2:", "2:5", ":3", "-3:", "1::2", "5:", ":", "3::-1"]
PAIRS = [(":-1", "1:"), ("1:", ":-1"), (":3", "-3:"), ("2:5", ":3"), (":", "::-1"), ("-3:", ":3"), ("::-1", ":")]
TYPES = ["f8", "f4", "i8", "i4", "u1", "i2"]


def statement(r: random.Random) -> str:
    pick, part = r.choice, r.choice(SLICES)
    to, of = pick(PAIRS)
    return pick([
        f"x[{part}] {pick(['+=', '-=', '*='])} {pick(['2', 'x[0]', 'k'])}",
        f"x[{part}] = {pick(['0', '7', 'k'])}",
        f"x[{to}] {pick(['=', '+=', '-='])} x[{of}]{pick(['', ' + 1', ' * 2', ' - x[0]'])}",
        "y = x + 1",
        "y = y * 2 - x",
        f"z = x[{part}]; z {pick(['+=', '*='])} 2",
        f"z = x[{part}].sum(); x[1] = z",
        f"x[x > {pick(['3', 'k'])}] = {pick(['0', 'k'])}",
        f"x[{part}][1:] -= 1",
        f"np.multiply(x, 2, out={pick(['x', 'y'])})",
        "y[...] = x[::-1]",
        "x, y = y, x",
        f"y = x.copy(); y[{part}] = 1",
        f"x[{r.randrange(-3, 4)}] {pick(['=', '+='])} x[{r.randrange(-3, 4)}]",
        f"np.add(x[:-1], x[1:], out=x[{pick([':-1', '1:'])}])",
        "y = np.where(x > k, x, y); x[:] = y",
    ])


def program(seed: int):
    r = random.Random(seed)
    body = [statement(r) for _ in range(r.randrange(2, 7))]
    loop = r.random() < .2
    lines = ["def f(x, y, k):"] + (["  for i in range(2):"] if loop else []) + [("    " if loop else "  ") + line for line in body]
    source = "\n".join([*lines, "  return x, y" + r.choice(["", ", x[1:]", ", x + y", ", y.sum()"])]) + "\n"
    name = f"<writes {seed}>"
    namespace = {"np": np}
    exec(compile(source, name, "exec"), namespace)
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    return source, namespace["f"], r


def outcome(f, dtype: str, size: int, alias: int) -> tuple:
    memory = (np.arange(1, size + 3) ** 2 % 11).astype(dtype)
    x = memory[:size]
    y = (x.copy(), memory[2:size + 2], x)[alias]
    try:
        results = f(x, y, 3)
    except Exception as error:
        return memory.tolist(), y.tolist(), repr(error)
    arrays = [a for a in results if isinstance(a, np.ndarray)]
    facts = [(np.asarray(a).tolist(), np.asarray(a).dtype.str, a.strides if np.size(a) > 1 else 0) for a in results]
    return memory.tolist(), y.tolist(), facts, [np.shares_memory(a, b) for a in arrays for b in arrays]


@pytest.mark.parametrize("block", range(6))
def test_random_writes(block):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(block * 25, block * 25 + 25):
            source, plain, r = program(seed)
            compiled = fusewire.compile(plain)
            for dtype in (r.choice(TYPES[:2]), r.choice(TYPES[2:])):
                for size in (7, r.choice([1, 3, 5, 8, 12])):
                    for alias in range(r.choice([1, 3])):
                        expected, actual = outcome(plain, dtype, size, alias), outcome(compiled, dtype, size, alias)
                        assert expected == actual, f"seed {seed}, {dtype}, {size} elements, alias {alias}\n{source}"
