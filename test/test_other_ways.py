"""Ways to install flexarm that cannot be tried here: what is known of them is read from their files."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("file", ["Dockerfile", ".github/workflows/ros.yaml", "docs/start.md", "README.md"])
def test_pip_is_there_before_rosdep_wants_it(file):
    """Images of ROS 2 have no pip, and rosdep ends ("pip is not installed") at the first key that PyPI alone has."""
    assert "-pip</" in (ROOT / "package.xml").read_text(encoding="utf-8")
    text = (ROOT / file).read_text(encoding="utf-8")
    assert 0 < text.find("python3-pip") < text.index("rosdep install")
