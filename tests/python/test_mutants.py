"""The table of planted defects fits the source; scripts/run_mutants.py runs them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

import run_mutants

from fuzz import GENERATORS


def test_fragments_occur_once():
    rows = run_mutants.table()
    assert not run_mutants.problems(rows)
    for name, row in rows.items():
        assert set(row) <= {"finds", "file", "original", "mutated", "statement"}, name
        assert row["finds"] and set(row["finds"]) <= set(GENERATORS), name
        assert row["original"] != row["mutated"], name
