"""Convert a RobotDescription to the bodies of the recursion, and find the mount of every link on them.

A link that is fixed to a rigid link is merged with it into one body. A link with mass that is fixed to a flexible link,
away from its clamped end, is a separate body attached to the nearest node. The frame of a force/torque sensor is also a
separate body, because the wrench through it is needed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flexarm_core.entrance import integers
from flexarm_core.flexible_dynamics.invariants import ModalInvariants, flexible_body, rigid_body
from flexarm_core.flexible_dynamics.modal_data import ModalData
from flexarm_core.flexible_dynamics.tree import FIXED, PRISMATIC, REVOLUTE, Body, Mount
from flexarm_core.robot.description import Joint, Link, RobotDescription
from flexarm_core.types import Array

WORLD = -1


def make_bodies(description: RobotDescription, modal_data: dict[str, ModalData]) -> tuple[list[Body], dict[str, Mount]]:
    """Make the bodies of a robot, parents first, and the mount of every link, i.e. the place of its frame.

    Args:
        description: the robot.
        modal_data: modal data of the links to model as flexible, by link name; all other links are rigid.
    """
    bodies: list[Body] = []
    places = {description.root: _rigid_place(WORLD, np.eye(4))}
    elastic = {joint.name: joint for joint in description.elastic}
    sensed = {sensor.frame for sensor in description.force_torque_sensors.values()}
    for joint in description.joints.values():
        link = description.links[joint.child]
        mount = _mount_joint(joint, places[joint.parent], bodies, modal_data)
        bends = bool(mount.rotation.any() or mount.translation.any())
        fixed = joint.kind == "fixed" and link.name not in modal_data and link.name not in sensed
        if fixed and (not bends or link.mass == 0.0):
            places[link.name] = mount
            _add_rigid(bodies, mount, link)
            continue
        spring = elastic.get(joint.name)
        data = modal_data.get(link.name)
        bodies.append(
            Body(
                name=link.name,
                mount=mount,
                kind={"fixed": FIXED, "prismatic": PRISMATIC}.get(joint.kind, REVOLUTE),
                joint="" if joint.kind == "fixed" else joint.name,
                axis=joint.axis,
                inertia=flexible_body(link, data) if data else rigid_body(link.mass, link.center_of_mass, link.inertia),
                modes=tuple(f"{link.name}/{mode}" for mode in data.modes) if data else (),
                stiffness=spring.stiffness if spring else 0.0,
                damping=spring.damping if spring else joint.damping,
                friction=joint.friction,
                armature=joint.armature,
            )
        )
        places[link.name] = _rigid_place(len(bodies) - 1, np.eye(4), len(data.modes) if data else 0)
    return bodies, places


def node_place(place: Mount, data: ModalData, node: int) -> Mount:
    """Return the mount of a node of a flexible link; ``place`` is the mount of the link."""
    (node,) = integers("node", [node], len(data.mass), 1)
    return replace(
        place,
        node=data.position[node],
        translation=data.translation[node],
        rotation=data.rotation[node],
        offset=np.zeros(3),
    )


def _rigid_place(body: int, transform: Array, modes: int = 0) -> Mount:
    none = np.zeros((3, modes))
    return Mount(body, transform[:3, 3], none, none, np.zeros(3), transform[:3, :3])


def _mount_joint(joint: Joint, parent: Mount, bodies: list[Body], modal_data: dict[str, ModalData]) -> Mount:
    """Return the mount of a joint's frame: relative to the parent link, or on the nearest node of a flexible parent."""
    transform = joint.transform_child_to_parent
    turn, shift = parent.turn @ transform[:3, :3], parent.turn @ transform[:3, 3]
    body = bodies[parent.body] if parent.body != WORLD else None
    if body is not None and body.name == joint.parent and joint.parent in modal_data:
        data = modal_data[joint.parent]
        node = data.nearest_node(transform[:3, 3])
        placed = node_place(parent, data, node)
        return replace(placed, offset=transform[:3, 3] - data.position[node], turn=turn)
    return replace(parent, offset=parent.offset + shift, turn=turn)


def _add_rigid(bodies: list[Body], mount: Mount, link: Link) -> None:
    """Add the mass and inertia of a link that is rigidly fixed to a body to that body."""
    if link.mass == 0.0 or mount.body == WORLD:
        return
    turn, origin = mount.turn, mount.node + mount.offset
    more = rigid_body(link.mass, turn @ link.center_of_mass + origin, turn @ link.inertia @ turn.T)
    body = bodies[mount.body]
    inertia: ModalInvariants = replace(
        body.inertia,
        mass=body.inertia.mass + more.mass,
        s0=body.inertia.s0 + more.s0,
        J0=body.inertia.J0 + more.J0,
    )
    bodies[mount.body] = replace(body, inertia=inertia)
