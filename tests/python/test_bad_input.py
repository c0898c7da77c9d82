"""The public functions on what they are not made for: an error that names what is wrong, and nothing changes."""

import functools
import json

import numpy as np
import pytest

import fusewire
from fusewire import _fusewire

X = np.arange(6.0)


def plain(x):
    return x + 1


def decorated():
    return fusewire.compile(plain)


class Point:
    """A class with what decorating it would break."""

    def __init__(self, x):
        self.x = x

    @classmethod
    def origin(cls):
        return cls(0)


class Answers:
    """Has every attribute."""

    def __getattr__(self, name):
        return 3

    def __call__(self, x):
        return x + 1


BAD = {
    "compile a number": (lambda: fusewire.compile(3), TypeError, "'int' object is not callable"),
    "compile a text": (lambda: fusewire.compile("f"), TypeError, "'str' object is not callable"),
    "compile an array": (lambda: fusewire.compile(X), TypeError, "'ndarray' object is not callable"),
    "compile a module": (lambda: fusewire.compile(np), TypeError, "'module' object is not callable"),
    "compile a property": (lambda: fusewire.compile(property(plain)), TypeError, "'property' object is not callable"),
    "compile a staticmethod of a number": (lambda: fusewire.compile(staticmethod(3)), TypeError, "'int' object is not callable"),
    "compile a class": (lambda: fusewire.compile(Point), TypeError, "'Point' is a class; decorate .* methods"),
    "compile a builtin class": (lambda: fusewire.compile(np.ndarray), TypeError, "'ndarray' is a class"),
    "options, then a class": (lambda: fusewire.compile(fullgraph=True)(Point), TypeError, "'Point' is a class"),
    "options, then nothing": (lambda: fusewire.compile(fullgraph=True)(3), TypeError, "'int' object is not callable"),
    "two functions": (lambda: fusewire.compile(plain, plain), TypeError, "positional argument"),
    "an unknown option": (lambda: fusewire.compile(plain, fullgrph=True), TypeError, "'fullgrph'; did you mean 'fullgraph'"),
    "an option's bad value": (lambda: fusewire.compile(plain, fullgraph="yes"), ValueError, "'fullgraph': 'yes' is not 0 or 1"),
    "an option's bad type": (lambda: fusewire.compile(plain, fullgraph=None), TypeError, "'fullgraph': expected a bool, .*NoneType"),
    "a bad mode": (lambda: fusewire.compile(plain, mode="verfy"), ValueError, "'verfy' is not one of exact.verify; did you mean 'verify'"),
    "a backend that is a number": (lambda: fusewire.compile(plain, backend=3), TypeError, "a backend is a name or a callable, not int"),
    "reset an undecorated function": (lambda: fusewire.reset(plain), TypeError, "function 'plain' is not decorated with fusewire.compile"),
    "reset a number": (lambda: fusewire.reset(3), TypeError, "a 'int' object is not decorated"),
    "reset what answers anything": (lambda: fusewire.reset(Answers()), TypeError, "a 'Answers' object is not decorated"),
    "explain a number": (lambda: fusewire.explain(3), TypeError, "a 'int' object is not decorated"),
    "explain a builtin": (lambda: fusewire.explain(len), TypeError, "builtin_function_or_method 'len' is not decorated"),
    "explain a class": (lambda: fusewire.explain(Point), TypeError, "'Point' is a class"),
    "disable a number": (lambda: fusewire.disable(3), TypeError, "fusewire.disable: 'int' object is not callable"),
    "allow a number": (lambda: fusewire.allow_in_graph(3), TypeError, "allow_in_graph: 'int' object is not callable"),
    "assume a number": (lambda: fusewire.assume_constant_result(3), TypeError, "'int' object is not callable"),
    "substitute a number": (lambda: fusewire.substitute_in_graph(3), TypeError, "'int' object is not callable"),
    "substitute by a number": (lambda: fusewire.substitute_in_graph(plain)(3), TypeError, "must be a Python function"),
    "substitute by another signature": (lambda: fusewire.substitute_in_graph(plain)(lambda y, z: y), TypeError, "does not have the signature"),
    "mark a list": (lambda: fusewire.mark_dynamic([1], 0), TypeError, "mark_dynamic: expected an array, got list"),
    "mark a text": (lambda: fusewire.mark_dynamic(X, "0"), TypeError, "mark_dynamic: expected dimensions as ints, got str"),
    "mark a fraction": (lambda: fusewire.mark_static(X, [0, 0.5]), TypeError, "mark_static: expected dimensions as ints, got float"),
    "mark nothing": (lambda: fusewire.mark_dynamic(X, None), TypeError, "got NoneType"),
    "mark too far": (lambda: fusewire.mark_dynamic(X, 1), IndexError, "array of rank 1 has no dimension 1"),
    "mark too far down": (lambda: fusewire.mark_static(X, (0, -2)), IndexError, "has no dimension -2"),
    "mark much too far": (lambda: fusewire.mark_static(X, 1 << 70), IndexError, "has no dimension"),
    "a backend without a name": (lambda: fusewire.register_backend(plain), ValueError, "is not a name"),
    "a backend with a bad name": (lambda: fusewire.register_backend("a b", plain), ValueError, "'a b' is not a name"),
    "a backend of ours": (lambda: fusewire.register_backend("llvm", plain), ValueError, "is a backend of Fusewire"),
    "a backend that is none": (lambda: fusewire.register_backend("good", 3), TypeError, "'int' object is not callable"),
    "a decorated backend without a name": (lambda: fusewire.register_backend(3), ValueError, "3 is not a name"),
    "a bad stance": (lambda: fusewire.set_stance("defualt"), ValueError, "did you mean 'default'"),
    "a stance that is a number": (lambda: fusewire.set_stance(3), ValueError, "3 is not one of"),
    "a stance without end": (lambda: fusewire.set_stance([]), ValueError, "is not one of"),
    "logs of a number": (lambda: fusewire.configure_logs(3), TypeError, "expected names of channels as a str, not int"),
    "patch positionally": (lambda: fusewire.config.patch(3), TypeError, "positional"),
    "delete a setting": (lambda: delattr(fusewire.config, "enable"), AttributeError, "enable"),
    "a graph of a number": (lambda: fusewire.Graph(3), TypeError, "expected the text of a graph, got int"),
    "a graph of nothing": (lambda: fusewire.Graph(""), ValueError, None),
    "a graph of something else": (lambda: fusewire.Graph("graph(\0"), ValueError, None),
    "a profile that is not there": (lambda: fusewire.load_profile("/nowhere/at/all"), FileNotFoundError, "nowhere"),
    "a profile that is a number": (lambda: fusewire.load_profile(None), TypeError, None),
    "save to nowhere": (lambda: fusewire.save_profile("/nowhere/at/all"), OSError, "nowhere"),
    "save to a number": (lambda: fusewire.save_profile(3.5), TypeError, None),
    "compiling with an argument": (lambda: fusewire.is_compiling(3), TypeError, "argument"),
    "internals of an undecorated function": (lambda: _fusewire.describe(plain), TypeError, "expected a function decorated"),
}


@pytest.mark.parametrize("name", BAD)
def test_errors_name_what_is_wrong(name):
    call, kind, text = BAD[name]
    before = _fusewire.process_settings(), _fusewire.get_stance(), fusewire.list_backends()
    with pytest.raises(kind, match=text):
        call()
    assert (_fusewire.process_settings(), _fusewire.get_stance(), fusewire.list_backends()) == before


def test_classes_stay_what_they_are():
    with pytest.raises(TypeError):
        fusewire.compile(Point)
    assert isinstance(Point.origin(), Point) and issubclass(type("Sub", (Point,), {}), Point)


def test_what_has_every_attribute():
    np.testing.assert_array_equal(fusewire.compile(Answers())(X), X + 1)
    np.testing.assert_array_equal(fusewire.compile(functools.partial(plain))(X), X + 1)


def test_a_name_is_registered_again():
    first, second = (lambda graph, i=i: calls.append(i) or graph.run for i in (1, 2))
    calls = []
    fusewire.register_backend("twice", first)
    fusewire.register_backend("twice", second)
    np.testing.assert_array_equal(fusewire.compile(lambda x: x * 2 + 1, backend="twice")(X), X * 2 + 1)
    assert calls == [2] and fusewire.list_backends().count("twice") == 1


GOOD = {"qualname": "plain", "code": "0", "sizes": [], "stops": [], "breaks": []}
PROFILES = {
    "empty": b"",
    "not JSON": b"{",
    "not text": b"\xff\xfe\x00",
    "not an object": b"[]",
    "something else": b"{}",
    "another version": b'{"fusewire_profile": 99}',
    "no functions": b'{"fusewire_profile": 1}',
    "functions of another type": b'{"fusewire_profile": 1, "functions": {}}',
    "deep": b'{"fusewire_profile": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    **{name: json.dumps({"fusewire_profile": 1, "functions": [entry]}).encode() for name, entry in {
        "no entry": 3,
        "a nameless entry": {},
        "sizes of another type": GOOD | {"sizes": [3]},
        "an axis too far": GOOD | {"sizes": [{"argument": "x", "axis": 1 << 40, "policy": "static"}]},
        "an axis below 0": GOOD | {"sizes": [{"argument": "x", "axis": -1, "policy": "static"}]},
        "a policy of its own": GOOD | {"sizes": [{"argument": "x", "axis": 0, "policy": "sometimes"}]},
        "a stop too far": GOOD | {"stops": [1 << 40]},
        "a stop below 0": GOOD | {"stops": [-1]},
        "a stop that is none": GOOD | {"stops": ["3"]},
    }.items()},
}


@pytest.mark.parametrize("name", PROFILES)
def test_damaged_profiles(name, tmp_path):
    path = tmp_path / "profile.json"
    path.write_bytes(PROFILES[name])
    with pytest.raises(ValueError, match="fusewire.load_profile: .*profile.json"):
        fusewire.load_profile(path)
    np.testing.assert_array_equal(decorated()(X), X + 1)


def test_a_profile_of_other_instructions(tmp_path):
    """Well-formed, but its stops are beyond the code of the function."""
    from fusewire._profile import code_hash

    def of_this_test_alone(x):
        return x + 1

    entry = GOOD | {"qualname": of_this_test_alone.__qualname__, "code": code_hash(of_this_test_alone.__code__), "stops": [5000],
                    "sizes": [{"argument": "nobody", "axis": 63, "policy": "static"}]}
    path = tmp_path / "profile.json"
    path.write_text(json.dumps({"fusewire_profile": 1, "functions": [entry]}))
    assert fusewire.load_profile(path) == 1
    np.testing.assert_array_equal(fusewire.compile(of_this_test_alone)(X), X + 1)
