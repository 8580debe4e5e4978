"""Trajectory files: what ros2 topic echo prints, and what is wrong with others."""

from __future__ import annotations

import numpy as np
import pytest

from flexarm_core.errors import ConfigError
from flexarm_core.joint_trajectory.file import load_trajectory

ECHO = """\
header:
  stamp:
    sec: 12
    nanosec: 5
  frame_id: ''
joint_names:
- shoulder
- elbow
points:
- positions:
  - 0.1
  - 0.2
  velocities: []
  accelerations: []
  effort: []
  time_from_start:
    sec: 1
    nanosec: 500000000
- positions: [0.3, 0.4]
  velocities: [0.0, 0.0]
  time_from_start: 2.5
---
"""


def test_a_printed_message_is_read(tmp_path):
    file = tmp_path / "way.yaml"
    file.write_text(ECHO, encoding="utf-8")
    points = load_trajectory(file)
    assert points.names == ("shoulder", "elbow") and points.stamp == 0
    assert points.times.tolist() == [1_500_000_000, 2_500_000_000]
    assert points.sizes.tolist() == [[2, 0, 0, 0], [2, 2, 0, 0]]
    assert points.numbers[0].tolist() == [[0.1, 0.2], [0.3, 0.4]]
    assert np.isnan(points.numbers[1][0]).all() and points.numbers[1][1].tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "IndexError"),
        ("joint_names: [a]", "KeyError: 'points'"),
        ("joint_names: [a]\npoints: [{positions: [x], time_from_start: 1}]", "could not convert"),
        ("joint_names: [a]\npoints: [{positions: [1]}]", "time_from_start"),
        ("joint_names: [a\npoints:", "ParserError"),
        ("joint_names: [a]\npoints: [" + "{time_from_start: 1}, " * 5001 + "]", "5001 points"),
    ],
)
def test_what_is_no_trajectory_is_rejected(tmp_path, text, reason):
    file = tmp_path / "way.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=reason):
        load_trajectory(file)
