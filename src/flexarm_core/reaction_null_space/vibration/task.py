"""The reference that the task of the vibration controller follows."""

from __future__ import annotations

from flexarm_core.errors import InputError
from flexarm_core.types import CartesianReference, JointReference, all_finite

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
