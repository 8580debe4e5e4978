"""Dynamic redundancy: a reaction wheel or a second arm takes what the arm cannot; model, plant and gate on trees."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from confirmed import meet
from rns_cases import WEIGHTLESS, case, text_of, without
from rns_loop import close_loop

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.hardware_gate.config import HardwareGateConfig
from flexarm_core.hardware_gate.gate import HardwareGate
from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.path.line import fifth_order
from flexarm_core.reaction_null_space.vibration.config import VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.controller import VibrationController
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import CartesianReference, JointReference
from flexarm_sim.mujoco.backend import MujocoBackend

PLANAR = np.array([True, True, False, False, False, False])
# A servo's gain counts times H_m over what inertia a light base leaves: 50 and more on wheel_3r.
CONFIG = VibrationControllerConfig(
    position_gain=100.0, velocity_gain=20.0, servo_position_gain=25.0, servo_velocity_gain=10.0
)
# name: (start of each joint, displacement of the tool, helpers)
MOTIONS = {
    "wheel_3r": (
        {"joint1": 1.8, "joint2": -1.0, "joint3": -1.4, "wheel": 0.0},
        np.array([-0.2, 0.1]),
        ("wheel",),
    ),
    "dual_arm_trep": (
        {"left_joint1": 2.2, "left_joint2": 0.8, "right_joint1": 0.9, "right_joint2": -0.8},
        np.array([0.03, -0.04]),
        ("right_joint1", "right_joint2"),
    ),
}


def start_of(robot, posture):
    return np.array([posture[name] for name in robot.model.joint_names])


@pytest.mark.parametrize("name", ["wheel_3r", "dual_arm_trep"])
def test_model_and_plant_agree_on_a_tree(name):
    rng, robot = np.random.default_rng(0), case(name)
    model = robot.model
    backend = MujocoBackend(model.description, tool_frame=model.tool_frame, gravity=WEIGHTLESS)
    assert backend.joint_names == model.joint_names and model.base_frame == "base_ft"
    for _ in range(20):
        state, effort = robot.state(rng, swing=0.1), rng.normal(size=model.n)
        backend.reset(state.position, state.velocity, state.deflection, state.deflection_rate, effort)
        truth, acceleration = backend.state(), model.forward_dynamics(state, effort)
        base = model.base_acceleration(model.blocks(state), state, acceleration)
        assert np.allclose(acceleration, truth.acceleration, rtol=1e-8, atol=1e-8 * np.abs(acceleration).max())
        assert np.allclose(base, truth.deflection_acceleration, rtol=1e-6, atol=1e-6)
        assert np.allclose(model.inverse_dynamics(model.blocks(state), state, acceleration), effort, atol=1e-9)
        wrench = model.wrench_on_base(state, acceleration, base)
        size = np.abs(wrench).max()
        assert np.allclose(wrench, truth.wrenches["base_ft_sensor"], atol=1e-7 * size), (
            "through both arms, or the wheel"
        )
        tool = model.tool_kinematics(state, model.world_frame)
        assert np.allclose(tool.position, truth.tool_position_in_world, atol=1e-12)
        assert np.allclose(tool.velocity, truth.tool_twist_in_world, atol=1e-12)


def test_of_two_tips_the_tool_must_be_named():
    text = text_of("dual_arm_trep")
    with pytest.raises(RobotDescriptionError, match=r"several tips \(left_tool, right_tool\)"):
        ArmModel(text)
    left, right = ArmModel(text, "left_tool"), ArmModel(text, "right_tool")
    state = case("dual_arm_trep").state(np.random.default_rng(1))
    for model, side in ((left, "left"), (right, "right")):
        moving = np.abs(model.tool_kinematics(state, "base_ft").J_m).max(axis=0) > 0.0
        assert [n for n, moves in zip(model.joint_names, moving, strict=True) if moves] == [
            n for n in model.joint_names if n.startswith(side)
        ]


@pytest.mark.parametrize("name", ["wheel_3r", "dual_arm_trep"])
def test_the_gate_passes_what_is_allowed_and_limits_each_branch_by_its_own(name):
    robot = case(name)
    model = robot.model
    some, many = np.full(model.n, 50.0), np.full(model.n, 1e6)
    limits = JointLimits(model.lower, model.upper, model.velocity_limit, some, model.effort_limit, many)
    state = robot.at(start_of(robot, MOTIONS[name][0]))
    quiet = model.inverse_dynamics(model.blocks(state), state, np.linspace(0.1, 0.4, model.n))
    for wanted in (quiet, 100.0 * model.effort_limit):
        gate = HardwareGate(model, limits, HardwareGateConfig())
        meet(gate, state)
        command = gate.on_reference(JointReference(state.stamp, effort=wanted))
        assert command is not None
        if wanted is quiet:
            assert np.array_equal(command, wanted) and not gate.status.limited
        else:
            assert (np.abs(command) <= model.effort_limit).all() and gate.status.limited
            assert np.abs(model.forward_dynamics(state, command)).max() <= 50.0 * (1.0 + 1e-9)


@pytest.mark.parametrize("name", MOTIONS)
def test_with_its_helper_any_tool_acceleration_is_reactionless_and_without_it_none_is(name):
    posture, _, helpers = MOTIONS[name]
    for robot, helped in ((case(name), True), (without(name, *helpers), False)):
        model, rng = robot.model, np.random.default_rng(2)
        controller = VibrationController(model, CONFIG, robot.selection)
        state = robot.at(start_of(robot, posture))
        tool = model.tool_kinematics(state, "base_ft")
        for _ in range(20):
            wanted = np.concatenate((rng.normal(size=2), np.zeros(4)))
            reference = CartesianReference(0, "base_ft", tool.position, tool.rotation, np.zeros(6), wanted, PLANAR)
            joints, reaction = controller.update(state, reference)
            missed = np.linalg.norm((tool.J_m @ joints.acceleration - wanted)[:2]) / np.linalg.norm(wanted)
            assert reaction.rank == model.m
            assert np.abs(reaction.reaction).max() < 1e-9 * max(1.0, np.abs(joints.effort).max())
            assert missed < 1e-9 if helped else missed > 1e-3


@pytest.mark.parametrize("realization", ["computed_torque", "joint_servo"])
@pytest.mark.parametrize("name", MOTIONS)
def test_on_the_plant_the_tool_arrives_and_the_base_keeps_still_only_with_the_helper(name, realization):
    posture, way, helpers = MOTIONS[name]

    def move(robot, **changes):
        start = start_of(robot, posture)
        first = robot.model.tool_kinematics(robot.at(start), "base_ft")

        def line(time, stamp):
            s, rate, acceleration = fifth_order(time, 1.0)
            d = np.concatenate((way, np.zeros(4)))
            return CartesianReference(
                stamp, "base_ft", first.position + s * d[:3], first.rotation, rate * d, acceleration * d, PLANAR
            )

        config = replace(CONFIG, **changes)
        run = close_loop(robot, config, start, 1.2, goal=line, period=0.001)
        missed = run.truth[-1].tool_position_in_base[:2] - first.position[:2] - way
        return run, np.linalg.norm(missed) / np.linalg.norm(way)

    robot = case(name)
    run, missed = move(robot, realization=realization)
    assert missed < 2e-3
    assert (np.abs(run.velocity) < robot.model.velocity_limit).all()
    assert (np.abs(run.efforts) < robot.model.effort_limit).all()
    plain, _ = move(robot, law="resolved_acceleration")
    assert (np.abs(run.deflection).max(axis=0) < 1e-3 * np.abs(plain.deflection).max(axis=0)).all()
    _, missed_alone = move(without(name, *helpers), realization=realization)
    assert missed_alone > 0.1, "what is left of the arm cannot move its tool and keep the base still"
