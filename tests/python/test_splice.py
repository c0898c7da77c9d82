"""Splicing: stubs in a copy of a function's own bytecode. CPython is the reference: with stubs that decline, or with regions that
do what the skipped instructions do, a function must behave as it did, its traceback positions included."""

import builtins
import copy
import dis
import gc
import importlib.util
import inspect
import operator
import random
import sys
import types

import pytest

import _fw_splice_test as s   # built by meson with the option tests; on PYTHONPATH
import corpus_control as corpus
from test_assembler import MODULES, cases, codes, is_function, module_codes, outcome, rebuilt, same_behaviour, traced_lines

FUNCTIONS = [fn for fn, calls in corpus.CASES if calls] + [corpus.delegate, corpus.ticker]
PY312 = sys.version_info >= (3, 12)
PY313 = sys.version_info >= (3, 13)
RETURN = -1


def starts(code):
    """Where regions may begin: (instruction, stack depth)."""
    return [(i, row["depth"]) for i, row in enumerate(s.map(code)["code"]) if row["allows"]]


def find(code, op, nth=0):
    return [i for i, row in enumerate(s.map(code)["code"]) if row["op"] == op][nth]


def spliced_all(code, callable=s.decline, ends=lambda at, places: []):
    """The code and all code in it with stubs everywhere."""
    inner = tuple(spliced_all(c, callable, ends) if isinstance(c, types.CodeType) else c for c in code.co_consts)
    code = code.replace(co_consts=inner)
    if not is_function(code):
        return code
    places = starts(code)
    return s.splice(code, [(at, callable, ends(at, places)) for at, _ in places])


# ---- stubs that decline

ENDS = {
    "probe": lambda at, places: [],
    "one": lambda at, places: [places[at % len(places)]],
    "several": lambda at, places: [*places[at % 7::9][:5], (RETURN, 1), places[-1]],
}


@pytest.mark.parametrize("kind", ENDS)
@cases
def test_declining_everywhere(fn, calls, kind):
    code = spliced_all(fn.__code__, ends=ENDS[kind])
    same_behaviour(fn, calls, code)
    positions = lambda c: list(dict.fromkeys(c.co_positions()))
    assert positions(code) == positions(fn.__code__)
    for name in ("co_names", "co_varnames", "co_freevars", "co_cellvars", "co_flags", "co_argcount", "co_qualname"):
        assert getattr(code, name) == getattr(fn.__code__, name)


@pytest.mark.parametrize("kind", ENDS)
@cases
def test_declining_one_at_a_time(fn, calls, kind):
    places = starts(fn.__code__)
    for at, _ in places:
        same_behaviour(fn, calls, s.splice(fn.__code__, [(at, s.decline, ENDS[kind](at, places))]))


def workloads(m):
    """Calls into a fresh copy of a module, by its name."""
    text = "The quick brown fox jumps over the lazy dog. " * 7
    if m.__name__ == "textwrap":
        return m.fill(text, 31), m.dedent("  a\n    b\n"), m.shorten(text, 40)
    if m.__name__ == "difflib":
        return list(m.unified_diff(text.split()[:20], text.upper().split()[:9] + text.split()[4:20])), m.get_close_matches(
            "appel", ["ape", "apple", "peach", "puppy"])
    if m.__name__ == "statistics":
        data = [1.5, 2.5, 2.75, 4.0, 9.25, 2.5]
        return m.mean(data), m.median(data), m.mode(data), m.stdev(data), m.quantiles(data), m.NormalDist(1, 2).cdf(1.5)
    if m.__name__ == "argparse":
        parser = m.ArgumentParser(prog="p", description=text)
        parser.add_argument("--x", type=int, default=3, help="the x")
        parser.add_argument("files", nargs="*")
        return vars(parser.parse_args(["--x", "5", "a", "b"])), parser.format_help()
    if m.__name__ == "tokenize":
        return [tuple(t) for t in m.generate_tokens(iter(["def f(a):\n", "    return a + 'x'  # c\n", ""]).__next__)]
    if m.__name__ == "copy":
        shared = [1, {"k": (2, 3)}]
        result = m.deepcopy([shared, shared, {"s": {4}}])
        return result, result[0] is result[1], m.copy(shared)
    if m.__name__ == "fractions":
        a, b = m.Fraction(3, 7), m.Fraction("2.25")
        return a + b, a / b, a ** 2, round(b), str(a - b), b.limit_denominator(3), a < b
    if m.__name__ == "string":
        return m.Formatter().format("{0:>5}|{x!r}|{y.real}", 1, x="s", y=2), m.Template("$a ${b}").substitute(a=1, b=2), m.capwords("a b")
    if m.__name__ == "contextlib":
        seen = []

        @m.contextmanager
        def manager(x):
            seen.append(x)
            try:
                yield x
            finally:
                seen.append(-x)

        with m.ExitStack() as stack:
            stack.enter_context(manager(1))
            stack.callback(seen.append, "callback")
            with m.suppress(KeyError), manager(2):
                raise KeyError
        return seen
    if m.__name__ == "ast":
        tree = m.parse(inspect.getsource(corpus))
        return m.unparse(tree), m.dump(tree)[:5000], m.literal_eval("{'a': [1, (2, 3)]}")
    raise AssertionError(m.__name__)


@pytest.mark.parametrize("name", ["textwrap", "difflib", "statistics", "argparse", "tokenize", "copy", "fractions", "string",
                                  "contextlib", "ast"])
def test_declining_in_library_modules(name):
    spec = importlib.util.find_spec(name)
    code = compile(spec.loader.get_source(name), spec.origin, "exec")
    modules = []
    for prepared in (code, spliced_all(code, ends=ENDS["several"])):
        module = types.ModuleType(name)
        module.__file__ = spec.origin
        before = sys.modules.get(name)
        sys.modules[name] = module
        try:
            exec(prepared, module.__dict__)
            modules.append(repr(workloads(module)))
        finally:
            sys.modules.pop(name)
            if before:
                sys.modules[name] = before
    # Classes of the two copies have the same names.
    assert modules[0] == modules[1]


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__)
def test_maps_of_modules_are_consistent(module):
    for code in module_codes(module):
        if not is_function(code):
            continue
        m = s.map(code)
        rows = m["code"]
        allowed = [row["allows"] for row in rows]
        assert m["entry"] >= 0 and allowed[m["entry"]] and m["slots"] >= code.co_nlocals
        assert m["candidates"] == sorted(set(m["candidates"])) and all(allowed[c] for c in m["candidates"])
        for i, row in enumerate(rows):
            if row["allows"]:
                assert row["stop"] == i and row["depth"] >= 0
            assert row["stop"] == -1 or row["stop"] <= i and allowed[row["stop"]]
            assert all(allowed[to] for to in row["after"])
            if row["op"] in ("RETURN_VALUE", "RERAISE", "RAISE_VARARGS"):
                assert row["after"] == []
            assert all(h in rows[h]["headers"] for h in row["headers"])
        assert not any(row["allows"] and row["depth"] > code.co_stacksize for row in rows)
        # Every way through the stubs is checked by the walk over the stack that the assembler makes.
        places = starts(code)
        s.splice(code, [(at, s.decline, ENDS["several"](at, places)) for at, _ in places])


# ---- regions that do the work

class Poison:
    """What a dead slot holds: using it shows."""
    def __repr__(self):
        return "poison"


BINARY = [operator.add, operator.and_, operator.floordiv, operator.lshift, None, operator.mul, operator.mod, operator.or_, None,
          operator.rshift, operator.sub, operator.truediv, operator.xor]
COMPARE = [operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge]
NULL = NotImplemented      # what Region.get() answers for it
PLAIN = (int, str, float, bool, type(None), tuple)


class Unsupported(Exception):
    pass


class Machine:
    """Executes neutral instructions without side effects, but for iterators, on a copy of the frame."""

    def __init__(self, fn_globals, code, rows, locals_, stack, pc):
        self.globals, self.code, self.rows = fn_globals, code, rows
        self.locals, self.stack, self.pc, self.effects = locals_, stack, pc, 0

    def state(self):
        return self.pc, list(self.locals), list(self.stack), self.effects

    def plain(self, n):
        values = self.stack[len(self.stack) - n:]
        if not all(type(v) in PLAIN for v in values):
            raise Unsupported
        del self.stack[len(self.stack) - n:]
        return values

    def step(self):
        """True if the function returns."""
        row = self.rows[self.pc]
        op, arg, stack, pc = row["op"], row["arg"], self.stack, self.pc + 1
        if op == "LOAD_FAST":
            if self.locals[arg] is NULL:
                raise Unsupported
            stack.append(self.locals[arg])
        elif op == "LOAD_CONST":
            stack.append(self.code.co_consts[arg])
        elif op == "LOAD_GLOBAL":
            name = self.code.co_names[arg]
            if name not in self.globals and not hasattr(builtins, name):
                raise Unsupported
            stack.append(self.globals.get(name, getattr(builtins, name, None)))
        elif op == "STORE_FAST":
            self.locals[arg] = stack.pop()
        elif op == "LOAD_FAST_AND_CLEAR":
            stack.append(self.locals[arg])
            self.locals[arg] = NULL
        elif op == "PUSH_NULL":
            stack.append(NULL)
        elif op == "COPY":
            stack.append(stack[-arg])
        elif op == "SWAP":
            stack[-1], stack[-arg] = stack[-arg], stack[-1]
        elif op == "POP_TOP":
            stack.pop()
        elif op == "NOP":
            pass
        elif op == "BINARY_OP" and BINARY[arg % 13]:
            a, b = self.plain(2)
            try:
                stack.append(BINARY[arg % 13](a, b))
            except Exception:
                raise Unsupported
        elif op == "COMPARE_OP":
            a, b = self.plain(2)
            try:
                stack.append(COMPARE[arg](a, b))
            except Exception:
                raise Unsupported
        elif op == "IS_OP":
            b, a = stack.pop(), stack.pop()
            stack.append((a is b) != bool(arg))
        elif op == "BUILD_TUPLE":
            stack[len(stack) - arg:] = [tuple(stack[len(stack) - arg:])]
        elif op == "TO_BOOL":
            stack.append(bool(self.plain(1)[0]))
        elif op == "UNARY_NOT":
            stack.append(not self.plain(1)[0])
        elif op == "JUMP":
            pc = row["target"]
        elif op in ("POP_JUMP_IF_FALSE", "POP_JUMP_IF_TRUE"):
            if bool(self.plain(1)[0]) == (op == "POP_JUMP_IF_TRUE"):
                pc = row["target"]
        elif op in ("POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE"):
            if (stack.pop() is None) == (op == "POP_JUMP_IF_NONE"):
                pc = row["target"]
        elif op == "FOR_ITER" and type(stack[-1]) in (type(iter(range(0))), type(iter(())), type(iter([])), type(iter(""))):
            try:
                stack.append(next(stack[-1]))
            except StopIteration:
                stack.pop()
                pc = row["target"]
            self.effects += 1
        elif op == "RETURN_VALUE":
            return True
        else:
            raise Unsupported
        self.pc = pc
        return False


INTERPRETED = {"LOAD_FAST", "LOAD_CONST", "LOAD_GLOBAL", "STORE_FAST", "LOAD_FAST_AND_CLEAR", "PUSH_NULL", "COPY", "SWAP", "POP_TOP",
               "NOP", "BINARY_OP", "COMPARE_OP", "IS_OP", "BUILD_TUPLE", "TO_BOOL", "UNARY_NOT", "JUMP", "POP_JUMP_IF_FALSE",
               "POP_JUMP_IF_TRUE", "POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE", "FOR_ITER"}


def reachable_ends(rows, start, limit=60):
    """Where a machine that begins at `start` may stop."""
    seen, work, ends = {start}, [start], []
    while work and len(seen) < limit:
        i = work.pop(0)
        row = rows[i]
        if row["op"] == "RETURN_VALUE":
            ends.append((RETURN, 1))
        if row["op"] not in INTERPRETED:
            continue
        for to in ([] if row["op"] == "JUMP" else [i + 1]) + [row["target"]]:
            if to < 0:
                continue
            if rows[to]["allows"]:
                ends.append((to, rows[to]["depth"]))
            if to not in seen:
                seen.add(to)
                work.append(to)
    return list(dict.fromkeys(ends))


class Kernel:
    """The handler of a region: runs the machine up to one of the ends and leaves the frame there."""

    def __init__(self, fn, code, start, ends, rng, declines=0.0):
        m = s.map(code)
        self.fn, self.code, self.rows, self.slots = fn, code, m["code"], m["slots"]
        self.start, self.ends, self.rng, self.declines = start, ends, rng, declines
        self.depth = self.rows[start]["depth"]
        self.height = self.depth + s.headroom(code, start, ends)
        self.number = {target: k for k, (target, _) in enumerate(ends)}
        self.taken = {target: 0 for target, _ in ends}
        self.called = 0

    def region(self):
        return s.Region(self, self.height)

    def __call__(self, region):
        self.called += 1
        if self.rng.random() < self.declines:
            return None
        every = [region.get(i) for i in range(self.slots + self.height)]
        assert all(v is None for v in every[self.slots + self.depth:])
        machine = Machine(self.fn.__globals__, self.code, self.rows, every[:self.slots], every[self.slots:self.slots + self.depth],
                          self.start)
        chosen = None
        for _ in range(60):
            before = machine.effects
            try:
                if self.rows[machine.pc]["op"] == "FOR_ITER" and not self.may_advance(machine.pc):
                    break
                if machine.step():
                    if RETURN in self.number:
                        chosen = RETURN, machine.state()
                    break
            except Unsupported:
                break
            if machine.pc in self.number:
                chosen = machine.pc, machine.state()
                if self.rng.random() < 0.3:
                    break
            assert machine.effects == before or chosen and chosen[1][3] == machine.effects
        if not chosen:
            return None
        target, (_, locals_, stack, effects) = chosen
        assert effects == machine.effects
        self.leave(region, target, locals_, stack)
        return self.number[target]

    def may_advance(self, pc):
        return all(to in self.number for to in (pc + 1, self.rows[pc]["target"]))

    def leave(self, region, target, locals_, stack):
        self.taken[target] += 1
        if target == RETURN:
            live, stack = [], [stack[-1]]
        else:
            live = self.rows[target]["live"]
            assert len(stack) == self.rows[target]["depth"]
        for i, value in enumerate(locals_):
            if i in live:
                region.put(i, value)
            elif i >= self.code.co_nlocals or self.code.co_varnames[i] not in self.code.co_cellvars:
                region.put(i, Poison())
        for i in range(self.height):
            if i < len(stack):
                region.put(self.slots + i, stack[i])
            elif region.get(self.slots + i) is NULL:
                region.put(self.slots + i, None)


def kernels_for(fn, code, rng, most_ends, declines=0.0, only=None):
    rows = s.map(code)["code"]
    kernels, stubs = [], []
    for at, _ in starts(code):
        if only is not None and at not in only:
            continue
        ends = reachable_ends(rows, at)
        if not ends:
            continue
        ends = rng.sample(ends, min(len(ends), rng.randint(1, most_ends)))
        kernels.append(Kernel(fn, code, at, ends, rng, declines))
        stubs.append((at, kernels[-1].region(), ends))
    return kernels, stubs


@pytest.mark.parametrize("most_ends", [1, 3, 20])
@cases
def test_working_regions_everywhere(fn, calls, most_ends):
    taken = 0
    for seed in range(6):
        rng = random.Random(seed)
        kernels, stubs = kernels_for(fn, fn.__code__, rng, most_ends, declines=0.25)
        same_behaviour(fn, calls, s.splice(fn.__code__, stubs))
        taken += sum(sum(k.taken.values()) for k in kernels)
    assert taken > 10 or not calls


@pytest.mark.parametrize("most_ends", [1, 4])
@cases
def test_working_regions_one_at_a_time(fn, calls, most_ends):
    taken = 0
    rng = random.Random(most_ends)
    for at, _ in starts(fn.__code__):
        kernels, stubs = kernels_for(fn, fn.__code__, rng, most_ends, only=[at])
        if stubs:
            same_behaviour(fn, calls, s.splice(fn.__code__, stubs))
            taken += sum(kernels[0].taken.values())
    assert taken > 3 or not calls


def run_regions(fn, args, declines=0.0, most_ends=3, seeds=30):
    """Every end that was taken: (start, its depth, end, its depth)."""
    used = set()
    for seed in range(seeds):
        kernels, stubs = kernels_for(fn, fn.__code__, random.Random(seed), most_ends, declines)
        same_behaviour(fn, [args], s.splice(fn.__code__, stubs))
        depth = dict(end for k in kernels for end in k.ends)
        used |= {(k.start, k.depth, end, depth[end]) for k in kernels for end, count in k.taken.items() if count}
    return used


def pick(a, b, items):
    seen = []
    for x in items:
        with corpus.Manager(seen):
            try:
                y = x * 2 + (a - b) * (x + (b if x % 2 else a))
                if y > 40:
                    continue
                if y < 0:
                    break
            except corpus.Boom:
                y = None
            seen.append(y)
    while a > 0:
        a -= 1
        b += a * a - (3 - a)
        if b > 1000:
            return "large", b
    return seen, a, b


def test_ends_of_all_forms():
    used = run_regions(pick, (7, 3, range(12))) | run_regions(pick, (60, 900, range(3)))
    assert any(end > start and after > before for start, before, end, after in used)          # grows
    assert any(end > start and 0 <= after < before for start, before, end, after in used)     # shrinks
    assert any(end != RETURN and end < start for start, before, end, after in used)           # back
    assert any(end == start for start, before, end, after in used)                            # to itself
    assert any(end == RETURN for start, before, end, after in used)
    assert any(end == RETURN and before >= 1 for start, before, end, after in used)
    assert any(after - before >= 2 for start, before, end, after in used if end != RETURN)


def leaves_with(n, log):
    for i in range(n):
        with corpus.Manager(log):
            x = i + 1
            if x == 3:
                break
            y = x + 1
        log.append(y)
    return log


def test_regions_may_end_outside_of_a_handler():
    """Less on the stack there than the handler at the region's start expects."""
    code = leaves_with.__code__
    rows = s.map(code)["code"]
    x = next(i for i, row in enumerate(rows) if row["op"] == "STORE_FAST" and code.co_varnames[row["arg"]] == "x")
    header = find(code, "FOR_ITER")
    inside = s.map(code)["code"][x + 1]["depth"]
    assert rows[header]["depth"] < inside
    log = []

    def leave(region):
        log.append("left")
        return 0

    new = rebuilt(leaves_with, s.splice(code, [(x + 1, s.Region(leave, inside), [(header, rows[header]["depth"])])]))
    result = []
    assert new(4, result) is result and result == ["enter"] * 4 and len(log) == 4


def test_regions_chain():
    """A jump from a stub enters the stub at its end."""
    def fn(a):
        b = a + 1
        c = b + 1
        d = c + 1
        return d

    code = fn.__code__
    rows = s.map(code)["code"]
    stores = [i for i, row in enumerate(rows) if row["op"] == "STORE_FAST"]
    order = []

    def step(number, end):
        def run(region):
            order.append(number)
            region.put(number + 1, region.get(number) + 10)
            return 0
        return s.Region(run, 0), [(end, 0)]

    points = [s.map(code)["entry"]] + [i + 1 for i in stores]
    stubs = [(points[k], *step(k, points[k + 1])) for k in range(3)]
    assert all(rows[p]["depth"] == 0 for p in points)
    assert rebuilt(fn, s.splice(code, stubs))(1) == 31 and order == [0, 1, 2]
    assert rebuilt(fn, s.splice(code, stubs[1:2]))(1) == 1 + 1 + 10 + 1


@pytest.mark.parametrize("answer", [0, 1, 2, 300])
def test_answers_select_ends(answer):
    def fn(a):
        x = "none"
        x = "first"
        x = "second"
        x = "third"
        return x

    code = fn.__code__
    rows = s.map(code)["code"]
    loads = [i for i, row in enumerate(rows) if row["op"] == "LOAD_CONST"]
    ends = [(loads[1], 0), (loads[2], 0), (loads[3], 0), (RETURN, 1)]

    def run(region):
        if answer == 300:
            region.put(2, "returned")      # slots: a, x, then the stack
            return 3
        region.put(1, answer)
        return answer

    # Only the last assignment is alive in the function: cut it off by returning right behind the place.
    new = rebuilt(fn, s.splice(code, [(loads[0], s.Region(run, 1), ends)]))
    assert new(0) == ("returned" if answer == 300 else "third")
    one = rebuilt(fn, s.splice(code, [(loads[0], s.Region(lambda region: "anything", 0), [(loads[3], 0)])]))
    assert one(0) == "third"


def test_exceptions_of_a_region_are_caught_where_it_begins():
    def fail(region):
        raise corpus.Boom("region")

    def fn(x):
        try:
            y = x + 1
        except corpus.Boom as e:
            return str(e)
        return y

    code = fn.__code__
    at = find(code, "BINARY_OP")
    new = rebuilt(fn, s.splice(code, [(at, s.Region(fail, 2), [])]))
    assert new(1) == "region"
    outside = s.map(code)["entry"]
    new = rebuilt(fn, s.splice(code, [(outside, s.Region(fail, 0), [])]))
    with pytest.raises(corpus.Boom) as info:
        new(1)
    line = s.map(code)["code"][outside]["line"]
    assert [t.lineno for t in info.traceback if t.frame.code.raw is new.__code__] == [line - 1]


# ---- the frame

def test_current_frame():
    seen = []

    def look(region):
        function, code, traced = region.frame()
        seen.append((function, code, [region.get(i) for i in range(4)], traced))

    def fn(a, b):
        c = a + b
        return c

    def gen(a, b):
        c = a + b
        yield c

    for f in (fn, gen):
        at = find(f.__code__, "BINARY_OP")
        new = rebuilt(f, s.splice(f.__code__, [(at, s.Region(look, 2), [])]))
        result = new(3, "x" * 0 or 4)
        assert (result if f is fn else list(result)) in (7, [7])
        function, code, slots, traced = seen.pop()
        assert function is new and code is new.__code__ and slots == [3, 4, NULL, 3] and not traced
    at = find(fn.__code__, "BINARY_OP")
    new = rebuilt(fn, s.splice(fn.__code__, [(at, s.Region(look, 2), [])]))
    before = sys.gettrace()
    sys.settrace(lambda *args: None)
    try:
        new(1, 2)
    finally:
        sys.settrace(before)
    assert seen.pop()[3]


# ---- loops and liveness against expectations written by hand

def live_names(code, i):
    m = s.map(code)
    names = list(code.co_varnames) + [c for c in code.co_cellvars if c not in code.co_varnames] + list(code.co_freevars)
    return {names[k] for k in m["code"][i]["live"]}


def store_of(code, name, nth=0):
    rows = s.map(code)["code"]
    return [i for i, r in enumerate(rows) if r["op"] == "STORE_FAST" and code.co_varnames[r["arg"]] == name][nth]


def test_liveness():
    def fn(a, b, c):
        x = a + 1            # b, c alive behind it; a is not read again
        y = x * b
        x = 5
        try:
            z = boom(y)
        except ValueError:
            return c
        return z, x

    code = fn.__code__
    assert live_names(code, s.map(code)["entry"]) == {"a", "b", "c"}
    assert live_names(code, store_of(code, "x") + 1) == {"b", "c", "x"}
    assert live_names(code, store_of(code, "y") + 1) == {"y", "c"}
    assert live_names(code, store_of(code, "x", 1) + 1) == {"y", "c", "x"}
    # The handler covers the call and the store: c stays alive up to the end of the `try`.
    assert "c" in live_names(code, find(code, "CALL")) and "y" not in live_names(code, find(code, "CALL"))
    assert live_names(code, find(code, "BUILD_TUPLE")) == set()


def test_liveness_in_a_loop():
    def fn(n):
        total = last = 0
        for i in range(n):
            total += i
            last = i * 2
        return total

    code = fn.__code__
    assert live_names(code, find(code, "FOR_ITER")) == {"total"}
    assert live_names(code, store_of(code, "i") + 1) == {"total", "i"}
    assert "last" not in live_names(code, store_of(code, "last", 1) + 1)


def test_cells_and_frame_readers_are_alive():
    def cells(a, b):
        def inner():
            return a
        c = b
        return inner

    last = len(s.map(cells.__code__)["code"]) - 1
    assert live_names(cells.__code__, last) == {"a"}

    def reader(a, b):
        c = b
        return locals()

    last = len(s.map(reader.__code__)["code"]) - 1
    assert live_names(reader.__code__, last) == {"a", "b", "c"}

    def deleted(a, b):
        del a
        return b

    assert live_names(deleted.__code__, s.map(deleted.__code__)["entry"]) == {"a", "b"}


def lines_of_loop(fn, header):
    code = fn.__code__
    return {r["line"] - code.co_firstlineno for r in s.map(code)["code"] if header in r["headers"] and r["line"] > 0}


def test_loops_hold_their_handlers():
    def fn(n):                                # 0
        for i in range(n):                    # 1
            try:                              # 2
                boom(i)                       # 3
            except ValueError:                # 4
                again(i)                      # 5
            except KeyError:                  # 6
                leave(i)                      # 7
                break                         # 8
            behind(i)                         # 9
        return n                              # 10

    header = find(fn.__code__, "FOR_ITER")
    inside = lines_of_loop(fn, header)
    assert {1, 3, 5, 9} <= inside and not inside & {7, 8, 10}
    # The jump back from a handler behind the loop's code is no loop of its own.
    assert {h for r in s.map(fn.__code__)["code"] for h in r["headers"]} == {header}


def test_nested_loops_innermost_first():
    code = corpus.nested_loops.__code__
    outer, inner = find(code, "FOR_ITER", 0), find(code, "FOR_ITER", 1)
    product = find(code, "BINARY_OP", 0)
    assert s.map(code)["code"][product]["headers"] == [inner, outer]
    assert s.map(code)["code"][s.map(code)["entry"]]["headers"] == []


def test_starts_after():
    code = corpus.nested_loops.__code__
    rows = s.map(code)["code"]
    header = find(code, "FOR_ITER")
    assert rows[header]["after"] == [header + 1, rows[header]["target"]]
    assert not rows[header]["allows"] or rows[header]["stop"] == header
    branch = next(i for i, r in enumerate(rows) if r["op"].startswith("POP_JUMP"))
    assert set(rows[branch]["after"]) == {branch + 1, rows[branch]["target"]}

    def keywords(f, a, b):
        return f(a, key=b) + 1

    rows = s.map(keywords.__code__)["code"]
    call = find(keywords.__code__, "CALL_KW")
    assert rows[call]["after"] == [call + 1]
    if not PY313:
        assert not rows[call]["allows"] and rows[call]["stop"] == call - 1 and rows[call - 1]["allows"]
    else:
        assert rows[call]["stop"] == call


def test_generators():
    rows = s.map(corpus.generator.__code__)["code"]
    resume = next(i for i, r in enumerate(rows) if r["op"] == "RESUME")
    assert s.map(corpus.generator.__code__)["entry"] == resume + 1
    assert not any(r["allows"] for r in rows[:resume + 1])
    for i, r in enumerate(rows):
        if r["op"] == "YIELD_VALUE":
            assert not rows[i + 1]["allows"] and (rows[i - 1]["op"] != "SEND" or not r["allows"])
        if r["op"] == "SEND":
            assert not rows[i + 3]["allows"]


def test_candidates():
    def fn(a, items):
        n = 0                                  # nothing to compute before the loop
        for x in items:
            n = x
        while n:
            n = n - 1
        print(a)
        return a

    code = fn.__code__
    m = s.map(code)
    rows = m["code"]
    loop = find(code, "FOR_ITER")
    assert m["entry"] not in m["candidates"] and loop + 1 not in m["candidates"]
    minus = find(code, "BINARY_OP")
    assert any(c <= minus and c in {h for h in rows[minus]["headers"]} for c in m["candidates"])
    assert find(code, "CALL") + 1 not in m["candidates"]

    def walks(x):
        for v in x:                            # nothing but the loop before what it does
            n = v * 2
        return n

    m = s.map(walks.__code__)
    assert m["candidates"] == [m["entry"], find(walks.__code__, "FOR_ITER") + 1]

    def calls(a, f):
        b = a * f(a)
        return f(b)

    m = s.map(calls.__code__)
    first = find(calls.__code__, "CALL")
    assert m["candidates"] == [m["entry"], first + 1]


# ---- refusals, leaks, tracing

def test_refusals():
    code = corpus.nested_loops.__code__
    (at, depth), (end, end_depth), *_ = starts(code)[2:]
    for stubs, message in [
        ([(0, s.decline, [])], "no region may begin"), ([(-1, s.decline, [])], "no region may begin"),
        ([(10**6, s.decline, [])], "no region may begin"), ([(at, s.decline, [(0, 0)])], "no region may end"),
        ([(at, s.decline, [(10**6, 0)])], "no region may end"), ([(at, s.decline, [(-7, 0)])], "no region may end"),
        ([(at, s.decline, [(end, end_depth + 1)])], "another stack depth"),
        ([(at, s.decline, []), (at, s.decline, [])], "two regions"),
    ]:
        with pytest.raises(SystemError, match=message):
            s.splice(code, stubs)
    assert s.splice(code, []) is not code


@pytest.mark.skipif(not PY313, reason="3.13 has instructions for two locals")
def test_pairs_stay_where_no_stub_stands():
    def fn(a, b):
        c, d = b, a
        return c + d

    names = lambda code: [i.opname for i in dis.get_instructions(code) if i.opname.count("_FAST") == 2]
    assert len(names(fn.__code__)) >= 2
    new = s.splice(fn.__code__, [(s.map(fn.__code__)["entry"], s.decline, [])])
    assert names(new) == names(fn.__code__) and rebuilt(fn, new)(1, 2) == 3


def test_nothing_leaks():
    class Marker:
        def __index__(self):
            return 6

    def fn(a, b, log):
        for i in range(3):
            with corpus.Manager(log):
                c = a
                d = (c, b, i + 1)
                if i == 1:
                    continue
                e = d
        return a

    marker = Marker()
    rng = random.Random(5)
    kernels, stubs = kernels_for(fn, fn.__code__, rng, 3, declines=0.2)
    new = rebuilt(fn, s.splice(fn.__code__, stubs))
    def growth(calls):
        """References to the marker and to None, and blocks of memory, that `calls` calls leave behind."""
        gc.collect()
        before, nones, blocks = sys.getrefcount(marker), sys.getrefcount(None), sys.getallocatedblocks()
        for _ in range(calls):
            assert new(marker, marker, []) is marker
        gc.collect()
        return sys.getrefcount(marker) - before, abs(sys.getrefcount(None) - nones), abs(sys.getallocatedblocks() - blocks)

    growth(200)
    # What leaks does so in every window; the rest of the process (compiling in the background, caches) allocates in one or the other.
    windows = [growth(2000) for _ in range(3)]
    assert all(references == 0 for references, _, _ in windows), windows
    assert min(nones for _, nones, _ in windows) < 20 and min(blocks for _, _, blocks in windows) < 200, windows
    assert sum(sum(k.taken.values()) for k in kernels) > 1000

    callback = s.Region(lambda region: None, 0)
    before = sys.getrefcount(callback)
    for _ in range(50):
        s.splice(fn.__code__, [(at, callback, []) for at, _ in starts(fn.__code__)])
        with pytest.raises(SystemError):
            s.splice(fn.__code__, [(0, callback, [])])
    gc.collect()
    assert sys.getrefcount(callback) == before


def seen_alike(rows, end):
    """Jump targets behind what starts or goes on with a frame are new lines to tracers: behind RESUME, and on 3.12 behind calls."""
    before = rows[end - 1]["op"]
    return end == RETURN or before != "RESUME" and not (sys.version_info[:2] == (3, 12) and before.startswith("CALL"))


@pytest.mark.parametrize("kind", ENDS)
@cases
def test_tracing_sees_the_same_lines(fn, calls, kind):
    places = starts(fn.__code__)
    rows = s.map(fn.__code__)["code"]
    ends = lambda at: [end for end in ENDS[kind](at, places) if seen_alike(rows, end[0])]
    code = s.splice(fn.__code__, [(at, s.decline, ends(at)) for at, _ in places])
    for args in calls:
        args = copy.deepcopy(args)
        assert traced_lines(rebuilt(fn, code), args) == traced_lines(fn, args)
