"""Exception handlers: what is handled inside compiled code keeps nothing alive longer than plain Python does, what a handler can ask
about it (sys.exc_info(), bare raise, chains) answers the same wherever the regions end, and handlers that Python enters are compiled."""

import contextlib
import gc
import sys
import traceback
import weakref

import numpy as np
import pytest

import fusewire
from observe import assert_same_observation, observe

CASES = []


def case(function):
    CASES.append(function)
    return function


class Boom(Exception):
    pass


class Holder:
    def __init__(self):
        self.error = self.x = None


class Swallow:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, tb):
        return True


@fusewire.disable
def watch(refs, *objects):
    refs += [weakref.ref(o) for o in objects]


@fusewire.disable
def note(log, refs):
    """What is alive now, and what the thread handles."""
    error = sys.exc_info()[1]
    log.append(([r() is not None for r in refs], type(error).__name__, error and error.args, type(error and error.__context__).__name__))


@fusewire.disable
def fails(x, log):
    log.append("fails")
    raise Boom("fails")


@fusewire.disable
def raises(error):
    raise error


def inner(x, refs):
    y = x * 2
    holder = Holder()
    watch(refs, y, holder)
    if y[0] < 1e9:
        raise Boom("inner", len(y))
    return y


def quiet(x, n):
    y = x * 2
    if n != 99:
        raise Boom("quiet")
    return y


# ---- lifetimes -------------------------------------------------------------------------------------------------------


@case
def handler_with_a_name(x, n, log, refs):
    try:
        inner(x, refs)
    except Boom as e:
        x[1:] += 1
        note(log, refs)
    note(log, refs)
    return x * 2


@case
def handler_captured_whole(x, n, log, refs):
    y = x + 1
    try:
        quiet(y, n)
    except Boom as e:
        z = y * 2
    watch(refs, y, z)
    del y, z
    note(log, refs)
    return x * 2


@case
def error_kept_and_dropped(x, n, log, refs):
    h = Holder()
    try:
        quiet(x, n)
    except Boom as e:
        h.error = e
        h.x = x + 1
    watch(refs, h, h.x, h.error)
    h.error = None
    note(log, refs)
    del h
    note(log, refs)
    return x * 2


@case
def error_returned(x, n, log, refs):
    y = x + 1
    watch(refs, y)
    try:
        quiet(y, n)
    except Boom as e:
        kept = e
    del y
    note(log, refs)
    return kept.args, x * 2


@case
def chain_of_errors(x, n, log, refs):
    try:
        try:
            inner(x, refs)
        except Boom as e:
            y = x * 3
            watch(refs, y, e)
            raise ValueError("chained") from e
    except ValueError as e:
        note(log, refs)
        x += 1
    note(log, refs)
    return x


@case
def swallowed_by_finally(x, n, log, refs):
    for i in range(2):
        try:
            inner(x + i, refs)
        finally:
            note(log, refs)
            if n:
                continue
            return x * 2
    note(log, refs)
    return x * 3


@case
def swallowed_by_with(x, n, log, refs):
    with Swallow():
        y = x + 1
        watch(refs, y)
        quiet(y, n)
    del y
    note(log, refs)
    return x * 2


@case
def generator_that_is_thrown_into(x, n, log, refs):
    def walk(a):
        local = a * 2
        watch(refs, local)
        try:
            yield local
        except Boom:
            log.append("caught")
            yield a
        finally:
            log.append("left")

    g = walk(x)
    next(g)
    g.throw(Boom("thrown"))
    note(log, refs)
    g.close()
    note(log, refs)
    return x * 2


@case
def generator_that_raises(x, n, log, refs):
    def walk(a):
        local = a * 2
        watch(refs, local)
        yield a
        raise Boom("end")

    try:
        for item in walk(x):
            x = x + item
    except Boom:
        note(log, refs)
    note(log, refs)
    return x


@case
def loop_of_handlers(x, n, log, refs):
    for i in range(3):
        y = x + i
        watch(refs, y)
        try:
            quiet(y, n)
        except Boom as e:
            x = x + 1
        del y
        note(log, refs)
    return x


# ---- what handlers see -----------------------------------------------------------------------------------------------


@case
def error_of_the_thread_inside(x, n, log, refs):
    try:
        quiet(x, n)
    except Boom:
        kind, error, tb = sys.exc_info()
        x = x + 1
        note(log, refs)
        log.append((kind, error.args, tb is not None, sys.exc_info()[1] is error))
    log.append(sys.exc_info())
    return x * 2


@case
def nested_errors_of_the_thread(x, n, log, refs):
    try:
        quiet(x, n)
    except Boom as first:
        x = x * 2
        try:
            x[9 + n] = 1
        except IndexError as second:
            note(log, refs)
            log.append((sys.exc_info()[1] is second, second.__context__ is first, second.args))
        note(log, refs)
        log.append(sys.exc_info()[1] is first)
        x = x + 1
    note(log, refs)
    return x


@case
def raised_again(x, n, log, refs):
    try:
        quiet(x, n)
    except Boom:
        x[1:] += 1
        if n:
            raise
        note(log, refs)
    return x


@case
def raised_again_in_a_helper(x, n, log, refs):
    def again():
        raise

    try:
        try:
            quiet(x, n)
        except Boom:
            x[1:] += 1
            again()
    except Boom as e:
        log.append((e.args, e.__context__))
    again()
    return x


@case
def raised_from(x, n, log, refs):
    try:
        quiet(x, n)
    except Boom as e:
        x[1:] += 1
        if n == 1:
            raise ValueError("from") from e
        if n == 2:
            raise ValueError("from None") from None
        raise ValueError("plain")
    return x


@case
def context_of_what_python_raises(x, n, log, refs):
    try:
        quiet(x, n)
    except Boom:
        x[1:] += 1
        try:
            fails(x, log)
        except Boom as e:
            log.append((e.args, e.__context__.args, e.__context__ is sys.exc_info()[1], e.__context__.__context__))
        x *= 2
        fails(x, log)
    return x


@case
def traceback_in_a_handler(x, n, log, refs):
    try:
        quiet(x + 1, n)
    except Boom as e:
        x = x * 2
        log.append([(f.name, f.line) for f in traceback.extract_tb(e.__traceback__)])
        log.append(traceback.format_exc().splitlines()[-1])
    return x


@case
def handler_of_python_with_arrays(x, n, log, refs):
    y = x
    for i in range(2):
        try:
            fails(x, log)
        except Boom as e:
            y = y * 2 + i
            y[1:] += x[:-1]
            z = (y * x).sum()
            log.append((z, e.args))
            note(log, refs)
        note(log, refs)
    return y


@case
def errors_that_outlive_the_call(x, n, log, refs):
    """Their contexts are whatever the caller handles."""
    try:
        try:
            quiet(x, n)
        except Boom as e:
            first = e
            raise KeyError("second") from (first if n else None)
    except KeyError as e:
        second = e
    return first, second, sys.exc_info()[1], x * 2


@case
def error_given_away(x, n, log, refs):
    try:
        quiet(x, n)
    except Boom as e:
        log.append(e)
        log.append(e.__context__ and e.__context__.args)
    return x * 2


# ---- what generators handle is theirs while they are suspended --------------------------------------------------------


def suspended_in_a_handler(x):
    try:
        raise Boom("generator")
    except Boom as e:
        yield x
        yield sys.exc_info()[1].args
        yield sys.exc_info()[1] is e
    yield sys.exc_info()[0]


def handles_what_is_thrown(x, log):
    try:
        yield x
    except Boom as e:
        log.append((e.args, e.__context__, sys.exc_info()[1] is e))
        yield "caught"
        raise
    finally:
        log.append(sys.exc_info()[0])


@contextlib.contextmanager
def entered(x, log):
    try:
        yield x * 2
    except Boom as e:
        log.append((e.args, sys.exc_info()[1] is e))
    finally:
        log.append(sys.exc_info()[0])


@case
def consumer_of_a_generator_that_handles(x, n, log, refs):
    for v in suspended_in_a_handler(x * 2):
        log.append((sys.exc_info()[0], v))
        x = x + 1
    return x


@case
def raising_beside_a_generator_that_handles(x, n, log, refs):
    g = suspended_in_a_handler(x)
    next(g)
    try:
        if n:
            raise
        [][n]
    except (IndexError, RuntimeError) as e:
        log.append((e.args, e.__context__, next(g), sys.exc_info()[1] is e))
    log.append(next(g))
    return x + 1


@case
def throwing_from_a_handler(x, n, log, refs):
    g = handles_what_is_thrown(x, log)
    next(g)
    try:
        raise KeyError("consumer")
    except KeyError as consumer:
        log.append(g.throw(Boom("thrown")))
        x = x * 2
        try:
            next(g)
        except Boom as e:
            log.append((e.__context__ is consumer, sys.exc_info()[1] is e))
        log.append(sys.exc_info()[1] is consumer)
    return x + 1


@case
def closing_in_a_handler(x, n, log, refs):
    g = handles_what_is_thrown(x, log)
    next(g)
    g.close()
    try:
        n // 0
    except ZeroDivisionError as e:
        g = handles_what_is_thrown(x, log)
        y = next(g) * 2
        g.close()
        log.append((e.__context__, sys.exc_info()[1] is e))
    return y


@case
def raising_through_a_context_manager(x, n, log, refs):
    try:
        raise KeyError("outer")
    except KeyError:
        with entered(x, log) as y:
            x = x + y
            if n < 2:
                raise Boom("inside")
        log.append(sys.exc_info()[1].args)
    return x, sys.exc_info()[0]


@case
def throwing_into_a_delegating_generator(x, n, log, refs):
    def outer():
        try:
            raise KeyError("outer")
        except KeyError:
            yield from handles_what_is_thrown(x * 2, log)

    g = outer()
    y = next(g)
    log.append(g.throw(Boom("thrown")))
    try:
        next(g)
    except Boom as e:
        log.append((e.args, type(e.__context__)))
    return y + 1


def run(function, n, outer):
    """A call, perhaps from inside a handler of its caller; and what it leaves behind."""
    x, log, refs = np.arange(6.0), [], []
    references = sys.getrefcount(x)

    def call():
        if not outer:
            return observe(function, (x, n, log, refs))
        try:
            raise KeyError("outer")
        except KeyError:
            return observe(function, (x, n, log, refs))

    gc.collect()
    seen = call()
    left = [r() is not None for r in refs]
    held = sys.getrefcount(x) - references   # by what was observed, and by frames that a cycle keeps
    garbage = gc.collect()
    living = [entry[0] for entry in log if isinstance(entry, tuple) and entry and isinstance(entry[0], list)]
    log[:] = [entry[1:] if isinstance(entry, tuple) and entry and isinstance(entry[0], list) else entry for entry in log]
    refs.clear()
    return seen, [left, *living], (held, garbage)


@pytest.mark.parametrize("outer", [False, True], ids=["alone", "called in a handler"])
@pytest.mark.parametrize("mode", [{}, {"compile_all": True}], ids=["default", "everything"])
@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_nothing_lives_longer_and_handlers_see_the_same(function, mode, outer):
    compiled = fusewire.compile(function, **mode)
    gc.collect()
    gc.freeze()   # so that collecting is quick
    gc.disable()
    try:
        for n in (0, 1, 2, 1, 0, 2):
            expected, expected_living, expected_kept = run(function, n, outer)
            actual, living, kept = run(compiled, n, outer)
            assert_same_observation(expected, actual)
            assert [len(alive) for alive in living] == [len(alive) for alive in expected_living]
            longer = [at for at, (a, e) in enumerate(zip(living, expected_living)) if any(x and not y for x, y in zip(a, e))]
            assert not longer, (living, expected_living)
            assert all(a <= e for a, e in zip(kept, expected_kept)), (kept, expected_kept)
    finally:
        gc.enable()
        gc.unfreeze()


def test_bodies_of_handlers_that_python_entered():
    """What such a body computes is compiled up to where the handler ends, and goes on behind it."""

    def clauses(x, error):
        try:
            raises(error)
        except KeyError as e:
            y = x * 2 + 1
            y[1:] += x[:-1]
            z = np.sqrt(y * y), e.args
        except (IndexError, ValueError):
            return np.abs(x * 3 - 1) + x
        return z, x + 1

    def bare(x, error):
        try:
            raises(error)
        except:  # noqa: E722
            y = x * 2 + 1
            x = np.sqrt(y * y)
        return x

    def left_by_finally(x, error, log):
        try:
            raises(error)
        finally:
            x[1:] += x[:-1] * 2
            log.append((x * x + 1).sum())

    x = np.arange(6.0)
    for f, errors in ((clauses, [KeyError("k"), ValueError("v")]), (bare, [KeyError("k")])):
        c = fusewire.compile(f)
        for error in errors * 4:
            assert str(c(x, error)) == str(f(x, error))
        hits = [v["hits"] for r in fusewire._fusewire.describe(c)["regions"] for v in r["variants"]]
        assert sum(h >= 3 for h in hits) >= len(errors), hits
    c, logs = fusewire.compile(left_by_finally), ([], [])
    for f, log in ((left_by_finally, logs[0]), (c, logs[1])):
        y = x.copy()
        for _ in range(4):
            with pytest.raises(KeyError):
                f(y, KeyError("k"), log)
        log.append(y.tolist())
    assert logs[0] == logs[1]
    assert any(v["hits"] >= 3 for r in fusewire._fusewire.describe(c)["regions"] for v in r["variants"])
