"""Another LLVM in the same process: import order must not matter, and both must generate working code."""

import subprocess
import sys

import pytest

FUSEWIRE = """
import numpy as np, fusewire
f = fusewire.compile(lambda x: np.tanh(x) * 2)
x = np.linspace(-2, 2, 100)
assert np.allclose(f(x), np.tanh(x) * 2)
assert fusewire._fusewire.describe(f)["variants"]
"""
LLVMLITE = """
import ctypes, llvmlite.binding as llvm
llvm.initialize_native_target(); llvm.initialize_native_asmprinter()
module = llvm.parse_assembly("define i64 @triple(i64 %x) { %y = mul i64 %x, 3 ret i64 %y }")
engine = llvm.create_mcjit_compiler(module, llvm.Target.from_default_triple().create_target_machine())
engine.finalize_object()
triple = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(engine.get_function_address("triple"))
assert triple(14) == 42
"""


@pytest.mark.parametrize("first, second", [(FUSEWIRE, LLVMLITE), (LLVMLITE, FUSEWIRE)], ids=["before", "after"])
def test_llvmlite(first, second):
    pytest.importorskip("llvmlite")
    result = subprocess.run([sys.executable, "-c", first + second + first], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_only_the_init_function_is_exported():
    import fusewire

    symbols = subprocess.run(["nm", "-D", "--defined-only", fusewire._fusewire.__file__], capture_output=True, text=True)
    assert symbols.returncode == 0, symbols.stderr
    # The others are what GDB looks for; each library in a process may have them.
    assert {line.split()[-1] for line in symbols.stdout.splitlines()} == {"PyInit__fusewire", "__jit_debug_register_code", "__jit_debug_descriptor"}
