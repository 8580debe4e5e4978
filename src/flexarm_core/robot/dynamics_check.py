"""Checks of a description for dynamics: mass for every movable joint, physical inertias, motors that give something.

Springs that are too soft or too stiff to be meant are found, too (:mod:`spring_bounds`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.robot.description import Joint, Link, RobotDescription
from flexarm_core.robot.spring_bounds import stiffness_errors
from flexarm_core.types import Array

TRIANGLE = 1e-3  # relative tolerance of the triangle inequality, for rounding in files


def check_dynamics(description: RobotDescription) -> None:
    """Raise RobotDescriptionError with all properties that make the dynamics of the robot invalid."""
    errors = dynamics_errors(description)
    if errors:
        first = errors[0]
        raise RobotDescriptionError("; ".join(map(str, errors)), joint=first.joint, link=first.link)


def dynamics_errors(description: RobotDescription) -> list[RobotDescriptionError]:
    """Return all properties that make the dynamics of the robot invalid."""
    joints, links = description.joints, description.links
    errors = [
        RobotDescriptionError(
            f"joint '{joint.name}' moves link '{joint.child}', which has no <inertial> with a mass:"
            " add mass, origin and inertia (dynamics need them)",
            joint=joint.name,
        )
        for joint in massless_joints(description)
    ]
    errors += [
        RobotDescriptionError(f"link '{link.name}': {wrong}", link=link.name)
        for link in links.values()
        if link.name != description.root and (wrong := impossible_inertia(link.inertia))
    ]
    errors += [
        RobotDescriptionError(
            f"joint '{name}': <limit effort> is 0: the motor gives nothing; give what it can give, or leave <limit>"
            " out of a continuous joint",
            joint=name,
        )
        for name in description.actuated
        if not joints[name].effort_limit > 0.0
    ]
    return errors + stiffness_errors(description)


def with_shared_inertia(description: RobotDescription) -> dict[str, Link]:
    """Return the links, with inertias that are of no body moved to the link that carries them.

    Links that fixed joints join are one rigid body, whose inertia is ``sum(R_i I_i R_i^T)`` and the parallel-axis terms
    of the masses: only the sum of the tensors ``I_i`` matters. Makers give antennas, buttons and covers inertias of no
    body; on a larger link they do no harm. On a flexible link each part moves by itself, and a force/torque sensor
    measures what is outboard of it: nothing is moved there.
    """
    links, joints = dict(description.links), list(description.joints.values())
    flexible = set(description.flexible_links)
    for joint in joints:  # parents first: also what is fixed to a flexible link rides on it
        if joint.kind == "fixed" and joint.parent in flexible:
            flexible.add(joint.child)
    sensed = {sensor.frame for sensor in description.force_torque_sensors.values()}
    for joint in reversed(joints):  # tips first
        link, carrier = links[joint.child], links[joint.parent]
        if joint.kind == "fixed" and link.name not in flexible | sensed and impossible_inertia(link.inertia):
            turn = joint.transform_child_to_parent[:3, :3]
            links[carrier.name] = replace(carrier, inertia=carrier.inertia + turn @ link.inertia @ turn.T)
            links[link.name] = replace(link, inertia=np.zeros((3, 3)))
    return links


def massless_joints(description: RobotDescription) -> list[Joint]:
    """Return the joints that move no mass: neither the child link nor a link fixed to it has a mass.

    A joint that follows another one may: it has no coordinate of its own. Makers of palletizers put two in a row.
    """
    fixed: dict[str, list[str]] = {}
    for joint in description.joints.values():
        if joint.kind == "fixed":
            fixed.setdefault(joint.parent, []).append(joint.child)
    found = []
    for joint in description.joints.values():
        if joint.kind == "fixed" or joint.mimic:
            continue
        rigid = [joint.child]
        for link in rigid:
            rigid += fixed.get(link, [])
        if not sum(description.links[link].mass for link in rigid) > 0.0:
            found.append(joint)
    return found


def impossible_inertia(inertia: Array) -> str:
    """Return why an inertia (3, 3) is not physical (triangle inequality) [kg*m^2]; empty string if it is."""
    a, b, c = np.linalg.eigvalsh(inertia)
    if a < -1e-12 * max(1.0, c, -a):
        return f"principal inertia {a:.3g} kg*m^2 is negative"
    if a + b < c * (1.0 - TRIANGLE):
        return f"principal inertias {a:.3g}, {b:.3g}, {c:.3g} kg*m^2 are of no body: two must sum to the third or more"
    return ""
