"""Windows that grow, with sizes as constants."""

import sys
import time

import numpy as np

import fusewire

FIXED = "--fixed" in sys.argv


@fusewire.compile(dynamic=None if FIXED else False)  # planted: False
def smooth(x):
    return np.sqrt(x[1:] * x[:-1] + 1.0) / (1.0 + np.abs(x[1:] - x[:-1]))


x = np.linspace(0, 10, 5000)
begin = time.perf_counter()
for n in range(1000, 1400):
    smooth(x[:n])
print(time.perf_counter() - begin)
