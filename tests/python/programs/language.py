"""What surrounds arrays in real code: classes, closures, generators, context managers, exceptions, printing."""

import contextlib
from dataclasses import dataclass, field, asdict
from enum import Enum
from typing import Optional

import numpy as np

from programs.registry import frozen, normal, program, single, whole


class Adam:
    def __init__(self, lr=0.01, b1=0.9, b2=0.999, eps=1e-8):
        self.lr, self.b1, self.b2, self.eps = lr, b1, b2, eps
        self.m, self.v, self.t = {}, {}, 0

    def step(self, params, grads):
        self.t += 1
        for k, g in grads.items():
            m = self.m.get(k, np.zeros_like(g))
            v = self.v.get(k, np.zeros_like(g))
            m = self.b1 * m + (1 - self.b1) * g
            v = self.b2 * v + (1 - self.b2) * g * g
            mh = m / (1 - self.b1**self.t)
            vh = v / (1 - self.b2**self.t)
            params[k] -= self.lr * mh / (np.sqrt(vh) + self.eps)
            self.m[k], self.v[k] = m, v


@program(lambda: ({"a": normal(4), "b": normal(2, 2)}, 10),
         lambda: ({"w": single(3)}, 3),
         lambda: ({}, 2),
         lambda: ({"a": normal(3000)}, 80),
         variants=12,
         tolerance=1e-08)
def adam_quadratic(params, n):
    opt = Adam()
    for _ in range(n):
        opt.step(params, {k: 2 * v for k, v in params.items()})
    return params, opt


class Mode(Enum):
    SUM = "sum"
    MEAN = "mean"
    MAX = "max"


@program(lambda: (normal(4, 5), Mode.SUM),
         lambda: (single(3, 3), Mode.MEAN),
         lambda: (whole(0, 9, 2, 2), Mode.MAX),
         lambda: (normal(3), "sum"),
         lambda: (normal(2, 2), None),
         variants=12)
def reduce_mode(x, mode):
    match mode:
        case Mode.SUM:
            return x.sum(axis=0)
        case Mode.MEAN:
            return x.mean(axis=-1)
        case Mode.MAX if x.ndim > 1:
            return x.max()
        case str(s):
            return getattr(x, s)()
        case _:
            raise TypeError(f"bad mode {mode!r} for {x.dtype} array of shape {x.shape}")


@program(lambda: (normal(20),),
         lambda: (single(4),),
         lambda: (np.array([1.0, 0, -1]),),
         lambda: (np.array([]),),
         lambda: (whole(-2, 2, 5),),
         lambda: (np.array(4.0),),
         lambda: (-2.0,),
         variants=50)
def safe_log_sqrt(x):
    with np.errstate(divide="ignore", invalid="ignore"):
        r = np.sqrt(x)
        inv = 1.0 / np.asarray(x)
    bad = ~np.isfinite(inv) | np.isnan(r)
    return np.where(bad, 0.0, r), inv, bad.sum(), 1 / (np.asarray(x) + 0.0)


@program(lambda: (np.array([1.0, 0.0, 2.0]),),
         lambda: (np.array([1.0, 2.0]),),
         lambda: (np.array([0, 1]),),
         lambda: (single(3),),
         variants=22)
def errstate_raise(x):
    try:
        with np.errstate(all="raise"):
            y = 1.0 / x
    except FloatingPointError as e:
        print("caught", e)
        y = np.full(x.shape, np.inf)
    finally:
        x = x * 2
    return y, x


@program(lambda: (np.array([1e+308, 2.0]), 10.0),
         lambda: (single(3) * np.float32(1e+38), np.float32(100)),
         lambda: (np.array([120], np.int8), np.int8(10)),
         lambda: (np.array([-1.0, 0.0]), 0.0),
         lambda: (np.array([250], np.uint8), 10),
         variants=12)
def warns_here(x, k):
    y = x * k
    z = y / k
    w = np.sqrt(z)
    return y, z, w


@program(lambda: (normal(12), 3),
         lambda: (whole(0, 9, 7), 2),
         lambda: (normal(3), 5),
         lambda: (normal(4), 0),
         variants=10)
def batches(x, size):
    def chunks(a, n):
        if n <= 0:
            raise ValueError("size must be positive")
        for i in range(0, len(a), n):
            yield a[i:i + n]
    out = []
    try:
        for i, c in enumerate(chunks(x, size)):
            out.append((i, c.sum(), c))
    except ValueError as e:
        return repr(e)
    return out, np.concatenate([c for *_, c in out])


@program(lambda: (normal(5), normal(5)),
         lambda: (normal(5), single(5)),
         lambda: (normal(3), normal(4)),
         lambda: ("a", normal(2)),
         lambda: (None, normal(2)),
         lambda: (normal(0), normal(0)),
         variants=6)
def validate_then_compute(a, b):
    if not isinstance(a, np.ndarray):
        raise TypeError(f"expected ndarray, got {type(a).__name__}")
    if a.shape != b.shape:
        raise ValueError(f"shape mismatch: {a.shape} vs {b.shape}")
    if not a.size:
        return None
    assert a.dtype == b.dtype, (a.dtype, b.dtype)
    return (a - b).sum() / a.size


@program(lambda: (10,),
         lambda: (3,),
         lambda: (0,),
         variants=8)
def random_inside(n):
    np.random.seed(0)
    a = np.random.rand(n)
    rng = np.random.default_rng(1)
    b = rng.normal(size=n)
    idx = rng.permutation(n)
    c = (a + b)[idx]
    return c, c.mean() if n else None, rng.integers(0, 10, 3)


@program(lambda: (normal(6),),
         lambda: (single(2),),
         lambda: (normal(0),),
         variants=8)
def closures_counter(x):
    calls = 0
    cache = {}
    def f(k):
        nonlocal calls
        calls += 1
        if k not in cache:
            cache[k] = x * k + calls
        return cache[k]
    res = [f(k) for k in (1, 2, 1, 3, 2)]
    return res, calls, cache, res[0] is res[2]


@dataclass
class Config:
    n: int = 4
    dt: float = 0.1
    name: str = "run"
    scale: Optional[float] = None
    hist: list = field(default_factory=list)


@program(lambda: (Config(), normal(5)),
         lambda: (Config(scale=2.0, n=2), single(3)),
         lambda: (Config(n=0), normal(2)),
         lambda: (Config(name="x", dt=1), whole(0, 5, 4)),
         variants=10)
def config_driven(cfg, x):
    scale = cfg.scale if cfg.scale is not None else 1.0
    for i in range(cfg.n):
        x = x + cfg.dt * scale * np.sign(x)
        cfg.hist.append(float(np.abs(x).sum()))
    cfg.name += f"-{cfg.n}"
    return {**asdict(cfg), "x": x}


class Matrix2:
    __slots__ = ("a",)

    def __init__(self, a): self.a = np.asarray(a)

    def __add__(self, o): return Matrix2(self.a + (o.a if isinstance(o, Matrix2) else o))
    __radd__ = __add__

    def __mul__(self, o): return Matrix2(self.a * (o.a if isinstance(o, Matrix2) else o))
    __rmul__ = __mul__

    def __matmul__(self, o): return Matrix2(self.a @ o.a)

    def __neg__(self): return Matrix2(-self.a)

    def __getitem__(self, i): return self.a[i]

    def __setitem__(self, i, v): self.a[i] = v

    def __len__(self): return len(self.a)

    def __iter__(self): return iter(self.a)

    def __eq__(self, o): return isinstance(o, Matrix2) and bool((self.a == o.a).all())

    def __hash__(self): return hash(self.a.tobytes())

    def __repr__(self): return f"Matrix2({self.a.tolist()})"


@program(lambda: (np.arange(4.0).reshape(2, 2), np.eye(2)),
         lambda: (single(2, 2).round(2), single(2, 2).round(2)),
         lambda: (whole(0, 5, 3), whole(0, 5, 3)),
         variants=40)
def operator_class(a, b):
    m, n = Matrix2(a), Matrix2(b)
    s = 2 * m + n * 3 + 1
    s[0] = 7
    neg = -s
    return s, neg[0], len(s), m == n, m == Matrix2(a), [r.sum() for r in s], repr(n), sum([m, n])


@contextlib.contextmanager
def timer(log, name):
    log.append(f"start {name}")
    try:
        yield
    finally:
        log.append(f"end {name}")


@program(lambda: (normal(5), 3),
         lambda: (normal(5), 0),
         lambda: (single(2), 1),
         variants=20)
def context_manager(x, n):
    log = []
    with timer(log, "outer"):
        for i in range(n):
            with timer(log, f"iter{i}"):
                x = x * 1.5 + i
                if x.max() > 4:
                    break
        else:
            log.append("complete")
    with contextlib.suppress(ZeroDivisionError):
        log.append(1 / n)
        x = x + 1
    return x, log


@program(lambda: ([normal(3), normal(3), normal(3)],),
         lambda: ([normal(3), single(3)],),
         lambda: ([],),
         lambda: ([normal(2), normal(3)],),
         lambda: ((normal(2),),),
         lambda: ([1.0, 2, 3],),
         variants=12)
def list_of_arrays(arrs):
    total = 0
    for a in arrs:
        total = total + a
    means = [np.mean(a) for a in arrs]
    try:
        stacked = np.stack(arrs)
    except ValueError as e:
        stacked = str(e)
    arrs2 = [a - m for a, m in zip(arrs, means)]
    return total, means, stacked, arrs2


@program(lambda: ({"x": normal(4), "y": normal(4)},),
         lambda: ({"x": single(2), "z": normal(2)},),
         lambda: ({"x": 1.0, "y": 2},),
         lambda: ({},),
         variants=12)
def dict_of_arrays(d):
    d["norm"] = np.sqrt(sum(v**2 for v in d.values()))
    y = d.get("y", 0) + d.pop("x", 1)
    out = {k: v / (1 + np.abs(v)) for k, v in d.items() if k != "norm"}
    d.setdefault("count", 0)
    d["count"] += 1
    return out, y, list(d)


@program(lambda: (normal(6),),
         lambda: (single(6),),
         lambda: (whole(0, 9, 6),),
         lambda: (normal(1),),
         lambda: (frozen(normal(6)),),
         variants=12)
def overlapping_views(x):
    a, b = x[:-1], x[1:]
    a += b
    b -= 0.5 * a if x.dtype.kind == "f" else a
    x[::-1][:2] = 0
    c = x[::2]
    c *= 2
    x[:3] = x[-3:]
    return a, b, c, x.T


@program(lambda: (normal(5), None),
         lambda: (normal(5), normal(5)),
         lambda: (single(5), np.ones(5)),
         lambda: (normal(5), np.ones(5, np.float32)),
         lambda: (normal(5), np.ones(4)),
         lambda: (normal(5), frozen(np.ones(5))),
         variants=14)
def out_argument(x, out):
    y = np.multiply(x, 2, out=out)
    np.add(y, 1, out=y)
    np.maximum(y, 0, y)
    return y, y is out


def alias_pair(n):
    a = normal(n); return a, a


def shifted_pair(n):
    a = normal(n + 2); return a[2:], a[:-2]


@program(lambda: alias_pair(5),
         lambda: shifted_pair(6),
         lambda: (normal(5), normal(5)),
         lambda: (single(4), normal(4)),
         lambda: (normal(3), 2.0),
         lambda: (normal(3), normal(1)),
         lambda: (normal(1), normal(3)),
         variants=18)
def axpy_inplace(y, x):
    y += 0.5 * x
    y[1:] += x[:-1] if np.ndim(x) else x
    x = x * y
    return x, y


class RunningStats:
    def __init__(self, dim):
        self.n, self.mean, self.M2 = 0, np.zeros(dim), np.zeros(dim)

    def push(self, x):
        self.n += 1
        d = x - self.mean
        self.mean += d / self.n
        self.M2 += d * (x - self.mean)

    @property
    def std(self):
        return np.sqrt(self.M2 / (self.n - 1)) if self.n > 1 else np.full_like(self.mean, np.nan)

    def __enter__(self): return self

    def __exit__(self, *a): self.closed = True


@program(lambda: (normal(10, 3),),
         lambda: (single(1, 2),),
         lambda: (normal(0, 2),),
         lambda: (whole(0, 9, 5, 2),),
         lambda: (normal(300, 4),),
         variants=40)
def running_stats(data):
    with RunningStats(data.shape[1]) as rs:
        for row in data:
            rs.push(row)
    return rs, rs.std, rs.closed


@program(lambda: (normal(5), 1),
         lambda: (normal(5), 0),
         lambda: (normal(5), "x"),
         lambda: (normal(2), 3),
         variants=6)
def exceptions_flow(x, k):
    log = []
    for i in range(4):
        try:
            try:
                y = x[i] / k
                log.append(float(y))
                x[i] = y
            except ZeroDivisionError as e:
                log.append("zero")
                raise RuntimeError("wrapped") from e
            else:
                log.append("ok")
            finally:
                log.append(i)
        except (RuntimeError, TypeError) as e:
            log.append((type(e).__name__, str(e)))
            continue
        except IndexError:
            log.append("end")
            break
    return x, log


@program(lambda: ({"gain": 2.0, "mask": None, "modes": frozenset({"a"})}, normal(4)),
         lambda: ({"gain": 1.5, "mask": {1: 0.5}, "modes": None}, normal(4)),
         lambda: ({"gain": 1, "mask": np.array([1, None], dtype=object), "modes": range(2)}, single(3)),
         lambda: ({"gain": 1.5, "mask": None, "modes": None}, normal(4)),
         variants=12)
def optional_entries(settings, x):
    y = x * settings["gain"]
    masked = settings["mask"] is not None
    nothing = None
    if settings["modes"] is nothing:
        y = -y
    return (y + 1 if masked else y), masked
