"""Builds the controller of a flexible arm from its parameters, for its own node and for control_loop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from trajectory_msgs.msg import JointTrajectory

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.flexible_dynamics.control.controller import FlexibleController, FlexibleControllerConfig
from flexarm_core.flexible_dynamics.control.gain_check import LoopConditions
from flexarm_core.flexible_dynamics.estimation.config import EstimatorConfig
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.flexible_dynamics.vibration_damping import VibrationDampingConfig
from flexarm_core.pipeline.flexible_stages import FlexibleControlStage
from flexarm_core.pipeline.tick import Tick
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, FlexibleState, JointReference
from flexarm_nodes.flexible_dynamics.estimator import ESTIMATOR_PARAMETERS
from flexarm_nodes.messages.conversions import stamp_to_nanoseconds
from flexarm_nodes.messages.path import joint_trajectory_from_message
from flexarm_nodes.node import topics
from flexarm_nodes.node.built_stage import BuiltStage, Status, Values, joint_output
from flexarm_nodes.node.diagnostics import OK, WARN
from flexarm_nodes.node.interfaces import Interfaces
from flexarm_nodes.node.parameters import record_of

CHECKED = (
    "correct", "use_strain", "use_deflection", "effort_noise", "modal_noise", "base_noise", "strain_noise",
    "strain_error", "deflection_noise", "deflection_rate_noise",
)  # fmt: skip
ASSUMED_PARAMETERS = tuple(
    replace(row, name=f"estimator.{row.name}", description=f"estimator assumed in the gain check: {row.description}")
    for row in ESTIMATOR_PARAMETERS
    if row.name in CHECKED
)


def flexible_controller(values: Values, model: ArmModel) -> FlexibleController:
    """Return the controller of a flexible arm; one dummy sample loads the compiled code before the first real sample.

    Raises:
        ConfigError: values that do not fit the arm, or gains that fail the check.
    """
    gravity = (values["gravity"][0], values["gravity"][1], values["gravity"][2])
    flexible = FlexibleModel(model.description, model.tool_frame, gravity)
    estimator = record_of(EstimatorConfig, values, "estimator.")
    start = np.array(values["start_position"], dtype=float)
    if start.size and not (start.shape == (model.n,) and np.isfinite(start).all()):
        raise ConfigError(f"start_position must be {model.n} finite numbers, got {values['start_position']}")
    controller = FlexibleController(flexible, flexible_controller_config(values), estimator)
    if start.size:
        controller.prepare(start)
    n, m, k = len(flexible.actuated), len(flexible.elastic), len(flexible.modal)
    still = np.zeros(n)
    joints = ArmState(0, still, still, np.zeros(m), np.zeros(m))
    bent = FlexibleState(0, np.zeros(m), np.zeros(m), np.zeros(m), np.zeros(k), np.zeros(k), np.zeros(k))
    controller.update(joints, bent, JointReference(0, still, still, still))
    controller.reset()
    return controller


def built_controller(values: Values, model: ArmModel) -> BuiltStage:
    """Return the stage of the controller of a flexible arm with its output.

    Raises:
        ConfigError: as for :func:`flexible_controller`.
    """
    controller = flexible_controller(values, model)
    stage = FlexibleControlStage(controller, samples=values["reference"] == "joint_trajectory")

    flexible = controller.model
    bends = (*(joint.name for joint in flexible.description.elastic), *flexible.mode_names)

    def status(tick: Tick) -> Status:
        left = controller.discrepancy
        shown = {"iterations": str(controller.iterations), "discrepancy": f"{left:.3g}"}
        if controller.config.carry_over > 0.0:
            shown["carried_over_error"] = f"{controller.carried_over_error:.3g}"
        shown |= {f"missed {name}": f"{value:.3g}" for name, value in zip(bends, controller.missed, strict=False)}
        if controller.limited < 1.0:
            return WARN, "demand beyond the effort limits: reduced", shown | {"demand": f"{controller.limited:.3g}"}
        if left > 1e-3:
            return WARN, "forces did not converge: raise iterations", shown
        return OK, "controlling", shown

    return BuiltStage(
        stage,
        lambda changed: stage.change(flexible_controller_config(changed)),
        (joint_output(stage.name, model),),
        modes=controller.model.mode_names,
        prepare=controller.prepare,
        interfaces=TrajectoryInput(stage, model),
        status=status,
    )


LONGEST_TRAJECTORY = 262_144  # [bytes] some 1,200 points of seven joints


class TrajectoryInput(Interfaces):
    """Joint trajectories on a topic, for the stage."""

    def __init__(self, stage: FlexibleControlStage, model: ArmModel) -> None:
        """Give trajectories of an arm to its stage."""
        self._stage, self._names, self._turns = stage, model.joint_names, model.turns

    def open(self) -> None:
        """Subscribe to trajectories."""
        self._subscription = self.node.hear(
            JointTrajectory, topics.JOINT_TRAJECTORY, self._on_trajectory, topics.NEWEST, most=LONGEST_TRAJECTORY
        )

    def close(self) -> None:
        """Destroy the subscription."""
        self.node.destroy_subscription(self._subscription)

    def begin(self) -> None:
        """Log the gains that are in use."""
        motion = self._stage.controller.config.motion
        k_p, k_d = (np.round(gain, 3).tolist() for gain in (motion.position_gain, motion.velocity_gain))
        said = f"position_gain {k_p}, velocity_gain {k_d}, effort_weight {motion.effort_weight:.3g}"
        self.node.get_logger().info(said)

    def _on_trajectory(self, message: JointTrajectory) -> None:
        newest = self._stage.newest
        if not self._stage.samples:
            raise InputError("a joint trajectory came, but parameter reference is 'desired_joint_reference'")
        if newest is None:
            raise InputError("joint trajectory refused: no joint state has come yet")
        trajectory = joint_trajectory_from_message(message, self._names, newest.position, self._turns)
        stamp = stamp_to_nanoseconds(message.header.stamp)
        self._stage.follow(trajectory, stamp or newest.stamp)  # no stamp: now, as in ros2_control


def flexible_controller_config(values: Values) -> FlexibleControllerConfig:
    """Return the settings of the controller of a flexible arm.

    Raises:
        ConfigError: an invalid value.
    """
    return record_of(
        FlexibleControllerConfig,
        values,
        motion=record_of(
            VibrationDampingConfig,
            values,
            position_gain=values["position_gain"],
            velocity_gain=values["velocity_gain"],
        ),
        conditions=record_of(LoopConditions, values, period=1.0 / values["rate"]),
    )
