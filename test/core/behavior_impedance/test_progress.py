"""Progress: a tool that does not get on towards a set-point at rest is stalled, and what hinders it is named."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from behaviors import READY, Driven, arm_of

from flexarm_core.behavior_impedance.behavior import BehaviorSpec
from flexarm_core.behavior_impedance.progress import AWAY, PATIENCE, STILL, Progress, distance
from flexarm_core.ik_redundancy.limits import MotionLimits

DT = 0.01
REST = np.zeros(6)


def seconds_to_stall(errors, twist=REST):
    """When it first counts as stalled [s]; None: never. ``errors``: of each sample."""
    progress = Progress()
    for k, error in enumerate(errors):
        if progress.update(DT, distance(twist, np.asarray(error, dtype=float))):
            return (k + 1) * DT
    return None


def along(x, rotation=0.0):
    return np.array([x, 0.0, 0.0, 0.0, rotation, 0.0])


@pytest.mark.parametrize("error", (along(1.01 * AWAY[0]), along(0.0, 1.01 * AWAY[1]), along(-0.5, -1.0)))
def test_an_error_that_stays_is_a_stall_once_patience_is_over(error):
    assert seconds_to_stall([error] * 200) == pytest.approx(PATIENCE, abs=1.5 * DT)


@pytest.mark.parametrize("error", (along(0.99 * AWAY[0]), along(0.0, 0.99 * AWAY[1]), along(0.0)))
def test_a_small_error_never_is(error):
    assert seconds_to_stall([error] * 500) is None


@pytest.mark.parametrize("twist", (along(1.1 * STILL[0]), along(0.0, 1.1 * STILL[1])))
def test_while_the_set_point_moves_nothing_is_stalled(twist):
    assert seconds_to_stall([along(0.1)] * 500, twist) is None


def test_a_tool_that_comes_nearer_is_under_way_until_it_is_there():
    assert seconds_to_stall([along(0.5 * np.exp(-k * DT / 3.0)) for k in range(2000)]) is None


def test_a_tool_that_hunts_about_a_place_is_stalled_too():
    assert seconds_to_stall([along(0.1 + 0.01 * np.sin(0.3 * k)) for k in range(1000)]) is not None


def test_a_stall_ends_when_the_tool_gets_on():
    progress = Progress()
    assert [progress.update(DT, distance(REST, along(0.1))) for _ in range(100)][-1]
    assert not progress.update(DT, distance(REST, along(0.05)))
    assert not progress.update(DT, distance(REST, along(0.0)))


def test_an_external_wrench_that_holds_the_tool_off_is_named():
    driven = Driven("panda")
    run = driven.run(1500, np.array([0.0, 20.0, 0.0, 0.0, 0.0, 0.0]))
    assert run.outputs[-1].stalled and run.outputs[-1].hindered_by == ("external wrench",)
    again = driven.run(1500)
    assert not again.outputs[-1].stalled and again.outputs[-1].hindered_by == ()


def test_a_joint_at_its_end_is_named():
    arm = arm_of("arm_6r")
    upper = arm.chain.upper.copy()
    upper[0] = READY["arm_6r"][0] + 0.05
    limits = MotionLimits(arm.chain.lower, upper, arm.limits.velocity, arm.limits.acceleration)
    driven = Driven("arm_6r", arm=dataclasses.replace(arm, limits=limits))
    driven.ask(BehaviorSpec("p", "path", {"positions": [0.0, 0.3, 0.0], "relative": True}))
    run = driven.run(5000)
    last = run.outputs[-1]
    assert last.stalled and f"limit of {arm.chain.joint_names[0]}" in last.hindered_by


def test_a_goal_out_of_reach_is_a_stall():
    driven = Driven("arm_6r")
    driven.ask(BehaviorSpec("p", "path", {"positions": [2.0, 0.0, 0.5], "max_linear_velocity": 0.5}))
    run = driven.run(5000)
    assert run.outputs[-1].stalled and run.outputs[-1].hindered_by


def test_in_a_direction_in_force_the_tool_cannot_be_stalled():
    driven = Driven("panda")
    axes = [False, False, True, False, False, False]
    driven.ask(BehaviorSpec("f", "force", {"wrench": [0.0, 0.0, -10.0, 0.0, 0.0, 0.0], "axes": axes}))
    floor = driven.controller.output.position[2] - 0.02

    def wrench(output):
        return np.array([0.0, 0.0, 2e4 * max(floor - output.position[2], 0.0), 0.0, 0.0, 0.0])

    run = driven.run(6000, wrench)
    assert wrench(run.outputs[-1])[2] == pytest.approx(10.0, rel=1e-3)
    assert not run.of("stalled").any()


def test_begun_anew_nothing_is_stalled():
    driven = Driven("panda")
    driven.run(1500, np.array([0.0, 20.0, 0.0, 0.0, 0.0, 0.0]))
    driven.controller.begin(driven.joints)
    assert not driven.controller.output.stalled
    assert not driven.run(100, np.array([0.0, 20.0, 0.0, 0.0, 0.0, 0.0])).of("stalled").any()
