"""Relaxation that prints a number in every step."""

import sys
import time

import numpy as np

import fusewire

FIXED = "--fixed" in sys.argv


@fusewire.compile
def relax(u, steps, log):
    for step in range(steps):
        u = u + 0.2 * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
        print(step, u[0], file=log)  # planted
    return u


@fusewire.compile
def relax_fixed(u, steps, log):
    for step in range(steps):
        u = u + 0.2 * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
    return u


function = relax_fixed if FIXED else relax
with open("/dev/null", "w") as log:
    u = np.linspace(0, 1, 100)
    begin = time.perf_counter()
    for _ in range(300):
        u = function(u, 200, log)
print(time.perf_counter() - begin)
