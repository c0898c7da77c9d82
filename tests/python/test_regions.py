"""Capture of regions: from an instruction of a frame to the first stop. What is guarded, how the frame stands afterwards, and
which side effects are replayed."""
import inspect
import re
import sys

import numpy as np
import pytest

import _fw_capture_test as _fw

NULL = _fw.NULL
A = np.arange(6.0).reshape(2, 3)


class Listing:
    """The neutral instructions of a function."""

    def __init__(self, fn):
        self.lines = [line.split() for line in _fw.bytecode(fn).splitlines()]

    def find(self, name, number=0):
        """Index of the number-th instruction of that name."""
        found = [int(line[0]) for line in self.lines if line[1] == name]
        return found[number]

    def entry(self):
        return self.find("RESUME") + 1


class Region:
    def __init__(self, text):
        self.text = text
        self.broke = text.startswith("break ")
        if self.broke:
            self.reason, self.detail, at = re.match(r"break ([\w-]+): (.*) \(.*:\d+\) at (-?\d+)$", text, re.S).groups()
            self.at = int(at)
            return
        assert "violation" not in text, text
        self.graph, rest = text[len("graph\n"):].split("guards\n", 1)
        guards, end = rest.split("\nexit\n", 1)
        self.guards = [re.sub(r"  line \d+$", "", line) for line in guards.strip().splitlines()]
        self.exit = end.strip().splitlines()

    @property
    def effects(self):
        return [line for line in self.exit[:-1] if not line.startswith("slot ")]

    def slot(self, number):
        """What the slot gets; None if it is left alone."""
        found = [line for line in self.exit if line.startswith(f"slot {number} = ")]
        return found[0].split(" = ", 1)[1] if found else None


def region(fn, start, slots, stops=(), **options):
    return Region(_fw.region(fn, start, list(slots), list(stops), **options))


def captured(fn, start, slots, stops=(), **options):
    result = region(fn, start, slots, stops, **options)
    assert not result.broke, result.text
    return result


def slot(fn, name):
    code = fn.__code__
    names = code.co_varnames + tuple(n for n in code.co_cellvars if n not in code.co_varnames) + code.co_freevars
    return names.index(name)


def whole(fn, *args, **options):
    """From the entry of the function to its return."""
    code = fn.__code__
    cells = len(code.co_cellvars) + len(code.co_freevars)
    assert not cells
    return captured(fn, Listing(fn).entry(), list(args) + [NULL] * (code.co_nlocals - len(args)), **options)


# ---- the frame ------------------------------------------------------------------------------------------------------

def straight(a, b, c):
    d = a + b
    print(d)
    return d * c


def test_to_the_first_stop():
    code = Listing(straight)
    stop = code.find("STORE_FAST") + 1
    r = captured(straight, code.entry(), [A, A + 1, 3, NULL], [stop])
    assert r.exit[-1] == f"at {stop}, stack of 0"
    assert r.slot(3) == "array #0"
    assert r.slot(0) is None and r.slot(1) is None and r.slot(2) is None


def test_what_is_not_read_is_not_guarded():
    code = Listing(straight)
    stop = code.find("STORE_FAST") + 1
    r = captured(straight, code.entry(), [A, A + 1, object(), NULL], [stop])
    assert not any(re.match(r"\w+ c\b", guard) for guard in r.guards)
    assert sum("array" in guard for guard in r.guards) == 2


def test_from_the_middle_to_the_return():
    code = Listing(straight)
    start = code.find("POP_TOP") + 1
    r = captured(straight, start, [NULL, NULL, 3, A])
    assert r.exit == ["array #0"]
    assert not r.guards or not any(re.search(r"\b[ab]\b", guard) for guard in r.guards)


def test_values_on_the_stack():
    code = Listing(straight)
    stop = code.find("BINARY_OP")
    r = captured(straight, code.entry(), [A, A + 1, 3, NULL], [stop])
    assert r.exit == ["slot 4 = object 0", "slot 5 = object 1", f"at {stop}, stack of 2"]
    assert r.guards == []
    r = captured(straight, stop, [NULL, NULL, 3, NULL, A, A + 1], [stop + 1])
    assert r.slot(4) == "array #0" and r.exit[-1] == f"at {stop + 1}, stack of 1"


def test_entries_below_are_left_alone():
    def f(a):
        return [7, a, (a + 1) * 2]
    code = Listing(f)
    start, stop = code.find("LOAD_FAST", 1), code.find("LOAD_CONST", 2)
    r = captured(f, start, [A, 7, object()], [stop])
    assert [line for line in r.exit if line.startswith("slot")] == ["slot 3 = array #0"] or r.broke


def test_unbound_local_raises():
    code = Listing(straight)
    start = code.find("POP_TOP") + 1
    r = region(straight, start, [NULL, NULL, 3, NULL])
    assert (r.reason, r.at) == ("python-exception", start)


def test_bound_is_checked_where_nothing_else_is():
    def f(a, b):
        a
        return b + 1
    r = whole(f, A, A)
    assert r.exit == ["array #0"]


def test_dead_locals_are_dropped():
    def f(a):
        b = a + 1
        c = b * 2
        print(c)
        return c
    code = Listing(f)
    stop = code.find("STORE_FAST", 1) + 1
    r = captured(f, code.entry(), [A, NULL, NULL], [stop])
    assert r.slot(1) == "-" and r.slot(2).startswith("array")


def test_break_names_the_outermost_instruction():
    def inner(x):
        return open(x)

    def f(a):
        b = a + 1
        return inner(b)
    code = Listing(f)
    r = region(f, code.find("STORE_FAST") + 1, [NULL, A, f.__closure__[0]])
    assert r.broke
    call = code.find("CALL")
    assert r.at == call


def test_loop_runs_once_around():
    def f(a, n):
        i = 0
        while i < n:
            a = a + i
            print(a)
            i += 1
        return a
    code = Listing(f)
    stop = code.find("LOAD_GLOBAL")
    start = code.find("POP_TOP") + 1
    r = captured(f, start, [A, 10, 3], [stop - (1 if code.lines[stop - 1][1] == "PUSH_NULL" else 0)])
    assert r.slot(0) == "array #0" and r.slot(2).startswith("int")


def test_iterator_of_an_outer_loop_stays():
    def f(items):
        for x in items:
            y = x + 1
            print(y)
    code = Listing(f)
    loop = code.find("FOR_ITER")
    stop = code.find("STORE_FAST", 1) + 1
    r = captured(f, loop + 1, [NULL, NULL, NULL, iter([1]), A], [stop, loop])
    assert r.exit[-1] == f"at {stop}, stack of 1"
    assert r.slot(3) is None and r.slot(2) == "array #0"


def test_call_prepared_before_the_stop():
    def f(a, x):
        return np.add(a + 1, open(x))
    code = Listing(f)
    stop = code.find("LOAD_GLOBAL", 1)
    if code.lines[stop - 1][1] == "PUSH_NULL":
        stop -= 1
    r = captured(f, code.entry(), [A, "x"], [stop])
    values = [line.split(" = ")[1] for line in r.exit if line.startswith("slot")]
    assert values[-1] == "array #0" and len(values) == 3
    expected = ["-", "ufunc"] if sys.version_info < (3, 13) else ["ufunc", "-"]
    assert [("-" if v == "-" else "ufunc") for v in values[:2]] == expected


def test_method_prepared_before_the_stop():
    def f(a, x):
        return (a + 1).sum(axis=open(x))
    code = Listing(f)
    stop = code.find("LOAD_GLOBAL")
    if code.lines[stop - 1][1] == "PUSH_NULL":
        stop -= 1
    r = captured(f, code.entry(), [A, "x"], [stop])
    values = [line.split(" = ")[1] for line in r.exit if line.startswith("slot")]
    assert sorted(values) == ["-", "array #0.sum"]


# ---- values that are only moved -------------------------------------------------------------------------------------

class Sub(np.ndarray):
    pass


@pytest.mark.parametrize("thing", [list(range(5000)), A.view(Sub), A.astype(">f8"), A.astype(object), {1: 2}, {3}, iter([1]), object()],
                         ids=lambda t: type(t).__name__)
def test_anything_can_be_moved(thing):
    def f(a, thing):
        other = thing
        pair = (thing, a + 1)
        return pair, other
    r = whole(f, A, thing)
    assert r.exit[0].startswith("tuple(tuple(object")


def test_uses_break():
    def f(a, thing):
        b = a + 1
        return b * thing
    code = Listing(f)
    r = region(f, code.entry(), [A, A.astype(object), NULL])
    assert r.reason == "unsupported-array" and r.at == code.find("BINARY_OP", 1)


# ---- identity -------------------------------------------------------------------------------------------------------

def test_same_object_twice():
    def f(a, b):
        return a is b, a + b
    r = whole(f, A, A)
    assert "constant True" in r.exit[0] and any(g.startswith("same ") for g in r.guards)
    r = whole(f, A, A + 1)
    assert "constant False" in r.exit[0] and any(g.startswith("not_same ") for g in r.guards)


def test_writing_excludes_other_names():
    def f(a, b):
        a.append(1)
        return len(b)
    r = whole(f, [0], [0, 1])
    assert any(g.startswith("not_same ") for g in r.guards)
    x = [0]
    r = whole(f, x, x)
    assert re.fullmatch(r"int l\d \+ 1", r.exit[-1])   # the length as it was, and what was appended


# ---- side effects ---------------------------------------------------------------------------------------------------

class Plain:
    scale = 2

    def __init__(self, **attributes):
        self.__dict__.update(attributes)


def test_list_is_appended_to_unseen():
    def f(a, log):
        log.append(a + 1)
        log.append(2)
    r = whole(f, A, list(range(1000)))
    assert r.effects == ["object 0[end:end] = list(array #0)", "object 0[end:end] = list(constant 2)"]
    assert not any("length" in g for g in r.guards)


def test_list_is_read_after_writing():
    def f(log):
        log.append(7)
        log[0] = 8
        return log[0] + log[-1] + len(log)
    r = whole(f, [1, 2])
    assert r.exit[-1] == "constant 18"
    assert r.effects == ["object 0[end:end] = list(constant 7)", "object 0[0:1] = list(constant 8)"]


@pytest.mark.parametrize("write, effect", [
    ("x.pop()", ".constant 'pop'(*tuple())"), ("x.pop(0)", "[0:1] = list()"), ("x.insert(1, 9)", "[1:1] = list(constant 9)"),
    ("x.extend((8, 9))", "[end:end] = list(constant 8, constant 9)"), ("x.remove('b')", "[1:2] = list()"), ("x.clear()", "[0:3] = list()"),
    ("del x[1]", "[1:2] = list()"), ("x[1:] = [5]", "[1:3] = list(constant 5)"), ("del x[:2]", "[0:2] = list()"),
    ("x += [1]", "[3:3] = list(constant 1)"), ("x.reverse()", "[0:3] = list(object 1, object 2, object 3)")])
def test_list_writes(write, effect):
    namespace = {}
    exec(f"def f(x):\n    {write}\n", namespace)
    r = whole(namespace["f"], ["a", "b", "c"])
    assert len(r.effects) == 1
    assert re.sub(r"object \d", "object", r.effects[0]) == re.sub(r"object \d", "object", "object 0" + effect)


def test_list_sort():
    def f(x):
        x.sort(key=lambda v: -v)
        return x[0]
    r = whole(f, [1, 3, 2])
    assert len(r.effects) == 1 and "[0:3] = list(" in r.effects[0]


@pytest.mark.parametrize("write, effects", [
    ("d['a'] = 5", ["['a'] = constant 5"]), ("del d['b']", ["['b'] = -"]), ("d.update(a=1, z=2)", ["['a'] = constant 1", "['z'] = constant 2"]),
    ("d.pop('a')", ["['a'] = -"]), ("d.setdefault('z', 3)", ["['z'] = constant 3"]), ("d.popitem()", ["['b'] = -"]),
    ("d.clear()", ["['b'] = -", "['a'] = -"])])
def test_dict_writes(write, effects):
    namespace = {}
    exec(f"def f(d):\n    {write}\n", namespace)
    r = whole(namespace["f"], {"a": 1, "b": 2})
    assert [line.replace("constant '", "'") for line in r.effects] == ["object 0" + e for e in effects]


def test_attribute_writes():
    def f(self, a):
        self.total = self.total + a
        self.count = 1
        self.count += self.scale
        del self.old
        return self.total
    r = whole(f, Plain(total=A, old=3), A + 1)
    assert [e.split(" = ")[0] for e in r.effects] == [
        "object 0.constant 'total'", "object 0.constant 'count'", "object 0.constant 'count'", "object 0.constant 'old'"]
    assert r.effects[2].endswith("constant 3") and r.effects[3].endswith("-")


# ---- the object protocol --------------------------------------------------------------------------------------------

class Vector:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x = x
        self.y = y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y) if isinstance(other, Vector) else NotImplemented

    def __radd__(self, other):
        return Vector(other + self.x, other + self.y)

    def __iadd__(self, other):
        self.x += other.x
        return self

    def __eq__(self, other):
        return self.x == other.x if isinstance(other, Vector) else NotImplemented

    def __lt__(self, other):
        return self.x < other.x

    def __bool__(self):
        return self.x > 0

    def __len__(self):
        return 2

    def __getitem__(self, i):
        return (self.x, self.y)[i]

    def __contains__(self, v):
        return v == self.x or v == self.y

    def __neg__(self):
        return Vector(-self.x, -self.y)

    def __call__(self, k):
        return self.x * k

    @property
    def double(self):
        return self.x * 2

    @double.setter
    def double(self, value):
        self.x = value / 2

    @classmethod
    def unit(cls):
        return cls(1, 1)

    @staticmethod
    def scale(a, k):
        return a * k


class Steep(Vector):
    __slots__ = ()

    def __init__(self, x):
        super().__init__(x, 10)

    def __radd__(self, other):
        return "reflected first"


def evaluate(expression, **values):
    """The expression of constants, captured: its exit."""
    names = list(values)
    namespace = {"Vector": Vector, "Steep": Steep, "Plain": Plain}
    exec(f"def f({', '.join(names)}):\n    return {expression}\n", namespace)
    r = whole(namespace["f"], *values.values())
    return r.exit[-1], r


@pytest.mark.parametrize("expression, answer", [
    ("(Vector(1, 2) + Vector(3, 4)).x", 4), ("(5 + Vector(1, 2)).y", 7), ("Vector(1, 2) + Steep(3)", "reflected first"),
    ("Vector(1, 2) == Vector(1, 5)", True), ("Vector(1, 2) != Vector(1, 5)", False), ("Vector(1, 2) == 3", False),
    ("Vector(1, 2) != 3", True), ("Vector(1, 2) > Vector(0, 2)", True), ("not Vector(0, 1)", True), ("len(Vector(1, 2))", 2),
    ("Vector(1, 2)[1]", 2), ("2 in Vector(1, 2)", True), ("3 in Vector(1, 2)", False), ("(-Vector(1, 2)).y", -2),
    ("Vector(3, 2)(4)", 12), ("Vector(3, 2).double", 6), ("Vector.unit().y", 1), ("Vector.scale(3, 4)", 12), ("Steep(7).y", 10),
    ("Steep.unit if False else 1", 1), ("Vector(1, 2) is Vector(1, 2)", False), ("isinstance(Steep(1), Vector)", True),
    ("type(Steep(1)) is Steep", True), ("Steep.scale(Steep(2).x, 3)", 6), ("Steep(1).__class__ is Steep", True)])
def test_object_protocol(expression, answer):
    assert evaluate(expression)[0] == f"constant {answer!r}"
    assert eval(expression) == answer


def test_instances_leave():
    exit, r = evaluate("Vector(a, 1)", a=A)
    assert re.fullmatch(r"instance of object \d\(constant 'x', object \d, constant 'y', constant 1\)", exit)
    exit, r = evaluate("[v := Vector(1, 2), v]")
    assert "same as node" in exit


def test_instances_are_read_and_written():
    def f(v, a):
        v.double = a
        v += v
        w = v
        w.y = 3
        return v.x, v.y, w is v
    r = whole(f, Vector(1.0, 2), 8)
    assert [e.split(" = ")[0] for e in r.effects] == ["object 0.constant 'x'", "object 0.constant 'x'", "object 0.constant 'y'"]
    assert r.exit[-1].endswith("constant 3, constant True)")


def test_setattr_and_getattr_hooks():
    class Hooked:
        def __setattr__(self, name, value):
            object.__setattr__(self, name, value * 2)

        def __getattr__(self, name):
            return name + "?"

    def f(h):
        h.x = 4
        return h.x, h.other
    assert whole(f, Hooked()).exit[-1] == "tuple(constant 8, constant 'other?')"


def test_closures_leave():
    def f(a):
        b = a + 1

        def inner(x, y=2, *, z=3):
            return b * x + y + z
        return inner
    code = Listing(f)
    r = captured(f, code.entry(), slots_of(f, A))
    assert re.fullmatch(r"function\(object 0, .*, dict\(.*\), tuple\(object 1\), -, -\)", r.exit[-1]), r.exit
    assert r.effects == ["content of object 1 = array #0"]


def slots_of(fn, *args):
    """Slots at the entry: arguments, unbound locals, cells."""
    import types
    code = fn.__code__
    names = list(code.co_varnames) + [n for n in code.co_cellvars if n not in code.co_varnames] + list(code.co_freevars)
    slots = list(args) + [NULL] * (len(names) - len(args))
    for i, name in enumerate(names):
        if name in code.co_cellvars:
            slots[i] = types.CellType(*([slots[i]] if slots[i] is not NULL else []))
        if name in code.co_freevars:
            slots[i] = fn.__closure__[code.co_freevars.index(name)]
    return slots


def test_dataclass():
    import dataclasses

    @dataclasses.dataclass
    class Point:
        x: object
        y: int = 3

    namespace = {"Point": Point}
    exec("def f(a):\n    p = Point(a * 2)\n    return p.y, p == Point(1, 2) if False else p\n", namespace)
    r = whole(namespace["f"], A)
    assert re.search(r"instance of object \d\(constant 'x', array #0, constant 'y', object \d\)", r.exit[-1])

    @dataclasses.dataclass(frozen=True)
    class Frozen:
        x: int
    namespace = {"p": Frozen(1)}
    exec("def f(a):\n    p.x = a\n", namespace)
    assert region(namespace["f"], Listing(namespace["f"]).entry(), [1]).reason in ("python-exception", "unsupported-call")


def test_nonlocal_writes():
    total = 1

    def f(a):
        nonlocal total
        total = total + 1
        return a * total
    code = Listing(f)
    r = captured(f, code.entry(), [A, f.__closure__[0]])
    assert len(r.effects) == 1 and r.effects[0].startswith("content of object 0 = int")


def test_global_writes():
    namespace = {"counter": 1, "A": A}
    exec("def f(a):\n    global counter\n    counter = counter + 1\n    return a * counter\n", namespace)
    r = whole(namespace["f"], A)
    assert len(r.effects) == 1 and "counter" in r.effects[0]
