"""The action calibrate of base_wrench_torque_estimator, against a plant that the node's own references move."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
from action_msgs.msg import GoalStatus
from calibration_text import calibration_of
from rclpy.action import ActionClient
from sensed_arm import GRAVITY, NODE, SensedArm, sensed_arm_of_a_module  # noqa: F401

from flexarm.action import CalibrateBaseWrench
from flexarm_core.base_wrench.sensed_bodies import build_sensed_bodies
from flexarm_core.base_wrench.sensor_dynamics import SensorDynamics
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_nodes.messages.base_wrench import base_wrench_estimate_from_message
from flexarm_sim.mujoco.backend import MujocoBackend
from flexarm_sim.plant import Plant, PlantConfig

Result = CalibrateBaseWrench.Result
BENT = np.array([0.0, 0.6, 0.2, -1.4, -0.3, 0.8, 0.1])
BIAS = np.array([3.0, -2.0, 5.0, 0.2, 0.3, -0.4])
PERIOD = 4_000_000  # [ns]
QUICK = {
    "rate": 250.0,
    "torque_loop": False,
    "calibration.velocity": [2.0],
    "calibration.acceleration": [15.0],
    "calibration.settle_time": 0.1,
    "calibration.samples": 5,
    "calibration.max_velocity": 2e-3,
}


class Moved:
    """The arm as it is: one link is heavier than described, and the sensor has a bias; the node leads it."""

    def __init__(self, arm: SensedArm) -> None:
        self.arm, self.live = arm, arm.live
        self.client = ActionClient(arm.live.node, CalibrateBaseWrench, f"/{NODE}/calibrate")
        arm.live.until(self.client.server_is_ready, "the action")

    def begin(self, sign: float = 1.0, **parameters) -> None:
        self.arm.configure(period=PERIOD, **{**QUICK, **parameters})
        text = self.arm.text.replace('<mass value="4.5"/>', '<mass value="4.8"/>')
        self.robot = parse_robot_description(text)
        backend = MujocoBackend(self.robot, gravity=GRAVITY, max_step=PERIOD * 1e-9)
        self.plant = Plant(self.robot, backend, PlantConfig(PERIOD, initial_position=tuple(BENT)))
        self.sign, self.command, self.feedback, self.motion = sign, np.zeros(7), [], []
        self.silent = False

    def tick(self) -> None:
        """One sample: what the sensors say, and the node's effort; without one the last is held."""
        arm, seen = self.arm, self.plant.advance(self.command)
        arm.tick += 1
        wrench = self.sign * seen.wrenches["base_ft_sensor"] + BIAS
        if not self.silent:
            arm.send_wrench(wrench)
        arm.send_state(seen.joints.position, seen.joints.velocity, seen.joints.effort)
        self.estimate = arm.estimate()
        self.motion.append(seen.joints.velocity)

    @property
    def answered(self) -> bool:
        """Whether the node has sent a reference for the present tick."""
        references = self.arm.references
        return bool(references) and references[-1].header.stamp == self.estimate.header.stamp

    def hold(self, ticks: int) -> None:
        """Hold the arm as another stage would that leads it."""
        for _ in range(ticks):
            self.tick()
            self.arm.send_desired(position=BENT, velocity=np.zeros(7), acceleration=np.zeros(7))
            self.command = np.array(self.arm.reference().effort)

    def ask(self, **goal):
        future = self.client.send_goal_async(
            CalibrateBaseWrench.Goal(**goal), lambda message: self.feedback.append(message.feedback)
        )
        self.live.until(future.done, "an answer to the goal")
        return future.result()

    def result_of(self, handle, until=lambda moved: False):
        """Let the node lead until the goal has ended, or until something holds."""
        future = handle.get_result_async()
        while not future.done() and not until(self):
            self.tick()
            self.live.until(lambda: self.answered or future.done(), "a reference or the end of the goal")
            if self.answered:
                self.command = np.array(self.arm.references[-1].effort)
        return future.result() if future.done() else future

    def parameters(self) -> dict:
        return self.arm.parameters("wrench_bias", "gravity_links", "gravity_masses", "gravity_first_moments")


@pytest.fixture(name="moved", scope="module")
def moved_arm(sensed: SensedArm) -> Moved:
    sensed.configure()
    return Moved(sensed)


@pytest.mark.long
def test_bias_and_gravity_are_found_written_and_taken_in_poses_that_the_node_chooses(moved, tmp_path):
    moved.begin(sign=-1.0, wrench_convention="base_on_robot")
    moved.hold(80)
    file = Path(moved.arm.folder, "calibration.yaml")
    handle = moved.ask(min_height=0.05, max_displacement=0.6, pose_count=12, output_file=str(file), apply=True)
    assert handle.accepted
    for _ in range(3):
        moved.tick()
        moved.arm.send_desired(position=BENT + 1.0)
    moved.live.wait_for_diagnostic(NODE, "desired_joint_reference is ignored while the sensor is calibrated")
    answer = moved.result_of(handle)
    result = answer.result
    assert answer.status == GoalStatus.STATUS_SUCCEEDED and result.error_code == Result.SUCCESSFUL, result.message
    assert result.rank > 10 and 1.0 < result.condition_number < 100.0 and result.pose_count >= 8
    assert result.residual_force < 0.1 and result.residual_torque < 0.05 and result.output_file == str(file)
    assert "residual" in result.message
    # at poses that it has never seen it predicts what the sensor says, better than the description does
    described = build_sensed_bodies(moved.arm.model.description)
    true = SensorDynamics(build_sensed_bodies(moved.robot), GRAVITY)
    found = np.column_stack((result.gravity_masses, np.reshape(result.gravity_first_moments, (-1, 3))))
    assert list(result.gravity_links) == [described.names[k] for k in described.weighing]
    learned = SensorDynamics(described.with_gravity_parameters(found), GRAVITY)
    assumed, rng = SensorDynamics(described, GRAVITY), np.random.default_rng(8)
    for position in rng.uniform(-0.5, 0.5, (50, 7)) + BENT:
        reading = -true.gravity_wrench(position) + BIAS
        left = reading - np.array(result.wrench_bias) + learned.gravity_wrench(position)
        before = reading - BIAS + assumed.gravity_wrench(position)
        assert np.linalg.norm(left[:3]) < 0.05 and np.linalg.norm(left[3:]) < 0.03
        assert np.linalg.norm(before[:3]) > 1.0
    # written and taken
    bias, parameters = calibration_of(file, described)
    assert np.allclose(bias, result.wrench_bias) and np.allclose(parameters, found)
    assert "arm_7r" in file.read_text() and yaml.safe_load(file.read_text())[NODE]
    taken = moved.parameters()
    assert np.array_equal(taken["wrench_bias"], result.wrench_bias)
    assert np.array_equal(taken["gravity_masses"], result.gravity_masses)
    moved.hold(80)
    residual = base_wrench_estimate_from_message(moved.estimate, moved.arm.names).residual_wrench
    assert np.linalg.norm(residual[:3]) < 0.1 and np.linalg.norm(residual[3:]) < 0.05
    phases = [(message.pose, message.phase) for message in moved.feedback]
    count = result.pose_count
    wanted = [(i + 1, phase) for i in range(count) for phase in ("moving", "settling", "measuring")]
    assert phases == [*wanted, (count, "returning")]
    assert np.allclose(moved.plant.state().position, BENT, atol=0.02)


def test_a_bias_alone_is_found_in_poses_that_are_given_in_another_order_of_joints(moved):
    moved.begin()
    moved.hold(80)
    names = list(moved.arm.names[::-1])
    poses = BENT + 0.5 * np.random.default_rng(1).uniform(-1.0, 1.0, (4, 7))
    goal = {"names": names, "poses": poses[:, ::-1].ravel().tolist(), "model": "bias"}
    answer = moved.result_of(moved.ask(**goal))
    # one link is heavier than described: that fits no bias
    assert answer.status == GoalStatus.STATUS_ABORTED and answer.result.error_code == Result.POOR_DATA
    assert "N*m, allowed are 0.1" in answer.result.message
    allowed = {"calibration.max_residual_torque": 5.0, "calibration.max_residual_force": 5.0}
    moved.live.graph.set_parameters(NODE, allowed)
    moved.hold(80)
    answer = moved.result_of(moved.ask(**goal))
    assert answer.result.error_code == Result.SUCCESSFUL, answer.result.message
    assert answer.result.pose_count == 4 and not answer.result.gravity_links
    bias = np.array(answer.result.wrench_bias)
    assert np.allclose(bias[:2], BIAS[:2], atol=0.05)
    assert bias[2] == pytest.approx(BIAS[2] - 0.3 * 9.81, abs=0.05)  # what the link weighs more
    assert moved.parameters()["wrench_bias"] == [0.0] * 6  # nobody asked to take it


def test_goals_of_no_meaning_are_refused_before_anything_moves(moved):
    moved.begin()
    at = moved.arm.model
    with_names = {"names": ["a", "b"], "poses": [0.0] * 14}
    outside = np.tile(BENT, (4, 1))
    outside[2, 1] = 9.0
    alike = (BENT + 1e-4 * np.random.default_rng(1).normal(size=(12, 7))).ravel().tolist()
    assert not moved.ask().accepted
    moved.live.wait_for_diagnostic(NODE, "goal rejected: no joint state has come yet")
    moved.hold(80)
    moved.motion.clear()
    there = Path(moved.arm.folder, "there.yaml")
    there.write_text("precious", encoding="utf-8")
    for goal, words in (
        (with_names, "names are a, b; expected"),
        ({"poses": [0.0] * 15}, "poses hold 15 positions, which is no multiple of the 7 joints"),
        ({"poses": [float("nan")] * 28}, "not finite"),
        ({"poses": outside.ravel().tolist()}, f"pose 3: {at.joint_names[1]} at 9 is outside its limits"),
        ({"poses": BENT.tolist()}, "1 poses are too few: model 'bias_and_gravity' needs at least"),
        ({"poses": alike}, "the poses are too alike"),
        ({"model": "mass"}, "model must be one of bias, bias_and_gravity; got 'mass'"),
        ({"output_file": "/nowhere/file.yaml"}, "is not in the file_folder"),
        ({"output_file": "../file.yaml"}, "is not in the file_folder"),
        ({"output_file": "nowhere/file.yaml"}, "cannot be opened in the file_folder: No such file"),
        ({"output_file": "there.yaml"}, "is there already, and is not replaced"),
        ({"output_file": "file.txt"}, "does not end in .yaml"),
        ({"max_displacement": -1.0}, "max_displacement must be >= 0"),
        ({"min_height": 3.0}, "is not safe"),
    ):
        moved.hold(20)
        handle = moved.ask(**goal)
        assert handle.accepted, words
        answer = moved.result_of(handle)
        assert answer.status == GoalStatus.STATUS_ABORTED, words
        assert answer.result.error_code == Result.INVALID_GOAL and words in answer.result.message, answer.result.message
    assert np.abs(moved.motion).max() < 0.02 and there.read_text(encoding="utf-8") == "precious"
    moved.hold(80)
    first = moved.ask(max_displacement=0.7)
    assert not moved.ask(max_displacement=0.7).accepted
    moved.live.wait_for_diagnostic(NODE, "goal rejected: another calibration runs; cancel it first")
    moved.live.graph.transition(NODE, "deactivate")
    answer = first.get_result_async()
    moved.live.until(answer.done, "the result")
    assert answer.result().result.error_code == Result.DEACTIVATED
    assert not moved.ask().accepted
    moved.live.wait_for_diagnostic(NODE, "goal rejected: the node is not active")


def test_a_canceled_calibration_comes_to_rest_without_a_jerk_and_changes_nothing(moved):
    moved.begin()
    moved.hold(80)
    far = BENT + np.outer(np.linspace(-1.0, 1.0, 4), np.full(7, 0.5))
    handle = moved.ask(poses=far.ravel().tolist(), model="bias", apply=True)
    moved.result_of(handle, until=lambda moved: np.abs(moved.motion[-1]).max() > 1.0)
    canceled = handle.cancel_goal_async()
    moved.live.until(canceled.done, "the answer to the cancellation")
    begun = len(moved.arm.references)
    answer = moved.result_of(handle)
    assert answer.status == GoalStatus.STATUS_CANCELED and answer.result.error_code == Result.CANCELED
    asked = [np.array(r.velocity) for r in moved.arm.references[begun:]]
    assert len(asked) > 20 and np.abs(asked[0]).max() > 0.9 and not asked[-1].any()
    steps = np.abs(np.diff(asked, axis=0)).max() / (PERIOD * 1e-9)
    assert steps < 2.5 * QUICK["calibration.acceleration"][0]
    assert moved.parameters()["wrench_bias"] == [0.0] * 6


def test_a_sensor_that_falls_silent_ends_the_calibration(moved):
    moved.begin(state_timeout=2.0, sensor_wait=0.01)
    moved.hold(80)
    poses = (BENT + 0.1 * np.random.default_rng(1).uniform(-1.0, 1.0, (4, 7))).ravel().tolist()
    handle = moved.ask(poses=poses, model="bias")
    moved.result_of(handle, until=lambda moved: len(moved.feedback) > 3)
    moved.silent = True
    answer = moved.result_of(handle)
    assert answer.status == GoalStatus.STATUS_ABORTED and answer.result.error_code == Result.STALE_STATE
    assert "no usable wrench for 2.0" in answer.result.message


def test_a_clock_that_is_set_back_ends_the_calibration(moved):
    moved.begin()
    moved.hold(80)
    poses = (BENT + 0.1 * np.random.default_rng(1).uniform(-1.0, 1.0, (4, 7))).ravel().tolist()
    handle = moved.ask(poses=poses, model="bias")
    moved.result_of(handle, until=lambda moved: len(moved.feedback) > 1)
    count = len(moved.arm.references)
    moved.arm.tick = 0
    moved.tick()
    future = handle.get_result_async()
    moved.live.until(future.done, "the result")
    answer = future.result()
    assert answer.status == GoalStatus.STATUS_ABORTED and answer.result.error_code == Result.STALE_STATE
    assert answer.result.message == "the clock was set back" and len(moved.arm.references) == count
    moved.hold(3)  # and who led before leads again


def test_a_reference_that_is_ignored_does_not_hide_an_error(moved):
    moved.begin()
    moved.hold(80)
    poses = (BENT + 0.1 * np.random.default_rng(1).uniform(-1.0, 1.0, (4, 7))).ravel().tolist()
    handle = moved.ask(poses=poses, model="bias")
    moved.tick()
    moved.arm.send_wrench(np.zeros(6), frame="elsewhere")
    moved.live.wait_for_diagnostic(NODE, "wrench is in frame 'elsewhere'")
    moved.arm.send_desired(position=BENT)
    moved.live.spin(1.2)  # the status is published once a second at least
    assert moved.live.said(NODE)[-1][1].startswith("wrench is in frame 'elsewhere'")
    assert handle.accepted
