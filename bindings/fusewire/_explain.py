"""explain(): what became of a call, in words and as data."""

from __future__ import annotations

import functools
import inspect
import json

from fusewire import _fusewire
from fusewire._api import _compiled_of, compile
from fusewire._errors import break_lines, counted, source_line


class Explanation:
    """Outcome of one explained call.

    ``result`` is what the call returned, ``facts`` the underlying dict: variants of the whole function and of each
    region, with guards, graph, fusion plan and times in milliseconds; breaks with reason, place and hint; counts of
    calls. ``str()`` is the text, ``json()`` the facts for programs.
    """

    def __init__(self, facts: dict, result):
        self.facts = facts
        self.result = result
        for stop in facts["breaks"]:
            stop["source"] = source_line(stop)

    def json(self, indent: int | None = 1) -> str:
        return json.dumps(self.facts, indent=indent)

    def __str__(self) -> str:
        facts = self.facts
        place = f" ({facts['file']}:{facts['line']})" if "file" in facts else ""
        lines = [f"{facts['name']}{place}"]
        regions = [r for r in facts.get("regions", ()) if r["variants"] or r["hits"]]
        if not facts["variants"] and not regions:
            lines.append("  not compiled: every call runs as Python")
        for i, variant in enumerate(facts["variants"]):
            lines += _variant_lines(f"variant {i}", variant)
        for region in regions:
            lines += _region_lines(region)
        for stop in facts["breaks"]:
            head, *rest = break_lines(stop, "")
            lines += [f"  break {head}", *(f"  {line}" for line in rest)]
        overhead = facts.get("overhead", {})
        if overhead.get("told"):
            state = "left to Python" if overhead["left_to_python"] else "had been left to Python"
            lines.append(f"  {state}: it was looked into for {overhead['in_vain_ms']:.0f} ms in vain, which is more than a tenth of "
                         "the time that Python runs it")
        if facts["python_calls"]:
            lines.append(f"  calls that ran as Python: {facts['python_calls']}")
        total = sum(v["ms"]["total"] for v in [*facts["variants"], *(v for r in regions for v in r["variants"])])
        if total:
            lines.append(f"  compiled in {total:.1f} ms altogether")
        return "\n".join(lines)

    __repr__ = __str__


def _region_lines(region: dict) -> list[str]:
    ends = ", ".join("return" if end == "return" else f"line {end}" for end in dict.fromkeys(region["end_lines"]))
    counts = f"{counted(region['hits'], 'run')}, {region['misses']} left to Python"
    lines = [f"  region from line {region['start_line']} to {ends or 'nowhere'}: {counts}"]
    for i, variant in enumerate(region["variants"]):
        lines += ["  " + line for line in _variant_lines(f"variant {i}", variant)]
    return lines


def _variant_lines(title: str, variant: dict) -> list[str]:
    ms = variant["ms"]
    kernels, calls = counted(variant["kernels"], "kernel"), counted(variant["hits"], "call")
    lines = [f"  {title}: {kernels}, {calls}, compiled in {ms['total']:.1f} ms"]
    if variant["declines"]:
        lines.append(f"    {counted(variant['declines'], 'call')} left to NumPy, which warns or raises there")
    for trial in variant["trials"]:
        times = f"{trial['compiled_ns'] / 1e3:.2f} us against {trial['python_ns'] / 1e3:.2f} us"
        if not trial["kept"]:
            lines.append(f"    left to Python for arguments of some sizes: slower than Python, {times}")
    lines.append(
        "    " + ", ".join(f"{phase} {t:.2f} ms" for phase, t in ms.items() if phase != "total" and t >= 0.005)
    )
    lines.append("    guards:" + (f" {variant['guard_ns']:.0f} ns" if variant["guard_ns"] >= 0 else ""))
    for guard in variant["guard_list"]:
        lines.append(f"      {guard['text']}" + (f"  # line {guard['line']}" if guard["line"] else ""))
    for part in ("graph", "plan"):
        lines.append(f"    {part}:")
        lines += ["      " + line for line in variant[part].rstrip().splitlines()]
    return lines


def explain(function):
    """``explain(f)(*args)`` calls ``f`` and answers an Explanation of how it was and will be run.

    ``f`` may be decorated or not; an undecorated function is compiled for the occasion.
    """
    if isinstance(function, type):
        raise TypeError(f"fusewire.explain: {function.__qualname__!r} is a class; explain one of its methods")
    if inspect.isfunction(function) and not hasattr(function, "__fusewire_compiled__"):
        function = compile(function)
    compiled = _compiled_of(function)

    @functools.wraps(compiled.__wrapped__)
    def explained(*args, **kwargs):
        result = function(*args, **kwargs)
        facts = _fusewire.describe(compiled)
        if not kwargs and len(facts["variants"]) == 1:
            ns = _fusewire.time_guards(compiled, args, 1000)
            if ns >= 0:
                facts["variants"][0]["guard_ns"] = ns
        return Explanation(facts, result)

    return explained
