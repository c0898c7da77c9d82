"""Writes docs/supported.md and docs/settings.md from the tables in the extension; --check fails if they are out of date."""

import pathlib
import sys

from fusewire import _fusewire

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"
NOTE = "<!-- Written by scripts/gen_docs.py from the tables of the source. Do not edit. -->\n"


def table(rows: list[dict], columns: dict[str, str]) -> str:
    head = "| " + " | ".join(columns.values()) + " |\n|" + " --- |" * len(columns) + "\n"
    escape = lambda text: text.replace("|", "\\|")
    return head + "".join("| " + " | ".join(escape(row[c]) for c in columns) + " |\n" for row in rows)


def supported() -> str:
    ops = [dict(op, numpy=", ".join(f"`{n}`" for n in op["numpy"].split("|")),
                contract={"exact": "bitwise", "ulp": "1 ULP (f64), 2 ULP (f32)"}[op["contract"]])
           for op in _fusewire.ops() if op["numpy"]]
    return (NOTE + "# What is compiled\n\nEverything not listed here runs as Python, with a recorded reason.\n\n"
            + table(ops, {"name": "operation", "numpy": "NumPy names", "contract": "agreement with NumPy"})
            + "\n# Why a call may run as Python\n\n"
            + table(_fusewire.break_reasons(), {"id": "reason", "class": "class", "message": "meaning", "hint": "hint"}))


def settings() -> str:
    rows = [dict(s, variable=f"`FUSEWIRE_{s['name'].upper()}`", name=f"`{s['name']}`", fallback=f"`{s['fallback']}`")
            for s in _fusewire.settings()]
    channels = [dict(c, name=f"`{c['name']}`") for c in _fusewire.log_channels()]
    return (NOTE + "# Settings\n\nAs environment variables for the process, as options of `fusewire.compile` for one function.\n\n"
            + table(rows, {"variable": "variable", "name": "option", "fallback": "default", "help": "meaning"})
            + "\n# Channels of FUSEWIRE_LOGS\n\n`FUSEWIRE_LOGS=graph_breaks,recompiles`; `all` for all, `-x` for all but x.\n\n"
            + table(channels, {"name": "channel", "help": "what it tells"}))


def main() -> None:
    stale = []
    for name, text in (("supported.md", supported()), ("settings.md", settings())):
        path = DOCS / name
        if "--check" in sys.argv:
            if not path.exists() or path.read_text() != text:
                stale.append(name)
        else:
            path.write_text(text)
    if stale:
        sys.exit(f"out of date, run scripts/gen_docs.py: {', '.join(stale)}")


if __name__ == "__main__":
    main()
