"""Random NumPy functions, plain against compiled.

    python tests/python/fuzz.py [--seed N] [--count N] [--writes]

Prints the source and arguments of every program whose outcome differs. The same generator with fixed seeds runs in test_fuzz.py;
finds are kept as cases of the corpora.
"""

from __future__ import annotations

import argparse
import random
import sys

import numpy as np

import failures
import fusewire
from compare import assert_close_value, clone, run

DTYPES = ["f8", "f8", "f4", "i8", "i4", "u1", "?", "f2", "c16"]
UNARY = ["-{}", "np.abs({})", "np.sqrt(np.abs({}))", "np.square({})", "np.floor({})", "np.sign({})", "np.exp(-np.abs({}))", "np.tanh({})",
         "({} > 0)", "np.isnan({})", "{}.astype('f4')", "{} * 0.5", "{} + 1", "2 - {}", "np.rint({})", "np.cos({})"]
BINARY = ["({} + {})", "({} - {})", "({} * {})", "np.maximum({}, {})", "np.minimum({}, {})", "({} < {})", "({} == {})",
          "np.where({} > 0, {}, 0)", "np.hypot({}, {})", "({} / (np.abs({}) + 1))"]
VIEWS = ["{}.T", "{}[::-1]", "{}[..., 1:]", "{}[..., ::2]", "{}[..., :-1]", "{}[1:]", "{}.ravel()", "{}[..., None]", "np.flip({})",
         "{}.reshape(-1)", "{}[0]", "{}.copy()", "np.expand_dims({}, 0)", "{}.swapaxes(0, -1)"]
REDUCTIONS = ["{}.sum()", "{}.sum(axis=0)", "{}.sum(axis=-1, keepdims=True)", "{}.mean(axis=0)", "{}.mean()", "{}.max(axis=-1)", "{}.min()",
              "{}.any(axis=0)", "{}.all()", "{}.argmax()", "{}.argmin(axis=0)", "np.std({})", "{}.var(axis=-1)", "np.ptp({}, axis=0)",
              "np.count_nonzero({})", "{}.prod(axis=0)"]
# Statements that write: {0} is an argument or a view of one, {1} any value.
WRITES = ["{0}[...] = {1}", "{0} += {1}", "{0} *= 2", "{0}[1:] = {0}[:-1]", "{0}[:-1] += {0}[1:]", "{0}[0] = {1}", "{0}[..., -1] = 1",
          "{0}[::2] = 0", "{0}[{0} > 0] = 1", "{0}[{0} == {1}] = 2", "np.add({0}, {1}, out={0})", "np.multiply({0}, {1}, {0})",
          "{0}.fill(1)", "np.copyto({0}, {1})", "np.copyto({0}, 0, where={0} < {1})", "{0}[...] = {0}[::-1]", "{0}[::-1] = {1}",
          "np.clip({1}, 0, 2, out={0})", "{0} -= {0}[..., ::-1]", "{0}.sum(axis=0, out={0}[0])", "{0}[0], {0}[-1] = {0}[-1].copy(), {0}[0].copy()",
          "{0}.T[...] = {1}.T", "{0}.reshape(-1)[1:] = 3"]


class Generator:
    def __init__(self, seed: int, writes: bool = False):
        self.writes = writes
        self.random = random.Random(seed)
        self.numpy = np.random.default_rng(seed)

    def array(self):
        rank = self.random.choice([0, 1, 1, 2, 2, 2, 3])
        shape = tuple(self.random.choice([1, 2, 3, 4, 5, 7, 9, 17]) for _ in range(rank))
        dtype = np.dtype(self.random.choice(DTYPES))
        wide = tuple(n * 2 + 2 for n in shape)
        values = self.numpy.standard_normal(wide) * self.random.choice([1, 3, 50])
        if dtype.kind == "c":
            values = values + 1j * self.numpy.standard_normal(wide)
        if dtype.kind == "u":
            values = np.abs(values)
        whole = values.astype(dtype)
        layout = self.random.choice(["c", "c", "f", "slice", "step", "reverse"])
        if layout in ("c", "f"):
            return np.array(whole[tuple(slice(n) for n in shape)], order=layout.upper())
        if layout == "slice":
            return whole[tuple(slice(1, n + 1) for n in shape)]
        if layout == "step":
            return whole[tuple(slice(0, 2 * n, 2) for n in shape)]
        return np.array(whole[tuple(slice(n) for n in shape)])[tuple(slice(None, None, -1) for _ in shape)]

    def program(self):
        count = self.random.randint(1, 3)
        names = [f"a{i}" for i in range(count)]
        lines, known, places = [], list(names), list(names)
        for i in range(self.random.randint(2, 9)):
            if self.writes and self.random.random() < 0.6:
                if self.random.random() < 0.2:
                    lines.append(f"    w{i} = " + self.random.choice(["{}[1:]", "{}[::-1]", "{}.T", "{}[..., ::2]", "{}[:, 1:]"]).format(self.random.choice(places)))
                    places.append(f"w{i}")
                    known.append(f"w{i}")
                lines.append("    " + self.random.choice(WRITES).format(self.random.choice(places), self.random.choice(known[-4:] + names)))
                continue
            kind = self.random.choice(["unary", "unary", "binary", "binary", "binary", "view", "reduction"])
            pick = lambda: self.random.choice(known[-4:] + names[:1])
            form = self.random.choice({"unary": UNARY, "binary": BINARY, "view": VIEWS, "reduction": REDUCTIONS}[kind])
            lines.append(f"    v{i} = {form.format(*[pick() for _ in range(form.count('{}'))])}")
            known.append(f"v{i}")
        # Half of the programs return every unused value, the others leave some without a use: their warnings stay.
        unused = [n for n in known if not any(n in line.split("=", 1)[-1] for line in lines)]
        unused = unused if self.random.random() < 0.5 else []
        results = list(dict.fromkeys([known[-1], *unused, self.random.choice(known)]))
        source = f"def f({', '.join(names)}):\n" + "\n".join(lines) + f"\n    return {', '.join(results)}\n"
        arguments = [self.array()]
        for _ in range(count - 1):
            arguments.append(self.random.choice([self.array, lambda: np.array(arguments[0]) * 2, lambda: self.random.choice([2, 0.5, -3])])())
        if self.writes:   # what is written is an array; several of one shape, so that most programs run to their end
            arguments = [arguments[0]] + [np.array(arguments[0]) * 2 if not isinstance(a, np.ndarray) else a for a in arguments[1:]]
        return source, tuple(arguments)


def check(seed: int, writes: bool = False) -> tuple[str, bool]:
    """'' or a report of what differs; and whether the program was compiled."""
    source, arguments = Generator(seed, writes).program()
    scope = {"np": np}
    exec(source, scope)
    function = scope["f"]
    watch = failures.Watch()
    compiled = fusewire.compile(function)
    expected = run(function, clone(arguments))
    for attempt in ("first", "warm"):
        actual = run(compiled, clone(arguments))
        try:
            assert type(expected.error) is type(actual.error), f"raised {actual.error!r}, expected {expected.error!r}"
            assert str(expected.error) == str(actual.error), f"raised {actual.error!r}, expected {expected.error!r}"
            transcendental = any(t in source for t in ("exp", "tanh", "cos", "hypot"))
            if not transcendental:
                from compare import assert_same_value

                assert_same_value(expected.arguments, actual.arguments, None, "arguments")
            if expected.error is None:
                # Chains of transcendental functions may differ in the last places, and comparisons of them flip.
                if transcendental:
                    if not any(t in source for t in ("==", "<", ">", "arg", "sign", "rint", "floor", "astype", "count", "any", "all")):
                        assert_close_value(expected.result, actual.result, 1e-2 if "f2" in str([getattr(a, "dtype", "") for a in arguments]) or "float16" in str(expected.result) else 1e-4)
                else:
                    from compare import assert_same_arrays

                    assert_same_value(expected.result, actual.result, None)
                    assert_same_arrays(expected.result, actual.result)
                assert expected.warned == actual.warned, f"warnings {actual.warned}, expected {expected.warned}"
        except AssertionError as error:
            described = [(a.dtype, a.shape, a.strides) if isinstance(a, np.ndarray) else a for a in arguments]
            return f"seed {seed}, {attempt} call\n{source}arguments {described}\n{error}\n", True
    facts = fusewire._fusewire.describe(compiled)
    bugs = watch.new()
    return (f"seed {seed}\n{source}{bugs}\n" if bugs else ""), bool(facts["variants"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--writes", action="store_true", help="programs that write into their arguments")
    options = parser.parse_args()
    wrong = compiled = 0
    for seed in range(options.seed, options.seed + options.count):
        report, was_compiled = check(seed, options.writes)
        compiled += was_compiled
        if report:
            wrong += 1
            print(report, flush=True)
    print(f"{options.count} programs, {compiled} compiled, {wrong} differ")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
