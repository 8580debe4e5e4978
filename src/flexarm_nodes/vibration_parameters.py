"""What parameters of the vibration controller describe: from values to its stage, for its node and for control_loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from flexarm_core.pipeline.vibration_stage import VibrationStage
from flexarm_core.reaction_null_space.base_selection import BaseSelection
from flexarm_core.reaction_null_space.sampling import Sampling
from flexarm_core.reaction_null_space.vibration_controller import VibrationController, VibrationControllerConfig
from flexarm_core.robot.arm_model import ArmModel

Values = Mapping[str, Any]


def vibration_config(values: Values) -> VibrationControllerConfig:
    """Settings of the vibration controller.

    Raises:
        ConfigError: one has no meaning.
    """
    return VibrationControllerConfig(**{f.name: values[f.name] for f in fields(VibrationControllerConfig)})


def vibration_stage(values: Values, model: ArmModel) -> VibrationStage:
    """Vibration controller of an arm, which looks at its gains if it is to.

    Raises:
        ConfigError: values that do not fit the arm.
    """
    selection = BaseSelection(model, tuple(values["selection"])) if model.m else None
    sampling = Sampling(
        1.0 / values["rate"], values["delay"], drive=values["drive"], drive_bandwidth=values["drive_bandwidth"]
    )
    return VibrationStage(
        VibrationController(model, vibration_config(values), selection),
        sampling if values["check_gains"] else None,
        values["base_state_source"],
        values["posture"],
    )
