"""A sensor that lied is trusted again once its joint has moved as commanded, and never before it has."""

from __future__ import annotations

import numpy as np
import pytest

from flexarm_core.hardware_gate.probation import EXERCISED, Probation

LIMIT, DT = np.array([2.0, 1.0]), 0.004
AT_REST = np.array([3.0, -7.0])  # [rad/s^2] what holds a payload that the model does not know


def asked(tick: int) -> np.ndarray:
    """Accelerations beyond those at rest."""
    return np.array([6.0, 4.0]) * np.sin(2.0 * np.pi * tick * DT / 0.4)


def judged(seen, ticks: int = 400) -> tuple[int, float, bool]:
    """Return the joint that is found, after what change of its velocity limit, and whether probation still lasts."""
    rng, probation, exercised = np.random.default_rng(0), Probation(LIMIT), np.zeros(2)
    probation.begin()
    for tick in range(ticks):
        wanted = asked(tick)
        found = probation.on_motion(AT_REST + wanted, seen(wanted) * DT + 0.002 * rng.normal(size=2), DT)
        exercised += np.abs(wanted) * DT / LIMIT
        if found >= 0:
            return found, float(exercised[found]), probation.active
    return -1, float(exercised.min()), probation.active


@pytest.mark.parametrize("scale", [0.8, 1.0, 1.2])
def test_joints_that_move_as_commanded_are_trusted_whatever_they_carry(scale):
    found, _, active = judged(lambda wanted: scale * wanted)
    assert found < 0 and not active


@pytest.mark.parametrize(
    "lie",
    [
        lambda wanted: wanted * [1.0, -1.0],  # counts backward
        lambda wanted: wanted * [1.0, 0.0],  # stands still
        lambda wanted: np.array([wanted[0], -1.5 * wanted[0]]),  # belongs to another joint
    ],
)
def test_a_joint_that_does_not_is_found_before_it_is_trusted(lie):
    found, exercised, active = judged(lie)
    assert found == 1 and exercised < EXERCISED and active


def test_an_arm_that_was_not_moved_stays_on_probation_and_one_that_was_is_not_asked_again():
    probation = Probation(LIMIT)
    assert not probation.active
    probation.begin()
    for _ in range(1000):
        assert probation.on_motion(AT_REST, np.zeros(2), DT) < 0
    assert probation.active
    for tick in range(400):
        assert probation.on_motion(AT_REST + asked(tick), asked(tick) * DT, DT) < 0
    assert not probation.active
    assert probation.on_motion(AT_REST + 40.0, -LIMIT, DT) < 0  # a collision
