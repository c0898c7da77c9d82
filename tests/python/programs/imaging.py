"""Images and signals."""

from functools import reduce

import numpy as np

from programs.registry import normal, program, single, strided, subclassed, uniform, whole


@program(lambda: (uniform(12, 14), uniform(3, 3)),
         lambda: (single(9, 9), single(5, 5)),
         lambda: (whole(0, 255, 8, 8), np.array([[0, 1, 0], [1, -4, 1], [0, 1, 0]])),
         lambda: (uniform(2, 2), uniform(3, 3)),
         lambda: (strided(8, 8), single(3, 3)),
         lambda: (uniform(100, 120), uniform(3, 3)),
         lambda: (subclassed(uniform(6, 6)), uniform(3, 3)),
         variants=14)
def convolve2d(img, k):
    kh, kw = k.shape
    H, W = img.shape
    if H < kh or W < kw:
        raise ValueError(f"image {img.shape} smaller than kernel {k.shape}")
    out = np.zeros((H - kh + 1, W - kw + 1), dtype=np.result_type(img, k))
    for i in range(kh):
        for j in range(kw):
            out += img[i:i + H - kh + 1, j:j + W - kw + 1] * k[i, j]
    return out


@program(lambda: (uniform(20, 20),),
         lambda: (single(16, 9),),
         lambda: (whole(0, 256, 10, 10).astype(np.uint8),),
         lambda: (uniform(3, 3),),
         lambda: (uniform(5),),
         variants=32,
         tolerance=1e-06)
def sobel_mag_dir(img):
    img = np.pad(img.astype(np.float32), 1, mode="edge")
    gx = img[:-2, 2:] - img[:-2, :-2] + 2 * (img[1:-1, 2:] - img[1:-1, :-2]) + img[2:, 2:] - img[2:, :-2]
    gy = img[2:, :-2] - img[:-2, :-2] + 2 * (img[2:, 1:-1] - img[:-2, 1:-1]) + img[2:, 2:] - img[:-2, 2:]
    mag = np.hypot(gx, gy)
    ang = np.rad2deg(np.arctan2(gy, gx))
    ang[ang < 0] += 180
    peak = mag.max()
    if peak > 0:
        mag *= 255.0 / peak
    return mag.astype(np.uint8), ang


@program(lambda: (whole(0, 256, 20, 20).astype(np.uint8),),
         lambda: (whole(0, 5, 9).astype(np.uint8),),
         lambda: (np.zeros((4, 4), np.uint8),),
         lambda: (np.zeros((0,), np.uint8),),
         lambda: (uniform(3),),
         variants=30)
def otsu(img):
    hist, edges = np.histogram(img, bins=256, range=(0, 256))
    total = img.size
    best, thr = -1.0, 0
    sum_all = np.dot(np.arange(256), hist)
    wB = sumB = 0.0
    for t in range(256):
        wB += hist[t]
        if wB == 0:
            continue
        wF = total - wB
        if wF == 0:
            break
        sumB += t * hist[t]
        mB, mF = sumB / wB, (sum_all - sumB) / wF
        between = wB * wF * (mB - mF) ** 2
        if between > best:
            best, thr = between, t
    return thr, img > thr


@program(lambda: (uniform(6, 7, 3),),
         lambda: (single(4, 4, 3),),
         lambda: (whole(0, 255, 3, 3, 3).astype(np.uint8),),
         lambda: (uniform(64, 64, 3),),
         lambda: (uniform(3),),
         lambda: (uniform(4, 4, 4),),
         variants=52)
def rgb_to_hsv(rgb):
    rgb = np.asarray(rgb, dtype=np.float64)
    if rgb.shape[-1] != 3:
        raise ValueError("last dimension must be 3, got %d" % rgb.shape[-1])
    r, g, b = rgb[..., 0], rgb[..., 1], rgb[..., 2]
    mx, mn = rgb.max(-1), rgb.min(-1)
    df = mx - mn
    h = np.zeros_like(mx)
    with np.errstate(divide="ignore", invalid="ignore"):
        idx = mx == r
        h[idx] = (60 * ((g[idx] - b[idx]) / df[idx]) + 360) % 360
        idx = (mx == g) & ~idx
        h[idx] = 60 * ((b[idx] - r[idx]) / df[idx]) + 120
        idx = (mx == b) & (mx != g) & (mx != r)
        h[idx] = 60 * ((r[idx] - g[idx]) / df[idx]) + 240
        s = np.where(mx == 0, 0, df / mx)
    h[df == 0] = 0
    return np.stack([h, s, mx], axis=-1)


@program(lambda: (uniform(100), uniform(7)),
         lambda: (single(20), single(3)),
         lambda: (uniform(3), uniform(5)),
         lambda: (uniform(30) + 1j, uniform(4)),
         lambda: (whole(-5, 5, 12), whole(-2, 2, 3)),
         lambda: (uniform(5000), uniform(31)),
         lambda: (uniform(0), uniform(2)),
         variants=26)
def fir_filter(x, taps):
    y = np.zeros(len(x), dtype=np.result_type(x, taps))
    for k, t in enumerate(taps):
        if k == 0:
            y += t * x
        else:
            y[k:] += t * x[:-k]
    return y


@program(lambda: (normal(60), [0.2, 0.3, 0.2], [1.0, -0.5, 0.1]),
         lambda: (normal(10), np.array([1.0]), np.array([2.0, 0.5])),
         lambda: (single(30), [0.5], [1, -0.5]),
         lambda: (normal(5), [1.0], [0.0, 1.0]),
         variants=32)
def iir_filter(x, b, a):
    if a[0] == 0:
        raise ZeroDivisionError("a[0] is zero")
    b = [bi / a[0] for bi in b]
    a = [ai / a[0] for ai in a]
    y = np.zeros_like(x)
    for n in range(len(x)):
        acc = 0.0
        for k in range(len(b)):
            if n - k >= 0:
                acc += b[k] * x[n - k]
        for k in range(1, len(a)):
            if n - k >= 0:
                acc -= a[k] * y[n - k]
        y[n] = acc
    return y


@program(lambda: (uniform(11, 12), 1.0),
         lambda: (single(8, 8), 0.5),
         lambda: (uniform(40, 50), 2.0),
         lambda: (uniform(3), 1.0),
         variants=20,
         tolerance=1e-06)
def gaussian_blur(img, sigma):
    radius = int(3 * sigma + 0.5)
    x = np.arange(-radius, radius + 1)
    k = np.exp(-0.5 * (x / sigma) ** 2)
    k /= k.sum()
    def blur(a, axis):
        pad = [(0, 0)] * a.ndim
        pad[axis] = (radius, radius)
        p = np.pad(a, pad, mode="reflect" if a.shape[axis] > radius else "edge")
        n = a.shape[axis]
        out = np.zeros(a.shape)
        for i, w in enumerate(k):
            sl = [slice(None)] * a.ndim
            sl[axis] = slice(i, i + n)
            out += w * p[tuple(sl)]
        return out
    return reduce(blur, range(img.ndim), img)


@program(lambda: (uniform(9, 9) < 0.6, 1),
         lambda: (uniform(7, 5) < 0.8, 2),
         lambda: ((uniform(5, 5) < 0.5).astype(np.uint8), 1),
         lambda: (uniform(40, 40) < 0.7, 3),
         variants=4)
def morphology_open(mask, it):
    def erode(m):
        p = np.pad(m, 1, constant_values=True)
        return p[1:-1, 1:-1] & p[:-2, 1:-1] & p[2:, 1:-1] & p[1:-1, :-2] & p[1:-1, 2:]
    def dilate(m):
        p = np.pad(m, 1)
        return p[1:-1, 1:-1] | p[:-2, 1:-1] | p[2:, 1:-1] | p[1:-1, :-2] | p[1:-1, 2:]
    for f, n in ((erode, it), (dilate, it)):
        for _ in range(n):
            mask = f(mask)
    return mask, int(mask.sum())


@program(lambda: (uniform(8, 8), 4),
         lambda: (single(9, 12), 3),
         lambda: (uniform(6, 6), 4),
         lambda: (whole(0, 9, 4, 4), 2),
         lambda: (uniform(64, 64), 8),
         variants=14)
def block_mean_pool(a, k):
    h, w = a.shape
    if h % k or w % k:
        a = a[: h - h % k, : w - w % k]
        h, w = a.shape
    b = a.reshape(h // k, k, w // k, k)
    return b.mean(axis=(1, 3)), b.max(axis=(1, 3)), b.transpose(0, 2, 1, 3)


@program(lambda: (uniform(6, 6), uniform(6, 6), 0.3),
         lambda: (single(4, 4, 3), single(4, 4, 3), 0.5),
         lambda: (uniform(5, 5), uniform(5, 4), 0.5),
         lambda: (uniform(100, 100, 3), uniform(100, 100, 3), 0.2),
         variants=10)
def blend_modes(a, b, alpha):
    modes = {
        "multiply": lambda x, y: x * y,
        "screen": lambda x, y: 1 - (1 - x) * (1 - y),
        "overlay": lambda x, y: np.where(x < 0.5, 2 * x * y, 1 - 2 * (1 - x) * (1 - y)),
        "diff": lambda x, y: np.abs(x - y),
    }
    return {name: alpha * op(a, b) + (1 - alpha) * a for name, op in modes.items()}
