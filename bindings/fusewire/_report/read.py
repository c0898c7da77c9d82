"""Trace files, read line by line. What is broken is left out and told as a warning; nothing here fails for what a file holds."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field

from fusewire._trace import VERSION

# A line that is longer is no event of ours; a gap in time that is longer is a clock that was set.
_LONGEST = 64 << 20
_JUMP_NS = 24 * 3600 * 10**9


_PART = re.compile(r"(.*)\.(\d{1,9})\.jsonl$", re.S)


@dataclass
class Process:
    """One run: a process id may come back, and forks write files of their own."""

    number: int
    pid: int
    file: str
    versions: dict
    first_ns: int | None = None
    last_ns: int = 0
    shift_ns: int = 0
    events: int = 0


@dataclass
class Reading:
    """The state of reading a trace: processes and warnings so far."""

    processes: list[Process] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)  # of warnings
    first: dict[str, str] = field(default_factory=dict)  # where each was met first
    bytes: int = 0
    events: int = 0

    def warn(self, what: str, where: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1
        self.first.setdefault(what, where)

    def warnings(self) -> list[str]:
        return [f"{what} ({self.first[what]}{f', and {count - 1} more' if count > 1 else ''})" for what, count in self.counts.items()]


def trace_files(path: str) -> list[str]:
    if os.path.isfile(path):
        return [path]
    names = sorted((name for name in os.listdir(path) if name.endswith(".jsonl")), key=_order)
    return [os.path.join(path, name) for name in names]


def _order(name: str) -> tuple:
    """Files of one process in the order in which they were written: fusewire-7.jsonl, fusewire-7.1.jsonl."""
    found = _PART.match(name)
    return (found[1], int(found[2])) if found else (name.removesuffix(".jsonl"), 0)


def _lines(file, reading: Reading, name: str):
    number = 0
    while line := file.readline(_LONGEST):
        number += 1
        reading.bytes += len(line)
        where = f"{name}, line {number}"
        if line.endswith(b"\n"):
            yield where, line
        elif len(line) < _LONGEST:
            reading.warn("the last line is cut, as by a process that was killed; it is left out", where)
        else:
            reading.warn("a line is too long; it is left out", where)
            while (rest := file.readline(_LONGEST)) and not rest.endswith(b"\n"):
                reading.bytes += len(rest)


def _event(line: bytes, reading: Reading, where: str) -> dict | None:
    if not line.strip():
        return None
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        reading.warn("a line is not JSON; it is left out", where)
        return None
    if not isinstance(event, dict) or not isinstance(event.get("kind"), str) or not isinstance(event.get("data"), (dict, type(None))):
        reading.warn("a line is no event; it is left out", where)
        return None
    event["data"] = event.get("data") or {}
    schema = event.get("schema")
    if not isinstance(schema, int) or schema > VERSION:
        reading.warn(f"events have schema {schema!r}, which is newer than {VERSION}; what is known of them is shown", where)
    return event


def _time(event: dict, process: Process, reading: Reading, where: str) -> int:
    """ns since the first event of the process, on a clock that does not jump."""
    now = event.get("time_ns")
    if not isinstance(now, int) or isinstance(now, bool):
        return process.last_ns
    if process.first_ns is None:
        process.first_ns = now
    at = now - process.first_ns + process.shift_ns
    if at < process.last_ns - _JUMP_NS or at > process.last_ns + _JUMP_NS:
        reading.warn("the clock has jumped; what follows is moved up to what was before", where)
        process.shift_ns += process.last_ns - at
        at = process.last_ns
    at = max(at, 0)
    process.last_ns = max(process.last_ns, at)
    return at


def events(path: str, reading: Reading):
    """(process, time in ns, event) of a folder or a file. OSError if it cannot be read at all."""
    known: dict[int, Process] = {}
    before, last = "", 0  # the process of the last file, and the number of its part
    for file_name in trace_files(path):
        short = os.path.basename(file_name)
        name, part = _order(short)
        goes_on = name == before and part > 0
        if goes_on and part > last + 1:
            reading.warn("the trace has reached its limit (FUSEWIRE_TRACE_LIMIT): what lies before this file is left out", short)
        if not goes_on:
            known = {}
        before, last = name, part
        try:
            file = open(file_name, "rb")
        except OSError as error:
            reading.warn(f"a file cannot be read: {error.strerror}", short)
            continue
        with file:
            for where, line in _lines(file, reading, short):
                event = _event(line, reading, where)
                if event is None:
                    continue
                pid = event.get("pid") if isinstance(event.get("pid"), int) else 0
                process = known.get(pid)
                begins = event["kind"] == "start" and not (goes_on and event["data"].get("part"))
                if process is None or (begins and process.events):
                    if process is not None:
                        reading.warn("two processes have had the same number; they are shown one after the other", where)
                    versions = event["data"].get("versions")
                    process = known[pid] = Process(len(reading.processes), pid, short, versions if isinstance(versions, dict) else {})
                    reading.processes.append(process)
                process.events += 1
                reading.events += 1
                yield process, _time(event, process, reading, where), event
