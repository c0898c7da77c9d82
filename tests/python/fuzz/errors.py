"""Floating-point errors, warnings filters, and exceptions half-way.

Which warning, error or call of a handler comes, how often, at which line, and what has been written by then. `main` is plain
Python and sets the error state and the filters that `f` meets; `f` changes them again.
"""

from __future__ import annotations

import random

from fuzz.draft import Draft, working
from fuzz.dtypes import APPROXIMATE
from fuzz.program import Program

HEAD = """
log = []

def handler(kind, flag):
    log.append((kind, flag))

def failing(kind, flag):
    log.append(kind)
    raise ValueError(kind)

class Target:
    def write(self, text):
        log.append(text)

def show(message, category, filename, lineno, file=None, line=None):
    log.append((str(message), category.__name__, lineno))

def ratio(a, b):
    return a / b

def check(a, k):
    if k > 2:
        raise ValueError('check')
    return a
"""
DTYPES = ["f8", "f8", "f8", "f4", "f2", "i8", "i4", "u1", "c16"]
SHAPES = ["(0,)", "(1,)", "(2,)", "(3,)", "(5,)", "(9,)", "(3,)", "(2, 3)", "(3, 2)", "(3, 3)", "(0, 3)", "(17,)", "(33,)", "()"]
# {a}: an array; {k}: a number; {e}: any expression; {u}: a new name; {l}: where it stands in a statement
NUMBERS = ["k", "x[0]", "0", "0.0", "1e200", "1e-200", "x.size", "len(x)", "x.sum()", "(k % x[0])", "(k / x[0])", "y[-1]", "np.float64(0)", "np.float32(1e30)", "np.int64(0)", "x.max()",
           "float(x[0])", "x.mean()", "np.float16(60000)", "-1"]
ARRAYS = ["x", "y", "x", "y", "x[1:]", "y[::-1]", "x[:0]", "x[5:]", "y[::2]", "x * 0", "y - y", "x.T", "np.zeros(0)", "np.zeros(3)", "np.full(3, {k})", "x[x > 0]", "x[0]", "y[:1]", "np.zeros_like(x)"]
RISKY = ["{a} / {a}", "{a} / {k}", "{k} / {a}", "{a} % {a}", "{a} // {a}", "{a} // {k}", "{k} % {a}", "np.sqrt({a})", "np.log({a})", "{a} ** -1", "{k} ** {a}", "np.fmod({a}, {a})", "np.exp({a})",
         "np.reciprocal({a})", "{a} * 1e200 * {a}", "{a} * {k}", "np.exp(-{a} * {a})", "np.divide({a}, {a})", "{a}.astype('i4')", "{a}.astype('f2')", "{a}.astype('f4') * 1e30", "np.divmod({a}, {a})[1]",
         "{a}.sum() / {k}", "{a}.mean()", "{a}.var(ddof=1)", "{a}.std()", "np.arcsin({a})", "np.log1p({a})", "np.power({a}, {a})", "np.arctanh({a})", "{a} < {k}", "np.maximum({a}, {k})", "{a}.prod()",
         "np.add({a}, {a}, dtype='f2')", "np.hypot({a}, {k})", "np.where({a} > 0, {a} / {a}, {k})", "np.where({a} != 0, 1 / {a}, 0)", "ratio({a}, {a})", "ratio({k}, {a})", "np.float64({k}) / {k}", "{a}.max()",
         "np.full(0, {k} / {a})", "np.zeros(0) + ({k} % {a})", "np.true_divide({a}, {k}, where={a} > 0, out=np.ones_like({a}))", "np.isnan({a} / {a})", "np.copysign(np.sqrt({k}), 1)", "np.square({a}) * {k}",
         "np.clip({a} / {k}, 0, 1)", "int({k} / {a})", "float({a}[0] / {k})", "np.float32({k})", "np.cumsum({a} * 1e300)", "np.subtract({a}, {a})", "{a}[0] / {a}[-1]", "bool({a}[0] % {a}[0])"]
SIMPLE = ["{u} = {e}", "{u} = {e}", "{u} = {e}", "{e}", "{e}", "x[...] = {e}", "y[:] = {e}", "x[1:] = {e}", "x += {e}", "x /= {a}", "y %= {a}", "x //= {k}", "y **= {k}", "x[5:] *= {k}", "x[x == 0] = {e}",
          "np.divide({a}, {a}, out=y)", "np.sqrt({a}, out=x)", "np.multiply(x, {k}, x)", "y[:0] = {e}", "np.copyto(y, {e})", "log.append({e})", "{u} = {e}; {u} = {e}", "{u} = [{e}, {e}]", "x *= {k}", "y -= {e}",
          "{u} = {e} if k > 1 else {e}", "x[0] = {k}", "y[0] /= {k}", "log.append(len({a}))", "{u} = max({k}, {k})", "k = {k}", "del log[:]", "{u} = sum({a})", "{u} = [w / {k} for w in {a}]",
          "{u} = {e} and 1"]
FAILING = ["x[100] = 1", "x[:2] = y[:3]", "{u} = {e} + None", "check({a}, k)", "check({a}, 3)", "{u} = log[99]", "raise ValueError('here')", "assert k < 2", "{u} = x.reshape(7, -1)", "{u} = undefined", "1 // 0", "{u} = k / 0",
           "x + np.zeros(77)", "{u} = x.nothing", "{u} = int('a')", "warnings.warn('mine')", "warnings.warn('late', RuntimeWarning, stacklevel=2)", "x.sum(axis=4)", "np.add(x, y, out=1)", "x.astype('nothing')"]
STATES = ["ignore", "warn", "raise", "call", "print", "log", "raise", "ignore", "warn"]
ACTIONS = ["error", "ignore", "always", "default", "once", "module", "error"]
KINDS = ["all", "divide", "over", "under", "invalid", "all", "invalid", "divide"]
ERRORS = ["FloatingPointError", "FloatingPointError", "RuntimeWarning", "ValueError", "Exception", "ZeroDivisionError", "(FloatingPointError, RuntimeWarning)", "IndexError"]
AROUND = ["pass", "pass", "np.seterr({state})", "np.seterr({states})", "np.seterrcall(handler); np.seterr({state})", "np.seterrcall(failing); np.seterr({state})", "np.seterrcall(Target()); np.seterr({state})",
          "warnings.simplefilter('{action}')", "warnings.simplefilter('{action}', RuntimeWarning)", "warnings.filterwarnings('{action}', '.*divide.*')", "warnings.filterwarnings('{action}', lineno=28)",
          "warnings.showwarning = show"]


class _Generator:
    def __init__(self, r: random.Random):
        self.r = r

    def fill(self, form: str, depth: int = 0) -> str:
        r = self.r
        parts = {"e": lambda: r.choice(RISKY if r.random() < 0.8 else ARRAYS + ["{a} + {a}", "{a} * 2", "-{a}"]),
                 "a": lambda: r.choice(self.draft.arrays() or ["x"]) if r.random() < 0.4 else r.choice(ARRAYS) if depth < 3 and r.random() < 0.8 else "(" + r.choice(RISKY) + ")" if depth < 2 else "x",
                 "k": lambda: r.choice(NUMBERS), "states": self.state, "state": lambda: f"{self.kind()}={r.choice(STATES)!r}", "action": lambda: r.choice(ACTIONS), "error": lambda: r.choice(ERRORS),
                 "u": lambda: self.draft.new("t")}
        for _ in range(30):
            key = next((key for key in parts if f"{{{key}}}" in form), None)
            if key is None:
                return form
            form = form.replace(f"{{{key}}}", parts[key](), 1)
            depth += key in "ea"
        return "pass"

    def kind(self) -> str:
        return self.r.choice(KINDS)

    def state(self) -> str:
        first = self.fill("{state}")
        second = self.fill("{state}")
        return first if second.split("=")[0] == first.split("=")[0] or self.r.random() < 0.5 else f"{first}, {second}"

    def block(self, depth: int, count: int) -> list[str]:
        lines: list[str] = []
        for _ in range(count):
            lines += self.compound(depth) if self.r.random() < 0.3 and depth < 3 else [self.fill(self.r.choice(SIMPLE if self.r.random() < 0.9 else FAILING))]
        return lines

    def compound(self, depth: int) -> list[str]:
        r = self.r
        inside = ["    " + line for line in self.block(depth + 1, r.randint(1, 3))]
        other = ["    " + line for line in self.block(depth + 1, 1)]
        form = r.random()
        if form < 0.35:
            return [f"with np.errstate({self.state()}):", *inside]
        if form < 0.6:
            tail = r.choice([["finally:", *other], [self.fill("except {error}:"), *other], [self.fill("except {error} as err:"), "    log.append(str(err))", *other],
                             [self.fill("except {error}:"), "    log.append('caught')"], [self.fill("except {error}:"), *other, "    raise"], [self.fill("except {error}:"), *other, "else:", *other]])
            return ["try:", *inside, *tail]
        if form < 0.72:
            return [r.choice(["for i in range(3):", "for i in range(k + 1):", "for w in x:", "for w in x[::-1]:", "for i in range(len(y)):", "for w in (x, y):"]), *inside]
        if form < 0.82:
            return [self.fill(r.choice(["if k > 1:", "if x[0] > 0:", "if np.any({e}):", "if len(x) > 2:", "if {e}:"])), *inside]
        if form < 0.92:
            return ["with warnings.catch_warnings():", self.fill("    warnings.simplefilter('{action}')"), *inside]
        return [self.fill(r.choice(["np.seterr({state})", "old = np.seterr({state}); log.append(old)", "np.geterr()['over']", "log.append(np.geterr())", "np.seterrcall(handler)", "warnings.simplefilter('{action}')"]))]


def _suite(r: random.Random, generator: _Generator, dtype: str) -> str:
    array = lambda: f"{r.choice(['edge', 'edge', 'numbers', 'numbers'])}({shape}, {dtype!r}, {r.randrange(50)})"
    shape = r.choice(SHAPES)
    x, flat = array(), shape != "()"
    shape = shape if r.random() < 0.7 else r.choice(SHAPES)
    y = r.choice([array, array, lambda: "x[::-1]" if flat else "x", lambda: "x"])()
    around = generator.fill(r.choice(AROUND)) if r.random() < 0.7 else "pass"
    return f"x = {x}\ny = {y}\ndef around():\n    {around}\narguments = (x, y, {r.choice(['0', '1', '2', '3', '0.5', 'np.float64(0)', '2'])})"


def program(r: random.Random) -> Program:
    generator = _Generator(r)
    dtype = r.choice(DTYPES)
    draft = generator.draft = Draft(r, HEAD, f"x = numbers((3,), {dtype!r}, 1)\ny = numbers((3,), {dtype!r}, 2)\narguments = (x, y, 2)", "x, y, k", wild=True)
    for _ in range(r.randint(2, 6)):
        for _ in range(5):
            if draft.try_statement("\n".join(generator.block(0, 1)), keep_error=r.random() < 0.08):
                break
    # A name that not every path binds ends in NameError on both sides, which is no use for what comes behind it.
    made = [name for name in draft.names() if name not in ("w", "k") and r.random() < 0.8 and not _is_conditional(name, draft.lines)] or ["x"]
    lines = [line for statement in draft.lines for line in statement.split("\n")]
    source = HEAD + "\ndef f(x, y, k):\n" + "\n".join(f"    {line}" for line in lines) + f"""
    return {', '.join(made)},

def main(x, y, k):
    before = np.geterr(), np.geterrcall()
    try:
        around()
        return f(x, y, k)
    finally:
        np.seterr(**before[0])
        np.seterrcall(before[1])
"""
    suites = [working(lambda: _suite(r, generator, dtype if r.random() < 0.8 else r.choice(DTYPES))) for _ in range(r.randint(2, 5))]
    rough = "**" in source or any(f"{name}(" in source for name in APPROXIMATE.values())   # right to the last places only
    return Program(source, (suites[0], *suites, *r.sample(suites, len(suites))), ("log", "x"), 1e-4 if rough else None)


def _is_conditional(name: str, lines: list[str]) -> bool:
    return all(f"{name} = " not in line for statement in lines for line in statement.split("\n") if not line.startswith(" "))
