"""Control flow: loops, exceptions, with, match, asserts, in every nesting. Part of corpus_lang."""

import contextlib
import threading

import numpy as np

from corpus_case import Corpus, numbers

corpus = Corpus()
case, group = corpus.case, corpus.group


class Scope:
    def __init__(self, log, name="s", swallow=(), value=None, fail=None):
        self.log, self.name, self.swallow, self.value, self.fail = log, name, swallow, value, fail

    def __enter__(self):
        self.log.append(("enter", self.name))
        if self.fail == "enter":
            raise RuntimeError("enter")
        return self.value

    def __exit__(self, kind, error, tb):
        self.log.append(("exit", self.name, kind and kind.__name__, error and error.args))
        if self.fail == "exit":
            raise RuntimeError("exit")
        return kind is not None and issubclass(kind, self.swallow)


class Boom(Exception):
    pass


def boom(x, really=True):
    if really:
        raise Boom("boom", 1)
    return x


def deep(x, depth):
    if depth == 0:
        raise Boom("deep")
    return deep(x + 1, depth - 1)


# ---- branches and loops -----------------------------------------------------------------------------------------------

group("branches")


@case
def if_elif_else(x, k):
    if k is None:
        y = x
    elif k > 2:
        y = x * k
    elif k == 2:
        y = x - 1
    else:
        y = x + k
    return y + 1


@case
def if_on_data(v):
    if v.sum() > 0:
        return v * 2
    return v - 1


@case
def if_on_shape(x):
    if x.ndim == 2:
        return x.sum(axis=0)
    if len(x) > 6:
        return x[::2]
    return x


@case
def if_on_dtype(x):
    if x.dtype == np.float32:
        return x.astype(np.float64)
    return x * 2 if x.dtype.kind == "i" else x


@case
def truth_of_array(x, flag):
    if flag:
        return x if x[:1].any() else -x
    return 1 if x else 0


@case
def conditional_expressions(x, flag, k):
    return (x if flag else x + 1), (k if flag is None else -1), ("a" if flag and k else "b")


@case
def boolean_chains(x, flag, k):
    a = flag and k or 7
    b = flag or (k and x)
    c = not flag and not k
    return a, b, c, x + 1


@case
def comparison_chains(x, n):
    return 1 < n < 5, 0 <= n == n <= 7, x[0] if 2 < n != 4 else x[-1], (1 < n) < 2


@case
def none_checks(x, flag, k):
    y = x if flag is None else x * 2
    return y if k is not None else y - 1


@case
def early_returns(x, n):
    if n == 0:
        return
    if n == 1:
        return x
    y = x * n
    if n > 4:
        return y, n
    return [y]


group("for loops")


@case
def for_range(x, n):
    for i in range(n):
        x = x + i
    return x


@case
def for_range_step(x, n):
    total = 0
    for i in range(2 * n, 0, -2):
        total += i
        x = x - i
    return total, x, list(range(n))[-1:]


@case
def for_else(x, n):
    for i in range(n):
        if i == 4:
            x = x * 10
            break
    else:
        x = x - 1
    return x


@case
def for_continue(x, n):
    for i in range(n):
        if i % 2:
            continue
        x = x + i
    return x


@case
def for_nested(x, n):
    count = 0
    for i in range(n):
        for j in range(i):
            if j == 2:
                continue
            if i + j > 6:
                break
            x = x + j
        else:
            count += 1
    return x, count


@case
def for_over_list(x, items):
    for item in items:
        x = x * item
    return x


@case
def for_over_tuple(x):
    for a, b in ((1, 2), (3, 4.5)):
        x = x * a + b
    return x


@case
def for_over_dict(x, d):
    seen = []
    for key in d:
        seen.append(key)
        x = x + d[key]
    return x, seen


@case
def for_over_items(x, d):
    for key, value in d.items():
        x = x + value if key != "c" else x
    return x


@case
def for_over_array_rows(m):
    total = 0
    for row in m:
        total = total + row.sum()
    return total


@case
def for_over_elements(v):
    total = 0
    for e in v:
        if e > 0:
            total += e
    return total, type(total)


@case
def for_over_string(x, text):
    found = []
    for c in text:
        found.append(c.upper())
        x = x + 1
    return found, x


@case
def for_loop_variable_after(x, n):
    for i in range(n):
        x = x + 1
    return i, x


@case
def for_list_grows(x):
    items = [1]
    for item in items:
        if item < 20:
            items.append(item * 2)
        x = x + item
    return items, x


@case
def for_dict_changes(x):
    d = {"a": 1, "b": 2}
    y = x + 1
    for key in d:
        d[key + "x"] = y
    return d


@case
def for_target_attribute_and_item(x, n):
    class Box:
        pass

    box, slot = Box(), [None]
    for box.i in range(n):
        x = x + box.i
    for slot[0] in range(n):
        x = x - 1
    return x, vars(box), slot


@case
def for_starred_target(x):
    out = []
    for first, *rest in [(1, 2, 3), (4,), "ab"]:
        out.append((first, rest))
    return out, x + len(out)


@case
def for_return_inside(x, items):
    for i, item in enumerate(items):
        if item == 2:
            return i, x * item
    return None, x


@case
def for_exception_in_iterator(x, log):
    def source():
        yield 1
        yield 2
        raise Boom("source")

    for i in source():
        log.append(i)
        x = x + i
    return x


@case
def for_not_iterable(x, k):
    y = x + 1
    for i in k:
        y = y + i
    return y


@case
def for_unroll_long(x):
    total = 0
    for i in range(300):
        total += i * 2
    return x + total


@case
def for_two_levels_break_out(x, n):
    done = False
    for i in range(n):
        for j in range(n):
            x = x + i * j
            if i * j == 6:
                done = True
                break
        if done:
            break
    return x, i if n else None


group("while loops")


@case
def while_counts(x, n):
    while n > 0:
        x = x + n
        n -= 1
    return x, n


@case
def while_else(x, n):
    while n:
        n -= 1
        if n == 5:
            break
        x = x * 2
    else:
        x = -x
    return x


@case
def while_true_break(x):
    i = 0
    while True:
        i += 1
        if i % 2:
            continue
        x = x + i
        if i >= 6:
            break
    return x, i


@case
def while_on_data(v):
    steps = 0
    while np.abs(v).max() > 1:
        v = v / 2
        steps += 1
    return v, steps


@case
def while_list_pops(x, items):
    stack = list(items)
    while stack:
        x = x + stack.pop()
    return x, stack


@case
def while_walrus(x, n):
    while (n := n - 1) > 0:
        x = x + n
    return x, n


@case
def while_newton(k):
    guess = 1.0
    while abs(guess * guess - k) > 1e-9:
        guess = (guess + k / guess) / 2
        if guess < 1e-3 or guess > 1e18:
            break
    return guess


# ---- exceptions -------------------------------------------------------------------------------------------------------

group("exceptions")


@case
def try_caught(x, flag):
    try:
        y = boom(x + 1, flag)
    except Boom as e:
        y = x * len(e.args)
    return y


@case
def try_else_finally(x, flag, log):
    try:
        log.append("try")
        y = boom(x, flag)
    except Boom:
        log.append("except")
        y = x + 1
    else:
        log.append("else")
        y = y * 3
    finally:
        log.append("finally")
    return y


@case
def try_wrong_type(x, flag, log):
    y = x + 1
    try:
        boom(y, flag)
    except KeyError:
        log.append("no")
    finally:
        log.append("finally")
    return y


@case(k=["key", "index", "zero", "type", "attr", "boom", "none", "value"])
def try_many_clauses(x, k):
    try:
        if k == "key":
            {}[k]
        elif k == "index":
            [][1]
        elif k == "zero":
            1 // 0
        elif k == "type":
            x + "s"
        elif k == "attr":
            x.nothing
        elif k == "boom":
            boom(x)
        elif k == "value":
            int("a")
    except (KeyError, IndexError) as e:
        return "lookup", type(e).__name__, e.args
    except ArithmeticError as e:
        return "arith", str(e)
    except (TypeError, AttributeError) as e:
        return "type", type(e).__name__, x * 2
    except Exception as e:
        return "other", e.args
    return x


@case
def try_finally_returns(x, flag):
    try:
        if flag:
            return x + 1
        boom(x)
    finally:
        return x * 2


@case
def try_finally_overrides_value(x, flag, log):
    try:
        return x
    finally:
        log.append("f")
        x = x * 100
        if flag:
            x[0] = 0


@case
def try_in_loop(x, items, log):
    for item in items:
        try:
            x = x + 6 / (item - 2)
        except ZeroDivisionError:
            log.append(item)
            continue
        except TypeError:
            break
        finally:
            log.append("f")
    return x


@case
def try_nested(x, n, log):
    try:
        try:
            if n % 2:
                raise KeyError(n)
            raise ValueError(n)
        except KeyError as e:
            log.append(repr(e))
            if n == 3:
                raise
        finally:
            log.append("inner")
    except (KeyError, ValueError) as e:
        log.append(("outer", e.args, x + 1))
    return x * n


@case
def raise_from(x, flag):
    try:
        boom(x)
    except Boom as e:
        y = x + 1
        raise ValueError("from", y.shape) from (e if flag else None)


@case
def raise_in_handler(x):
    try:
        boom(x + 1)
    except Boom:
        z = x * 2
        raise KeyError(z.ndim)


@case
def raise_again(x, log):
    try:
        boom(x)
    except Boom as e:
        log.append(e.args)
        raise


@case
def raise_caught_keeps_context(x):
    try:
        try:
            boom(x)
        except Boom:
            raise ValueError("second")
    except ValueError as e:
        return type(e.__context__).__name__, e.__cause__, e.__suppress_context__, x + 1


@case
def raise_cause_read(x):
    try:
        try:
            {}["a"]
        except KeyError as e:
            raise Boom("b") from e
    except Boom as e:
        return type(e.__cause__).__name__, e.__cause__ is e.__context__, x * 2


@case
def raise_class_and_instance(x, flag):
    y = x + 1
    if flag:
        raise Boom
    raise Boom("a", y.size)


@case
def raise_not_an_exception(x, k):
    y = x + 1
    raise k


@case
def raise_without_active(x):
    y = x + 1
    raise


@case
def raise_in_callee(x, n):
    return deep(x, n)


@case
def raise_in_callee_caught(x, n):
    try:
        deep(x, n)
    except Boom as e:
        tb, depth = e.__traceback__, 0
        while tb:
            depth, tb = depth + 1, tb.tb_next
        return depth, x + n


@case
def raise_stop_iteration(x):
    it = iter([x])
    next(it)
    return next(it)


@case
def exception_variable_is_unbound(x):
    try:
        boom(x)
    except Boom as e:
        y = x + 1
    try:
        return e, y
    except UnboundLocalError as u:
        return u.args


@case
def exception_kept(x, log):
    try:
        boom(x)
    except Boom as e:
        kept = e
        log.append(e)
    return kept, kept is log[0], x * 2


@case
def exception_notes_and_attributes(x):
    e = Boom("noted")
    e.add_note("first")
    e.x = x + 1
    try:
        raise e
    except Boom as caught:
        return caught.__notes__, caught.x, caught is e, str(caught), repr(caught)


@case
def exception_from_array_op(x, y):
    try:
        return x + y
    except ValueError as e:
        return "value", str(e)
    except TypeError as e:
        return "type", str(e)


@case(n=[0, 2, 5, 8, -1, -7, 100, 3])
def exception_from_index(v, n):
    w = v * 2
    try:
        return w[n]
    except IndexError as e:
        return str(e), w


@case(n=[0, 2, 5, 8, -1, -7, 100, 3])
def exception_halfway_through_writes(v, n):
    v[0] = 50
    v[1:] += 1
    v[n] = 7
    v[-1] = 9
    return v


@case
def exception_after_argument_writes(v, log, k):
    v *= 2
    log.append(1)
    v[0] = k
    log.append(k + 1)
    v += k
    return v


@case
def except_star(x, n):
    caught = []
    try:
        raise ExceptionGroup("g", [ValueError(1), TypeError(2), KeyError(3)][:n or 1])
    except* ValueError as g:
        caught.append(("v", [e.args for e in g.exceptions]))
    except* (TypeError, KeyError) as g:
        caught.append(("t", len(g.exceptions), x + 1))
    return caught


@case
def except_star_rest_goes_on(x):
    y = x + 1
    try:
        raise ExceptionGroup("g", [ValueError(1), OSError(2)])
    except* ValueError:
        y = y * 2
    return y


@case
def except_star_naked(x):
    try:
        boom(x)
    except* Boom as g:
        x = x * 2 if type(g).__name__ == "ExceptionGroup" else None
    except* ValueError:
        pass
    return x


@case
def except_expression_evaluated(x, log):
    def kinds():
        log.append("asked")
        return (KeyError, Boom)

    try:
        boom(x)
    except kinds():
        return x + 1


@case
def except_bad_class(x):
    y = x + 1
    try:
        boom(y)
    except 3:
        return y


@case
def assert_passes_and_fails(x, n):
    assert n < 5, f"n is {n}"
    y = x * n
    assert n
    return y


@case
def assert_on_data(v):
    assert (v != 0).all()
    assert v.sum() > 0, "sum"
    return v + 1


@case
def zero_division_in_python_scalars(x, n):
    return x + 6 // n, 7 % n


@case
def unbound_local(x, flag):
    if flag:
        y = x
    return y + 1


@case
def name_error(x, flag):
    y = x + 1
    return undefined_name if flag else y  # noqa: F821


@case
def recursion_error(x):
    def forever(n):
        return forever(n + 1)

    y = x + 1
    try:
        forever(0)
    except RecursionError:
        return y


@case
def keyboard_interrupt_passes(x, log):
    try:
        try:
            raise KeyboardInterrupt("k")
        except Exception:
            log.append("wrong")
        finally:
            log.append("f")
    except BaseException as e:
        return type(e).__name__, x + 1


@case
def finally_break_and_continue(x, n, log):
    for i in range(n):
        try:
            if i == 1:
                continue
            if i == 3:
                break
            x = x + i
        finally:
            log.append(i)
    return x


@case
def finally_nested_returns(x, log):
    def inner():
        try:
            try:
                return x + 1
            finally:
                log.append("a")
        finally:
            log.append("b")

    return inner(), log


@case
def handler_inside_handler(x, log):
    try:
        boom(x)
    except Boom as first:
        try:
            raise KeyError("k")
        except KeyError as second:
            log.append((second.__context__ is first, x + 1))
        log.append(first.args)
    return log


@case
def exception_swallows_loop_state(x, n):
    results = []
    for i in range(n):
        try:
            if i % 2:
                raise Boom(i)
            results.append(x + i)
        except Boom as e:
            results.append(e.args[0])
    return results


@case
def loop_retries(x, log):
    tries = 0
    while True:
        try:
            tries += 1
            boom(x, tries < 3)
            break
        except Boom:
            log.append(tries)
    return x * tries


# ---- with ------------------------------------------------------------------------------------------------------------

group("with")


@case
def with_value(x, log, k):
    with Scope(log, value=k) as got:
        y = x + got
    return y


@case
def with_several(x, log):
    with Scope(log, "a", value=1) as a, Scope(log, "b", value=2) as b:
        y = x + a * b
    return y


@case
def with_nested_and_loop(x, log, n):
    for i in range(n):
        with Scope(log, i):
            if i == 1:
                continue
            if i == 3:
                break
            with Scope(log, "inner"):
                x = x + i
    return x


@case
def with_swallows(x, log, flag):
    y = x
    with Scope(log, swallow=Boom):
        y = y + 1
        boom(x, flag)
        y = y * 10
    return y


@case
def with_does_not_swallow(x, log):
    with Scope(log, swallow=KeyError):
        y = x + 1
        boom(y)
    return y


@case
def with_inner_swallows_outer_sees_none(x, log):
    with Scope(log, "outer"):
        with Scope(log, "inner", swallow=(Boom,)):
            boom(x)
        x = x + 1
    return x


@case
def with_return_inside(x, log, flag):
    with Scope(log):
        if flag:
            return x + 1
    return x - 1


@case(fail=["enter", "exit", None, "enter", "exit", None, "exit", None])
def with_fails(x, log, fail):
    y = x + 1
    with Scope(log, fail=fail):
        y = y * 2
        log.append("body")
    return y


@case
def with_exit_raises_over_body(x, log):
    with Scope(log, fail="exit"):
        boom(x + 1)


@case
def with_not_a_manager(x, k):
    y = x + 1
    with k:
        y = y * 2
    return y


@case
def with_target_item(x, log):
    slots = {}
    with Scope(log, value=5) as slots["v"]:
        y = x * slots["v"]
    return y, slots


@case
def with_target_unpacked(x, log):
    with Scope(log, value=(1, x)) as (a, b):
        return a + b


@case
def with_lock(x, n):
    lock = threading.Lock()
    total = x
    for _ in range(n):
        with lock:
            total = total + 1
    return total, lock.locked()


@case
def with_rlock_nested(x):
    lock = threading.RLock()
    with lock:
        y = x + 1
        with lock:
            y = y * 2
    return y


@case
def with_condition_and_semaphore(x):
    gate, room = threading.Condition(), threading.Semaphore(2)
    with gate, room:
        y = x - 1
        gate.notify_all()
    return y


@case
def with_suppress(x, flag):
    y = x
    with contextlib.suppress(Boom, KeyError):
        boom(x, flag)
        y = y + 5
    return y


@case
def with_nullcontext(x, flag, log):
    with contextlib.nullcontext(3) if flag else Scope(log, value=4) as v:
        return x * v


@case
def with_contextmanager(x, log, flag):
    @contextlib.contextmanager
    def scope(name):
        log.append(("in", name))
        try:
            yield name + "!"
        except Boom as e:
            log.append(e.args)
        finally:
            log.append("out")

    with scope("a") as got:
        y = x + len(got)
        boom(y, flag)
        y = y * 2
    return y


@case
def with_exit_stack(x, n, log):
    with contextlib.ExitStack() as stack:
        for i in range(n):
            x = x + stack.enter_context(Scope(log, i, value=i))
        stack.callback(log.append, "called")
    return x


@case
def with_closing(x, log):
    class Closes:
        def close(self):
            log.append("closed")

    with contextlib.closing(Closes()) as c:
        y = x + 1
    return y, type(c).__name__


@case
def with_redirected_output(x):
    import io

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        print("inside", x.ndim)
        y = x + 1
    print("outside")
    return y, out.getvalue()


@case
def with_errstate(v):
    with np.errstate(divide="ignore", invalid="ignore"):
        y = v / (v - v)
    return y


@case
def with_errstate_raise(v, flag):
    with np.errstate(divide="raise" if flag else "warn"):
        return 1.0 / (v * 0)


@case
def with_decorator_use(x, log):
    @contextlib.contextmanager
    def scope():
        log.append(1)
        yield
        log.append(2)

    @scope()
    def go(y):
        return y + 1

    return go(x) + go(x)


# ---- match -----------------------------------------------------------------------------------------------------------

group("match")


class At:
    __match_args__ = ("x", "y")

    def __init__(self, x, y=0):
        self.x, self.y = x, y


@case(k=[0, 1, 2.0, None, True, "s", -1, 3])
def match_literals(x, k):
    match k:
        case 0:
            return x
        case 1 | 2:
            return x + k
        case None:
            return x * 3
        case "s":
            return "string", x - 1
        case -1:
            return -x
    return "none"


@case(k=[(), (1,), [1, 2], (1, 2, 3), [[1], 2], "ab", None, range(3)])
def match_sequences(x, k):
    match k:
        case []:
            return "empty"
        case [a]:
            return x + a
        case [[a], b]:
            return x * a, b
        case (1, b):
            return x - b
        case [first, *rest]:
            return x + first, rest
        case _:
            return "other", x


@case(k=[lambda: {}, lambda: {"op": "add", "v": 2}, lambda: {"op": "mul", "v": 3, "z": 1}, lambda: {"op": 5}, lambda: {"v": 1},
         lambda: [], lambda: None, lambda: {"op": "add"}])
def match_mappings(x, k):
    match k:
        case {"op": "add", "v": v}:
            return x + v
        case {"op": "mul", "v": v, **rest}:
            return x * v, rest
        case {"op": other}:
            return other
        case {}:
            return "mapping"
    return None


@case(k=[lambda: At(0), lambda: At(1, 2), lambda: At(5, 5), 3, 2.5, "t", lambda: At(None), None])
def match_classes(x, k):
    match k:
        case At(0):
            return "origin"
        case At(x=1, y=b):
            return x + b
        case At(a, b) if a == b:
            return x * a
        case int(n):
            return x + n
        case float() as f:
            return x * f
        case str():
            return "text"
        case At():
            return "some"


@case
def match_guard_and_capture(x, n):
    match n:
        case 0:
            y = x
        case v if v > 4:
            y = x * v
        case v:
            y = x - v
    return y, v if n else None


@case(k=[1, 2, 3, 4, "a", None, 1.0, (1,)])
def match_or_as(x, k):
    match k:
        case (1 | 2) as low:
            return x + low
        case 3 | "a" as other:
            return other
        case (1 | None as inner,):
            return inner, x
        case _:
            return x


@case(k=[lambda: np.float64(2), lambda: numbers(2), 1, lambda: [numbers(2), numbers(2)], lambda: (numbers(2), 3), None, 2, lambda: {}])
def match_arrays(x, k):
    match k:
        case np.ndarray():
            return x.sum() + k
        case np.float64():
            return x * k
        case [np.ndarray() as a, np.ndarray() as b]:
            return a + b
        case [a, int(b)]:
            return a * b
        case _:
            return x


@case
def match_value_patterns(x, k):
    class Names:
        two = 2
        half = 2.5

    match k:
        case Names.two:
            return x + 2
        case Names.half:
            return x / 2
        case _:
            return x


@case
def match_in_loop(x, log):
    for command in [("go", 1), ("stop",), ("turn", "left", 2), ("?",), ("go", 5)]:
        match command:
            case ("go", by):
                x = x + by
            case ("stop",):
                continue
            case ("turn", way, by):
                log.append((way, by))
            case ("?", *_):
                break
    return x, log


@case
def match_no_arm(x, k):
    y = x + 1
    match k:
        case "never":
            y = None
    return y


# ---- nesting of everything -------------------------------------------------------------------------------------------

group("nesting")


@case
def with_try_for(x, items, log):
    with Scope(log):
        for item in items:
            try:
                x = x + item
                if item == 2:
                    raise Boom(item)
            except Boom:
                log.append("caught")
            else:
                log.append("fine")
    return x


@case
def for_with_swallow_try_finally(x, n, log):
    out = []
    for i in range(n):
        with Scope(log, i, swallow=Boom):
            try:
                x = x * 2
                boom(x, i % 2)
                out.append(i)
            finally:
                x = x - 1
    return x, out


@case
def while_try_match(x, log):
    state = "start"
    while True:
        try:
            match state:
                case "start":
                    x, state = x + 1, "mid"
                case "mid":
                    state = "end"
                    raise Boom("m")
                case "end":
                    break
        except Boom as e:
            log.append(e.args)
    return x, state


@case
def nested_functions_in_loops(x, n):
    made = []
    for i in range(n):
        def add(y, i=i):
            return y + i

        def late(y):
            return y + i

        made.append((add, late))
    return [(a(x), b(x)) for a, b in made]


@case
def try_in_comprehension_function(x, items):
    def safe(item):
        try:
            return x * (1 / item)
        except (TypeError, ZeroDivisionError) as e:
            return type(e).__name__

    return [safe(i) for i in items]


@case
def expression_stack_deep(x, k):
    return [x, (k, {"a": [x + 1, f"{k}", (x * 2, [k, (x.sum(), boom(x, k == 2.5))])]})]


@case
def prints_between(x, n):
    y = x + 1
    print("first", n)
    y = y * 2
    for i in range(n):
        print(i, end=";")
        y = y - i
    print()
    return y


@case
def print_then_raise(x, flag):
    y = x + 1
    print("before")
    boom(y, flag)
    print("after")
    return y


# ---- context managers of generators ----------------------------------------------------------------------------------

group("context managers of generators")


@contextlib.contextmanager
def recorded(log, name, swallow=()):
    """A scope."""
    log.append(("in", name))
    try:
        yield name
    except swallow as e:
        log.append(("swallowed", e.args))
    finally:
        log.append(("out", name))


@contextlib.contextmanager
def open_ended(log):
    yield log
    log.append("after")


@contextlib.contextmanager
def faulty(log, how):
    if how == "never":
        return
    yield 1
    if how == "twice":
        yield 2
    if how == "stop":
        raise StopIteration("own")


@case
def cm_plain(x, log, k):
    with recorded(log, k) as got, open_ended(log):
        y = x * 2
    return y, got


@case
def cm_swallows(x, log, flag):
    with recorded(log, "a", (Boom, KeyError)):
        x = x + 1
        boom(x, flag)
        x = x * 2
    return x


@case
def cm_passes_on(x, log, flag):
    try:
        with recorded(log, "outer"), recorded(log, "inner"):
            y = x + 1
            boom(y, flag)
            y = y * 3
    except Boom as e:
        log.append(e.args)
        y = x
    return y


@case
def cm_passes_out(x, log, flag):
    with recorded(log, "a"), open_ended(log):
        y = x + 1
        boom(y, flag)
    return y


@case
def cm_in_loop(x, log, n):
    for i in range(n):
        with recorded(log, i, Boom):
            if i == 1:
                continue
            if i == 4:
                break
            boom(x, i == 3)
            x = x + i
    return x


@case
def cm_return_inside(x, log, flag):
    with recorded(log, "a"):
        if flag:
            return x + 1
    return x * 2


@case
def cm_prints_inside(x, log):
    with recorded(log, "a") as name:
        y = x + 1
        print(name, y.shape)
        y = y * 2
    return y


@case(how=["", "never", "twice", "stop", "", "twice"])
def cm_faulty(x, log, how):
    y = x + 1
    with faulty(log, how):
        y = y * 2
    return y


@case(how=["", "never", "twice", "stop", "", "twice"])
def cm_faulty_while_raising(x, log, how):
    try:
        with faulty(log, how):
            boom(x)
    except Exception as e:
        log.append((type(e).__name__, str(e), type(e.__cause__).__name__))
    return x + 1


@case
def cm_stop_iteration_through(x, log):
    try:
        with recorded(log, "a"):
            raise StopIteration("mine")
    except StopIteration as e:
        log.append(e.value)
    return x + 1


@case
def cm_as_decorator(x, log, n):
    @recorded(log, n)
    def go(y):
        return y + n

    return go(go(x))


@case
def cm_nested_generators(x, log):
    @contextlib.contextmanager
    def both(k):
        with recorded(log, k) as a, recorded(log, -k) as b:
            yield a - b

    with both(2) as d:
        x = x + d
    with contextlib.suppress(ZeroDivisionError):
        with both(3):
            1 // 0
    return x


@case
def cm_suppress_nested(x, log, n):
    with contextlib.suppress(Boom, IndexError):
        with contextlib.suppress(KeyError):
            x = x + 1
            [{}["k"], 1][n] if n < 2 else [][n]
            log.append("not here")
        x = x * 2
    return x


group("generators thrown into")


@case
def generator_throws_through_yield_from(x, log, n):
    def inner():
        while True:
            try:
                log.append((yield len(log)))
            except KeyError as e:
                log.append(e.args)
            except IndexError:
                return "returned"
            finally:
                log.append("f")

    def outer():
        log.append((yield from inner()))
        yield x * 2

    g = outer()
    seen = [next(g), g.send(n), g.throw(KeyError("k"))]
    if n > 2:
        seen.append(g.throw(IndexError))
    if n > 4:
        g.throw(ValueError("out"))
    g.close()
    return seen


@case
def generator_closed_with_delegate(x, log, flag):
    def inner():
        try:
            yield x
            yield x + 1
        finally:
            log.append("inner")

    def outer():
        try:
            yield from inner()
        except GeneratorExit:
            log.append("exit")
            if flag:
                raise
        finally:
            log.append("outer")

    g = outer()
    y = next(g)
    g.close()
    return y, next(g, None)


@case
def generator_ignores_exit(x, log, flag):
    def gen():
        try:
            yield x
        finally:
            if flag:
                yield x + 1

    g = gen()
    y = next(g)
    try:
        g.close()
    except RuntimeError as e:
        log.append(str(e))
    return y


@case
def generator_throw_unstarted(x, log):
    def gen():
        yield x

    g = gen()
    try:
        g.throw(KeyError("early"))
    except KeyError as e:
        log.append(e.args)
    return next(g, x + 1)


group("chains of exceptions")


@case
def exception_context_and_cause(x, log, n):
    try:
        try:
            raise KeyError("first")
        except KeyError as first:
            if n == 0:
                raise ValueError("second") from first
            if n == 1:
                raise ValueError("second") from None
            if n == 2:
                [][1]
            if n == 3:
                raise
            raise ValueError("second")
    except Exception as e:
        cause, context = e.__cause__, e.__context__
        log.append((type(e), cause and cause.args, context and context.args, e.__suppress_context__, cause is context))
    return x + 1


@case
def exception_context_of_nested_handlers(x, log):
    try:
        try:
            try:
                raise KeyError(1)
            except KeyError as e:
                a = e
                raise IndexError(2)
        except IndexError as e:
            b = e
            raise a
    except KeyError as e:
        log.append((e is a, e.__context__ is b, b.__context__))
    return x * 2


@case
def exception_notes(x, log, text):
    try:
        raise ValueError(text)
    except ValueError as e:
        e.add_note("one")
        e.add_note(text)
        log.append(list(e.__notes__))
    return x + len(log)


@case
def exception_note_wrong(x, k):
    try:
        raise ValueError("v")
    except ValueError as e:
        e.add_note(k)
    return x
