"""Commands within all limits: what one joint cannot do must not throw the others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flexarm_core.hardware_gate.command_law import CommandLaw
from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.types import ArmState

PERIOD = 0.001


@pytest.mark.parametrize("jump", [-0.3, -0.2, 0.2, 0.3])
def test_a_velocity_that_jumps_saturates_one_motor_and_leaves_the_others_at_rest(planar_3r, jump):
    """To brake the first joint, its motor gives all that it has; what holds the others then depends on how much."""
    model, n = planar_3r, planar_3r.n
    wide = np.full(n, np.inf)
    limits = JointLimits(model.lower, model.upper, np.full(n, 1.0), np.full(n, 4.0), np.full(n, 400.0), wide)
    law = CommandLaw(model, limits, "effort", PERIOD, PERIOD, 20.0)
    none = np.zeros(model.m)
    state = ArmState(0, np.radians([20.0, -30.0, 40.0]), np.zeros(n), none, none)
    rest = model.gravity_effort(state)
    for tick in range(100):
        state = replace(state, stamp=tick * 1_000_000)
        law.observe(state, 0.0, applied=law.command is not None)
        law.remember(law.follow(rest, None, state), PERIOD)
    state = replace(state, stamp=100_000_000, velocity=np.array([jump, 0.0, 0.0]))
    law.observe(state, 0.0, applied=True)
    command = law.follow(rest, None, state)
    assert (np.abs(command) <= limits.effort).all() and np.sum(np.abs(command) == limits.effort) == 1
    moved = law.observed.acceleration(state, command[None])[0]
    assert (np.abs(moved[1:]) <= 1.01 * limits.acceleration[1:]).all(), moved
