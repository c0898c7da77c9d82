"""CPython's own regression tests with every Python function compiled, against the same tests as plain Python.

    python tests/python/run_cpython_tests.py [--modules test_dict,test_list] [--wide] [--json FILE] [--jobs 2] [--timeout 600]

Each module of the interpreter's `test` package runs in processes of its own, plain and with FUSEWIRE_COMPILE_ALL=1. Outcomes are compared test method by test method. See
outcomes.py for how. The exit status is 1 if any outcome differs.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import pathlib
import signal
import sys

import outcomes

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


# ---- in the child -------------------------------------------------------------------------------------------------------

def child(module: str, report: str, done: list[str]) -> None:
    """Runs the tests of `module` that are not in `done`; writes a line when a test starts and when it ends."""
    del sys.path[0]  # the folder of this file holds modules that no test of CPython may find
    import fusewire  # noqa: F401  reads the environment
    import unittest

    from test import support

    support.use_resources = []
    lines = outcomes.Report(report)

    class Result(unittest.TestResult):
        def startTest(self, test):
            super().startTest(test)
            self.outcome, self.detail = "pass", ""
            lines.start(test.id())

        def stopTest(self, test):
            super().stopTest(test)
            lines.end(test.id(), self.outcome, self.detail)

        def note(self, outcome, error=None):
            if self.outcome in ("pass", outcome) or outcome == "error":
                self.outcome = outcome
            if error is not None:
                self.detail += self._exc_info_to_string(error, self)[-1500:] if error[2] is not None else str(error[1])

        def outside(self, test, outcome, error):
            """setUpClass and the like fail without a test."""
            lines.end(test.id(), outcome, self._exc_info_to_string(error, test)[-1500:])

        def addError(self, test, error):
            if isinstance(test, unittest.suite._ErrorHolder):
                return self.outside(test, "error", error)
            self.note("error", error)

        def addFailure(self, test, error):
            self.note("fail", error)

        def addSkip(self, test, reason):
            if isinstance(test, unittest.suite._ErrorHolder):
                lines.end(test.id(), "skip", reason)
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
    suite.run(Result())
    lines.finish()


# ---- in the parent ------------------------------------------------------------------------------------------------------

def command(module: str, report: str, done: str) -> list[str]:
    return [sys.executable, __file__, "--child", module, report, done]


def available(names) -> list[str]:
    return [n for n in dict.fromkeys(names) if importlib.util.find_spec("test." + n)]


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        return child(sys.argv[2], sys.argv[3], json.loads(pathlib.Path(sys.argv[4]).read_text()))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modules", help="comma-separated names, without 'test.'")
    parser.add_argument("--wide", action="store_true", help="also modules beyond the list that has to be the same")
    outcomes.add_options(parser)
    options = parser.parse_args()
    names = options.modules.split(",") if options.modules else MODULES + (WIDE if options.wide else [])
    outcomes.run(available(names), command, options)


if __name__ == "__main__":
    main()
