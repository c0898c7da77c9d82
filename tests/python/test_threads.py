"""Threads that call, compile and reset the same functions: results stay right, nothing crashes, a variant is compiled once.

The work runs in a child process, so that a crash is an outcome. THREAD_SECONDS sets the length of the stress (default 3).

    THREAD_SECONDS=60 python -m pytest tests/python/test_threads.py
"""

import collections
import json
import os
import pathlib
import random
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import fusewire
from observe import assert_same_observation, observe

THREADS = 8
SECONDS = float(os.environ.get("THREAD_SECONDS", 3))


class Sink(list):
    pass


class Boom(Exception):
    pass


def opaque():
    sys._getframe(0)


def callee(x, k):
    y = x * k
    opaque()
    return y + 1


def whole(x, k):
    return x * k + np.sqrt(x * x) - 1


def whole_with_containers(x, k):
    parts = [x + i for i in range(3)]
    return {"sum": parts[0] + parts[1] * k, "parts": parts}, x.shape


def breaks_in_loop(x, k):
    sink = Sink()
    for i in range(4):
        x = x * k + i
        sink.append(i)
        x = x - 1
    return x, sink


def breaks_everywhere(x, k):
    log = []
    y = x + 1
    opaque()
    try:
        for i in range(3):
            y = y * k
            opaque()
            if i == 2:
                raise Boom(i)
            y = y + x
    except Boom as e:
        log.append(e.args)
        y = y - 1
    finally:
        opaque()
        log.append("f")
    return y, log


def through_callee(x, k):
    y = x + 1
    for _ in range(3):
        y = callee(y, k)
        y = y - x
    return y


def writes_in_place(x, k):
    x[..., 0] = k
    x += 1
    opaque()
    w = x[..., 1:]
    w *= 2
    return x, w


def raises(x, k):
    x[..., 0] = 7
    opaque()
    y = x * k
    return y[99], x


def closure_made():
    offset = 3.0

    def closure(x, k):
        total = 0

        def add(v):
            nonlocal total
            total = total + v

        add(x * k)
        opaque()
        add(x + offset)
        return total

    return closure


FUNCTIONS = [whole, whole_with_containers, breaks_in_loop, breaks_everywhere, through_callee, writes_in_place, raises, closure_made()]
KINDS = [lambda: (np.arange(1.0, 7.0), 2), lambda: (np.arange(1, 7, dtype=np.float32), 0.5), lambda: (np.arange(1, 7), 3),
         lambda: (np.ones((2, 3)), 2.5), lambda: (np.arange(1.0, 10.0)[::2], 2), lambda: (np.ones((2, 2, 2), np.int32), 1)]


def stress(seconds: float) -> dict:
    """What the threads did; raises on the first wrong result."""
    compiled = [fusewire.compile(f, recompile_limit=64) for f in FUNCTIONS]
    until, failures, done = time.monotonic() + seconds, [], collections.Counter()

    def work(seed: int) -> None:
        rng = random.Random(seed)
        mine = collections.Counter()
        while time.monotonic() < until and not failures:
            i, k = rng.randrange(len(FUNCTIONS)), rng.randrange(len(KINDS))
            chance = rng.random()
            try:
                if chance < 0.01:
                    fusewire.reset(compiled[i])
                    mine["resets"] += 1
                elif chance < 0.012:
                    fusewire.reset()
                    mine["resets"] += 1
                assert_same_observation(quiet(FUNCTIONS[i], KINDS[k]()), quiet(compiled[i], KINDS[k]()))
                mine["calls"] += 1
            except BaseException as error:
                failures.append(f"{FUNCTIONS[i].__name__}, kind {k}: {type(error).__name__}: {error}")
        done.update(mine)

    run_threads([lambda seed=seed: work(seed) for seed in range(THREADS)])
    return {"failures": failures[:3], **done}


def quiet(function, arguments):
    """As observe, but nothing that is shared by all threads (standard output, warnings) is touched."""
    from observe import Observation

    try:
        result, error = function(*arguments), None
    except Exception as raised:
        result, error = None, raised
        raised.__traceback__ = None if raised.__traceback__ is None else raised.__traceback__.tb_next
    return Observation(result, error, "", [], (arguments, ()))


def run_threads(bodies) -> None:
    threads = [threading.Thread(target=body) for body in bodies]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def together(count: int) -> dict:
    """All threads call the same function with the same new kind at once. Answers how many variants there are, and those compiled twice."""
    compiled = [fusewire.compile(f, recompile_limit=64) for f in FUNCTIONS]
    barrier = threading.Barrier(count)
    failures = []

    def work() -> None:
        for function, plain in zip(compiled, FUNCTIONS):
            for kind in KINDS:
                barrier.wait()
                for _ in range(6):
                    try:
                        assert_same_observation(quiet(plain, kind()), quiet(function, kind()))
                    except BaseException as error:
                        failures.append(f"{plain.__name__}: {type(error).__name__}: {error}")

    run_threads([work] * count)
    assert not failures, failures[:3]
    entries = []
    for f in compiled:
        facts = fusewire._fusewire.describe(f)
        entries += [facts["variants"], *(region["variants"] for region in facts.get("regions", ()))]
    guards = [[variant["guards"] for variant in variants] for variants in entries]
    return {"variants": sum(map(len, guards)), "twice": [texts for texts in guards if len(set(texts)) < len(texts)]}


def in_child(mode: str, tmp_path, seconds: float = 0, **environment) -> tuple[dict, collections.Counter]:
    """Answers what the child printed, and how often it compiled, by function."""
    result = subprocess.run([sys.executable, "-X", "faulthandler", __file__, mode, str(seconds)], capture_output=True, text=True,
                            env={**os.environ, "FUSEWIRE_TRACE": str(tmp_path), **environment} if mode != "stress" else None,
                            timeout=seconds * 3 + 300)
    assert result.returncode == 0, f"exit {result.returncode}\n{result.stderr[-4000:]}"
    events = collections.Counter()
    for path in pathlib.Path(tmp_path).glob("*.jsonl"):
        for line in path.read_text().splitlines():
            event = json.loads(line)
            if event.get("kind") == "compiled":
                events[event.get("function") or event.get("data", {}).get("function")] += 1
    return json.loads(result.stdout.strip().splitlines()[-1]), events


def test_stress(tmp_path):
    report, _ = in_child("stress", tmp_path, SECONDS)
    assert not report["failures"], report
    assert report["calls"] > 100 and report["resets"] > 0, report


@pytest.mark.parametrize("mode", ["alone", "together"])
def test_one_compile_per_variant(tmp_path, mode):
    """No whole function and no region has two variants with the same guards, however many threads meet the first call at once.
    Which variants there are may depend on who comes first: a stop that one region finds ends another one earlier."""
    found, events = in_child(mode, tmp_path)
    assert events, "no compilation was recorded"
    assert found["variants"] > 10 and not found["twice"], found["twice"]


if __name__ == "__main__":
    mode, seconds = sys.argv[1], float(sys.argv[2])
    print(json.dumps(stress(seconds) if mode == "stress" else together(THREADS if mode == "together" else 1)))
