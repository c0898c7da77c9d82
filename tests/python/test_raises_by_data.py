"""Exceptions that array data decides about, where the function handles them itself: each instruction that raises one is
a branch, with the handler as one arm (src/frame_eval/raising.h)."""

import math

import fusewire
import numpy as np
import pytest
from compare import assert_same_call

X = np.random.default_rng(0).normal(size=90)
K = np.random.default_rng(1).integers(0, 5, 90)
G = np.random.default_rng(2).integers(0, 9, (8, 8))


def root_or_nothing(x):
    s = 0.0
    for v in x.tolist():
        try:
            s += math.sqrt(v)
        except ValueError:
            pass
    return s


def root_or_zero(x):
    s = 0.0
    for v in x.tolist():
        try:
            r = math.sqrt(v)
        except ValueError:
            r = 0.0
        s += r
    return s


def log_or_less(x):
    s = 0.0
    for v in x:
        try:
            s += math.log(v)
        except ValueError:
            s -= 1
    return s


def safe(a, b):
    try:
        return a / b
    except ZeroDivisionError:
        return 0.0


def by_helper(k):
    s = 0.0
    for v in k.tolist():
        s += safe(1.0, v)
    return s


def continues(k):
    s = 0.0
    for v in k.tolist():
        try:
            q = 10 / v
        except ZeroDivisionError:
            continue
        s += q
    return s


def breaks(k):
    s = 0.0
    for v in k.tolist():
        try:
            q = 10 / v
        except ZeroDivisionError:
            break
        s += q
    return s


def returns(k):
    s = 0.0
    for v in k.tolist():
        try:
            s += 10 / v
        except ZeroDivisionError:
            return -1.0
    return s


def otherwise(k):
    n = 0
    s = 0.0
    for v in k.tolist():
        try:
            q = 10 / v
        except ZeroDivisionError:
            n += 1
        else:
            s += q
    return s, n


def at_last(k):
    n = 0
    s = 0.0
    for v in k.tolist():
        try:
            s += 10 / v
        except ZeroDivisionError:
            s -= 1
        finally:
            n += 1
    return s, n


def two_handlers(k, x):
    d = {0: 1.0, 2: 3.0}
    s = 0.0
    for v, w in zip(k.tolist(), x.tolist()):
        try:
            s += d[v] / int(w)
        except KeyError:
            s -= 1
        except ZeroDivisionError:
            s += 100
    return s


def of_two_classes(k, x):
    d = {0: 1.0, 2: 3.0}
    s = 0.0
    for v, w in zip(k.tolist(), x.tolist()):
        try:
            s += d[v] / int(w)
        except (KeyError, ZeroDivisionError):
            s -= 1
    return s


def of_a_base(k):
    s = 0.0
    for v in k.tolist():
        try:
            s += 1 / v
        except Exception:
            s -= 1
    return s


def of_all(k):
    s = 0.0
    for v in k.tolist():
        try:
            s += 1 / v
        except:
            s -= 1
    return s


def named(k):
    s = 0.0
    for v in k.tolist():
        try:
            s += 1 / v
        except ZeroDivisionError:
            s -= 1
    return s


def raises_itself(x):
    s = 0.0
    for v in x.tolist():
        try:
            if v < 0:
                raise ValueError("neg")
            s += v
        except ValueError:
            s -= 1
    return s


def of_another_class(k):
    s = 0.0
    for v in k.tolist():
        try:
            s += 1 / v
        except KeyError:
            s -= 1
    return s


def newton(x):
    out = []
    for v in x.tolist():
        z = v
        for i in range(20):
            f = z**3 - 2 * z + v
            d = 3 * z * z - 2
            try:
                st = f / d
            except ZeroDivisionError:
                break
            z -= st
            if abs(st) < 1e-9:
                break
        out.append(z)
    return out


def counts(k):
    c = {}
    for v in k.tolist():
        try:
            c[v] += 1
        except KeyError:
            c[v] = 1
    return c


def index_of_list(k):
    d = [5, 6, 7]
    s = 0
    for v in k.tolist():
        try:
            s += d[v]
        except IndexError:
            s -= 1
    return s


def neighbours(g):
    n = len(g)
    o = np.zeros_like(g)
    for i in range(n):
        for j in range(n):
            s = 0
            for di, dj in ((0, 1), (1, 0)):
                try:
                    s += g[i + di, j + dj]
                except IndexError:
                    pass
            o[i, j] = s
    return o


def pops(k):
    st = []
    n = 0
    for v in k.tolist():
        if v > 2:
            st.append(v)
        else:
            try:
                n += st.pop()
            except IndexError:
                n -= 1
    return n, st


def no_loop(x, v):
    try:
        return math.sqrt(float(x[0]) - 1) / float(x[1])
    except (ValueError, ZeroDivisionError):
        return 0.0


def into_array(x):
    s = np.zeros(3)
    for i in range(len(x)):
        try:
            s[i % 3] += math.sqrt(x[i])
        except ValueError:
            s[0] -= 1
    return s


def index_of_item(k):
    seen = []
    s = 0
    for v in k.tolist():
        try:
            s += seen.index(v)
        except ValueError:
            seen.append(v)
    return s, seen


def removes(k):
    a = list(range(5))
    for v in k.tolist():
        try:
            a.remove(v)
        except ValueError:
            a.append(v)
    return a


def overflows(x):
    s = 0.0
    for v in x.tolist():
        try:
            s += math.exp(800 * v)
        except OverflowError:
            s += 1
    return s if s < 1e300 else 0.0


def nested(k):
    s = 0.0
    for v in k.tolist():
        try:
            try:
                s += 1 / v
            except KeyError:
                s += 5
        except ZeroDivisionError:
            s -= 1
    return s


def to_int(x):
    y = x.copy()
    y[::3] = np.nan
    s = 0
    for v in y.tolist():
        try:
            s += int(v)
        except ValueError:
            s += 100
    return s


def checked(v):
    if v < 0:
        raise ValueError("neg")
    return v * 2


def callee_raises(x):
    s = 0.0
    for v in x.tolist():
        try:
            s += checked(v)
        except ValueError:
            s -= 1
    return s


def until_the_end(k):
    i = 0
    s = 0
    while True:
        try:
            s += k[i]
        except IndexError:
            break
        i += 1
    return s


def loop_inside(k):
    s = 0.0
    try:
        for v in k.tolist():
            s += 1 / v
    except ZeroDivisionError:
        s = -s
    return s


class Meter:
    def __init__(self):
        self.seen = 0
        self.log = []

    def take(self, v):
        self.seen += 1
        if v < 0:
            raise ValueError("neg")
        return v


def effect_before_raise(x):
    m = Meter()
    s = 0.0
    for v in x.tolist():
        try:
            s += m.take(v)
        except ValueError:
            s -= 1
    return s, m.seen


def append_before_raise(x):
    out = []

    def put(v):
        out.append(v)
        if v < 0:
            raise ValueError
        return v

    s = 0.0
    for v in x.tolist():
        try:
            s += put(v)
        except ValueError:
            s -= 1
    return s, out


def write_before_raise(x):
    a = np.zeros(len(x))

    def put(i, v):
        a[i] = v
        if v < 0:
            raise ValueError
        return v

    s = 0.0
    for i, v in enumerate(x.tolist()):
        try:
            s += put(i, v)
        except ValueError:
            s -= 1
    return s, a


def append_in_front_of_raise(x):
    out = []

    def put(v):
        if v < 0:
            out.append(v)
            raise ValueError
        return v

    s = 0.0
    for v in x.tolist():
        try:
            s += put(v)
        except ValueError:
            s -= 1
    return s, out


def set_in_front_of_raise(x):
    m = Meter()

    def put(v):
        if v < 0:
            m.seen = v
            raise ValueError
        return v

    s = 0.0
    for v in x.tolist():
        try:
            s += put(v)
        except ValueError:
            s -= 1
    return s, m.seen


def here_in_front_of_raise(x):
    out = []
    s = 0.0
    for v in x.tolist():
        try:
            if v < 0:
                out.append(v)
                raise ValueError
            s += v
        except ValueError:
            s -= 1
    return s, out


class TooSmall(ValueError):
    pass


class Loud(ValueError):
    made = 0

    def __init__(self, v):
        super().__init__(v)
        Loud.made += 1


def own_class(x):
    def f(v):
        if v < 0:
            raise TooSmall("small")
        return v

    s = 0.0
    for v in x.tolist():
        try:
            s += f(v)
        except ValueError:
            s -= 1
    return s


def loud_class(x):
    Loud.made = 0

    def f(v):
        if v < 0:
            raise Loud(v)
        return v

    s = 0.0
    for v in x.tolist():
        try:
            s += f(v)
        except ValueError:
            s -= 1
    return s, Loud.made


def reads_text(k):
    t = ""
    for v in k.tolist():
        try:
            10 / v
        except ZeroDivisionError as e:
            t = str(e)
    return t


def reads_args(k):
    d = {0: 1, 2: 3}
    s = 0
    for v in k.tolist():
        try:
            s += d[v]
        except KeyError as e:
            s -= e.args[0]
    return s


def raises_again(k):
    s = 0.0
    for v in k.tolist():
        try:
            try:
                s += 1 / v
            except ZeroDivisionError:
                s += 5
                raise
        except ZeroDivisionError:
            s -= 1
    return s


def raises_another(k):
    s = 0.0
    for v in k.tolist():
        try:
            s += 1 / v
        except ZeroDivisionError as e:
            if s > 20:
                raise ValueError("too much") from e
            s += 7
    return s


def handler_decides(x):
    s = 0.0
    for v in x.tolist():
        try:
            s += math.sqrt(v)
        except ValueError:
            if v < -1:
                s -= 2
            else:
                s -= 1
    return s


def handler_chooses(x):
    s = 0.0
    for v in x.tolist():
        try:
            s += math.sqrt(v)
        except ValueError:
            if v < -1:
                s -= 2
            else:
                s -= 1
    return s


def handler_leaves(x):
    s = 0.0
    n = 0
    for v in x.tolist():
        try:
            s += math.sqrt(v)
        except ValueError:
            if v < -2:
                break
            if v < -1:
                n += 1
            s -= 1
    return s, n


def handler_waits(x):
    s = 0.0
    n = 0
    for v in x.tolist():
        try:
            s += math.sqrt(v)
        except ValueError:
            while v < 0:
                v += 0.5
                n += 1
            s += v
    return s, n


def handler_loops(x):
    s = 0.0
    n = 0
    for v in x.tolist():
        try:
            s += math.sqrt(v)
        except ValueError:
            for j in range(5):
                if v + j > 0:
                    n += 1
    return s, n


def handler_continues(x):
    s = 0.0
    n = 0
    for v in x.tolist():
        try:
            s += math.sqrt(v)
        except ValueError as e:
            if v < -1:
                continue
            n += 1
        s += 0.5
    return s, n


def handler_raises_again(x):
    s = 0.0
    n = 0
    for v in x.tolist():
        try:
            s += math.sqrt(v)
        except ValueError as e:
            if v < -2:
                raise
            n += 1
    return s, n


def handler_returns(x):
    def f(v):
        try:
            return math.sqrt(v)
        except ValueError:
            if v < -1:
                return -1.0
        return 0.0

    s = 0.0
    for v in x.tolist():
        s += f(v)
    return s


def loop_in_helper(k):
    def total(a, b):
        s = 0.0
        for i in range(a):
            s += 1 / (i - b)
        return s

    s = 0.0
    for v in k.tolist():
        try:
            s += total(v, 2)
        except ZeroDivisionError:
            s -= 1
    return s


def two_checks(k):
    def f(v):
        return 1 / v + 1 / (v - 1) + 1 / (v - 2)

    s = 0.0
    for v in k.tolist():
        try:
            s += f(v)
        except ZeroDivisionError:
            s -= 1
    return s


def callee_handles_another(k):
    def f(v):
        try:
            return 1 / v
        except KeyError:
            return 5.0

    s = 0.0
    for v in k.tolist():
        try:
            s += f(v)
        except ZeroDivisionError:
            s -= 1
    return s


def callee_handles_some(k):
    d = {1: 0, 2: 4}

    def f(v):
        try:
            return 8 / d[v]
        except KeyError:
            return 5.0

    s = 0.0
    for v in k.tolist():
        try:
            s += f(v)
        except ZeroDivisionError:
            s -= 1
    return s


def behind_the_try(k):
    s = 0.0
    n = 0
    for v in k.tolist():
        try:
            q = 12 / v
        except ZeroDivisionError:
            n += 1
            continue
        s += 6 / (q - 3)
    return s, n


def kept_from_the_turn_before(k):
    b = 0.0
    z = 0.0
    for v in k.tolist():
        try:
            b = 1 / v
        except ZeroDivisionError:
            pass
        z += b
    return b, z


def kept_as_other_things(k):
    p, q, name = None, (0, 0.0), "none"
    n = 0
    for v in k.tolist():
        try:
            r = 6 / v
            p = r
            q = (v, r)
            name = "some"
        except ZeroDivisionError:
            n += 1
        else:
            n = 0
    return p, q, name, n


def kept_by_raise(k):
    p = -1
    z = 0
    for v in k.tolist():
        try:
            if v == 0:
                raise ValueError
            p = v
        except ValueError:
            z += 100
        finally:
            z += p
    return p, z


def first_handled_inside(k):
    d = {1: 5.0, 2: 3.0}

    def h(v, i):
        try:
            return d[i % 4] / v
        except KeyError:
            return -1

    c = 0
    s = 0.0
    for i, v in enumerate(k.tolist()):
        try:
            s += h(v, i)
        except ZeroDivisionError:
            c += 1
    return s, c


def draws_before_it_raises(k):
    r = np.random.default_rng(5)

    def g(v):
        q = r.random()
        if v == 0:
            raise ValueError
        return q

    s = 0.0
    for v in k.tolist():
        try:
            s += g(v)
        except ValueError:
            s -= 1
    return s, r.random()


def items_of_a_map(k):
    s = 0.0
    try:
        for v in map(lambda v: 1 / v, k.tolist()):
            s += v
    except ZeroDivisionError:
        s = -s
    return s


def next_of_a_map(k):
    it = map(lambda v: 1 / v, k.tolist())
    s = 0.0
    n = 0
    for _ in range(len(k)):
        try:
            s += next(it)
        except ZeroDivisionError:
            n += 1
    return s, n


def sorted_by_a_quotient(k):
    try:
        it = sorted(zip(k.tolist(), range(len(k))), key=lambda t: t[1] / t[0])
    except ZeroDivisionError:
        return -1
    v = 0.0
    for w, q in it:
        v += q * w
    return v


class Failed(Exception):
    pass


def cause_of_another_function(k):
    def g(v):
        try:
            return 1 / v
        except ZeroDivisionError as e:
            raise Failed("x") from e

    a = 0
    for v in k.tolist():
        try:
            a += g(v)
        except Failed as e:
            a += e.__cause__ is not None
    return a


def context_of_another_function(k):
    def g(v):
        try:
            return 1 / v
        except ZeroDivisionError:
            raise Failed

    a = 0
    for v in k.tolist():
        try:
            a += g(v)
        except Failed as e:
            a += 1 if e.__context__ is not None else 100
    return a


def quotients_of_numpy(k):
    c = 0
    with np.errstate(all="ignore"):
        for v in k:
            try:
                c += 5 // v + 5 % v
            except ZeroDivisionError:
                c += 100
    return c


def with_inside(k):
    s = 0.0
    for v in k.tolist():
        with np.errstate(all="ignore"):
            try:
                s += 1 / v
            except ZeroDivisionError:
                s -= 1
    return s


def with_between(k):
    s = 0.0
    for v in k.tolist():
        try:
            with np.errstate(all="ignore"):
                s += 1 / v
        except ZeroDivisionError:
            s -= 1
    return s


def finally_between(k):
    s = 0.0
    n = 0
    for v in k.tolist():
        try:
            try:
                s += 1 / v
            finally:
                n += 1
        except ZeroDivisionError:
            s -= 1
    return s, n


def from_generator(k):
    def walk(a):
        for v in a:
            yield 1 / v

    g = walk(k.tolist())
    s = 0.0
    try:
        while True:
            s += next(g)
    except ZeroDivisionError:
        s = -s
    except StopIteration:
        s += 1
    return s


def of_numpy(k):
    s = 0.0
    with np.errstate(all="ignore"):
        for v in k:
            try:
                s += min(1 / v, 10.0)
            except ZeroDivisionError:
                s -= 1
    return s


def state_of_machine(k):
    state = "idle"
    n = 0
    for v in k.tolist():
        try:
            q = 6 // v
            state = "run" if q > 2 else "idle"
        except ZeroDivisionError:
            state = "error"
        if state == "error":
            n += 1
    return state, n


def swallows_break(k):
    s = 0
    for v in k.tolist():
        try:
            if v == 3:
                break
            s += 12 // v
        except ZeroDivisionError:
            s += 1
        else:
            s += 2
        finally:
            s += 3
    return s


def none_in_handler(k):
    last = None
    out = []
    for v in k.tolist():
        try:
            last = 12 // v
        except ZeroDivisionError:
            last = None
        if last is not None:
            out.append(last)
    return out


def index_below(k):
    t = [5, 6, 7, 8]
    s = 0
    for v in k.tolist():
        try:
            s += t[v - 5]
        except IndexError:
            s -= 100
    return s


def array_edges(x, k):
    s = 0.0
    for v in k.tolist():
        try:
            s += x[v * 20 - 30]
        except IndexError:
            s -= 1
    return s


def store_beyond(x, k):
    out = np.zeros(10)
    n = 0
    for i, v in enumerate(k.tolist()):
        try:
            out[v * 3] += x[i]
        except IndexError:
            n += 1
    return out, n


def unbound(k):
    s = 0.0
    for v in k.tolist():
        try:
            q = 1 / v
        except ZeroDivisionError:
            pass
        s += q
    return s


FLOATS = [root_or_nothing, root_or_zero, log_or_less, raises_itself, newton, into_array, overflows, to_int]
FLOATS += [callee_raises, effect_before_raise, append_before_raise, write_before_raise, own_class, loud_class]
FLOATS += [handler_chooses, handler_leaves, handler_waits, handler_loops, handler_continues, handler_raises_again]
FLOATS += [handler_returns, handler_decides, append_in_front_of_raise, set_in_front_of_raise, here_in_front_of_raise]
INTS = [by_helper, continues, breaks, returns, otherwise, at_last, of_a_base, of_all, named, counts, index_of_list]
INTS += [pops, index_of_item, removes, nested, until_the_end, loop_inside, reads_text, reads_args, raises_again]
INTS += [
    callee_handles_another,
    callee_handles_some,
    behind_the_try,
    raises_another,
    loop_in_helper,
    two_checks,
    with_inside,
    with_between,
    finally_between,
    from_generator,
]
INTS += [of_numpy, state_of_machine, swallows_break, none_in_handler, index_below, of_another_class, unbound]
BOTH = [two_handlers, of_two_classes, no_loop, array_edges, store_beyond]


def often(function, compiled, calls, ulp=0):
    """So often that calls which raise what the function handles are compiled for that."""
    for call in calls:
        for _ in range(4):
            assert_same_call(function, compiled, call(), ulp=ulp)


@pytest.mark.parametrize("function", FLOATS, ids=lambda f: f.__name__)
def test_floats(function):
    compiled = fusewire.compile(function, background=False)
    values = [X, X[:40], np.abs(X), -np.abs(X), X[:1], X[:0], np.zeros(9), X]
    often(function, compiled, [lambda v=v: [v.copy()] for v in values], ulp=64 if function is newton else 1)


@pytest.mark.parametrize("function", INTS, ids=lambda f: f.__name__)
def test_ints(function):
    compiled = fusewire.compile(function, background=False)
    values = [K, K[:40], K + 1, K * 0, K[:1], K[:0], K - 2, np.array([2, 0]), np.array([2, 4]), K]
    often(function, compiled, [lambda v=v: [v.copy()] for v in values])


@pytest.mark.parametrize("function", BOTH, ids=lambda f: f.__name__)
def test_both(function):
    order = (X, K) if function in (no_loop, array_edges, store_beyond) else (K, X)
    compiled = fusewire.compile(function, background=False)
    often(function, compiled, [lambda n=n: [a[:n].copy() for a in order] for n in (90, 40, 2, 90)])


def test_neighbours():
    compiled = fusewire.compile(neighbours, background=False)
    often(neighbours, compiled, [lambda g=g: [g.copy()] for g in (G, G[:5, :5], G[:1, :1], G)])


COMPILED = [
    handler_chooses,
    handler_loops,
    handler_continues,
    handler_returns,
    root_or_nothing,
    raises_itself,
    callee_raises,
    overflows,
    to_int,
    into_array,
    own_class,
]
COMPILED += [by_helper, continues, otherwise, at_last, of_a_base, of_all, named, counts, index_of_list, pops, nested]
COMPILED += [index_of_item, removes, until_the_end, two_checks, index_below, state_of_machine, none_in_handler]


@pytest.mark.parametrize("function", COMPILED, ids=lambda f: f.__name__)
def test_calls_that_raise_are_compiled(function):
    """From some call on, none is Python's."""
    compiled = fusewire.compile(function, background=False)
    values = X if function in FLOATS else K
    for _ in range(24):
        compiled(values)
    before = fusewire._fusewire.describe(compiled)
    for _ in range(10):
        compiled(values)
    after = fusewire._fusewire.describe(compiled)
    assert not [b for b in after["breaks"] if b["reason"] != "nothing-to-compile"]
    assert after["python_calls"] == before["python_calls"]
    assert sum(v["hits"] for v in after["variants"]) - sum(v["hits"] for v in before["variants"]) == 10
