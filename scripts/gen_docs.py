"""Writes the generated docs from the tables in the extension; --check fails if they are out of date."""

import inspect
import json
import pathlib
import re
import sys

import fusewire
from fusewire import _fusewire, _trace

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS, SRC = ROOT / "docs", ROOT / "src"
NOTE = "<!-- Written by scripts/gen_docs.py from the tables of the source. Do not edit. -->\n"


def table(rows: list[dict], columns: dict[str, str]) -> str:
    head = "| " + " | ".join(columns.values()) + " |\n|" + " --- |" * len(columns) + "\n"
    escape = lambda text: text.replace("|", "\\|")
    return head + "".join("| " + " | ".join(escape(row[c]) for c in columns) + " |\n" for row in rows)


def supported() -> str:
    ops = [dict(op, numpy=", ".join(f"`{n}`" for n in op["numpy"].split("|")),
                contract={"exact": "bitwise", "ulp": "1 ULP (f64), 2 ULP (f32)"}[op["contract"]])
           for op in _fusewire.ops() if op["numpy"]]
    known = [row for row in _fusewire.numpy_names() if "._" not in row["name"]]  # NumPy's private ones
    functions = [dict(row, name=f"`{row['name']}`", arguments=arguments(row["arguments"])) for row in known if row["kind"] == "function"]
    listed = lambda kind: ", ".join(f"`{row['name']}`" for row in known if row["kind"] == kind) + ".\n"
    return (NOTE + "# What is compiled\n\nWhat stands in none of these tables runs as Python, with a recorded reason.\n\n"
            "## Ufuncs and operators\n\nAn operator of arrays (`+`) is its function of the module `operator`.\n\n"
            + table(ops, {"name": "operation", "numpy": "NumPy names", "contract": "agreement with NumPy"})
            + "\n## Functions and methods\n\nBitwise NumPy's, but for what they compute by a ufunc of the table above. An argument that is not "
            "listed has to have its default.\n\n" + table(functions, {"name": "name", "arguments": "arguments"})
            + "\n## Functions that are followed or called\n\nNumPy's other functions that are written in Python are followed into their code, as the "
            "user's own are. Other ufuncs, `reduce`, `accumulate`, `reduceat`, `outer` and `at` of all of them, and the functions below are called from compiled "
            "code: the library computes them, on the region's arrays, and what it warns of or raises is Python's. What they answer is told by small examples "
            "(docs/schedules.md); a call that answers something else is Python's.\n\n" + called()
            + "\n## Attributes\n\n" + listed("attribute")
            + "\n## Views and writes\n\nIndices and slices of basic indexing, boolean masks, arrays and lists of ints (writes by arrays of ints where a good part of the array is stored), `a[...] = b`, `a += b`.\n"
            + "\n## Functions of constants\n\n" + listed("constant")
            + "\n# Why a call may run as Python\n\n"
            + table(_fusewire.break_reasons(), {"id": "reason", "class": "class", "message": "meaning", "advice": "advice", "hint": "hint"}))


def called() -> str:
    modules: dict[str, list[str]] = {}
    for module, names in re.findall(r'FW_EXAMPLES(?:_OF_LETTERS)?\("([^"]+)", "([^"]+)"\)', (ROOT / "src/frame_eval/numpy/examples.def").read_text()):
        modules.setdefault(module, []).extend(names.split("|"))
    text = lambda names: "all functions" if names == ["*"] else ", ".join(f"`{name}`" for name in sorted(names))
    return "".join(f"- `{module}`: {text(names)}\n" for module, names in modules.items())


def arguments(signature: str) -> str:
    """A row's signature (numpy_functions.def) as Python writes it, without the arguments that are not compiled."""
    words = [w for w in signature.split() if not w.endswith("!")]
    if words and words[-1] == "*":
        words.pop()
    return ", ".join(f"`{w[:-1]}=`" if w.endswith("?") else f"`{w}`" for w in words)


def settings() -> str:
    rows = [dict(s, variable=f"`FUSEWIRE_{s['name'].upper()}`", name=f"`{s['name']}`", fallback=f"`{s['fallback']}`" if s["fallback"] else "")
            for s in _fusewire.settings()]
    channels = [dict(c, name=f"`{c['name']}`") for c in _fusewire.log_channels()]
    return (NOTE + "# Settings\n\nAs environment variables and attributes of `fusewire.config` for the process, as options of `fusewire.compile` for one "
            "function ([control.md](control.md#settings)).\n\n"
            + table(rows, {"variable": "variable", "name": "option", "values": "values", "fallback": "default", "help": "meaning"})
            + "\nA variable that means nothing - its name or its value is unknown - warns and is ignored; what is wrong in code raises "
            "`TypeError`, `AttributeError` or `ValueError`.\n"
            + "\n# Channels of FUSEWIRE_LOGS\n\n`FUSEWIRE_LOGS=graph_breaks,recompiles`; `all` for all, `-x` for all but x.\n\n"
            + table(channels, {"name": "channel", "help": "what it tells"}))


def control() -> str:
    """docs/control.md is written by hand but for the tables between the marks."""
    text = (DOCS / "control.md").read_text()
    functions = [{"name": f"`fusewire.{name}`", "help": inspect.getdoc(value).splitlines()[0]} for name in fusewire.__all__
                 if callable(value := getattr(fusewire, name)) and inspect.getdoc(value)]
    tables = {
        "functions": table(functions, {"name": "name", "help": "what it does"}),
        "stances": table([dict(s, name=f"`{s['name']}`") for s in _fusewire.stances()], {"name": "stance", "help": "decorated functions"}),
        "backends": "`" + "`, `".join(name for name in fusewire.list_backends()) + "`\n",
        "events": "`" + "`, `".join(_trace.KINDS) + "`\n",
    }
    for name, rows in tables.items():
        begin, end = f"<!-- table {name} -->\n", "<!-- end -->"
        head, mark, rest = text.partition(begin)
        if not mark:
            sys.exit(f"docs/control.md has no table {name}")
        text = head + mark + rows + rest[rest.index(end):]
    return text


def trace_schema() -> str:
    return json.dumps(_trace.schema(), indent=1) + "\n"


def rows_of(path: str, macro: str) -> list[list[str]]:
    """Arguments of the rows of a .def file."""
    text = (SRC / path).read_text()
    return [[part.strip().strip('"') for part in match.split(",")] for match in re.findall(rf"^{macro}\((.*?)\)", text, re.M)]


def instructions() -> str:
    """What becomes of each bytecode instruction of every supported version."""
    neutral = {row[0]: row[1] for row in rows_of("cpython/neutral_ops.def", "FW_OPCODE")}
    reasons = {row[0]: row[1] for row in rows_of("frame_eval/break_reasons.def", "FW_BREAK")}
    breaks = {row[0]: reasons[row[1]] for row in rows_of("frame_eval/instruction_breaks.def", "FW_INSTRUCTION_BREAK")}
    rows = []
    for name, becomes, rule in sorted(rows_of("cpython/opcodes.def", "FW_RAW")):
        if rule == "Intrinsic1":
            outcome = "captured for `+x`, `[*x]` and the end of generators, else `unsupported-instruction`"
        elif rule == "Intrinsic2":
            outcome = "captured for the end of `except*`, else `unsupported-instruction`"
        elif becomes in breaks:
            outcome = f"Python runs it: `{breaks[becomes]}`"
        elif rule == "Drop":
            outcome = "no meaning of its own"
        else:
            outcome = "captured"
        rows.append({"name": f"`{name}`", "neutral": f"`{neutral[becomes]}`", "outcome": outcome})
    return (NOTE + "# Bytecode instructions\n\nOf CPython 3.11 to 3.13. A captured instruction still breaks for operands that are not "
            "understood; the break says which.\n\n" + table(rows, {"name": "instruction", "neutral": "becomes", "outcome": "outcome"}))


def main() -> None:
    stale = []
    generated = (("supported.md", supported()), ("settings.md", settings()), ("control.md", control()), ("trace.schema.json", trace_schema()),
                 ("instructions.md", instructions()))
    for name, text in generated:
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
