"""Sums whose bits are NumPy's, for tests/cuda/emulated.py (without a device) and package_on_gpu.py."""

import numpy as np

LAYOUTS = {"c": lambda x: x, "transposed": lambda x: x.transpose(2, 0, 1), "reversed": lambda x: x[:, ::-1], "every second": lambda x: x[:, :, ::2]}


def sums(x):
    return x.sum(), x.sum(axis=0), x.sum(-1), x.sum(axis=(0, 2)), x.sum((1, 2), keepdims=True), x[1:, :, 1:].sum(), x[:, ::2].sum(axis=2)


def sums_of_products(x):
    return (x * x).sum(axis=(0, 1)), (x - 0.5).sum(), (x * 3 + x).sum(axis=1), (x * x).sum(axis=-1, keepdims=True) + x


def means(x):
    return x.mean(), x.mean(axis=1), x.mean(-1, keepdims=True), x - x.mean(axis=0)


def sums_of_casts(x):
    return x.sum(dtype="f8"), x.sum(axis=1, dtype="f8"), x.mean(axis=(0, 2), dtype="f8")


def cases(shapes, types=("f4", "f8", "c8", "c16"), layouts=tuple(LAYOUTS)):
    """(name, functions, how the array lies, the array): of numbers whose sum is another in every order."""
    rng = np.random.default_rng(5)
    for t in types:
        functions = (sums, sums_of_products) + (() if "c" in t else (means,)) + ((sums_of_casts,) if t == "f4" else ())
        for name in layouts:
            for shape in shapes:
                numbers = [rng.standard_normal(shape) * 2.0 ** rng.integers(-8, 4, shape) for _ in range(2)]
                x = (numbers[0] + 1j * numbers[1] if "c" in t else numbers[0]).astype(t)
                yield f"{t}{shape}, {name}", functions, LAYOUTS[name], x


def right(function, x):
    """NumPy's answer. Where CuPy computes the operand of the sum, it lies in CuPy's order, whatever `x` has."""
    with np.errstate(all="ignore"):
        return function(np.ascontiguousarray(x) if function is sums_of_products else x)


def differences(results, wanted):
    """Arrays of NumPy's against arrays and scalars of NumPy's."""
    for i, (got, want) in enumerate(zip(results, map(np.asarray, wanted), strict=True)):
        if got.dtype != want.dtype or got.shape != want.shape or np.ascontiguousarray(got).tobytes() != np.ascontiguousarray(want).tobytes():
            yield f"result {i}: {got.dtype}{got.shape} {got.ravel()[:3]} instead of {want.dtype}{want.shape} {want.ravel()[:3]}"
