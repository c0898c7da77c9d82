"""Failures of Fusewire itself, which suites and fuzzers count as wrong whatever the program answered."""

from __future__ import annotations

import os
from pathlib import Path

from fusewire import _fusewire

PREFIX = "fusewire_failure_"


class Watch:
    """What has failed since it was made: in this process, and with a ``folder`` in others that leave reproducers there."""

    def __init__(self, folder: str | os.PathLike | None = None):
        self.folder = Path(folder) if folder else None
        self._reported = len(_fusewire.internal_failures())
        self._files = self._reproducers()

    def _reproducers(self) -> set[Path]:
        return set(self.folder.glob(PREFIX + "*.py")) if self.folder else set()

    def new(self) -> list[str]:
        mine = _fusewire.internal_failures()[self._reported:]
        told = [f"{f['function']}: {f['message']}: {f['detail']} ({f['reproducer']})" for f in mine]
        known = {Path(f["reproducer"]) for f in mine}
        others = sorted(self._reproducers() - self._files - known)
        return told + [f"{path}: {path.read_text().splitlines()[0]}" for path in others]

    def forget(self) -> None:
        for path in self._reproducers() - self._files:
            path.unlink()
