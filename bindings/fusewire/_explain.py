"""explain(): what became of a call, in words."""

from __future__ import annotations

import functools
import inspect

from fusewire import _fusewire
from fusewire._api import _compiled_of, compile


class Explanation:
    """Outcome of one explained call.

    ``result`` is what the call returned, ``facts`` the underlying dict (variants with guards, graph, fusion plan and
    times in milliseconds; breaks with reason, place and hint), ``str()`` the text.
    """

    def __init__(self, facts: dict, result):
        self.facts = facts
        self.result = result

    def __str__(self) -> str:
        facts = self.facts
        place = f" ({facts['file']}:{facts['line']})" if "file" in facts else ""
        lines = [f"{facts['name']}{place}"]
        if not facts["variants"]:
            lines.append("  not compiled: every call runs as Python")
        for i, variant in enumerate(facts["variants"]):
            lines += _variant_lines(i, variant)
        for stop in facts["breaks"]:
            where = f"{stop['file']}:{stop['line']}: " if stop["file"] else ""
            lines.append(f"  break {stop['reason']}: {where}{stop['message']}" + (f": {stop['detail']}" if stop["detail"] else ""))
            if stop["hint"]:
                lines.append(f"    hint: {stop['hint']}")
        if facts["python_calls"]:
            lines.append(f"  calls that ran as Python: {facts['python_calls']}")
        return "\n".join(lines)

    __repr__ = __str__


def _variant_lines(index: int, variant: dict) -> list[str]:
    ms = variant["ms"]
    kernels = "1 kernel" if variant["kernels"] == 1 else f"{variant['kernels']} kernels"
    lines = [f"  variant {index}: {kernels}, {variant['hits']} calls, compiled in {ms['total']:.1f} ms"]
    if variant["declines"]:
        lines.append(f"    {variant['declines']} calls left to NumPy, which warns or raises there")
    lines.append("    " + ", ".join(f"{phase} {t:.2f} ms" for phase, t in ms.items() if phase != "total" and t >= 0.005))
    for title in ("guards", "graph", "plan"):
        lines.append(f"    {title}:")
        lines += ["      " + line for line in variant[title].rstrip().splitlines()]
    return lines


def explain(function):
    """``explain(f)(*args)`` calls ``f`` and answers an Explanation of how it was and will be run.

    ``f`` may be decorated or not; an undecorated function is compiled for the occasion.
    """
    if inspect.isfunction(function):
        function = compile(function)
    compiled = _compiled_of(function)

    @functools.wraps(compiled.__wrapped__)
    def explained(*args, **kwargs):
        result = function(*args, **kwargs)
        return Explanation(_fusewire.describe(compiled), result)

    return explained
