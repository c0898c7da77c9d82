"""python -m fusewire report, and run --report."""

from __future__ import annotations

import argparse
import json
import os
import runpy
import sys
import tempfile


def add_commands(commands) -> None:
    report = commands.add_parser("report", help="make a page of a trace (FUSEWIRE_TRACE)")
    report.add_argument("trace", metavar="DIR", help="folder of a trace, or one of its files")
    report.add_argument("-o", "--output", metavar="FILE", help="where the page goes (default: report.html)")
    report.add_argument("--open", action="store_true", help="show it in the browser")
    report.add_argument("--baseline", metavar="OLD", help="an older trace to compare with")
    report.add_argument("--json", action="store_true", help="print the summary, or the comparison, as JSON; with --baseline the exit status is 1 if anything is worse")
    report.add_argument("--perfetto", metavar="FILE", help="write the timeline for ui.perfetto.dev and chrome://tracing")
    report.add_argument("--bundle", metavar="FILE", help="write a zip for a bug report: trace, page, versions")
    report.add_argument("--redact", action="store_true", help="with --bundle: without source text, values and folders")
    report.set_defaults(run=_report)
    run = commands.add_parser("run", help="run a script and make a page of what was compiled in it")
    run.add_argument("--report", metavar="FILE", required=True, help="where the page goes")
    run.add_argument("--open", action="store_true", help="show it in the browser")
    run.add_argument("script", metavar="script.py")
    run.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the script")
    run.set_defaults(run=_run)


def _model(path: str) -> dict:
    from fusewire._report.model import build
    from fusewire._report.read import trace_files

    try:
        if not trace_files(path):
            raise SystemExit(f"fusewire: there is no trace in {path}: run the program with FUSEWIRE_TRACE={path}")
        return build(path)
    except OSError as error:
        raise SystemExit(f"fusewire: cannot read the trace: {error}") from None


def _page(path: str, output: str, model: dict, comparison: dict | None = None):
    from fusewire._report.api import of_traces

    try:
        return of_traces(path, output, comparison, model)
    except ImportError as error:
        raise SystemExit(str(error)) from None
    except OSError as error:
        raise SystemExit(f"fusewire: cannot write the report: {error}") from None


def _report(options: argparse.Namespace) -> int:
    if options.redact and not options.bundle:
        raise SystemExit("fusewire: --redact belongs to --bundle")
    model, comparison = _model(options.trace), None
    if options.baseline:
        from fusewire._report.compare import compare

        comparison = compare(_model(options.baseline), model, options.baseline, options.trace)
    written = []
    if options.perfetto:
        from fusewire._report.perfetto import trace_events

        with open(options.perfetto, "w", encoding="utf-8") as file:
            json.dump(trace_events(model), file)
        written.append(options.perfetto)
    if options.bundle:
        from fusewire._report.bundle import write_bundle

        write_bundle(options.trace, options.bundle, options.redact)
        written.append(options.bundle)
    # A page is what is asked for unless something else is.
    if options.output or options.open or not (options.json or options.perfetto or options.bundle):
        made = _page(options.trace, options.output or "report.html", model, comparison)
        written.append(made.path)
        if options.open:
            made.open()
    if options.json:
        print(json.dumps(comparison if comparison else {"summary": model["summary"], "todo": model["todo"], "warnings": model["warnings"]}, indent=1))
        return 1 if comparison and comparison["worse"] else 0
    print(f"{model['summary']['verdict']}. {model['summary']['detail']}")
    if comparison:
        print(comparison["verdict"] + ".")
    for warning in model["warnings"]:
        print(f"fusewire: {warning}", file=sys.stderr)
    for name in written:
        print(f"{name}: {os.path.getsize(name) / 1000:.0f} kB")
    return 0


def _run(options: argparse.Namespace) -> int:
    """The script as Python runs it, with a trace; the page is made when it has ended, however that was."""
    from fusewire import _fusewire
    from fusewire._report.render import _import_tools
    from fusewire._trace import write_facts

    if not os.path.isfile(options.script):
        raise SystemExit(f"fusewire: {options.script} is not a file")
    try:
        _import_tools()
    except ImportError as error:
        raise SystemExit(str(error)) from None
    output = os.path.abspath(options.report)
    with tempfile.TemporaryDirectory(prefix="fusewire-trace-") as folder:
        if not _fusewire.trace_path():
            _fusewire.open_trace(folder)
        arguments, sys.argv = sys.argv, [options.script, *options.arguments]
        sys.path.insert(0, os.path.dirname(os.path.abspath(options.script)))
        failed = None
        try:
            runpy.run_path(options.script, run_name="__main__")
        except BaseException as error:
            failed = error
        sys.argv = [options.script, *options.arguments]
        write_facts()
        sys.argv = arguments
        trace = _fusewire.trace_path()
        path = folder if os.path.dirname(trace) == folder else trace
        made = _page(path, output, _model(path))
    print(made, file=sys.stderr)
    if options.open:
        made.open()
    if failed is not None:
        raise failed
    return 0
