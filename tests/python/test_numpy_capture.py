"""What NumPy calls mean in the graph: the corpus is captured, and every captured graph is run with NumPy itself."""

import re

import numpy as np
import pytest

import _fw_capture_test
import fusewire
from corpus_numpy import CASES, f_order, strided, values
from graph_text import GraphText


def bound(fn, arguments):
    """Arguments with the function's defaults behind them."""
    missing = fn.__code__.co_argcount - len(arguments)
    return arguments + tuple(fn.__defaults__ or ())[-missing:] if missing else arguments


def capture(fn, *arguments):
    return _fw_capture_test.capture(fn, *bound(fn, arguments))


def leaves(result):
    if isinstance(result, (tuple, list)):
        return [leaf for part in result for leaf in leaves(part)]
    return [] if isinstance(result, int) and not isinstance(result, bool) else [result]


def close(actual, expected):
    """Equal, but for the order of float additions, which is not this test's matter."""
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return False
    if expected.dtype.kind not in "fc":
        return np.array_equal(actual, expected)
    tolerance = 64 * np.finfo(expected.dtype).eps
    return np.allclose(actual, expected, rtol=tolerance, atol=tolerance / 16, equal_nan=True)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_corpus(case):
    for make in case.make_args:
        try:
            with np.errstate(all="ignore"):
                expected = case.fn(*make())
        except Exception:
            assert capture(case.fn, *make()).startswith("break"), "captured a call that raises"
            continue
        text = capture(case.fn, *make())
        assert "violation" not in text
        if text.startswith("break"):
            assert not case.must_compile, text
            continue
        if "\n  commit %" in text:
            continue   # runs in test_writes.py
        if " = call(" in text:
            continue   # runs in test_library_calls.py and test_data_sizes.py
        arguments = make()
        with np.errstate(all="ignore"):
            outputs = GraphText(text.split("guards\n")[0]).run(arguments)
        exits = text.split("\nexit\n")[1]
        found = [(kind, outputs[int(i)]) for kind, i in re.findall(r"(\w+) #(\d+)(?: of #\d+)?", exits)]
        wanted = [x for x in leaves(expected) if isinstance(x, (np.ndarray, np.generic, float, bool, complex))]
        if "same as" in exits or "object" in exits:
            continue
        assert len(found) == len(wanted), exits
        for (kind, actual), want in zip(found, wanted):
            assert close(actual, np.asarray(want)), f"{actual!r}\nexpected {want!r}\n{text}"
            assert isinstance(want, np.ndarray) == (kind in ("array", "view")), text
            if isinstance(want, np.ndarray):
                assert (want.base is not None) == (kind == "view"), text


BREAKS = [
    ("unsupported-numpy", "np.add with where", lambda x: np.add(x, 1, where=x > 0)),
    ("python-exception", "a bool is no size", lambda x: x[0] + np.zeros(True)),
    ("python-exception", "a bool is no size", lambda x: x[0] + np.zeros((2, True))),
    ("unsupported-numpy", "np.add with casting", lambda x: np.add(x, 1, casting="equiv")),
    ("unsupported-numpy", "linalg", lambda x: np.linalg.cond(x)),
    ("unsupported-numpy", "operator @", lambda x: x @ [1.0]),
    ("unsupported-numpy", "order", lambda x: x.copy(order="A")),
    ("unsupported-numpy", "integer power", lambda x: x.astype("i4").max() ** x.astype("i4").min()),
    ("data-dependent-shape", "has to be known", lambda x: x * [1.0, x][len(x[x > 0])]),
    ("data-dependent-shape", "whether two sizes are equal", lambda x: np.squeeze(x[x > 0][:, None], axis=0)),
    ("unsupported-numpy", "indexing with a list", lambda x: x[[True, False, True, False, True]]),
    ("python-exception", "axis 3", lambda x: np.sum(x, axis=3)),
    ("python-exception", "duplicate", lambda x: np.sum(x, axis=(0, 0))),
    ("python-exception", "out of bounds", lambda x: x[17]),
    ("python-exception", "too many indices", lambda x: x[0, 0]),
    ("python-exception", "step", lambda x: x[::0]),
    ("python-exception", "broadcast", lambda x: x + np.zeros(4)),
    ("python-exception", "reshape", lambda x: x.reshape(2, -1)),
    ("python-exception", "Python integer", lambda x: x.astype("i1") + 1000),
    ("python-exception", "negative integer powers", lambda x: x.astype("i8") ** -1),
    ("python-exception", "misses", lambda x: np.reshape()),
    ("python-exception", "clip", lambda x: np.clip(x, 1)),
    ("python-exception", "positional", lambda x: x.sum(0, None, None, False, 0, True, 1)),
]


@pytest.mark.parametrize("reason, detail, fn", BREAKS, ids=[f"{r}-{d}" for r, d, _ in BREAKS])
def test_break(reason, detail, fn):
    text = capture(fn, values(5))
    assert text.startswith(f"break {reason}: ") and detail in text, text


def test_write_into_argument():
    def fn(x):
        x[1:] *= 2

    text = capture(fn, values(5))
    assert "commit %" in text and "writeable x" in text


@pytest.mark.parametrize("fn", [lambda x: np.sum(x, out=np.zeros(())), lambda x: np.add(x, 1, out=np.zeros(5))])
def test_out_made_here(fn):
    x = values(5)
    text = capture(fn, x)
    [result] = GraphText(text.split("guards\n")[0]).run((x,))
    assert close(result, fn(x))


def test_only_sizes_that_matter_are_guarded():
    text = capture(lambda x, y: x + y, values((4, 5)), values((4, 5)))
    guards = text.split("guards\n")[1]
    assert "s0 == s2" in guards and "s1 == s3" in guards and guards.count("sym ") == 2


def test_broadcast_size_one_is_guarded():
    text = capture(lambda x, y: x + y, values((4, 1)), values((4, 5)))
    assert re.search(r"sym .*1 == s1|sym s1 == 1", text), text


def test_view_of_strided_argument_is_no_flat_view():
    for x in (strided(values((4, 5))), f_order(values((4, 5)))):
        text = capture(lambda x: x.ravel(), x)
        assert "view" not in text.split("\nexit\n")[1], text


def test_writes_are_seen_through_views():
    def fn(n):
        y = np.zeros(n)
        z = y[1:]
        y[2] = 5.0
        z[0] = 1.0
        return y, z + 0

    outputs = GraphText(capture(fn, 4).split("guards\n")[0]).run((4,))
    assert outputs[0].tolist() == [0, 1, 5, 0] and outputs[1].tolist() == [1, 5, 0]


BOOLS_FOR_INTS = {
    "reshape": lambda x, b: np.reshape(x, (b, -1)),
    "method reshape": lambda x, b: x.reshape(b, -1),
    "axis": lambda x, b: x.sum(axis=b),
    "axes": lambda x, b: np.max(x, axis=(b,)),
    "argmax": lambda x, b: x.argmax(axis=b),
    "mean": lambda x, b: x.mean(axis=b),
    "all": lambda x, b: (x > 0).all(axis=b),
    "count_nonzero": lambda x, b: np.count_nonzero(x, axis=b),
    "transpose": lambda x, b: x.transpose(0, b, 2),
    "concatenate": lambda x, b: np.concatenate([x, x], axis=b),
    "squeeze": lambda x, b: x[:, :1].squeeze(b),
    "zeros": lambda x, b: np.zeros((b, 2)) + x.sum(),
    "swapaxes": lambda x, b: x.swapaxes(0, b),
    "expand_dims": lambda x, b: np.expand_dims(x, b),
    "flip": lambda x, b: np.flip(x, b),
    "roll": lambda x, b: np.roll(x, 1, axis=b),
}


@pytest.mark.parametrize("name", BOOLS_FOR_INTS)
def test_bools_for_ints(name):
    """Some functions take them, most do not."""
    f, x = BOOLS_FOR_INTS[name], np.arange(24.0).reshape(2, 3, 4)
    compiled = fusewire.compile(f)
    for _ in range(2):
        try:
            expected = f(x, True)
        except TypeError as error:
            with pytest.raises(TypeError) as ours:
                compiled(x, True)
            assert str(ours.value) == str(error)
        else:
            got = compiled(x, True)
            assert got.shape == expected.shape and np.array_equal(got, expected)
