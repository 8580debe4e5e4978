"""Rests of a recorded arm: found, long enough, different from one another."""

from __future__ import annotations

import numpy as np
import pytest

from flexarm_core.base_wrench.recorded_poses import RestConfig, find_static_poses
from flexarm_core.errors import ConfigError, InputError

DT = 0.01  # [s]
A, B, C = np.array([0.0, 0.0]), np.array([0.5, -0.3]), np.array([0.5, 0.4])


def recording(*stations, rest=1.5):
    """Positions, velocities and wrenches of an arm that rests at each station and goes to the next in one second."""
    positions = []
    for start, goal in zip(stations, (*stations[1:], None), strict=True):
        positions += [start] * round(rest / DT)
        if goal is not None:
            positions += [start + s**3 * (10 - 15 * s + 6 * s * s) * (goal - start) for s in np.arange(0.0, 1.0, DT)]
    positions = np.array(positions)
    velocities = np.gradient(positions, DT, axis=0)
    wrenches = np.hstack((positions, positions**2, np.ones_like(positions)))
    stamps = np.arange(len(positions)) * round(DT * 1e9)
    return stamps, positions, velocities, wrenches


def found(*stations, config=None, **more):
    return [pose.position for pose in find_static_poses(*recording(*stations, **more), config or RestConfig())]


def test_each_rest_is_a_pose_with_the_mean_of_what_the_sensor_said():
    poses = find_static_poses(*recording(A, B, C), RestConfig())
    assert np.array([pose.position for pose in poses]) == pytest.approx(np.array([A, B, C]), abs=1e-5)
    assert poses[1].wrench == pytest.approx([0.5, -0.3, 0.25, 0.09, 1.0, 1.0], abs=1e-5)
    assert all(80 < pose.samples < 120 and pose.fastest <= 0.01 for pose in poses)  # 1.5 s without the first 0.5 s


def test_a_pose_that_was_there_before_is_left_out():
    assert np.array(found(A, B, A, C, B)) == pytest.approx(np.array([A, B, C]), abs=1e-5)
    assert len(found(A, B, A, C, B, config=RestConfig(min_displacement=0.0))) == 5


def test_rests_that_are_too_short_are_left_out():
    assert len(found(A, B, C, rest=0.7)) == 0
    assert len(found(A, B, C, rest=0.7, config=RestConfig(settle_time=0.2))) == 3


def test_an_arm_that_creeps_is_not_at_rest():
    stamps = np.arange(2000) * round(DT * 1e9)
    positions = np.outer(0.009 * DT * np.arange(2000), [1.0, 0.0])
    creeping = stamps, positions, np.full_like(positions, 0.009), np.ones((2000, 6))
    assert find_static_poses(*creeping, RestConfig()) == []
    assert len(find_static_poses(*creeping, RestConfig(max_drift=1.0))) == 1


def test_a_gap_ends_a_rest():
    stamps, positions, velocities, wrenches = recording(A)
    keep = np.r_[0:70, 120:150]
    assert len(find_static_poses(stamps, positions, velocities, wrenches, RestConfig())) == 1
    short = stamps[keep], positions[keep], velocities[keep], wrenches[keep]
    assert find_static_poses(*short, RestConfig()) == []


def test_samples_without_a_wrench_do_not_count_and_a_rest_without_any_is_no_pose():
    stamps, positions, velocities, wrenches = recording(A, B)
    wrenches[:160] = np.nan
    wrenches[-60::2] = np.nan
    (pose,) = find_static_poses(stamps, positions, velocities, wrenches, RestConfig())
    assert pose.position == pytest.approx(B, abs=1e-5)
    assert np.isfinite(pose.wrench).all()


def test_deflections_of_the_base_are_averaged_too():
    stamps, positions, velocities, wrenches = recording(A)
    deflections = np.full((len(stamps), 1), 0.02)
    (pose,) = find_static_poses(stamps, positions, velocities, wrenches, RestConfig(), deflections)
    assert pose.deflection == pytest.approx([0.02])


def test_recordings_that_do_not_fit_are_refused():
    stamps, positions, velocities, wrenches = recording(A)
    with pytest.raises(InputError, match="a recording needs positions and velocities"):
        find_static_poses(stamps[:-1], positions, velocities, wrenches, RestConfig())
    with pytest.raises(InputError, match="must rise"):
        find_static_poses(stamps[::-1], positions, velocities, wrenches, RestConfig())
    with pytest.raises(InputError, match="must be finite"):
        find_static_poses(stamps, positions * np.nan, velocities, wrenches, RestConfig())
    with pytest.raises(InputError, match="as many deflections"):
        find_static_poses(stamps, positions, velocities, wrenches, RestConfig(), np.zeros((3, 1)))
    with pytest.raises(ConfigError, match="max_gap must"):
        RestConfig(max_gap=0.0)
    with pytest.raises(ConfigError, match="settle_time must"):
        RestConfig(settle_time=-1.0)
