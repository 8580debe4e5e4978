"""Builds the hardware gate from its parameters, for its own node and for control_loop."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.hardware_gate.config import HardwareGateConfig
from flexarm_core.hardware_gate.gate import HardwareGate
from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.hardware_gate.supervisor import SupervisorConfig
from flexarm_core.pipeline.gate_stage import GateStage
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.drive_terms import drive_terms
from flexarm_core.types import Array
from flexarm_nodes.node.input.arm_state_reader import NO_BASE_STATE
from flexarm_nodes.node.parameters import record_of

Values = Mapping[str, Any]
FRICTION_SHARE = 1.5  # largest friction in a reference, as a multiple of the friction in the robot description
GAINED = 10.0  # [1/s] default acceleration limit, as a multiple of the velocity limit
MOST_ACCELERATION = 20.0  # [rad/s^2 | m/s^2] upper bound of the default acceleration limit
FOLLOWING_TIME = 0.15  # [s] default following error, as a time at the velocity limit


def gate_stage(values: Values, model: ArmModel) -> GateStage:
    """Return the gate as the last stage of a tick; as :func:`hardware_gate`."""
    return GateStage(hardware_gate(values, model), values["base_state_source"])


def hardware_gate(values: Values, model: ArmModel, clock: Callable[[], float] = time.monotonic) -> HardwareGate:
    """Return the gate of an arm.

    Args:
        values: parameter values.
        model: arm model.
        clock: clock for the timeouts [s].

    Raises:
        ConfigError: values that do not fit the arm.
    """
    slower, acceleration, jerk, effort_rate, friction, following = (
        _for_each_joint(f"max_{name}", values[f"max_{name}"], model.n)
        for name in ("velocity", "acceleration", "jerk", "effort_rate", "friction", "following_error")
    )
    slower, acceleration, jerk = (np.where(one > 0.0, one, np.inf) for one in (slower, acceleration, jerk))
    velocity = np.minimum(slower, model.velocity_limit)
    if not values["allow_unlimited"]:
        _check_limits(model, velocity, model.effort_limit)
    acceleration = np.minimum(acceleration, model.acceleration_limit)
    described = np.array([model.description.joints[name].friction for name in model.joint_names])
    limits = JointLimits(
        lower=model.lower,
        upper=model.upper,
        velocity=velocity,
        acceleration=np.where(np.isfinite(acceleration), acceleration, usual_acceleration(velocity)),
        effort=model.effort_limit,
        effort_rate=np.where(effort_rate > 0.0, effort_rate, np.inf),
        friction=np.where(friction > 0.0, friction, FRICTION_SHARE * described),
        following_error=np.where(following > 0.0, following, FOLLOWING_TIME * velocity),
        jerk=np.minimum(jerk, model.jerk_limit),
    )
    config = record_of(
        HardwareGateConfig,
        values,
        period=1.0 / values["rate"],
        fallback=bool(values["fallback_controller"]),
        base_measured=values["base_state_source"] != NO_BASE_STATE,
        supervisor=record_of(SupervisorConfig, values),
    )
    return HardwareGate(model, limits, config, clock, drive_terms(model, values["drive_adds"]))


def usual_acceleration(velocity_limit: Array) -> Array:
    """Return the default acceleration limits (n,): a late command must not make a slow joint jump."""
    return np.minimum(GAINED * velocity_limit, MOST_ACCELERATION)


def commanded_order(values: Values, model: ArmModel) -> list[int]:
    """Return the model index of each joint of the command controller.

    Raises:
        ConfigError: parameter ``joints`` is no permutation of the arm's joints.
    """
    wanted = [name for name in values["joints"] if name] or list(model.joint_names)
    if sorted(wanted) != sorted(model.joint_names):
        raise ConfigError(f"joints are {', '.join(wanted)}; expected an order of {', '.join(model.joint_names)}")
    return [model.joint_names.index(name) for name in wanted]


def _check_limits(model: ArmModel, velocity: Array, effort: Array) -> None:
    """Raise ConfigError for joints without a velocity or effort limit: the gate could not keep them safe."""
    for what, limit in (("velocity", velocity), ("effort", effort)):
        names = [name for name, one in zip(model.joint_names, limit, strict=True) if not np.isfinite(one)]
        if names:
            raise ConfigError(
                f"the robot description gives no {what} limit for {', '.join(names)}: add it to <limit>, or to the file"
                " of joint_limits, or set allow_unlimited to command the joints without"
            )


def _for_each_joint(name: str, values: list[float], n: int) -> Array:
    if len(values) not in (1, n):
        raise ConfigError(f"{name} needs 1 or {n} numbers, got {len(values)}")
    if not all(0.0 <= value < np.inf for value in values):
        raise ConfigError(f"{name} must be finite and not negative, got {values}")
    return np.broadcast_to(np.array(values, dtype=float), (n,)).copy()
