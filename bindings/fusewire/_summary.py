"""What was compiled in this process, as a table: printed at exit with the setting ``summary``, and by summary()."""

from __future__ import annotations

import atexit
import sys

from fusewire import _failures, _fusewire
from fusewire._config import config
from fusewire._errors import counted

# With the setting on, decorated functions stay alive until they have been counted.
_kept: list = []


def keep(compiled) -> None:
    if config.summary:
        _kept.append(compiled)


def summary() -> str:
    """Functions, regions, variants, breaks, calls, and the time that compiling took, and that captures took in vain."""
    from fusewire._api import _compiled

    rows, reasons = [], {}
    for compiled in {id(c): c for c in [*_kept, *_compiled]}.values():
        facts = _fusewire.describe(compiled)
        regions = [r for r in facts.get("regions", ()) if r["variants"]]
        inner = [v for r in regions for v in r["variants"]]
        variants = facts["variants"] + inner
        calls = sum(v["hits"] for v in facts["variants"]) + facts["python_calls"]
        if not calls and not variants:
            continue
        rows.append((facts["name"], calls, facts["python_calls"], len(facts["variants"]), len(regions), len(inner),
                     len(facts["breaks"]), sum(v["ms"]["total"] for v in variants),
                     facts.get("overhead", {}).get("in_vain_ms", 0.0)))
        for stop in facts["breaks"]:
            reasons[stop["reason"]] = reasons.get(stop["reason"], 0) + 1
    rows.sort(key=lambda row: (-row[-2], -row[-1], row[0]))
    total = ("total", *(sum(row[i] for row in rows) for i in range(1, 9)))
    head = ("function", "calls", "as Python", "variants", "regions", "their variants", "breaks", "ms compiling", "ms in vain")
    table = [head]
    table += [(name[-48:], *map(str, counts), *(f"{t:.1f}" for t in ms)) for name, *counts in [*rows, total]
              for counts, ms in [(counts[:-2], counts[-2:])]]
    widths = [max(len(row[i]) for row in table) for i in range(len(head))]
    lines = [f"fusewire: {counted(len(rows), 'function')}"]
    lines += [
        "  " + "  ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths)))
        for row in table
    ]
    if reasons:
        lines.append(
            "  breaks: "
            + ", ".join(f"{n} {reason}" for reason, n in sorted(reasons.items(), key=lambda r: (-r[1], r[0])))
        )
    lines += _failures.lines()
    process = _fusewire.overhead()
    lines.append(f"  {process['ms']:.1f} ms altogether for looking into code and compiling it")
    if process["left_to_python"]:
        lines.append("  left to Python, since this took more than a tenth of their run time: " + ", ".join(process["left_to_python"]))
    return "\n".join(lines)


@atexit.register
def _at_exit() -> None:
    if config.summary and sys.stderr is not None:
        print(summary(), file=sys.stderr)
