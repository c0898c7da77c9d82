"""Lists that grow or shrink while a loop runs: one variant serves all their lengths, as long as only their end is looked at."""

import numpy as np
import pytest

import fusewire


@np.vectorize
def opaque(x):
    return 0.0


def variants(compiled):
    facts = fusewire._fusewire.describe(compiled)
    return [len(r["variants"]) for r in facts["regions"]] + [len(facts["variants"])]


def gradient_descent(X, y, n):
    w = np.zeros(3)
    losses = []
    for _ in range(n):
        err = (X * w).sum(1) - y
        w = w - .1 * (X * err[:, None]).sum(0) / len(y)
        losses.append((err ** 2).mean())
        if not np.isfinite(losses[-1]) or len(losses) > 50:
            break
    return w, losses


def test_history():
    X = np.random.default_rng(0).normal(size=(50, 3))
    y = X @ [1, 2, 3.]
    compiled = fusewire.compile(gradient_descent)
    for n in (30, 40, 60):
        (w, losses), (v, history) = gradient_descent(X, y, n), compiled(X, y, n)
        assert np.array_equal(w, v) and losses == history
    assert max(variants(compiled)) <= 3


def depth_first(x):
    stack, out, seen = [x], [], 0
    while stack:
        z = stack.pop()
        opaque(z)
        w = z * 2 + 1
        seen += len(stack)
        if w.sum() < 200:
            stack.append(w)
            stack.append(w + 1)
        out.append(w)
        assert out[-1] is w and len(out) > 0
        if len(out) % 2:
            out[0] = out[-1]
    return len(out), seen, [float(o.sum()) for o in out]


def test_stack():
    compiled = fusewire.compile(depth_first)
    x = np.arange(4.)
    for _ in range(3):
        assert depth_first(x) == compiled(x)


def everything(stack, x):
    y = x + 1
    a = stack.pop()
    b = stack.pop()
    stack.append(y)
    n, full, last, first = len(stack), bool(stack), stack[-1], stack[0] if len(stack) > 1 else None
    stack.append(a)
    before = stack[-2]
    stack.extend((a, y))
    c, d, e, f = stack.pop(), stack.pop(), stack.pop(), stack.pop()
    return a, b, last is y, first, before is y, c is y, d is a, e is a, f is y, n, full, len(stack), not stack, list(stack)


def mixed(stack, x):
    top = stack.pop()
    stack[0] = x * 2
    stack.append(top)
    return [type(item).__name__ for item in stack], stack[-1] is top, x in [1]


@pytest.mark.parametrize("function", [everything, mixed])
def test_all_lengths(function):
    compiled = fusewire.compile(function)
    x = np.float64(3)

    def run(f, n):
        stack = [np.float64(i) if i % 2 else i for i in range(n)]
        try:
            result = f(stack, x)
        except IndexError as error:
            result = repr(error)
        return str(result), str(stack)
    for n in (5, 2, 7, 3, 1, 0, 2, 9):
        assert run(function, n) == run(compiled, n)


def test_a_list_that_is_its_own_argument():
    def f(stack, other, x):
        stack.append(x + 1)
        other.pop()
        return len(stack), other[-1] if other else None
    compiled = fusewire.compile(f)
    x = np.arange(3.)
    for same in (True, False, True):
        outcomes = []
        for g in (f, compiled):
            stack = [1, 2]
            outcomes.append((str(g(stack, stack if same else [5, 6], x)), str(stack)))
        assert outcomes[0] == outcomes[1]


# ---- loops whose iterator Python makes ------------------------------------------------------------------------------

def over_rows(a):
    parts = []
    for row in a:
        s = (row * 2 + 1).sum()
        parts.append((b"sum", float(s)))
    return sum(part for _, part in parts)


def over_enumerate(a):
    parts = []
    for i, row in enumerate(a):
        parts.append((b"sum", float((row * i).sum())))
    return sum(part for _, part in parts)


def over_zip(a):
    parts = []
    for p, q in zip(a, a[::-1]):
        parts.append((b"sum", float((p * q + 1).sum())))
    return sum(part for _, part in parts)


@pytest.mark.parametrize("function", [over_rows, over_enumerate, over_zip])
def test_bodies_of_long_loops_are_compiled(function):
    compiled = fusewire.compile(function)
    a = np.random.default_rng(0).random((100, 4))
    for _ in range(3):
        assert function(a) == compiled(a)
    regions = fusewire._fusewire.describe(compiled)["regions"]
    assert sum(r["hits"] for r in regions) >= 200


def integrate(y, n):
    def f(y):
        return np.array([y[1], np.sin(y[0]) * 2 - y[1] * .1, np.cos(y[2]), y[0] * y[2]])
    for _ in range(n):
        k1 = f(y)
        k2 = f(y + .01 * k1)
        k3 = f(y + .01 * k2)
        k4 = f(y + .02 * k3)
        y = y + .02 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


def integrate_and_tell(y, n):
    path = []
    for _ in range(n):
        y = integrate(y, 2)
        path.append((b"y", y))
    return path


def test_much_code_is_not_unrolled():
    compiled = fusewire.compile(integrate_and_tell)
    y = np.array([.1, .2, .3, .4])
    for n in (30, 40):
        for (_, got), (_, expected) in zip(compiled(y, n), integrate_and_tell(y, n), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-12)
    breaks = fusewire._fusewire.describe(compiled)["breaks"]
    assert any(b["reason"] == "loop-refused" for b in breaks)
    assert max(variants(compiled)) <= 3


def test_much_code_is_one_loop():
    compiled = fusewire.compile(integrate, fullgraph=True)
    y = np.array([.1, .2, .3, .4])
    for n in (30, 40, 1000):
        np.testing.assert_array_equal(compiled(y, n), integrate(y, n))
    assert max(variants(compiled)) <= 2


def kadane(x):
    current = best = x[0]
    for i, v in enumerate(x[1:], 1):
        current = v if current + v < v else current + v
        if current > best:
            best = current
    return best


def test_few_scalar_operations_are_left_to_python():
    compiled = fusewire.compile(kadane)
    for dtype in (int, float):
        x = np.random.default_rng(1).integers(-5, 6, 300).astype(dtype)
        for _ in range(3):
            assert kadane(x) == compiled(x)
    assert max(variants(compiled)) <= 4
