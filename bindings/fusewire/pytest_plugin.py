"""pytest -p fusewire.pytest_plugin: the tests of a project that uses Fusewire, compiled, verified, or without graph breaks."""

from __future__ import annotations

import inspect

import pytest

import fusewire


_compiled: list = []


def pytest_addoption(parser) -> None:
    group = parser.getgroup("fusewire")
    group.addoption("--fusewire", action="store_true", help="compile every test function, and at once what it calls; print the summary")
    group.addoption("--fusewire-verify", action="store_true",
                    help="decorated functions run compiled and as Python; a test in which they differ fails, with a reproducer")
    group.addoption("--fusewire-fail-on-break", action="store_true", help="a test in which a decorated function has a graph break fails")


def pytest_configure(config) -> None:
    if config.getoption("--fusewire") and config.getoption("--fusewire-fail-on-break"):
        raise pytest.UsageError("--fusewire-fail-on-break is about functions that your code decorates; --fusewire decorates the tests, "
                                "which break at what pytest does in them: use one of the two")
    if config.getoption("--fusewire"):
        fusewire.config.warm_up = 0
    if config.getoption("--fusewire-verify"):
        fusewire.config.mode = "verify"  # before the modules are imported that decorate


@pytest.hookimpl(hookwrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    test = pyfuncitem.obj
    if pyfuncitem.config.getoption("--fusewire") and not (inspect.iscoroutinefunction(test) or inspect.isgeneratorfunction(test)):
        with fusewire.config.patch(mode="exact"):  # a test does not run twice
            pyfuncitem.obj = fusewire.compile(test)
        _compiled.append(pyfuncitem.obj)  # for the summary
    breaks = fusewire.error_on_graph_break(True) if pyfuncitem.config.getoption("--fusewire-fail-on-break") else None
    try:
        if breaks is None:
            yield
        else:
            with breaks:
                yield
    finally:
        pyfuncitem.obj = test


def pytest_terminal_summary(terminalreporter, config) -> None:
    if config.getoption("--fusewire"):
        terminalreporter.write_line(fusewire.summary())
