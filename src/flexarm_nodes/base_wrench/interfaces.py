"""BaseWrenchInterfaces: calibration (action) and zeroing (service) of the sensor, and the status of the estimate."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from rclpy.parameter import Parameter as RosParameter
from std_srvs.srv import Trigger

from flexarm.action import CalibrateBaseWrench
from flexarm_core.base_wrench.zero import REST
from flexarm_core.errors import ConfigError, FlexarmError, InputError
from flexarm_core.pipeline.base_wrench_stage import BaseWrenchStage
from flexarm_core.pipeline.tick import Tick
from flexarm_core.robot.arm_model import ArmModel
from flexarm_nodes.base_wrench.calibration import BaseWrenchCalibration
from flexarm_nodes.base_wrench.parameters import GRAVITY_PARTS
from flexarm_nodes.base_wrench.plan import CalibrationPlan, build_plan
from flexarm_nodes.node import topics
from flexarm_nodes.node.built_stage import Status, Values
from flexarm_nodes.node.diagnostics import OK, WARN
from flexarm_nodes.node.interfaces import Interfaces

Result = CalibrateBaseWrench.Result


class BaseWrenchInterfaces(Interfaces):
    """Calibrates and zeroes the sensor of a stage.

    Attributes:
        values: present parameters of the stage.
    """

    def __init__(self, stage: BaseWrenchStage, model: ArmModel, values: Values) -> None:
        """Serve the stage of an arm."""
        self._stage, self._model, self.values = stage, model, values
        self._calibration: BaseWrenchCalibration | None = None

    def open(self) -> None:
        """Create the action and the service."""
        self._calibration = self._stage.lead = BaseWrenchCalibration(self, self._check, self._plan, self._take)
        self._service = self.node.create_service(Trigger, self.name(topics.ZERO_WRENCH), self._on_zero)

    def close(self) -> None:
        """Withdraw them."""
        assert self._calibration is not None
        self._calibration.close()
        self.node.destroy_service(self._service)

    def end(self) -> None:
        """End a calibration; the gate stops the arm when references cease."""
        assert self._calibration is not None
        self._calibration.end(Result.DEACTIVATED, "the node was deactivated")

    def status(self, tick: Tick) -> Status:
        """Return the status, with the readings that were left out."""
        estimate, stage = tick.estimate, self._stage
        if estimate is None:
            return OK, "estimating", {}

        def shown() -> dict[str, str]:
            found = {
                "correction_weight": f"{stage.weight:.3f}",
                "contact": "yes" if estimate.contact else "no",
                "bias": " ".join(f"{part:.4g}" for part in estimate.bias.tolist()),
            }
            if stage.controller is not None:
                bandwidth = stage.controller.config.torque_loop.resolved_bandwidth()
                found["torque_bandwidth"] = f"{bandwidth:.4g} rad/s"
            return found

        if estimate.left_out:
            return WARN, f"left out: {', '.join(estimate.left_out)}{self._beside(tick)}", shown
        if all(map(math.isnan, estimate.friction.tolist())):
            return WARN, "motor efforts are not known: joint_states report none, and none was commanded here", shown
        if remark := tick.remarks.get(stage.name, ""):
            return WARN, remark, shown
        age = np.inf if stage.answered is None else (tick.stamp - stage.answered) * 1e-9
        leads = stage.controller is not None and age <= self.values["reference_timeout"]
        doing = "" if self._calibration is None else self._calibration.doing
        return OK, doing or ("controlling" if leads else "estimating"), shown

    def _beside(self, tick: Tick) -> str:
        """Return by how much the stamp of the wrench that is nearest to a sample without one differs."""
        sensor = self._stage.sensor
        if sensor in tick.sample.rejected or sensor not in tick.sample.other_wrenches:
            return ""
        late = (tick.stamp - tick.sample.other_wrenches[sensor][0]) * 1e-9
        return (
            f"; the nearest wrench is stamped {abs(late):.3f} s {'before' if late > 0.0 else 'after'} the joint state:"
            " does the sensor send one for each joint state, with the same clock?"
        )

    def _check(self) -> None:
        """Raise FlexarmError if the sensor cannot be calibrated now."""
        if not self.node.active or self._stage.state is None:
            raise InputError("no joint state has come yet" if self.node.active else "the node is not active")
        if not self.values["control"]:
            raise ConfigError("parameter control is false: the node does not lead the arm")
        if self.values["gravity_table"]:
            raise ConfigError("gravity_table is looked up in: calibrate without it, and make a table of the result")
        if self.values["gravity_part"] != GRAVITY_PARTS[0]:
            raise ConfigError("gravity_part must be 'whole' for a calibration, which separates bias and weight")
        speed = float(np.abs(self._stage.state.velocity).max())
        if speed > REST:
            raise InputError(f"the arm moves at {speed:.3f} rad/s or m/s; it must be at rest, below {REST}")

    def _plan(self, goal: CalibrateBaseWrench.Goal) -> CalibrationPlan:
        """Return the plan for a goal; raise FlexarmError if the goal is not usable."""
        assert self._stage.state is not None
        node = self.node
        name = node.get_name() if node.get_namespace() == "/" else node.get_fully_qualified_name()
        return build_plan(goal, self.values, self._model, self._stage.state.position.copy(), name, self.prefix)

    def _take(self, parameters: dict[str, Any]) -> None:
        """Set parameters of the stage with the usual checks; raise ConfigError if they are rejected."""
        rows = [RosParameter(self.parameter(name), value=value) for name, value in parameters.items()]
        answer = self.node.set_parameters_atomically(rows)
        if not answer.successful:
            raise ConfigError(answer.reason)

    def _on_zero(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        stage = self._stage
        try:
            if not self.node.active:
                raise InputError("the node is not active")
            if stage.refusal:
                raise InputError("the sensor is calibrated at this moment")
            bias = (stage.estimator.bias + stage.estimator.sign * stage.zero.residual()).tolist()
            self._take({"wrench_bias": bias})
            response.success, response.message = True, f"wrench_bias: {[round(part, 6) for part in bias]}"
        except FlexarmError as error:
            response.message = str(error)
        return response
