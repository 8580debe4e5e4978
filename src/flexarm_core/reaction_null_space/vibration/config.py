"""VibrationControllerConfig: settings of the vibration controller; ``vibration_controller`` has the equations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.types import Array

LAWS = ("reactionless", "torque", "resolved_acceleration")
TASKS = ("tool_path", "joint_path", "hold", "none")
REALISATIONS = ("computed_torque", "joint_servo")


@dataclass(frozen=True, slots=True)
class VibrationControllerConfig:
    """Settings of the controller; every one may change between two samples.

    Attributes:
        law: ``reactionless`` (12, 15), ``torque`` (16) or ``resolved_acceleration`` (the plain law, for comparison).
        task: ``tool_path`` follows a CartesianReference, ``joint_path`` a JointReference as far as the base lets it,
            ``hold`` goes back to the first posture so far, ``none`` leaves u = 0.
        realisation: how the accelerations are made to happen: ``computed_torque`` or ``joint_servo``.
        position_gain: G_p, of the tool, the joint reference or the held posture [1/s^2].
        velocity_gain: G_d [1/s].
        posture_gain: ``tool_path``: of the joints along what base and tool leave free, to a JointReference where one is
            given, else to the first posture [1/s^2]; 0: there they are only damped.
        servo_position_gain: of each joint's servo [1/s^2].
        servo_velocity_gain: of each joint's servo [1/s].
        vibration_damping: whether the base feedback G_b is in force.
        damping_ratio: zeta from which G_b is chosen at every sample.
        vibration_gain: literal g_b [1/s], of ``torque`` [N*s/m | N*m*s/rad]; 0 = by damping_ratio.
        joint_damping: G_m [1/s].
        coupling_threshold: singular value of H_bm, relative to ``sqrt(tr H_b tr H_m)``, below which it is damped.
        tool_threshold: singular value of Jbar, relative to the norm of J, below which it is damped.
        load_bandwidth: at which an unknown constant load is found and carried [rad/s]; 0: the tool sags under it. Used
            with limits.
        longest_wait: by which the path may be late before the law gives up [s]. Used with limits.
        largest_error: of the tool, at which the law gives up [m], 3 rad of orientation counting as 1 m. Used with
            limits.
    """

    law: str = "reactionless"
    task: str = "tool_path"
    realisation: str = "computed_torque"
    position_gain: float = 400.0
    velocity_gain: float = 200.0
    posture_gain: float = 0.0
    servo_position_gain: float = 900.0
    servo_velocity_gain: float = 60.0
    vibration_damping: bool = True
    damping_ratio: float = 0.7
    vibration_gain: float = 0.0
    joint_damping: float = 1.0
    coupling_threshold: float = 0.01
    tool_threshold: float = 0.02
    load_bandwidth: float = 0.0
    longest_wait: float = 2.0
    largest_error: float = 0.2

    def __post_init__(self) -> None:
        """Raise ConfigError for values that have no meaning."""
        if self.law not in LAWS:
            raise ConfigError(f"law '{self.law}' is unknown; valid: {', '.join(LAWS)}")
        if self.task not in TASKS:
            raise ConfigError(f"task '{self.task}' is unknown; valid: {', '.join(TASKS)}")
        if self.realisation not in REALISATIONS:
            raise ConfigError(f"realisation '{self.realisation}' is unknown; valid: {', '.join(REALISATIONS)}")
        gains = ("position_gain", "velocity_gain", "posture_gain", "servo_position_gain", "servo_velocity_gain")
        for name in (*gains, "damping_ratio", "vibration_gain", "joint_damping", "load_bandwidth", "longest_wait"):
            if not (np.isfinite(getattr(self, name)) and getattr(self, name) >= 0.0):
                raise ConfigError(f"{name} must be a number >= 0, got {getattr(self, name)}")
        if not self.largest_error > 0.0:
            raise ConfigError(f"largest_error must be positive, got {self.largest_error}")
        for name in ("coupling_threshold", "tool_threshold"):
            if not 0.0 < getattr(self, name) < 1.0:
                raise ConfigError(f"{name} must lie in (0, 1), got {getattr(self, name)}")

    def gains(self, joint_damping: float) -> Array:
        """What ``vibration_law`` and ``vibration_task`` take as ``gains`` (7,), with a joint damping G_m of its own."""
        return np.array(
            [
                self.damping_ratio,
                self.vibration_gain,
                joint_damping,
                self.coupling_threshold,
                self.tool_threshold,
                self.position_gain,
                self.velocity_gain,
            ]
        )
