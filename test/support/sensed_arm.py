"""An arm on a force/torque sensor in front of base_wrench_torque_estimator, and the core that should say the same."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import robots
from geometry_msgs.msg import WrenchStamped
from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import GetState
from live import LiveGraph, own_domain
from rcl_interfaces.srv import GetParameters
from rclpy.parameter import parameter_value_to_python
from sensor_msgs.msg import JointState

from flexarm.msg import BaseWrenchEstimate, JointReference
from flexarm_core.base_wrench.controller import BaseWrenchController, BaseWrenchControllerConfig
from flexarm_core.base_wrench.estimator import BaseWrenchEstimator, BaseWrenchEstimatorConfig
from flexarm_core.base_wrench.sensed_bodies import build_sensed_bodies
from flexarm_core.base_wrench.sensor_dynamics import SensorDynamics
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.types import ArmState, BaseWrenchSample
from flexarm_core.types import JointReference as JointReferenceRecord
from flexarm_nodes.base_wrench.parameters import BASE_WRENCH_PARAMETERS
from flexarm_nodes.messages.conversions import (
    doubles,
    joint_reference_form,
    nanoseconds_to_stamp,
    stamp_to_nanoseconds,
    wrench_form,
)
from flexarm_nodes.node import topics

NODE = "base_wrench_torque_estimator"
PERIOD = 2_000_000  # [ns] between two joint states
GRAVITY = (0.0, 0.0, -9.81)


def description(robot: str) -> str:
    if robot in robots.NAMES:
        return robots.find(robot)[0]
    return load_robot_description(robots.URDF / f"{robot}.urdf.xacro")


def wrench_message(stamp: int, frame: str, wrench: np.ndarray) -> WrenchStamped:
    """Return ``[f; n]`` as a message."""
    return wrench_form(stamp, frame, wrench).message()


class Core:
    """Estimator and controller with the same samples, without a node."""

    def __init__(self, robot: str, config: BaseWrenchEstimatorConfig | None = None, **control: Any) -> None:
        self.model = ArmModel(description(robot), "", GRAVITY)
        self.dynamics = SensorDynamics(build_sensed_bodies(self.model.description), GRAVITY)
        self.estimator = BaseWrenchEstimator(self.model, self.dynamics, config or BaseWrenchEstimatorConfig())
        self.controller = BaseWrenchController(self.model, BaseWrenchControllerConfig(**control))
        self.sample: BaseWrenchSample | None = None

    def estimate(self, sample: BaseWrenchSample):
        self.sample, self.newest = sample, self.estimator.update(sample)
        return self.newest

    def holding(self, position):
        """Efforts (n,) that hold the arm against gravity at a position."""
        still, none = np.zeros(self.model.n), np.zeros(self.model.m)
        return self.model.gravity_effort(ArmState(0, position, still, none, none))

    def gravity_wrench(self, position):
        """Gravity wrench (6,) at a position of the joints, the base at rest."""
        return self.dynamics.gravity_wrench(np.concatenate((position, np.zeros(self.model.m))))

    def control(self, reference: JointReferenceRecord) -> JointReferenceRecord:
        sample = self.sample
        assert sample is not None
        velocity = self.estimator.velocity
        state = ArmState(sample.stamp, sample.position, velocity, sample.deflection, sample.deflection_rate)
        return self.controller.update(state, reference, self.newest)


class SensedArm:
    """Messages to the node and from it; one process serves many tests, configured anew for each."""

    def __init__(self, live: LiveGraph, folder: Path) -> None:
        self.live, self.folder = live, str(folder)
        given = {"robot_description": description("arm_7r"), "file_folder": self.folder}
        live.start(NODE, given, transitions=())
        for topic, kind in (
            (topics.BASE_WRENCH_ESTIMATE, BaseWrenchEstimate),
            (topics.JOINT_REFERENCE, JointReference),
        ):
            live.listen(topic, kind)
        self.states = live.publisher(topics.JOINT_STATES, JointState)
        self.desired = live.node.create_publisher(JointReference, topics.DESIRED_JOINT_REFERENCE, topics.CONTROL)
        self.wrenches = live.node.create_publisher(WrenchStamped, topics.wrench_topic("base_ft_sensor"), topics.CONTROL)
        self.begun = False

    def state(self) -> int:
        answer = self.live.graph.call(GetState, f"/{NODE}/get_state", GetState.Request(), 10.0)
        return answer.current_state.id

    def unconfigure(self) -> None:
        if self.state() == State.PRIMARY_STATE_ACTIVE:
            self.live.graph.transition(NODE, "deactivate")
        if self.state() == State.PRIMARY_STATE_INACTIVE:
            self.live.graph.transition(NODE, "cleanup")

    def configure(self, robot: str = "arm_7r", period: int = PERIOD, **parameters: Any) -> None:
        """Configure the node anew, every parameter that is not given at its default, and activate it."""
        self.unconfigure()
        usual = {row.name: row.default for row in BASE_WRENCH_PARAMETERS}
        # Joint states come as fast as the test sends them, or not: a time-out in wall time must not matter.
        usual |= {"sensor_wait": 0.5, "state_timeout": 60.0, "robot_description": description(robot)}
        usual |= {"frame_prefix": "", "wrench_frames": [], "file_folder": self.folder}
        self.live.graph.set_parameters(NODE, {**usual, **parameters})
        self.live.graph.transition(NODE, "configure")
        for heard in (self.wrenches, self.desired):
            self.live.until(lambda heard=heard: heard.get_subscription_count() > 0, "a subscription")
        leads = (topics.JOINT_REFERENCE,) if parameters.get("control", True) else ()
        for topic in (topics.BASE_WRENCH_ESTIMATE, *leads):
            self.live.until(lambda topic=topic: self.live.node.count_publishers(topic) > 0, topic)
        self.live.graph.transition(NODE, "activate")
        self.text = description(robot)
        self.model = ArmModel(self.text, "", GRAVITY)
        self.names, self.n, self.tick, self.period = self.model.joint_names, self.model.n, 0, period
        bodies = build_sensed_bodies(self.model.description)
        self.frame = bodies.sensor_frame
        self.live.settle()
        for messages in self.live.received.values():
            messages.clear()

    def parameters(self, *names: str) -> dict[str, Any]:
        """Values of the node's parameters."""
        request = GetParameters.Request(names=names)
        answer = self.live.graph.call(GetParameters, f"/{NODE}/get_parameters", request, 10.0)
        values = (parameter_value_to_python(value) for value in answer.values)
        return {
            name: list(value) if isinstance(value, array) else value for name, value in zip(names, values, strict=True)
        }

    @property
    def estimates(self) -> list[BaseWrenchEstimate]:
        return self.live.received[topics.BASE_WRENCH_ESTIMATE]

    @property
    def references(self) -> list[JointReference]:
        return self.live.received[topics.JOINT_REFERENCE]

    def send_state(self, position, velocity=None, effort=None, names=None, tick=None) -> None:
        position = np.asarray(position, dtype=float)
        message = JointState(name=list(names or self.names), position=doubles(position))
        message.velocity = doubles(np.zeros(len(position)) if velocity is None else np.asarray(velocity))
        message.effort = doubles(np.zeros(0) if effort is None else np.asarray(effort))
        message.header.stamp = nanoseconds_to_stamp((self.tick if tick is None else tick) * self.period)
        self.states.publish(message)

    def send_wrench(self, wrench, frame=None, tick=None) -> None:
        tick = self.tick if tick is None else tick
        self.wrenches.publish(wrench_message(tick * self.period, frame or self.frame, np.asarray(wrench, dtype=float)))

    def send_desired(self, tick=None, **fields: Any) -> None:
        stamp = (self.tick if tick is None else tick) * self.period
        self.desired.publish(joint_reference_form(JointReferenceRecord(stamp, **fields), self.names).message())

    def estimate(self) -> BaseWrenchEstimate:
        """The estimate of the present tick."""
        return self._of_tick(self.estimates, "an estimate")

    def reference(self) -> JointReference:
        """The joint reference of the present tick."""
        return self._of_tick(self.references, "a joint reference")

    def _of_tick(self, received: list[Any], what: str) -> Any:
        stamp = self.tick * self.period
        self.live.until(
            lambda: bool(received) and stamp_to_nanoseconds(received[-1].header.stamp) == stamp,
            f"{what} of tick {self.tick}",
        )
        return received[-1]

    def step(self, position=None, wrench=None, desired=None, **state: Any) -> BaseWrenchEstimate:
        """One joint state with its wrench and desired position; the estimate."""
        self.tick += 1
        position = np.zeros(self.n) if position is None else position
        self.send_wrench(np.zeros(6) if wrench is None else wrench)
        self.send_state(position, **state)
        estimate = self.estimate()
        if desired is not None:
            self.send_desired(position=np.asarray(desired))
            self.reference()
        return estimate


@pytest.fixture(name="sensed", scope="module")
def sensed_arm_of_a_module(tmp_path_factory) -> Iterator[SensedArm]:
    """A node for many tests: starting one takes longer than most of them."""
    folder = tmp_path_factory.mktemp("sensed")
    with pytest.MonkeyPatch.context() as patch, own_domain():
        patch.setenv("ROS_LOG_DIR", str(folder / "ros"))
        graph = LiveGraph(folder)
        try:
            yield SensedArm(graph, folder)
        finally:
            graph.close()
