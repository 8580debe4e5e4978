"""Task joint_path: a joint reference is followed as far as the base lets it, by every law and realization."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from rns_cases import case
from rns_loop import close_loop

from flexarm_core.errors import InputError
from flexarm_core.path.line import fifth_order
from flexarm_core.reaction_null_space.coupling.null_space import damped_inverse
from flexarm_core.reaction_null_space.vibration.config import VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.controller import VibrationController
from flexarm_core.types import JointReference

CONFIG = VibrationControllerConfig(task="joint_path", position_gain=100.0, velocity_gain=20.0)
MIRRORED = {"left_joint1": (2.2, 1.0), "right_joint1": (np.pi - 2.2, -1.0), "left_joint2": (0.4, -0.8)} | {
    "right_joint2": (-0.4, 0.8)
}


@pytest.mark.parametrize("law", ["reactionless", "torque"])
@pytest.mark.parametrize("name", ["planar_3r", "dual_arm_trep", "wheel_3r"])
def test_within_the_null_space_the_joint_error_dies_as_chosen_while_the_base_swings(law, name):
    """P (edd + G_d ed + G_p e) = 0 under the efforts."""
    rng, robot = np.random.default_rng(0), case(name)
    model, regular = robot.model, 0
    controller = VibrationController(model, replace(CONFIG, law=law), robot.selection)
    for _ in range(50):
        state = robot.state(rng, swing=0.02)
        wanted = JointReference(0, *rng.normal(size=(3, model.n)))
        joints, reaction = controller.update(state, joints=wanted)
        if reaction.damping > 0.0:
            continue
        regular += 1
        happens = model.forward_dynamics(state, joints.effort)
        error = wanted.acceleration - happens + 20.0 * (wanted.velocity - state.velocity)
        error += 100.0 * (wanted.position - state.position)
        A, _ = robot.coupling(state)
        P = damped_inverse(A, 1e-9, 1e-9).null_projector()
        assert np.abs(P @ error).max() < 1e-8 * np.abs(error).max()
    assert regular > 20


def test_without_reaction_control_the_reference_is_followed_in_every_joint(planar_3r):
    rng = np.random.default_rng(1)
    state, wanted = case("planar_3r").state(rng), JointReference(0, *rng.normal(size=(3, 3)))
    controller = VibrationController(planar_3r, replace(CONFIG, law="resolved_acceleration"))
    expected = wanted.acceleration + 20.0 * (wanted.velocity - state.velocity)
    expected += 100.0 * (wanted.position - state.position)
    assert np.allclose(controller.update(state, joints=wanted)[0].acceleration, expected)


def move(robot, motion, duration=1.0):
    """Start posture, and a reference along ``position + s displacement`` of each joint."""
    start = np.array([motion[name][0] for name in robot.model.joint_names])
    way = np.array([motion[name][1] for name in robot.model.joint_names])

    def goal(time, stamp):
        s, rate, acceleration = fifth_order(time, duration)
        return JointReference(stamp, start + s * way, rate * way, acceleration * way)

    return start, way, goal


@pytest.mark.parametrize(
    ("law", "realization"),
    [("reactionless", "computed_torque"), ("reactionless", "joint_servo"), ("torque", "computed_torque")],
)
def test_two_arms_that_mirror_each_other_follow_their_reference_and_leave_the_base_alone(law, realization):
    robot = case("dual_arm_trep")
    start, way, goal = move(robot, MIRRORED)
    config = replace(CONFIG, law=law, realization=realization)
    run = close_loop(robot, config, start, 1.5, goal=goal)
    assert np.abs(run.truth[-1].position - start - way).max() < 1e-3
    alone = {name: (begin, 0.0 if name.startswith("right") else by) for name, (begin, by) in MIRRORED.items()}
    plain = close_loop(robot, replace(CONFIG, law="resolved_acceleration"), start, 1.5, goal=move(robot, alone)[2])
    assert np.abs(plain.deflection).max() > 1e-3
    assert np.abs(run.deflection).max() < 1e-3 * np.abs(plain.deflection).max()


@pytest.mark.parametrize("realization", ["computed_torque", "joint_servo"])
def test_a_reference_that_would_shake_the_base_is_followed_only_as_far_as_it_does_not(realization):
    robot = case("dual_arm_trep")
    alone = {name: (begin, 0.0 if name.startswith("right") else by) for name, (begin, by) in MIRRORED.items()}
    start, way, goal = move(robot, alone)
    plain = close_loop(robot, replace(CONFIG, law="resolved_acceleration"), start, 1.5, goal=goal)
    assert np.abs(plain.truth[-1].position - start - way).max() < 1e-3
    run = close_loop(robot, replace(CONFIG, realization=realization), start, 1.5, goal=goal)
    assert np.abs(run.deflection).max() < 0.02 * np.abs(plain.deflection).max()
    assert np.abs(run.truth[-1].position - start).max() > 0.1


@pytest.mark.parametrize(
    "wanted",
    [
        None,
        JointReference(0, velocity=np.zeros(3)),
        JointReference(0, np.zeros(2)),
        JointReference(0, np.full(3, np.nan)),
        JointReference(0, np.zeros(3), velocity=np.full(3, np.inf)),
    ],
)
def test_a_reference_that_is_missing_or_does_not_fit_is_refused(planar_3r, wanted):
    with pytest.raises(InputError, match="JointReference"):
        VibrationController(planar_3r, CONFIG).update(case("planar_3r").at(np.ones(3)), joints=wanted)
