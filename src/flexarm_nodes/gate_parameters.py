"""What parameters of the hardware gate describe: from values to the gate, for its node and for control_loop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.hardware_gate.gate import HardwareGate, HardwareGateConfig
from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array

Values = Mapping[str, Any]


def hardware_gate(values: Values, model: ArmModel) -> HardwareGate:
    """Gate of an arm.

    Raises:
        ConfigError: values that do not fit the arm.
    """
    effort_rate, friction = (
        _for_each_joint(name, values[name], model.n) for name in ("max_effort_rate", "max_friction")
    )
    limits = JointLimits(
        lower=model.lower,
        upper=model.upper,
        velocity=model.velocity_limit,
        acceleration=_for_each_joint("max_acceleration", values["max_acceleration"], model.n),
        effort=model.effort_limit,
        effort_rate=np.where(effort_rate > 0.0, effort_rate, np.inf),
        friction=np.where(friction > 0.0, friction, np.inf),
    )
    config = HardwareGateConfig(
        command_mode=values["command_mode"],
        period=1.0 / values["rate"],
        reference_timeout=values["reference_timeout"],
        state_timeout=values["state_timeout"],
        recovery_samples=values["recovery_samples"],
        hold_frequency=values["hold_frequency"],
        lockstep=values["lockstep"],
    )
    return HardwareGate(model, limits, config)


def commanded_order(values: Values, model: ArmModel) -> list[int]:
    """Place in the model of each joint of the command controller.

    Raises:
        ConfigError: parameter ``joints`` is no order of the arm's.
    """
    wanted = [name for name in values["joints"] if name] or list(model.joint_names)
    if sorted(wanted) != sorted(model.joint_names):
        raise ConfigError(f"joints are {', '.join(wanted)}; expected an order of {', '.join(model.joint_names)}")
    return [model.joint_names.index(name) for name in wanted]


def _for_each_joint(name: str, values: list[float], n: int) -> Array:
    if len(values) not in (1, n):
        raise ConfigError(f"{name} needs 1 or {n} numbers, got {len(values)}")
    return np.broadcast_to(np.array(values, dtype=float), (n,)).copy()
