"""Node base_wrench_torque_estimator: ACT stage, a sensor under the base -> joint torques, motor efforts.

Each joint state results in one BaseWrenchEstimate with its stamp. Each desired joint reference results in one joint
reference whose motor efforts produce the desired effort at the links (core: base_wrench). An action calibrates the
sensor.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from rclpy.parameter import Parameter as RosParameter
from std_srvs.srv import Trigger
from visualization_msgs.msg import MarkerArray

from flexarm.action import CalibrateBaseWrench
from flexarm_core.errors import ConfigError, FlexarmError, InputError
from flexarm_core.pipeline.tick import Tick
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.description import RobotDescription
from flexarm_core.types import Array, BaseWrenchEstimate, FlexibleSample
from flexarm_nodes.base_wrench.calibration import BaseWrenchCalibration
from flexarm_nodes.base_wrench.markers import BaseWrenchMarkers
from flexarm_nodes.base_wrench.parameters import BASE_WRENCH_PARAMETERS
from flexarm_nodes.base_wrench.plan import CalibrationPlan, build_plan
from flexarm_nodes.base_wrench.stage import built_base_wrench
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import run
from flexarm_nodes.node.built_stage import BuiltStage, Values
from flexarm_nodes.node.diagnostics import OK, WARN
from flexarm_nodes.node.frames import in_tf
from flexarm_nodes.node.ports import JOINTS, MARKERS, STATES, Input, Output, Ports, Role, needed
from flexarm_nodes.node.stage_node import StageNode

REST = 1e-2  # [rad/s | m/s] velocity below which a joint counts as at rest
KEPT = 200  # number of samples at rest that are averaged
Result = CalibrateBaseWrench.Result


class BaseWrenchZero:
    """Averages the residual wrench, which the model does not explain, while the arm is at rest without contact."""

    def __init__(self) -> None:
        """Start without samples."""
        self.reset()

    def reset(self) -> None:
        """Discard earlier samples."""
        self._residuals: deque[Array] = deque(maxlen=KEPT)
        self._why_not = "no joint state has come yet"

    def take(self, estimate: BaseWrenchEstimate, velocity: Array) -> None:
        """Take an estimate and the joint velocities (n,) at its stamp [rad/s | m/s]."""
        speed = float(np.abs(velocity).max())
        if not estimate.valid:
            self._why_not = f"there is no valid reading: {', '.join(estimate.left_out)}"
        elif speed > REST:
            self._why_not = f"the arm moves at {speed:.3f} rad/s or m/s; it must be at rest, below {REST}"
        elif estimate.contact:
            self._why_not = "something touches the arm, or the bias is too large to tell it from a contact: calibrate"
        else:
            self._why_not = ""
            self._residuals.append(estimate.residual_wrench)
            return
        self._residuals.clear()

    def residual(self) -> Array:
        """Return the mean residual wrench (6,) since the arm is at rest, robot on base, sensor frame [N, N*m].

        Raises:
            InputError: the arm is not at rest, there is a contact, or there is no reading.
        """
        if self._why_not:
            raise InputError(self._why_not)
        mean: Array = np.mean(self._residuals, axis=0)
        return mean


class BaseWrenchTorqueEstimator(StageNode):
    """Reads joint states, base wrenches and joint references; publishes estimates and motor efforts.

    A joint state is processed when the wrench of the same stamp has arrived (and the flexible state, if the base motion
    is taken from it), when the next joint state arrives, or after ``sensor_wait``, whichever is first.
    """

    NAME = "base_wrench_torque_estimator"
    HEARS = ("joints",)
    INTEGRATES = True  # both loops advance with each answer
    PARAMETERS = BASE_WRENCH_PARAMETERS

    @staticmethod
    def ports(values: Values, description: RobotDescription, tool: str) -> Ports:
        """Return the topics that the node uses with these parameters."""
        control, motion = values["control"], values["base_motion"]
        inputs = [
            STATES,
            Input(
                topics.DESIRED_JOINT_REFERENCE,
                JOINTS,
                needed(control),
                f"control {str(control).lower()}",
                (frozenset({"effort"}), frozenset({"position"})),
            ),
            Input(topics.wrench_topic(values["sensor"]), "WrenchStamped", because=f"sensor '{values['sensor']}'"),
        ]
        if motion == "flexible_state":
            inputs.append(Input(topics.FLEXIBLE_STATE, "FlexibleState", because=f"base_motion '{motion}'"))
        gives, role = frozenset({"effort", "friction"}), Role.LEADS if control else Role.SILENT
        return Ports(
            tuple(inputs),
            (
                Output(topics.BASE_WRENCH_ESTIMATE, "BaseWrenchEstimate"),
                Output(topics.JOINT_REFERENCE, JOINTS, role, gives, passes=True),
                MARKERS,
            ),
        )

    def __init__(self) -> None:
        """Create markers, action and service."""
        super().__init__()
        self._zero = BaseWrenchZero()
        self._markers = self.create_publisher(MarkerArray, topics.MARKERS, topics.CONTROL)
        self._calibration = BaseWrenchCalibration(self, self)
        self.create_service(Trigger, topics.ZERO_WRENCH, self._on_zero)

    # Lifecycle --------------------------------------------------------------------------------------------------------

    def build_stage(self, values: dict[str, Any], model: ArmModel) -> BuiltStage:
        """Build estimator and controller from parameters."""
        built = built_base_wrench(values, model)
        stage: Any = built.stage
        self._drawn = BaseWrenchMarkers(model, stage.estimator.bodies.sensor_frame)
        stage.lead, self._values = self._calibration, values
        return built

    def start(self) -> None:
        """Discard earlier samples."""
        self._calibration.end(Result.STALE_STATE, "the clock was set back")
        super().start()
        self._zero.reset()
        self._shown: int | None = None  # stamp of the newest markers

    def stop(self) -> None:
        """End a calibration; the gate stops the arm when references cease."""
        self._calibration.end(Result.DEACTIVATED, "the node was deactivated")

    def change(self, values: dict[str, Any]) -> None:
        """Apply live parameters at the next sample."""
        before = self.stage.estimator
        super().change(values)
        if self.stage.estimator is not before:
            self._zero.reset()
        self._values = values

    # Samples ----------------------------------------------------------------------------------------------------------

    def awaited(self, sample: FlexibleSample) -> frozenset[str]:
        """Return what a sample waits for: nothing while a calibration leads the arm."""
        return frozenset() if self._calibration.leads else super().awaited(sample)

    def refusal(self, name: str) -> str:
        """Return why desired joint references are not used at present."""
        return "desired_joint_reference is ignored while the sensor is calibrated" if self._calibration.leads else ""

    def observed(self, tick: Tick) -> None:
        """Average the residual at rest, and publish markers if they are due and have a subscriber."""
        assert tick.estimate is not None
        self._zero.take(tick.estimate, self.stage.estimator.velocity)
        rate = self._values["marker_rate"]
        if rate <= 0.0 or not self._markers.get_subscription_count():
            return
        if self._shown is None or tick.stamp - self._shown >= (1.0 - 1e-6) * 1e9 / rate:
            self._shown, self._drawn.scale = tick.stamp, self._values["marker_scale"]
            self._markers.publish(in_tf(self._drawn.message(tick.estimate), self.frame_prefix))

    def status(self, tick: Tick) -> tuple[bytes, str, dict[str, str]]:
        """Return the status, with the readings that were left out."""
        estimate, controller = tick.estimate, self.stage.controller
        assert estimate is not None
        values = {
            "correction_weight": f"{self.stage.weight:.3f}",
            "contact": "yes" if estimate.contact else "no",
            "bias": " ".join(f"{part:.4g}" for part in estimate.bias),
        }
        if controller is not None:
            values["torque_bandwidth"] = f"{controller.config.torque_loop.resolved_bandwidth():.4g} rad/s"
        if estimate.left_out:
            return WARN, f"left out: {', '.join(estimate.left_out)}", values
        if np.isnan(estimate.friction).all():
            return WARN, "motor efforts are not known: joint_states report none, and none was commanded here", values
        last = self._tick
        age = (tick.stamp - last.stamp) * 1e-9 if last is not None and last.given else np.inf
        leads = controller is not None and age <= self._values["reference_timeout"]
        return OK, self._calibration.doing or ("controlling" if leads else "estimating"), values

    # Calibration ------------------------------------------------------------------------------------------------------

    def check_calibration(self) -> None:
        """Raise FlexarmError if the sensor cannot be calibrated now."""
        if not self.active or self.stage.state is None:
            raise InputError("no joint state has come yet" if self.active else "the node is not active")
        if not self._values["control"]:
            raise ConfigError("parameter control is false: the node does not lead the arm")
        if self._values["gravity_table"]:
            raise ConfigError("gravity_table is looked up in: calibrate without it, and make a table of the result")
        speed = float(np.abs(self.stage.state.velocity).max())
        if speed > REST:
            raise InputError(f"the arm moves at {speed:.3f} rad/s or m/s; it must be at rest, below {REST}")

    def plan(self, goal: CalibrateBaseWrench.Goal) -> CalibrationPlan:
        """Return the plan for a goal; raise FlexarmError if the goal is not usable."""
        name = self.get_name() if self.get_namespace() == "/" else self.get_fully_qualified_name()
        return build_plan(goal, self._values, self.model, self.stage.state.position.copy(), name)

    def take_parameters(self, parameters: dict[str, Any]) -> None:
        """Set the node's own parameters with the usual checks; raise ConfigError if they are rejected."""
        answer = self.set_parameters_atomically([RosParameter(name, value=value) for name, value in parameters.items()])
        if not answer.successful:
            raise ConfigError(answer.reason)

    def _on_zero(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            if not self.active:
                raise InputError("the node is not active")
            if self._calibration.leads:
                raise InputError("the sensor is calibrated at this moment")
            estimator = self.stage.estimator
            bias = (estimator.bias + estimator.sign * self._zero.residual()).tolist()
            self.take_parameters({"wrench_bias": bias})
            response.success, response.message = True, f"wrench_bias: {[round(part, 6) for part in bias]}"
        except FlexarmError as error:
            response.message = str(error)
        return response


def main() -> None:
    """Entry point."""
    run(BaseWrenchTorqueEstimator)
