"""What profilers and debuggers from outside see of compiled code: perf's map and dump, GDB, and those of Python."""

import importlib.util
import json
import os
import re
import shutil
import struct
import subprocess
import sys

import pytest

PROGRAM = """
import os, signal, sys
import numpy as np, fusewire

@fusewire.compile
def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)

@fusewire.compile
def told(x, log):
    y = np.tanh(x) * 2
    print(y.shape, file=log)
    return np.exp(-y * y)

def main(calls):
    x = np.random.default_rng(0).normal(size=(100, 300))
    with open(os.devnull, "w") as log:
        for _ in range(calls):
            softmax(x)
            told(x, log)
    return x

x = main(int(sys.argv[1]))
print("pid", os.getpid(), flush=True)
if len(sys.argv) > 2:
    os.kill(os.getpid(), signal.SIGTRAP)
    softmax(x)
"""
EXP = 1 + next(n for n, line in enumerate(PROGRAM.splitlines()) if "np.exp(x" in line)
TANH = 1 + next(n for n, line in enumerate(PROGRAM.splitlines()) if "np.tanh" in line)
NAMES = {f"softmax:{EXP}-{EXP + 1}", f"told:{TANH}", f"told:{TANH + 2}"}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("profilers") / "program.py"
    path.write_text(PROGRAM)
    return path


def environment(**more):
    return {**os.environ, "FUSEWIRE_LOGS": "", "FUSEWIRE_ECONOMY": "0", **more}


def run(program, *arguments, before=(), **more):
    result = subprocess.run([*before, sys.executable, str(program), *arguments], capture_output=True, text=True, env=environment(**more), timeout=300)
    assert result.returncode == 0, result.stderr
    return result.stdout, int(re.search(r"pid (\d+)", result.stdout)[1])


@pytest.fixture(scope="module")
def told(program):
    _, pid = run(program, "20", FUSEWIRE_PERF="1")
    files = [f"/tmp/perf-{pid}.map", f"/tmp/jit-{pid}.dump"]
    yield [open(name, "rb").read() for name in files]
    for name in files:
        os.unlink(name)


def rows_of(data):
    rows = [line.split(" ", 2) for line in data.decode().splitlines()]
    return [(int(address, 16), int(size, 16), name) for address, size, name in rows]


def test_the_map_names_functions_by_their_lines(told):
    rows = rows_of(told[0])
    assert NAMES <= {name for _, _, name in rows}
    assert all(address > 4096 and 0 < size < 1 << 20 for address, size, _ in rows)


def test_the_dump_holds_the_code(told):
    data, records = told[1], {}
    magic, version, size, machine = struct.unpack_from("<4I", data)
    assert (magic, version, size, machine) == (0x4A695444, 1, 40, 62)
    at, times = size, []
    while at < len(data):
        kind, length, time = struct.unpack_from("<IIQ", data, at)
        _, _, address, _, code_size, _ = struct.unpack_from("<IIQQQQ", data, at + 16)
        name, code = data[at + 56:at + length].split(b"\0", 1)
        assert kind == 0 and len(code) == code_size
        records[name.decode()] = (address, code)
        times.append(time)
        at += length
    assert at == len(data) and times == sorted(times) and NAMES <= records.keys()
    assert {(address, len(code), name) for name, (address, code) in records.items()} <= set(rows_of(told[0]))
    assert records[f"softmax:{EXP}-{EXP + 1}"][1][:1] == b"\x55"  # push rbp: there are frame pointers


def test_nothing_is_written_without_being_asked_for(program):
    _, pid = run(program, "2")
    assert not os.path.exists(f"/tmp/perf-{pid}.map") and not os.path.exists(f"/tmp/jit-{pid}.dump")


def test_a_child_writes_files_of_its_own(program):
    code = f"exec(open({str(program)!r}).read())\nimport os\nif os.fork() == 0:\n    @fusewire.compile\n    def late(x): return np.tanh(x) + 1\n    late(np.ones(3))\n    print('child', os.getpid(), flush=True)\n    os._exit(0)\nos.wait()\n"
    result = subprocess.run([sys.executable, "-c", code, "3"], capture_output=True, text=True, env=environment(FUSEWIRE_PERF="1"))
    assert result.returncode == 0, result.stderr
    parent, child = (int(re.search(rf"{who} (\d+)", result.stdout)[1]) for who in ("pid", "child"))
    names = {pid: {name.split(":")[0] for _, _, name in rows_of(open(f"/tmp/perf-{pid}.map", "rb").read())} for pid in (parent, child)}
    for pid in names:
        os.unlink(f"/tmp/perf-{pid}.map")
        os.unlink(f"/tmp/jit-{pid}.dump")
    assert "late" in names[child] and "softmax" in names[child] and "late" not in names[parent]


def works(*command):
    return shutil.which(command[0]) and subprocess.run(command, capture_output=True).returncode == 0


@pytest.mark.skipif(not works("perf", "record", "-e", "cpu-clock", "-o", "/dev/null", "true"), reason="perf does not run here")
def test_perf_sees_names(program, tmp_path):
    data = tmp_path / "perf.data"
    _, pid = run(program, "3000", before=("perf", "record", "-q", "-k", "mono", "-e", "cpu-clock", "-o", str(data)), FUSEWIRE_PERF="1")
    text = subprocess.run(["perf", "report", "-i", str(data), "--stdio", "--sort", "symbol"], capture_output=True, text=True).stdout
    os.unlink(f"/tmp/perf-{pid}.map")
    os.unlink(f"/tmp/jit-{pid}.dump")
    assert f"softmax:{EXP}-{EXP + 1}" in text, text[:3000]


@pytest.mark.skipif(not works("gdb", "--version"), reason="gdb is not installed")
def test_gdb_names_frames_of_compiled_code(program):
    commands = ["set debuginfod enabled off", "set breakpoint pending on", "run", "python rows = [line.split(' ', 2) for line in open('/tmp/perf-%d.map' % gdb.selected_inferior().pid)]",
                "python gdb.execute('hbreak *0x' + next(row[0] for row in rows if row[2].startswith('softmax')))", "signal 0", "bt 3", "kill"]
    result = subprocess.run(["gdb", "-nx", "-batch", *(f"-ex={c}" for c in commands), "--args", sys.executable, str(program), "20", "trap"],
                            capture_output=True, text=True, env=environment(FUSEWIRE_PERF="1"), timeout=300)
    if "ptrace" in result.stderr or "Couldn't insert" in result.stdout + result.stderr:
        pytest.skip(f"gdb may not watch processes here: {result.stderr[-300:]}")
    pid = int(re.search(r"pid (\d+)", result.stdout)[1])
    os.unlink(f"/tmp/perf-{pid}.map")
    os.unlink(f"/tmp/jit-{pid}.dump")
    assert re.search(rf"#0 .*softmax:{EXP}-{EXP + 1}", result.stdout), result.stdout[-3000:] + result.stderr[-2000:]


# Tools inside of Python: they see what they would see of the functions undecorated.
PLAIN = "import fusewire; fusewire.compile = lambda f: f\n"


def test_cprofile_sees_the_same_calls(program):
    code = "import cProfile, pstats, json, sys\nexec(open(sys.argv[1]).read().split('x = main(')[0])\nmain(5)\np = cProfile.Profile()\np.runcall(main, 4)\n" \
           "print(json.dumps(sorted((f[2], v[0]) for f, v in pstats.Stats(p).stats.items() if f[2] in ('softmax', 'told', 'main', '<built-in method builtins.print>'))))"
    seen = [json.loads(subprocess.run([sys.executable, "-c", before + code, str(program)], capture_output=True, text=True, check=True, env=environment()).stdout) for before in ("", PLAIN)]
    assert seen[0] == seen[1] and ["softmax", 4] in seen[0] and ["told", 4] in seen[0]


def has(name):
    return importlib.util.find_spec(name) is not None


@pytest.mark.skipif(not has("coverage"), reason="coverage is not installed")
def test_coverage_sees_all_lines(program, tmp_path):
    run_ = lambda *a: subprocess.run([sys.executable, "-m", "coverage", *a], capture_output=True, text=True, env=environment(COVERAGE_FILE=str(tmp_path / "c")))
    assert run_("run", str(program), "4").returncode == 0
    told = run_("json", "-o", str(tmp_path / "c.json"), f"--include={program}")
    assert told.returncode == 0, told.stdout + told.stderr
    (file,) = json.loads((tmp_path / "c.json").read_text())["files"].values()
    lines = PROGRAM.splitlines()
    assert {lines[n - 1].strip() for n in file["missing_lines"]} <= {"os.kill(os.getpid(), signal.SIGTRAP)", "softmax(x)"}


@pytest.mark.skipif(not has("viztracer"), reason="viztracer is not installed")
def test_viztracer_sees_the_calls(program, tmp_path):
    out = tmp_path / "v.json"
    result = subprocess.run([sys.executable, "-m", "viztracer", "-o", str(out), "--", str(program), "4"], capture_output=True, text=True, env=environment())
    assert result.returncode == 0, result.stderr
    names = [e["name"] for e in json.loads(out.read_text())["traceEvents"] if e.get("ph") == "X"]
    assert sum(name.startswith("softmax") for name in names) == 4 and sum(name.startswith("told") for name in names) == 4


@pytest.mark.skipif(not shutil.which("py-spy", path=os.path.dirname(sys.executable)), reason="py-spy is not installed")
def test_py_spy_sees_who_calls_compiled_code(program, tmp_path):
    out, spy = tmp_path / "s.txt", shutil.which("py-spy", path=os.path.dirname(sys.executable))
    result = subprocess.run([spy, "record", "-r", "200", "-f", "raw", "-o", str(out), "--", sys.executable, str(program), "3000"], capture_output=True, text=True, env=environment())
    if result.returncode and "ermission" in result.stderr:
        pytest.skip("py-spy may not watch processes here")
    assert result.returncode == 0, result.stderr
    text = out.read_text()
    assert re.search(r"main \(.*program\.py:\d+\)", text), text[:2000]
    assert re.search(r"main \(\S*program\.py:\d+\);told ", text), text[:2000]  # a function with regions is on the stack itself
