"""The structure of the source: rooms include only rooms below them, and files keep the sizes of the conventions."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Room -> rooms it may include. graph, runtime, kernels and jit never see Python.
MAY_INCLUDE = {
    "graph": {"graph"},
    "runtime": {"graph", "runtime"},
    "kernels": {"graph", "kernels"},
    "jit": {"graph", "runtime", "kernels", "jit"},
    "cpython": {"cpython"},
    "guards": {"graph", "cpython", "guards"},
    "frame_eval": {"graph", "cpython", "guards", "frame_eval"},
    "bindings": {"graph", "runtime", "kernels", "jit", "cpython", "guards", "frame_eval", "bindings"},
}
# Of a room below: what is decided there is decided when the upper one is called. jit turns kernels and steps into code.
ANOTHERS_WORK = {"jit": re.compile(r"graph/(passes/|verifier|evaluator|parser|alias|views|infer)|kernels/(lower|access_proof|place_proof|group_emitter|builder)")}
WITHOUT_PYTHON = {"graph", "runtime", "kernels", "jit"}


def sources():
    for room in MAY_INCLUDE:
        folder = ROOT / "bindings" if room == "bindings" else ROOT / "src" / room
        for path in sorted(folder.rglob("*")):
            if path.suffix in {".h", ".cpp", ".def"}:
                yield room, path


def test_include_order():
    wrong = []
    for room, path in sources():
        for line in path.read_text().splitlines():
            if found := re.match(r'#include "([a-z_]+)/', line):
                if found[1] in MAY_INCLUDE and found[1] not in MAY_INCLUDE[room]:
                    wrong.append(f"{path.relative_to(ROOT)} includes {found[1]}")
            if found and room in ANOTHERS_WORK and ANOTHERS_WORK[room].match(line, len('#include "')):
                wrong.append(f"{path.relative_to(ROOT)}: {line}")
            if "Python.h" in line and line.startswith("#include") and room in WITHOUT_PYTHON:
                wrong.append(f"{path.relative_to(ROOT)} includes Python.h")
    assert not wrong, wrong


def test_only_the_cpython_room_knows_versions():
    wrong = [str(path.relative_to(ROOT)) for room, path in sources()
             if room != "cpython" and re.search(r"PY_VERSION_HEX|Py_BUILD_CORE", path.read_text())]
    assert not wrong, wrong


def test_one_place_compares_names_of_numpy():
    wrong = [f"{path.relative_to(ROOT)}: {line.strip()}" for _, path in sources() if path.name != "numpy_names.cpp"
             for line in path.read_text().splitlines() if '"numpy' in line and re.search(r"[!=]= *\S*\"numpy|string_view|find|substr|with\(", line)]
    assert not wrong, wrong


def test_capture_looks_up_in_classes_by_one_function():
    """Guards on classes are about the look-ups that it notes."""
    wrong = [str(path.relative_to(ROOT)) for room, path in sources()
             if room == "frame_eval" and "_PyType_Lookup(" in path.read_text() and path.name != "type_lookups.cpp"]
    assert not wrong, wrong


@pytest.mark.parametrize("suffix, limit", [(".cpp", 600), (".h", 250)])
def test_file_sizes(suffix, limit):
    wrong = {str(path.relative_to(ROOT)): n for _, path in sources()
             if path.suffix == suffix and (n := len(path.read_text().splitlines())) > limit}
    assert not wrong, wrong


def test_format():
    """As `make format` leaves it."""
    tool = shutil.which("clang-format", path=Path(sys.executable).parent)
    if tool is None:
        pytest.skip("clang-format is not installed beside this Python")
    files = [path for room in ("src", "bindings", "tests", "bench") for path in sorted((ROOT / room).rglob("*.[ch]*"))
             if path.suffix in {".h", ".cpp"}]
    result = subprocess.run([tool, "--dry-run", "-Werror", *files], capture_output=True, text=True)
    wrong = sorted({str(Path(line.split(":")[0]).relative_to(ROOT)) for line in result.stderr.splitlines() if ": error:" in line})
    assert not wrong, f"make format changes {wrong}"


def test_tables_have_unique_rows():
    for path in sorted((ROOT / "src").rglob("*.def")):
        ids = re.findall(r"^FW_\w+\((\w+),", path.read_text(), re.M)
        assert len(ids) == len(set(ids)), path


def test_capture_reads_the_mro_by_one_function():
    """A type need not be ready: mroOf() breaks the graph there."""
    fields = re.compile(r"->tp_(mro|bases)\b")
    wrong = [str(path.relative_to(ROOT)) for _, path in sources()
             if path.name not in ("types.h", "class_facts.cpp") and fields.search(path.read_text())]
    assert not wrong, wrong


def test_switches_over_rows_name_all_of_them():
    """So that the compiler says where a new row is forgotten."""
    wrong = []
    for path in (path for room, path in sources() if room in WITHOUT_PYTHON):
        labels = ""
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if found := re.search(r"\bcase (?:\w+::)*(\w+)::k\w+:", line):
                labels = found[1]
            elif re.search(r"\bswitch \(", line):
                labels = ""
            elif re.search(r"\bdefault:", line) and labels:
                wrong.append(f"{path.relative_to(ROOT)}:{number}: a default among {labels}")
    assert not wrong, wrong


@pytest.mark.skipif(not shutil.which("objdump"), reason="needs binutils")
def test_the_extension_runs_with_old_libraries():
    """What the wheel promises (glibc 2.34, the C++ library of GCC 11) is seen without building it."""
    import fusewire

    symbols = subprocess.run(["objdump", "-T", fusewire._fusewire.__file__], capture_output=True, text=True, check=True).stdout
    newest = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13)}
    needed = re.findall(r"\((GLIBC|GLIBCXX|CXXABI)_([\d.]+)\)\s+(\S+)", symbols)
    assert needed
    assert not [name for library, version, name in needed if tuple(map(int, version.split("."))) > newest[library]]
