"""Fusewire: a just-in-time compiler for unmodified NumPy functions.

>>> import numpy as np, fusewire
>>> @fusewire.compile
... def scale(x, k):
...     return np.tanh(x) * k + 1

What can be compiled runs as one native function; everything else runs as Python, with the reason on record:
``print(fusewire.explain(scale)(x, 2.0))``.
"""

from fusewire._api import (
    CompiledFunction,
    compile,
    configure_logs,
    disable,
    is_compiling,
    reset,
)
from fusewire._explain import Explanation, explain

__version__ = "0.1.0"

__all__ = [
    "CompiledFunction",
    "Explanation",
    "compile",
    "configure_logs",
    "disable",
    "explain",
    "is_compiling",
    "reset",
]
