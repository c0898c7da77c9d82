"""Random draws in compiled code: the same numbers, and the same state of the generator afterwards, however the call ends."""
import threading
import warnings

import numpy as np
import pytest

import fusewire

X = np.arange(1.0, 5.0)

GENERATOR = ["g.random()", "g.random(5)", "g.random((2, 3), dtype='f4')", "g.random(size=n)", "g.random(0)", "g.standard_normal()",
             "g.standard_normal(n)", "g.standard_normal((n, 2), 'f4')", "g.standard_exponential(3)", "g.standard_exponential(3, method='inv')",
             "g.normal()", "g.normal(1, 2)", "g.normal(2.5, 0.5, n)", "g.normal(size=(n, n))", "g.normal(x)", "g.normal(x[:, None], x)",
             "g.normal(loc=x.mean(), scale=x[1])", "g.uniform()", "g.uniform(2, 5)", "g.uniform(-1, 1, n)", "g.exponential()",
             "g.exponential(2.0, n)", "g.lognormal(0, 1, n)", "g.laplace(size=n)", "g.logistic(size=n)", "g.gumbel(0, 1, 4)",
             "g.rayleigh(2.0, n)", "g.gamma(2.0)", "g.gamma(2.0, 3.0, n)", "g.beta(1, 2, n)", "g.chisquare(3, n)", "g.standard_t(3)",
             "g.weibull(2.0, n)", "g.pareto(3, n)", "g.power(2.0)", "g.triangular(0, 1, 3, n)", "g.vonmises(0, 4, n)", "g.poisson(3.0)",
             "g.poisson(x)", "g.poisson(4.5, n)", "g.binomial(10, 0.3)", "g.binomial(10, 0.3, n)", "g.geometric(0.4, n)", "g.integers(10)",
             "g.integers(3, 9)", "g.integers(0, n, 5)", "g.integers(0, 5, size=(n, 2))", "g.integers(5, endpoint=True)",
             "g.integers(100, dtype='i4')", "g.integers(0, 200, n, dtype=np.uint8)", "g.integers(9, dtype=int)", "g.choice(n)",
             "g.choice(5, 3)", "g.choice(x)", "g.choice(x, (2, 2))", "g.choice(x, 3, replace=False)", "g.choice(4, 5, p=x / x.sum())",
             "g.permutation(n)", "g.permutation(x)"]
STATE = ["g.rand()", "g.rand(n)", "g.rand(2, n)", "g.randn()", "g.randn(3)", "g.random()", "g.random_sample(n)", "g.random(3)", "g.normal()",
         "g.normal(1, 2, n)", "g.standard_normal(3)", "g.uniform(1, 2)", "g.exponential(2.0, n)", "g.randint(5)", "g.randint(2, 9, n)",
         "g.randint(0, 9, 4, dtype='i2')", "g.poisson(3.0, n)", "g.poisson(2.0)", "g.binomial(5, 0.5)", "g.choice(5)", "g.choice(x, 3)",
         "g.permutation(x)", "g.permutation(5)", "g.lognormal(size=n)", "g.standard_t(4, n)"]


def program(*lines, result):
    scope = {"np": np}
    exec("def f(g, x, n):\n" + "".join(f"    {line}\n" for line in lines) + f"    return {result}\n", scope)
    return scope["f"]


def state(g):
    kept = g.get_state(legacy=False) if isinstance(g, np.random.RandomState) else g.bit_generator.state
    return repr(kept)


def outcome(f, g, *args):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            result = f(g, *args)
        except Exception as error:
            result = error
    parts = [(type(v), getattr(v, "dtype", None), repr(np.asarray(v).tolist()) if isinstance(v, (np.ndarray, np.generic)) else repr(v))
             for v in (result if isinstance(result, tuple) else (result,))]
    return parts, [str(w.message) for w in seen], state(g)


def check(f, make=np.random.default_rng, args=((X, 4), (X[:2] * 3, 3), (X, 4), (X, 1)), **settings):
    """One variant, and nothing left to Python."""
    compiled = fusewire.compile(f, economy=False, **settings)
    for seed, arguments in enumerate(args):
        assert outcome(compiled, make(seed), *arguments) == outcome(f, make(seed), *arguments)
    breaks = [b for b in fusewire._fusewire.describe(compiled)["breaks"] if b["reason"] != "nothing-to-compile"]  # no turns
    assert not breaks, breaks


@pytest.mark.parametrize("draw", GENERATOR)
def test_generators(draw):
    check(program(f"a = {draw}", "b = g.random()", result="a, a + b, x * 2"), args=[(X, 4)] * 3)


@pytest.mark.parametrize("draw", STATE)
def test_states(draw):
    check(program(f"a = {draw}", "b = g.rand()", result="a, a + b, x * 2"), np.random.RandomState, args=[(X, 4)] * 3)


@pytest.mark.parametrize("draw", [d.replace("g.", "np.random.") for d in STATE])
def test_functions_of_the_module(draw):
    f = program(f"a = {draw}", "b = np.random.rand()", result="a, a + b, x * 2")
    compiled = fusewire.compile(f, economy=False)
    shared = np.random.mtrand._rand
    for seed in range(3):
        results = []
        for each in (compiled, f):
            np.random.seed(seed)
            results.append(outcome(lambda g: each(g, X, 4), shared))
        assert results[0] == results[1]
    assert not fusewire._fusewire.describe(compiled)["breaks"]


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64, np.random.PCG64DXSM])
def test_bit_generators(bits):
    f = program("s = 0.0", "for i in range(n):", "    s += g.random() * x[i]", result="s, g.integers(5), g.normal(size=n)")
    check(f, lambda seed: np.random.Generator(bits(seed)), args=[(X, 4), (X, 0), (X, 3)])


@pytest.fixture(params=["alone", "beside a thread"])
def company(request):
    """Where other threads live, streams are looked at before and after every draw."""
    end = threading.Event()
    beside = threading.Thread(target=end.wait, daemon=True)
    if request.param != "alone":
        beside.start()
    yield request.param
    end.set()
    if beside.ident:
        beside.join()


LOOPS = {
    "walk": (["y = np.zeros(n)", "for i in range(1, n):", "    y[i] = y[i - 1] + g.normal()"], "y, g.random()"),
    "pi": (["hits = 0", "for _ in range(n):", "    a = g.random()", "    b = g.random()", "    if a * a + b * b <= 1.0:", "        hits += 1"],
           "4.0 * hits / (n + 1)"),
    "paths": (["s = np.full(n, 100.0)", "for _ in range(70):", "    s = s * (1 + 0.01 * g.standard_normal(n))"], "s, g.random()"),
    "sometimes": (["s = 0.0", "for v in x:", "    if v > 2:", "        s += g.random()", "    else:", "        s -= g.normal()"], "s, g.random()"),
    "while": (["s = 0.0", "k = 0", "while s < n:", "    s += g.random()", "    k += 1"], "k, s, g.random()"),
    "break": (["k = 0", "for i in range(1000):", "    k = i", "    if g.random() < 0.05:", "        break"], "k, g.random(), x + 1"),
    "unused": (["for i in range(n):", "    g.random()", "    g.normal(size=2)"], "x + g.random()"),
    "nested": (["s = 0.0", "for i in range(n):", "    for j in range(i):", "        s += g.random() * j"], "s, g.random()"),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops(name, company):
    lines, result = LOOPS[name]
    check(program(*lines, result=result), args=[(X, n) for n in (5, 100, 0, 1, 1000, 2)])


def test_branches(company):
    f = program("if x.sum() > 3:", "    y = x + g.random(len(x))", "else:", "    y = x - g.normal(size=len(x))",
                "z = g.random() if y[0] > 1 else g.normal()", result="y, z, g.random()")
    check(f, args=[(s * X, 4) for s in (1, -1, 0.1, 5)])


def test_what_is_not_used_is_drawn():
    check(program("g.random(3)", "g.normal()", "a = g.poisson(3.0, 5) * 2", result="x + g.random()"))


GIVEN_UP = {
    "a warning": (["y = g.random(len(x))", "z = y / (x - 2)", "w = g.normal(size=2)"], "y, z, w"),
    "an error of the library": (["y = g.random(len(x))", "z = np.linalg.inv(np.outer(x, x) * 0)"], "y, z, g.random()"),
    "an error of a draw": (["y = g.random(3)", "z = g.normal(0, x[0] - 2)"], "y, z, g.random()"),
    "an index": (["y = g.random(3)", "z = x[n]"], "y + z, g.random()"),
    "in a loop": (["y = np.zeros(5)", "for i in range(5):", "    y[i] = g.random()", "    y[i] = y[i] + x[i]"], "y"),
    "after a write": (["x[0] = g.random()", "z = g.normal(size=3)", "x[1:] = np.sqrt(z[0] - 5)"], "x, z"),
}


@pytest.mark.parametrize("name", GIVEN_UP)
def test_what_is_given_up_is_drawn_again(name, company):
    lines, result = GIVEN_UP[name]
    f = program(*lines, result=result)
    compiled = fusewire.compile(f, economy=False)
    for make in (np.random.default_rng, np.random.RandomState):
        if make is np.random.RandomState and "random()" in result:
            continue
        for seed in range(4):
            assert outcome(compiled, make(seed), X.copy(), 4) == outcome(f, make(seed), X.copy(), 4)
            assert outcome(compiled, make(seed), X.copy() + 0.5, 2) == outcome(f, make(seed), X.copy() + 0.5, 2)


def test_generators_that_share_their_bits(company):
    def f(g, x, n):
        h = x.shared
        return (g.random(3), h.random(), g.random() / (n - 4), (g.random(2) + 1) / (n - 4),
                h.normal(size=2))

    class Box:
        def __init__(self, g):
            self.shared = np.random.Generator(g.bit_generator)

    compiled = fusewire.compile(f, economy=False)
    for n in (3, 4, 5, 4):
        g, h = np.random.default_rng(n), np.random.default_rng(n)
        assert outcome(compiled, g, Box(g), n) == outcome(f, h, Box(h), n)


class Model:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def step(self, x):
        return x + self.rng.normal(size=len(x)) * self.rng.random()


def test_attributes_and_globals():
    compiled = fusewire.compile(Model.step, economy=False)
    for seed in range(4):
        mine, plain = Model(seed), Model(seed)
        for _ in range(3):
            assert np.array_equal(compiled(mine, X), plain.step(X))
        assert state(mine.rng) == state(plain.rng)
    facts = fusewire._fusewire.describe(compiled)
    assert len(facts["variants"]) == 1 and not facts["breaks"]


def test_a_generator_made_inside():
    def f(x, seed):
        g = np.random.default_rng(seed)
        return x * g.random(len(x)) + g.normal()

    compiled = fusewire.compile(f, economy=False)
    for seed in range(5):
        assert np.array_equal(compiled(X, seed), f(X, seed))


class Loaded(np.random.Generator):
    def random(self, *args):
        return super().random(*args) + 100


def test_subclasses_and_strangers():
    f = program("a = g.random(3)", result="a + 1, x * 2")
    compiled = fusewire.compile(f, economy=False)
    for make in (np.random.default_rng, lambda seed: Loaded(np.random.PCG64(seed)), np.random.RandomState, np.random.default_rng):
        for seed in range(3):
            assert outcome(compiled, make(seed), X, 4) == outcome(f, make(seed), X, 4)


def test_threads_that_share_a_generator():
    """Every number is drawn once: the union of what threads got is what one of them would have got."""
    f = program("a = g.random(n)", "b = a * 2", "c = g.random(n)", result="np.concatenate([b / 2, c])")
    compiled = fusewire.compile(f, economy=False)
    compiled(np.random.default_rng(0), X, 3)
    g = np.random.default_rng(7)
    got = []

    def work():
        mine = [compiled(g, X, 3) for _ in range(200)]
        got.extend(np.concatenate(mine))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == sorted(np.random.default_rng(7).random(4 * 200 * 6))


def test_threads_while_runs_are_given_up():
    """No number is given out twice, although half of the runs end in a warning."""
    f = program("a = g.random(n)", "b = a / (x - x)", result="a")
    compiled = fusewire.compile(f, economy=False)
    g = np.random.default_rng(7)
    got = []

    def work():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got.extend(np.concatenate([compiled(g, X, 4) for _ in range(100)]))

    with np.errstate(all="ignore"):
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(set(got)) == len(got)


@pytest.mark.parametrize("backend", ["llvm", "llvm_o0", "reference", "numpy", "statements"])
def test_backends(backend):
    f = program("a = g.random(n)", "x[:2] = a[:2]", "b = g.normal(size=2)", "x[2:] += b * g.random()", result="a, b, x, g.integers(9)")
    compiled = fusewire.compile(f, economy=False, backend=backend)
    for seed in range(3):
        assert outcome(compiled, np.random.default_rng(seed), X.copy(), 4) == outcome(f, np.random.default_rng(seed), X.copy(), 4)


def test_wrong_arguments():
    for draw in ["g.normal(0, -1.0)", "g.random(-1)", "g.integers(5, 2)", "g.choice(0)", "g.random('a')", "g.poisson(-1.0)",
                 "g.choice(3, 5, replace=False)", "g.normal(size=(2, -1))", "g.uniform(0, np.inf)", "g.random(dtype='i4')", "g.nothing()"]:
        f = program(f"a = x + {draw}", result="a")
        compiled = fusewire.compile(f, economy=False)
        for seed in range(4):
            assert outcome(compiled, np.random.default_rng(seed), X, 4) == outcome(f, np.random.default_rng(seed), X, 4), draw


SINGLE = ["g.random()", "g.standard_normal()", "g.standard_exponential()", "g.standard_exponential(method='inv')", "g.standard_cauchy()",
          "g.exponential()", "g.exponential(v)", "g.exponential(scale=2)", "g.rayleigh(v)", "g.normal()", "g.normal(v, 1 + v)",
          "g.normal(scale=v)", "g.normal(i, loc=2) if n < 0 else g.normal(i)", "g.laplace(v)", "g.logistic(0, v)", "g.gumbel(v, i)",
          "g.lognormal(v)", "g.lognormal(sigma=v, mean=1)", "g.uniform()", "g.uniform(v)", "g.uniform(-v, v)", "g.uniform(low=v, high=n + 1)",
          "g.uniform(0, i)", "g.integers(n)", "g.integers(i + 1)", "g.integers(-i, n)", "g.integers(high=n + 1, low=i - n)", "g.integers(2**40)",
          "g.integers(-2**62, 2**62)", "g.integers(2**32)", "g.integers(2**32 - 1)", "g.integers(i, n, endpoint=True)",
          "g.integers(n, dtype='i4')", "g.integers(n, None)", "g.poisson()", "g.poisson(v)", "g.poisson(20 * v)", "g.poisson(v * i)"]
SINGLE_OF_STATES = ["g.rand()", "g.random()", "g.random_sample()", "g.uniform(-1, v)", "g.uniform(high=v)", "g.randint(n)", "g.randint(-i, n)",
                    "g.randint(low=0, high=i + 1)", "g.randint(2**40)", "g.normal(v)", "g.standard_normal()", "g.poisson(v)"]


@pytest.mark.parametrize("draw", SINGLE + SINGLE_OF_STATES[2:])
def test_single_numbers(draw, company):
    """Those that NumPy's own functions draw without their methods: in turns, with numbers that change as arguments."""
    f = program("s = []", "t = 0.0", "for i in range(n):", "    v = x[i % 4] * 0.75", f"    d = {draw}", "    t += d", "    s.append(d)",
                result="s, t, type(d) if n else None, g.random()")
    makes = [np.random.RandomState] if draw in SINGLE_OF_STATES else [np.random.default_rng, lambda seed: np.random.Generator(np.random.MT19937(seed))]
    for make in makes:
        compiled = fusewire.compile(f, economy=False)
        for seed, n in enumerate((1, 40, 300, 7)):
            assert outcome(compiled, make(seed), X, n) == outcome(f, make(seed), X, n)


@pytest.mark.parametrize("draw", ["g.normal(0, 20.0 - i)", "g.exponential(20.0 - i)", "g.uniform(0, 20 - i)", "g.uniform(0, x[0] / (20 - i))",
                                  "g.integers(20 - i)", "g.integers(i, 20)", "g.poisson(20.0 - i)", "g.rayleigh(x[0] * (20 - i))", "g.poisson(10.0**i)"])
def test_wrong_arguments_of_single_numbers(draw, company):
    f = program("s = 0.0", "for i in range(n):", f"    s += {draw}", result="s")
    compiled = fusewire.compile(f, economy=False)
    for seed, n in enumerate((5, 30, 19, 25)):
        assert outcome(compiled, np.random.default_rng(seed), X, n) == outcome(f, np.random.default_rng(seed), X, n)
