"""What parameters of the controller of an arm that bends describe, for its node and for control_loop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flexarm_core.flexible_dynamics.controller import FlexibleControllerConfig
from flexarm_core.flexible_dynamics.gain_check import LoopConditions
from flexarm_core.flexible_dynamics.vibration_damping import VibrationDampingConfig

Values = Mapping[str, Any]


def flexible_controller_config(values: Values) -> FlexibleControllerConfig:
    """Settings of the controller of an arm that bends.

    Raises:
        ConfigError: one has no meaning.
    """
    names = ("position_gain", "velocity_gain", "tool_stiffness", "effort_weight", "gain_period")
    return FlexibleControllerConfig(
        law=values["law"],
        motion=VibrationDampingConfig(**{name: values[name] for name in names}),
        influence=values["influence"],
        tolerance=values["tolerance"],
        iterations=values["iterations"],
        conditions=LoopConditions(
            1.0 / values["rate"], values["delay"], values["stiffness_margin"], values["mass_margin"]
        ),
        check_gains=values["check_gains"],
    )
