"""Defects of ``benchmark/mutations.py``: each can be planted, and something is named that has to notice it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from flexarm_tools.faults.kinds import WHAT

ROOT = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("planted", ROOT / "benchmark" / "planted.py")
planted = importlib.util.module_from_spec(spec)
spec.loader.exec_module(planted)


@pytest.mark.parametrize("one", planted.PLANTED, ids=lambda one: one.name)
def test_a_defect_can_be_planted_and_what_must_notice_it_is_there(one):
    text = (ROOT / "src" / one.file).read_text(encoding="utf-8")
    assert text.count(one.old) == 1 and one.old != one.new
    compile(text.replace(one.old, one.new), one.file, "exec")
    if not one.catch.startswith("test/"):
        assert set(one.catch.removeprefix("nodes ").split()) <= set(WHAT)
        return
    path, _, name = one.catch.partition("::")
    tests = (ROOT / path).read_text(encoding="utf-8")
    assert not name or f"def {name}(" in tests


def test_there_are_thirty_of_them():
    assert len({(one.file, one.old, one.new) for one in planted.PLANTED}) == len(planted.PLANTED) >= 30
