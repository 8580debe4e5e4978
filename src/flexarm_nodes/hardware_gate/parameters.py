"""What parameters of the hardware gate describe: from values to the gate, for its node and for control_loop."""

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
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array
from flexarm_nodes.node.arm_state_reader import NO_BASE_STATE

Values = Mapping[str, Any]
FRICTION_SHARE = 1.5  # of the friction in the robot description that a reference may claim
GAINED = 10.0  # times its velocity limit by which a joint may change its velocity in a second
MOST_ACCELERATION = 20.0  # [rad/s^2 | m/s^2] by default
FOLLOWING_TIME = 0.15  # [s] at the velocity limit that a measured position may lie behind the commanded one


def hardware_gate(values: Values, model: ArmModel, clock: Callable[[], float] = time.monotonic) -> HardwareGate:
    """Gate of an arm.

    Args:
        values: of its parameters.
        model: of the arm.
        clock: of its time-outs [s].

    Raises:
        ConfigError: values that do not fit the arm.
    """
    acceleration, effort_rate, friction, following = (
        _for_each_joint(name, values[name], model.n)
        for name in ("max_acceleration", "max_effort_rate", "max_friction", "max_following_error")
    )
    if not values["allow_unlimited"]:
        _check_limits(model)
    described = np.array([model.description.joints[name].friction for name in model.joint_names])
    limits = JointLimits(
        lower=model.lower,
        upper=model.upper,
        velocity=model.velocity_limit,
        acceleration=np.where(acceleration > 0.0, acceleration, usual_acceleration(model)),
        effort=model.effort_limit,
        effort_rate=np.where(effort_rate > 0.0, effort_rate, np.inf),
        friction=np.where(friction > 0.0, friction, FRICTION_SHARE * described),
        following_error=np.where(following > 0.0, following, FOLLOWING_TIME * model.velocity_limit),
    )
    config = HardwareGateConfig(
        command_mode=values["command_mode"],
        period=1.0 / values["rate"],
        reference_timeout=values["reference_timeout"],
        state_timeout=values["state_timeout"],
        state_age=values["max_state_age"],
        blind_time=values["blind_time"],
        recovery_samples=values["recovery_samples"],
        hold_frequency=values["hold_frequency"],
        base_measured=values["base_state_source"] != NO_BASE_STATE,
        lockstep=values["lockstep"],
        supervisor=SupervisorConfig(
            saturation_time=values["max_saturation_time"],
            tracking_time=values["max_tracking_time"],
            stops=values["max_stops"],
            stop_window=values["stop_window"],
        ),
    )
    return HardwareGate(model, limits, config, clock)


def usual_acceleration(model: ArmModel) -> Array:
    """Acceleration limits (n,) where none are given: a command that is late must not throw a slow joint."""
    return np.minimum(GAINED * model.velocity_limit, MOST_ACCELERATION)


def commanded_order(values: Values, model: ArmModel) -> list[int]:
    """Place in the model of each joint of the command controller.

    Raises:
        ConfigError: parameter ``joints`` is no order of the arm's.
    """
    wanted = [name for name in values["joints"] if name] or list(model.joint_names)
    if sorted(wanted) != sorted(model.joint_names):
        raise ConfigError(f"joints are {', '.join(wanted)}; expected an order of {', '.join(model.joint_names)}")
    return [model.joint_names.index(name) for name in wanted]


def _check_limits(model: ArmModel) -> None:
    """Raise ConfigError for joints whose velocity or effort has no limit: nothing would then be safe."""
    for what, limit in (("velocity", model.velocity_limit), ("effort", model.effort_limit)):
        names = [name for name, one in zip(model.joint_names, limit, strict=True) if not np.isfinite(one)]
        if names:
            raise ConfigError(
                f"the robot description gives no {what} limit for {', '.join(names)}: add it to <limit>, or set"
                " allow_unlimited to command the joints without"
            )


def _for_each_joint(name: str, values: list[float], n: int) -> Array:
    if len(values) not in (1, n):
        raise ConfigError(f"{name} needs 1 or {n} numbers, got {len(values)}")
    if not all(0.0 <= value < np.inf for value in values):
        raise ConfigError(f"{name} must be finite and not negative, got {values}")
    return np.broadcast_to(np.array(values, dtype=float), (n,)).copy()
