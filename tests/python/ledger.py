"""What the programs of a corpus capture, written down: a program that quietly runs as Python from today on changes the ledger.

One line per program in ledgers/<corpus>.txt: how many variants of the whole function and of regions there are after all
its calls, how many operations their graphs hold, and why capture broke. Of programs in Python only what runs compiled is compared -
the whole, regions of it, nothing -, because the rest depends on what the process has compiled before. A line `name @3.13` stands where that version of Python
differs from the others. FUSEWIRE_UPDATE_GOLDENS=1 writes what is seen. Programs are compiled with economy off: what
is given up because of its times is no fact.
"""

from __future__ import annotations

import collections
import fcntl
import functools
import os
import re
import sys
from pathlib import Path

import fusewire

FOLDER = Path(__file__).with_name("ledgers")
VERSION = f"@{sys.version_info[0]}.{sys.version_info[1]}"
MAIN_VERSION = "@3.11"   # whose lines stand without a version


def entry(compiled) -> str:
    """whole: variants/operations, regions: regions/operations, breaks: reason*times."""
    facts = fusewire._fusewire.describe(compiled)
    regions = [region["variants"] for region in facts["regions"] if region["variants"]]
    parts = [f"{word} {len(of)}/{sum(map(_operations, variants))}"
             for word, of, variants in (("whole", facts["variants"], facts["variants"]), ("regions", regions, sum(regions, []))) if of]
    reasons = collections.Counter(b["reason"] for b in facts["breaks"])
    breaks = ", ".join(f"{reason}*{times}" if times > 1 else reason for reason, times in sorted(reasons.items()))
    return "  ".join([*(parts or ["python"]), *([breaks] if breaks else [])])


def _operations(variant: dict) -> int:
    return len(re.findall(r"^\s*%\d+ = ", variant["graph"], re.MULTILINE))


def check(corpus: str, name: str, compiled) -> None:
    """The program's line is what the ledger says."""
    check_text(corpus, name, entry(compiled))


def check_text(corpus: str, name: str, actual: str) -> None:
    if os.environ.get("FUSEWIRE_UPDATE_GOLDENS") == "1":
        return _write(corpus, name, actual)
    lines = _read(FOLDER / f"{corpus}.txt")
    expected = lines.get(f"{name} {VERSION}", lines.get(name))
    same = actual == expected if corpus == "ops" else expected is not None and _gist(actual) == _gist(expected)
    assert same, (f"{name} captures\n  {actual}\n  {expected} says ledgers/{corpus}.txt; if that is meant, "
                                f"FUSEWIRE_UPDATE_GOLDENS=1 writes it")


def _gist(text: str) -> str:
    return " and ".join(re.findall(r"^python|whole(?= \d)|regions(?= \d)", text)) or text


def check_complete(corpus: str, names) -> None:
    """No line is left of a program that is no more."""
    if os.environ.get("FUSEWIRE_UPDATE_GOLDENS") == "1":
        return _edit(corpus, lambda lines: {key: text for key, text in lines.items() if _program(key) in set(names)})
    assert {_program(key) for key in _read(FOLDER / f"{corpus}.txt")} == set(names)


def _program(key: str) -> str:
    return re.sub(r" @\d\.\d+$", "", key)


@functools.cache
def _read(path: Path) -> dict[str, str]:
    return dict(line.split(" | ", 1) for line in path.read_text(encoding="utf-8").splitlines())


def _write(corpus: str, name: str, actual: str) -> None:
    def edit(lines: dict[str, str]) -> dict[str, str]:
        if VERSION == MAIN_VERSION or name not in lines:
            lines[name] = actual
        else:
            lines[f"{name} {VERSION}"] = actual
        return {key: text for key, text in lines.items() if _program(key) == key or text != lines[_program(key)]}

    _edit(corpus, edit)


def _edit(corpus: str, edit) -> None:
    """Several processes may be at it."""
    FOLDER.mkdir(exist_ok=True)
    with open(FOLDER / f"{corpus}.txt", "a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        lines = edit(dict(line.split(" | ", 1) for line in file.read().splitlines()))
        file.truncate(0)
        file.write("".join(f"{key} | {text}\n" for key, text in sorted(lines.items())))
