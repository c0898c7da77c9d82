"""Random programs of selections, places, counts, branches and writes: compiled as Python."""

from __future__ import annotations

import random

import numpy as np
import pytest

import fusewire
from compare import assert_same_call

EXPRESSIONS = [
    "{a} + {a}", "{a} * s", "{a} - {a}.sum()", "np.abs({a})", "np.sqrt(np.abs({a}))", "{a}[1:] * 2", "{a}[::-1] + 1",
    "{a}[{a} > s]", "{a}[{a} > 0]", "{x}[m]", "{x}[m] * {x}[m]", "np.sort({a})", "np.cumsum({a})", "{a}[np.argsort({a})]",
    "np.concatenate([{a}, {a}])", "np.where({a} > s, {a}, -{a})", "{a}[np.where({a} < s)[0]]", "np.unique({a})",
    "np.diff({a})", "np.zeros({a}.size) + {a}", "np.arange(len({a})) * s", "{a}.reshape(-1, 1)[:, 0] * 2",
    "np.compress({a} > s, {a})", "np.flatnonzero({a} > s) * 1.0", "({a}[:, None] * np.ones(2)).sum(axis=1)",
    "np.maximum({a}, s)", "{a}.copy()", "g[m].sum(axis=1)", "g[g > s]", "np.histogram({a}, bins=5, range=(-2.0, 2.0))[0] * 1.0",
]
NUMBERS = ["{a}.sum()", "{a}.size * 1.0", "len({a}) / 2", "({a} > s).sum() * 1.0", "{a}.max()", "{a}.mean()", "{a}[0]", "{a}[-1]"]
STATEMENTS = [
    "{v} = {e}", "{v} = {e}", "{v} = {e}", "{v} = {e}", "s = float({n})", "m = x > s", "m = y < x", "x[m] = x[m] * 2 + y[m]", "y[m] += 1",
    "x += {n}", "y[:] = y - s", "{v} += 1", "if {n} > s:\n        {v} = {e}\n    else:\n        {v} = {e}",
    "if len({v}) > 2:\n        {v} = {e}", "total = total + {n}", "if {v}.size:\n        total = {v}.sum()",
]


def program(seed: int) -> str:
    draw = random.Random(seed)
    names = ["x", "y"]

    def filled(text: str) -> str:
        while "{" in text:
            for key, options in (("{e}", EXPRESSIONS), ("{n}", NUMBERS), ("{a}", names), ("{x}", ["x", "y"]), ("{v}", names[2:] or ["v0"])):
                while key in text:
                    text = text.replace(key, draw.choice(options), 1)
        return text

    lines = ["def program(x, y, g, s):", "    m = x > s", "    total = 0.0"]
    for k in range(2):
        lines.append(f"    v{k} = " + filled(draw.choice(EXPRESSIONS)))
        names.append(f"v{k}")
    for _ in range(draw.randint(2, 6)):
        lines.append("    " + filled(draw.choice(STATEMENTS)))
    lines.append("    return v0, v1, v0.size, m, total, s")
    return "\n".join(lines) + "\n"


def check(seed: int) -> bool:
    source = program(seed)
    space: dict = {"np": np}
    exec(compile(source, f"<program {seed}>", "exec"), space)
    function = space["program"]
    compiled = fusewire.compile(function)
    rng = np.random.default_rng(seed)
    for n in (6, 40, 6, 1, 0, 2, 40):
        for s in (0.2, -9.0, 9.0):
            arguments = (rng.normal(size=n).round(3), rng.normal(size=n).round(3), rng.normal(size=(n, 3)).round(3), s)
            try:
                assert_same_call(function, compiled, arguments)
            except AssertionError as error:
                raise AssertionError(f"n = {n}, s = {s}: {error}\n{source}") from None
    facts = fusewire._fusewire.describe(compiled)
    assert not [b for b in facts["breaks"] if b["reason"] in ("compile-failed", "internal-error")], (source, facts["breaks"])
    return bool(facts["variants"])


@pytest.mark.parametrize("block", range(6))
def test_random_programs(block):
    captured = sum(check(10 * block + k) for k in range(10))
    assert captured >= 5
