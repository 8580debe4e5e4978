"""The law integrated to a joint reference and closed by joint servos: on six directions, three of them soft."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import robots

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.path.line import fifth_order
from flexarm_core.reaction_null_space.vibration.base_selection import BaseSelection
from flexarm_core.reaction_null_space.vibration.config import VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.controller import VibrationController
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.types import ArmState, CartesianReference, JointReference
from flexarm_sim.mujoco.backend import MujocoBackend

START = np.array([0.476, 1.311, -1.378, -1.555, -0.054, -1.214, 0.716])
POSITION = np.array([True, True, True, False, False, False])
PERIOD = 2_000_000  # [ns]
QUIET = VibrationControllerConfig(
    realization="joint_servo", position_gain=100.0, velocity_gain=20.0, damping_ratio=0.3, joint_damping=1.0
)
PLAIN = replace(QUIET, law="resolved_acceleration")


@pytest.fixture(scope="module")
def boom() -> ArmModel:
    return ArmModel(load_robot_description(robots.URDF / "boom_7r.urdf.xacro"), gravity=(0.0, 0.0, 0.0))


def run(model: ArmModel, config: VibrationControllerConfig, duration: float, distance: float = 0.0, rate: float = 0.0):
    """Roots of the base's elastic energy, tool errors, references: a path of 1 s, or a base that swings at first."""
    plant = MujocoBackend(model.description, gravity=(0.0, 0.0, 0.0))
    plant.reset(START, deflection_rate=[0.0, rate, rate, 0.0, 0.0, 0.0])
    controller = VibrationController(model, config, BaseSelection(model, ("auto",)))
    energies, errors, answers = [], [], []
    first = plant.state()
    for k in range(round(duration * 1e9 / PERIOD)):
        truth, t = plant.state(), k * PERIOD * 1e-9
        s, v, a = fifth_order(t, 1.0)
        along, none = np.array([0.0, distance, 0.0]), np.zeros(3)
        place = first.tool_position_in_base + s * along
        reference = CartesianReference(
            k * PERIOD,
            model.base_frame,
            place,
            first.tool_rotation_in_base,
            np.concatenate((v * along, none)),
            np.concatenate((a * along, none)),
            POSITION,
        )
        state = ArmState(k * PERIOD, truth.position, truth.velocity, truth.deflection, truth.deflection_rate)
        answer, reaction = controller.update(state, reference)
        assert reaction.rank == 3
        energies.append(np.sqrt(0.5 * truth.deflection @ model.K_b @ truth.deflection))
        errors.append(np.linalg.norm(truth.tool_position_in_base - place))
        answers.append(answer)
        plant.step(answer.effort, PERIOD * 1e-9)
    return np.array(energies), np.array(errors), answers


def test_the_tool_moves_and_the_boom_stays_quiet(boom):
    quiet, errors, _ = run(boom, QUIET, 1.2, 0.05)
    plain, plain_errors, _ = run(boom, PLAIN, 1.2, 0.05)
    assert quiet.max() <= 0.02 * plain.max()
    assert errors.max() < 1e-4 and plain_errors.max() < 1e-3


def test_a_swinging_boom_comes_to_rest(boom):
    hold = replace(QUIET, task="hold", joint_damping=0.4)
    damped, _, _ = run(boom, hold, 1.5, rate=0.05)
    passive, _, _ = run(boom, replace(hold, law="resolved_acceleration"), 1.5, rate=0.05)
    assert damped[-100:].max() < 0.02 * damped.max()
    assert passive[-100:].max() > 0.2 * passive.max()


def test_the_reference_is_the_integral_of_its_own_acceleration(boom):
    _, _, answers = run(boom, QUIET, 0.2, 0.05)
    dt = PERIOD * 1e-9
    for before, after in pairwise(answers):
        assert np.allclose(after.velocity, before.velocity + before.acceleration * dt, rtol=0.0, atol=1e-12)
        moved = before.position + before.velocity * dt + 0.5 * before.acceleration * dt**2
        assert np.allclose(after.position, moved, rtol=0.0, atol=1e-12)


def test_a_held_posture_is_gone_back_to_as_far_as_the_base_lets_it(boom):
    controller = VibrationController(boom, replace(QUIET, task="hold"), BaseSelection(boom, ("auto",)))
    none = np.zeros(6)
    controller.update(ArmState(0, START, np.zeros(7), none, none))
    config = replace(QUIET, task="hold", realization="computed_torque", joint_damping=0.0)
    controller.config = config
    moved = ArmState(PERIOD, START + 0.01, np.zeros(7), none, none)
    answer, _ = controller.update(moved)
    blocks = boom.blocks(moved)
    selected = BaseSelection(boom, ("auto",)).at(blocks, config.damping_ratio, 0.0)
    assert np.abs(selected.coupling @ answer.acceleration).max() < 1e-9
    null = np.eye(7) - np.linalg.pinv(selected.coupling) @ selected.coupling
    assert np.allclose(answer.acceleration, null @ np.full(7, -100.0 * 0.01), atol=1e-9)


def test_after_a_gap_the_reference_begins_where_the_arm_is(boom):
    controller = VibrationController(boom, replace(QUIET, task="hold"), BaseSelection(boom, ("auto",)))
    none = np.zeros(6)
    controller.update(ArmState(0, START, np.zeros(7), none, none))
    far = START + 0.05
    answer, _ = controller.update(ArmState(300_000_000, far, np.zeros(7), none, none))
    assert np.array_equal(answer.position, far)


def test_what_cannot_be_is_refused(boom):
    with pytest.raises(ConfigError, match="realization must be one of computed_torque, joint_servo; got 'magic'"):
        VibrationControllerConfig(realization="magic")
    with pytest.raises(ConfigError, match="servo_position_gain"):
        VibrationControllerConfig(servo_position_gain=-1.0)
    controller = VibrationController(boom, QUIET, BaseSelection(boom, ("auto",)))
    with pytest.raises(InputError, match="needs a CartesianReference"):
        controller.update(ArmState(0, START, np.zeros(7), np.zeros(6), np.zeros(6)))


def test_a_reference_that_runs_away_from_joints_that_do_not_follow_is_given_up_and_begins_anew(boom):
    config = replace(QUIET, task="joint_path", position_gain=400.0, velocity_gain=40.0)
    controller = VibrationController(boom, config, BaseSelection(boom, ("auto",)))
    none = np.zeros(boom.m)
    asked, said = START + 2.0, []
    for k in range(400):
        stuck = ArmState(k * PERIOD, START, np.zeros(boom.n), none, none)
        try:
            answer, _ = controller.update(stuck, joints=JointReference(k * PERIOD, asked))
        except InputError as error:
            said.append((k, str(error)))
            continue
        assert answer.effort is not None and np.isfinite(answer.effort).all()
        assert np.abs(answer.position - START).max() <= 0.5
    assert len(said) > 1 and "left the joints by more than 0.5" in said[0][1]
    assert said[1][0] - said[0][0] > 5  # it leads again at once
