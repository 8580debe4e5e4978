"""An arm in front of ik_redundancy_solver: it is at each sample where the last reference put it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import robots
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Pose
from live import LiveGraph, own_domain
from rclpy.action import ActionClient
from sensor_msgs.msg import JointState

from flexarm.action import FollowCartesianPath
from flexarm.msg import CartesianReference, JointReference, PathSegment, RedundancyState
from flexarm_core.types import CartesianReference as CartesianReferenceRecord
from flexarm_nodes.messages.conversions import cartesian_reference_form, doubles, rotation_to_quaternion
from flexarm_nodes.node import topics

NODE = "ik_redundancy_solver"
PERIOD = 10_000_000  # [ns] between two joint states
BENT = np.array([0.0, 0.3, 1.2, 0.0, 0.8, 0.0])
ACCELERATION = 10.0


def stamp_of(tick: int) -> Time:
    seconds, rest = divmod(tick * PERIOD, 1_000_000_000)
    return Time(sec=seconds, nanosec=rest)


class Arm:
    """An arm, and the node that leads it."""

    def __init__(self, live, robot: str, position, more=(), *, loop=False, **parameters) -> None:
        self.live, self.names = live, (*robots.chain(robot).joint_names, *more)
        self.chain, self.tick = robots.chain(robot), 0
        self.folder = parameters.get("file_folder", "")
        self.position = np.array(position, dtype=float)
        self.beside = self.position[len(self.names) - len(more) :].tolist()
        text, tool = robots.find(robot)
        # Joint states come here as fast as the test sends them, or not: a time-out in wall time must not matter.
        shared, own = {"robot_description": text, "tool_frame": tool}, {"lockstep": True, "state_timeout": 60.0}
        own |= parameters
        if loop:  # the stage in one process with the gate
            gate = {"lockstep": True, "command_mode": "position"}
            stages = {NODE: own, "hardware_gate": gate}
            inner = {f"{stage}.{name}": value for stage, given in stages.items() for name, value in given.items()}
            live.start("control_loop", {**shared, "stages": list(stages), "sensor_wait": 0.5, **inner})
        else:
            live.start(NODE, {**shared, **own})
        if parameters.get("output") != "trajectory":
            self.listen(topics.JOINT_REFERENCE, JointReference)
        self.listen(topics.REDUNDANCY_STATE, RedundancyState)
        self.states = live.publisher(topics.JOINT_STATES, JointState)
        self.references = live.publisher(topics.CARTESIAN_REFERENCE, CartesianReference)
        self.client = ActionClient(live.node, FollowCartesianPath, topics.FOLLOW_CARTESIAN_PATH)
        live.until(self.client.server_is_ready, "the action")
        self.feedback: list[FollowCartesianPath.Feedback] = []
        live.settle()

    def listen(self, topic, message_type) -> None:
        self.live.listen(topic, message_type)
        self.live.until(lambda: self.live.node.count_publishers(topic) > 0, topic)

    @property
    def answers(self) -> list[JointReference]:
        return self.live.received[topics.JOINT_REFERENCE]

    @property
    def resolutions(self) -> list[RedundancyState]:
        return self.live.received[topics.REDUNDANCY_STATE]

    def send_state(self, position=None, velocity=None) -> None:
        """The joint state of the next tick."""
        self.tick += 1
        position = self.position if position is None else position
        position = [*position, *self.beside[: len(self.names) - len(position)]]  # joints that are not of the arm
        message = JointState(name=list(self.names), position=doubles(position))
        message.velocity = doubles(np.zeros(len(position)) if velocity is None else np.array(velocity))
        message.header.stamp = stamp_of(self.tick)
        self.states.publish(message)

    def send_reference(self, position, rotation, tick=None, frame="", tool="", axes=(True,) * 6) -> None:
        record = CartesianReferenceRecord(
            (self.tick if tick is None else tick) * PERIOD,
            frame or self.chain.base_frame,
            position,
            rotation,
            np.zeros(6),
            np.zeros(6),
            np.array(axes),
        )
        self.references.publish(cartesian_reference_form(record, tool or self.chain.tool_frame).message())

    def wait_for_answer(self) -> JointReference:
        """The answer to the present tick; the arm goes there."""
        self.live.until(
            lambda: bool(self.answers) and self.answers[-1].header.stamp == stamp_of(self.tick),
            f"an answer to tick {self.tick}",
        )
        self.position = np.array(self.answers[-1].position)
        return self.answers[-1]

    def hold(self, ticks: int = 1) -> None:
        for _ in range(ticks):
            self.send_state()
            self.wait_for_answer()

    def follow(self, pose, **how) -> JointReference:
        self.send_state()
        self.send_reference(*pose, **how)
        return self.wait_for_answer()

    # Paths

    def ask(self, *segments: PathSegment, **goal):
        """Send a goal; returns the handle, accepted or not."""
        message = FollowCartesianPath.Goal(segments=list(segments), **goal)
        future = self.client.send_goal_async(message, lambda m: self.feedback.append(m.feedback))
        self.live.until(future.done, "an answer to the goal")
        return future.result()

    def result_of(self, handle, until=lambda arm: False):
        """Let ticks pass until the goal has ended, or until something holds; returns the result with its status."""
        future = handle.get_result_async()
        while not future.done() and not until(self):
            self.hold()
            self.live.spin(0.0005)
        if until(self) and not future.done():
            return future
        return future.result()

    def motion(self, first: int = 0):
        """Positions, velocities and accelerations (k, n) of the answers from one on."""
        chosen = self.answers[first:]
        return tuple(np.array([getattr(a, name) for a in chosen]) for name in ("position", "velocity", "acceleration"))


def pose_message(position, rotation) -> Pose:
    pose = Pose(orientation=rotation_to_quaternion(rotation))
    pose.position.x, pose.position.y, pose.position.z = (float(value) for value in position)
    return pose


def line(position, rotation) -> PathSegment:
    return PathSegment(kind=PathSegment.LINE, poses=[pose_message(position, rotation)])


def smooth(r):
    """From 0 to 1 with rate and acceleration 0 at both ends."""
    return r**3 * (10.0 - 15.0 * r + 6.0 * r * r)


@pytest.fixture(name="led", scope="module")
def arm_of_a_module(tmp_path_factory) -> Iterator[Arm]:
    """An arm and its node for many tests: starting a node takes longer than most of them."""
    folder = tmp_path_factory.mktemp("led")
    with pytest.MonkeyPatch.context() as patch, own_domain():
        patch.setenv("ROS_LOG_DIR", str(folder / "ros"))
        graph = LiveGraph(folder)
        try:
            yield Arm(graph, "arm_6r", BENT, file_folder=str(folder))
        finally:
            graph.close()


@pytest.fixture(name="arm")
def arm_made_active(led) -> Arm:
    """The same arm, its node activated anew."""
    for transition in ("deactivate", "activate"):
        led.live.graph.transition(NODE, transition)
    for messages in led.live.received.values():
        messages.clear()
    led.feedback.clear()
    led.tick, led.position = 0, BENT.copy()
    return led
