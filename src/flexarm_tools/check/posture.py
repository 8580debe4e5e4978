"""Where an arm is in a posture: how high over its mounting plane, and clear of itself or not."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flexarm_core.behavior_impedance.avoidance.arm_shape import build_arm_shape, place_capsules
from flexarm_core.behavior_impedance.motion_space import arm_kinematics
from flexarm_core.errors import FlexarmError
from flexarm_core.flexible_dynamics.arm_sample import ArmSample
from flexarm_core.flexible_dynamics.deflected_arm import DeflectedArm
from flexarm_core.ik_redundancy.chain import build_chain
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array

ALWAYS = 0.9  # share of postures in which links touch that are built so
POINTS = 9  # along the middle of a link
LEVEL = 1e-6  # [m]


def heights(model: ArmModel, postures: Array) -> dict[str, Array]:
    """Compute the heights (p,) of the origins of the moved links over the mounting plane, by link [m].

    The mounting plane is that of the x and y axes of the base link.

    Args:
        model: the arm.
        postures: (p, n) joint positions.
    """
    arm = DeflectedArm(model.description, model.tool_frame)
    moved = {joint.child for joint in model.description.joints.values() if joint.driver in model.joint_names}
    for joint in model.description.joints.values():  # parents before children
        if joint.parent in moved:
            moved.add(joint.child)
    found: dict[str, list[float]] = {link: [] for link in model.description.links if link in moved}
    for position in postures:
        placed = arm.place(ArmSample(0.0, dict(zip(model.joint_names, map(float, position), strict=True))), 0.0)
        base = placed[model.base_frame]
        for link, values in found.items():
            values.append(float(base[:3, 2] @ (placed[link][:3, 3] - base[:3, 3])))
    return {link: np.array(values) for link, values in found.items()}


def lowest(model: ArmModel, postures: Array) -> Array:
    """Compute the height (p,) of the lowest link that can be higher or lower, infinite if there is none [m]."""
    columns = [values for values in heights(model, postures).values() if np.ptp(values) > LEVEL]
    return np.min(columns, axis=0) if columns else np.full(len(postures), np.inf)


def touches(model: ArmModel, postures: Array) -> NDArray[np.bool_]:
    """Return for each of p postures whether links touch that are not beside each other, by capsules that cover them.

    Links count as 12 cm thick where none has a ``<collision>`` that is no mesh. Pairs that touch in nearly every
    posture are built so, and do not count.
    """
    try:
        chain = build_chain(model.description, model.tool_frame)
        capsules = build_arm_shape(model.description, chain).capsules
    except FlexarmError:
        return np.zeros(len(postures), dtype=bool)
    places = [model.joint_names.index(name) for name in chain.joint_names]
    first, second = np.triu_indices(len(capsules), 1)
    apart = np.abs(capsules[first, 0] - capsules[second, 0]) >= 2.0
    first, second = first[apart], second[apart]
    frames, jacobian, placed = np.empty((len(chain.links), 12)), np.empty((6, chain.n)), np.empty((len(capsules), 6))
    share = np.linspace(0.0, 1.0, POINTS)[None, :, None]
    close = np.zeros((len(postures), len(first)), dtype=bool)
    for row, position in enumerate(np.ascontiguousarray(postures[:, places])):
        arm_kinematics(chain.links, position, frames, jacobian)
        place_capsules(capsules, frames, placed)
        along = placed[:, None, :3] + share * (placed[:, 3:] - placed[:, :3])[:, None]
        gap = np.linalg.norm(along[first][:, :, None] - along[second][:, None], axis=-1).min(axis=(1, 2))
        close[row] = gap < capsules[first, 7] + capsules[second, 7]
    close[:, close.mean(axis=0) > ALWAYS] = False
    return np.array([row.any() for row in close])
