"""Failures of Fusewire itself, which suites and fuzzers count as wrong whatever the program answered."""

from __future__ import annotations

import os
from pathlib import Path

PREFIX = "fusewire_failure_"


def left_in(folder: str | os.PathLike) -> set[Path]:
    """The reproducers of failures in a folder, whichever process has left them there."""
    return set(Path(folder).glob(PREFIX + "*.py"))


def first_line(reproducer: Path) -> str:
    return f"{reproducer}: {reproducer.read_text().splitlines()[0]}"


class Watch:
    """What has failed since it was made: in this process, and with a ``folder`` in others that leave reproducers there."""

    def __init__(self, folder: str | os.PathLike | None = None):
        from fusewire import _fusewire  # not above: whoever only reads what is left in a folder does not load it

        self.folder = Path(folder) if folder else None
        self._all = _fusewire.internal_failures
        self._reported = len(self._all())
        self._files = self._reproducers()

    def _reproducers(self) -> set[Path]:
        return left_in(self.folder) if self.folder else set()

    def new(self) -> list[str]:
        mine = self._all()[self._reported:]
        told = [f"{f['function']}: {f['message']}: {f['detail']} ({f['reproducer']})" for f in mine]
        known = {Path(f["reproducer"]) for f in mine}
        others = sorted(self._reproducers() - self._files - known)
        return told + [first_line(path) for path in others]

    def forget(self) -> None:
        for path in self._reproducers() - self._files:
            path.unlink()
