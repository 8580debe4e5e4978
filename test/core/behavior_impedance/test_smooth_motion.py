"""SmoothMotion: what it says of motion is what its poses do; corners at rest, limits kept, rotations exact."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from flexarm_core.behavior_impedance.smooth_motion import ROW, SmoothMotion
from flexarm_core.path.path_constraints import PathLimits
from flexarm_core.path.pose_path import PosePath

START = Rotation.from_rotvec([0.3, -2.0, 0.5]).as_matrix()
ORIGIN = np.array([0.4, -0.2, 0.6])
LIMITS = PathLimits(0.2, 0.8, 0.7, 3.0)
FAST = PathLimits(5.0, 200.0, 30.0, 3000.0)


def turned(*vector):
    return Rotation.from_rotvec(vector).as_matrix() @ START


def begin():
    return PosePath(ORIGIN, START)


def spline():
    points = ORIGIN + np.array([[0.1, 0.05, 0.0], [0.2, 0.0, 0.1], [0.25, -0.1, 0.05], [0.3, 0.0, 0.0]])
    turns = [turned(0.2, 0.0, 0.0), turned(0.3, 0.4, 0.0), turned(0.1, 0.5, 0.3), turned(0.0, 0.0, 0.6)]
    return begin().spline(points, turns)


def corners():
    path = begin().line(ORIGIN + [0.2, 0.0, 0.0]).line(ORIGIN + [0.2, 0.2, 0.0], turned(0.4, 0.0, 0.0))
    return path.turn([0.0, 0.7, 0.0])


PATHS = {
    "line": lambda: begin().line(ORIGIN + [0.3, 0.1, -0.2]),
    "line with turn": lambda: begin().line(ORIGIN + [0.05, 0.0, 0.0], turned(0.5, 1.0, -0.8)),
    "turn": lambda: begin().turn([1.0, 2.0, -1.5]),
    "revolutions": lambda: begin().turn([0.0, 9.0, 0.0]),
    "arc": lambda: begin().arc(ORIGIN + [0.1, 0.1, 0.0], ORIGIN + [0.2, 0.0, 0.0], turned(0.0, 0.0, 1.0)),
    "spline": spline,
    "corners": corners,
}
CASES = [(name, limits) for name in PATHS for limits in (LIMITS, FAST)]
IDS = [f"{name}-{'fast' if limits is FAST else 'slow'}" for name, limits in CASES]


def read(motion, times):
    rows = np.empty((len(times), ROW))
    for time, row in zip(times, rows, strict=True):
        motion.at(float(time), row)
    return rows


@pytest.mark.parametrize(("name", "limits"), CASES, ids=IDS)
def test_it_goes_from_the_first_pose_to_the_last_and_rests_there(name, limits):
    path = PATHS[name]()
    motion = SmoothMotion(path, limits)
    p, R = path.end
    for time, position, rotation in (
        (-1.0, ORIGIN, START), (0.0, ORIGIN, START), (motion.duration, p, R), (motion.duration + 1.0, p, R), (1e9, p, R)
    ):  # fmt: skip
        row = read(motion, [time])[0]
        assert row[:3] == pytest.approx(position, abs=1e-9)
        assert row[3:12].reshape(3, 3) == pytest.approx(rotation, abs=1e-9)
        assert row[12:18] == pytest.approx(np.zeros(6), abs=1e-6)


@pytest.mark.parametrize(("name", "limits"), CASES, ids=IDS)
def test_orientations_are_rotations(name, limits):
    motion = SmoothMotion(PATHS[name](), limits)
    R = read(motion, np.linspace(0.0, motion.duration, 777))[:, 3:12].reshape(-1, 3, 3)
    assert R @ R.transpose(0, 2, 1) == pytest.approx(np.broadcast_to(np.eye(3), R.shape), abs=1e-9)


@pytest.mark.parametrize(("name", "limits"), CASES, ids=IDS)
def test_twist_and_acceleration_are_the_derivatives_of_the_poses(name, limits):
    motion = SmoothMotion(PATHS[name](), limits)
    h = 1e-5 * motion.duration
    rng = np.random.default_rng(1)
    times = np.concatenate([start + (0.002 + 0.996 * rng.random(150)) * length for start, length in pieces(motion)])
    here, ahead, behind = (read(motion, times + s) for s in (0.0, h, -h))
    turns = [row.reshape(-1, 3, 3) for row in (ahead[:, 3:12], behind[:, 3:12])]
    rates = Rotation.from_matrix(turns[0] @ turns[1].transpose(0, 2, 1)).as_rotvec() / (2.0 * h)
    for part, rate in ((slice(12, 15), (ahead - behind)[:, :3] / (2.0 * h)), (slice(15, 18), rates)):
        scale = max(np.abs(here[:, part]).max(), 1e-6)
        assert here[:, part] == pytest.approx(rate, abs=1e-4 * scale)
    accelerations = (ahead - behind)[:, 12:18] / (2.0 * h)
    for part in (slice(0, 3), slice(3, 6)):
        scale = max(np.abs(accelerations[:, part]).max(), 1e-6)
        assert here[:, 18:][:, part] == pytest.approx(accelerations[:, part], abs=0.02 * scale)


def pieces(motion):
    """Begin and length of what lies between two corners, in time."""
    ends = np.append(motion._starts, motion.duration)
    return zip(ends[:-1], np.diff(ends), strict=True)


@pytest.mark.parametrize(("name", "limits"), CASES, ids=IDS)
def test_it_keeps_every_limit_and_uses_one_up(name, limits):
    motion = SmoothMotion(PATHS[name](), limits)
    rows = read(motion, np.linspace(0.0, motion.duration, 5001))
    shares = []
    for column, limit in ((12, limits.linear_velocity), (15, limits.angular_velocity),
                          (18, limits.linear_acceleration), (21, limits.angular_acceleration)):  # fmt: skip
        shares.append(np.linalg.norm(rows[:, column : column + 3], axis=1).max() / limit)
    assert max(shares) <= 1.0 + 1e-6
    assert max(shares) > 0.98


@pytest.mark.parametrize("name", ("line", "line with turn", "turn", "arc"))
def test_it_stays_on_the_path(name):
    path = PATHS[name]()
    motion = SmoothMotion(path, LIMITS)
    rows, share = read(motion, times := np.linspace(0.0, motion.duration, 401)), None
    r = times / motion.duration
    share = r**3 * (10.0 - 15.0 * r + 6.0 * r * r)
    positions, rotations = path.poses(path.length * share)
    assert rows[:, :3] == pytest.approx(positions, abs=1e-8)
    assert rows[:, 3:12].reshape(-1, 3, 3) == pytest.approx(rotations, abs=1e-7)


def test_it_rests_at_every_corner_and_moves_between():
    motion = SmoothMotion(PATHS["corners"](), LIMITS)
    assert len(motion._starts) == 3
    for time in motion._starts:
        for side in (-1e-9, 0.0, 1e-9):
            assert np.abs(read(motion, [time + side])[0, 12:18]).max() < 1e-6
    for start, length in pieces(motion):
        assert np.abs(read(motion, [start + 0.5 * length])[0, 12:18]).max() > 0.1


def test_a_path_without_length_is_a_pose_at_rest():
    motion = SmoothMotion(begin(), LIMITS)
    assert motion.duration == 0.0
    for time in (-1.0, 0.0, 3.0):
        row = read(motion, [time])[0]
        assert row[:3] == pytest.approx(ORIGIN) and row[3:12].reshape(3, 3) == pytest.approx(START)
        assert not row[12:].any()


def test_a_slow_motion_takes_its_time_but_not_its_share_of_memory():
    motion = SmoothMotion(PATHS["line with turn"](), PathLimits(1e-6, 1e-3, 1e-6, 1e-3))
    assert motion.duration > 1e5
    assert sum(table.size for table in motion._tables) < 1e6
    row = read(motion, [0.5 * motion.duration])[0]
    assert row[:3] == pytest.approx(ORIGIN + [0.025, 0.0, 0.0], abs=1e-9)
    assert row[3:12].reshape(3, 3) == pytest.approx(turned(0.25, 0.5, -0.4), abs=1e-7)


def test_a_short_way_takes_a_short_time():
    motion = SmoothMotion(begin().line(ORIGIN + [1e-8, 0.0, 0.0]), LIMITS)
    assert 0.0 < motion.duration < 1e-3
    assert read(motion, [motion.duration])[0, 0] == pytest.approx(ORIGIN[0] + 1e-8, abs=1e-12)
