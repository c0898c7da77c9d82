"""An Explanation in a notebook: the opening lines and the table of source lines. All text of the user is escaped."""

from __future__ import annotations

from html import escape

from fusewire._details import details
from fusewire._verdict import opening, shown_lines, time_text

_COLOURS = {"native": "#2e7d3233", "NumPy": "#1565c022", "Python": "#ef6c0033"}


def page(facts: dict) -> str:
    lines = opening(facts)
    rows = "".join(_row(entry) for entry in shown_lines(facts))
    head = "".join(f"<th>{name}</th>" for name in ("line", "runs", "native", "Python", "", "source", ""))
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>" if rows else ""
    more = escape("\n".join(details(facts)))
    return (f"<div><b>{escape(lines[0])}</b><pre>{escape(chr(10).join(lines[1:]))}</pre>{table}"
            f"<details><summary>guards, graph, plan</summary><pre>{more}</pre></details></div>")


def _row(entry: dict) -> str:
    times = [time_text(entry[key]) if entry[key] else "" for key in ("native_ns", "python_ns")]
    advice = f"{entry['advice']}: {entry['because']}" if "because" in entry else ""
    if "how" in entry:
        advice += f" - {entry['how']}"
    cells = "".join(f"<td>{escape(str(cell))}</td>" for cell in (entry["line"], entry["runs"], *times, entry["where"]))
    source = f"<td style='text-align:left'><code>{escape(entry['source'])}</code></td><td style='text-align:left'>{escape(advice)}</td>"
    return f"<tr style='background:{_COLOURS[entry['where']]}'>{cells}{source}</tr>"
