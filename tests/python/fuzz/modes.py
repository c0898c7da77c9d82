"""The settings that programs are compiled with: one row each.

Not among them: backends that help to find a fault and do not promise floating-point reports (reference, numpy).
"""

from __future__ import annotations

import fusewire

_SETTINGS = {row["name"]: row for row in fusewire._fusewire.settings()}
_EVERYTHING = {"compile_all": True, "economy": False, "warm_up": 0}

# name: options of fusewire.compile
_ROWS = {
    "default": {},
    "checked": {"checked": True},
    "compile_all": {"compile_all": True},
    "economy_off": {"economy": False},
    "everything": _EVERYTHING,
    "everything_checked": {**_EVERYTHING, "checked": True},
    "avx512": {**_EVERYTHING, "isa": "avx512"},
    "avx2": {**_EVERYTHING, "isa": "avx2"},
    "portable": {**_EVERYTHING, "isa": "portable"},
    "unoptimised": {**_EVERYTHING, "backend": "llvm_o0", "verify_passes": True},
    "statements": {**_EVERYTHING, "backend": "statements"},   # the second oracle: writes one by one, no versions, no fusion
    "constant_sizes": {**_EVERYTHING, "dynamic": False},
}


def _host_has(isa: str) -> bool:
    flags = open("/proc/cpuinfo", encoding="utf-8").read()
    return {"avx512": "avx512f", "avx2": "avx2"}.get(isa, "") in flags


def _is_offered(options: dict) -> bool:
    choices = _SETTINGS["backend"]["help"].split(" - ")[0].split("|")
    return set(options) <= set(_SETTINGS) and options.get("backend", "llvm") in choices and _host_has(options.get("isa", "host"))


MODES: dict[str, dict] = {name: options for name, options in _ROWS.items() if _is_offered(options)}


def mode_of(name: str, seed: int) -> str:
    """`mixed` takes the modes in turn: of a seed the same on every machine, but for sets of instructions that it lacks."""
    if name != "mixed":
        return name
    wanted = list(_ROWS)[seed % len(_ROWS)]
    return wanted if wanted in MODES else "everything"
