"""Braking: slows every joint at its limit, then holds the arm where it came to rest."""

from __future__ import annotations

import numpy as np
import pytest

from flexarm_core.hardware_gate.braking import Braking
from flexarm_core.hardware_gate.softness import Softness
from flexarm_core.types import ArmState

MOST, FREQUENCY, PERIOD = 20.0, 20.0, 0.002


def state(position: float, velocity: float) -> ArmState:
    return ArmState(0, np.array([position]), np.array([velocity]), np.zeros(0), np.zeros(0))


def acceleration(braking: Braking, position: float, velocity: float) -> float:
    return float(braking.acceleration(state(position, velocity), np.array([MOST]))[0])


@pytest.mark.parametrize("velocity", [-3.0, 3.0])
def test_a_fast_joint_is_decelerated_at_its_limit(velocity):
    assert acceleration(Braking(np.array([MOST]), FREQUENCY, PERIOD), 0.0, velocity) == -np.copysign(MOST, velocity)


@pytest.mark.parametrize("away", [-0.02, 0.02])
def test_a_joint_that_a_weight_moves_is_taken_back_to_where_it_came_to_rest(away):
    braking = Braking(np.array([MOST]), FREQUENCY, PERIOD)
    assert acceleration(braking, 0.3, 0.0) == 0.0
    assert acceleration(braking, 0.3 + away, 0.0) == pytest.approx(-(FREQUENCY**2) * away)


def test_set_points_come_to_rest_at_the_limit_and_stay_there():
    braking, rate = Braking(np.array([MOST]), FREQUENCY, PERIOD), np.array([1.0])
    steps = 0
    while rate.any():
        before, rate, steps = rate, braking.rate(rate, PERIOD, np.zeros(1)), steps + 1
        assert before - rate <= MOST * PERIOD + 1e-12
    assert steps == round(1.0 / (MOST * PERIOD))


@pytest.mark.parametrize("velocity", [-0.8, 0.5])
def test_a_joint_whose_deceleration_rises_slowly_is_held_where_that_can_stop_it(velocity):
    """Held earlier, the joint would go beyond where it is held, and come back: a critically damped servo does not."""
    one = np.ones(1)
    soft = Softness(0.6 * one, 6.0 * one, 10.0 * one, 0.0 * one)
    braking, position, speeds = Braking(np.array([MOST]), FREQUENCY, PERIOD, soft), 0.0, [velocity]
    for _ in range(round(2.0 / PERIOD)):
        most = braking.deceleration(MOST * one, 0.0 * one, PERIOD)
        wanted = float(braking.acceleration(state(position, speeds[-1]), most)[0])
        assert abs(wanted) <= most[0]
        position += speeds[-1] * PERIOD
        speeds.append(speeds[-1] + wanted * PERIOD)
    assert np.min(np.sign(velocity) * np.array(speeds)) > -0.01 * abs(velocity)
    assert abs(speeds[-1]) < 1e-3
