"""Actions, services, markers and references of other nodes, for stages that share one process."""

from __future__ import annotations

import numpy as np
import pytest
import yaml
from action_msgs.msg import GoalStatus
from geometry_msgs.msg import WrenchStamped
from led_arm import BENT, NODE, Arm, line, pose_message
from planar_messages import START, joint_state
from rclpy.action import ActionClient
from sensed_arm import GRAVITY, description, wrench_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from visualization_msgs.msg import MarkerArray

from flexarm.action import CalibrateBaseWrench
from flexarm.msg import JointReference
from flexarm.srv import SolveIk
from flexarm_core.base_wrench.sensed_bodies import build_sensed_bodies
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import JointReference as JointReferenceRecord
from flexarm_nodes.messages.conversions import (
    doubles,
    joint_reference_form,
    nanoseconds_to_stamp,
    stamp_to_nanoseconds,
)
from flexarm_nodes.node import topics
from flexarm_sim.mujoco.backend import MujocoBackend
from flexarm_sim.plant import Plant, PlantConfig
from flexarm_tools.process.processes import end_all

LOOP, SENSED = "control_loop", "base_wrench_torque_estimator"
COMMANDS, MARKERS = topics.command_topic("effort"), f"{SENSED}/markers"
PERIOD = 4_000_000  # period between two joint states [ns]
BENT_7 = np.array([0.0, 0.6, 0.2, -1.4, -0.3, 0.8, 0.1])
BIAS = np.array([3.0, -2.0, 5.0, 0.2, 0.3, -0.4])
QUICK = {
    "rate": 250.0,
    "torque_loop": False,
    "calibration.velocity": [2.0],
    "calibration.acceleration": [15.0],
    "calibration.settle_time": 0.1,
    "calibration.samples": 5,
    "calibration.max_velocity": 2e-3,
}


def followed(live, loop: bool) -> np.ndarray:
    """Positions (k, n) of an arm that follows a path and then a stream, led by the node or by a loop of the stage.

    Those at which it rests count once: how long it rests while the client learns of the result is not the node's doing.
    """
    arm = Arm(live, "arm_6r", BENT, loop=loop)
    arm.hold(2)
    position, rotation = arm.chain.pose(BENT)
    handle = arm.ask(line(position + [0.05, 0.15, -0.1], rotation), max_linear_velocity=0.4)
    assert handle.accepted
    answer = arm.result_of(handle)
    assert answer.status == GoalStatus.STATUS_SUCCEEDED and answer.result.fraction == 1.0
    arm.hold(2)
    place = arm.chain.pose(arm.position)[0]
    for k in range(20):
        arm.tick += 1  # the reference comes before its joint state
        arm.send_reference(place + [0.0, 0.0, 1e-4 * k * k], rotation)
        arm.tick -= 1
        arm.send_state()
        arm.wait_for_answer()
    assert np.linalg.norm(arm.chain.pose(arm.position)[0] - place - [0.0, 0.0, 1e-4 * 361]) < 1e-6
    stamps = {stamp_to_nanoseconds(answer.header.stamp): answer.position for answer in arm.answers}
    rows = np.array(list(stamps.values()))
    return rows[[True, *np.diff(rows, axis=0).any(axis=1)]]


def test_paths_and_streams_of_other_nodes_are_followed_as_by_the_node_of_the_stage(live):
    alone = followed(live, loop=False)
    end_all([live.processes.pop(NODE)])
    for received in live.received.values():
        received.clear()
    assert np.array_equal(followed(live, loop=True), alone)


def test_poses_are_solved_while_samples_are_answered(live):
    arm = Arm(live, "arm_6r", BENT, loop=True)
    client = live.node.create_client(SolveIk, f"/{LOOP}/{NODE}/solve_ik")
    live.until(client.service_is_ready, "the service")
    arm.hold(2)
    request = SolveIk.Request(restarts=100000)
    request.pose.pose = pose_message(np.array([0.9, 0.0, 0.1]), np.diag([1.0, -1.0, -1.0]))
    request.pose.pose.position.x = 2.0  # out of reach: every restart is tried
    future, held = client.call_async(request), 0
    while not future.done():
        arm.hold()
        held += 1
    assert held > 20 and future.result().restarts == 100000 and not future.result().success
    assert np.allclose(arm.position, BENT)
    request.restarts = 10000
    futures = [client.call_async(request) for _ in range(10)]  # more would be lost in the middleware
    live.until(lambda: all(future.done() for future in futures), "the answers", 60.0)
    busy = ["requests wait for an answer already" in future.result().message for future in futures]
    assert not busy[0] and 0 < sum(busy) < 10
    request.pose.pose, request.restarts = pose_message(*arm.chain.pose(BENT + 0.2)), 10
    future = client.call_async(request)
    live.until(future.done, "the solution")
    assert future.result().success and len(future.result().position) == 6


def test_who_waits_for_a_pose_is_answered_where_the_loop_is_configured_anew(live):
    arm = Arm(live, "arm_6r", BENT, loop=True)
    client = live.node.create_client(SolveIk, f"/{LOOP}/{NODE}/solve_ik")
    live.until(client.service_is_ready, "the service")
    arm.hold(2)
    request = SolveIk.Request(restarts=100000)
    request.pose.pose = pose_message(np.array([2.0, 0.0, 0.1]), np.diag([1.0, -1.0, -1.0]))  # out of reach
    futures = [client.call_async(request) for _ in range(8)]
    for transition in ("deactivate", "cleanup", "configure", "activate"):
        live.graph.transition(LOOP, transition)
    live.until(lambda: all(future.done() for future in futures), "the answers")
    assert "the service was withdrawn" in futures[-1].result().message
    arm.hold(2)
    request.pose.pose = pose_message(*arm.chain.pose(BENT + 0.2))
    live.until(client.service_is_ready, "the service")
    future = client.call_async(request)
    live.until(future.done, "the solution")
    assert future.result().success


class LoopMoved:
    """An arm with a bias of its sensor, moved by the commands of a loop that another node leads."""

    def __init__(self, live, folder, namespace="") -> None:
        self.live, self.model = live, ArmModel(description("arm_7r"), "", GRAVITY)
        self.frame = build_sensed_bodies(self.model.description).sensor_frame
        own = {**QUICK, "state_timeout": 60.0, "marker_rate": 1e4, "file_folder": str(folder)}
        inner = {f"{SENSED}.{name}": value for name, value in own.items()}
        stages = {"stages": [SENSED, "hardware_gate"], "hardware_gate.lockstep": True, "sensor_wait": 0.5}
        prefix = f"{namespace}/".lstrip("/")
        shared = {"robot_description": description("arm_7r"), "frame_prefix": prefix}
        live.start(LOOP, {**shared, **stages, **inner}, namespace=namespace)
        self.within, self.frame = f"{namespace}/" if namespace else "", prefix + self.frame
        for topic, kind in ((COMMANDS, Float64MultiArray), (MARKERS, MarkerArray)):
            live.listen(self.within + topic, kind)
        self.states = live.publisher(self.within + topics.JOINT_STATES, JointState)
        self.desired = live.publisher(self.within + topics.DESIRED_JOINT_REFERENCE, JointReference)
        self.wrenches = live.publisher(self.within + topics.wrench_topic("base_ft_sensor"), WrenchStamped)
        backend = MujocoBackend(self.model.description, gravity=GRAVITY, max_step=PERIOD * 1e-9)
        self.plant = Plant(self.model.description, backend, PlantConfig(PERIOD, initial_position=tuple(BENT_7)))
        self.command = np.zeros(7)
        live.settle()

    def tick(self) -> None:
        live, seen, commands = self.live, self.plant.advance(self.command), self.live.received[self.within + COMMANDS]
        still, count = np.zeros(7), len(commands)
        wanted = JointReferenceRecord(seen.stamp, BENT_7, still, still)
        self.desired.publish(joint_reference_form(wanted, self.model.joint_names).message())
        self.wrenches.publish(wrench_message(seen.stamp, self.frame, seen.wrenches["base_ft_sensor"] + BIAS))
        joints = seen.joints
        state = JointState(name=list(self.model.joint_names))
        state.position, state.velocity = doubles(joints.position), doubles(joints.velocity)
        state.effort, state.header.stamp = doubles(joints.effort), nanoseconds_to_stamp(seen.stamp)
        self.states.publish(state)
        live.until(lambda: len(commands) > count, "a command")
        self.command = np.array(commands[-1].data)


def test_a_sensor_is_calibrated_zeroed_and_drawn(live, tmp_path):
    arm, file = LoopMoved(live, tmp_path), tmp_path / "calibration.yaml"
    client = ActionClient(live.node, CalibrateBaseWrench, f"/{LOOP}/{SENSED}/calibrate")
    zeroer = live.node.create_client(Trigger, f"/{LOOP}/{SENSED}/zero_wrench")
    live.until(lambda: client.server_is_ready() and zeroer.service_is_ready(), "action and service")
    for _ in range(80):
        arm.tick()
    assert len(live.received[MARKERS]) > 40

    future = zeroer.call_async(Trigger.Request())
    live.until(future.done, "an answer")
    assert future.result().success, future.result().message
    zeroed = [float(part) for part in future.result().message.removeprefix("wrench_bias: ").strip("[]").split(",")]
    assert np.allclose(zeroed, BIAS, atol=0.2)  # the first samples still sway

    poses = BENT_7 + 0.3 * np.random.default_rng(1).uniform(-1.0, 1.0, (4, 7))
    goal = CalibrateBaseWrench.Goal(poses=poses.ravel().tolist(), model="bias", output_file=str(file), apply=True)
    asked = client.send_goal_async(goal)
    live.until(asked.done, "an answer to the goal")
    assert asked.result().accepted
    result, farthest = asked.result().get_result_async(), 0.0
    while not result.done():
        arm.tick()
        farthest = max(farthest, float(np.abs(arm.plant.state().position - BENT_7).max()))
    found = result.result()
    assert found.status == GoalStatus.STATUS_SUCCEEDED, found.result.message
    assert farthest > 0.25  # it led the arm, though another node wanted it to stay
    assert np.allclose(found.result.wrench_bias, BIAS, atol=0.05)
    written = yaml.safe_load(file.read_text())[LOOP]["ros__parameters"][SENSED]["wrench_bias"]
    assert np.allclose(written, found.result.wrench_bias)
    live.wait_for_diagnostic(LOOP, "desired_joint_reference is ignored while the sensor is calibrated")
    for _ in range(20):
        arm.tick()
    assert np.allclose(arm.plant.state().position, BENT_7, atol=0.02)
    assert not any("stop" in message for _, message in live.said(LOOP))


def test_in_a_namespace_frames_of_markers_have_the_prefix_and_a_calibration_names_this_node(live, tmp_path):
    arm, file = LoopMoved(live, tmp_path, "/left"), tmp_path / "calibration.yaml"
    client = ActionClient(live.node, CalibrateBaseWrench, f"/left/{LOOP}/{SENSED}/calibrate")
    live.until(client.server_is_ready, "the action")
    for _ in range(80):
        arm.tick()
    drawn = [marker for message in live.received[f"/left/{MARKERS}"] for marker in message.markers]
    frames = {marker.header.frame_id for marker in drawn}
    assert arm.frame == "left/base_link" and arm.frame in frames
    assert len(drawn) > 40 and frames <= {f"left/{link}" for link in arm.model.description.links}
    poses = BENT_7 + 0.05 * np.eye(4, 7)
    goal = CalibrateBaseWrench.Goal(poses=poses.ravel().tolist(), model="bias", output_file=str(file))
    asked = client.send_goal_async(goal)
    live.until(asked.done, "an answer to the goal")
    result = asked.result().get_result_async()
    while not result.done():
        arm.tick()
    assert result.result().status == GoalStatus.STATUS_SUCCEEDED, result.result().result.message
    written = yaml.safe_load(file.read_text())[f"/left/{LOOP}"]["ros__parameters"][SENSED]["wrench_bias"]
    assert np.allclose(written, BIAS, atol=0.05)
    assert live.said(f"left/{LOOP}") and not live.said(LOOP)


@pytest.mark.parametrize("prefix", ["left/", ""])
def test_markers_that_are_shown_before_any_sample_have_the_prefix_too(live, planar_3r_text, prefix):
    stage, gravity = "rns_vibration_controller", [0.0, 0.0, 0.0]
    shared = {"robot_description": planar_3r_text, "gravity": gravity, "tool_frame": "tool0", "frame_prefix": prefix}
    inner = {f"{stage}.map_postures": 500}
    parameters = {**shared, "stages": [stage, "hardware_gate"], **inner}
    live.start(LOOP, parameters, transitions=("configure",), namespace="/left")
    maps: list[MarkerArray] = []
    live.node.create_subscription(MarkerArray, f"/left/{stage}/markers", maps.append, topics.LATCHED)
    live.until(lambda: bool(maps), "the map")
    assert {marker.header.frame_id for marker in maps[0].markers if marker.points} == {f"{prefix}base_ft"}


def test_a_joint_trajectory_is_sampled(live, planar_3r_text):
    stage = "flexible_dynamics_controller"
    shared = {"robot_description": planar_3r_text, "gravity": [0.0, 0.0, 0.0], "tool_frame": "tool0"}
    inner = {f"{stage}.law": "joint_pd", f"{stage}.reference": "joint_trajectory", f"{stage}.rate": 200.0}
    live.start(LOOP, {**shared, "stages": [stage, "hardware_gate"], "hardware_gate.lockstep": True, **inner})
    live.listen(topics.JOINT_REFERENCE, JointReference)
    states = live.publisher(topics.JOINT_STATES, JointState)
    trajectories = live.publisher(topics.JOINT_TRAJECTORY, JointTrajectory)
    live.settle()
    answers = live.received[topics.JOINT_REFERENCE]

    def wanted(tick: int) -> np.ndarray:
        message = joint_state(tick)
        states.publish(message)
        live.until(lambda: bool(answers) and answers[-1].header.stamp == message.header.stamp, f"tick {tick}")
        return np.array(answers[-1].position)

    start = wanted(1)
    assert np.array_equal(wanted(2), start)  # before a trajectory the arm is held where it was first seen
    names = [name for name in joint_state(1).name if name.startswith("joint")]
    point = JointTrajectoryPoint(positions=doubles(start + 0.1))
    point.time_from_start.nanosec = 50_000_000
    trajectories.publish(JointTrajectory(joint_names=names, points=[point]))
    live.handled(LOOP)
    way = [wanted(tick)[0] - start[0] for tick in range(3, 60)]
    assert way == sorted(way) and way[0] < 0.05 and way[-1] == pytest.approx(0.1, abs=1e-12)


class LedByOthers:
    """A loop in lockstep whose stages take the joint references of another node."""

    def __init__(self, live, shared, stages: list[str], **parameters) -> None:
        self.live, controller = live, "flexible_dynamics_controller"
        inner = {f"{controller}.law": "joint_pd", f"{controller}.rate": 200.0, "hardware_gate.rate": 200.0}
        lockstep = {"stages": [*stages, "hardware_gate"], "hardware_gate.lockstep": True}
        live.start(LOOP, {**shared, **lockstep, **inner, **parameters})
        live.listen(COMMANDS, Float64MultiArray)
        self.states = live.publisher(topics.JOINT_STATES, JointState)
        self.desired = live.publisher(topics.DESIRED_JOINT_REFERENCE, JointReference)
        live.settle()

    @property
    def commands(self) -> list[Float64MultiArray]:
        return self.live.received[COMMANDS]

    def lead(self, tick: int, position=START) -> None:
        wanted = JointReferenceRecord(tick * 1_000_000, np.array(position), np.zeros(3), np.zeros(3))
        self.desired.publish(joint_reference_form(wanted, ["joint1", "joint2", "joint3"]).message())


def test_in_lockstep_a_late_reference_is_waited_for(live, shared):
    arm = LedByOthers(live, shared, ["flexible_dynamics_controller"])
    for tick in (5, 10):  # the first of all, and one of a stream
        arm.states.publish(joint_state(tick))
        live.spin(0.3)  # many times sensor_wait
        assert len(arm.commands) == tick // 5 - 1
        live.wait_for_diagnostic(LOOP, "waits for references of other nodes: joints")
        arm.lead(tick)
        live.until(lambda wanted=tick // 5: len(arm.commands) == wanted, "a command")
    arm.states.publish(joint_state(15))
    arm.lead(15, np.full(3, np.nan))  # refused: answered with a stop
    live.until(lambda: len(arm.commands) == 3, "a command")
    live.wait_for_diagnostic(LOOP, "controlled stop: flexible_dynamics_controller: ")


def test_a_stage_that_takes_no_references_leaves_them_to_the_next(live):
    controller, shared = "flexible_dynamics_controller", {"robot_description": description("arm_7r")}
    stages = {"stages": [SENSED, controller, "hardware_gate"], "hardware_gate.lockstep": True}
    live.start(LOOP, {**shared, **stages, f"{SENSED}.control": False, f"{controller}.law": "joint_pd"})
    live.listen(COMMANDS, Float64MultiArray)
    states = live.publisher(topics.JOINT_STATES, JointState)
    desired = live.publisher(topics.DESIRED_JOINT_REFERENCE, JointReference)
    live.settle()
    names, still = ArmModel(description("arm_7r"), "", GRAVITY).joint_names, np.zeros(7)
    state = JointState(name=list(names), position=doubles(BENT_7), velocity=doubles(still))
    state.header.stamp = nanoseconds_to_stamp(PERIOD)
    desired.publish(joint_reference_form(JointReferenceRecord(PERIOD, BENT_7, still, still), names).message())
    states.publish(state)
    live.until(lambda: bool(live.received[COMMANDS]), "a command")
