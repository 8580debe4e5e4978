"""Get the ModalData of every flexible link of a robot description: solve beams, read files, check both."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.flexible_dynamics.beam import Load, beam_modes
from flexarm_core.flexible_dynamics.modal_data import ModalData, load_modal_data
from flexarm_core.robot.description import Beam, ElasticDrive, RobotDescription
from flexarm_core.types import Array
from flexarm_core.uri import resolve_uri

DEFLECTION = "deflection"  # the mode of an elastic drive: position of its link side minus position of its motor


def load_flexible_links(description: RobotDescription) -> dict[str, ModalData]:
    """Load the modal data of every flexible link, in tree order, parents before children.

    The ``<inertial>`` of a flexible link describes the whole undeformed link. Mass and inertia in excess of the nodes
    (e.g. a motor at the hinge) are rigid and move with the clamped inboard end.

    Raises:
        RobotDescriptionError: a file is not usable, or lacks a strain gauge of the description.
    """
    found = {}
    for name, link in description.flexible_links.items():
        gauges = [gauge for gauge in description.strain_gauges.values() if gauge.link == name]
        if link.beam is not None:
            try:
                data = beam_modes(link.beam, carried_loads(description, name, link.beam), gauges)
            except RobotDescriptionError as error:
                raise RobotDescriptionError(f"flexible link '{name}': {error}") from error
        elif link.drive is not None:
            data = drive_mode(link.drive, [gauge.name for gauge in gauges])
        else:
            data = load_modal_data(resolve_uri(link.modal_data))
            lacking = [gauge.name for gauge in gauges if gauge.name not in data.strain]
            if lacking:
                raise RobotDescriptionError(
                    f"flexible link '{name}': '{link.modal_data}' has no strain of gauge '{lacking[0]}';"
                    f" it has: {', '.join(data.strain) or 'none'}"
                )
        found[name] = data
    return {joint.child: found[joint.child] for joint in description.joints.values() if joint.child in found}


def drive_modes(description: RobotDescription) -> dict[str, str]:
    """Return the names ``<link>/<mode>`` of the deflections of the elastic drives, by joint."""
    return {drive.joint: f"{link}/{DEFLECTION}" for link, drive in description.elastic_drives.items()}


def drive_mode(drive: ElasticDrive, encoders: Sequence[str]) -> ModalData:
    """Return the mode of an elastic drive: the deflection [rad | m], which all that the drive carries follows."""
    along, none = drive.axis.reshape(1, 3, 1), np.zeros((1, 3, 1))
    return ModalData(
        modes=(DEFLECTION,),
        position=np.zeros((1, 3)),
        mass=np.zeros(1),
        inertia=np.zeros((1, 3, 3)),
        translation=along if drive.slides else none,
        rotation=none if drive.slides else along,
        stiffness=np.array([[drive.stiffness]]),
        damping=np.array([[drive.damping]]),
        strain={name: np.ones(1) for name in encoders},
    )


def carried_loads(description: RobotDescription, link: str, beam: Beam) -> tuple[Load, ...]:
    """Combine what hangs on each node of a beam, with every joint at zero, to one rigid load."""
    beam_to_link, spacing = beam.transform_beam_to_link, beam.length / beam.elements
    found: dict[int, list[tuple[str, Array]]] = {}
    for joint in description.joints.values():
        if joint.parent == link:
            along = float((np.linalg.inv(beam_to_link) @ joint.transform_child_to_parent)[0, 3])
            node = round(min(max(along / spacing, 0.0), beam.elements))
            mount = beam_to_link.copy()
            mount[:3, 3] += beam_to_link[:3, 0] * node * spacing
            child = np.linalg.inv(mount) @ joint.transform_child_to_parent
            found.setdefault(node, []).extend([(joint.child, child), *_outboard_links(description, joint.child, child)])
    return tuple(_load(description, bodies, node * spacing) for node, bodies in found.items())


def _load(description: RobotDescription, bodies: list[tuple[str, Array]], place: float) -> Load:
    """Combine links, given with their transforms to axes of the beam at a mount, to one load."""
    mass, moment, inertia = 0.0, np.zeros(3), np.zeros((3, 3))
    for name, transform in bodies:
        body = description.links[name]
        rotation, center = transform[:3, :3], transform[:3, :3] @ body.center_of_mass + transform[:3, 3]
        mass += body.mass
        moment += body.mass * center
        inertia += rotation @ body.inertia @ rotation.T
        inertia += body.mass * (center @ center * np.eye(3) - np.outer(center, center))
    if mass == 0.0:
        return Load(place=place)
    return Load(mass, float(moment[0] / mass), (inertia[0, 0], inertia[1, 1], inertia[2, 2]), place)


def _outboard_links(description: RobotDescription, link: str, transform: Array) -> list[tuple[str, Array]]:
    """List every link outboard of ``link`` with its transform to the frame to which ``transform`` maps ``link``."""
    found = []
    for joint in description.joints.values():
        if joint.parent == link:
            child = transform @ joint.transform_child_to_parent
            found += [(joint.child, child), *_outboard_links(description, joint.child, child)]
    return found
