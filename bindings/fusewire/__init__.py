"""Fusewire: a just-in-time compiler for unmodified NumPy functions.

>>> import numpy as np, fusewire
>>> @fusewire.compile
... def scale(x, k):
...     return np.tanh(x) * k + 1

What can be compiled runs as native code; everything else runs as Python, with the reason on record:
``print(fusewire.explain(scale)(x, 2.0))``.
"""

__version__ = "0.1.0"

from fusewire import _api

_api._start(__version__)

from fusewire._api import CompiledFunction, compile, configure_logs, is_compiling, reset
from fusewire._backends import list_backends, register_backend
from fusewire._config import config
from fusewire._declare import (
    allow_in_graph,
    assume_constant_result,
    disable,
    graph_break,
    mark_dynamic,
    mark_static,
    substitute_in_graph,
)
from fusewire._errors import FusewireError, GraphBreakError, RecompileError, VerificationError
from fusewire._explain import Explanation, explain
from fusewire._graph import Graph
from fusewire._profile import load_profile, save_profile
from fusewire._stance import error_on_graph_break, set_stance
from fusewire._summary import summary
from fusewire import _places, _small_calls, _substitutes  # noqa: F401 - capture follows them from here on

__all__ = [
    "CompiledFunction",
    "Explanation",
    "FusewireError",
    "Graph",
    "GraphBreakError",
    "RecompileError",
    "VerificationError",
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "config",
    "configure_logs",
    "disable",
    "error_on_graph_break",
    "explain",
    "graph_break",
    "is_compiling",
    "list_backends",
    "load_profile",
    "mark_dynamic",
    "mark_static",
    "register_backend",
    "report",
    "reset",
    "save_profile",
    "set_stance",
    "substitute_in_graph",
    "summary",
]


def report(path=None):
    """Makes a page of what was compiled in this process, why not more, and what that costs.

    ``path``: where to write it; None keeps it in memory, and a notebook shows it. With a trace (the environment variable
    FUSEWIRE_TRACE) the page has times by source line, recompiles and a timeline; without one, what is known without.
    Needs Jinja2 and Pygments: ``pip install "fusewire[report]"``.
    """
    from fusewire._report.api import of_process

    return of_process(path)


def load_ipython_extension(ipython) -> None:
    """``%load_ext fusewire``: the cell magic ``%%fusewire`` compiles the functions that a cell defines."""
    from fusewire._notebook import register

    register(ipython)


def _declare_own() -> None:
    """Calls of these inside a compiled function run as Python, under a break reason of their own."""
    from fusewire import _fusewire

    for function in (
        set_stance,
        error_on_graph_break,
        type(config).patch,
        mark_dynamic,
        mark_static,
        register_backend,
        list_backends,
        load_profile,
        save_profile,
        reset,
        summary,
        report,
        compile,
        explain,
        disable,
        allow_in_graph,
        assume_constant_result,
        substitute_in_graph,
        configure_logs,
        _fusewire.set_stance,
        _fusewire.set_error_on_graph_break,
        _fusewire.change_settings,
    ):
        _fusewire.declare(function, "control", None)


_declare_own()
del _declare_own
