"""The report's data: reading traces in any state, what is told of them, comparisons, bundles, the command line."""

import html.parser
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import fusewire
from report_traces import HOSTILE, event, hostile_trace, large_trace, write_trace

pytest.importorskip("jinja2")
pytest.importorskip("pygments")

from fusewire._report import advice, bundle, compare, model, narrow, perfetto, render  # noqa: E402
from fusewire._report.api import of_traces  # noqa: E402

PROGRAM = """
import numpy as np, fusewire, sys

@fusewire.compile
def step(u, log):
    v = np.tanh(u) * 2
    print(v.shape, file=log)
    return np.exp(-v * v)

@fusewire.compile(dynamic=False)
def sized(x):
    return x * 2 + 1

with open("/dev/null", "w") as log:
    for i in range(60):
        step(np.linspace(0, 1, 500), log)
for n in (3, 4, 5):
    sized(np.ones(n))
"""


def run(arguments, **environment):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env={**os.environ, "FUSEWIRE_LOGS": "", **environment})


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("real")
    (folder / "program.py").write_text(PROGRAM)
    result = run([str(folder / "program.py")], FUSEWIRE_TRACE=str(folder / "trace"))
    assert result.returncode == 0, result.stderr
    return folder / "trace"


def lines_of(trace):
    (file,) = trace.glob("*.jsonl")
    return file.read_bytes().splitlines(keepends=True)


def model_from(folder, data: bytes):
    folder.mkdir(exist_ok=True)
    (folder / "fusewire-1.jsonl").write_bytes(data)
    return model.build(str(folder))


def test_what_is_told_of_a_program(trace):
    told = model.build(str(trace))
    assert not told["warnings"]
    by_name = {f["name"]: f for f in told["functions"]}
    step, sized = by_name["step"], by_name["sized"]
    assert step["calls"] == 60 and step["partly"] > 40 and step["ns"] > 0
    line = next(n for n, text in enumerate(PROGRAM.splitlines(), 1) if "print(" in text)
    assert step["lines"][line]["state"] == "python" and step["lines"][line]["python_ns"] > 0
    assert step["lines"][line - 1]["state"] == "compiled" and step["lines"][line + 1]["state"] == "compiled"
    assert sized["recompile_count"] == 2 and all(one["ms"] > 0 for one in sized["recompiles"])
    assert {"break", "recompile"} <= {item["kind"] for item in told["todo"]}
    printed = next(item for item in told["todo"] if item["kind"] == "break")
    assert printed["line"] == line and printed["source"] == "print(v.shape, file=log)" and printed["example"]["after"] and printed["cost_ns"] > 0
    assert told["processes"][0]["ended"] and told["processes"][0]["versions"]["numpy"]


def test_times_of_lines_are_part_of_the_calls(trace):
    step = next(f for f in model.build(str(trace))["functions"] if f["name"] == "step")
    assert 0 < step["native_ns"] + step["python_ns"] < step["ns"]


def test_graphs_kernels_and_code_belong_to_their_variants(trace):
    told = model.build(str(trace))
    for f in told["functions"]:
        for variant in f["variants"]:
            text = lambda key: told["texts"][variant[key]]
            assert "return" in text("graph") and text("plan").startswith("group 0") and text("kernel").startswith("kernel k0_")
            assert "define" in text("llvm") and ".text" in text("assembly") and variant["passes"]


def test_a_killed_writer(trace, tmp_path):
    lines = lines_of(trace)
    last = next(i for i, line in enumerate(lines) if b'"kind":"function"' in line)
    told = model_from(tmp_path / "t", b"".join(lines[:last]) + lines[last][:100])
    assert any("cut" in w for w in told["warnings"]) and not told["processes"][0]["ended"]
    step = next(f for f in told["functions"] if f["name"] == "step")
    assert step["variants"] and step["breaks"] and step["lines"]
    assert step["file"] >= 0  # read from the disk, as it is now
    assert of_traces("", None, model=told).html


def test_every_prefix_gives_a_report(trace, tmp_path):
    data = b"".join(lines_of(trace))
    for cut in range(0, len(data), max(len(data) // 40, 1)):
        told = model_from(tmp_path / "t", data[:cut])
        assert of_traces("", None, model=told).html


BROKEN = [b"{\n", b"\xff\xfe\n", b"[]\n", b"null\n", b"{}\n", b'{"kind": 1, "data": {}}\n', b'{"kind": "graph", "data": []}\n', b'{"kind": "call", "data": {"function": 3, "stretches": 4, "ns": "x"}}\n',
          b'{"kind": "recompile", "data": {"function": null, "misses": [1, {"reason": {}, "line": []}]}}\n', b'{"kind": "compiled", "data": {"ms": {"total": "x"}}}\n',
          b'{"kind": "function", "data": {"name": "f", "variants": 7, "regions": null}}\n', b'{"kind": "function", "data": {"name": "g", "variants": [{}], "regions": [{}]}}\n',
          b'{"kind": "process", "data": {"overhead": 3, "arguments": 4}}\n', b'{"kind": "source", "data": {"file": [], "text": 1}}\n', b"[" * 100_000 + b"\n", b'{"kind": "graph_break", "data": {"line": 1e999}}\n',
          b'{"kind": "guards", "data": {"function": "f", "guards": {"a": 1}, "ns": null}}\n', b"\n", b'{"kind": "compiled", "time_ns": true, "pid": "x", "data": {"function": "h"}}\n',
          b'{"kind": "__init__", "data": {}}\n']


@pytest.mark.parametrize("line", BROKEN, ids=lambda line: line[:40].decode("latin-1").strip())
def test_broken_lines(trace, tmp_path, line):
    lines = lines_of(trace)
    told = model_from(tmp_path / "t", b"".join(lines[:3]) + line + b"".join(lines[3:]))
    assert next(f for f in told["functions"] if f["name"] == "step")["calls"] == 60
    assert of_traces("", None, model=told).html


def test_a_broken_line_is_a_warning(trace, tmp_path):
    told = model_from(tmp_path / "t", b"".join([*lines_of(trace), b"{broken\n", b"{broken\n"]))
    assert told["warnings"] == [f"a line is not JSON; it is left out (fusewire-1.jsonl, line {len(lines_of(trace)) + 1}, and 1 more)"]


def test_two_processes_with_one_number(trace, tmp_path):
    data = b"".join(lines_of(trace))
    told = model_from(tmp_path / "t", data + data)
    assert len(told["processes"]) == 2 and any("same number" in w for w in told["warnings"])
    assert next(f for f in told["functions"] if f["name"] == "step")["calls"] == 120


def test_a_clock_that_jumps(tmp_path):
    day = 86_400 * 10**9
    events = [event("start", 10 * day, versions={}), event("recompile", 10 * day + 5, function="f", misses=[]),
              event("recompile", 3 * day, function="f", misses=[]), event("recompile", 30 * day, function="f", misses=[]), event("recompile", 30 * day + 7, function="f", misses=[])]
    told = model.build(str(write_trace(tmp_path, events)))
    assert any("clock" in w for w in told["warnings"])
    times = [item[2] for item in told["timeline"]["items"]]
    assert times == sorted(times) and max(times) < 1000


def test_other_schemas(tmp_path):
    events = [event("start", 1, versions={}), {**event("recompile", 2, function="f", misses=[]), "schema": 99, "more": 1}, {**event("unheard_of", 3), "schema": 99}]
    told = model.build(str(write_trace(tmp_path, events)))
    assert any("newer" in w for w in told["warnings"]) and told["functions"][0]["recompile_count"] == 1


def test_a_trace_of_version_1_opens():
    """What was written before calls were timed, kept as a file."""
    told = model.build(str(Path(__file__).parent / "traces" / "version1.jsonl"))
    assert {f["name"] for f in told["functions"]} >= {"step", "apply"} and not any("form" in w for w in told["warnings"])
    assert [item for item in told["todo"] if item["kind"] == "recompile"]
    assert of_traces("", None, model=told).html


def test_nothing_to_read(tmp_path):
    result = run(["-m", "fusewire", "report", str(tmp_path)])
    assert result.returncode == 2 and "there is no trace in" in result.stderr
    result = run(["-m", "fusewire", "report", str(tmp_path / "missing")])
    assert result.returncode == 2 and "cannot read the trace" in result.stderr


def test_the_size_of_a_page(tmp_path):
    told = model.build(str(large_trace(tmp_path, 10_000)))
    assert told["events"] >= 10_000
    assert len(of_traces("", None, model=told).html) < 2_000_000


class Elements(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.attributes = [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes


def test_the_page_is_one_file_and_text_is_no_html(tmp_path):
    page = of_traces(str(hostile_trace(tmp_path)), None).html
    seen = Elements()
    seen.feed(page)
    assert set(seen.tags) <= {"html", "head", "meta", "title", "style", "body", "a", "header", "span", "nav", "div", "input", "button", "main", "p", "dialog", "noscript", "script"}
    assert seen.tags.count("script") == 3 and not [value for name, value in seen.attributes if name in ("src", "onload", "onerror", "onclick")]
    policy = next(value for _, value in seen.attributes if value and "default-src" in value)
    assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
    assert "http://" not in re.sub(r"http://www\.w3\.org/2000/svg", "", page) and "https://" not in page
    for text in HOSTILE:
        assert text not in page


def test_scripts_make_no_html_and_no_code_of_data():
    for name in render.SCRIPTS:
        text = (render._PAGE / name).read_text()
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setTimeout\(\"|javascript:|fetch\(|XMLHttpRequest|import\(", text), name


KERNELS = """
import numpy as np, fusewire

@fusewire.compile
def poly(x, y):
    return x * x + y

@fusewire.compile
def shifted(x):
    return x[1:] - x[:-1]

@fusewire.compile
def summed(x):
    return np.sqrt(x).sum()

@fusewire.compile
def solved(a, b):
    return np.linalg.solve(a, b * 2) + 1

@fusewire.compile
def stepped(u, n):
    for _ in range(n):
        u = u * 0.5 + 1
    return u

@fusewire.compile
def looped(u, n):
    for _ in range(n):
        u = u * 0.5 + u.sum()
    return u

@fusewire.compile
def stored(u):
    u[1:] *= 0.5

@fusewire.compile
def mapped(x):
    return np.exp(x)

x, y = np.linspace(0.1, 1, 20_000), np.ones(20_000, np.float32)
for _ in range(12):
    poly(x, x), poly(y, y), shifted(x), summed(x), solved(np.eye(20), np.ones(20)), stepped(x, 7), looped(x, 300), stored(x.copy()), mapped(x)
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "k.py").write_text(KERNELS)
    result = run([str(folder / "k.py")], FUSEWIRE_TRACE=str(folder / "trace"), FUSEWIRE_ECONOMY="0")
    assert result.returncode == 0, result.stderr
    return model.build(str(folder / "trace"))


def parts_of(told, name):
    return [part for f in told["functions"] if f["name"] == name for v in f["variants"] for part in v["parts"]]


def test_kernels_are_timed_and_their_work_is_counted(kernels):
    n = 20_000
    # x and y are one array here, read once
    assert {(p["bytes"], p["operations"]) for p in parts_of(kernels, "poly")} == {(16 * n, 2 * n), (8 * n, 2 * n)}
    (part,) = parts_of(kernels, "shifted")
    assert (part["bytes"], part["operations"]) == (8 * n + 8 * (n - 1), n - 1)  # what is read twice counts once
    assert sum(p["operations"] for p in parts_of(kernels, "summed")) == 2 * n
    assert sum(p["operations"] for p in parts_of(kernels, "stepped")) == 7 * 2 * n  # unrolled
    looped = parts_of(kernels, "looped")
    assert max(p["runs"] for p in looped) % 300 == 0 and sum(p["operations"] for p in looped if p["runs"] >= 300) == 3 * n
    stored = parts_of(kernels, "stored")
    assert max(p["bytes"] for p in stored) >= 16 * (n - 1)
    (part,) = parts_of(kernels, "mapped")
    assert part["bytes"] == 16 * n and 10 * n < part["operations"] < 80 * n  # the polynomial
    for name in ("poly", "shifted", "summed", "solved", "stepped", "looped", "stored", "mapped"):
        assert parts_of(kernels, name) and all(p["ns"] > 0 and p["runs"] > 0 for p in parts_of(kernels, name)), name


def test_library_calls_are_timed(kernels):
    line = next(i for i, text in enumerate(KERNELS.splitlines(), 1) if "linalg" in text)
    (call,) = [p for p in parts_of(kernels, "solved") if p["group"] < 0]
    assert call["name"] == "np.linalg.solve" and call["line"] == line and call["bytes"] is None
    assert call["ns"] > 1000


def test_times_of_parts_are_within_those_of_calls(kernels):
    for f in kernels["functions"]:
        for v in f["variants"]:
            assert sum(p["ns"] * p["runs"] for p in v["parts"]) <= 1.05 * f["sampled"]["ns"], f["name"]


def test_the_machine_is_measured(kernels, tmp_path):
    most = kernels["ceiling"]
    assert 1e8 < most["operations"] < 1e13 and 1e8 < most["memory"] and most["memory"] < 2e12 and most["cache"] > 1e8
    code = "from fusewire._ceiling import ceiling; import json; print(json.dumps([ceiling() for _ in range(6)]))"
    told = json.loads(run(["-c", code], FUSEWIRE_CACHE_DIR=str(tmp_path / "c")).stdout)
    assert told[3] == told[4] == told[5] == json.loads((tmp_path / "c" / "ceiling.json").read_text()) and told[0]["tries"] == 1
    assert all(a[key] <= b[key] for a, b in zip(told, told[1:]) for key in ("operations", "memory", "cache"))
    for broken in ("{", "[]", '{"version": 1, "processor": "another", "operations": 1.0, "memory": 1.0, "cache": 1.0}'):
        (tmp_path / "c" / "ceiling.json").write_text(broken)
        made, *_ = json.loads(run(["-c", code], FUSEWIRE_CACHE_DIR=str(tmp_path / "c")).stdout)
        assert made["operations"] > 1e8


def test_strange_parts_are_no_parts(tmp_path):
    graph = "graph(s0: [0, inf]) {\n  %0 = input() {index=0} : f64[s0] line=3\n  return %0\n}\n"
    for parts in ([{"name": "k0_x", "group": 0, "commit": False, "runs": 0, "ns": 1.0}], [{"name": "call 99", "group": -1, "commit": False, "runs": 1, "ns": 1e999}],
                  [{"name": "call x", "group": -7, "commit": True, "runs": 3, "ns": -5.0, "bytes": "x", "operations": None}], "x", [3], [{}]):
        variant = {"guards": "", "guard_list": [], "sizes": [], "graph": graph, "plan": "", "kernels": 1, "hits": 5, "declines": 0, "guard_ns": 5.0, "trials": [],
                   "on_trial": False, "ms": {"total": 1.0}, "parts": parts, "symbols": {"s0": "x", "s1": 4}, "narrow": ["x", 1]}
        facts = {"name": "f", "file": "/x.py", "line": 1, "python_calls": 1, "partly_calls": 0, "variants": [variant], "breaks": [], "regions": [], "stops": []}
        told = model.build(str(write_trace(tmp_path, [event("start", 1), event("function", 2, **facts), event("process", 3, arguments=[], overhead={}, machine="", ceiling={"operations": "x"})])))
        assert of_traces("", None, model=told).html and told["ceiling"] is None


def test_a_trace_has_a_limit(tmp_path):
    code = "import numpy as np, fusewire\n@fusewire.compile(dynamic=False, recompile_limit=100)\ndef f(x):\n    return np.tanh(x) + x * x\nfor n in range(1, 60):\n    f(np.ones(n))\n"
    result = run(["-c", code], FUSEWIRE_TRACE=str(tmp_path / "t"), FUSEWIRE_TRACE_LIMIT="0.3")
    assert result.returncode == 0, result.stderr
    files = sorted((tmp_path / "t").glob("*.jsonl"))
    facts = sum(len(line) for file in files for line in file.read_bytes().splitlines() if b'"kind":"function"' in line)
    assert len(files) in (2, 3) and sum(file.stat().st_size for file in files) - facts < 500_000
    told = model.build(str(tmp_path / "t"))
    assert len(told["processes"]) == 1 and told["processes"][0]["ended"]
    assert any("limit" in w for w in told["warnings"]) and not any("same number" in w for w in told["warnings"])
    assert [f["name"] for f in told["functions"]] == ["f"] and told["functions"][0]["calls"] == 59
    assert "is not a number" in run(["-c", "import fusewire"], FUSEWIRE_TRACE_LIMIT="much").stderr


def test_ways_of_a_branch_are_no_size_that_changes(tmp_path):
    (tmp_path / "s.py").write_text("""import numpy as np, fusewire
@fusewire.compile
def step(u, frame):
    u = u * 0.5
    if frame % 10 == 0:
        u = u + 1
    return np.tanh(u)
@fusewire.compile
def tail(u, k):
    return u[k:] * 2 if len(u) > 8 else u
for frame in range(40):
    step(np.ones(100), frame), tail(np.ones(5 + frame % 7), 2)
""")
    assert run([str(tmp_path / "s.py")], FUSEWIRE_TRACE=str(tmp_path / "t")).returncode == 0
    items = [item for item in model.build(str(tmp_path / "t"))["todo"] if item["kind"] == "recompile"]
    assert {item["title"].split(":")[0] for item in items} == {"A branch on a number goes another way", "Sizes relate in another way to each other"}, items
    assert all(item["ignore"] and "nothing, where" in item["hint"] and "dynamic=False" not in item["hint"] for item in items)


def test_short_calls_are_counted_without_a_clock_each(tmp_path):
    code = "import numpy as np, fusewire\n@fusewire.compile\ndef f(x):\n    return x * 2 + 1\nx = np.ones(8)\nfor _ in range(40_000):\n    f(x)\n" \
           "import time\nbegin = time.perf_counter_ns()\nfor _ in range(20_000):\n    f(x)\nprint((time.perf_counter_ns() - begin) / 20_000)\n"
    result = run(["-c", code], FUSEWIRE_TRACE=str(tmp_path / "t"))
    (f,) = model.build(str(tmp_path / "t"))["functions"]
    assert f["calls"] == 60_000 and f["ns"] > 0
    assert f["ns"] / 60_000 < 6 * float(result.stdout) + 2000  # not off by the number of calls that one stands for


def test_what_float32_would_take_is_tried():
    graph = """graph(s0: [0, inf]) {
  %0 = input() {index=0} : f32[s0] line=3
  %1 = input() {index=1} : f64[1] line=3
  %2 = cast(%0) : f64[s0] line=3
  %3 = multiply(%2, %1) : f64[s0] line=3
  %4 = constant() {value=f64(0.5)} : f64 line=4
  %5 = add(%3, %4) : f64[s0] line=4
  return %5
}
"""
    other = narrow.narrowed(graph)
    assert "f64" not in other and "cast" not in other and "%2 = multiply(%0, %1) : f32[s0]" in other and "add(%2, %3)" in other
    assert fusewire.Graph(other).numpy_source()
    wide, slim = narrow.tried([{"graph": graph, "symbols": {"s0": 400_000}}])[0]
    assert 0 < slim < wide
    assert narrow.tried([{"graph": "nothing", "symbols": {}}, {"graph": graph, "symbols": {"s0": 1 << 40}}]) == [None, None]


def test_upcasts_are_found_where_they_begin():
    graph = """graph(s0: [0, inf]) {
  %0 = input() {index=0} : f32[s0] line=3
  %1 = input() {index=1} : f64[1] line=3
  %2 = cast(%0) : f64[s0] line=3
  %3 = multiply(%2, %1) : f64[s0] line=3
  %4 = add(%3, %3) : f64[s0] line=4
  return %4
}
"""
    assert advice.upcasts(graph) == {3: 2, -1: 3}
    assert not advice.upcasts(graph.replace("f32", "f64").replace("cast", "negative"))
    assert not advice.upcasts(graph.replace("f32[s0]", "f32"))  # a number


def test_comparison(trace, tmp_path):
    same = model.build(str(trace))
    assert not compare.compare(same, model.build(str(trace)), "a", "b")["changes"]
    text = (trace.parent / "program.py").read_text()
    other = tmp_path / "program.py"
    other.write_text(text.replace("    print(v.shape, file=log)\n", "").replace("for n in (3, 4, 5)", "for n in (3, 4, 5, 6, 7)"))
    assert run([str(other)], FUSEWIRE_TRACE=str(tmp_path / "t")).returncode == 0
    new = model.build(str(tmp_path / "t"))
    kinds = {(c["kind"], c["function"], c["worse"]) for c in compare.compare(same, new, "a", "b")["changes"]}
    assert ("break gone", "step", False) in kinds and ("recompiles", "sized", True) in kinds
    assert ("new break", "step", True) in {(c["kind"], c["function"], c["worse"]) for c in compare.compare(new, same, "a", "b")["changes"]}
    result = run(["-m", "fusewire", "report", "--baseline", str(trace), str(tmp_path / "t"), "--json"])
    assert result.returncode == 1 and json.loads(result.stdout)["worse"] >= 1
    result = run(["-m", "fusewire", "report", "--baseline", str(trace), str(trace), "--json"])
    assert result.returncode == 0 and json.loads(result.stdout)["changes"] == []


def test_perfetto(trace, tmp_path):
    out = tmp_path / "out.json"
    assert run(["-m", "fusewire", "report", str(trace), "--perfetto", str(out)]).returncode == 0
    events = json.loads(out.read_text())["traceEvents"]
    assert {"X", "i", "M"} == {e["ph"] for e in events} and any(e["name"] == "codegen" for e in events)
    assert all(e["dur"] >= 0 and e["ts"] >= 0 for e in events if e["ph"] == "X")
    assert perfetto.trace_events(model.build(str(trace)))["traceEvents"] == events


def test_bundle(trace, tmp_path):
    for redact in (False, True):
        out = tmp_path / f"{redact}.zip"
        names = bundle.write_bundle(str(trace), str(out), redact)
        assert {"report.html", "versions.json", "trace/trace-0.jsonl"} <= set(names)
        with zipfile.ZipFile(out) as archive:
            text = archive.read("trace/trace-0.jsonl").decode()
        assert ("np.tanh(u) * 2" in text) is not redact and (str(trace.parent) in text) is not redact
        folder = tmp_path / f"again{redact}"
        with zipfile.ZipFile(out) as archive:
            archive.extractall(folder)
        again = model.build(str(folder / "trace"))
        assert next(f for f in again["functions"] if f["name"] == "step")["calls"] == 60


def test_run_makes_a_page_of_a_script_that_fails(tmp_path):
    (tmp_path / "s.py").write_text("import sys, numpy as np, fusewire\n@fusewire.compile\ndef f(x):\n    return x + 1\nfor _ in range(5): f(np.ones(3))\n1 / int(sys.argv[1])\n")
    for argument, status in (("1", 0), ("0", 1)):
        result = run(["-m", "fusewire", "run", "--report", str(tmp_path / "r.html"), str(tmp_path / "s.py"), argument])
        assert result.returncode == status and "compiled" in result.stderr.lower() and (status == 0 or "ZeroDivisionError" in result.stderr)
        assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")
        (tmp_path / "r.html").unlink()


def test_report_of_this_process(tmp_path):
    import numpy as np

    @fusewire.compile
    def reported(x):
        return np.tanh(x) + 1

    for _ in range(3):
        reported(np.ones(4))
    made = fusewire.report(tmp_path / "r.html")
    assert made.path and Path(made.path).stat().st_size < 2_000_000 and "sandbox" in made._repr_html_()
    assert "FUSEWIRE_TRACE" in str(model_warnings(made)) and fusewire.report().path is None


def model_warnings(made):
    import base64
    import gzip

    packed = re.search(r'id="model">([^<]*)<', made.html)[1]
    return json.loads(gzip.decompress(base64.b64decode(packed)))["warnings"]


def test_what_is_missing_is_said(tmp_path):
    hide = "import sys; sys.modules['jinja2'] = None\nimport fusewire\ntry:\n    fusewire.report()\nexcept ImportError as e:\n    print(e)\n"
    assert 'pip install "fusewire[report]"' in run(["-c", hide]).stdout


def test_the_report_is_not_loaded_by_import():
    assert "False" in run(["-c", "import sys, fusewire; print('fusewire._report' in sys.modules or 'jinja2' in sys.modules)"]).stdout


def test_the_package_has_all_files_of_the_page():
    source = Path(__file__).resolve().parents[2] / "bindings"
    listed = set(re.findall(r"'fusewire/(_report/\S+\.\w+)'", (source / "meson.build").read_text()))
    files = {str(path.relative_to(source / "fusewire")) for path in (source / "fusewire" / "_report").rglob("*") if path.is_file() and "__pycache__" not in str(path)}
    assert listed == files
    assert {path.name for path in render._PAGE.glob("*.js")} == set(render.SCRIPTS)
