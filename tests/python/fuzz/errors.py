"""Floating-point errors, warnings filters, and exceptions half-way.

Which warning, error or call of a handler comes, how often, at which line, and what has been written by then. `main` is plain
Python and sets the error state and the filters that `f` meets. Three kinds of programs: one or two operations that may report
and nothing else that could keep a call from compiled code; updates in place, whose warnings compiled code gives by itself; and
anything, where `f` changes state and filters again.
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

def strict(message, *rest):
    raise ValueError(str(message))

def ratio(a, b):
    return a / b

def check(a, k):
    if k > 2:
        raise ValueError('check')
    return a
"""
BODY = len(HEAD.splitlines()) + 4   # a line of f
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
          "warnings.simplefilter('{action}')", "warnings.simplefilter('{action}', RuntimeWarning)", "warnings.filterwarnings('{action}', '.*divide.*')", f"warnings.filterwarnings('{{action}}', lineno={BODY})",
          "warnings.showwarning = show", "warnings.showwarning = strict", "warnings.filterwarnings('{action}', module='fuzzed')", "warnings.simplefilter('error'); warnings.simplefilter('ignore', UserWarning)",
          "warnings.resetwarnings(); warnings.defaultaction = 'error'"]
# Of calm programs. {c}: an array of one number, {s}: a number that may report, {r}: anything that may
CALM = ["x", "x", "y", "y", "x[1:]", "y[::-1]", "x + y", "x * 2", "x.T", "-x", "np.abs(y)", "x[:0]", "x[5:]", "x[::2]"]
CALM_NUMBERS = ["k", "k", "2", "0.5", "x[0]", "-1", "y.sum()", "0", "x.size", "np.float64(3)", "1e200"]
SAME = ["np.zeros(3)", "np.ones(3)", "np.full(3, -1.0)", "np.full(3, 1e300)", "np.zeros(3, 'i4')", "np.full(3, np.inf)", "np.full(3, 60000, 'f2')", "np.full(3, np.nan)", "np.full(3, 2)", "np.zeros(0)"]
LOUD_NUMBERS = ["({k} / x[0])", "({k} % y[-1])", "(x[0] / y[0])", "np.sqrt(x[-1])", "(x.sum() / {k})", "np.log(y[0])", "(x[0] ** -1)", "np.float64({k}) / {k}", "(x[0] * 1e200 * y[0])", "np.float32(x[0])"]
REPORTS = ["{a} / {a}", "{a} / {k}", "{k} / {a}", "{a} % {a}", "{a} // {a}", "{a} // -1", "{a} // {k}", "np.sqrt({a})", "np.log({a})", "{a} ** -1", "np.exp({a})", "{a} * {k}", "{a}.astype('f2')", "{a}.astype('f4')",
           "{a}.astype('f4')", "{a}.astype('i4')", "{a} < {k}", "{a} >= {a}", "np.maximum({a}, {a})", "{a} * {a}", "{a} - {a}", "{a} + {a}", "np.zeros(0) + {s}", "{a}[5:] * {s}", "{a}[:0] - {s}", "np.full(0, {s})", "{a} + {s}",
           "np.zeros((0, 3)) * ({a}[:3] / {k})", "{a}[None][:0] + {a} / {a}", "{a} / {c}", "{c} / {k}", "np.log({c})", "{c} * {k}", "{c} // {k}", "{c} - {c}", "({c} * 2) ** 2", "{c}.astype('f2')", "{c} * {c} * {c}",
           "np.where({a} > 0, {a} / {k}, 0)", "np.where({a} > 0, np.log({a}), {a})", "np.where({a} != 0, {k} / {a}, {a})", "({a} / {k}).sum()", "{a}.mean()", "{a}.max()", "np.maximum({a} / {k}, {a})", "({a} / {a} > {k})",
           "np.abs({a})", "{a}.prod()", "np.square({a})", "np.isnan({a} / {a})", "np.hypot({a}, {a})", "np.fmod({a}, {k})", "np.arcsin({a})", "np.isfinite({a} * {k})"]
CALM_SIMPLE = ["{u} = {r}", "{u} = {r}", "{u} = {r}", "{u} = {r}", "{r}", "{r}", "x[...] = {r}", "y[:0] = {r}", "y[...] = {a}", "{u} = {a} + 1", "{u} = {s}", "{s}", "{u} = {a} * 2", "with np.errstate({state}): {u} = {r}",
               "with np.errstate({state}): {r}", "{u} = [{r}, {r}]", "if k > 1: {r}", "log.append(np.geterr()['over'])"]
UPDATES = ["x {o} {v}", "y {o} {v}", "x {o} {v}", "y[1:] {o} {w}[1:]", "x[::-1] {o} {v}", "x[...] = {v}", "y[:-1] = {w}[1:]", "x {o} {v}; y {o} {v}", "y {o} x * k; x {o} y * k"]
UPDATE_VALUES = ["y", "x", "k", "y * k", "x + y * k", "x * y", "1e200", "1e-200", "y / x", "x - y * 2", "(x + y) / k", "x * x", "-y"]
LARGE = ["(700,)", "(5000,)", "(90, 60)", "(9000,)", "(40, 130)"]   # where checks are deferred (runtime/transaction.cpp)
PLANTED = ["0", "0", "-1", "np.inf", "np.nan", "1e300", "-1e300", "1e-310", "1e-200", "70000", "2**31", "np.iinfo('i4').min", "np.iinfo('i8').min", "1e39", "1e-6", "-0.0"]


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


class _Calm(_Generator):
    """Programs of the first two kinds."""

    def __init__(self, r: random.Random, updates: bool):
        super().__init__(r)
        self.updates = updates
        self.same = 0.5 if r.random() < 0.2 else 0.05   # how often an array is one of constants

    def fill(self, form: str, depth: int = 0) -> str:
        r = self.r
        parts = {"r": lambda: r.choice(REPORTS), "s": lambda: r.choice(LOUD_NUMBERS), "v": lambda: r.choice(UPDATE_VALUES), "w": lambda: r.choice(["x", "y"]),
                 "a": lambda: r.choice(SAME) if r.random() < self.same else r.choice(self.draft.arrays() or ["x"]) if r.random() < 0.3 else r.choice(CALM),
                 "c": lambda: r.choice(SAME), "k": lambda: r.choice(CALM_NUMBERS), "o": lambda: r.choice(["+=", "-=", "*=", "/=", "*=", "/="])}
        for key, part in parts.items():
            while f"{{{key}}}" in form:
                form = form.replace(f"{{{key}}}", part(), 1)
        return super().fill(form, depth)

    def block(self, depth: int, count: int) -> list[str]:
        line = self.fill(self.r.choice(UPDATES if self.updates and self.r.random() < 0.9 else CALM_SIMPLE))
        if self.r.random() < 0.15:
            head = self.fill(self.r.choice(["try:", "with np.errstate({state}):", "for i in range(2):", "if x[0] > k:"]))
            return [head, f"    {line}"] + (["except Exception as err:", "    log.append(str(err))"] if head == "try:" else [])
        return [line]


def _calm_suite(r: random.Random, dtypes: list[str], shapes: list[str], arounds: list[str], numbers: list[str]) -> str:
    """Most arrays have numbers that nothing reports; some end, or begin, with one."""
    lines = []
    for name in ("x", "y"):
        lines.append(f"{name} = numbers({r.choice(shapes)}, {r.choice(dtypes)!r}, {r.randrange(50)})")
        for _ in range(r.choice([0, 0, 1, 2])):
            lines.append(f"{name}.flat[{r.choice(['-1:', '-1:', ':1', '1:2', '-1:', '-1:', ':'])}] = {r.choice(PLANTED)}")
    return "\n".join([*lines, "def around():", f"    {r.choice(arounds)}", f"arguments = (x, y, {r.choice(numbers)})"])


def _calm_suites(r: random.Random, generator: _Calm, dtype: str) -> list[str]:
    """Calls whose states differ, over arguments of one kind or two."""
    dtypes = [dtype] * 9 + [r.choice(DTYPES)] * r.choice([0, 0, 3, 9])
    shapes = [r.choice(LARGE if generator.updates and r.random() < 0.7 else SHAPES)] * 4 + [r.choice(SHAPES)] * (r.random() < 0.5)
    arounds = [generator.fill(r.choice(AROUND)) for _ in range(3)] + ["pass"] * r.choice([1, 3])
    numbers = r.choice([["2.0", "0.5", "2.0", "1e200", "0.0"], ["2", "2", "0", "3", "-1"]])
    suites = [working(lambda: _calm_suite(r, dtypes, shapes, arounds, numbers), HEAD) for _ in range(r.randint(5, 9))]
    return [*suites, *r.sample(suites, 3)]


def _suite(r: random.Random, generator: _Generator, dtype: str) -> str:
    array = lambda: f"{r.choice(['edge', 'edge', 'numbers', 'numbers'])}({shape}, {dtype!r}, {r.randrange(50)})"
    shape = r.choice(SHAPES)
    x, flat = array(), shape != "()"
    shape = shape if r.random() < 0.7 else r.choice(SHAPES)
    y = r.choice([array, array, lambda: "x[::-1]" if flat else "x", lambda: "x"])()
    around = generator.fill(r.choice(AROUND)) if r.random() < 0.7 else "pass"
    return f"x = {x}\ny = {y}\ndef around():\n    {around}\narguments = (x, y, {r.choice(['0', '1', '2', '3', '0.5', 'np.float64(0)', '2'])})"


def program(r: random.Random) -> Program:
    kind = r.choice(["anything", "calm", "calm", "updates"])
    generator = _Generator(r) if kind == "anything" else _Calm(r, kind == "updates")
    dtype = r.choice(["f8", "f8", "f4"] if kind == "updates" else DTYPES)
    draft = generator.draft = Draft(r, HEAD, f"x = numbers((3,), {dtype!r}, 1)\ny = numbers((3,), {dtype!r}, 2)\narguments = (x, y, 2)", "x, y, k", wild=True)
    for _ in range(r.randint(2, 6) if kind == "anything" else r.randint(1, 3)):
        for _ in range(5):
            if draft.try_statement("\n".join(generator.block(0, 1)), keep_error=kind == "anything" and r.random() < 0.08):
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
        warnings.defaultaction = 'default'
"""
    suites = _calm_suites(r, generator, dtype) if kind != "anything" else [working(lambda: _suite(r, generator, dtype if r.random() < 0.8 else r.choice(DTYPES))) for _ in range(r.randint(2, 5))]
    rough = "**" in source or any(f"{name}(" in source for name in APPROXIMATE.values())   # right to the last places only
    calls = (suites[0], *suites, *r.sample(suites, len(suites))) if kind == "anything" else suites
    return Program(source, tuple(calls), ("log", "x"), 1e-4 if rough else None)


def _is_conditional(name: str, lines: list[str]) -> bool:
    return all(f"{name} = " not in line for statement in lines for line in statement.split("\n") if not line.startswith(" "))
