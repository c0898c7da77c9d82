"""mode="verify": every call runs compiled and as Python, on arguments of its own each; what they do is compared."""

from __future__ import annotations

import functools
import json
import re
import warnings

from fusewire import _fusewire
from fusewire._copies import copy_arguments, difference
from fusewire._errors import GraphBreakError, RecompileError, VerificationError
from fusewire._reproduce import Pickled, write_reproducer

_ULP_OPS = frozenset(row["name"] for row in _fusewire.ops() if row["contract"] == "ulp")


# What a reproducer does with `function`, `args` and `kwargs`.
_COMPARE = """\
from fusewire._copies import copy_arguments, difference

for _ in range(2):
    expected, actual = copy_arguments(args, kwargs), copy_arguments(args, kwargs)
    expected_result = {function}(*expected[0], **expected[1])
    actual_result = fusewire.compile({function})(*actual[0], **actual[1])
    print(difference((expected_result, expected), (actual_result, actual), exact=True) or "no difference")
"""


def verified(compiled, folder: str = ""):
    """A function that calls ``compiled`` on copies and the function behind it on the arguments themselves.

    The caller gets what Python gives. Side effects other than on arguments happen twice.
    """
    plain = compiled.__wrapped__

    @functools.wraps(plain)
    def verify(*args, **kwargs):
        try:
            ours = copy_arguments(args, kwargs)
            kept = copy_arguments(args, kwargs)
        except Exception as error:  # what cannot be copied cannot be run twice
            _fusewire.emit_event(
                "graph_breaks",
                "not_verified",
                f"{plain.__qualname__}: not verified: arguments cannot be copied: {error}",
                json.dumps({"function": plain.__qualname__}),
                True,
            )
            return plain(*args, **kwargs)
        with warnings.catch_warnings(record=True):  # those of the second run are the user's
            actual = _outcome(compiled, *ours)
        if isinstance(actual, (GraphBreakError, RecompileError)):  # asked for, in place of the call
            raise actual
        expected = _outcome(plain, args, kwargs)
        problem = _compare(expected, actual, (args, kwargs), ours, _is_exact(compiled))
        if problem:
            message = f"{plain.__qualname__}: compiled code and Python differ: {problem}"
            path = write_reproducer(plain, *kept, message, _COMPARE, Pickled(), folder)
            _fusewire.emit_event(
                "graph_breaks",
                "verify_mismatch",
                message,
                json.dumps({"function": plain.__qualname__, "reproducer": path}),
                False,
            )
            raise VerificationError(message, path)
        if isinstance(expected, BaseException):
            raise expected
        return expected

    verify.__fusewire_compiled__ = compiled
    return verify


def _outcome(function, args, kwargs):
    """What it returns, or the exception it raises."""
    try:
        return function(*args, **kwargs)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        return error


def _compare(expected, actual, theirs, ours, exact: bool) -> str | None:
    if isinstance(expected, BaseException) or isinstance(actual, BaseException):
        if type(expected) is not type(actual) or str(expected) != str(actual):
            return f"it {_told(actual)}, Python {_told(expected)}"
    elif problem := difference(expected, actual, exact):
        return problem
    args = difference(theirs[0], ours[0], exact, "args")
    return args or difference(theirs[1], ours[1], exact, "kwargs")


def _told(outcome) -> str:
    return (
        f"raises {type(outcome).__name__}: {outcome}"
        if isinstance(outcome, BaseException)
        else f"returns a {type(outcome).__name__}"
    )


def _is_exact(compiled) -> bool:
    """Whether everything compiled so far is bitwise NumPy's by contract."""
    facts = _fusewire.describe(compiled)
    variants = facts["variants"] + [v for region in facts.get("regions", ()) for v in region["variants"]]
    return not any(op in _ULP_OPS for v in variants for op in re.findall(r"= (\w+)\(", v["graph"]))
