"""Everything that a call lets its user see, and a comparison of two such calls.

`observe` runs a function and records the result or the exception with its chain and traceback, output, warnings, and the
objects that the call could have changed. `assert_same_observation` walks two observations side by side. Objects with an
identity are paired: an object of one side always answers to the same object of the other, so that equal aliasing is part
of equality; arrays have to share memory on both sides or on neither, at the same distance. Iterators and generators are
compared by what they still deliver, last, because that uses them up.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import io
import itertools
import traceback
import types
import warnings
import weakref

import numpy as np

from compare import same_bits, ulp_distance

SCALARS = (int, float, complex, bool, str, bytes, type(None), type(...), type(NotImplemented), np.generic, np.dtype, range)
ITERATORS = tuple({type(x) for x in (
    iter([]), iter(()), iter({}), iter({}.values()), iter({}.items()), iter(set()), iter(""), iter(range(0)), iter(b""),
    iter(range(1 << 100)), reversed([]), reversed(range(0)), reversed({}), enumerate([]), zip(), map(len, []), filter(None, []),
    itertools.chain(), itertools.count(), itertools.cycle([]), itertools.repeat(1, 1), itertools.islice([], 1),
    itertools.accumulate([]), itertools.product(), itertools.starmap(max, []), itertools.takewhile(len, []),
    itertools.dropwhile(len, []), itertools.compress([], []), itertools.zip_longest(), itertools.pairwise([]),
    itertools.groupby([]), itertools.permutations([]), itertools.combinations([], 1), itertools.filterfalse(len, []),
    itertools.tee([])[0], iter(int, 0), iter(collections.deque()), reversed(collections.deque()))}) + (types.GeneratorType,)
DRAIN = 12  # items that are taken from an iterator for comparison


@dataclasses.dataclass
class Observation:
    """A call. `roots` are the arguments and whatever else the call could have changed."""

    result: object
    error: BaseException | None
    output: str
    warned: list
    roots: tuple


def user_frames(error: BaseException) -> list:
    """Function, file, line and columns of every frame of the traceback but those of this file. Where a local is not bound,
    CPython tells the place of the instruction before, if it has made one of both: there only the function counts."""
    frames = [(f.f_code.co_name, f.f_code.co_filename, *where) for f, where in _positions(error.__traceback__) if f.f_code.co_filename != __file__]
    if isinstance(error, UnboundLocalError) and frames:
        frames[-1] = frames[-1][:2]
    return frames


def _positions(tb):
    while tb is not None:
        where = next(itertools.islice(tb.tb_frame.f_code.co_positions(), tb.tb_lasti // 2, None), (None,) * 4)
        yield tb.tb_frame, (tb.tb_lineno, where[0], where[2], where[3])
        tb = tb.tb_next


def observe(function, arguments: tuple, also=lambda: (), keywords: dict | None = None) -> Observation:
    """Calls `function`; `also` is asked afterwards for further objects that the call could have changed."""
    output = io.StringIO()
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(output):
        warnings.simplefilter("always")
        try:
            result, error = function(*arguments, **(keywords or {})), None
        except Exception as raised:
            result, error = None, raised
    warned = [(w.category.__name__, str(w.message), w.filename, w.lineno) for w in caught]
    return Observation(result, error, output.getvalue(), warned, (arguments, also()))


class _Walk:
    def __init__(self, ulp: int | None, relative: float | None, any_zero: bool):
        self.ulp, self.relative, self.any_zero = ulp, relative, any_zero
        self.forth: dict[int, int] = {}
        self.back: dict[int, int] = {}
        self.keep: list = []
        self.arrays: list[tuple[np.ndarray, np.ndarray, str]] = []
        self.later: list[tuple] = []

    def same(self, e, a, where: str) -> None:
        if type(e) is not type(a):
            assert (isinstance(e, type) and isinstance(a, type)) or _made_class(type(e), type(a)), (
                f"{where}: {type(a).__name__} {_show(a)}, expected {type(e).__name__} {_show(e)}")
        if isinstance(e, SCALARS):
            self.scalar(e, a, where)
            return
        if self.paired(e, a, where):
            return
        self.inside(e, a, where)

    def paired(self, e, a, where: str) -> bool:
        """True if both were met before, together."""
        if e is a and isinstance(e, (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType, types.CodeType)):
            return True
        if type(e) is tuple and not e and not a:
            return True  # there is one empty tuple
        assert (id(e) in self.forth) == (id(a) in self.back) and self.forth.get(id(e), id(a)) == id(a), (
            f"{where}: identity: {_show(a)} is {'another object here' if id(e) in self.forth else 'an object met before'}")
        if id(e) in self.forth:
            return True
        self.forth[id(e)], self.back[id(a)] = id(a), id(e)
        self.keep += [e, a]
        return False

    def scalar(self, e, a, where: str) -> None:
        if isinstance(e, np.generic) and e.dtype.kind in "fc":
            assert e.dtype == a.dtype, f"{where}: {a.dtype}, expected {e.dtype}"
            self.numbers(np.asarray(e), np.asarray(a), where)
        elif isinstance(e, (float, complex)):
            self.numbers(np.asarray(e), np.asarray(a), where)
        else:
            assert e == a, f"{where}: {_show(a)}, expected {_show(e)}"

    def numbers(self, e, a, where: str) -> None:
        if self.any_zero and e.dtype.kind in "fc":
            e, a = (np.asarray(x + x.dtype.type(0)) for x in (e, a))   # -0.0 + 0.0 is 0.0
        if self.relative is not None and e.dtype.kind in "fc":
            assert _is_near(e, a, self.relative), f"{where}: {a!r}\nexpected {e!r}"
        elif self.ulp is None or e.dtype.kind not in "fc":
            assert same_bits(e, a), f"{where}: {a!r}\nexpected {e!r}"
        else:
            distance = ulp_distance(e, a)
            assert distance <= self.ulp, f"{where}: {distance} ULP apart: {a!r}\nexpected {e!r}"

    def array(self, e, a, where: str) -> None:
        assert (e.dtype, e.shape) == (a.dtype, a.shape), f"{where}: {a.dtype}{a.shape}, expected {e.dtype}{e.shape}"
        strides = lambda x: [s for s, n in zip(x.strides, x.shape) if n > 1] if x.size > 1 else []
        assert strides(e) == strides(a), f"{where}: strides {a.strides}, expected {e.strides}"
        assert e.flags.writeable == a.flags.writeable, f"{where}: writeable is {a.flags.writeable}"
        assert (e.base is None) == (a.base is None), f"{where}: base {type(a.base)}, expected {type(e.base)}"
        if e.dtype == object:
            self.each(e.ravel().tolist(), a.ravel().tolist(), where)
        else:
            self.numbers(e, a, where)
        for e2, a2, where2 in self.arrays:
            shared = np.may_share_memory(e, e2)
            assert shared == np.may_share_memory(a, a2), f"{where}: shares memory with {where2}: {not shared}, expected {shared}"
            if shared:
                assert _address(e) - _address(e2) == _address(a) - _address(a2), f"{where}: distance in memory from {where2}"
        self.arrays.append((e, a, where))

    def each(self, e, a, where: str) -> None:
        assert len(e) == len(a), f"{where}: length {len(a)}, expected {len(e)}: {_show(a)}, expected {_show(e)}"
        for i, (x, y) in enumerate(zip(e, a)):
            self.same(x, y, f"{where}[{i}]")

    def mapping(self, e, a, where: str) -> None:
        assert [_key(k) for k in e] == [_key(k) for k in a], f"{where}: keys {_show(list(a))}, expected {_show(list(e))}"
        for (k, x), (_, y) in zip(e.items(), a.items()):
            self.same(x, y, f"{where}[{_show(k)}]")

    def attributes(self, e, a, where: str) -> None:
        if hasattr(e, "__dict__"):
            self.mapping(vars(e), vars(a), f"{where}.__dict__")
        for cls in type(e).__mro__:
            slots = cls.__dict__.get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if name in ("__dict__", "__weakref__"):
                    continue
                assert hasattr(e, name) == hasattr(a, name), f"{where}.{name}: set on one side only"
                if hasattr(e, name):
                    self.same(getattr(e, name), getattr(a, name), f"{where}.{name}")

    def function(self, e, a, where: str) -> None:
        assert e.__code__.co_name == a.__code__.co_name and e.__qualname__ == a.__qualname__, f"{where}: {a}, expected {e}"
        self.same(e.__defaults__, a.__defaults__, f"{where}.__defaults__")
        self.same(e.__kwdefaults__, a.__kwdefaults__, f"{where}.__kwdefaults__")
        self.same(e.__closure__, a.__closure__, f"{where}.__closure__")
        self.mapping(e.__dict__, a.__dict__, f"{where}.__dict__")

    def klass(self, e, a, where: str) -> None:
        assert (e.__qualname__, e.__module__) == (a.__qualname__, a.__module__), f"{where}: {a}, expected {e}"
        self.each(e.__mro__[1:], a.__mro__[1:], f"{where}.__mro__")
        hidden = ("__dict__", "__weakref__", "__doc__", "__abstractmethods__", "_abc_impl")
        members = lambda c: {k: v for k, v in vars(c).items() if k not in hidden and not isinstance(
            v, (types.MemberDescriptorType, types.GetSetDescriptorType, types.WrapperDescriptorType))}
        self.mapping(members(e), members(a), where)

    def inside(self, e, a, where: str) -> None:
        if isinstance(e, np.ndarray):
            self.array(e, a, where)
        elif isinstance(e, types.CellType):
            empty = lambda c: not _has_content(c)
            assert empty(e) == empty(a), f"{where}: the cell is empty on one side only"
            if not empty(e):
                self.same(e.cell_contents, a.cell_contents, f"{where}.cell_contents")
        elif isinstance(e, types.FunctionType):
            self.function(e, a, where)
        elif isinstance(e, types.MethodType):
            self.same(e.__func__, a.__func__, f"{where}.__func__")
            self.same(e.__self__, a.__self__, f"{where}.__self__")
        elif isinstance(e, (staticmethod, classmethod)):
            self.same(e.__func__, a.__func__, f"{where}.__func__")
        elif isinstance(e, property):
            self.each((e.fget, e.fset, e.fdel), (a.fget, a.fset, a.fdel), where)
        elif isinstance(e, functools.partial):
            self.each((e.func, e.args, e.keywords), (a.func, a.args, a.keywords), where)
        elif isinstance(e, slice):
            self.each((e.start, e.stop, e.step), (a.start, a.stop, a.step), where)
        elif isinstance(e, type):
            self.klass(e, a, where)
        elif isinstance(e, weakref.ref):
            self.same(e(), a(), f"{where}()")
        elif isinstance(e, BaseException):
            self.exception(e, a, where)
        elif isinstance(e, ITERATORS):
            self.later.append((e, a, where))
        else:
            self.container(e, a, where)
            self.attributes(e, a, where)

    def container(self, e, a, where: str) -> None:
        if isinstance(e, (list, tuple, collections.deque)):
            self.each(e, a, where)
            if isinstance(e, collections.deque):
                assert e.maxlen == a.maxlen, where
        elif isinstance(e, (dict, types.MappingProxyType)):
            self.mapping(e, a, where)
            if isinstance(e, collections.defaultdict):
                self.same(e.default_factory, a.default_factory, f"{where}.default_factory")
        elif isinstance(e, (set, frozenset)):
            assert len(e) == len(a) and (e == a or sorted(map(repr, map(type, e))) == sorted(map(repr, map(type, a)))), (
                f"{where}: {_show(a)}, expected {_show(e)}")
        elif isinstance(e, (type({}.keys()), type({}.values()), type({}.items()))):
            self.each(list(e), list(a), where)
        elif isinstance(e, (bytearray, memoryview)):
            assert bytes(e) == bytes(a), f"{where}: {_show(a)}, expected {_show(e)}"

    def exception(self, e, a, where: str) -> None:
        self.same(e.args, a.args, f"{where}.args")
        assert e.__suppress_context__ == a.__suppress_context__, f"{where}.__suppress_context__"
        mine, other = user_frames(e), user_frames(a)
        assert mine == other, f"{where}: traceback {other}\nexpected {mine}"
        for name in ("__cause__", "__context__"):
            x, y = getattr(e, name), getattr(a, name)
            self.same(x, y, f"{where}.{name}")
        if isinstance(e, BaseExceptionGroup):
            self.each(e.exceptions, a.exceptions, f"{where}.exceptions")
        self.attributes(e, a, where)

    def finish(self) -> None:
        """What iterators still hold; taking it may show further iterators."""
        while self.later:
            e, a, where = self.later.pop(0)
            self.same(*(_drain(i) for i in (e, a)), f"rest of {where}")


def _drain(iterator) -> tuple:
    items: list = []
    try:
        for _ in range(DRAIN):
            items.append(next(iterator))
    except StopIteration as stop:
        return items, "returned", stop.value
    except Exception as error:
        return items, type(error).__name__, error.args
    return items, "goes on", None


def _is_near(e: np.ndarray, a: np.ndarray, tolerance: float) -> bool:
    """The same but for finite elements, which may be apart by a fraction of the largest of them."""
    finite = np.isfinite(e)
    x, y = e[finite], a[finite]
    return same_bits(e[~finite], a[~finite]) and (not x.size or bool(np.abs(x - y).max() <= tolerance * np.abs(x).max()))


def _has_content(cell) -> bool:
    try:
        cell.cell_contents
    except ValueError:
        return False
    return True


def _made_class(e: type, a: type) -> bool:
    """Two classes that the two runs made from the same statement."""
    return e.__qualname__ == a.__qualname__ and "<locals>" in e.__qualname__


def _address(x: np.ndarray) -> int:
    return x.__array_interface__["data"][0]


def _key(k):
    return (type(k).__name__, k) if isinstance(k, (int, float, str, bytes, tuple, frozenset, type(None))) else type(k).__name__


def _show(value) -> str:
    text = repr(value)
    return text if len(text) < 200 else text[:200] + "..."


def assert_same_observation(expected: Observation, actual: Observation, ulp: int | None = None,
                            relative: float | None = None, any_zero: bool = False) -> None:
    """Floats may be apart by `ulp` units in the last place, or by `relative` times the largest element of their array.
    Whether 0.0 and -0.0 are the same is for `any_zero` to say."""
    if expected.error is not None or actual.error is not None:
        assert type(expected.error) is type(actual.error) or _made_class(type(expected.error), type(actual.error)), (
            f"raised {actual.error!r} {_trace(actual.error)}, expected {expected.error!r} {_trace(expected.error)}")
    assert expected.output == actual.output, f"output {actual.output!r}, expected {expected.output!r}"
    assert expected.warned == actual.warned, f"warnings {actual.warned}, expected {expected.warned}"
    walk = _Walk(ulp, relative, any_zero)
    arguments, also = expected.roots
    walk.same(arguments, actual.roots[0], "arguments")
    walk.same(also, actual.roots[1], "state")
    walk.same(expected.result, actual.result, "result")
    walk.same(expected.error, actual.error, "error")
    walk.finish()


def _trace(error) -> str:
    return "".join(traceback.format_exception(error)[-4:]) if error is not None else ""
