"""docs/parameters.md says what the nodes' tables say."""

from __future__ import annotations

from pathlib import Path

from flexarm_nodes.docs.parameters import markdown

PAGE = Path(__file__).resolve().parents[2] / "docs" / "parameters.md"


def test_the_page_is_made_from_the_tables():
    assert PAGE.read_text(encoding="utf-8") == markdown(), (
        "run: python -m flexarm_nodes.docs.parameters docs/parameters.md"
    )
