import os
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

# Failures of Fusewire itself leave a file here, those of processes that tests start, too.
_FOLDER = os.environ["FUSEWIRE_REPRO_DIR"] = tempfile.mkdtemp(prefix="fusewire-tests-")

# Who compiles something in a test finds its code there; test_background.py says otherwise where it wants to.
os.environ.setdefault("FUSEWIRE_BACKGROUND", "0")

import failures  # noqa: E402  imports fusewire


def pytest_configure(config):
    config.addinivalue_line("markers", "plants_failures: makes checks inside Fusewire fail on purpose")


@pytest.fixture(autouse=True)
def no_internal_failure(request):
    """No test passes in which something inside Fusewire has failed, even though Python then gave the right answer."""
    watch = failures.Watch(_FOLDER)
    yield
    if request.node.get_closest_marker("plants_failures"):
        return watch.forget()
    assert not watch.new(), "Fusewire itself has failed:\n" + "\n".join(watch.new())


@pytest.fixture(autouse=True)
def own_numbers(request):
    """What a test draws from its module's generator, and from that of bench/textbook, depends on the test alone: not on those before it."""
    state = np.random.default_rng(zlib.crc32(request.node.nodeid.encode())).bit_generator.state
    for module in (request.module, sys.modules.get("textbook.common")):
        for value in vars(module).values() if module else ():
            if isinstance(value, np.random.Generator) and type(value.bit_generator) is np.random.PCG64:
                value.bit_generator.state = state
