"""A kernel that is given as a lambda, made anew for every call."""

import sys
import time

import numpy as np

import fusewire

FIXED = "--fixed" in sys.argv


@fusewire.compile
def weigh(x, kernel):
    return np.sum(kernel(x) * x) / (1.0 + np.sum(np.abs(x)))


def gauss(x):
    return np.exp(-x * x)


x = np.linspace(-3, 3, 2000)
begin = time.perf_counter()
for i in range(400):
    weigh(x, gauss if FIXED else (lambda v: np.exp(-v * v)))  # planted: the lambda
print(time.perf_counter() - begin)
