"""Checks of a description for dynamics: mass for every movable joint, physical inertias, no mimic joints."""

from __future__ import annotations

import numpy as np

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.robot.description import Joint, Link, RobotDescription

TRIANGLE = 1e-3  # relative tolerance of the triangle inequality, for rounding in files


def check_dynamics(description: RobotDescription) -> None:
    """Raise RobotDescriptionError for the first property that makes the dynamics of the robot invalid."""
    for joint in description.joints.values():
        check_independent(joint)
    for joint in massless_joints(description):
        raise RobotDescriptionError(
            f"joint '{joint.name}' moves link '{joint.child}', which has no <inertial> with a mass:"
            " add mass, origin and inertia (dynamics need them)",
            joint=joint.name,
        )
    for link in description.links.values():
        wrong = impossible_inertia(link)
        if wrong and link.name != description.root:
            raise RobotDescriptionError(f"link '{link.name}': {wrong}", link=link.name)
    for name in description.actuated:
        if not description.joints[name].effort_limit > 0.0:
            raise RobotDescriptionError(
                f"joint '{name}': <limit effort> is 0: the motor gives nothing; give what it can give, or leave <limit>"
                " out of a continuous joint",
                joint=name,
            )


def check_independent(joint: Joint) -> None:
    """Raise RobotDescriptionError if a joint follows another one (``<mimic>``)."""
    if joint.mimic:
        raise RobotDescriptionError(
            f"joint '{joint.name}' mimics '{joint.mimic}': joints that depend on others are not supported; make it"
            " fixed, or remove <mimic> and give it a motor",
            joint=joint.name,
        )


def massless_joints(description: RobotDescription) -> list[Joint]:
    """Return the joints that move no mass: neither the child link nor a link fixed to it has a mass."""
    fixed: dict[str, list[str]] = {}
    for joint in description.joints.values():
        if joint.kind == "fixed":
            fixed.setdefault(joint.parent, []).append(joint.child)
    found = []
    for joint in description.joints.values():
        if joint.kind == "fixed":
            continue
        rigid = [joint.child]
        for link in rigid:
            rigid += fixed.get(link, [])
        if not sum(description.links[link].mass for link in rigid) > 0.0:
            found.append(joint)
    return found


def impossible_inertia(link: Link) -> str:
    """Return why the inertia of a link is not physical (triangle inequality); empty string if it is physical."""
    a, b, c = np.linalg.eigvalsh(link.inertia)
    if a + b < c * (1.0 - TRIANGLE):
        return f"principal inertias {a:.3g}, {b:.3g}, {c:.3g} kg*m^2 are of no body: two must sum to the third or more"
    return ""
