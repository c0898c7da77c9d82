"""python -m fusewire: explain a function, fail a build when it breaks where it did not before, sum up a script, make a report."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import inspect
import json
import os
import platform
import runpy
import sys
import time

import numpy as np

from fusewire import _fusewire
from fusewire._config import did_you_mean
from fusewire._errors import break_lines, counted, source_line

_BASELINE = 1
# Calls, and seconds that they may take, in which compiled code is compared with Python.
_MEASURING_CALLS, _MEASURING_S = 100, 1.0


def _import_file(path: str):
    """The file as a module that is not __main__, with arguments of its own: none."""
    name = os.path.splitext(os.path.basename(path))[0]
    if name in sys.modules:  # a file may be called random.py
        name = f"{name}_explained"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or not os.path.isfile(path):
        raise SystemExit(f"fusewire: {path} is not a Python file")
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    sys.argv = [path]
    spec.loader.exec_module(module)
    return module


def _load(target: str):
    module_name, _, path = target.rpartition(":")
    if not module_name or not path:
        raise SystemExit(f"fusewire: {target!r} is not of the form module:function or file.py:function")
    if module_name.endswith(".py"):
        module = _import_file(module_name)
    else:
        sys.path.insert(0, os.getcwd())
        sys.argv = [module_name]
        try:
            module = importlib.import_module(module_name)
        except ImportError as error:
            raise SystemExit(f"fusewire: cannot import {module_name}: {error}") from None
    value = module
    for part in path.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            hint = did_you_mean(part, [name for name in dir(value) if not name.startswith("_")])
            raise SystemExit(f"fusewire: {module_name} has no {path}{hint}") from None
    return module, value


def _check_arguments(target: str, function, args: tuple) -> None:
    try:
        inspect.signature(function).bind(*args)
    except TypeError as error:
        raise SystemExit(f"fusewire: {target}: {error}; --args \"np.arange(10.0), 2\" gives the arguments") from None
    except ValueError:  # no signature is known
        pass


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
        called = explained.function
    except TypeError as error:
        raise SystemExit(f"fusewire: {options.target}: {error}") from None
    _check_arguments(options.target, function, _arguments(options.args, module))
    until = time.monotonic() + (_MEASURING_S if options.calls is None else float("inf"))
    for _ in range((options.calls or _MEASURING_CALLS) - 1):  # as ordinary calls, which are compared with Python
        called(*_arguments(options.args, module))
        if time.monotonic() > until:
            break
    explanation = explained(*_arguments(options.args, module))
    print(explanation.json() if options.json else explanation.text(options.verbose))
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


def _summary(options: argparse.Namespace) -> int:
    """The script as Python runs it; the table is printed at exit."""
    from fusewire._config import config

    if not os.path.isfile(options.script):
        raise SystemExit(f"fusewire: {options.script} is not a file")
    config.summary = True
    sys.argv = [options.script, *options.arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(options.script)))
    runpy.run_path(options.script, run_name="__main__")
    return 0


def main(arguments: list[str] | None = None) -> int:
    from fusewire import __version__

    parser = argparse.ArgumentParser(prog="python -m fusewire", description="Tools for code that fusewire compiles.")
    versions = f"fusewire {__version__}, Python {platform.python_version()}, NumPy {np.__version__}, {_fusewire.target()}"
    parser.add_argument("--version", action="version", version=versions)
    commands = parser.add_subparsers(dest="command", required=True)
    explain = commands.add_parser("explain", help="call a function and tell what became of it")
    explain.add_argument("target", metavar="module:function", help="or file.py:function")
    explain.add_argument("--args", help="Python expressions for the arguments, e.g. \"np.arange(3.0), 2\"")
    explain.add_argument("--calls", type=int, help="number of calls, of which the last is told (default: 100, or fewer that take a second)")
    explain.add_argument("--verbose", action="store_true", help="with guards, graph and fusion plan")
    explain.add_argument("--json", action="store_true", help="print the facts as JSON")
    explain.add_argument("--write-baseline", metavar="FILE", help="write the graph breaks to a file")
    explain.add_argument(
        "--fail-on-new-break", metavar="FILE", help="exit with 1 if there are graph breaks that the file does not list"
    )
    explain.set_defaults(run=_explain)
    summary = commands.add_parser("summary", help="run a script and print what was compiled in it, what that took and saved")
    summary.add_argument("script", metavar="script.py")
    summary.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the script")
    summary.set_defaults(run=_summary)
    from fusewire._report.cli import add_commands

    add_commands(commands)
    options = parser.parse_args(arguments)
    try:
        return options.run(options)
    except SystemExit as error:
        if isinstance(error.code, str) and error.code.startswith("fusewire: "):
            print(error.code, file=sys.stderr)
            return 2
        raise
