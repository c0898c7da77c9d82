"""A zip for a bug report: the trace, the page, versions, and reproducers that fusewire has written. Redacted: no source text,
no values, no folders."""

from __future__ import annotations

import json
import os
import platform
import re
import zipfile

from fusewire._report.api import of_traces
from fusewire._report.model import build
from fusewire._report.read import Reading, events, trace_files

_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_PATH = re.compile(r"(?<![\w.])(?:[A-Za-z]:)?[/\\](?:[^\s/\\:'\"]+[/\\])+")
# Texts of the compiler's own, which hold names of the code at most.
_OURS = frozenset({"graph", "plan", "llvm", "assembly", "kind", "reason", "hint", "message", "class", "advice", "runs_in", "function", "name"})


def _redacted(value, key: str = ""):
    if isinstance(value, dict):
        return {one: _redacted(inner, one) for one, inner in value.items()}
    if isinstance(value, list):
        return [_redacted(inner, key) for inner in value]
    if not isinstance(value, str):
        return value
    if key in ("file", "reproducer"):
        return os.path.basename(value)
    if key == "arguments":
        return "…"
    return _PATH.sub("", value if key in _OURS else _QUOTED.sub("'…'", value))


def _trace_lines(path: str, redact: bool):
    for process, _, event in events(path, Reading()):
        if redact:
            if event["kind"] == "source":
                continue
            event = {key: _redacted(value, key) for key, value in event.items()}
        yield f"trace-{process.number}.jsonl", json.dumps(event) + "\n"


def write_bundle(path: str, output: str, redact: bool) -> list[str]:
    """The names of what is inside."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as bundle:
        open_name, file = None, None
        for name, line in _trace_lines(path, redact):
            if name != open_name:
                if file:
                    file.close()
                open_name, file = name, open(os.path.join(folder, name), "a", encoding="utf-8")
            file.write(line)
        if file:
            file.close()
        for name in sorted(os.listdir(folder)):
            bundle.write(os.path.join(folder, name), f"trace/{name}")
        model = build(folder)
        if redact:  # the files of this machine are no part of it either
            for one in model["files"]:
                one["text"] = -1
            for item in model["todo"]:
                item["source"] = ""
        bundle.writestr("report.html", of_traces(folder, None, model=model).html)
        bundle.writestr("versions.json", json.dumps({"processes": [{**p, "arguments": [] if redact else p["arguments"]} for p in model["processes"]],
                                                     "python": platform.python_version(), "platform": platform.platform(), "redacted": redact,
                                                     "files": [os.path.basename(f) for f in trace_files(path)]}, indent=1))
        if not redact:
            for function in model["functions"]:
                for failure in function["failures"]:
                    if failure["reproducer"] and os.path.isfile(failure["reproducer"]):
                        bundle.write(failure["reproducer"], f"reproducers/{os.path.basename(failure['reproducer'])}")
        return bundle.namelist()
