"""The page's Python examples run as they stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[3]


def test_the_examples_run_in_turn_from_the_root_of_the_repository(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "reaction_null_space.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 2
    names: dict[str, Any] = {}
    for block in blocks:
        exec(block, names)
    assert names["selection"].names == ("mode 1", "mode 2", "mode 3")
    loaded = names["arm"].blocks(names["ArmState"](0, names["q"], np.zeros(7), np.zeros(6), np.zeros(6))).H_bm
    braking = names["joints"].acceleration @ loaded.T @ names["swinging"]
    assert braking > 0.0, "the arm pushes against the swing"
    assert len(capsys.readouterr().out.splitlines()) >= 3
