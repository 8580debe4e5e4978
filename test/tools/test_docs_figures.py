"""Figures in README and pages are those of the runs that they name."""

from __future__ import annotations

import docs_figures
import pytest

from flexarm_core.errors import RobotDescriptionError


def test_an_arm_on_a_box_moves_as_its_page_says(tmp_path):
    try:
        values = docs_figures.box_values(tmp_path)
    except RobotDescriptionError as missing:
        pytest.skip(str(missing))
    assert docs_figures.stale(docs_figures.BOX, values) == {}
    wrong = {name: 1.1 * value for name, value in values.items()}
    assert len(docs_figures.stale(docs_figures.BOX, wrong)) == 6


@pytest.mark.long
def test_the_demo_does_what_readme_and_its_page_say():
    assert docs_figures.stale(docs_figures.DEMO, docs_figures.demo_values()) == {}
