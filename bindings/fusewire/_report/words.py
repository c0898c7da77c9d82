"""Times as the page writes them."""

from __future__ import annotations

from fusewire import _verdict


def time_text(ns: float) -> str:
    return _verdict.time_text(ns).replace(" us", " \N{MICRO SIGN}s")
