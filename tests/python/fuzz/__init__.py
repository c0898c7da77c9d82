"""Random programs, plain against compiled: the project's own adversary.

    python -m fuzz --generator aliasing --seed 0 --count 10000 --mode checked     (in tests/python)

A *generator* writes a program from a seed: the source of a module and a sequence of calls, all as text. `check` runs it plain
and compiled in lockstep and compares whatever a user could see; `modes` are the settings it is compiled with; `work` survives
crashes and hangs; `minimise` shrinks a program that differs. Programs that once differed are kept in `finds/` and run as tests,
beside a fixed sample of every generator (test_fuzz.py).

Documented differences (docs/differences.md) are kept out where programs are written, never by looking away where they are
compared: programs are exact unless they say how far floats may be apart.
"""

GENERATORS = ("aliasing", "bins", "branches", "draws", "dtypes", "elements", "errors", "handlers", "joins", "keyed", "lists", "loops", "machines", "matrices", "objects", "recompiles", "rows", "stacks", "stores", "tables", "yields")
