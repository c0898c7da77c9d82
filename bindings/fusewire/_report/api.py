"""Reports of a folder, of this process, of two traces."""

from __future__ import annotations

import json
import os

from fusewire import _fusewire
from fusewire._report.model import build, model_of
from fusewire._report.render import page, write


class Report:
    """A page: ``path`` is where it was written, None if nowhere. In a notebook it shows itself."""

    def __init__(self, html: str, path: str | None, summary: dict):
        self.html, self.path, self.summary = html, path, summary

    def __str__(self) -> str:
        return f"{self.summary['verdict']}. {self.summary['detail']}" + (f"\n{self.path}" if self.path else "")

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from html import escape

        return f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts" style="width:100%;height:720px;border:0"></iframe>'

    def open(self) -> None:
        import pathlib
        import webbrowser

        if self.path is None:
            raise ValueError("fusewire: the report was not written to a file: fusewire.report(\"report.html\")")
        webbrowser.open(pathlib.Path(self.path).absolute().as_uri())


def of_traces(path: str, output: str | None, comparison: dict | None = None, model: dict | None = None) -> Report:
    model = build(path) if model is None else model
    html = page(model, comparison)
    if output is not None:
        write(html, output)
    return Report(html, output, model["summary"])


def of_process(path: str | os.PathLike | None) -> Report:
    """What is known now: with a trace, all of it so far; without one, what the functions themselves know."""
    from fusewire._trace import facts_events, write_facts

    output = None if path is None else os.fspath(path)
    if file := _fusewire.trace_path():
        write_facts()
        return of_traces(file, output)
    from fusewire import __version__
    from fusewire._report.collect import Collector
    from fusewire._report.read import Process, Reading

    reading, collector = Reading(), Collector()
    process = Process(0, os.getpid(), "", {"fusewire": __version__})
    reading.processes.append(process)
    for kind, data in facts_events():
        collector.add(process, 0, {"kind": kind, "data": json.loads(json.dumps(data)), "text": ""})
    reading.warn("there is no trace: set FUSEWIRE_TRACE, or use python -m fusewire run --report, for times by line, recompiles and a timeline", "this process")
    return of_traces("", output, model=model_of(collector, reading))

