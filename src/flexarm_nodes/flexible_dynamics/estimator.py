"""Node flexible_dynamics_estimator: estimates elastic joints and modes for each joint state (core: estimator)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.clock import Clock, ClockType
from sensor_msgs.msg import Imu, JointState

from flexarm.msg import FlexibleState, JointReference, StrainState
from flexarm_core.errors import InputError
from flexarm_core.flexible_dynamics.estimation.config import EstimatorConfig
from flexarm_core.flexible_dynamics.estimation.estimator import FlexibleEstimator
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array, FlexibleSample
from flexarm_nodes.messages.conversions import joint_reference_from_message, stamp_to_nanoseconds
from flexarm_nodes.messages.flexible import (
    FlexibleSampleReader,
    flexible_state_to_message,
    imu_from_message,
    strain_from_message,
    wrench_from_message,
)
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import ArmNode, run
from flexarm_nodes.node.companions import LOST_AFTER, Companions
from flexarm_nodes.node.diagnostics import ERROR, OK, WARN
from flexarm_nodes.node.parameters import Parameter

KEPT = 4  # joint references and readings kept per sensor: some may arrive before the joint state of the same stamp


class FlexibleDynamicsEstimator(ArmNode):
    """Reads joint states, strain, wrenches and IMU readings; publishes one FlexibleState for each joint state.

    A joint state is processed when every sensor has delivered its reading of the same stamp, when the next joint state
    arrives, or after ``sensor_wait``, whichever is first: the order of messages on different topics is not guaranteed.
    A rejected reading counts as delivered but is not used.
    """

    PARAMETERS = (
        Parameter("correct", "bool", True,
            "correct the estimate by measurements; false: open-loop prediction by the model"),
        Parameter("use_strain", "bool", True, "correct the estimate by the strain gauges"),
        Parameter("use_deflection", "bool", True,
            "correct the estimate by the elastic joints of the base in the joint states"),
        Parameter("use_wrench", "bool", False, "correct the estimate by the force/torque sensors"),
        Parameter("use_imu", "bool", False, "correct the estimate by the inertial measurement units"),
        Parameter("contact_sensor", "string", "",
            "force/torque sensor of the tool whose reading is taken as the contact wrench; empty: no contact assumed"),
        Parameter("subtract_friction", "bool", False,
            "subtract the friction given by the last joint reference from the measured joint efforts"),
        Parameter("effort_noise", "double", 0.1,
            "spectral density of unknown efforts of the joints (process noise)", "N*m/sqrt(Hz)", 0.0),
        Parameter("modal_noise", "double", 0.6,
            "spectral density of unknown accelerations of the modes of flexible links (process noise)",
            "sqrt(kg)*m/s^2/sqrt(Hz)", 0.0),
        Parameter("base_noise", "double", 0.003,
            "spectral density of unknown accelerations of the elastic joints (process noise)", "rad/s^2/sqrt(Hz)", 0.0),
        Parameter("push_force", "double", 100.0,
            "standard deviation of push forces on the base; both push deviations 0 disable push detection", "N", 0.0),
        Parameter("push_torque", "double", 30.0,
            "standard deviation of push torques on the base; both push deviations 0 disable push detection",
            "N*m", 0.0),
        Parameter("push_gate", "double", 5.0,
            "innovation of a sensor of the base, in standard deviations, from which a push on the base is assumed",
            "", 1.0),
        Parameter("strain_noise", "double", 6e-5, "standard deviation of the noise of a strain gauge", "", 1e-12),
        Parameter("strain_error", "double", 0.03,
            "standard deviation of the relative error of strain gauges, from calibration and neglected modes", "", 0.0),
        Parameter("deflection_noise", "double", 1e-5,
            "standard deviation of a measured position of an elastic joint", "rad | m", 1e-12),
        Parameter("deflection_rate_noise", "double", 1e-3,
            "standard deviation of a measured velocity of an elastic joint", "rad/s | m/s", 1e-12),
        Parameter("force_noise", "double", 2.0,
            "standard deviation of a measured force, including the effect of neglected modes", "N", 1e-12),
        Parameter("torque_noise", "double", 1.0, "standard deviation of a measured torque", "N*m", 1e-12),
        Parameter("acceleration_noise", "double", 0.5,
            "standard deviation of a specific force of an IMU, including the effect of neglected modes",
            "m/s^2", 1e-12),
        Parameter("gyro_noise", "double", 0.03, "standard deviation of an angular velocity of an IMU", "rad/s", 1e-12),
        Parameter("initial_energy", "double", 0.0,
            "energy, at one standard deviation, that each flexible coordinate may hold at first; 0: derived from the"
            " arm", "J", 0.0),
        Parameter("gate", "double", 6.0,
            "innovation, in standard deviations, beyond which a reading is left out as an outlier", "", 1.0),
        Parameter("gate_patience", "int", 50,
            "number of consecutive outliers after which a sensor is trusted again", "", 1),
        Parameter("frozen_samples", "int", 20,
            "number of consecutive equal readings after which a strain gauge may be considered frozen", "", 1),
        Parameter("max_gap", "double", 0.1,
            "gap between samples after which the estimate restarts with its initial covariance", "s", 1e-4),
        Parameter("sensor_wait", "double", 0.005,
            "longest wall time that a joint state waits for sensor readings of its stamp", "s", 1e-4),
    )  # fmt: skip

    def __init__(self) -> None:
        """Create the node's topics; the topics of wrenches and IMUs depend on the robot."""
        super().__init__("flexible_dynamics_estimator")
        self._flexible_state = self.create_publisher(FlexibleState, topics.FLEXIBLE_STATE, topics.EVERY_SAMPLE)
        self.hear(JointState, topics.JOINT_STATES, self._on_joint_state)
        self._sensor_subscriptions: list[Any] = []
        self._timer: Any = None
        self._companions = Companions(lambda: self._expected)

    def build(self, values: dict[str, Any], model: ArmModel) -> None:
        """Build the estimator from parameters and load its compiled dynamics, so that the first tick is not late."""
        robot = model.description
        flexible = FlexibleModel(robot, values["tool_frame"], tuple(values["gravity"]))
        config = EstimatorConfig(**{f.name: values[f.name] for f in fields(EstimatorConfig)})
        self._estimator = FlexibleEstimator(flexible, config)
        self._names = (tuple(joint.name for joint in robot.elastic), flexible.mode_names)
        self._reader = FlexibleSampleReader(robot.actuated, self._names[0])
        self._subscribe(robot.force_torque_sensors, robot.imus, bool(robot.strain_gauges), config)
        if values["subtract_friction"]:
            heard = self.hear(JointReference, topics.JOINT_REFERENCE, self._on_joint_reference)
            self._sensor_subscriptions.append(heard)
        self._actuated = robot.actuated
        still = np.zeros(model.n)
        wrenches, imus = (dict.fromkeys(names, np.zeros(6)) for names in (self._wrenches, self._imus))
        for stamp in (0, 1_000_000):
            self._estimator.update(FlexibleSample(stamp, still, still, still, wrenches=wrenches, imus=imus))
        if self._timer is not None:
            self.destroy_timer(self._timer)
        self._timer = self.create_timer(
            values["sensor_wait"],
            lambda: self.guarded(self._on_waited)(None),
            clock=Clock(clock_type=ClockType.STEADY_TIME),
        )
        self._timer.cancel()
        self.start()

    def start(self) -> None:
        """Discard earlier samples."""
        self._estimator.reset()
        self._pending: FlexibleSample | None = None
        self._answer: FlexibleState | None = None
        self._frictions: deque[tuple[int, Array]] = deque(maxlen=KEPT)  # (stamp of the joint reference, friction)
        self._answered: int | None = None  # stamp of the newest processed sample
        self._unreferred = LOST_AFTER  # samples in a row without a joint reference; none is awaited before the first
        self._readings: dict[str, dict[int, Any]] = {name: {} for name in self._expected}
        self._companions.reset()

    def _subscribe(self, wrenches: Any, imus: Any, gauges: bool, config: EstimatorConfig) -> None:
        """Subscribe to the sensors that are used for correction."""
        for subscription in self._sensor_subscriptions:
            self.destroy_subscription(subscription)
        self._sensor_subscriptions = []
        self._wrenches = config.wrench_sensors(wrenches)
        self._imus = tuple(imus) if config.use_imu and config.correct else ()
        self._frames = {name: wrenches[name].frame for name in self._wrenches}
        wanted: list[tuple[str, str, Any, Callable[[Any], Any]]] = [
            *((name, topics.wrench_topic(name), WrenchStamped, wrench_from_message) for name in self._wrenches),
            *((name, topics.imu_topic(name), Imu, imu_from_message) for name in self._imus),
        ]
        if config.use_strain and config.correct and gauges:
            wanted.append((topics.STRAIN, topics.STRAIN, StrainState, strain_from_message))
        self._expected = tuple(name for name, *_ in wanted)
        for name, topic, message_type, read in wanted:
            heard = self.hear(message_type, topic, partial(self._on_reading, name, read))
            self._sensor_subscriptions.append(heard)

    def _on_joint_state(self, message: JointState) -> None:
        stamp = stamp_to_nanoseconds(message.header.stamp)
        if self._answer is not None and message.header.stamp == self._answer.header.stamp:
            self._flexible_state.publish(self._answer)  # the plant repeats a state whose answer seems to be lost
            return
        sample = self._reader(message)
        if self._pending is not None and self._pending.stamp != stamp:
            self._update()
        self._pending = sample
        self._update_if_complete()
        if self._pending is not None:
            self._timer.reset()

    def _on_reading(self, name: str, read: Callable[[Any], Any], message: Any) -> None:
        stamp, kept = stamp_to_nanoseconds(message.header.stamp), self._readings[name]
        self._companions.came(name, stamp)
        try:
            kept[stamp] = self._checked(name, read, message)
        except InputError as error:
            self.diagnostics.report(ERROR, str(error), stamp)
        while len(kept) > KEPT:
            del kept[min(kept)]
        self._update_if_complete()

    def _checked(self, name: str, read: Callable[[Any], Any], message: Any) -> Any:
        """Return a sensor's reading; raise InputError if it is not usable, or a wrench is not in the sensor's frame."""
        wanted, frame = self._frames.get(name), message.header.frame_id
        if wanted is not None and frame != wanted:
            raise InputError(f"wrench is in frame '{frame}', sensor '{name}' measures in '{wanted}'")
        return read(message)

    def _on_joint_reference(self, message: JointReference) -> None:
        """Store the friction compensation of a joint reference: that part of the effort has no effect on the links."""
        reference = joint_reference_from_message(message, self._actuated)
        still = np.zeros(len(self._actuated))
        self._frictions.append((reference.stamp, still if reference.friction is None else reference.friction))
        self._unreferred = 0
        self._update_if_complete()

    def _on_waited(self, _: None) -> None:
        self._timer.cancel()
        if self._pending is not None:
            self._update()

    def _update_if_complete(self) -> None:
        if self._pending is None or not (self._is_referred or self._unreferred >= LOST_AFTER):
            return
        if self._companions.complete(self._pending.stamp):
            self._update()

    @property
    def _is_referred(self) -> bool:
        """Whether the joint reference of the previous sample has arrived; its efforts act until the present sample."""
        return self._answered is None or any(stamp >= self._answered for stamp, _ in self._frictions)

    def _friction(self, stamp: int) -> Array:
        """Return the friction compensation (n,) that acted until a stamp, from the newest reference before it."""
        before = [friction for referred, friction in self._frictions if referred < stamp]
        return before[-1] if before else np.zeros(len(self._actuated))

    def _present(self, stamp: int) -> dict[str, Any]:
        """Return the readings of a stamp, by sensor."""
        return {name: kept[stamp] for name, kept in self._readings.items() if stamp in kept}

    def _update(self) -> None:
        """Process the waiting joint state with the readings that arrived for its stamp."""
        sample, self._pending = self._pending, None
        self._timer.cancel()
        if sample is None:
            return
        present = self._present(sample.stamp)
        if not self._is_referred:
            self._unreferred += 1
        self._answered = sample.stamp
        self._companions.answer(sample.stamp)
        state = self._estimator.update(
            replace(
                sample,
                effort=sample.effort - self._friction(sample.stamp),
                strain=present.get(topics.STRAIN, {}),
                wrenches={name: present[name] for name in self._wrenches if name in present},
                imus={name: present[name] for name in self._imus if name in present},
            )
        )
        self._answer = flexible_state_to_message(state, *self._names)
        self._flexible_state.publish(self._answer)
        if state.left_out:
            self.diagnostics.report(WARN, f"left out: {', '.join(state.left_out)}", state.stamp)
        else:
            self.diagnostics.report(OK, "estimating", state.stamp)


def main() -> None:
    """Entry point."""
    run(FlexibleDynamicsEstimator)
