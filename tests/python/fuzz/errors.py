"""Floating-point errors, warnings filters, and exceptions half-way.

Which warning, error or call of a handler comes, how often, at which line, and what has been written by then. `main` is plain
Python and sets the error state and the filters that `f` meets. Four kinds of programs: one or two operations that may report
and nothing else that could keep a call from compiled code; updates in place, whose warnings compiled code gives by itself;
anything, where `f` changes state and filters again; and focused ones, a few statements about one thing that may be reported,
whose calls differ in that thing and in one part of the state only.
"""

from __future__ import annotations

import random
import re

import numpy as np

from fuzz.draft import Draft, filled, working
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

class Base(Exception):
    pass

class Mine(Base):
    pass

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

# Of focused programs. {t}: an array; {k}: a number; {r}: an operation that may report; {c}, {d}: constants; {u}: a new name
FOCUS_PARTS = {
    "r": ["{t} / {k}", "{k} / {t}", "{t} / {t}", "x / y", "y / x", "x * {k}", "x * y", "x * x", "np.sqrt({t})", "x - y", "({t} + {t}) * {k}", "{t} * 1e200 * {k}", "np.square({t})", "{t} / {k} + {t}", "np.log({t})"],
    "t": ["x", "x", "y"], "k": ["k", "k", "2", "0.5", "x[0]", "y[-1]", "1e200"], "o": ["+", "-", "*", "/", "*", "/"], "p": ["+", "-", "*", "*"], "i": ["//", "%"], "e": ["ValueError", "IndexError", "Mine", "FloatingPointError"],
    "v": ["k", "{t} * k", "{t} * k * {t}", "-{t} * {t}", "{t} * {t} * {t}", "{t} * {t} - k * {t}", "{t} * k - {t} * {t}", "({t} - 1) * ({t} - k)", "k * {t} - {t} * {t}", "{t} * 1e-200 * k", "{t} * {t} + k", "{t} * {n} - {t}", "({t} + {t}) * {t}", "{t} * {t} * k"],
    "c": ["np.float64({n})", "np.float64({n})", "np.float32({n})", "np.float64({n})", "np.full(3, {n})", "np.full(3, {n}, 'f4')"], "n": ["0.0", "-0.0", "1.0", "2.5", "-3.0", "1e300", "1e-300", "1e-200", "1e30", "1e-30", "-1.0", "1e300", "1e-300", "300.0", "1e10", "-1e-200"],
    "h": ["np.float16({m})", "np.full(3, {m}, 'f2')", "np.full(3, np.float16({m}))"], "m": ["60000", "40000", "2", "6e-5", "1e-7", "0.001", "-50000", "0", "1000"],
    "d": ["np.{j}({w})", "np.full(3, {w}, '{j}')", "np.full(3, np.{j}({w}))"], "w": ["0", "0", "-1", "1", "7", "2", "np.iinfo('{j}').min", "np.iinfo('{j}').min", "np.iinfo('{j}').max"],
    "s": ["({k} / y[-1])", "(y[-1] / {k})", "np.sqrt(y[-1])", "(y[-1] * 1e200)", "np.float64({k}) / y[-1]", "(y[-1] * y[-1])", "(y[-1] - y[0])", "(y[0] / y[-1] + {k})", "np.log(y[-1])"],
    "z": ["y[-1:] / {k}", "{k} / y", "y / y", "np.sqrt(y)", "y * y", "y * {k}", "np.log(y)", "y - {k}", "y[:1] / {k}"],
}
FOCUS_PARTS["b"] = ["np.where({q}, 0.0, 2.0)", "np.where({q}, -1.0, 4.0)", "np.where({q}, 1e200, 1.0)", "np.where({q}, 1e-200, 3.0)", "np.where({q}, np.inf, 1.0)", "np.where({q}, x, 0.0)", "np.where({q}, 1.0, x)", "np.where({q}, {k}, 0.0)"]
FOCUS_PARTS["q"] = ["x > 0", "x > y", "x > {k}", "x < {k}", "x == x", "y != 0"]
# Name: statements, types, shapes, what stands in some of the arguments, kinds of states
FOCI = {
    "large updates": (["{t} {p}= {v}", "{t} {p}= {v}", "{t} {p}= {v}", "{t}[...] = {v}", "{t}[...] = {v}", "{t}[1:] {p}= {t}[1:] * k", "np.multiply({t}, k, {t})"],
                      ["f8", "f8", "f4"], ["(5000,)", "(9000,)", "(9000,)", "(90, 120)", "(20000,)"], ["1e300", "-1e300", "1e-300", "1e30", "1e-30", "np.inf", "1e300", "1e-300", "-np.inf"]),
    "constants": (["{u} = {c} {o} {c}", "{u} = {h} {o} {h}", "{u} = x {o} ({c} {o} {c})", "{u} = np.sqrt({c})", "{u} = ({c} {o} {c}) {o} {c}", "{u} = ({c}).astype('f4')", "{u} = np.square({h})", "{u} = np.float32({n}) {o} np.float32({n})",
                   "{u} = np.reciprocal({c})", "{u} = {c} % {c}", "{u} = {c} // {c}", "{u} = np.maximum({c}, {c})", "{u} = x {o} ({h} {o} {h})", "{u} = np.float16({n}) {o} x", "{u} = np.fmod({c}, {c})", "{c} {o} {c}", "{u} = np.float64({n}) * np.float64({n})", "{u} = np.multiply({n}, {n})", "{u} = np.divide({n}, {n})",
                   "{u} = np.float64({n}).astype('{g}')", "{u} = {c}.astype('{g}')", "{u} = np.float64({n}).astype('{g}') + 1", "{u} = np.float64({n}).astype('{gi}')", "{u} = x + np.float64({n}).astype('{gi}')",
                   "{u} = np.full(3, {n}).astype('{gi}')"],
                  ["f8", "f4", "f2"], ["(3,)", "(1,)", "(2, 3)"], ["1", "2"]),
    "whole constants": (["{u} = {d} {i} {d}", "{u} = np.floor_divide({d}, {d})", "{u} = np.remainder({d}, {d})", "{u} = x + np.floor_divide({w}, {w})", "{d} {i} {d}", "{u} = np.floor_divide({w}, {w})", "{u} = np.remainder({w}, {w})", "{u} = np.floor_divide(np.{j}({w}), np.{j}({w}))", "{u} = np.remainder(np.{j}({w}), np.{j}({w})) + x", "{u} = x {i} {d}", "{u} = ({d} {i} {d}) + x"], ["i8", "i4", "i1", "u1", "i2", "u8"], ["(3,)", "(2, 3)", "()"], ["0", "-1"]),
    "whole numbers": (["{u} = x {i} y", "{u} = x {i} -1", "x {i}= y", "y {i}= x", "{u} = x {i} y[-1]", "{u} = x[0] {i} y", "{u} = np.floor_divide(x, y)", "{u} = np.divmod(x, y)[0]", "{u} = x {i} k", "{u} = -(x {i} y)", "{u} = x // y + x % y",
                       "x[1:] {i}= y[1:]", "{u} = (x {i} y).sum()", "{u} = x[0] {i} y[0]", "{u} = np.remainder(x, y)"], ["i8", "i4", "i1", "i2", "u1", "i8", "i4"], ["(3,)", "(9,)", "(1,)", "(2, 3)", "(33,)"],
                      ["0", "-1", "np.iinfo(x.dtype).min", "np.iinfo(x.dtype).min", "0", "-1", "-1"]),
    "choices": (["{u} = {b} {o} {k}", "{u} = {k} {o} {b}", "{u} = x {o} {b}", "{u} = {b} {o} {b}", "{u} = np.sqrt({b})", "{u} = {b} * 1e200", "x {o}= {b}", "{u} = 1 / {b}", "{u} = ({b} {o} {k}).sum()", "{u} = np.where({q}, {r}, 0.0)",
                 "{u} = np.where({q}, {r}, {t})", "{u} = np.square({b})", "{u} = np.where({q}, {k}, {r})", "{u} = {b} {o} np.float64({n})"], ["f8", "f8", "f4"], ["(3,)", "(9,)", "(17,)", "(33,)", "()"], ["0", "-1", "1e300", "1e-300", "-0.0", "np.inf"]),
    "nothing": (["{u} = x * {s}", "{u} = x {o} {s}", "{u} = x[5:] {o} {s}", "{u} = x[:0] {o} {s}", "{u} = np.full(len(x), {s})", "x[...] = {s}", "x {o}= {s}", "{u} = np.zeros(0) {o} {s}", "{u} = (x {o} {s}).sum()", "{u} = np.where(x > 0, {s}, x)"],
                ["f8", "f8", "f4"], ["(0,)", "(3,)", "(9,)", "(0, 3)", "(3, 0)"], ["0", "-1", "1e300", "1e-310", "1", "0", "1e200"]),
    "rows": (["{u} = x {o} ({z})", "{u} = ({z}) {o} x", "{u} = (x {o} ({z})).sum({ax})", "{u} = x + ({z}) * x", "{u} = (x {o} ({z})).max(initial=0)", "{u} = x {o} ({z})[:, None][:1]", "{u} = np.where(x > 0, {z}, x)"],
             ["f8", "f8", "f4"], ["(0, 3)", "(3, 3)", "(2, 3)"], ["0", "-1", "1e300", "1e-310", "0", "1e200"]),
    "unneeded": (["{u} = np.abs({r}) < 0", "{u} = np.where({q}, {r}, {r})", "{u} = np.where({r} > k, 1, 1)", "{u} = ({r} > k) & False", "{u} = ({r} > k) | True", "{r}", "{u} = {r}", "{u} = ({r})[:1]", "{u} = ({r})[:0]", "{u} = len({r})",
                  "{u} = np.where(x == x, x, {r})", "{u} = np.isnan({r}) & (x != x)", "{u} = ({r}) ** 0", "{u} = ({r}) * 0", "{u} = np.signbit(np.abs({r}))", "{u} = np.isfinite({r}) | True", "{u} = {r}; {u} = {r}", "x[:0] = ({r})[:0]",
                  "{u} = np.where(False, {r}, {t})", "{u} = np.minimum(np.abs({r}), -1)", "{u} = ({r}).astype('?') | True", "{u} = np.sqrt({r}) >= 0", "{u} = np.where({q}, {r}, {r}) * 0", "{u} = {r} if len(x) > 99 else {r}"],
                 ["f8", "f8", "f4", "f2"], ["(3,)", "(9,)", "(17,)", "(33,)", "(1,)"], ["0", "-1", "1e300", "1e-310", "np.inf", "1e200"]),
    "states": (["{u} = {r}", "with np.errstate({state}): {u} = {r}", "with np.errstate({state}): {u} = {r}; {u} = {r}", "with np.errstate({state}): {r}", "with np.errstate({states}): x[...] = {r}", "log.append(np.geterr()['over'])",
                "with np.errstate({state}):\n    {u} = {r}\n    with np.errstate({state}): {u} = {r}", "x {o}= {k}", "y[...] = {r}"], ["f8", "f8", "f4", "f2"], ["(3,)", "(9,)", "(33,)"], ["0", "-1", "1e300", "1e-310", "np.inf", "1e200", "1e-200"]),
    "casts": (["{u} = {t}.astype('{g}')", "{u} = {t}.astype('{g}') {o} 2", "y[...] = x", "{u} = np.asarray({t}, '{g}')", "{u} = ({t} {o} 2).astype('{g}')", "{u} = np.{j}({t}[-1])", "{u} = np.float32({t}[-1])", "{u} = np.add({t}, 1, dtype='{g}', casting='unsafe')",
               "{u} = np.float16({t}[-1])", "{u} = np.full(2, {t}[-1], '{g}')"], ["f8", "f8", "f4", "f2", "c16", "i4"], ["(3,)", "(9,)", "(33,)", "()", "(1,)"], ["70000", "1e39", "-1e39", "1e-40", "np.nan", "np.inf", "2**31", "-1", "1e19", "300", "1e-8", "65519", "65520"]),
    "complex": (["{u} = x {less} y", "{u} = x {less} {k}", "{u} = np.maximum(x, y)", "{u} = x.max()", "{u} = {r}", "{u} = x / y", "{u} = x * y", "{u} = np.abs(x)", "{u} = x - y", "{u} = np.where(x {less} y, x, y)", "{u} = np.sqrt(x)", "{u} = np.square(x)",
                 "{u} = x.astype('c8')", "{u} = np.reciprocal(x)", "x {o}= y", "{u} = np.minimum(x, {k})", "{u} = x.argmax()"], ["c16", "c8"], ["(3,)", "(9,)", "(17,)", "()"],
                ["np.nan", "np.inf", "0", "complex(0, np.nan)", "complex(np.inf, 1)", "1e300", "1e-300", "complex(1e200, 1e200)", "complex(np.nan, 0)"]),
    "exceptions": (["try:\n    {f}\nexcept {x}{as}:\n    {l}", "try:\n    {f}\nexcept {x}:\n    {l}\nexcept Exception as err:\n    log.append(str(err))", "try:\n    {f}\nexcept ({x}, {x}):\n    {l}\nfinally:\n    log.append('end')",
                    "try:\n    try:\n        {f}\n    except {x}:\n        {l}\nexcept {x}:\n    {l}", "{u} = {r}"], ["f8"], ["(3,)", "(1,)"], ["1", "0"]),
}
FOCUS_PARTS |= {
    "state": ["{kind}={mode}"], "states": ["{kind}={mode}, {kind}={mode}"], "kind": KINDS, "mode": [repr(state) for state in STATES],
    "ax": ["", "0", "-1", "1"], "less": ["<", ">", "<=", ">=", "==", "!="], "gi": ["i4", "i1", "u1", "i8", "u8", "i2"], "g": ["f4", "f2", "f4", "f2", "i4", "i1", "u1", "?", "c8", "i8", "u8"], "as": ["", " as err"], "x": ["Exception", "Exception", "Exception", "ValueError", "LookupError", "ArithmeticError", "IndexError", "Base", "Mine", "KeyError", "RuntimeError", "ZeroDivisionError"],
    "l": ["log.append('caught')", "{u} = {t} + 1", "x[0] = 7", "log.append(k)", "raise", "raise KeyError(k)", "k = k + 1"],
    "f": ["raise ValueError('here')", "raise Mine(k)", "raise Base", "check(x, 3)", "check(x, k)", "log[99]", "{u} = (1, 2)[k]", "{u} = [x, y][7]", "raise IndexError(k)", "{u} = {'a': x}['b']", "{u} = 1 // (k - k)", "{u} = 1 / 0", "{u} = int('a')", "raise OverflowError"],
}

# What is changed between the calls of one program
CHANGES = [
    ["np.seterr({kind}={mode})", "np.seterr({kind}={mode})", "np.seterrcall(handler); np.seterr({kind}='call')", "np.seterrcall(failing); np.seterr({kind}='call')", "np.seterr({kind}={mode}, {other}={mode})"],
    ["np.seterr({kind}={mode})", "np.seterr({kind}={mode})", "np.seterr(all={mode})", "np.seterr(all={mode})"],
    ["warnings.simplefilter('{action}')", "warnings.simplefilter('{action}', RuntimeWarning)", "warnings.filterwarnings('{action}', '.*divide.*')", "warnings.simplefilter('{action}', UserWarning)", "warnings.filterwarnings('{action}', module='fuzzed')",
     "warnings.filterwarnings('{action}', module='other')", f"warnings.filterwarnings('{{action}}', lineno={BODY})", "warnings.filterwarnings('{action}', module='fuzzed')"],
    ["warnings.showwarning = show", "warnings.showwarning = strict", "warnings.showwarning = strict", "warnings.simplefilter('{action}')"],
    ["warnings.resetwarnings()", "warnings.resetwarnings(); warnings.defaultaction = '{action}'", "warnings.resetwarnings(); warnings.defaultaction = 'error'", "warnings.resetwarnings(); warnings.simplefilter('{action}')"],
]


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


class _Focused:
    def __init__(self, r: random.Random):
        self.r = r
        self.focus = r.choices(list(FOCI), [8 if name == "large updates" else 2 if name in ("constants", "whole constants", "rows", "exceptions", "complex", "nothing") else 1 for name in FOCI])[0]
        self.statements, dtypes, shapes, self.plants = FOCI[self.focus]
        self.dtype, self.shape = r.choice(dtypes), r.choice(shapes)
        self.shapes = [self.shape] + (r.choices(shapes, k=2) if r.random() < 0.3 or self.focus in ("nothing", "rows") else [])
        self.row, self.large = self.focus in ("nothing", "rows"), self.focus == "large updates"
        self.positive = np.dtype(self.dtype).kind in "iuf" and r.random() < 0.8
        self.numbers = r.choice([["2.0"], ["2.0", "1e200"], ["0.5", "0.0"], ["1e-200"], ["2"], ["0", "3"]] if self.focus != "exceptions" else [["0", "3"], ["1", "2"]])

    def fill(self, form: str) -> str:
        return filled(form, self.part)

    def part(self, word: str) -> str:
        if word == "j":
            return np.dtype(self.dtype).name
        return self.draft.new("t") if word == "u" else self.r.choice(FOCUS_PARTS[word])

    def statement(self) -> str:
        form = self.r.choice(self.statements)
        if self.large:   # each array by itself: nothing but its update is left to the end
            form = re.sub(r"\{v\}", lambda _: self.part("v"), form).replace("{t}", self.r.choice("xy"))
        return self.fill(form)

    def arguments(self, plants: int) -> str:
        r = self.r
        lines = []
        shape = r.choice(self.shapes)
        for name in "xy":
            array = f"numbers({'(3,)' if self.row and name == 'y' else shape}, {self.dtype!r}, {r.randrange(50)})"
            lines.append(f"{name} = " + (f"np.asarray(np.abs({array}) + 1, {self.dtype!r})" if self.positive else array))
        for place, plant in zip(r.sample(["-1", "0", "7"] if self.large else ["-1", "0"], plants), r.sample(self.plants, plants)):
            for name in "xy" if self.large else r.choice("yyyx" if self.row else "xy"):
                lines.append(f"if {name}.size: {name}.flat[{place}] = np.asarray({plant}).astype({self.dtype!r})")
        return "\n".join([*lines, f"arguments = (x, y, {r.choice(self.numbers)})"])

    def states(self) -> list[str]:
        r = self.r
        forms = r.choice(CHANGES)
        base = r.choice(["", "", "np.seterr(all='warn'); ", "np.seterr(under='warn'); ", "np.seterr(under='warn'); "])
        kind, other = r.sample(["all", "divide", "over", "under", "invalid"], 2)
        words = {"kind": kind, "other": other}
        made = ["pass"]
        for _ in range(r.randint(2, 4)):
            words |= {"mode": repr(r.choice(STATES)), "action": r.choice(ACTIONS)}
            made.append(r.choice(forms).format(**words))
        return [base + state for state in made]

    def suites(self) -> list[str]:
        r = self.r
        states = self.states()
        arguments = [working(lambda: self.arguments(count), HEAD) for count in ((0, 1, 2, 2) if self.large else (0, 1, 1, 2))]
        made = [(arguments[0], states[0]), (arguments[1], states[0])] + [(r.choice(arguments), r.choice(states)) for _ in range(r.randint(4, 7))]
        return [f"{given}\ndef around():\n    {state}" for given, state in made]


def _focused(r: random.Random) -> Program:
    generator = _Focused(r)
    suites = generator.suites()
    draft = generator.draft = Draft(r, HEAD, suites[0], "x, y, k", wild=True, largest=50_000)
    for _ in range(r.randint(1, 3)):
        any(draft.try_statement(generator.statement()) for _ in range(8))
    return _finished(r, draft, suites)


def program(r: random.Random) -> Program:
    if r.random() < 0.5:
        return _focused(r)
    kind = r.choice(["anything", "calm", "calm", "updates"])
    generator = _Generator(r) if kind == "anything" else _Calm(r, kind == "updates")
    dtype = r.choice(["f8", "f8", "f4"] if kind == "updates" else DTYPES)
    draft = generator.draft = Draft(r, HEAD, f"x = numbers((3,), {dtype!r}, 1)\ny = numbers((3,), {dtype!r}, 2)\narguments = (x, y, 2)", "x, y, k", wild=True)
    for _ in range(r.randint(2, 6) if kind == "anything" else r.randint(1, 3)):
        for _ in range(5):
            if draft.try_statement("\n".join(generator.block(0, 1)), keep_error=kind == "anything" and r.random() < 0.08):
                break
    suites = _calm_suites(r, generator, dtype) if kind != "anything" else [working(lambda: _suite(r, generator, dtype if r.random() < 0.8 else r.choice(DTYPES))) for _ in range(r.randint(2, 5))]
    return _finished(r, draft, [suites[0], *suites, *r.sample(suites, len(suites))] if kind == "anything" else suites)


def _finished(r: random.Random, draft: Draft, suites: list[str]) -> Program:
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
    rough = "**" in source or any(f"{name}(" in source for name in APPROXIMATE.values())   # right to the last places only
    return Program(source, tuple(suites), ("log", "x"), 1e-4 if rough else None)


def _is_conditional(name: str, lines: list[str]) -> bool:
    return all(f"{name} = " not in line for statement in lines for line in statement.split("\n") if not line.startswith(" "))
