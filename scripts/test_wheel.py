"""Installs the newest wheel of a folder into an empty virtual environment and runs README's example there.

Closes with one line 'N passed, N failed'; --glibc X.Y also fails for a wheel that needs a newer glibc.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What the example has to have done: pixels as NumPy's, by native code.
CHECK = """
reference = falloff.__wrapped__(x, x)
assert image.dtype == np.float32 and image.shape == (640, 640)
np.testing.assert_allclose(image, reference, rtol=1e-6, atol=1e-7)
assert fusewire.explain(falloff)(x, x).facts["variants"], fusewire.summary()
assert "site-packages" in fusewire.__file__, fusewire.__file__
"""


def example() -> str:
    """README's first block of Python."""
    return re.search(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.S | re.M)[1]


def run(*command, **options) -> None:
    subprocess.run([str(part) for part in command], check=True, **options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--glibc", help="newest version that the wheel may need")
    options = parser.parse_args()
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    wheels = sorted(options.folder.glob(f"fusewire-*-{tag}-{tag}-*.whl"), key=os.path.getmtime)
    if not wheels:
        sys.exit(f"no wheel for {tag} in {options.folder}")
    results = []
    if options.glibc:
        needs = [tuple(map(int, found)) for found in re.findall(r"manylinux_(\d+)_(\d+)", wheels[-1].name)]
        results.append(bool(needs) and min(needs) <= tuple(map(int, options.glibc.split("."))))
        print(f"{wheels[-1].name}: glibc {'.'.join(map(str, min(needs))) if needs else 'of this machine'}")
    with tempfile.TemporaryDirectory() as folder:
        empty = pathlib.Path(folder, "venv")
        venv.create(empty, with_pip=True)
        program = pathlib.Path(folder, "example.py")
        # linecache tells explain() the lines; the check comes behind the example.
        program.write_text(example() + CHECK)
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "FUSEWIRE_"))}
        try:
            run(empty / "bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check", wheels[-1], env=environment)
            run(empty / "bin/python", program, cwd=folder, env=environment)
            results.append(True)
        except subprocess.CalledProcessError as error:
            print(error)
            results.append(False)
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
