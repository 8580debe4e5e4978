"""LinearLaw: one sample of the vibration controller, linearized about a posture at rest, as matrices.

The matrices of the laws multiply quantities that are zero at rest, so only their values at the posture matter, not
their derivatives. Let the state be ``s = [q; qd; x_b; xd_b]``: changes from the posture at rest, where q and qd belong
to the joint reference for ``joint_servo`` and to the measured joints for ``computed_torque``. The law requests

    qdd = (F + g G) s

where ``g`` scales the base feedback ``G_b``: 1 means as configured.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.reaction_null_space.coupling.null_space import damped_inverse
from flexarm_core.reaction_null_space.stability.linear_plant import LinearPlant, gravity_stiffness
from flexarm_core.reaction_null_space.vibration.base_selection import BaseSelection, servo_inertia
from flexarm_core.reaction_null_space.vibration.config import VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.posture_terms import floating, floating_response, giving_way
from flexarm_core.reaction_null_space.vibration.torque_law import effective_inertia, torque_law_gain
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array

ALL_AXES = (True,) * 6


@dataclass(frozen=True, slots=True)
class ToolTask:
    """Definition of the tool path.

    Attributes:
        frame: reference frame, ``world_frame`` or ``base_frame`` of the model; empty: ``base_frame``.
        axes: (6,) tracked axes, ``[v; w]``.
    """

    frame: str = ""
    axes: tuple[bool, ...] = ALL_AXES


@dataclass(frozen=True, slots=True)
class LinearLaw:
    """Gains about a posture; the 2 n + 3 m columns belong to ``s = [q; qd; x_b; xd_b; d]``.

    d are the accelerations that the base lacks, as the law observes them.

    Attributes:
        acceleration: F (n, 2 n + 3 m), without base feedback.
        acceleration_feedback: G (n, 2 n + 3 m), contribution of the base feedback.
        effort: (n, 2 n + 3 m) effort without base feedback.
        effort_feedback: (n, 2 n + 3 m) effort due to the base feedback.
        servo: (n, 2 n) effort of the joint servos due to measured joint positions and velocities; zero for
            ``computed_torque``.
        gives: (n, m) map from the base rate to the reference joint velocity that it causes; zero except for ``torque``
            with ``joint_servo``.
        drawn: (m, 2 n + 3 m) expected deceleration of the base while the joints do not accelerate.
        coupled: (m, n) ``H_b^-1 H_bm``, the part that an acceleration of the joints adds to it.
        share: (m, m) ``H_b^-1 M``, of what the base lacks while the arm yields.
    """

    acceleration: Array
    acceleration_feedback: Array
    effort: Array
    effort_feedback: Array
    servo: Array
    gives: Array
    drawn: Array
    coupled: Array
    share: Array


def linear_law(
    model: ArmModel,
    plant: LinearPlant,
    config: VibrationControllerConfig,
    selection: BaseSelection,
    tool: ToolTask | None = None,
) -> LinearLaw:
    """Linearize one sample of the controller.

    Args:
        model: arm model that the controller uses.
        plant: plant linearized about the posture.
        config: settings of the controller.
        selection: selected base motions.
        tool: tool task, for task ``tool_path``; None: all axes in the base link frame.

    Raises:
        ConfigError: the task does not have six axes, or the frame is unknown.
    """
    n, m = model.n, model.m
    led = config.realization == "joint_servo"
    rest = np.zeros(m) if led else plant.rest  # the joint reference assumes an undeflected base
    blocks = model.blocks(ArmState(0, plant.posture, np.zeros(n), rest, np.zeros(m)))
    gravity = gravity_stiffness(model, plant.posture, rest)
    if led:
        gravity[:, :m] = 0.0
    Q, V, X, R, lacking = np.vsplit(np.eye(2 * n + 3 * m), (n, 2 * n, 2 * n + m, 2 * n + 2 * m))
    springs = model.D_b @ R + model.K_b @ X + gravity[:m, :m] @ X + gravity[:m, m:] @ Q
    yielding: Array = np.asarray(np.linalg.solve(blocks.H_b, springs) + lacking, dtype=np.float64)
    coupled: Array = np.asarray(np.linalg.solve(blocks.H_b, blocks.H_bm), dtype=np.float64)
    moved = blocks.H_m - blocks.H_bm.T @ coupled  # joint inertia if the base yields

    share: Array = np.asarray(np.linalg.solve(blocks.H_b, effective_inertia(blocks)), dtype=np.float64)

    plain = config.law == "resolved_acceleration"
    free = floating(model.K_b, selection.rows[:0] if plain else selection.rows)
    floats = len(free) > 0 and (plain or not selection.soft)
    gives_way = floating_response(blocks.H_b, blocks.H_bm, free) if floats else np.zeros((m, n))
    driven = blocks.H_m - blocks.H_bm.T @ gives_way

    selected = selection.at(blocks, config.damping_ratio, config.vibration_gain)
    scale = float(np.sqrt(np.trace(selected.rows @ blocks.H_b @ selected.rows.T) * np.trace(blocks.H_m)))
    coupling = damped_inverse(selected.coupling, config.coupling_threshold * scale, config.coupling_threshold * scale)
    F: Array = -config.joint_damping * V
    if floats and not plain:
        F = coupling.null_projector() @ F
    G: Array = np.zeros((n, 2 * n + 3 * m))
    damped = config.vibration_damping
    if config.law == "reactionless" and damped:
        G = coupling.inverse @ selected.damping @ R
    rigid, rigid_feedback = F, G  # accelerations for a rigid base
    if config.law == "torque":
        if damped:
            design = (config.damping_ratio, config.vibration_gain)
            rigid_feedback = coupling.inverse @ torque_law_gain(blocks, model.K_b, selected.rows, *design) @ R
        F, G = rigid, rigid_feedback
        if not led:
            F = np.asarray(np.linalg.solve(moved, blocks.H_m @ rigid + blocks.H_bm.T @ yielding), dtype=np.float64)
            G = np.asarray(np.linalg.solve(moved, blocks.H_m @ rigid_feedback), dtype=np.float64)
    particular, particular_feedback = F, G

    space = np.eye(n) if plain else coupling.null_projector()
    back = -config.position_gain * Q - config.velocity_gain * V
    if config.task == "hold":
        F = F + coupling.null_projector() @ back
    elif config.task == "joint_path":
        F, G = F + space @ (back - F), G - space @ G
    elif config.task == "tool_path":
        task = ToolTask() if tool is None else tool
        axes = np.array(task.axes, dtype=bool)
        if axes.shape != (6,):
            raise ConfigError(f"axes has {axes.size} values, expected 6")
        swung = ArmState(0, plant.posture, np.zeros(n), plant.rest, np.zeros(m))
        kinematics = model.tool_kinematics(swung, task.frame or model.base_frame)
        J, J_b = kinematics.J_m, kinematics.J_b
        led_by = J - J_b @ gives_way  # generalized Jacobian; J where nothing floats, and in the base link frame
        threshold = config.tool_threshold * float(np.linalg.norm(led_by[axes]))
        restricted = damped_inverse(led_by[axes] @ space, threshold, threshold)
        inverse = restricted.inverse
        carried = J - J_b @ coupled  # J_b is zero in the base link frame
        wanted = J_b @ yielding - config.velocity_gain * (J @ V + J_b @ R) - config.position_gain * (J @ Q + J_b @ X)
        F, G = F + inverse @ (wanted - carried @ F)[axes], G - inverse @ (carried @ G)[axes]
        if config.posture_gain > 0.0:
            left, k = space @ restricted.null_projector(), config.posture_gain
            F, G = F - left @ (k * Q + 2.0 * np.sqrt(k) * V + F), G - left @ G

    friction = gravity[m:, :m] @ X + gravity[m:, m:] @ Q + model.D_m[:, None] * V
    if led:
        rows = selected.rows[:0] if floats and plain else selected.rows
        served = servo_inertia(replace(blocks, H_m=driven), rows)
        stiff, slow = config.servo_position_gain * served, config.servo_velocity_gain * served
        effort = driven @ F + friction + stiff @ Q + slow @ V
        gives: Array = np.zeros((n, m))
        if config.law == "torque":
            gives = giving_way(blocks.H_bm, blocks.H_m, np.ascontiguousarray(selected.rows), model.K_b)
        return LinearLaw(F, G, effort, blocks.H_m @ G, -np.hstack((stiff, slow)), gives, yielding, coupled, share)
    unserved, gives = np.zeros((n, 2 * n)), np.zeros((n, m))
    if config.law == "torque":
        effort = blocks.H_m @ (rigid + F - particular) + friction
        return LinearLaw(
            F,
            G,
            effort,
            blocks.H_m @ (rigid_feedback + G - particular_feedback),
            unserved,
            gives,
            yielding,
            coupled,
            share,
        )
    return LinearLaw(
        F, G, moved @ F - blocks.H_bm.T @ yielding + friction, moved @ G, unserved, gives, yielding, coupled, share
    )
