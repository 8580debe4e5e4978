"""Joint trajectories: exact at their points, smooth between them, refused where they make no sense."""

from __future__ import annotations

import numpy as np
import pytest

from flexarm_core.errors import InputError
from flexarm_core.path.joint_move import JointMove, JointMoveConfig
from flexarm_core.path.joint_trajectory import JointTrajectory

START = np.array([0.1, -0.2])
POINTS = np.array([[0.5, 0.0], [1.0, 0.3]])
RATES = np.array([[0.4, 0.1], [0.0, 0.0]])


@pytest.mark.parametrize("more", [(), (RATES,), (RATES, 0.5 * RATES)])
def test_it_passes_through_its_points_from_where_the_arm_is_and_holds_the_last(more):
    path = JointTrajectory(START, [1.0, 2.0], POINTS, *more)
    for time, position in ((0.0, START), (1.0, POINTS[0]), (2.0, POINTS[1]), (9.0, POINTS[1])):
        assert path.sample(5, time).position == pytest.approx(position, abs=1e-12)
    for row, name in zip(more, ("velocity", "acceleration"), strict=False):
        assert getattr(path.sample(5, 1.0), name) == pytest.approx(row[0], abs=1e-12)
    assert not path.sample(5, 0.0).velocity.any() and not path.sample(5, 9.0).velocity.any()
    assert path.sample(5, 1.0).stamp == 5


@pytest.mark.parametrize("more", [(), (RATES,), (RATES, 0.5 * RATES)])
def test_velocity_and_acceleration_are_the_derivatives(more):
    path, h = JointTrajectory(START, [1.0, 2.0], POINTS, *more), 1e-5
    for time in (0.3, 0.8, 1.4, 1.9):
        below, here, above = (path.sample(0, time + shift) for shift in (-h, 0.0, h))
        assert here.velocity == pytest.approx((above.position - below.position) / (2 * h), abs=1e-6)
        assert here.acceleration == pytest.approx((above.velocity - below.velocity) / (2 * h), abs=1e-6)


def test_a_single_point_at_once_is_held():
    reference = JointTrajectory(START, [0.0], START[None]).sample(0, 3.0)
    assert np.array_equal(reference.position, START) and not reference.acceleration.any()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (([], np.zeros((0, 2))), "needs points"),
        (([2.0, 1.0], POINTS), "rising times"),
        (([-1.0, 1.0], POINTS), "rising times"),
        (([1.0, 2.0], POINTS[:1]), "positions must be 2 points of 2"),
        (([1.0, 2.0], POINTS, RATES * np.nan), "velocities must be"),
        (([1.0, 2.0], POINTS, None, RATES), "need velocities"),
    ],
)
def test_nonsense_is_refused(arguments, said):
    with pytest.raises(InputError, match=said):
        JointTrajectory(START, *arguments)


def test_the_seventh_order_law_has_no_jerk_at_its_ends():
    move = JointMove(JointMoveConfig((1.0,), duration=1.0, time_law="seventh_order"))
    move.begin(0, np.zeros(1))
    near = [move.update(stamp) for stamp in (0, 1_000_000, 999_000_000, 1_000_000_000)]
    assert near[0].position == pytest.approx([0.0]) and near[3].position == pytest.approx([1.0])
    assert abs(near[1].acceleration[0]) < 1e-3 and abs(near[2].acceleration[0]) < 1e-3
    h = 10_000
    for stamp in (200_000_000, 700_000_000):
        below, here, above = (move.update(stamp + shift) for shift in (-h, 0, h))
        assert here.velocity == pytest.approx((above.position - below.position) / (2e-9 * h), rel=1e-5)
        assert here.acceleration == pytest.approx((above.velocity - below.velocity) / (2e-9 * h), rel=1e-5)
