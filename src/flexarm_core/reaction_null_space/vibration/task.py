"""Accelerations that the tasks and servos of the vibration controller request, compiled; see ``controller``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flexarm_core.compiled import kernel
from flexarm_core.errors import InputError
from flexarm_core.ik_redundancy.chain import pose_error
from flexarm_core.types import Array, CartesianReference, JointReference, all_finite

Goal = CartesianReference | JointReference | None


def goal_of(task: str, reference: CartesianReference | None, joints: JointReference | None, n: int) -> Goal:
    """Return the reference that a task follows for an arm with n joints.

    Raises:
        InputError: the reference is missing, or a reference has a wrong shape or non-finite numbers.
    """
    if task == "tool_path":
        if reference is None:
            raise InputError("task 'tool_path' needs a CartesianReference")
        values = (reference.position, reference.rotation.ravel(), reference.velocity, reference.acceleration)
        if not all_finite(*values):
            raise InputError("CartesianReference is not finite")
    elif task == "joint_path" and (joints is None or joints.position is None):
        raise InputError("task 'joint_path' needs a JointReference with a position")
    for name in ("position", "velocity", "acceleration") if joints is not None else ():
        value = getattr(joints, name)
        if value is not None and not (value.shape == (n,) and all_finite(value)):
            raise InputError(f"JointReference {name} is {value}, expected {n} finite numbers")
    return {"tool_path": reference, "joint_path": joints}.get(task)


@kernel
def carry_on(position: Array, velocity: Array, acceleration: Array, dt: float, to: Array, to_velocity: Array) -> None:
    """Integrate joint positions and velocities (n,) over ``dt`` [s] at constant acceleration, into ``to`` arrays."""
    for i in range(to.shape[0]):
        to[i] = position[i] + (velocity[i] + 0.5 * acceleration[i] * dt) * dt
        to_velocity[i] = velocity[i] + acceleration[i] * dt


@kernel
def pull(
    stiffness: float,
    damping: float,
    goal: Array,
    goal_velocity: Array,
    goal_acceleration: Array,
    position: Array,
    velocity: Array,
    out: Array,
) -> None:
    """Compute accelerations ``qdd_r + d (qd_r - qd) + k (q_r - q)`` (n,) that drive joints to a reference."""
    for i in range(out.shape[0]):
        out[i] = damping * (goal_velocity[i] - velocity[i]) + stiffness * (goal[i] - position[i]) + goal_acceleration[i]


@kernel
def tool_task(
    position: Array,
    rotation: Array,
    velocity: Array,
    dJ_v: Array,
    wanted_position: Array,
    wanted_rotation: Array,
    wanted_velocity: Array,
    wanted_acceleration: Array,
    gains: Array,
    axes: NDArray[np.bool_],
    wish: Array,
    J_m: Array,
    J_b: Array,
) -> int:
    """Compute ``xdd_d + G_d ed + G_p e - dJ v`` (6,) for a tool pose, twist and bias; G_p, G_d: ``gains[5]``, ``[6]``.

    Returns:
        Number a of tracked axes. On return, the first a entries of ``wish`` (6,) and the first a rows of the Jacobians
        ``J_m`` (6, n) and ``J_b`` (6, m) belong to the tracked axes.
    """
    error, count = np.empty(6), 0
    pose_error(wanted_position, wanted_rotation, position, rotation, error)
    for i in range(6):
        if axes[i]:
            rate = gains[6] * (wanted_velocity[i] - velocity[i])
            wish[count] = wanted_acceleration[i] + rate + gains[5] * error[i] - dJ_v[i]
            for j in range(J_m.shape[1]):
                J_m[count, j] = J_m[i, j]
            for j in range(J_b.shape[1]):
                J_b[count, j] = J_b[i, j]
            count += 1
    return count
