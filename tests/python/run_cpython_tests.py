"""CPython's own regression tests with every Python function compiled, against the same tests as plain Python.

    python tests/python/run_cpython_tests.py [--modules test_dict,test_list] [--wide] [--json FILE] [--jobs 2] [--timeout 600]

Each module of the interpreter's `test` package runs in processes of its own: twice plain, so that tests which do not agree
with themselves are known, and once with FUSEWIRE_COMPILE_ALL=1. Outcomes are compared test method by test method. A crash
or a hang is the outcome of the test that was running; the rest of the module then runs in a new process. The exit status
is 1 if any outcome differs.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

# Those that must be the same. Names differ between versions of Python; what an interpreter does not have is left out.
MODULES = """
test_dict test_list test_set test_tuple test_int test_long test_float test_bool test_str test_unicode test_string test_bytes
test_generators test_genexps test_generator_stop test_yield_from test_pep380
test_exceptions test_except_star test_exception_group test_exception_variations test_raise test_baseexception
test_with test_scope test_global test_descr test_descrtut test_property test_metaclass test_subclassinit
test_dataclasses test_enum test_functools test_itertools
test_collections test_deque test_defaultdict test_ordered_dict test_userdict test_userlist test_contextlib test_operator
test_patma test_listcomps test_dictcomps test_setcomps test_iter test_enumerate test_range test_slice
test_call test_keywordonlyarg test_positional_only_arg test_extcall test_unpack test_unpack_ex test_named_expressions
test_augassign test_binop test_unary test_compare test_richcmp test_contains test_isinstance test_typechecks test_hash
test_super test_sys_settrace test_sys_setprofile test_traceback test_inspect test_weakref test_copy test_math test_builtin
test_decorators test_class test_opcodes test_grammar test_fstring test_funcattrs test_frame test_sort test_heapq
""".split()
WIDE = """
test_coroutines test_asyncgen test_types test_typing test_code test_gc test_bdb test_monitoring test_trace test_cprofile
test_threading_local test_context test_complex test_pow test_format test_index test_dynamicclassattribute test_abc
test_statistics test_fractions test_decimal test_random test_json test_string_literals test_bisect test_pprint test_reprlib
test_textwrap test_shlex test_configparser test_optparse test_ast test_compile test_dis test_peepholer test_syntax
test_threading test_queue test_weakset test_pickle test_struct test_array test_memoryview test_format test_print
""".split()

RESTARTS = 12  # processes that a module may use up with crashes and hangs
COMPILE_ALL = "FUSEWIRE_COMPILE_ALL"


# ---- in the child -------------------------------------------------------------------------------------------------------

def child(module: str, report: str, done: list[str]) -> None:
    """Runs the tests of `module` that are not in `done`; writes a line when a test starts and when it ends."""
    del sys.path[0]  # the folder of this file holds modules that no test of CPython may find
    import fusewire  # noqa: F401  reads the environment
    import unittest

    from test import support

    support.use_resources = []
    out = open(report, "a", buffering=1)
    write = lambda *fields: out.write(json.dumps(fields) + "\n")

    class Result(unittest.TestResult):
        def startTest(self, test):
            super().startTest(test)
            self.outcome, self.detail = "pass", ""
            write("start", test.id())

        def stopTest(self, test):
            super().stopTest(test)
            write("end", test.id(), self.outcome, self.detail)

        def note(self, outcome, error=None):
            if self.outcome in ("pass", outcome) or outcome == "error":
                self.outcome = outcome
            if error is not None:
                self.detail += self._exc_info_to_string(error, self)[-1500:] if error[2] is not None else str(error[1])

        def outside(self, test, outcome, error):
            """setUpClass and the like fail without a test."""
            write("end", test.id(), outcome, self._exc_info_to_string(error, test)[-1500:])

        def addError(self, test, error):
            if isinstance(test, unittest.suite._ErrorHolder):
                return self.outside(test, "error", error)
            self.note("error", error)

        def addFailure(self, test, error):
            self.note("fail", error)

        def addSkip(self, test, reason):
            if isinstance(test, unittest.suite._ErrorHolder):
                write("end", test.id(), "skip", reason)
            else:
                self.note("skip")

        def addExpectedFailure(self, test, error):
            self.note("expected failure")

        def addUnexpectedSuccess(self, test):
            self.note("unexpected success")

        def addSubTest(self, test, subtest, error):
            if error is not None:
                self.note("fail" if issubclass(error[0], test.failureException) else "error", error)

        def _exc_info_to_string(self, error, test):
            import traceback

            return "".join(traceback.format_exception(*error))

    def each(suite):
        for test in suite:
            if isinstance(test, unittest.TestSuite):
                each(test)
                # Class and module fixtures belong to suites: filter in place.
        suite._tests = [t for t in suite._tests if isinstance(t, unittest.TestSuite) or t.id() not in finished]

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started us with it ignored
    finished = set(done)
    suite = unittest.defaultTestLoader.loadTestsFromName("test." + module)
    each(suite)
    write("loaded", suite.countTestCases())
    suite.run(Result())
    write("finished")
    out.close()


# ---- in the parent ------------------------------------------------------------------------------------------------------

def run_module(module: str, compile_all: bool, timeout: float, count: bool = False) -> dict:
    """{"tests": {id: (outcome, detail)}, "events": counts by kind, "seconds": ..., "crashes": [...]}"""
    tests: dict[str, list] = {}
    crashes: list[tuple] = []
    events: collections.Counter = collections.Counter()
    started = time.time()
    environment = {k: v for k, v in os.environ.items() if k != COMPILE_ALL} | {"PYTHONHASHSEED": "0", "PYTHONFAULTHANDLER": "1"}
    if compile_all:
        environment |= {COMPILE_ALL: "1", "FUSEWIRE_ECONOMY": "0"}
    for attempt in range(RESTARTS):
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "report.jsonl")
            done = os.path.join(folder, "done.json")
            if count:
                environment["FUSEWIRE_TRACE"] = os.path.join(folder, "trace")
            pathlib.Path(done).write_text(json.dumps(list(tests)))
            process = subprocess.Popen([sys.executable, __file__, "--child", module, report, done], cwd=folder, env=environment,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                       errors="replace", start_new_session=True)
            try:
                _, errors = process.communicate(timeout=timeout)
                ended = process.returncode
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                _, errors = process.communicate()
                ended = "timeout"
            running, complete = None, False
            for line in pathlib.Path(report).read_text().splitlines() if os.path.exists(report) else ():
                try:
                    kind, *rest = json.loads(line)
                except ValueError:
                    continue  # cut off by a crash
                if kind == "start":
                    running = rest[0]
                elif kind == "end":
                    tests[rest[0]] = rest[1:]
                    running = None
                elif kind == "finished":
                    complete = True
            for trace in pathlib.Path(folder, "trace").glob("*.jsonl"):
                for line in trace.open(errors="replace"):
                    if line.endswith("}\n"):
                        events[json.loads(line).get("kind")] += 1
        if complete and ended == 0:
            break
        what = ended if ended == "timeout" else f"signal {-ended}" if isinstance(ended, int) and ended < 0 else f"exit {ended}"
        where = running or ("after the tests" if complete else "outside a test")
        crashes.append((where, what, errors[-3000:]))
        tests[running or f"test.{module} ({where}, process {attempt + 1})"] = [what, errors[-3000:]]
        if complete or not running:
            break  # nothing to continue with
    return {"tests": tests, "crashes": crashes, "events": dict(events), "seconds": time.time() - started}


def compare(module: str, timeout: float, count: bool = False) -> dict:
    plain, again = (run_module(module, False, timeout) for _ in range(2))
    allowed = max(timeout, 20 * plain["seconds"])
    compiled = run_module(module, True, allowed, count)
    names = sorted(set(plain["tests"]) | set(again["tests"]) | set(compiled["tests"]))
    outcome = lambda run, name: run["tests"].get(name, ["absent", ""])[0]
    noisy = [n for n in names if outcome(plain, n) != outcome(again, n)]
    differences = [(n, outcome(plain, n), outcome(compiled, n), compiled["tests"].get(n, ["", ""])[1])
                   for n in names if n not in noisy and outcome(plain, n) != outcome(compiled, n)]
    return {"module": module, "tests": len(plain["tests"]), "outcomes": dict(collections.Counter(o for o, _ in plain["tests"].values())),
            "differences": differences, "noisy": noisy, "crashes": len(compiled["crashes"]), "events": compiled["events"],
            "seconds": [round(plain["seconds"], 1), round(compiled["seconds"], 1)]}


def available(names) -> list[str]:
    return [n for n in dict.fromkeys(names) if importlib.util.find_spec("test." + n)]


def run(modules, timeout: float = 600, jobs: int = 1, count: bool = False, show=print) -> list[dict]:
    show(f"Python {sys.version.split()[0]}")
    show(f"{'module':28}{'tests':>6}{'same':>6}{'differ':>7}{'noisy':>6}{'crash':>6}{'plain s':>9}{'compiled s':>11}")
    results = []
    pool = concurrent.futures.ThreadPoolExecutor(jobs)
    for module, r in zip(modules, pool.map(lambda module: compare(module, timeout, count), modules)):
        results.append(r)
        same = r["tests"] - len(r["noisy"]) - len(r["differences"])
        show(f"{module:28}{r['tests']:6}{same:6}{len(r['differences']):7}{len(r['noisy']):6}{r['crashes']:6}"
             f"{r['seconds'][0]:9.1f}{r['seconds'][1]:11.1f}" + (f"  compiled {r['events'].get('compiled', 0)}" if count else ""))
        for name, before, after, detail in r["differences"]:
            show(f"    {name}: {before} -> {after}")
            show("".join(f"        {line}\n" for line in detail.strip().splitlines()[-4:]).rstrip())
    total = lambda key: sum(len(r[key]) if isinstance(r[key], list) else r[key] for r in results)
    show(f"{len(results)} modules, {total('tests')} tests, {total('differences')} differences, {total('noisy')} noisy, "
         f"{total('crashes')} crashes or hangs")
    return results


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        return child(sys.argv[2], sys.argv[3], json.loads(pathlib.Path(sys.argv[4]).read_text()))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modules", help="comma-separated names, without 'test.'")
    parser.add_argument("--wide", action="store_true", help="also modules beyond the list that has to be the same")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--count", action="store_true", help="also count what was compiled, from the event trace")
    parser.add_argument("--jobs", type=int, default=1, help="modules at a time")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one module")
    options = parser.parse_args()
    names = options.modules.split(",") if options.modules else MODULES + (WIDE if options.wide else [])
    results = run(available(names), options.timeout, options.jobs, options.count, lambda text: print(text, flush=True))
    if options.json:
        options.json.write_text(json.dumps({"python": sys.version, "results": results}, indent=1))
    sys.exit(any(r["differences"] for r in results))


if __name__ == "__main__":
    main()
