"""The tables of operations and names: what a row says of NumPy holds of the NumPy that is here."""

import itertools
import operator
import random
import warnings

import numpy as np
import pytest

from fusewire import _fusewire

OPS = _fusewire.ops()
NAMES = [name for row in OPS if row["numpy"] for name in row["numpy"].split("|")]
KNOWN = _fusewire.numpy_names()
UFUNCS = [(getattr(np, names[0]), row) for row in OPS
          if (names := [n.removeprefix("np.") for n in row["numpy"].split("|") if n.startswith("np.")])]

FLOATS = [0.0, -0.0, 1.0, -1.0, 3.0, 0.5, np.nan, np.inf, -np.inf]


def numbers(char: str) -> np.ndarray:
    dtype = np.dtype(char)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        return np.array([0, 1, 2, 7, low, high, *([-1, -3] if low else [])], dtype)
    real = np.empty(0, dtype).real.dtype
    info = np.finfo(real)
    reals = np.array([*FLOATS, info.max, info.min, info.tiny, info.smallest_subnormal], real)
    if dtype.kind == "f":
        return reals
    parts = np.array(list(itertools.product(reals, reals)), real)
    return parts.view(dtype).ravel()


def raises(ufunc, char: str) -> bool | None:
    """Whether some operands of the type make NumPy report a floating-point condition; None if there is no such loop."""
    operands = np.meshgrid(*[numbers(char)] * ufunc.nin)
    reported = []
    with warnings.catch_warnings(), np.errstate(all="call", under="call", call=lambda kind, flag: reported.append(kind)):
        warnings.simplefilter("ignore")
        try:
            ufunc(*operands)
        except TypeError:
            return None
        except ValueError:  # integers to negative integer powers
            return True
    return bool(reported)


def test_a_name_stands_in_one_row():
    every = NAMES + [row["name"] for row in KNOWN]
    assert len(set(every)) == len(every)


def test_names_are_numpys():
    homes = {"np": np, "ndarray": np.ndarray, "operator": operator, "Generator": np.random.Generator, "RandomState": np.random.RandomState, "Random": random.Random}
    for name in NAMES + [row["name"] for row in KNOWN]:
        home, attribute = name.split(".", 1)
        operator.attrgetter(attribute)(homes[home])


def test_the_op_table_names_ufuncs_and_operators_only():
    for name in NAMES:
        home, attribute = name.split(".")
        assert home == "operator" or isinstance(getattr(np, attribute), np.ufunc), name
    for row in KNOWN:
        home, attribute = row["name"].split(".", 1)
        ufunc = home == "np" and isinstance(operator.attrgetter(attribute)(np), np.ufunc)
        assert home != "operator" and (not ufunc or attribute in ("divmod", "matmul"))


@pytest.mark.parametrize("ufunc, row", UFUNCS, ids=lambda value: value["name"] if isinstance(value, dict) else "")
def test_what_raises(ufunc, row):
    """The column `raises` admits everything that NumPy reports."""
    for char in "?bBhHiIlLefdFD":
        reported = raises(ufunc, char)
        kind = np.dtype(char).kind
        if reported is None:
            continue
        with np.errstate(all="ignore"):
            inexact = kind in "fc" or ufunc(*[np.ones(1, char)] * ufunc.nin).dtype.kind in "fc"
        allowed = {"nothing": False, "floats": inexact, "complex": kind == "c", "numbers": True}[row["raises"]]
        assert allowed or not reported, f"{ufunc.__name__} of {char} reports"


@pytest.mark.parametrize("ufunc, row", [u for u in UFUNCS if u[1]["raises"] != "nothing"],
                         ids=lambda value: value["name"] if isinstance(value, dict) else "")
def test_nothing_raises_without_need(ufunc, row):
    """A row that says that it raises does so for some type: what says too much is computed where nobody needs it."""
    if row["name"] in ("fmax", "fmin"):
        pytest.skip("a kernel declines where the result may be either zero")
    if row["name"] in ("absolute", "cbrt"):
        pytest.skip("NumPy reports by the math library that it is built with")
    chars = {"floats": "efdFD", "complex": "FD", "numbers": "bBhHiIlL"}[row["raises"]]
    assert any(raises(ufunc, char) for char in chars)
