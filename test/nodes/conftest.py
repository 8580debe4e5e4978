"""Fixtures for tests with live nodes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from live import LiveGraph, own_domain


@pytest.fixture
def live(tmp_path, monkeypatch) -> Iterator[LiveGraph]:
    """A graph of its own."""
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "ros"))
    with own_domain():
        graph = LiveGraph(tmp_path)
        try:
            yield graph
        finally:
            graph.close()


@pytest.fixture
def shared(planar_3r_text) -> dict:
    """Parameters that every node of the planar arm takes."""
    return {"robot_description": planar_3r_text, "gravity": [0.0, 0.0, 0.0]}
