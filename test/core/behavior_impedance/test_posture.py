"""Posture: draws the redundant joints, and only them."""

from __future__ import annotations

import numpy as np
import pytest
from behaviors import PLANAR, READY, Driven, arm_of, asked, begun, made, sample_at

from flexarm_core.behavior_impedance.behavior import BehaviorSpec
from flexarm_core.errors import ConfigError


def test_the_effort_is_minus_the_gradient_of_a_spring_and_the_stiffness_its_derivative():
    arm, K = arm_of("panda"), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    q0, q = np.array(READY["panda"]), np.array(READY["panda"]) + 0.1 * np.arange(7)
    out = asked(arm, made(arm, "posture", position=q0.tolist(), stiffness=K), sample_at(arm, q))
    assert out.effort == pytest.approx(-np.array(K) * 0.1 * np.arange(7))
    assert out.effort_stiffness == pytest.approx(np.diag(K))
    assert not out.force.any() and not out.yielding.any()
    assert out.measure[0] == pytest.approx(0.6)


def test_one_stiffness_is_that_of_all_joints_and_nothing_given_is_where_they_began():
    arm, at = arm_of("panda"), sample_at(arm_of("panda"), READY["panda"])
    behavior = begun(arm, "posture", at, stiffness=[3.0])
    assert not asked(arm, behavior, at).effort.any()
    out = asked(arm, behavior, sample_at(arm, at.position + 0.1))
    assert out.effort == pytest.approx(np.full(7, -0.3)) and out.effort_stiffness == pytest.approx(3.0 * np.eye(7))


def test_the_origin_taken_at_the_begin_does_not_follow_the_joints_and_is_handed_on():
    arm, at = arm_of("panda"), sample_at(arm_of("panda"), READY["panda"])
    old = begun(arm, "posture", at)
    at.position += 0.2
    new = made(arm, "posture", stiffness=[1.0])
    new.take_over(old)
    assert asked(arm, new, at).effort == pytest.approx(np.full(7, -0.2))
    elsewhere = made(arm, "posture", stiffness=[1.0], position=[0.0] * 7)
    elsewhere.take_over(old)
    assert asked(arm, elsewhere, at).effort == pytest.approx(-at.position)


def test_another_number_of_joints_is_refused_with_their_names():
    arm = arm_of("planar_4r")
    with pytest.raises(ConfigError, match=f"position needs 4 numbers, for {', '.join(arm.chain.joint_names)}"):
        made(arm, "posture", position=[0.0] * 3)
    with pytest.raises(ConfigError, match="stiffness needs 1 or 4 numbers, got 2"):
        made(arm, "posture", stiffness=[1.0, 2.0])


@pytest.mark.parametrize("name", ("panda", "planar_4r"))
def test_the_elbow_goes_where_the_pull_has_no_part_in_the_redundant_space_and_the_tool_stays(name):
    driven = Driven(name)
    arm, start = driven.arm, driven.controller.output
    wanted = driven.joints + np.linspace(0.5, -0.5, arm.chain.n)
    driven.ask(BehaviorSpec("p", "posture", {"position": wanted.tolist(), "stiffness": [20.0]}))
    run = driven.run(4000)
    held = np.array(PLANAR) if name == "planar_4r" else np.ones(6, dtype=bool)
    moved = np.abs(run.of("position") - start.position).max(axis=0)
    assert moved[held[:3]].max() < 1e-9
    # at rest nothing is left of the pull that the redundant joints could follow
    N = np.linalg.svd(sample_at(arm, driven.joints).J[held])[2][held.sum() :].T
    assert np.abs(driven.joints - np.array(READY[name])).max() > 0.01
    assert np.abs(N.T @ (wanted - driven.joints)).max() < 1e-3


def test_an_arm_without_redundant_joints_takes_no_notice():
    driven = Driven("arm_6r")
    driven.ask(BehaviorSpec("p", "posture", {"position": [0.0] * 6, "stiffness": [100.0]}))
    driven.run(500)
    assert driven.joints == pytest.approx(READY["arm_6r"], abs=1e-9)
