"""Cost of guards in nanoseconds per call of the stub, against the bounds that they have to keep.

Other load only adds to a round, so that a bound is judged by the least disturbed one; the median and the spread are shown.

Needs the extension module of the guard tests (a build with -Dtest_modules=true) on PYTHONPATH. Exit status 1 if a bound
is broken.
"""

import platform
import statistics
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "python"))
from test_guards import GuardSet, blank, nested, nested_set, t, two_arrays  # noqa: E402


def measure(s, args, calls, rounds=25):
    """Median and spread of ns per call; the stub must pass."""
    assert s.passes(*args)
    samples = []
    for _ in range(rounds):
        ns, failures = t.bench(s.h, args, blank, calls)
        assert failures == 0
        samples.append(ns)
    return statistics.median(samples), min(samples), max(samples)


def arrays():
    s = two_arrays()
    t.bound_slots(s.h, 2)
    s.build()
    return s, (np.zeros((5, 6)), np.ones((5, 6)))


def contained():
    s = GuardSet()
    for key in ("k3", "k50", "k99"):
        s.guard("dict_contains", s.arg(0), object=key)
    s.build()
    return s, ({f"k{i}": i for i in range(100)},)


def mixed_keys():
    keys = {**{f"k{i}": i for i in range(50)}, **{i: i for i in range(50)}}
    s = GuardSet()
    for key in ("k3", 7, 49):
        t.membership(s.h, s.arg(0), keys, key)
    s.build()
    return s, (keys,)


def module_attributes():
    s = GuardSet()
    module = s.source("const", obj=np)
    for name in ("sqrt", "exp", "add", "where", "sum"):
        s.guard("is", s.source("attr", module, obj=name), object=getattr(np, name))
    s.build()
    return s, ()


def in_set():
    members = {f"k{i}" for i in range(100)}
    s = GuardSet()
    for key in ("k3", "k50", "nothing"):
        t.membership(s.h, s.arg(0), members, key)
    s.build()
    return s, (members,)


def structure(leaves):
    data = nested(leaves)
    s = nested_set(data)
    start = time.perf_counter()
    s.build(sort=True)
    print(f"    {leaves} leaves: sorted and emitted in {(time.perf_counter() - start) * 1e3:.1f} ms")
    return s, (data,)


def disjoint():
    s = GuardSet()
    s.guard("disjoint", list=tuple(s.arg(i) for i in range(8)), lo=2)
    s.build()
    return s, tuple(np.zeros(100) for _ in range(8))


CASES = [  # name, set and arguments, calls, bound in ns
    ("two arrays, shapes equal", arrays, 1_000_000, 15),
    ("dict of 100 keys, 3 of them contained", contained, 1_000_000, 100),
    ("dict of 100 keys of two types, 3 contained", mixed_keys, 1_000_000, 100),
    ("set of 100 members, 3 tests", in_set, 1_000_000, 100),
    ("5 functions of a module", module_attributes, 1_000_000, None),
    ("8 arrays disjoint", disjoint, 300_000, 1000),
    ("nested structure of 1,000 leaves", lambda: structure(1000), 2000, 10_000),
    ("nested structure of 8,000 leaves", lambda: structure(8000), 200, None),
]


def main():
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}")
    broken = False
    for name, make, calls, bound in CASES:
        median, low, high = measure(*make(), calls)
        over = bound is not None and low > bound
        broken |= over
        print(f"{name:45} {low:10.1f} ns  (median {median:.1f}, up to {high:.1f})" + (f"  bound {bound}{'  BROKEN' if over else ''}" if bound else ""))
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
