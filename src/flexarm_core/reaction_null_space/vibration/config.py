"""VibrationControllerConfig: settings of the vibration controller; for the equations see the module ``controller``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import ConfigError

LAWS = ("reactionless", "torque", "resolved_acceleration")
TASKS = ("tool_path", "joint_path", "hold", "none")
REALIZATIONS = ("computed_torque", "joint_servo")


@dataclass(frozen=True, slots=True)
class VibrationControllerConfig:
    """Settings of the controller; each setting may change between two samples.

    Attributes:
        law: ``reactionless`` (12, 15), ``torque`` (16) or ``resolved_acceleration`` (without the reaction null space,
            for comparison).
        task: ``tool_path`` follows a CartesianReference, ``joint_path`` follows a JointReference within the null space,
            ``hold`` returns to the posture of the first sample, ``none`` leaves u = 0.
        realization: how the accelerations are realized: ``computed_torque`` or ``joint_servo``.
        position_gain: G_p for the tool, the joint reference or the held posture [1/s^2].
        velocity_gain: G_d [1/s].
        posture_gain: for ``tool_path``: gain in the directions that base and tool leave free, towards the
            JointReference if one is given, otherwise towards the first posture [1/s^2]; 0: only damping there.
        servo_position_gain: position gain of each joint servo [1/s^2].
        servo_velocity_gain: velocity gain of each joint servo [1/s].
        vibration_damping: whether the base feedback G_b is active.
        damping_ratio: zeta from which G_b is computed at every sample.
        vibration_gain: literal g_b [1/s], for ``torque`` [N*s/m | N*m*s/rad]; 0: use damping_ratio.
        joint_damping: G_m [1/s].
        coupling_threshold: singular value of H_bm, relative to ``sqrt(tr H_b tr H_m)``, below which its inverse is
            damped.
        tool_threshold: singular value of Jbar, relative to the norm of J, below which its inverse is damped.
        load_bandwidth: bandwidth at which an unknown constant load is estimated and compensated [rad/s]; 0: the tool
            sags under the load. Used with limits.
        longest_wait: largest lag of the path before the law gives up [s]. Used with limits.
        largest_error: largest tool error before the law gives up [m]; 3 rad of orientation error count as 1 m. Used
            with limits.
    """

    law: str = "reactionless"
    task: str = "tool_path"
    realization: str = "computed_torque"
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
        """Raise ConfigError for invalid values."""
        if self.law not in LAWS:
            raise ConfigError(f"law '{self.law}' is unknown; valid: {', '.join(LAWS)}")
        if self.task not in TASKS:
            raise ConfigError(f"task '{self.task}' is unknown; valid: {', '.join(TASKS)}")
        if self.realization not in REALIZATIONS:
            raise ConfigError(f"realization '{self.realization}' is unknown; valid: {', '.join(REALIZATIONS)}")
        gains = ("position_gain", "velocity_gain", "posture_gain", "servo_position_gain", "servo_velocity_gain")
        for name in (*gains, "damping_ratio", "vibration_gain", "joint_damping", "load_bandwidth", "longest_wait"):
            if not (np.isfinite(getattr(self, name)) and getattr(self, name) >= 0.0):
                raise ConfigError(f"{name} must be a number >= 0, got {getattr(self, name)}")
        if not self.largest_error > 0.0:
            raise ConfigError(f"largest_error must be positive, got {self.largest_error}")
        for name in ("coupling_threshold", "tool_threshold"):
            if not 0.0 < getattr(self, name) < 1.0:
                raise ConfigError(f"{name} must lie in (0, 1), got {getattr(self, name)}")
