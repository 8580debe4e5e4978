"""Node base_wrench_torque_estimator: ACT stage, a sensor under the base -> joint torques, motor efforts.

Each joint state results in one BaseWrenchEstimate with its stamp. Each desired joint reference results in one joint
reference whose motor efforts produce the desired effort at the links (core: base_wrench). An action calibrates the
sensor.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.clock import Clock, ClockType
from rclpy.parameter import Parameter as RosParameter
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from flexarm.action import CalibrateBaseWrench
from flexarm.msg import FlexibleState, JointReference
from flexarm_core.errors import ConfigError, FlexarmError, InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import BaseWrenchSample
from flexarm_core.types import JointReference as JointReferenceRecord
from flexarm_nodes.base_wrench.calibration import BaseWrenchCalibration
from flexarm_nodes.base_wrench.inputs import BaseWrenchInputs
from flexarm_nodes.base_wrench.output import BaseWrenchOutput
from flexarm_nodes.base_wrench.parameters import BASE_WRENCH_PARAMETERS, check_base_motion
from flexarm_nodes.base_wrench.plan import CalibrationPlan, build_plan
from flexarm_nodes.base_wrench.stage import REST, BaseWrenchStage
from flexarm_nodes.messages.conversions import joint_reference_from_message, stamp_to_nanoseconds
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import ArmNode, run
from flexarm_nodes.node.diagnostics import WARN

WATCH_PERIOD = 0.05  # [s] period at which the age of the newest joint state is checked
Result = CalibrateBaseWrench.Result


class BaseWrenchTorqueEstimator(ArmNode):
    """Reads joint states, base wrenches and joint references; publishes estimates and motor efforts.

    A joint state is processed when the wrench of the same stamp has arrived (and the flexible state, if the base motion
    is taken from it), when the next joint state arrives, or after ``sensor_wait``, whichever is first.
    """

    PARAMETERS = BASE_WRENCH_PARAMETERS

    def __init__(self) -> None:
        """Create topics, action and service; the sensor topics depend on the parameters."""
        super().__init__("base_wrench_torque_estimator")
        self._output = BaseWrenchOutput(self)
        self._calibration = BaseWrenchCalibration(self, self)
        self._stage: BaseWrenchStage | None = None
        self._sensor_subscriptions: list[Any] = []
        self._timer: Any = None
        self._newest: int | None = None  # stamp of the newest joint state [ns]
        for message_type, topic, callback in (
            (JointState, topics.JOINT_STATES, self._on_joint_state),
            (JointReference, topics.DESIRED_JOINT_REFERENCE, self._on_desired),
        ):
            self.hear(message_type, topic, callback)
        self.create_service(Trigger, topics.ZERO_WRENCH, self._on_zero)
        self.create_timer(WATCH_PERIOD, lambda: self.guarded(self._on_watch)(None))

    # Lifecycle --------------------------------------------------------------------------------------------------------

    def build(self, values: dict[str, Any], model: ArmModel) -> None:
        """Build estimator and controller from parameters."""
        check_base_motion(values["base_motion"], model)
        self._stage = stage = BaseWrenchStage(values, model)
        self._inputs = BaseWrenchInputs(model, stage.estimator.bodies, values)
        self._output.bind(stage.controller, stage.estimator.bodies)
        self._listen(values)
        self.change(values)
        self.start()

    def _listen(self, values: dict[str, Any]) -> None:
        """Subscribe to the sensors' topics, and create the timer that limits the wait for them."""
        for subscription in self._sensor_subscriptions:
            self.destroy_subscription(subscription)
        wanted: list[tuple[Any, str, Any]] = [
            (WrenchStamped, topics.wrench_topic(values["sensor"]), self._inputs.take_wrench)
        ]
        if values["base_motion"] == "flexible_state":
            wanted.append((FlexibleState, topics.FLEXIBLE_STATE, self._inputs.take_base))
        self._sensor_subscriptions = [self.hear(kind, topic, self._on_reading(take)) for kind, topic, take in wanted]
        if self._timer is not None:
            self.destroy_timer(self._timer)
        waited, steady = self.guarded(self._on_waited), Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = self.create_timer(values["sensor_wait"], lambda: waited(None), clock=steady)
        self._timer.cancel()

    def start(self) -> None:
        """Discard earlier samples."""
        if self._stage is not None:
            self._stage.reset()
            self._inputs.reset()
        self._output.reset()
        self._newest = None
        self._pending: BaseWrenchSample | None = None
        self._desired: JointReferenceRecord | None = None
        self._served = -1  # stamp of the newest desired reference that was processed
        self._heard = self.get_clock().now()

    def stop(self) -> None:
        """End a calibration; the gate stops the arm when references cease."""
        self._pending = None
        self._timer.cancel()
        self._calibration.end(Result.DEACTIVATED, "the node was deactivated")

    def change(self, values: dict[str, Any]) -> None:
        """Apply live parameters at the next sample."""
        assert self._stage is not None
        self._stage.change(values)
        self._calibration.timeout = values["state_timeout"]
        self._output.change(values)
        self._values = values

    # Samples ----------------------------------------------------------------------------------------------------------

    def _on_joint_state(self, message: JointState) -> None:
        stamp = stamp_to_nanoseconds(message.header.stamp)
        if self._newest is not None and stamp <= self._newest:
            if self._newest - stamp > 1_000_000_000:
                raise InputError("time went back: activate the node anew after a reset of the clock")
            self._output.repeat(stamp)  # the plant repeats a state whose command seems to be lost
            return
        self._update()
        self._pending = self._inputs.joints(message, self._newest)
        self._newest, self._heard = stamp, self.get_clock().now()
        self._update_if_complete()
        if self._pending is not None:
            self._timer.reset()

    def _on_reading(self, take: Any) -> Any:
        """Return the callback of a sensor; a rejected reading is no longer waited for."""

        def on_reading(message: Any) -> None:
            try:
                take(message)
            except InputError as error:
                self._output.refuse(stamp_to_nanoseconds(message.header.stamp), str(error))
            self._update_if_complete()

        return on_reading

    def _on_desired(self, message: JointReference) -> None:
        assert self._stage is not None
        if self._calibration.active:
            reason = "desired_joint_reference is ignored while the sensor is calibrated"
            self._output.refuse(self._newest or 0, reason, WARN)
            return
        try:
            self._take_desired(joint_reference_from_message(message, self._stage.model.joint_names))
        except InputError as error:
            self._output.refuse(self._newest or 0, str(error))

    def _take_desired(self, desired: JointReferenceRecord) -> None:
        assert self._stage is not None
        if desired.stamp == self._served:
            self._output.repeat_reference(self._output.answered)
            return
        if desired.stamp < self._served:
            raise InputError("stamps of desired joint references went back")
        if self._pending is not None and desired.stamp > self._pending.stamp:
            self._update()
        state = self._stage.state
        late = 0.0 if state is None else (state.stamp - desired.stamp) * 1e-9
        if late > self._values["reference_timeout"]:
            raise InputError(f"desired joint reference is {late:.6f} s older than the newest joint state")
        self._desired = desired
        self._control(late=late > 0.0)

    def _on_waited(self, _: None) -> None:
        self._update()

    def _update_if_complete(self) -> None:
        if self._pending is not None and self._inputs.complete(self._pending.stamp):
            self._update()

    def _update(self) -> None:
        """Process the waiting joint state, if there is one, with the readings that arrived for its stamp."""
        joints, self._pending = self._pending, None
        self._timer.cancel()
        if joints is None:
            return
        assert self._stage is not None
        estimate = self._stage.update(self._inputs.complete_sample(joints))
        self._output.publish_estimate(estimate)
        self._control()
        self._output.report(estimate, self._calibration.doing)

    def _control(self, late: bool = False) -> None:
        """Compute the joint reference for the newest estimate's stamp, from the desired reference or the calibration.

        Args:
            late: the desired reference is older than the newest joint state; it is used nevertheless, with the stamp of
                that state, because a late reference is better than none.
        """
        stage, reference = self._stage, self._desired
        if not self._values["control"] or stage is None or stage.state is None:
            return
        state = stage.state
        if state.stamp <= self._output.answered:
            return
        if self._calibration.active:
            reference = self._calibration.update(state, stage.raw_wrench)
        if reference is None or not (late or reference.stamp == state.stamp):
            return
        try:
            answer = stage.control(replace(reference, stamp=state.stamp))
        except InputError as error:
            self._output.refuse(state.stamp, str(error))
            return
        assert answer.effort is not None
        self._served = reference.stamp
        self._inputs.commanded(answer.stamp, answer.effort)
        self._output.publish_reference(answer)

    # Calibration ------------------------------------------------------------------------------------------------------

    def _on_watch(self, _: None) -> None:
        """End a calibration if joint states have ceased."""
        age = (self.get_clock().now() - self._heard).nanoseconds * 1e-9
        if age > self._values["state_timeout"]:
            self._calibration.end(Result.STALE_STATE, f"no usable joint state for {age:.3f} s")

    def check_goal(self, goal: CalibrateBaseWrench.Goal) -> None:
        """Raise FlexarmError if the goal must be rejected."""
        stage = self._stage
        if not self.active or stage is None or stage.state is None:
            raise InputError("no joint state has come yet" if self.active else "the node is not active")
        if not self._values["control"]:
            raise ConfigError("parameter control is false: the node does not lead the arm")
        if stage.table is not None:
            raise ConfigError("gravity_table is looked up in: calibrate without it, and make a table of the result")
        speed = float(np.abs(stage.state.velocity).max())
        if speed > REST:
            raise InputError(f"the arm moves at {speed:.3f} rad/s or m/s; it must be at rest, below {REST}")

    def goal_rejected(self, reason: str) -> None:
        """Report the reason, since the action client only learns that the goal was rejected."""
        self._output.refuse(self._newest or 0, f"goal rejected: {reason}")

    def plan(self, goal: CalibrateBaseWrench.Goal) -> CalibrationPlan:
        """Return the plan for a goal; raise FlexarmError if the goal is not usable."""
        assert self._stage is not None and self._stage.state is not None
        name = self.get_name() if self.get_namespace() == "/" else self.get_fully_qualified_name()
        return build_plan(goal, self._values, self._stage.model, self._stage.state.position.copy(), name)

    def take_parameters(self, parameters: dict[str, Any]) -> None:
        """Set the node's own parameters with the usual checks; raise ConfigError if they are rejected."""
        answer = self.set_parameters_atomically([RosParameter(name, value=value) for name, value in parameters.items()])
        if not answer.successful:
            raise ConfigError(answer.reason)

    def _on_zero(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            if not self.active or self._stage is None:
                raise InputError("the node is not active")
            if self._calibration.active:
                raise InputError("the sensor is calibrated at this moment")
            bias = self._stage.bias_at_rest().tolist()
            self.take_parameters({"wrench_bias": bias})
            response.success, response.message = True, f"wrench_bias: {[round(part, 6) for part in bias]}"
        except FlexarmError as error:
            response.message = str(error)
        return response


def main() -> None:
    """Entry point."""
    run(BaseWrenchTorqueEstimator)
