"""A photograph through an image pipeline: plain NumPy, then the same function compiled.

Writes demo/output/before_after.png and prints times, what was fused, and whether the results agree.
Run: make demo
"""

import pathlib
import statistics
import sys
import time

import numpy as np
from PIL import Image

import fusewire

HERE = pathlib.Path(__file__).resolve().parent


def develop(photo, exposure, sharpness):
    """Linearise sRGB, tone-map, sharpen with an unsharp mask, warm the colours, encode again.

    photo: uint8 (height, width, 3); exposure, sharpness: floats. Answers uint8 of the same shape.
    """
    x = photo.astype(np.float32) / 255
    linear = np.where(x <= 0.04045, x / 12.92, np.exp(2.4 * np.log((x + 0.055) / 1.055)))

    # Reinhard tone mapping on luminance.
    scene = linear * exposure
    luma = 0.2126 * scene[:, :, 0] + 0.7152 * scene[:, :, 1] + 0.0722 * scene[:, :, 2]
    mapped = luma * (1 + luma / 6.25) / (1 + luma)
    tone = scene * (mapped / np.maximum(luma, 1e-6))[:, :, np.newaxis]

    # Unsharp mask: a 3x3 binomial blur from shifted slices, edges repeated.
    wide = np.concatenate([tone[:1], tone, tone[-1:]], axis=0)
    vertical = 0.25 * wide[:-2] + 0.5 * wide[1:-1] + 0.25 * wide[2:]
    wide = np.concatenate([vertical[:, :1], vertical, vertical[:, -1:]], axis=1)
    blur = 0.25 * wide[:, :-2] + 0.5 * wide[:, 1:-1] + 0.25 * wide[:, 2:]
    sharp = np.maximum(tone + sharpness * (tone - blur), 0)

    # A colour matrix that warms the picture, then sRGB encoding.
    r, g, b = sharp[:, :, 0], sharp[:, :, 1], sharp[:, :, 2]
    warm = np.stack([1.06 * r + 0.02 * g, 0.01 * r + 0.99 * g, 0.03 * g + 0.92 * b], axis=2)
    safe = np.maximum(warm, 1e-9)
    encoded = np.where(warm <= 0.0031308, 12.92 * warm, 1.055 * np.exp(np.log(safe) / 2.4) - 0.055)
    return np.rint(np.clip(encoded, 0, 1) * 255).astype(np.uint8)


def median_ms(function, *args, repeats=7):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function(*args)
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def main() -> int:
    original = np.asarray(Image.open(HERE / "images" / "grace_hopper.jpg").convert("RGB"))
    large = np.ascontiguousarray(np.kron(original, np.ones((4, 4, 1), np.uint8)))
    compiled = fusewire.compile(develop)

    start = time.perf_counter()
    after = compiled(original, 1.6, 0.8)
    first = (time.perf_counter() - start) * 1e3
    print(f"{'photograph':>16}: {original.shape[1]} x {original.shape[0]}, {len(develop.__code__.co_code) // 2} bytecodes, unmodified NumPy")
    print(f"{'first call':>16}: {first:.1f} ms, compilation included")
    worst = 0
    for name, photo in (("as it is", original), ("4 x 4 enlarged", large)):
        expected, actual = develop(photo, 1.6, 0.8), compiled(photo, 1.6, 0.8)
        difference = np.abs(expected.astype(int) - actual).max()
        worst = max(worst, difference)
        plain, fused = median_ms(develop, photo, 1.6, 0.8), median_ms(compiled, photo, 1.6, 0.8)
        print(f"{name:>16}: NumPy {plain:.1f} ms, compiled {fused:.1f} ms: {plain / fused:.1f} times as fast, "
              f"largest difference {difference} of 255")

    report = fusewire.explain(compiled)(original, 1.6, 0.8).facts
    for variant in report["variants"]:
        print(f"{'compiled':>16}: {variant['graph'].count(' = ')} graph nodes in {variant['kernels']} fused kernels")
    for stop in report["breaks"]:
        print(f"{'not compiled':>16}: line {stop['line']}: {stop['message']}: {stop['detail']}")

    output = HERE / "output"
    output.mkdir(exist_ok=True)
    Image.fromarray(np.concatenate([original, after], axis=1)).save(output / "before_after.png")
    print(f"{'written':>16}: {output / 'before_after.png'}")
    if worst > 1:
        print("the compiled result differs from NumPy's by more than rounding", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
