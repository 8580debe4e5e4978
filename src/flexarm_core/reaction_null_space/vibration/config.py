"""VibrationControllerConfig: settings of the vibration controller; for the equations see the module ``controller``."""

from __future__ import annotations

from dataclasses import dataclass

from flexarm_core.settings import Settings, setting

LAWS = ("reactionless", "torque", "resolved_acceleration")
TASKS = ("tool_path", "joint_path", "hold", "none")
REALIZATIONS = ("computed_torque", "joint_servo")


@dataclass(frozen=True, slots=True)
class VibrationControllerConfig(Settings):
    """Settings of the controller; each setting may change between two samples."""

    # fmt: off
    law: str = setting("reactionless",
        "control law: reactionless (acceleration law), torque (torque law), or resolved_acceleration without base"
        " control", choices=LAWS)
    task: str = setting("tool_path",
        "task of the arm besides base control: follow tool references, follow joint references within the null space,"
        " hold the first posture, or none", choices=TASKS)
    realization: str = setting("computed_torque",
        "how joint accelerations are realized: inverse dynamics (computed_torque), or a servo for each joint"
        " (joint_servo)", choices=REALIZATIONS)
    position_gain: float = setting(400.0,
        "position gain G_p of the tracked tool, of the joint reference or of the held posture", "1/s^2", 0.0)
    velocity_gain: float = setting(200.0,
        "velocity gain G_d of the tracked tool, of the joint reference or of the held posture", "1/s", 0.0)
    posture_gain: float = setting(0.0,
        "position gain of the joints toward a posture in motions that base and tool leave free (task tool_path);"
        " 0: damping only", "1/s^2", 0.0)
    servo_position_gain: float = setting(900.0,
        "position gain of the servo of each joint (realization joint_servo)", "1/s^2", 0.0)
    servo_velocity_gain: float = setting(60.0,
        "velocity gain of the servo of each joint (realization joint_servo)", "1/s", 0.0)
    vibration_damping: bool = setting(True,
        "damp vibrations of the base by feedback with gain G_b; false: no base feedback")
    damping_ratio: float = setting(0.7,
        "damping ratio of the base for which the feedback gain G_b is computed at every sample", "", 0.0)
    vibration_gain: float = setting(0.0,
        "fixed gain g_b of the base feedback, for law torque in N*s/m | N*m*s/rad; 0: computed from damping_ratio",
        "1/s", 0.0)
    joint_damping: float = setting(1.0, "joint damping gain G_m, applied to the joint velocities", "1/s", 0.0)
    coupling_threshold: float = setting(0.01,
        "relative singular value of the coupling inertia, sigma(H_bm) / sqrt(tr H_b tr H_m), below which its inverse"
        " is damped", "", 1e-6, 0.999)
    tool_threshold: float = setting(0.02,
        "relative singular value of the tool Jacobian in the reaction null space, sigma(Jbar) / norm(J), below which"
        " its inverse is damped", "", 1e-6, 0.999)
    load_bandwidth: float = setting(0.0,
        "bandwidth at which an unknown constant load is estimated and compensated; 0: off, the tool sags",
        "rad/s", 0.0, 100.0)
    base_bandwidth: float = setting(40.0,
        "bandwidth at which forces on the base that its model does not contain are estimated, such as those of springs"
        " that are softer than described (realization computed_torque); 0: off, and a base that is softer than"
        " described may be shaken", "rad/s", 0.0, 1000.0)
    longest_wait: float = setting(2.0,
        "largest delay of the path due to joint limits before the law gives up", "s", 0.0)
    path_tolerance: float = setting(0.0,
        "distance of the measured tool from its path, bent links included, above which an error is reported; 0: never",
        "m", 0.0)
    bending_bandwidth: float = setting(0.0,
        "bandwidth at which the position of the tool is corrected for the bending of the links by weight and contact,"
        " as estimated in the flexible state; choose it far below the frequencies of the links; 0: off", "rad/s", 0.0)
    largest_error: float = setting(0.2,
        "position error of the tool at which the law gives up; 3 rad of orientation error count as 1 m", "m", 1e-6)
    # fmt: on
