"""An arm in front of behavior_impedance_controller: it is where the last reference put it, and feels what is said."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import robots
from builtin_interfaces.msg import Time
from geometry_msgs.msg import TwistStamped, Wrench, WrenchStamped
from live import LiveGraph, own_domain
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from flexarm.msg import Behavior, BehaviorSet, BehaviorStatus, CartesianReference, JointReference
from flexarm.srv import SetBehaviors
from flexarm_core.types import Array
from flexarm_nodes.messages.conversions import doubles
from flexarm_nodes.node import topics

NODE = "behavior_impedance_controller"
PERIOD = 4_000_000  # [ns] between two joint states
DT = PERIOD * 1e-9
BENT = np.array([0.1, 0.5, 0.1, -1.6, 0.2, 1.0, 0.3])
ACCELERATION = 10.0
SENSOR_LINK, SENSOR = "tool_sensor_link", "tool_ft_sensor"
MASS, CENTER, TOOL = 0.4, np.array([0.0, 0.0, 0.06]), np.array([0.0, 0.0, 0.15])  # outboard of the sensor, its frame
GRAVITY = np.array([0.0, 0.0, -9.81])


def stamp_of(tick: int) -> Time:
    seconds, rest = divmod(tick * PERIOD, 1_000_000_000)
    return Time(sec=seconds, nanosec=rest)


def behavior(name: str, kind: str, **settings: Any) -> Behavior:
    """A behavior as it is asked for in a set."""
    return Behavior(
        name=name, kind=kind, settings=[Parameter(k, value=v).to_parameter_msg() for k, v in settings.items()]
    )


def change(*behaviors: Behavior, removed=(), mode=BehaviorSet.UPDATE, tick: int = 0) -> BehaviorSet:
    """A behavior set; of the sample of a tick, or of the next one."""
    message = BehaviorSet(mode=mode, behaviors=list(behaviors), removed=list(removed))
    message.header.stamp = stamp_of(tick)
    return message


def replace(*behaviors: Behavior, tick: int = 0) -> BehaviorSet:
    return change(*behaviors, mode=BehaviorSet.REPLACE, tick=tick)


class ImpedanceArm:
    """An arm of seven joints with a force/torque sensor, and the node that leads it."""

    def __init__(self, live: LiveGraph, position=BENT, start=True, **parameters: Any) -> None:
        self.live, self.chain = live, robots.chain("arm_7r")
        self.names, self.tick, self.position = self.chain.joint_names, 0, np.array(position, dtype=float)
        text, tool = robots.find("arm_7r")
        # The test sends as fast as it likes, or not: a time-out in wall time must not matter.
        usual = {
            "robot_description": text,
            "tool_frame": tool,
            "state_timeout": 60.0,
            "sensor_wait": 30.0,
            "status_rate": 1e4,
        }
        transitions = ("configure", "activate") if start else ()
        live.start(NODE, {**usual, "max_acceleration": [ACCELERATION], "marker_rate": 0.0, **parameters}, transitions)
        if start:
            self.connect()

    def connect(self, leads: bool = True) -> None:
        """To the node that is active; ``leads``: whether it gives joint references."""
        live = self.live
        for topic, message_type in (
            (topics.JOINT_REFERENCE, JointReference),
            (topics.CARTESIAN_REFERENCE, CartesianReference),
            (topics.BEHAVIOR_STATUS, BehaviorStatus),
        ):
            live.listen(topic, message_type)
            if leads or topic != topics.JOINT_REFERENCE:
                live.until(lambda topic=topic: live.node.count_publishers(topic) > 0, topic)
        self.states = live.publisher(topics.JOINT_STATES, JointState)
        self.wrenches = live.publisher(topics.wrench_topic(SENSOR), WrenchStamped)
        self.sets = live.publisher(topics.BEHAVIOR_SET, BehaviorSet)
        self.twists = live.publisher(topics.TWIST_COMMAND, TwistStamped)
        self.references = live.publisher(topics.PATH_REFERENCE, CartesianReference)
        self.setter = live.node.create_client(SetBehaviors, f"{NODE}/set_behaviors")
        self.zeroer = live.node.create_client(Trigger, f"{NODE}/zero_wrench")
        live.until(lambda: self.setter.service_is_ready() and self.zeroer.service_is_ready(), "the services")
        live.settle()

    @property
    def answers(self) -> list[JointReference]:
        return self.live.received[topics.JOINT_REFERENCE]

    @property
    def tools(self) -> list[CartesianReference]:
        return self.live.received[topics.CARTESIAN_REFERENCE]

    @property
    def statuses(self) -> list[BehaviorStatus]:
        return self.live.received[topics.BEHAVIOR_STATUS]

    @property
    def tool(self) -> Array:
        """Where the commanded tool is (3,)."""
        return self.chain.pose(self.position)[0]

    # Samples

    def send_state(self, position=None, velocity=None, tick=None, names=None) -> None:
        """The joint state of the next tick, or again of one."""
        if tick is None:
            self.tick += 1
        position = self.position if position is None else position
        message = JointState(name=list(names or self.names), position=doubles(position))
        message.velocity = doubles(np.zeros(len(position)) if velocity is None else np.array(velocity))
        message.header.stamp = stamp_of(self.tick if tick is None else tick)
        self.states.publish(message)

    def send_wrench(self, external=(0.0,) * 6, frame=SENSOR_LINK, tick=None, bias=(0.0,) * 6) -> None:
        """What the sensor measures at the tick under an external wrench on the tool (6,), axes of the base link."""
        _, R = self.chain.pose(self.position)
        force, weight = R.T @ np.array(external[:3]), MASS * R.T @ GRAVITY
        torque = R.T @ np.array(external[3:]) + np.cross(TOOL, force) + np.cross(CENTER, weight)
        message = WrenchStamped(wrench=Wrench())
        message.header.stamp, message.header.frame_id = stamp_of(self.tick if tick is None else tick), frame
        numbers = np.concatenate((force + weight, torque)) + np.array(bias)
        f, n = message.wrench.force, message.wrench.torque
        f.x, f.y, f.z, n.x, n.y, n.z = (float(number) for number in numbers)
        self.wrenches.publish(message)

    def wait_for_answer(self) -> JointReference:
        """The answer to the present tick, with its status; the arm goes there."""
        here = stamp_of(self.tick)
        self.live.until(
            lambda: all(got and got[-1].header.stamp == here for got in (self.answers, self.tools, self.statuses)),
            f"an answer to tick {self.tick}",
        )
        self.position = np.array(self.answers[-1].position)
        return self.answers[-1]

    def step(self, external=(0.0,) * 6, **how: Any) -> JointReference:
        """One sample."""
        self.send_state()
        self.send_wrench(external, **how)
        return self.wait_for_answer()

    def steps(self, count: int, external=(0.0,) * 6) -> JointReference:
        for _ in range(count):
            self.step(external)
        return self.answers[-1]

    # Behaviors

    def ask(self, message: BehaviorSet) -> SetBehaviors.Response:
        """By the service."""
        future = self.setter.call_async(SetBehaviors.Request(set=message))
        self.live.until(future.done, "an answer of set_behaviors")
        return future.result()

    def set(self, message: BehaviorSet) -> None:
        """By the service, accepted."""
        answer = self.ask(message)
        assert answer.success, answer.message

    def zero(self) -> Trigger.Response:
        future = self.zeroer.call_async(Trigger.Request())
        self.live.until(future.done, "an answer of zero_wrench")
        return future.result()

    def of(self, name: str):
        """What a behavior contributed to the last sample."""
        return next(one for one in self.statuses[-1].behaviors if one.name == name)

    @property
    def active(self) -> list[str]:
        return [one.name for one in self.statuses[-1].behaviors]

    def motion(self, first: int = 0):
        """Positions, velocities and accelerations (k, n) of the answers from one on."""
        chosen = self.answers[first:]
        return tuple(np.array([getattr(a, name) for a in chosen]) for name in ("position", "velocity", "acceleration"))

    def check_limits(self) -> None:
        """Every answer so far is within the limits and follows from the one before it."""
        position, velocity, acceleration = self.motion()
        assert (position >= self.chain.lower - 1e-9).all() and (position <= self.chain.upper + 1e-9).all()
        assert (np.abs(velocity) <= self.chain.velocity_limit + 1e-9).all()
        assert np.abs(acceleration).max() <= ACCELERATION + 1e-6
        assert np.allclose(np.diff(position, axis=0), DT * velocity[1:], atol=1e-9)


@pytest.fixture(name="shared_arm", scope="module")
def impedance_arm_of_a_module(tmp_path_factory) -> Iterator[ImpedanceArm]:
    """An arm and its node for many tests: starting a node takes longer than most of them."""
    folder = tmp_path_factory.mktemp("impedance")
    with pytest.MonkeyPatch.context() as patch, own_domain():
        patch.setenv("ROS_LOG_DIR", str(folder / "ros"))
        graph = LiveGraph(folder)
        try:
            yield ImpedanceArm(graph)
        finally:
            graph.close()


@pytest.fixture(name="arm")
def impedance_arm_made_active(shared_arm) -> ImpedanceArm:
    """The same arm, its node activated anew and without behaviors."""
    arm = shared_arm
    for transition in ("deactivate", "activate"):
        arm.live.graph.transition(NODE, transition)
    arm.set(replace())
    for messages in arm.live.received.values():
        messages.clear()
    arm.tick, arm.position = 0, BENT.copy()
    return arm
