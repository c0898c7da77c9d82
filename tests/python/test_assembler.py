"""The assembler: code objects survive being taken apart and put together, and being edited wherever editing is allowed.

CPython is the reference: what its compiler wrote must come out again byte for byte, and an edited function must behave
as the unedited one, its traceback positions included.
"""

import argparse
import ast
import asyncio.base_events
import asyncio.taskgroups
import collections
import contextlib
import copy
import dataclasses
import dis
import enum
import functools
import inspect
import json.decoder
import re
import statistics
import sys
import tarfile
import tokenize
import traceback
import types
import typing

import pytest

import _fw_assembler_test as t   # built by meson with the option tests; on PYTHONPATH
import corpus_control as corpus

MODULES = [argparse, ast, asyncio.base_events, asyncio.taskgroups, collections, contextlib, copy, dataclasses, dis,
           enum, functools, inspect, json.decoder, re, statistics, tarfile, tokenize, traceback, typing, corpus]
# The call through a lambda is there to give `arguments` its keywords.
FUNCTIONS = [fn for fn, _ in corpus.CASES] + [corpus.delegate, corpus.ticker, corpus.Base.method]
PY312 = sys.version_info >= (3, 12)


def codes(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


def module_codes(module):
    path = module.__file__
    with tokenize.open(path) as f:
        return codes(compile(f.read(), path, "exec"))


def is_function(code):
    return bool(code.co_flags & inspect.CO_OPTIMIZED)


def rebuilt(fn, code):
    new = types.FunctionType(code, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)
    new.__kwdefaults__ = fn.__kwdefaults__
    return new


def outcome(fn, args, log=None):
    """Result or exception of a call, with the positions in fn's own frames of the traceback."""
    args = tuple(list(a) if type(a) is list else a for a in args)
    frames = []
    try:
        result = fn(*args)
        if inspect.isgenerator(result) or inspect.iscoroutine(result):
            result = corpus.drive(result)
    except (Exception, SystemExit) as e:
        tb = e.__traceback__
        while tb:
            if tb.tb_frame.f_code is fn.__code__:
                frames.append(list(tb.tb_frame.f_code.co_positions())[tb.tb_lasti // 2])
            tb = tb.tb_next
        result = (type(e), str(e), type(e.__cause__), type(e.__context__))
    return result, frames, args


def traced_lines(fn, args):
    """What sys.settrace sees of the function's own frames: (event, line)."""
    seen = []

    def trace(frame, event, arg):
        if frame.f_code is fn.__code__:
            seen.append((event, frame.f_lineno))
            return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        outcome(fn, args)
    finally:
        sys.settrace(before)
    return seen


def same_behaviour(fn, calls, code):
    new = rebuilt(fn, code)
    for _ in range(3):
        for args in calls:
            want, got = outcome(fn, args), outcome(new, args)
            assert repr(got) == repr(want), (fn.__name__, args)


def case_id(case):
    return getattr(case[0], "__name__", "case")


cases = pytest.mark.parametrize("fn, calls", corpus.CASES, ids=map(case_id, corpus.CASES))


# ---- taking apart and putting together

@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__)
def test_round_trip_of_module(module):
    functions = refused = 0
    for code in module_codes(module):
        try:
            new = t.roundtrip(code)
        except SystemError as e:
            assert PY312 and not is_function(code) and "hidden" in str(e), code
            refused += 1
            continue
        functions += is_function(code)
        assert new.co_code == code.co_code, code
        assert list(new.co_positions()) == list(code.co_positions()), code
        assert list(new.co_lines()) == list(code.co_lines()), code
        assert new.co_exceptiontable == code.co_exceptiontable, code
        assert new.co_linetable == code.co_linetable, code
        assert new == code and new.co_stacksize <= code.co_stacksize, code
        for field in ("co_varnames", "co_cellvars", "co_freevars", "co_names", "co_flags", "co_qualname"):
            assert getattr(new, field) == getattr(code, field), (code, field)
    assert functions >= 3 and refused <= 3


def test_round_trip_of_used_code_is_unspecialised():
    code = corpus.nested_loops.__code__
    for _ in range(100):
        corpus.nested_loops(5, 6)
    with_caches = code._co_code_adaptive
    assert with_caches != code.co_code          # the interpreter did rewrite it
    assert t.roundtrip(code).co_code == code.co_code


@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda f: f.__qualname__)
def test_stack_size_is_the_compilers(fn):
    for code in codes(fn.__code__):
        assert t.stack_size(code) == code.co_stacksize


def test_handlers_and_units_are_those_of_dis():
    parse = dis._parse_exception_table
    for fn in FUNCTIONS:
        code = fn.__code__
        starts, extended = [], None
        for i in dis.get_instructions(code):
            extended = i.offset if extended is None else extended
            if i.opname != "EXTENDED_ARG":
                starts.append(extended)
                extended = None
        assert [2 * unit for *_, unit in t.instructions(code)] == starts
        index = {offset: k for k, offset in enumerate(starts)} | {len(code.co_code): len(starts)}
        want = [(index[e.start], index[e.end], index[e.target], e.depth, e.lasti) for e in parse(code)]
        assert t.handlers(code) == want
        assert not any(t.points(code)[target] for _, _, target, _, _ in want)


@cases
def test_reassembled_functions_behave(fn, calls):
    same_behaviour(fn, calls, t.roundtrip(fn.__code__))


@pytest.mark.parametrize("module", MODULES[:8], ids=lambda m: m.__name__)
def test_lowering_accepts_what_decoding_gives(module):
    lowered = 0
    for code in module_codes(module):
        try:
            new = t.relower(code)
            lowered += 1
        except SystemError as e:
            suspends = code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR)
            generator = "of a generator" in str(e) and suspends
            assert "without neutral form" in str(e) or "hidden" in str(e) or generator, (code, e)
            continue
        assert [x for x in dict.fromkeys(p[0] for p in new.co_positions()) if x] == [
            x for x in dict.fromkeys(p[0] for p in code.co_positions()) if x]
    assert lowered > 3


@cases
def test_lowered_functions_behave(fn, calls):
    """Decoded into neutral instructions and lowered again."""
    try:
        code = t.relower(fn.__code__)
    except SystemError as e:
        assert fn.__name__ in ("groups", "comprehensions", "matching", "generator", "coroutine"), e
        pytest.skip(str(e))
    same_behaviour(fn, calls, code)


@cases
def test_split_pairs(fn, calls):
    code = t.split_pairs(fn.__code__)
    assert not [i for i in dis.get_instructions(code) if i.opname.count("_FAST") == 2]
    same_behaviour(fn, calls, code)
    if sys.version_info < (3, 13):
        assert code == fn.__code__
    else:
        pairs = sum(i.opname.count("_FAST") == 2 for i in dis.get_instructions(fn.__code__))
        assert len(t.instructions(code)) == len(t.instructions(fn.__code__)) + pairs
        everywhere = [(i, [("NOP", 0, -1)], True) for i, allowed in enumerate(t.points(code)) if allowed]
        same_behaviour(fn, calls, t.insert(code, everywhere))


@cases
def test_split_pairs_are_joined_again(fn, calls):
    for code in codes(fn.__code__):
        assert t.rejoined_pairs(code) == code


# ---- insertion

def call_stub(callback):
    return [("CALLABLE", callback, -1), ("CALL", 0, -1), ("POP_TOP", 0, -1)]


def declining_stub(callback, inputs):
    """A compiled region's stub: call it; None: go on with the code behind."""
    load = [("LOAD_CONST", i, -1) for i in range(inputs)]
    head = [("CALLABLE", callback, -1), *load, ("CALL", inputs, -1), ("COPY", 1, -1)]
    accept = [("UNPACK_SEQUENCE", 2, -1), ("POP_TOP", 0, -1), ("POP_TOP", 0, -1)]
    rows = head + [("POP_JUMP_IF_NONE", 0, None)] + accept + [("JUMP", 0, None), ("POP_TOP", 0, -1)]
    failed = len(rows) - 1
    # CALLABLE becomes two instructions.
    targets = {"POP_JUMP_IF_NONE": inside(failed + 1), "JUMP": inside(failed + 2)}
    return [(name, arg, targets[name] if target is None else target) for name, arg, target in rows]


def inside(k):
    return -2 - k


def points(fn):
    return [i for i, allowed in enumerate(t.points(fn.__code__)) if allowed]


class Counter:
    def __init__(self, value=None):
        self.count, self.value = 0, value

    def __call__(self, *args):
        self.count += 1
        return self.value


SEQUENCES = {
    "nop": lambda counter: [("NOP", 0, -1)],
    "constant": lambda counter: [("LOAD_CONST", counter, -1), ("POP_TOP", 0, -1)],
    "call": call_stub,
    "stub": lambda counter: declining_stub(counter, 2),
}


@pytest.mark.parametrize("kind", SEQUENCES)
@cases
def test_insertion_before_every_instruction(fn, calls, kind):
    for i in points(fn):
        for enter in (True, False):
            counter = Counter()
            code = t.insert(fn.__code__, [(i, SEQUENCES[kind](counter), enter)])
            same_behaviour(fn, calls, code)


@pytest.mark.parametrize("enter", [True, False])
@cases
def test_insertion_everywhere_at_once(fn, calls, enter):
    for value in (None, (1, 2)):
        counter = Counter(value)
        code = t.insert(fn.__code__, [(i, declining_stub(counter, 3), enter) for i in points(fn)])
        assert [p for p in dict.fromkeys(code.co_positions())] == [p for p in dict.fromkeys(fn.__code__.co_positions())]
        same_behaviour(fn, calls, code)
        assert counter.count > 0 or not calls


def test_most_instructions_are_insertion_points():
    for fn in FUNCTIONS:
        allowed = t.points(fn.__code__)
        assert sum(allowed) >= 0.5 * len(allowed) or len(allowed) < 12, fn


def loop_header():
    names = {v: k for k, v in dis.opmap.items()}
    for i, (opcode, *_) in enumerate(t.instructions(corpus.nested_loops.__code__)):
        if names[opcode] == "FOR_ITER":
            return i


@pytest.mark.parametrize("enter, count", [(True, 6), (False, 1)])
def test_jumps_enter_as_the_flag_says(enter, count):
    counter = Counter()
    code = t.insert(corpus.nested_loops.__code__, [(loop_header(), call_stub(counter), enter)])
    assert rebuilt(corpus.nested_loops, code)(5, 6) == corpus.nested_loops(5, 6)
    assert counter.count == count


def test_several_insertions_at_one_place():
    first, second, third = Counter(), Counter(), Counter()
    code = t.insert(corpus.nested_loops.__code__, [
        (loop_header(), call_stub(first), False), (loop_header(), call_stub(second), True),
        (loop_header(), call_stub(third), False)])
    assert rebuilt(corpus.nested_loops, code)(5, 6) == corpus.nested_loops(5, 6)
    assert (first.count, second.count, third.count) == (1, 6, 6)   # the back edge enters at the second


def skipped(a):
    x = a + 1
    y = x * 2
    return x, y, a


def test_accepting_stub_replaces_a_region():
    """The region computes x and y; the stub stores other values and jumps behind it."""
    names = {v: k for k, v in dis.opmap.items()}
    instructions = t.instructions(skipped.__code__)
    start = next(i for i, x in enumerate(instructions) if names[x[0]] == "RESUME") + 1
    # The last store gets y from the stack (3.13 joins it with the load of x), so the stub leaves y there.
    end = [i for i, x in enumerate(instructions) if names[x[0]].startswith("STORE_FAST")][-1]
    for value, want in ((None, (4, 8, 3)), ((10, 20), (10, 20, 3))):
        kernel = Counter(value)
        rows = [("CALLABLE", kernel, -1), ("LOAD_FAST", 0, -1), ("CALL", 1, -1), ("COPY", 1, -1),
                ("POP_JUMP_IF_NONE", 0, inside(9)), ("UNPACK_SEQUENCE", 2, -1), ("STORE_FAST", 1, -1), ("JUMP", 0, end),
                ("POP_TOP", 0, -1)]
        new = rebuilt(skipped, t.insert(skipped.__code__, [(start, rows, True)]))
        assert new(3) == want and kernel.count == 1


def failing():
    try:
        x = 1
    except corpus.Boom:
        return "caught"
    return x


def test_inserted_code_has_the_handler_of_what_follows():
    (start, end, *_), *_ = t.handlers(failing.__code__)
    caught = []
    for i in points(failing):
        new = rebuilt(failing, t.insert(failing.__code__, [(i, call_stub(corpus.boom), True)]))
        try:
            caught.append((i, new()))
        except corpus.Boom:
            caught.append((i, "raised"))
    assert (start, "caught") in caught
    for i, got in caught:
        if i >= end:
            assert got in ("raised", 1)
        elif start <= i:
            assert got == "caught"


def test_jumps_grow():
    """Enough code before every instruction that all jumps need EXTENDED_ARG."""
    for fn, calls in corpus.CASES:
        code = t.insert(fn.__code__, [(i, [("NOP", 0, -1)] * 60, i % 2 == 0) for i in points(fn)])
        assert len(code.co_code) > 60 * len(points(fn)) * 2
        same_behaviour(fn, calls, code)
    fn = corpus.nested_loops
    code = t.insert(fn.__code__, [(i, [("NOP", 0, -1)] * 3000, True) for i in points(fn)])
    same_behaviour(fn, [(5, 6)], code)
    assert t.roundtrip(code) == code


def test_many_constants():
    constants = [object() for _ in range(70000)]
    rows = [row for c in constants for row in (("LOAD_CONST", c, -1), ("POP_TOP", 0, -1))][-40:]
    everything = [("LOAD_CONST", c, -1) for c in constants[:600]] + [("BUILD_LIST", 600, -1), ("POP_TOP", 0, -1)]
    fn = corpus.nested_loops
    code = t.insert(fn.__code__, [(points(fn)[3], everything + rows, True)])
    assert code.co_stacksize >= 600
    same_behaviour(fn, [(5, 6)], code)


def test_tracing_sees_the_same_lines():
    for fn, args in ((corpus.nested_loops, (5, 6)), (corpus.try_in_loop, (11,)), (corpus.while_else, (12,))):
        want = traced_lines(fn, args)
        assert len(want) > 10
        code = t.insert(fn.__code__, [(i, [("NOP", 0, -1)], True) for i in points(fn)])
        assert traced_lines(rebuilt(fn, code), args) == want


# ---- what is refused

def refuse(fn, insertions, message):
    with pytest.raises(SystemError, match=message):
        t.insert(fn.__code__, insertions)


def test_refusals():
    fn = corpus.nested_loops
    at = points(fn)[1]
    refuse(fn, [(0, [("NOP", 0, -1)], True)], "no code may be inserted")
    refuse(fn, [(-1, [("NOP", 0, -1)], True)], "no code may be inserted")
    refuse(fn, [(len(t.instructions(fn.__code__)), [("NOP", 0, -1)], True)], "no code may be inserted")
    refuse(fn, [(at, [("LOAD_CONST", 1, -1)], True)], "as it found it")
    refuse(fn, [(at, [("POP_TOP", 0, -1)], True)], "as it found it|takes more")
    refuse(fn, [(at, [("JUMP", 0, -1)], True)], "jump without target")
    refuse(fn, [(at, [("JUMP", 0, 10**6)], True)], "target")
    refuse(fn, [(at, [("JUMP", 0, inside(7))], True)], "target")
    refuse(fn, [(at, [("JUMP", 0, loop_header() + 1)], True)], "takes more|different stack depths")
    refuse(fn, [(at, [("END_FOR", 0, -1)], True)], "takes more|version does not have")
    refuse(fn, [(at, [("UNSUPPORTED", 0, -1)], True)], "neutral form")
    with pytest.raises(TypeError):
        t.roundtrip(fn)


@pytest.mark.skipif(not PY312, reason="3.11 has conditional jumps in both directions")
def test_conditional_jumps_back_are_refused():
    fn = corpus.nested_loops
    refuse(fn, [(points(fn)[1], [("LOAD_CONST", True, -1), ("POP_JUMP_IF_FALSE", 0, points(fn)[1])], True)],
           "direction")


@pytest.mark.skipif(not PY312, reason="comprehensions are functions in 3.11")
def test_hidden_variables_are_refused():
    with pytest.raises(SystemError, match="hidden"):
        t.roundtrip(compile("[i for i in range(3)]", "m", "exec"))


def test_nothing_leaks():
    fn = corpus.try_all
    marker = object()
    before = sys.getrefcount(marker)
    for _ in range(50):
        t.insert(fn.__code__, [(i, [("LOAD_CONST", marker, -1), ("POP_TOP", 0, -1)], True) for i in points(fn)])
        with pytest.raises(SystemError):
            t.insert(fn.__code__, [(0, [("LOAD_CONST", marker, -1)], True)])
    assert sys.getrefcount(marker) == before
