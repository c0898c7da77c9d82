"""Python's complex numbers that loops compute: complex() of elements, arithmetic, powers, abs(), parts, comparisons, bit by bit."""
import itertools

import numpy as np
import pytest

import fusewire
from compare import assert_same_call


def arithmetic(x, y):
    z, w = complex(x[0], x[1]), complex(y[0], y[1])
    return z + w, z - w, z * w, -z, z * 2, 3 - w, z * 0.5, 1j * w, z + 1, abs(z), z.real, z.imag, z == w, z != w


def quotient(x, y):
    return complex(x[0], x[1]) / complex(y[0], y[1]), 1 / complex(y[0], y[1]), complex(x[0], y[1]) / 2


def powers(x, y):
    z = complex(x[0], y[0])
    return z ** 2, z ** 3, z ** 1, z ** 7


def one_part(x, y):
    return complex(x[0]), complex(2, y[1]), complex(x[0], 3), complex(float(x[1]), 0.5)


def beside_numpy(x, y):
    z = complex(x[0], x[1])
    return z * y, z + y[0], y[0] * z, z - x[1], z / 4


VALUES = [0.0, -0.0, 1.0, -1.5, 1e-300, 1e300, np.inf, -np.inf, np.nan, 3.25]


@pytest.mark.parametrize("function", [arithmetic, quotient, powers, one_part, beside_numpy])
def test_values(function):
    compiled = fusewire.compile(function)
    plain = np.array([0.7, -1.2]), np.array([2.5, 0.3])
    for _ in range(3):
        assert_same_call(function, compiled, plain)
    assert not fusewire._fusewire.describe(compiled)["breaks"]
    for x in itertools.product(VALUES, VALUES):
        for y in ((0.5, -2.0), (0.0, -0.0), (-0.0, 1.0), (np.inf, 1.0), (1e200, -1e200), (np.nan, 0.0)):
            with np.errstate(all="ignore"):
                assert_same_call(function, compiled, (np.array(x), np.array(y)))


def julia(zr, zi, c, out):
    for i in range(len(zi)):
        for j in range(len(zr)):
            z = complex(zr[j], zi[i])
            k = 0
            while k < 40 and abs(z) < 2:
                z = z * z + c
                k += 1
            out[i, j] = k
    return out


def mandelbrot(zr, zi, c, out):
    for i in range(len(zi)):
        for j in range(len(zr)):
            z = 0j
            p = complex(zr[j], zi[i])
            n = 0
            while abs(z) <= 2 and n < 40:
                z = z ** 2 + p
                n += 1
            out[i, j] = n
    return out


def newton(zr, zi, c, out):
    for i in range(len(zi)):
        for j in range(len(zr)):
            z = complex(zr[j], zi[i])
            for _ in range(20):
                z = z - (z ** 3 - 1) / (3 * z ** 2)
            out[i, j] = z.real
    return out


def horner(zr, zi, c, out):
    total = 0j
    for i in range(len(zr)):
        total = total * c + complex(zr[i], zi[i])
    return total, total.real, abs(total)


def rotated(zr, zi, c, out):
    w = 1 + 0j
    step = complex(0.6, 0.8)
    for i in range(len(zr)):
        out[i, 0] = (w * zr[i]).imag
        w *= step
    return out, w


@pytest.mark.parametrize("function", [julia, mandelbrot, newton, horner, rotated])
def test_loop(function):
    compiled = fusewire.compile(function)
    for n in (70, 71, 70, 3, 1):
        zr, zi = np.linspace(-1.3, 1.2, n), np.linspace(-1.1, 1.25, n)
        for c in (complex(-0.4, 0.6), complex(0.3, -0.2)):
            assert_same_call(function, compiled, (zr, zi, c, np.zeros((n, n))))
    assert not fusewire._fusewire.describe(compiled)["breaks"]
