"""Stiffness of elastic joints: which is too soft or too stiff to be meant.

A spring ``k`` and its load, with all other joints at zero, swing at ``f = sqrt(k / M) / (2 pi)``, where ``M`` is the
mass along the joint or the inertia about it. Below SLOWEST the joint is one that floats, which has stiffness 0. Above
FASTEST the joint is practically rigid: no motion of the arm shows its deflection, and every simulation would need steps
that resolve it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.robot.description import Joint, RobotDescription

SLOWEST, FASTEST = 1e-9, 3e3  # [Hz]
USUAL = 1.0, 30.0  # [Hz] of bases


def stiffness_errors(description: RobotDescription) -> list[RobotDescriptionError]:
    """Return the errors of the stiffness of elastic joints, each with the valid range."""
    found = []
    for elastic in description.elastic:
        joint = description.joints[elastic.name]
        carried = carried_by(description, joint)
        if elastic.stiffness == 0.0 or not carried > 0.0:
            continue
        frequency = math.sqrt(elastic.stiffness / carried) / (2.0 * math.pi)
        if SLOWEST <= frequency <= FASTEST:
            continue
        slides = joint.kind == "prismatic"
        unit, what = ("N/m", "kg") if slides else ("N*m/rad", "kg*m^2")
        least, soft, stiff, most = (carried * (2.0 * math.pi * f) ** 2 for f in (SLOWEST, *USUAL, FASTEST))
        instead = (
            "write 0 if it floats freely"
            if frequency < SLOWEST
            else "if it stands still, make it fixed or hold it, or leave that direction out"
        )
        found.append(
            RobotDescriptionError(
                f"elastic joint '{joint.name}': with a stiffness of {elastic.stiffness:g} {unit} the {carried:.3g}"
                f" {what} that it carries swing at {frequency:.3g} Hz; it may be {least:.1e} to {most:.1e} {unit}"
                f" (usual: {soft:.1e} to {stiff:.1e}, {USUAL[0]:g} to {USUAL[1]:g} Hz); {instead}",
                joint=joint.name,
            )
        )
    return found


def carried_by(description: RobotDescription, joint: Joint) -> float:
    """Return the mass that moves along a joint [kg], or the inertia about it [kg*m^2], with all joints at zero."""
    places, total = {joint.child: np.eye(4)}, 0.0
    for link, place in _outboard(description, places):
        body = description.links[link]
        if joint.kind == "prismatic":
            total += body.mass
            continue
        arm = np.cross(joint.axis, place[:3, :3] @ body.center_of_mass + place[:3, 3])
        axis = place[:3, :3].T @ joint.axis
        total += float(body.mass * arm @ arm + axis @ body.inertia @ axis)
    return total


def _outboard(description: RobotDescription, places: dict[str, np.ndarray]) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the links on a link, itself first, with their transforms to it."""
    yield from places.items()
    for joint in description.joints.values():  # parents before children
        if joint.parent in places and joint.child not in places:
            places[joint.child] = places[joint.parent] @ joint.transform_child_to_parent
            yield joint.child, places[joint.child]
