"""A small change, before and after, for each kind of thing to do. Keys are reasons of breaks and kinds of advice.py."""

EXAMPLES: dict[str, tuple[str, str]] = {
    "input-output": (
        "for i in range(n):\n    x = step(x)\n    print(i, x.mean())",
        "means = []\nfor i in range(n):\n    x = step(x)\n    means.append(x.mean())\n# outside of the compiled function\nprint(*means, sep=\"\\n\")",
    ),
    "data-dependent-shape": (
        "y = x[x > 0]\nreturn y.sum()",
        "# the size no longer depends on the values\ny = np.where(x > 0, x, 0)\nreturn y.sum()",
    ),
    "data-dependent-branch": (
        "if x[i] > 0:\n    y[i] = x[i]",
        "y = np.where(x > 0, x, y)",
    ),
    "unsupported-write": (
        "w[mask] = w[mask] * 2",
        "w = np.where(mask, w * 2, w)",
    ),
    "indexed-write": (
        "at = np.nonzero(y > 0.5)\ny[at] = noise[at] * 2",
        "y = np.where(y > 0.5, noise * 2, y)",
    ),
    "changing-value": (
        "for i in range(n):\n    # a new object for every call\n    apply(u, lambda x: x * i)",
        "def scale(x, i):\n    return x * i\n\nfor i in range(n):\n    # one function, what changes is an argument\n    apply(u, scale, i)",
    ),
    "recompile-limit": (
        "# another text each time\nf(x, mode=str(i))",
        "# a number is passed, not compiled in\nf(x, i)",
    ),
    "unsupported-object": (
        "def f(frame):\n    return np.tanh(frame.values)",
        "# pass the array that is needed\ndef f(values):\n    return np.tanh(values)\n\nf(frame.values)",
    ),
    "unsupported-array": (
        "f(matrix)",
        "f(np.asarray(matrix, dtype=float))",
    ),
    "unsupported-attribute": (
        "for i in range(n):\n    total += self.table.rows[i]",
        "# once, before the loop\nrows = self.table.rows\nfor i in range(n):\n    total += rows[i]",
    ),
    "unsupported-call": (
        "# unknown to the compiler\ny = helper(x)\nz = y * 2",
        "# call it outside of the compiled function\ny = helper(x)\nz = compiled_part(y)",
    ),
    "loop-limit": (
        "for i in range(len(x)):\n    y[i] = x[i] ** 2 + 1",
        "y = x ** 2 + 1",
    ),
    "inline-limit": (
        "def f(x, n):\n    return x if n == 0 else f(np.tanh(x), n - 1)",
        "def f(x, n):\n    for _ in range(n):\n        x = np.tanh(x)\n    return x",
    ),
    "generator": (
        "@fusewire.compile\ndef rows(x):\n    for row in x:\n        yield np.tanh(row)",
        "@fusewire.compile\ndef one(row):\n    return np.tanh(row)\n\ndef rows(x):\n    for row in x:\n        yield one(row)",
    ),
    "nothing-to-compile": (
        "@fusewire.compile\ndef parse(line): ...",
        "# no arrays here: not decorated\ndef parse(line): ...",
    ),
    "size": (
        "@fusewire.compile(dynamic=False)\ndef f(x): ...\n\nfor n in sizes:\n    # each size is compiled\n    f(np.ones(n))",
        "# sizes are symbols: one variant for all\n@fusewire.compile\ndef f(x): ...",
    ),
    "branch": (
        "def f(x, i):\n    # a variant for each way\n    return x + i if i % 3 == 0 else x",
        "# the decision stands outside\ndef f(x, i):\n    return x + i\n\nx = f(x, i) if i % 3 == 0 else x",
    ),
    "array": (
        "# three kinds of arrays, three variants\nf(x.astype(\"f4\")); f(x); f(x.T)",
        "# once, before the calls\nx = np.ascontiguousarray(x, dtype=float)\nf(x)",
    ),
    "value": (
        "# decided on while compiling, for each value\nf(x, verbose=i)",
        "# a number that is read by each call\nf(x, float(i))",
    ),
    "object": (
        "# made anew for every call\nf(x, lambda v: v * k)",
        "def times(v, k): ...\n# made once\nf(x, times, k)",
    ),
    "upcast": (
        "# or np.array(0.5), np.linspace(...)\nk = np.float64(0.5)\n# x is float32, y is float64\ny = x * k",
        "# or the plain number 0.5\nk = np.float32(0.5)\n# float32, half the memory to move\ny = x * k",
    ),
    "declines": (
        "# warns where x is 0\ny = np.log(x)",
        "# no warning, so compiled code may stay\ny = np.log(np.maximum(x, 1e-300))",
    ),
    "few-calls": (
        "@fusewire.compile\n# called so rarely that compiling is not earned back\ndef once(x): ...",
        "# plain Python\ndef once(x): ...\n# or fusewire.save_profile(...) and fewer variants",
    ),
    "small": (
        "# a call per row\nfor row in x:\n    out.append(f(row))",
        "# one call for all rows, along an axis\nout = f(x)",
    ),
}
EXAMPLES["graph-limit"] = EXAMPLES["loop-limit"]
EXAMPLES["compile-limit"] = EXAMPLES["loop-limit"]
# A guard that failed, as one of the kinds above.
GUARDS = {"sym": "size", "int_range": "value", "number": "value", "equals": "value", "array": "array", "type": "array", "ndim": "array",
          "weak_is": "object", "is": "object", "weak_type": "object", "function_code": "object", "weak_function_code": "object"}


def example(kind: str) -> dict | None:
    return dict(zip(("before", "after"), EXAMPLES[kind])) if kind in EXAMPLES else None
