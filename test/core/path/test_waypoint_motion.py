"""Motion along a waypoint file: from the first pose given to the last, within limits, and back."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.path.path_constraints import PathLimits
from flexarm_core.path.path_timing import time_path
from flexarm_core.path.waypoint_file import load_waypoint_file
from flexarm_core.path.waypoint_motion import WaypointMotion, WaypointMotionConfig

P0, R0 = np.array([0.4, 0.1, 0.3]), Rotation.from_rotvec([0.2, -0.5, 0.9]).as_matrix()
LIMITS = PathLimits(0.25, 1.0, 1.0, 4.0)
THERE = "relative: true\nsegments: [{line: {position: [0.2, 0, 0], rpy: [0, 0, 0.5]}}]"


@pytest.fixture
def load(tmp_path):
    def read(text: str):
        file = tmp_path / "path.yaml"
        file.write_text(text)
        return load_waypoint_file(file)

    return read


def _motion(spec, **changes) -> WaypointMotion:
    motion = WaypointMotion(WaypointMotionConfig(spec=spec, frame="world", limits=LIMITS, **changes))
    motion.begin(5_000_000_000, P0, R0)
    return motion


def test_a_motion_goes_from_the_first_pose_to_the_last_within_the_limits(load):
    motion = _motion(load(THERE), start=0.5)
    duration = 0.2 / 0.25 + 0.25
    for time, moved in ((0.0, 0.0), (0.4, 0.0), (0.5 + 0.5 * duration, 0.1), (0.5 + duration + 0.01, 0.2), (9.0, 0.2)):
        reference = motion.update(5_000_000_000 + int(time * 1e9))
        assert np.allclose(reference.position, P0 + [moved, 0.0, 0.0], atol=1e-3)
        assert np.linalg.norm(reference.velocity[:3]) <= 0.25 + 1e-9 and reference.frame == "world"
    assert np.allclose(reference.rotation, Rotation.from_rotvec([0.0, 0.0, 0.5]).as_matrix() @ R0)


def test_the_way_back_is_the_way_there_backwards(load):
    motion = _motion(load(THERE), returns=True)
    there = _motion(load(THERE))
    duration = time_path(load(THERE).build(P0, R0), LIMITS).duration
    for time in (0.1, 0.4, 0.9):
        away = there.update(5_000_000_000 + round((duration - time) * 1e9))
        for turn in (1, 3):
            back = motion.update(5_000_000_000 + round((turn * duration + time) * 1e9))
            assert np.allclose(back.position, away.position, atol=1e-8) and np.allclose(
                back.rotation, away.rotation, atol=1e-8
            )
            assert np.allclose(back.velocity, -away.velocity, atol=1e-7)
            assert np.allclose(back.acceleration, away.acceleration, atol=1e-7)


def test_a_motion_that_has_no_path_says_so_at_every_sample(load):
    motion = WaypointMotion(WaypointMotionConfig(load(THERE.replace("0.2", "0").replace("0.5", "0")), "world", LIMITS))
    with pytest.raises(ConfigError, match="the motion has not begun"):
        motion.update(0)
    motion.begin(0, P0, R0)
    for stamp in (0, 1):
        with pytest.raises(InputError, match="the end pose is the start pose"):
            motion.update(stamp)
    motion.reset()
    assert not motion.begun


@pytest.mark.parametrize(
    ("change", "said"), [({"axes": (True,)}, "axes must be six"), ({"start": -1.0}, "start must be >= 0")]
)
def test_settings_without_meaning_are_refused(load, change, said):
    with pytest.raises(ConfigError, match=said):
        WaypointMotionConfig(load(THERE), "world", LIMITS, **change)
