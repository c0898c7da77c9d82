"""The programs of bench/textbook, unmodified: plain against compiled, with sizes that change; those that are not in BROKEN are one region."""
import copy
import sys
from pathlib import Path

import numpy as np
import pytest

import compare
import fusewire

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
from textbook import PROGRAMS  # noqa: E402 - what is measured is what is tested

# Not one compiled region yet, and what the first break is about.
BROKEN = {}
# exp, sin, cos and powers of numbers of another library (0.09 % of the squares that C's pow gives are not x * x): their last place, and sums of it.
ROUNDED = {"attitude", "bilateral", "binomial_option", "black_scholes_explicit", "black_scholes_paths", "closest_pair", "dft", "fft", "histogram_entropy", "hmm_forward", "hmm_forward_elements",
           "ising_checkerboard", "ising_flips", "hough_lines", "logistic_regression", "mlp", "mlp_softmax", "n_body_frames", "option_price", "simpson"}
# Programs whose work grows with a power of the size.
SMALLER = {"cavity_flow", "conv2d_bias", "floyd_warshall", "lu_elements", "modified_gram_schmidt", "product", "red_black_sor", "syrk", "trmm"}


def twice(arguments):
    """The arguments, and others that are equal: Generators as well."""
    return tuple(copy.deepcopy(a) if isinstance(a, np.random.Generator) else a for a in compare.clone(arguments))


def assert_same(name, compiled, size):
    function, make, _ = PROGRAMS[name]
    arguments = make(size)
    expected, actual = compare.run(function, twice(arguments)), compare.run(compiled, twice(arguments))
    assert type(expected.error) is type(actual.error) and str(expected.error) == str(actual.error), actual.error
    assert expected.warned == actual.warned
    if name in ROUNDED:
        compare.assert_close_value(expected.result, actual.result, 1e-11)
    else:
        compare.assert_same_value(expected.result, actual.result, None)
    for i, (e, a) in enumerate(zip(expected.arguments, actual.arguments)):
        if isinstance(e, np.random.Generator):
            assert e.bit_generator.state == a.bit_generator.state
        elif expected.error is None and name not in ROUNDED:
            compare.assert_same_value(e, a, None, f"argument {i}")


def breaks_at(name, sizes, compiled):
    for size in (*sizes, sizes[0]):
        assert_same(name, compiled, size)
    return [(b["line"], b["detail"]) for b in fusewire._fusewire.describe(compiled)["breaks"]]


@pytest.mark.parametrize("name", PROGRAMS)
def test_textbook(name):
    sizes = (70, 71) if name not in SMALLER else (36, 37)
    breaks = breaks_at(name, sizes, fusewire.compile(PROGRAMS[name][0]))
    if any("takes too long" in detail for _, detail in breaks):   # on a slow or busy machine; without a limit it is one region
        breaks = breaks_at(name, sizes[:1], fusewire.compile(PROGRAMS[name][0], economy=False))
    assert bool(breaks) == (name in BROKEN), breaks


@pytest.mark.parametrize("name", PROGRAMS)
def test_few_elements(name):
    compiled = fusewire.compile(PROGRAMS[name][0])
    for size in (0, 1, 2, 3, 20):
        try:
            PROGRAMS[name][1](size)
        except (ValueError, IndexError):   # no such arguments
            continue
        assert_same(name, compiled, size)
