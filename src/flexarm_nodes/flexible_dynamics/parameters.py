"""Builds the controller of a flexible arm from its parameters, for its own node and for control_loop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.flexible_dynamics.control.controller import FlexibleController, FlexibleControllerConfig
from flexarm_core.flexible_dynamics.control.gain_check import LoopConditions
from flexarm_core.flexible_dynamics.estimation.config import EstimatorConfig
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.flexible_dynamics.vibration_damping import VibrationDampingConfig
from flexarm_core.pipeline.flexible_stages import FlexibleControlStage
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, FlexibleState, JointReference
from flexarm_nodes.flexible_dynamics.estimator import FlexibleDynamicsEstimator
from flexarm_nodes.node.built_stage import BuiltStage, Values, joint_output

CHECKED = (
    "correct", "use_strain", "use_deflection", "effort_noise", "modal_noise", "base_noise", "strain_noise",
    "strain_error", "deflection_noise", "deflection_rate_noise",
)  # fmt: skip
ESTIMATOR_PARAMETERS = tuple(
    replace(row, name=f"estimator.{row.name}", description=f"estimator assumed in the gain check: {row.description}")
    for row in FlexibleDynamicsEstimator.PARAMETERS
    if row.name in CHECKED
)


def flexible_controller(values: Values, model: ArmModel) -> FlexibleController:
    """Return the controller of a flexible arm; one dummy sample loads the compiled code before the first real sample.

    Raises:
        ConfigError: values that do not fit the arm, or gains that fail the check.
    """
    gravity = (values["gravity"][0], values["gravity"][1], values["gravity"][2])
    flexible = FlexibleModel(model.description, model.tool_frame, gravity)
    estimator = EstimatorConfig(**{name: values[f"estimator.{name}"] for name in CHECKED})
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
    stage = FlexibleControlStage(controller)
    return BuiltStage(
        stage,
        lambda changed: stage.change(flexible_controller_config(changed)),
        (joint_output(stage.name, model),),
        modes=controller.model.mode_names,
        prepare=controller.prepare,
    )


def flexible_controller_config(values: Values) -> FlexibleControllerConfig:
    """Return the settings of the controller of a flexible arm.

    Raises:
        ConfigError: an invalid value.
    """
    names = ("position_gain", "velocity_gain", "tool_stiffness", "effort_weight", "gain_period")
    return FlexibleControllerConfig(
        law=values["law"],
        motion=VibrationDampingConfig(**{name: values[name] for name in names}),
        influence=values["influence"],
        tolerance=values["tolerance"],
        iterations=values["iterations"],
        conditions=LoopConditions(
            1.0 / values["rate"],
            values["delay"],
            values["stiffness_margin"],
            values["mass_margin"],
            values["velocity_noise"],
        ),
        check_gains=values["check_gains"],
    )
