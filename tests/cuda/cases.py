"""Graphs as text for the checks: one operation, views, reductions, programs with loops."""

FLOATS, COMPLEX = ["f16", "f32", "f64"], ["c64", "c128"]
INTS = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
# Operation of the graph, CuPy's name, types of the operands. The result has that type, or is bool.
UNARY = [(name, cupy, FLOATS) for name, cupy in (
    ("exp", "exp"), ("exp2", "exp2"), ("expm1", "expm1"), ("log", "log"), ("log2", "log2"), ("log10", "log10"),
    ("log1p", "log1p"), ("sin", "sin"), ("cos", "cos"), ("tan", "tan"), ("arcsin", "arcsin"), ("arccos", "arccos"),
    ("arctan", "arctan"), ("sinh", "sinh"), ("cosh", "cosh"), ("tanh", "tanh"), ("cbrt", "cbrt"), ("sqrt", "sqrt"),
    ("rint", "rint"), ("fabs", "fabs"))]
UNARY += [("absolute", "absolute", FLOATS + INTS), ("negative", "negative", FLOATS + COMPLEX + INTS),
          ("sign", "sign", FLOATS + INTS), ("square", "square", FLOATS + COMPLEX + INTS), ("floor", "floor", FLOATS),
          ("ceil", "ceil", FLOATS), ("trunc", "trunc", FLOATS), ("reciprocal", "reciprocal", FLOATS), ("invert", "invert", INTS + ["bool"]),
          ("conjugate", "conj", COMPLEX)]
BINARY = [(name, name, FLOATS + COMPLEX + INTS) for name in ("add", "subtract", "multiply")]
BINARY += [("divide", "divide", FLOATS + COMPLEX), ("floor_divide", "floor_divide", FLOATS + INTS),
           ("remainder", "remainder", FLOATS + INTS), ("fmod", "fmod", FLOATS + ["i32", "u8"]),
           ("maximum", "maximum", FLOATS + INTS), ("minimum", "minimum", FLOATS + INTS), ("fmax", "fmax", FLOATS),
           ("fmin", "fmin", FLOATS), ("copysign", "copysign", FLOATS), ("arctan2", "arctan2", FLOATS),
           ("hypot", "hypot", FLOATS), ("power", "power", FLOATS + ["i32", "i64", "u8"])]
BINARY += [(name, name, INTS + ["bool"]) for name in ("bitwise_and", "bitwise_or", "bitwise_xor")]
BINARY += [(name, name, INTS) for name in ("left_shift", "right_shift")]
TO_BOOL_UNARY = [("isnan", "isnan", FLOATS + COMPLEX), ("isinf", "isinf", FLOATS), ("isfinite", "isfinite", FLOATS), ("signbit", "signbit", FLOATS),
                 ("logical_not", "logical_not", FLOATS + INTS)]
TO_BOOL_BINARY = [(name, name, FLOATS + ["i32", "u64", "bool"]) for name in
                  ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_xor")]


def elementwise():
    """(label, text, CuPy's name, types of the operands)"""
    for table, arity, to_bool in ((UNARY, 1, False), (BINARY, 2, False), (TO_BOOL_UNARY, 1, True), (TO_BOOL_BINARY, 2, True)):
        for op, cupy, types in table:
            for t in types:
                result = "bool" if to_bool else t
                lines = [f"  %{i} = input() {{index={i}}} : {t}[s0]" for i in range(arity)]
                operands = ", ".join(f"%{i}" for i in range(arity))
                lines += [f"  %{arity} = {op}({operands}) : {result}[s0]", f"  return %{arity}"]
                yield f"{op} {t}", "graph(s0: [0, inf]) {\n" + "\n".join(lines) + "\n}\n", cupy, [t] * arity
    for a in FLOATS + INTS + ["bool"]:
        for b in FLOATS + INTS:
            if a != b:
                yield (f"cast {a} {b}", f"graph(s0: [0, inf]) {{\n  %0 = input() {{index=0}} : {a}[s0]\n  %1 = cast(%0) : {b}[s0]\n"
                       "  return %1\n}\n", "astype:" + b, [a])


def reduction(op, t, rank, axes, result=None, keepdims=0):
    sizes = [f"s{i}" for i in range(rank)]
    left = [("1" if i in axes else s) for i, s in enumerate(sizes) if keepdims or i not in axes]
    names = ", ".join(f"{s}: [0, inf]" for s in sizes)
    shape = f"[{', '.join(left)}]" if left else ""
    return (f"graph({names}) {{\n  %0 = input() {{index=0}} : {t}[{', '.join(sizes)}]\n"
            f"  %1 = {op}(%0) {{axes={list(axes)}, keepdims={keepdims}}} : {result or t}{shape}\n  return %1\n}}\n")


CHAIN = """graph(s0: [0, inf]) {
  %0 = input() {index=0} : f32[s0]
  %1 = input() {index=1} : f32[s0]
  %2 = multiply(%0, %1) : f32[s0]
  %3 = add(%2, %0) : f32[s0]
  %4 = tanh(%3) : f32[s0]
  %5 = constant() {value=f32(0.5)} : f32
  %6 = multiply(%4, %5) : f32[s0]
  %7 = add(%6, %5) : f32[s0]
  %8 = multiply(%7, %1) : f32[s0]
  return %8
}
"""
BROADCAST = """graph(s0: [0, inf], s1: [0, inf]) {
  %0 = input() {index=0} : f32[s0, s1]
  %1 = input() {index=1} : f32[s1]
  %2 = input() {index=2} : f32[s0, 1]
  %3 = add(%0, %1) : f32[s0, s1]
  %4 = multiply(%3, %2) : f32[s0, s1]
  return %4
}
"""
TRANSPOSED = """graph(s0: [0, inf], s1: [0, inf]) {
  %0 = input() {index=0} : f32[s0, s1]
  %1 = transpose(%0) {perm=[1, 0]} : f32[s1, s0] layout=f
  %2 = copy(%1) : f32[s1, s0]
  return %2
}
"""
TRANSPOSED_ADD = """graph(s0: [0, inf]) {
  %0 = input() {index=0} : f32[s0, s0]
  %1 = input() {index=1} : f32[s0, s0]
  %2 = transpose(%0) {perm=[1, 0]} : f32[s0, s0] layout=f
  %3 = add(%2, %1) : f32[s0, s0]
  return %3
}
"""
SOFTMAX = """graph(s0: [0, inf], s1: [1, inf]) {
  %0 = input() {index=0} : f32[s0, s1]
  %1 = max(%0) {axes=[1], keepdims=1} : f32[s0, 1]
  %2 = subtract(%0, %1) : f32[s0, s1]
  %3 = exp(%2) : f32[s0, s1]
  %4 = sum(%3) {axes=[1], keepdims=1} : f32[s0, 1]
  %5 = divide(%3, %4) : f32[s0, s1]
  return %5
}
"""
LAYER_NORM = """graph(s0: [0, inf], s1: [1, inf]) {
  %0 = input() {index=0} : f32[s0, s1]
  %1 = input() {index=1} : f32[s1]
  %2 = input() {index=2} : f32[s1]
  %3 = mean(%0) {axes=[1], keepdims=1} : f32[s0, 1]
  %4 = subtract(%0, %3) : f32[s0, s1]
  %5 = multiply(%4, %4) : f32[s0, s1]
  %6 = mean(%5) {axes=[1], keepdims=1} : f32[s0, 1]
  %7 = constant() {value=f32(1e-05)} : f32
  %8 = add(%6, %7) : f32[s0, 1]
  %9 = sqrt(%8) : f32[s0, 1]
  %10 = divide(%4, %9) : f32[s0, s1]
  %11 = multiply(%10, %1) : f32[s0, s1]
  %12 = add(%11, %2) : f32[s0, s1]
  return %12
}
"""
SLICES = """graph(s0: [6, inf], s1: [6, inf]) {
  %0 = input() {index=0} : f64[s0, s1]
  %1 = slice(%0) {starts=[1, 2], steps=[1, 1]} : f64[s0 + -3, s1 + -4] layout=c/inner
  %2 = slice(%0) {starts=[2, 0], steps=[1, 1]} : f64[s0 + -3, s1 + -4] layout=c/inner
  %3 = add(%1, %2) : f64[s0 + -3, s1 + -4]
  return %3
}
"""
JACOBI = """graph(s0: [3, inf], s1: [3, inf], i0: [0, inf]) {
  %0 = input() {index=0} : f64[s0, s1]
  %1 = input() {index=1} : f64[s0, s1]
  %2 = loop(%0, %1) {trip=i0} : (f64[s0, s1], f64[s0, s1]) {
    %0 = input() {index=0} : f64[s0, s1]
    %1 = input() {index=1} : f64[s0, s1]
    %2 = constant() {value=bool(true)} : bool
    %3 = slice(%0) {starts=[0, 1], steps=[1, 1]} : f64[s0 + -2, s1 + -2] layout=c/inner
    %4 = slice(%0) {starts=[2, 1], steps=[1, 1]} : f64[s0 + -2, s1 + -2] layout=c/inner
    %5 = slice(%0) {starts=[1, 0], steps=[1, 1]} : f64[s0 + -2, s1 + -2] layout=c/inner
    %6 = slice(%0) {starts=[1, 2], steps=[1, 1]} : f64[s0 + -2, s1 + -2] layout=c/inner
    %7 = add(%3, %4) : f64[s0 + -2, s1 + -2]
    %8 = add(%7, %5) : f64[s0 + -2, s1 + -2]
    %9 = add(%8, %6) : f64[s0 + -2, s1 + -2]
    %10 = constant() {value=f64(0.25)} : f64
    %11 = multiply(%9, %10) : f64[s0 + -2, s1 + -2]
    %12 = update(%1, %11) {starts=[1, 1], steps=[1, 1]} : f64[s0, s1]
    return %2, %12, %0
  }
  %3 = project(%2) {index=0} : f64[s0, s1]
  return %3
}
"""
WHILE = """graph(s0: [0, inf]) {
  %0 = input() {index=0} : f64[s0]
  %1 = loop(%0) : (f64[s0]) {
    %0 = input() {index=0} : f64[s0]
    %1 = constant() {value=f64(0.5)} : f64
    %2 = multiply(%0, %1) : f64[s0]
    %3 = absolute(%2) : f64[s0]
    %4 = max(%3) {axes=[0], keepdims=0} : f64
    %5 = constant() {value=f64(0.001)} : f64
    %6 = greater(%4, %5) : bool
    return %6, %2
  }
  %2 = project(%1) {index=0} : f64[s0]
  return %2
}
"""
COND = """graph(s0: [1, inf]) {
  %0 = input() {index=0} : f64[s0]
  %1 = max(%0) {axes=[0], keepdims=0} : f64
  %2 = constant() {value=f64(0)} : f64
  %3 = less(%1, %2) : bool
  %4 = cond(%3, %0, %1) : (f64[s0], f64) {
    %0 = input() {index=0} : f64[s0]
    %1 = input() {index=1} : f64
    %2 = add(%0, %1) : f64[s0]
    return %2, %1
  } {
    %0 = input() {index=0} : f64[s0]
    %1 = constant() {value=f64(7)} : f64
    return %0, %1
  }
  %5 = project(%4) {index=0} : f64[s0]
  %6 = project(%4) {index=1} : f64
  %7 = multiply(%5, %6) : f64[s0]
  return %7
}
"""
BIND = """graph(s0: [1, inf], k0: [0, inf]) {
  %0 = input() {index=0} : f64[s0]
  %1 = input() {index=1} : i64
  %2 = bind(%1, %0) {symbol=k0, least=0, most=s0 + -1} : (f64[1]) {
    %0 = input() {index=0} : f64[s0]
    %1 = slice(%0) {starts=[k0], steps=[1]} : f64[1]
    %2 = negative(%1) : f64[1]
    return %2
  }
  %3 = project(%2) {index=0} : f64[1]
  %4 = broadcast(%3) : f64[s0] layout=c/bcast(0)
  %5 = add(%4, %0) : f64[s0]
  %6 = store(%0, %5) : f64[s0]
  commit %6
  return %3
}
"""
