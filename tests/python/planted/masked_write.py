"""A write to the elements that a condition chooses, where np.where says the same."""

import sys
import time

import numpy as np

import fusewire


@fusewire.compile
def clip(x, noise):
    y = np.tanh(x) * 2.0 + noise
    above = np.nonzero(y > 0.5)
    y[above] = noise[above] * 2.0  # planted
    return y * y + 1.0


@fusewire.compile
def clip_fixed(x, noise):
    y = np.tanh(x) * 2.0 + noise
    y = np.where(y > 0.5, noise * 2.0, y)
    return y * y + 1.0


function = clip_fixed if "--fixed" in sys.argv else clip
x, noise = np.linspace(-2, 2, 8_000), np.linspace(0, 0.1, 8_000)
begin = time.perf_counter()
for _ in range(4000):
    function(x, noise)
print(time.perf_counter() - begin)
