"""Sequences of calls whose types, sizes, aliasing, globals, cells and attributes change: whatever compiled code has relied on.

One function is called with few or many kinds of arguments in changing order, and between the calls the module around it
changes: numbers and arrays under global names, entries of containers, attributes of instances and classes, cells of closures,
the code and the defaults of helpers. A result that comes from what was true at an earlier call is the find.
"""

from __future__ import annotations

import random
import re

from fuzz import recompiles_focused
from fuzz.draft import Draft, working
from fuzz.program import Program

HEAD = """
G, H, FLAG, NAME = 2, 0.5, True, 'a'
A = numbers(3)
TABLE = {'a': 1, 'b': 2.5}
ITEMS = [1, 2, 3]
BUFFER = np.zeros(4)

def helper(a, by=2):
    return a * by

def other(a, by=3):
    return a + by

def counter(start):
    n = start
    def get(a):
        return a * n
    def put(v):
        nonlocal n
        n = v
    return get, put

get, put = counter(3)

class Config:
    __qualname__ = '<locals>.Config'
    scale = 2
    def __init__(self):
        self.k, self.a = 1, numbers(3, seed=4)
    def apply(self, a):
        return a * self.scale + self.k
    @property
    def twice(self):
        return self.k * 2
    def __repr__(self):
        return 'a config'

class Wide(Config):
    __qualname__ = '<locals>.Wide'
    def apply(self, a):
        return a - self.k

config = Config()

@compiled
def inner(a, b):
    return a + b * G
"""
# Between calls. {n}: a number, {x}: an array
CHANGES = ["G = {n}", "G = {n}", "H = {n}", "FLAG = not FLAG", "NAME = 'b' if NAME == 'a' else 'a'", "A = {x}", "A[0] += 1", "A = np.array(x, ndmin=1)", "TABLE['a'] = {n}", "TABLE['c'] = {n}; del TABLE['c']",
           "TABLE = dict(reversed(TABLE.items()))", "TABLE = {'b': {n}, 'a': {n}}", "ITEMS.append({n})", "ITEMS[0] = {n}", "del ITEMS[1:]", "ITEMS = list(ITEMS)", "ITEMS = tuple(ITEMS)", "BUFFER = np.zeros({s})",
           "BUFFER = np.zeros({s}, 'i8')", "helper, other = other, helper", "helper.__defaults__ = ({n},)", "helper.__code__ = other.__code__", "helper = lambda a, by=1: a - by", "put({n})", "get, put = counter({n})",
           "config.k = {n}", "config.k = {x}", "config.a = {x}", "config.a[...] = 1", "Config.scale = {n}", "config.scale = {n}", "config.__dict__.pop('scale', None)", "config.__class__ = Wide", "config.__class__ = Config",
           "Wide.scale = {n}", "Config.apply = lambda self, a: a + 1", "Wide.apply = Config.apply", "config = Wide()", "config = Config()", "config.apply = lambda a: a * 5", "config.__dict__.pop('apply', None)",
           "len = lambda a: 7", "globals().pop('len', None)", "Config.twice = property(lambda self: self.k - 1)", "A.flags.writeable = False", "BUFFER = A", "config.a = A", "ITEMS.insert(0, A)", "ITEMS.sort(key=str)",
           "H = G", "Config.k = 9; config.__dict__.pop('k', None)", "globals().setdefault('EXTRA', {n})", "EXTRA = {n}", "globals().pop('EXTRA', None)"]
NUMBERS = ["1", "2", "3", "0", "-1", "0.5", "2.0", "True", "np.float32(2)", "np.int64(3)", "7", "1.5", "300", "1j", "np.float64(0.5)", "np.array(2.0)"]
ARRAYS = ["numbers({s}, {t}, {i})", "numbers({s}, {t}, {i})", "numbers({s}, {t}, {i})", "numbers({s}, {t}, {i})[::-1]", "numbers({s}, {t}, {i}).T.copy().T", "frozen(numbers({s}, {t}, {i}))", "numbers({s}, {t}, {i}).view(Sub)",
          "numbers({s}, {t}, {i}).astype(np.dtype({t}).newbyteorder())", "numbers(3, {t}, {i})[:, None]", "numbers((2, 3), {t}, {i})[0]", "numbers({s}, 'f8', {i}).astype(object)", "np.broadcast_to(numbers(1, {t}, {i}), 3)",
          "numbers({s}, {t}, {i})[..., ::2]", "np.array({n})", "ramp(9, {t})[2:5]", "numbers((), {t}, {i})[()]"]
SIZES = ["3", "3", "3", "1", "0", "2", "4", "7", "17", "(3, 3)", "(2, 3)", "(3, 1)", "(1, 3)", "(1,)", "(2, 3, 2)", "64", "1000"]
TYPES = ["'f8'", "'f8'", "'f8'", "'f4'", "'i8'", "'i4'", "'u1'", "'?'", "'c16'", "'f2'"]
THIRD = ["{n}", "{n}", "{n}", "None", "'a'", "(1, 2)", "[1, 2.5]", "{{'a': 1}}", "{x}", "x", "{n}", "(x, {n})", "[x]", "{{'a': x, 'b': {n}}}", "config", "Config", "slice(1, None)", "helper", "range(3)", "'f4'", "2", "3",
         "{{'a': {n}}}", "{{'b': {n}, 'a': {n}}}", "[{n}, {n}]", "({n}, {n})", "[{n}]", "{{'a': x}}", "{{1: {n}}}", "{n}"]
CONDITIONS = ["x.ndim > 1", "len(x) == 3", "len(x) > 2", "k", "G > 1", "FLAG", "x is y", "k is None", "isinstance(k, int)", "type(k) is float", "x.dtype == np.float64", "x.shape == y.shape", "NAME == 'a'", "'a' in TABLE",
              "x.size", "isinstance(x, np.ndarray)", "x.flags.writeable", "H < G", "hasattr(config, 'extra')", "len(ITEMS) > 2", "k in (1, 2)", "x is A", "G == 2", "x.shape[0] % 2", "callable(k)", "isinstance(config, Wide)",
              "TABLE.get('a', 0) > 1", "x.strides[0] > 0", "bool(x.any())", "k and FLAG", "not ITEMS", "x.flags.c_contiguous", "G is H", "type(x) is type(y)", "np.shares_memory(x, y)", "x.base is None", "helper is other", "x[0] > 0"]
NUMBER_FORMS = ["G", "H", "k", "TABLE['a']", "TABLE[NAME]", "ITEMS[0]", "len(ITEMS)", "len(x)", "x.size", "x.ndim", "config.k", "config.twice", "Config.scale", "config.scale", "get(2)", "sum(ITEMS)", "x.shape[0]", "2", "helper(3)", "k + 1",
                "TABLE.get('zz', 5)", "getattr(config, 'extra', 4)", "x[0]", "x.sum()", "G * H", "x.itemsize", "max(G, 2)", "int(FLAG)", "min(len(x), 3)", "len(TABLE)", "k * G", "x.nbytes", "globals().get('EXTRA', 1)",
                "(k['a'] if isinstance(k, dict) and 'a' in k else 2)", "(k[0] if isinstance(k, (list, tuple)) else 3)", "(len(k) if hasattr(k, '__len__') else 1)", "(sum(k.values()) if isinstance(k, dict) else 1)",
                "sum(v for v in ITEMS if v)", "(G if G > 1 else H)", "max(k, 1)", "(2 if k == 1 else 5)", "(1 if k < 2 else 4)", "(3 if k <= 2 else 6)"]
ARRAY_FORMS = ["x", "y", "x", "y", "A", "config.a", "BUFFER", "x[::-1]", "x[:2]", "x[k:]", "x[:G]", "np.zeros(len(x))", "np.arange(len(x))", "np.full(3, {n})", "np.ones(G)", "y[1:]", "x.T", "np.zeros_like(x)", "x[0]", "x[x > {n}]",
               "np.asarray(k)", "np.arange({n})", "x[..., None]", "x.reshape(-1)", "x[ITEMS[0]:]", "np.full_like(x, {n})", "np.array(ITEMS)", "np.asarray(ITEMS[-1])", "y[:len(x)]"]
EXPRESSIONS = ["{a} * {n}", "{a} + {a}", "{a} - {n}", "helper({a})", "helper({a}, {n})", "get({a})", "config.apply({a})", "inner({a}, {a})", "np.where({a} > {n}, {a}, {n})", "{a}.sum()", "{a}.sum(axis=0)", "{a}.mean()", "np.maximum({a}, {n})",
               "{a} * {a} + {n}", "{a}.astype('f4') * {n}", "-{a}", "{a}.max()", "{n} + {n}", "{n} * {n}", "np.concatenate([{a}, {a}])", "{a} > {n}", "[w * {n} for w in ITEMS]", "[{a} * v for v in (G, H)]", "({a}, {n})", "{{NAME: {a}}}",
               "sum(ITEMS) * {a}", "{a} if {c} else {n}", "{a}.dtype", "{a}.shape", "x.astype(y.dtype)", "{a} // 2", "np.stack([{a}, {a}])", "np.dot({a}, {a})", "f'{{G}} {{len(ITEMS)}}'", "str(k)[:9]", "{a}.reshape(-1, 1) * {n}", "type(k)", "Config.scale * {a}",
               "np.add({a}, {a}, dtype=x.dtype)", "len({a})", "(lambda a: a * {n})({a})", "np.float32({n}) * {a}", "np.abs({a})", "other({a})"]
SIMPLE = ["{u} = {e}", "{u} = {e}", "{u} = {e}", "{u} = {e}", "x += {n}", "x *= 2", "x[...] = {e}", "y[:] = x", "x[:1] = {n}", "y += x", "A[0] += 1", "BUFFER[:len(x)] += x", "BUFFER[0] = {n}", "config.k += 1", "config.a += x", "ITEMS[0] += 1",
          "TABLE['a'] += 1", "config.a = {e}", "config.extra = {e}", "ITEMS.append({n})", "x[1:] += y[:-1]", "x, y = y, x", "k = {n}", "del ITEMS[3:]", "TABLE[NAME] = {n}", "config.a[...] = {e}", "put({n})", "x[y > 0] = {n}", "np.add(x, y, out=x)",
          "if {c}: {u} = {e}; x = {u}", "if {c}: return {e}", "x = {e}", "y = x"]
BLOCKS = ["if {c}:", "if {c}:", "if {c}:", "for i in range(G):", "for i in range(k):", "for v in ITEMS[:4]:", "for i in range(len(x)):", "n = 0\nwhile n < 3 and {c}:", "for w in x:", "for key, v in list(TABLE.items()):", "try:", "for i, w in enumerate(x):"]


class _Generator:
    def __init__(self, r: random.Random):
        self.r = r

    def fill(self, form: str, depth: int = 0) -> str:
        r = self.r
        parts = {"e": lambda: r.choice(EXPRESSIONS if depth < 2 else ARRAY_FORMS), "a": lambda: r.choice((self.draft.arrays() if r.random() < 0.3 else None) or ARRAY_FORMS), "c": lambda: r.choice(CONDITIONS),
                 "n": lambda: r.choice(NUMBER_FORMS), "u": lambda: self.draft.new("t")}
        for _ in range(20):
            key = next((key for key in parts if f"{{{key}}}" in form), None)
            if key is None:
                break
            form = form.replace(f"{{{key}}}", parts[key](), 1)
            depth += key == "e"
        return form.replace("{{", "{").replace("}}", "}")

    def statement(self) -> str:
        r = self.r
        if r.random() < 0.7:
            return self.fill(r.choice(SIMPLE))
        head = self.fill(r.choice(BLOCKS))
        body = ["    " + self.fill(r.choice(SIMPLE)) for _ in range(r.choice([1, 1, 2]))]
        if "while" in head:
            body.append("    n += 1")
        tail = ["else:", "    " + self.fill(r.choice(SIMPLE))] if head.startswith("if") and r.random() < 0.4 else []
        tail = [r.choice(["except Exception as error:", "except (TypeError, IndexError) as error:"]), "    k = str(error)"] if head == "try:" else tail
        return "\n".join([head, *body, *tail])


def _arguments(r: random.Random, usual: bool, dtype: str) -> str:
    size = "3" if usual else r.choice(SIZES)
    words = lambda: {"{s}": size if r.random() < 0.7 else r.choice(SIZES), "{t}": dtype if usual or r.random() < 0.5 else r.choice(TYPES), "{i}": str(r.randrange(9)), "{n}": r.choice(NUMBERS)}

    def put(form: str) -> str:
        for key, word in words().items():
            form = form.replace(key, word)
        return form.replace("{{", "{").replace("}}", "}")

    array = lambda: put(r.choice(ARRAYS[:1] if usual else ARRAYS))
    x = array() if usual or r.random() < 0.9 else put(r.choice(THIRD).replace("{x}", "A"))
    y = array() if r.random() < 0.7 else r.choice(["x", "x", "np.asarray(x)[..., ::-1]", "A", "config.a", "np.asarray(x)[...]", "BUFFER", "np.array(x)"])
    third = put(r.choice(NUMBERS[:3] if usual else THIRD).replace("{x}", array()))
    return f"x = {x}\ny = {y}\narguments = (x, y, {third})"


NAMES = re.compile(r"\b(G|H|FLAG|NAME|A|TABLE|ITEMS|BUFFER|helper|other|put|get|config|len|EXTRA)\b")


def _calls(r: random.Random, first: str, dtype: str, body: str) -> list[str]:
    """Most sequences settle on few kinds of arguments; changes of the module come between, mostly of what the body names."""
    named = set(NAMES.findall(body))
    touching = [change for change in CHANGES if named & set(NAMES.findall(change.replace("Config", "config").replace("Wide", "config")))]
    sets = [first, *(working(lambda: _arguments(r, r.random() < 0.3, dtype), HEAD) for _ in range(r.choice([2, 3, 5])))]
    restless = r.choice([0.1, 0.3, 0.5])
    changes = [r.choice(touching if touching and r.random() < 0.8 else CHANGES) for _ in range(r.choice([1, 2, 3, 8]))]
    made = []
    for _ in range(r.randint(8, 16)):
        lines = [r.choice(sets)] if r.random() < 0.8 or not made else [made[-1]]
        if r.random() < restless:
            change = r.choice(changes)
            for key, word in {"{n}": r.choice(NUMBERS), "{x}": f"numbers({r.choice(SIZES)}, {r.choice(TYPES)}, {r.randrange(9)})", "{s}": r.choice(SIZES[:9])}.items():
                change = change.replace(key, word)
            body = "".join(f"    {line}\n" for line in change.split("\n"))
            lines.append(f"try:\n{body}except Exception: pass")
        made.append("\n".join(lines))
    return [first, first, *made]


def program(r: random.Random) -> Program:
    if r.random() < 0.5:
        return recompiles_focused.program(r)
    generator = _Generator(r)
    dtype = r.choice(TYPES)
    first = working(lambda: _arguments(r, True, dtype), HEAD)
    draft = generator.draft = Draft(r, HEAD, first, "x, y, k")
    for _ in range(r.randint(2, 6)):
        for _ in range(5):
            if draft.try_statement(generator.statement()):
                break
    always = [name for name in draft.names() if any(line.startswith(f"{name} = ") for line in draft.lines)]
    results = [name for name in always if r.random() < 0.8] + ["x"]
    lines = [line for statement in draft.lines for line in statement.split("\n")]
    writes = [name for name in ("G", "H", "FLAG") if r.random() < 0.15]
    extra = [f"    {name} = {generator.fill('{n}')}" for name in writes]
    source = (HEAD + "\ndef f(x, y, k):\n" + "".join(f"    global {name}\n" for name in writes) + "\n".join(f"    {line}" for line in lines) + "\n" + "\n".join([*extra, f"    return {', '.join(results)},"]) + "\n")
    settings = r.choice([(), (), (), (("recompile_limit", 3),), (("churn_limit", 0),), (("churn_limit", 1),)])
    return Program(source, tuple(_calls(r, first, dtype, source.removeprefix(HEAD))), ("G", "H", "A", "TABLE", "ITEMS", "BUFFER", "config", "Config.__dict__.get('scale')", "get"), None, settings)
