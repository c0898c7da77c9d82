"""explain(): what became of a call, in words and as data."""

from __future__ import annotations

import functools
import inspect
import json
import sys

from fusewire import _fusewire
from fusewire._api import _compiled_of, compile
from fusewire._config import config
from fusewire._details import details, part
from fusewire._errors import source_line
from fusewire._verdict import opening, table, verdict_of


class Explanation:
    """Outcome of one explained call.

    ``str()`` opens with the verdict - how much of the call is compiled, how fast that is, what it cost, the biggest
    remaining cost - and tells the source lines in order, native or Python. ``guards``, ``graph`` and ``plan`` are the
    texts behind it, ``text(verbose=True)`` has all of them. ``result`` is what the call returned, ``facts`` the
    underlying dict: variants of the whole function and of each region, with times in milliseconds; breaks with reason,
    place and hint; counts of calls; ``call``, where the time of this call went, by stretches of lines; ``verdict``.
    ``json()`` has the facts for programs.
    """

    def __init__(self, facts: dict, result, verbose: bool = False):
        self.facts = facts
        self.result = result
        self._verbose = verbose
        facts.setdefault("call", None)
        for stop in facts["breaks"]:
            stop["source"] = source_line(stop)
        facts["verdict"] = verdict_of(facts)

    @property
    def guards(self) -> str:
        """What is checked before compiled code runs, per variant."""
        return part(self.facts, "guards")

    @property
    def graph(self) -> str:
        """The captured operations, per variant."""
        return part(self.facts, "graph")

    @property
    def plan(self) -> str:
        """The fused loops and their buffers, per variant."""
        return part(self.facts, "plan")

    def json(self, indent: int | None = 1) -> str:
        return json.dumps(self.facts, indent=indent)

    def text(self, verbose: bool = False) -> str:
        lines = opening(self.facts)
        if rows := table(self.facts):
            lines += ["", *rows]
        if verbose:
            lines += ["", *details(self.facts)]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text(self._verbose)

    def _repr_html_(self) -> str:
        from fusewire._html import page

        return page(self.facts)

    __repr__ = __str__


def _why_python(facts: dict) -> str:
    """Why a call runs as Python although nothing in the function breaks, "" if there is no such reason."""
    tools = getattr(sys, "monitoring", None)
    if sys.gettrace() or sys.getprofile() or (tools and any(tools.get_tool(tool) and tools.get_events(tool) for tool in range(6))):
        return "a debugger, profiler or coverage tool watches this thread: Fusewire keeps out of its way"
    stance = _fusewire.get_stance()[0]
    if stance in ("force_eager", "eager_on_recompile", "eager_then_compile"):
        return f"fusewire.set_stance({stance!r}) is in force"
    if not config.enable:
        return "the setting enable is off"
    if any(variant["declines"] for variant in facts["variants"]):
        return "such calls warn, raise, or need more than compiled code has room for (longer lists, larger ints): Python makes them, so that nothing differs"
    return ""


class _Explained:
    """``explain(f)``: to be called with the arguments of ``f``."""

    def __init__(self, function, compiled, verbose: bool):
        self.function, self._compiled, self._verbose = function, compiled, verbose
        functools.update_wrapper(self, compiled.__wrapped__)

    def __call__(self, *args, **kwargs) -> Explanation:
        compiled = self._compiled
        before = _fusewire.describe(compiled)["python_calls"]
        _fusewire.watch_call(compiled)
        try:
            result = self.function(*args, **kwargs)
        finally:
            call = _fusewire.watched_call(compiled)
        facts = _fusewire.describe(compiled)
        if call:
            facts["call"] = {**call, "compiled": facts["python_calls"] == before, "why": _why_python(facts)}
        facts["verified"] = getattr(self.function, "__fusewire_compiled__", None) is compiled
        if not kwargs and len(facts["variants"]) == 1:
            ns = _fusewire.time_guards(compiled, args, 1000)
            if ns >= 0:
                facts["variants"][0]["guard_ns"] = ns
        return Explanation(facts, result, self._verbose)

    def __repr__(self) -> str:
        name = self._compiled.__name__
        return f"fusewire.explain({name}) calls {name} when it gets its arguments: print(fusewire.explain({name})(...))"


def explain(function, *, verbose: bool = False):
    """``explain(f)(*args)`` calls ``f`` and answers an Explanation of how it was and will be run.

    ``f`` may be decorated or not; an undecorated function is compiled for the occasion. ``verbose``: with guards, graph
    and fusion plan.
    """
    if isinstance(function, type):
        raise TypeError(f"fusewire.explain: {function.__qualname__!r} is a class; explain one of its methods")
    if not callable(function):
        raise TypeError(f"fusewire.explain: a {type(function).__name__!r} object is not decorated with fusewire.compile; the call "
                        "comes behind explain: fusewire.explain(f)(x), not fusewire.explain(f(x))")
    if inspect.isfunction(function) and not hasattr(function, "__fusewire_compiled__"):
        function = compile(function)
    return _Explained(function, _compiled_of(function), verbose)
