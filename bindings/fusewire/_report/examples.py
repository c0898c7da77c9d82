"""A small change, before and after, for each kind of thing to do. Keys are reasons of breaks and kinds of advice.py."""

EXAMPLES: dict[str, tuple[str, str]] = {
    "input-output": ("for i in range(n):\n    x = step(x)\n    print(i, x.mean())", "means = []\nfor i in range(n):\n    x = step(x)\n    means.append(x.mean())\nprint(*means, sep=\"\\n\")      # outside of the compiled function"),
    "data-dependent-shape": ("y = x[x > 0]\nreturn y.sum()", "y = np.where(x > 0, x, 0)     # the size no longer depends on the values\nreturn y.sum()"),
    "data-dependent-branch": ("if x[i] > 0:\n    y[i] = x[i]", "y = np.where(x > 0, x, y)"),
    "unsupported-write": ("w[mask] = w[mask] * 2", "w = np.where(mask, w * 2, w)"),
    "masked-write": ("w[w < 0.1] = 0.0", "w = np.where(w < 0.1, 0.0, w)"),
    "changing-value": ("for i in range(n):\n    apply(u, lambda x: x * i)   # a new object for every call", "def scale(x, i):\n    return x * i\n\nfor i in range(n):\n    apply(u, scale, i)          # one function, what changes is an argument"),
    "recompile-limit": ("f(x, mode=str(i))              # another text each time", "f(x, i)                        # a number is passed, not compiled in"),
    "unsupported-object": ("def f(frame):\n    return np.tanh(frame.values)", "def f(values):                 # pass the array that is needed\n    return np.tanh(values)\n\nf(frame.values)"),
    "unsupported-array": ("f(matrix)", "f(np.asarray(matrix, dtype=float))"),
    "unsupported-attribute": ("for i in range(n):\n    total += self.table.rows[i]", "rows = self.table.rows         # once, before the loop\nfor i in range(n):\n    total += rows[i]"),
    "unsupported-call": ("y = helper(x)                  # unknown to the compiler\nz = y * 2", "y = helper(x)                  # call it outside of the compiled function\nz = compiled_part(y)"),
    "loop-limit": ("for i in range(len(x)):\n    y[i] = x[i] ** 2 + 1", "y = x ** 2 + 1"),
    "inline-limit": ("def f(x, n):\n    return x if n == 0 else f(np.tanh(x), n - 1)", "def f(x, n):\n    for _ in range(n):\n        x = np.tanh(x)\n    return x"),
    "generator": ("@fusewire.compile\ndef rows(x):\n    for row in x:\n        yield np.tanh(row)", "@fusewire.compile\ndef one(row):\n    return np.tanh(row)\n\ndef rows(x):\n    for row in x:\n        yield one(row)"),
    "nothing-to-compile": ("@fusewire.compile\ndef parse(line): ...", "def parse(line): ...           # no arrays here: not decorated"),
    "size": ("@fusewire.compile(dynamic=False)\ndef f(x): ...\n\nfor n in sizes:\n    f(np.ones(n))              # each size is compiled", "@fusewire.compile               # sizes are symbols: one variant for all\ndef f(x): ..."),
    "array": ("f(x.astype(\"f4\")); f(x); f(x.T)   # three kinds of arrays, three variants", "x = np.ascontiguousarray(x, dtype=float)   # once, before the calls\nf(x)"),
    "value": ("f(x, verbose=i)                # decided on while compiling, for each value", "f(x, float(i))                 # a number that is read by each call"),
    "object": ("f(x, lambda v: v * k)          # made anew for every call", "def times(v, k): ...\nf(x, times, k)                 # made once"),
    "upcast": ("k = np.float64(0.5)            # or np.array(0.5), np.linspace(...)\ny = x * k                      # x is float32, y is float64", "k = np.float32(0.5)            # or the plain number 0.5\ny = x * k                      # float32, half the memory to move"),
    "declines": ("y = np.log(x)                  # warns where x is 0", "y = np.log(np.maximum(x, 1e-300))   # no warning, so compiled code may stay"),
    "few-calls": ("@fusewire.compile\ndef once(x): ...                # called so rarely that compiling is not earned back", "def once(x): ...                # plain Python\n# or fusewire.save_profile(...) and fewer variants"),
    "small": ("for row in x:                  # a call per row\n    out.append(f(row))", "out = f(x)                      # one call for all rows, along an axis"),
}
EXAMPLES["graph-limit"] = EXAMPLES["loop-limit"]
EXAMPLES["compile-limit"] = EXAMPLES["loop-limit"]
# A guard that failed, as one of the kinds above.
GUARDS = {"sym": "size", "int_range": "value", "number": "value", "equals": "value", "array": "array", "type": "array", "ndim": "array",
          "weak_is": "object", "is": "object", "weak_type": "object", "function_code": "object", "weak_function_code": "object"}


def example(kind: str) -> dict | None:
    return dict(zip(("before", "after"), EXAMPLES[kind])) if kind in EXAMPLES else None
