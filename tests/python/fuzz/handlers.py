"""Exceptions that data decides about, and their handlers: programs of other generators of programs, in whose loops some statements may raise,
stand in a `try`, and are handled there, farther out, in a called function or nowhere. Calls are many: compiled code leaves those that raise to
Python before it handles them itself.
"""

from __future__ import annotations

import random
import re

from fuzz import keyed, loops, stacks
from fuzz.program import Program

HELPERS = """
import math
TABLE = [1.0, 2.0, 4.0]
NAMED = {0: 1.0, 2: 0.25, 5: 3.0}
seen = [0]

class Low(ValueError):
    pass

def inverse(v):
    return 1.0 / v

def checked(v, least):
    if v < least:
        raise Low('low')
    return v

def guarded(v):
    try:
        return 1.0 / v
    except ZeroDivisionError:
        return -1.0

def counted(v):
    seen[0] += 1
    if v > 4:
        raise ValueError('high')
    return v

def marked(v, marks):
    if v > 3:
        marks.append(v)
        raise IndexError
    return v

def searched(v):
    for w in TABLE:
        if w > v:
            return w
    raise LookupError
"""
#: {d}: a small int that data decides, {f}: a float
RISKY = ["{a} += 1 / {d}", "{a} += 7 // {d}", "{a} += {d} % ({d} - 1)", "{a} += TABLE[{d}]", "{a} += TABLE[{d} - 4]", "{a} += NAMED[{d}]", "{a} += math.sqrt({f})", "{a} += math.log({f})", "{a} += inverse({d})",
         "{a} += checked({f}, 0.2)", "{a} += checked({d}, 2)", "{a} += guarded({d})", "{a} += counted({d})", "{a} += marked({d}, marks)", "{a} += x[{d} * 20]", "{a} += int(1.0 / {d})", "{a} += NAMED[{d}] / TABLE[{d}]",
         "{a} += marks.pop()", "{a} += marks.index({d})", "{a} += math.exp(float(x[i]) * 400)", "if {f} > 0.6:\n    raise ValueError('here')\n{a} += 1", "if {d} == 1:\n    raise Low\n{a} += {d}", "{a} += searched({d})",
         "assert {d} != 2\n{a} += {d}", "{a} += inverse({d}) + inverse({d} - 1)", "marks.remove({d})", "found = {d}\n{a} += 1 / found\nfound += 1"]
CAUGHT = ["ZeroDivisionError", "ValueError", "IndexError", "KeyError", "LookupError", "Exception", "ArithmeticError", "(ZeroDivisionError, KeyError)", "(ValueError, LookupError, ArithmeticError)", "", "OverflowError", "Low",
          "AssertionError", "Exception", "Exception", "Exception as error"]
HANDLED = ["{a} -= 1", "pass", "{a} += 0.5\nmarks.append({d})", "continue", "break", "{a} = 0", "found = -1", "x[{d}] = {f}", "if {f} > 0.5:\n    {a} += 2", "marks.append({d})", "{a} += guarded({d})", "raise", "return {a}, marks"]
BEHIND = ["", "", "", "else:\n    {a} += 0.25", "finally:\n    found += 1", "else:\n    marks.append({d})\nfinally:\n    {a} += 1"]
LINE = re.compile(r"^( +)for i in range\([^\n]*\):$", re.M)


def program(r: random.Random) -> Program:
    base = r.choice((loops, stacks, keyed)).program(r)

    def filled(text: str) -> str:
        while "{" in text:
            text = text.replace("{a}", r.choice(["total", "total", "high"]), 1).replace("{f}", r.choice(["float(x[i])", "(float(x[i]) - 0.4)", "total * 0.01"]), 1)
            text = text.replace("{d}", r.choice(["int(x[i]) % 4", "(i % 3)", "(i + int(x[i])) % 6", "int(x[i] * 5) % 5", "len(marks) % 5"]), 1)
        return text

    def tried(indent: str, depth: int) -> str:
        inside = filled(r.choice(RISKY))
        if depth < 2 and r.random() < 0.2:
            inside += "\n" + tried("", depth + 1).strip("\n")
        if r.random() < 0.1:
            inside = "with np.errstate(all='ignore'):\n" + "\n".join("    " + line for line in inside.split("\n"))
        lines = ["try:", *("    " + line for line in inside.split("\n"))]
        for caught in [*r.sample(CAUGHT[:-3], r.choice([0, 1, 1, 2])), *r.choice([[], ["Exception"], ["Exception as error"]])] or [""]:
            if caught or lines[-1] != "except:":
                lines += [f"except {caught}:".replace(" :", ":"), *("    " + line for line in filled(r.choice(HANDLED)).split("\n"))]
            if not caught:
                break
        lines += [line for line in filled(r.choice(BEHIND)).split("\n") if line]
        return "".join(f"{indent}{line}\n" for line in lines)

    def statements(loop: re.Match) -> str:
        indent = loop.group(1) + "    "
        text = "".join(tried(indent, 0) for _ in range(r.choice([1, 1, 2])))
        return f"{loop.group(0)}\n" + text.rstrip("\n")

    source = LINE.sub(statements, base.source)
    if source == base.source or r.random() < 0.4:
        loop = "    for i in range(len(x)):\n" + "".join(tried("        ", 0) for _ in range(r.choice([1, 1, 2])))
        source = re.sub(r"\n    return [^\n]*$", lambda end: "\n" + loop.rstrip("\n") + end.group(0), source.rstrip("\n")) + "\n"
    source = re.sub(r"(\ndef f\([^\n]*\n)", lambda head: HELPERS + head.group(1) + "    total = high = 0.0\n    found, marks = 0, [1, 2]\n", source, count=1)
    source = re.sub(r"\n    return ([^\n]*)$", r"\n    return \1, total, high, found, marks", source.rstrip("\n")) + "\n"
    return Program(source, base.calls * 5, (*base.watch, "seen"), tolerance=base.tolerance or 1e-9)
