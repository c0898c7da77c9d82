"""A fixed sample of random programs of every generator, in all modes in turn, and the programs that once differed.

`python -m fuzz` runs as many as wanted, survives crashes and makes finds small.
"""

from pathlib import Path

import pytest

from fuzz import GENERATORS
from fuzz.check import check
from fuzz.modes import MODES, mode_of
from fuzz.program import generate, parse

# Programs per generator, and how many of them have to run compiled: a suite that falls back to Python proves nothing.
SAMPLES = {"aliasing": (64, 56), "bins": (100, 70), "branches": (64, 56), "draws": (80, 40), "dtypes": (160, 136), "elements": (24, 24), "errors": (112, 96), "handlers": (60, 34), "joins": (100, 80), "keyed": (100, 80), "lists": (120, 80), "loops": (48, 40), "machines": (200, 140), "matrices": (60, 40), "objects": (120, 108), "recompiles": (112, 100), "rows": (64, 44), "stacks": (100, 80), "stores": (100, 70), "tables": (80, 48), "yields": (100, 70)}
PARTS = 4   # so that workers share them
FINDS = sorted((Path(__file__).parent / "fuzz" / "finds").glob("*.py"))


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("generator", GENERATORS)
def test_random_programs(generator, part):
    count, least = (n // PARTS for n in SAMPLES[generator])
    compiled = 0
    for seed in range(part * count, (part + 1) * count):
        mode = mode_of("mixed", seed)
        report = check(generate(generator, seed), mode)
        assert not report.difference, f"python -m fuzz --generator {generator} --seed {seed} --count 1 --mode {mode}\n{report.difference}"
        compiled += report.compiled
    assert compiled >= least, f"only {compiled} of {count} programs ran compiled"


@pytest.mark.parametrize("path", FINDS, ids=lambda path: path.stem)
def test_what_once_differed(path):
    program = parse(path.read_text(encoding="utf-8"))
    for mode in MODES:
        report = check(program, mode)
        assert not report.difference, f"{mode}: {report.difference}\n{path.read_text(encoding='utf-8')}"
        assert report.kind != "unsettled", f"{mode}: plain Python differs from itself"


def test_programs_are_text():
    for generator in GENERATORS:
        program = generate(generator, 1)
        assert program == generate(generator, 1)
        again = parse(program.text("a heading"))
        assert again.text() == program.text()
