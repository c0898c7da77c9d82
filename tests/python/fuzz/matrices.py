"""Products, solvers, norms and medians of small arrays in loops, on views, on what was just written, on results of the turn before that are
kept, on arrays with gaps and other layouts; with matrices that have no inverse and numbers that overflow.
"""

from __future__ import annotations

import random

from fuzz.program import Program

VECTORS = ["v", "v", "w", "w", "A[i % n]", "A[:, i % n]", "v[::-1]", "A.T[0]", "B[k % n]", "(v + w)", "A[i % n, ::-1]", "e"]
MATRICES = ["A", "A", "B", "A.T", "B.T", "(A + B)", "A[::-1]", "S[i % 3]", "S[k % 3].T", "A[:, ::-1]", "C"]
# {v}: a vector of n, {m}: a matrix of n by n
OF_VECTORS = ["{m} @ {v}", "{v} @ {m}", "np.dot({m}, {v})", "{m}.dot({v})", "np.linalg.solve({m} + 9 * np.eye(n), {v})", "np.linalg.eigvalsh({m} + {m}.T)", "{v} / (1 + np.linalg.norm({v}))", "{v} - {v}", "{v} * 0.5", "np.linalg.norm({m}, axis=0)", "np.linalg.solve({m}, {v})",
              "{v} + np.dot({v}, {v})", "np.matmul({m}, {v}) * 0.1", "np.median({m}) * {v}", "np.abs({m}).max(axis=1)", "{v}", "np.cumsum({v})", "{v}.cumprod() * 0.5", "np.sort({v})", "{v}[np.argsort({v})]", "{v} * np.interp(s, {v}, {v})"]
OF_MATRICES = ["{m} @ {m}", "np.dot({m}, {m})", "np.linalg.inv({m} + 9 * np.eye(n))", "np.linalg.cholesky({m} @ {m}.T + np.eye(n))", "{m} + {m}", "np.outer({v}, {v})", "{m}.copy()", "{m} * 0.25", "np.linalg.inv({m})", "np.linalg.eigh({m} + {m}.T)[1]",
               "np.linalg.solve({m} + 9 * np.eye(n), {m})", "{m} @ {m} @ {m} * 0.01"]
NUMBERS = ["{v} @ {v}", "np.dot({v}, {v})", "np.linalg.norm({v})", "np.linalg.norm({m})", "np.linalg.norm({v}, 1)", "np.linalg.det({m})", "np.median({v})", "np.median({m})", "({m} @ {v})[0]", "{v}.sum()", "np.trace({m})", "{v}.dot({v})", "np.vdot({v}, {v})", "np.inner({v}, {v})", "np.interp({v}[0], np.sort({v}), {v})", "np.interp(s, {v}, {v}, right=0.5)", "np.searchsorted({v}, s)", "{v}.searchsorted({v}[-1], 'right') / 2", "np.take({v}, k % n)", "np.percentile({v}, 30)", "np.quantile({m}, [0.25, 0.5])[1]", "{v}.argsort()[0]", "np.cumsum({v})[-1]", "np.cross({v}[:3], {v}[:3]).sum() if n > 2 else 1.5"]
STATEMENTS = ["v = {V}", "w = {V}", "e = {V}", "A = {M}", "C = {M}", "B = {M}", "s += {N}", "s = {N}", "v[...] = {V}", "v[0] = {N}", "A[i % n] = {V}", "A[:, 0] = {V}", "B[...] = {M}", "C[1:] = ({M})[1:]", "S[i % 3] = {M}", "v += {V}", "A *= 0.5", "kept.append({V})", "kept.append({N})",
              "kept.append({M})", "v, w = w, v", "A, B = B, A", "e = v", "C = A", "k += 1", "w = v.copy()", "t = {V}; v = t; w = t * 2", "t = {M}; kept.append(t[0])", "s = s / (1 + {N})", "v = {V}; e = {V}; w = v - e", "kept.append(np.cross(v[:3], w[:3]) if n > 2 else v)"]
LEAVE = ["if s > 1e6: break", "if k > 9: return v, k", "if {N} < 0: continue", "if {N} > 50: raise ValueError(f'{{s:.3g}}')", "if s != s: break"]
LAYOUTS = ["v = np.repeat(v, 2)[::2]", "w = np.repeat(w[::-1], 3)[::-3]", "v, w = np.stack([v, w], axis=1).T", "A = A.T", "A = np.repeat(A, 2, axis=1)[:, ::2]", "B = np.repeat(B, 2, axis=0)[::2]", "A = A[::-1]", "B = B[:, ::-1]", "A = np.hstack([A, A])[:, :n]",
           "S = S[:, :, ::-1]", "S = np.asfortranarray(S)", "A, B = np.stack([A, B], axis=2).transpose(2, 0, 1)"]
HEADS = ["for i in range({n}):", "for i in range(1, {n}):", "for i, row in enumerate(A):", "for i in range({n} - 1, -1, -1):"]


class _Generator:
    def __init__(self, r: random.Random):
        self.r = r

    def fill(self, form: str) -> str:
        parts = {"V": OF_VECTORS, "M": OF_MATRICES, "N": NUMBERS, "v": VECTORS, "m": MATRICES, "n": ["3", "12", "k + 2", "n"]}
        for name, choices in parts.items():
            while f"{{{name}}}" in form:
                form = form.replace(f"{{{name}}}", self.r.choice(choices), 1)
        return form

    def loop(self, depth: int = 0) -> list[str]:
        r, lines = self.r, []
        for _ in range(r.randint(1, 5)):
            kind = r.random()
            if kind < 0.1 and depth == 0:
                lines += self.loop(1)
            elif kind < 0.2:
                lines += [self.fill("if {N} > 0.5:"), "    " + self.fill(r.choice(STATEMENTS)), "else:", "    " + self.fill(r.choice(STATEMENTS))]
            else:
                lines.append(self.fill(r.choice(LEAVE if kind > 0.96 else STATEMENTS)))
        head = self.fill(r.choice(HEADS))
        return [head.replace("for i", "for j") if depth else head, *("    " + line for line in lines)]


def program(r: random.Random) -> Program:
    generator = _Generator(r)
    lines = ["k, i, kept, s, e, C = 0, 0, [], 0.0, v * 2, A + B"]
    for _ in range(r.randint(1, 2)):
        lines += generator.loop() if r.random() < 0.85 else [generator.fill(r.choice(STATEMENTS))]
    result = r.choice(["v, w, s, kept", "A, v, s", "kept, C", "e, C, k, s", "v, e is v, A, B, kept"])
    source = "\ndef f(A, B, S, v, w, n):\n" + "".join(f"    {line}\n" for line in [*lines, f"return {result}"])
    dtype = r.choice(["f8", "f8", "f8", "f8", "f4", "c16", "i8"])
    fills = {"plain": "", "singular": "A[-1] = 0", "large": "A *= 1e160", "nan": "v[0] = v[0] * np.nan", "shared": "w = v; B = A.T", "zero": "A *= 0"}

    def call(n: int) -> str:
        fill = fills[r.choice([*fills, "plain", "plain"])] if dtype != "i8" else ""
        return (f"rng = np.random.default_rng({r.randrange(50)})\nn = {n}\nA, B, S, v, w = [(rng.standard_normal(s) * 2).astype({dtype!r}) for s in ((n, n), (n, n), (3, n, n), (n,), (n,))]\n"
                + (r.choice(LAYOUTS) + "\n" if r.random() < 0.4 else "")
                + (f"{fill.replace('1e160', '1e30') if dtype == 'f4' else fill}\n" if fill else "") + "arguments = (A, B, S, v, w, n)")

    calls = tuple(call(n) for n in r.sample([1, 2, 3, 4, 8, 17, 20, 33], r.randint(2, 4)))
    return Program(source, calls, ("A", "B", "S", "v", "w"))
