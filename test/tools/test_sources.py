"""docs/sources.md names every claim of the sources once, with code, tests and scenarios that exist."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("sources", ROOT / "benchmark" / "sources.py")
assert spec is not None and spec.loader is not None
sources = importlib.util.module_from_spec(spec)
sys.modules["sources"] = sources  # its record needs its module
spec.loader.exec_module(sources)
faults_of, figures_of, read_rows = sources.faults_of, sources.figures_of, sources.read_rows

PAGE = (ROOT / "docs" / "sources.md").read_text()


def test_every_claim_is_there_and_what_it_names_exists():
    assert faults_of(read_rows(PAGE)) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("| 7, 22, 37 |", "| 22, 37 |", "Flexible dynamics: 7 is missing"),
        ("| 7, 22, 37 |", "| 7, 22, 37, 36 |", "Flexible dynamics: 36 does not exist or is given twice"),
        ("| 7, 22, 37 |", "| 7, 22, 37, 46 |", "Flexible dynamics: 46 does not exist or is given twice"),
        (
            "test_rigid_trees_equal_pinocchio",
            "test_gone",
            "test_recursion.py::test_gone",
        ),
        ("ik_redundancy/solver.py", "ik_redundancy/gone.py", "no code ik_redundancy/gone.py"),
        ("trep/scenarios/fig12_paper.yaml", "trep/gone.yaml", "no scenario trep/gone.yaml"),
    ],
)
def test_what_is_wrong_is_found(old, new, said):
    assert old in PAGE
    assert said in "\n".join(faults_of(read_rows(PAGE.replace(old, new))))


def test_what_has_no_test_is_counted_as_such():
    before = figures_of(read_rows(PAGE))
    line = next(line for line in PAGE.splitlines() if line.startswith("| 7, 22, 37 |"))
    cells = line.split("|")
    cells[4] = " *none* "
    after = figures_of(read_rows(PAGE.replace(line, "|".join(cells))))
    assert after["claims_without_test"] == before["claims_without_test"] + 3 and after["claims"] == before["claims"]
