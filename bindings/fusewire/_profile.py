"""Decisions of one process for the next: which sizes were constants, where Python had to run."""

from __future__ import annotations

import hashlib
import json
import os
import types

from fusewire import _fusewire

_VERSION = 1
_MOST_AXES, _MOST_INSTRUCTIONS = 64, 1 << 31
# (qualname, code hash) -> entry, for functions that are decorated later.
_loaded: dict[tuple[str, str], dict] = {}


def code_hash(code: types.CodeType) -> str:
    """Of what a function does, on this version of Python; not of where it stands."""
    parts = [
        code.co_code,
        *(code_hash(c) if isinstance(c, types.CodeType) else repr(c) for c in code.co_consts),
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
    ]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _entry(compiled) -> dict | None:
    function = compiled.__wrapped__
    if not isinstance(function, types.FunctionType):
        return None
    facts = _fusewire.describe(compiled)
    sizes: dict[tuple[str, int], str] = {}
    for variant in facts["variants"] + [v for region in facts["regions"] for v in region["variants"]]:
        for size in variant["sizes"]:
            if not size["argument"].isidentifier():  # a place on the stack
                continue
            key = size["argument"], size["axis"]
            sizes[key] = size["policy"] if sizes.get(key, size["policy"]) == size["policy"] else "dynamic"
    if not (sizes or facts["breaks"] or facts.get("stops")):
        return None
    return {
        "file": facts["file"],
        "qualname": function.__qualname__,
        "code": code_hash(function.__code__),
        "sizes": [{"argument": a, "axis": x, "policy": p} for (a, x), p in sizes.items()],
        "stops": facts.get("stops", []),
        "breaks": [{"reason": b["reason"], "detail": b["detail"], "line": b["line"]} for b in facts["breaks"]],
    }


def save_profile(path) -> None:
    """Write what was decided about the functions that are alive: which sizes are constants, where Python has to run."""
    from fusewire._api import _compiled

    entries = [entry for compiled in list(_compiled) if (entry := _entry(compiled))]
    entries.sort(key=lambda e: (e["file"], e["qualname"], e["code"]))
    text = json.dumps({"fusewire_profile": _VERSION, "functions": entries}, indent=1) + "\n"
    temporary = f"{os.fspath(path)}.{os.getpid()}"
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(temporary, path)


def load_profile(path) -> int:
    """Use the decisions in a file that save_profile() wrote; answers how many functions it knows.

    They apply to the next compiles of functions with the same name and code, those decorated later included. A file
    that is no profile, or of another version, raises ValueError.
    """
    from fusewire._api import _compiled

    entries = _read(path)
    for entry in entries:
        _loaded[entry["qualname"], entry["code"]] = entry
    for compiled in list(_compiled):
        apply(compiled)
    return len(entries)


def _read(path) -> list[dict]:
    name = os.fspath(path)
    with open(path, encoding="utf-8") as file:
        try:
            data = json.load(file)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"fusewire.load_profile: {name} is not JSON: {error}") from None
    if not isinstance(data, dict) or "fusewire_profile" not in data:
        raise ValueError(f"fusewire.load_profile: {name} is not a profile of fusewire")
    if data["fusewire_profile"] != _VERSION:
        raise ValueError(
            f"fusewire.load_profile: {name} has version {data['fusewire_profile']!r}, this is version {_VERSION}"
        )
    entries = data.get("functions")
    problem = (
        "'functions' is not a list"
        if not isinstance(entries, list)
        else next(filter(None, map(_problem, entries)), None)
    )
    if problem:
        raise ValueError(f"fusewire.load_profile: {name} is damaged: {problem}")
    return entries


def _problem(entry) -> str | None:
    if not isinstance(entry, dict):
        return "an entry is not an object"
    for key, kind in (("qualname", str), ("code", str), ("sizes", list), ("stops", list)):
        if not isinstance(entry.get(key), kind):
            return f"an entry has no {key!r} of type {kind.__name__}"
    for size in entry["sizes"]:
        if not (isinstance(size, dict) and isinstance(size.get("argument"), str) and type(size.get("axis")) is int
                and 0 <= size["axis"] < _MOST_AXES and size.get("policy") in ("auto", "dynamic", "static")):
            return f"{entry['qualname']}: {size!r} is not a decision about a size"
    if not all(type(stop) is int and 0 <= stop < _MOST_INSTRUCTIONS for stop in entry["stops"]):
        return f"{entry['qualname']}: 'stops' are not instruction numbers"
    return None


def apply(compiled) -> None:
    """Hand the profile of a function, if there is one, to the extension."""
    function = compiled.__wrapped__
    if not _loaded or not isinstance(function, types.FunctionType):
        return
    entry = _loaded.get((function.__qualname__, code_hash(function.__code__)))
    if entry:
        _fusewire.set_profile(
            function.__code__, [(s["argument"], s["axis"], s["policy"]) for s in entry["sizes"]], entry["stops"]
        )
