"""Types that nobody has readied, or that lack an MRO, bases or a dict: capture leaves them to Python, which may do with them
what it does without looking anything up."""

import subprocess
import sys

import pytest

_fw_types_test = pytest.importorskip("_fw_types_test")

NAMES = ("Unready", "WithoutMro", "WithoutBases", "WithoutDict")

# What CPython does with such a type and its instances without asking the type for anything.
USES = {
    "made": "def f(x, T, o): t = T(3); return x * 2 + len(t) + t[1]",
    "argument": "def f(x, T, o): return x * len(o) + o[2]",
    "called": "def f(x, T, o): return x * o()",
    "truth": "def f(x, T, o): return x + 1 if o else x - 1",
    "kept": "def f(x, T, o): y = x + 1; k = [o, (o, T)]; return y * len(k)",
    "stored": "def f(x, T, o):\n    class C: pass\n    c = C(); c.o = o; c.T = T\n    return x + len(c.o)",
    "identity": "def f(x, T, o): return x * (1 + (type(o) is T) + (o is not None))",
    "isinstance": "def f(x, T, o): return x * (1 + isinstance(o, T))",
    "isinstance of another": "def f(x, T, o): return x * (1 + isinstance(x, T) + isinstance(x, (T, int)))",
    "issubclass": "def f(x, T, o): return x * (1 + issubclass(int, T))",
    "added": "def f(x, T, o): return x * (o + 1)",
    "compared": "def f(x, T, o): return x * (1 + (o == o) + (o != 3))",
    "matched": "def f(x, T, o):\n    if not ATTRIBUTES: return x\n    match o:\n        case int(): return x\n        case list(): return x - 1\n        case _: return x + 1",
    "iterated": "def f(x, T, o):\n    if not ATTRIBUTES: return x  # specialization looks up __getitem__\n    for i in range(len(o)): x = x + o[i]\n    return x",
    "global": "def f(x, T, o): return x * len(O)",
    "closure": "def make(T, o):\n    def f(x, _T, _o): return x * len(o) + (type(o) is T)\n    return f\nf = make(T, O)",
    "default": "def f(x, T, o, d=O): return x * len(d)",
    "key": "def f(x, T, o):\n    d = {T: 2}\n    return x * d[T]",
    "in a container": "def f(x, T, o): return x * len(LIST[0])",
    "caught": "def f(x, T, o):\n    try: raise KeyError(o)\n    except KeyError as e: return x * len(e.args[0])",
    "returned": "def f(x, T, o): y = x + 1; return y.sum(), type(o) is T, o is O",
    "unknown attribute": "def f(x, T, o): return x * (2 if ATTRIBUTES and hasattr(o, 'nothing') else 3)",
    "class attribute": "def f(x, T, o): return x * (len(T.__name__) if ATTRIBUTES else 3)",
    "base": "def f(x, T, o):\n    if not ATTRIBUTES: return x\n    class D(T): pass\n    return x * issubclass(D, T)",
}

PROGRAM = """
import sys, numpy as np, _fw_types_test
T = getattr(_fw_types_test, {name!r})
O = T(3)
LIST = [O]
ATTRIBUTES = {name!r} == "Unready"  # the others end plain Python there
x = np.arange(4.0)
{use}
def call(g):
    try: return repr(g(x, T, O))
    except Exception as error: return repr(error)
ready = _fw_types_test.is_ready(T)
if len(sys.argv) > 1:
    import fusewire
    f = fusewire.compile(f, economy=False, compile_all=True)
    out = [call(f) for _ in range(3)]
else:
    out = [call(f) for _ in range(3)]
print(out)
print("ready" if _fw_types_test.is_ready(T) else "not ready")
"""


@pytest.mark.parametrize("name", NAMES)
def test_plain_and_compiled(name):
    """All uses in two processes; one that dies tells by itself which it was. CPython from 3.12 on looks types up more
    often, and does not live through some of them."""
    program = "import subprocess, sys\n"
    for how in ((), ("compiled",)):
        code = "\n".join(
            f"print({use!r}, flush=True)\nexec({PROGRAM.format(name=name, use=source)!r}, {{}})" for use, source in USES.items()
        )
        result = subprocess.run([sys.executable, "-c", program + code, *how], capture_output=True, text=True)
        last = result.stdout.splitlines()[-1:]
        if not how and result.returncode < 0:
            pytest.skip(f"this Python itself ends at {last} with such a type")
        assert result.returncode == 0, f"{how}: ended by {result.returncode} at {last}\n{result.stderr}"
        lines = result.stdout.splitlines()
        if not how:
            plain = lines
    for expected, actual in zip(plain, lines, strict=True):
        assert actual == expected or (expected, actual) == ("ready", "not ready"), "readied by the look of capture"


def test_the_type_of_cpythons_own_tests():
    code = ("import fusewire, _testbuffer\n"
            "f = fusewire.compile(lambda: _testbuffer.ndarray([1], (1,), format='i'))\n"
            "print([f().tolist() for _ in range(3)])\n")
    pytest.importorskip("_testbuffer")
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.strip() == "[[1], [1], [1]]", (result.returncode, result.stderr)
