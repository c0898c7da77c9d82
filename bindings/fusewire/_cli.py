"""python -m fusewire: explain a function, and fail a build when it breaks where it did not before."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys

import numpy as np

from fusewire._errors import break_lines, counted, source_line

_BASELINE = 1


def _load(target: str):
    module_name, _, path = target.partition(":")
    if not module_name or not path:
        raise SystemExit(f"fusewire: {target!r} is not of the form module:function")
    sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise SystemExit(f"fusewire: cannot import {module_name}: {error}") from None
    value = module
    for part in path.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            raise SystemExit(f"fusewire: {module_name} has no {path}") from None
    return module, value


def _arguments(text: str | None, module) -> tuple:
    if not text:
        return ()
    try:
        value = eval(f"({text},)", {"np": np, "numpy": np, **vars(module)})  # noqa: S307 - the user's own command line
    except Exception as error:
        raise SystemExit(f"fusewire: --args {text!r}: {type(error).__name__}: {error}") from None
    return value


def _key(stop: dict) -> tuple[str, str, str]:
    """A break as it is known from one version of the source to the next: not by its line number."""
    return stop["reason"], stop["detail"], stop.get("source") or source_line(stop)


def _read_baseline(path: str) -> set[tuple[str, str, str]]:
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        if data["fusewire_baseline"] != _BASELINE:
            raise SystemExit(f"fusewire: {path} has version {data['fusewire_baseline']!r}, this is version {_BASELINE}")
        return {(b["reason"], b["detail"], b["source"]) for b in data["breaks"]}
    except OSError as error:
        raise SystemExit(f"fusewire: cannot read the baseline: {error}") from None
    except (ValueError, KeyError, TypeError):
        raise SystemExit(f"fusewire: {path} is not a baseline of fusewire explain") from None


def _explain(options: argparse.Namespace) -> int:
    from fusewire._explain import explain

    module, function = _load(options.target)
    try:
        explained = explain(function)
    except TypeError as error:
        raise SystemExit(f"fusewire: {options.target}: {error}") from None
    for _ in range(max(1, options.calls)):
        explanation = explained(*_arguments(options.args, module))
    print(explanation.json() if options.json else explanation)
    breaks = explanation.facts["breaks"]
    if options.write_baseline:
        text = json.dumps({"fusewire_baseline": _BASELINE, "target": options.target,
                           "breaks": [dict(zip(("reason", "detail", "source"), _key(b))) for b in breaks]}, indent=1)
        with open(options.write_baseline, "w", encoding="utf-8") as file:
            file.write(text + "\n")
    if options.fail_on_new_break:
        known = _read_baseline(options.fail_on_new_break)
        new = [b for b in breaks if _key(b) not in known]
        if new:
            count = counted(len(new), "graph break")
            print(f"fusewire: {count} that {options.fail_on_new_break} does not know:", file=sys.stderr)
            for stop in new:
                print("\n".join(break_lines(stop)), file=sys.stderr)
            return 1
    return 0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m fusewire", description="Tools for code that fusewire compiles.")
    commands = parser.add_subparsers(dest="command", required=True)
    explain = commands.add_parser("explain", help="call a function and tell what became of it")
    explain.add_argument("target", metavar="module:function")
    explain.add_argument("--args", help="Python expressions for the arguments, e.g. \"np.arange(3.0), 2\"")
    explain.add_argument("--calls", type=int, default=2, help="number of calls (default 2)")
    explain.add_argument("--json", action="store_true", help="print the facts as JSON")
    explain.add_argument("--write-baseline", metavar="FILE", help="write the graph breaks to a file")
    explain.add_argument(
        "--fail-on-new-break", metavar="FILE", help="exit with 1 if there are graph breaks that the file does not list"
    )
    options = parser.parse_args(arguments)
    try:
        return _explain(options)
    except SystemExit as error:
        if isinstance(error.code, str):
            print(error.code, file=sys.stderr)
            return 2
        raise
