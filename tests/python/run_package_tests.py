"""The tests that a package brings along (NumPy, SciPy, scikit-learn ...), plain against every function compiled.

    python tests/python/run_package_tests.py numpy [--files _core/tests/test_umath.py,...] [--jobs 2] [--set checked=1]

The package and what its tests need must be installed (numpy: pytest, hypothesis). Each file of tests is one part of
outcomes.py, or --together N of them, which saves compiling pytest itself for each. Options of pytest may follow `--`:
`-- -k sort`.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import pathlib
import sys

import outcomes


def child(paths: list[str], report: str, done: list[str], extra: list[str]) -> None:
    """Runs the tests of some files that are not in `done`."""
    del sys.path[0]  # the folder of this file holds modules that no test of the package may find
    import fusewire  # noqa: F401  reads the environment
    import pytest

    class Outcomes:
        def __init__(self):
            self.report, self.current = outcomes.Report(report), {}

        def pytest_collection_modifyitems(self, items):
            finished = set(done)
            items[:] = [item for item in items if item.nodeid not in finished]

        def pytest_runtest_logstart(self, nodeid, location):
            self.current[nodeid] = ("pass", "")
            self.report.start(nodeid)

        def pytest_runtest_logreport(self, report):
            before, detail = self.current.get(report.nodeid, ("pass", ""))
            xfail = hasattr(report, "wasxfail")
            if report.failed:
                now = "fail" if report.when == "call" else "error"
            elif report.skipped:
                now = "expected failure" if xfail else "skip"
            else:
                now = "unexpected success" if xfail and report.when == "call" else before
            if report.failed:
                detail = (detail + "\n" + str(report.longrepr))[-1500:]
            self.current[report.nodeid] = (now if before == "pass" or now == "error" else before, detail)

        def pytest_runtest_logfinish(self, nodeid, location):
            self.report.end(nodeid, *self.current.pop(nodeid, ("pass", "")))

        def pytest_sessionfinish(self, session, exitstatus):
            self.report.finish()

    code = pytest.main([*paths, "-q", "-s", "-p", "no:cacheprovider", "-p", "no:randomly", "--tb=short", *extra], plugins=[Outcomes()])
    os._exit(0 if code in (0, 1, 5) else int(code))


def test_files(package: str) -> list[str]:
    """Paths of the package's test files relative to its folder, in order."""
    root = folder(package)
    return sorted(str(p.relative_to(root)) for p in root.rglob("test_*.py") if "tests" in p.relative_to(root).parts)


def folder(package: str) -> pathlib.Path:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        sys.exit(f"run_package_tests: no package {package!r} is installed")
    return pathlib.Path(next(iter(spec.submodule_search_locations)))


def main() -> None:
    arguments = sys.argv[1:]
    extra = arguments[arguments.index("--") + 1:] if "--" in arguments else []
    arguments = arguments[:arguments.index("--")] if "--" in arguments else arguments
    if arguments[:1] == ["--child"]:
        return child(arguments[1].split(","), arguments[2], json.loads(pathlib.Path(arguments[3]).read_text()), extra)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package")
    parser.add_argument("--files", help="comma-separated, relative to the package's folder; all test files if left out")
    parser.add_argument("--together", type=int, default=1, help="files that share a process")
    outcomes.add_options(parser)
    options = parser.parse_args(arguments)
    root = folder(options.package)
    files = options.files.split(",") if options.files else test_files(options.package)
    if missing := [name for name in files if not (root / name).is_file()]:
        sys.exit(f"run_package_tests: {options.package} has no {missing}")
    parts = [",".join(files[i:i + options.together]) for i in range(0, len(files), options.together)]

    def command(part: str, report: str, done: str) -> list[str]:
        paths = ",".join(str(root / name) for name in part.split(","))
        return [sys.executable, __file__, "--child", paths, report, done, "--", *extra]

    outcomes.run(parts, command, options)


if __name__ == "__main__":
    main()
