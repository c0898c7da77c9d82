"""NumPy programs in their textbook form, unmodified. Each file is one field and ends with its table: the name of a program, the
function, its arguments for a size, and the size that bench/loops.py measures."""

from . import generators, graphs, grids, images, keyed, learning, library, machines, matrices, searches, sequences, signals, stencils, worklists

PROGRAMS = {name: row for field in (stencils, matrices, signals, images, sequences, learning, library, worklists, keyed, generators, machines, searches, graphs, grids) for name, row in field.PROGRAMS.items()}
