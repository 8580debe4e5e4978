"""Commands within all limits: what one joint cannot do must not throw the others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from robots import URDF

from flexarm_core.hardware_gate.command_law import CommandLaw
from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.hardware_gate.softness import softness
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
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


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_a_joint_that_comes_back_from_beyond_a_limit_is_braked_to_rest_and_not_thrown_out_again(side):
    """On links that bend, braking of the whole limit at a small speed would reverse it in every sample."""
    model = ArmModel(load_robot_description(URDF / "flexible_2r.urdf.xacro"), gravity=(0.0, 0.0, 0.0))
    most, none = np.full(2, 20.0), np.zeros(0)
    limits = JointLimits(model.lower, model.upper, model.velocity_limit, most, model.effort_limit, np.full(2, np.inf))
    law = CommandLaw(model, limits, "effort", PERIOD, 2.0 * PERIOD, 20.0)
    beyond, speed = model.upper + 0.02, 0.05
    state = ArmState(0, side * np.array([0.3, beyond[1]]), side * np.array([0.0, -speed]), none, none)
    law.observe(state, 0.0, applied=False)
    blocks = model.blocks(state)
    outward = blocks.H_m @ (side * np.array([0.0, 15.0])) + blocks.c_m
    caused = law.observed.acceleration(state, law.follow(outward, None, state)[None])[0]
    assert side * caused[1] == pytest.approx(speed / law.observed.settling)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_links_that_bend_approach_a_position_limit_as_slowly_as_a_stop_brakes_them(side):
    """Far enough for the acceleration limit, too near for the deceleration that takes a period of the links."""
    model = ArmModel(load_robot_description(URDF / "flexible_2r.urdf.xacro"), gravity=(0.0, 0.0, 0.0))
    most, none = np.full(2, 20.0), np.zeros(0)
    limits = JointLimits(model.lower, model.upper, model.velocity_limit, most, model.effort_limit, np.full(2, np.inf))
    soft = softness(model, limits.velocity, most, PERIOD)
    law = CommandLaw(model, limits, "effort", PERIOD, 2.0 * PERIOD, 20.0, soft)
    speed, room = 4.5, 1.0
    assert speed**2 / (2.0 * most[1]) < 0.6 * room and speed**2 / (2.0 * soft.acceleration[1]) > 1.4 * room
    for away, least in ((room, 0.9 * soft.acceleration[1]), (2.5 * room, -1e-6)):
        law.reset()
        state = ArmState(0, side * np.array([0.3, model.upper[1] - away]), side * np.array([0.0, speed]), none, none)
        law.observe(state, 0.0, applied=False)
        onward = model.blocks(state).c_m
        caused = law.observed.acceleration(state, law.follow(onward, None, state)[None])[0]
        assert least <= -side * caused[1]
    assert caused == pytest.approx(0.0, abs=1e-6)
