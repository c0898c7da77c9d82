"""Times of the GPU suite."""

import time

import cupy as cp
import numpy as np


def device_us(call, rounds=9):
    """Median microseconds of a call on the device, in bursts long enough to be measured."""
    call()
    cp.cuda.Device().synchronize()
    start = time.perf_counter()
    call()
    cp.cuda.Device().synchronize()
    burst = max(1, min(200, int(5e-3 / max(time.perf_counter() - start, 1e-6))))
    times = []
    for _ in range(rounds):
        begin, end = cp.cuda.Event(), cp.cuda.Event()
        begin.record()
        for _ in range(burst):
            call()
        end.record()
        end.synchronize()
        times.append(cp.cuda.get_elapsed_time(begin, end) * 1e3 / burst)
    return float(np.median(times))
