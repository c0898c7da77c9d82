"""A float32 image, and one gain that is float64."""

import sys
import time

import numpy as np

import fusewire

gain = np.array([1.5], dtype=np.float32 if "--fixed" in sys.argv else np.float64)  # planted: float64


@fusewire.compile
def tone(image, gain):
    y = image * gain  # the line that widens
    y = y * y * 0.25 + y * 0.5 + 0.125
    y = y / (1.0 + y * y)
    return np.sqrt(y * y + 1.0) - 1.0


image = np.linspace(0, 1, 1000 * 1000, dtype=np.float32).reshape(1000, 1000)
begin = time.perf_counter()
for _ in range(200):
    tone(image, gain)
print(time.perf_counter() - begin)
