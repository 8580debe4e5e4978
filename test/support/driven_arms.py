"""Arms with elastic drives, as URDF text: drawn at random, and one link whose closed forms are known."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

LINK = 2.0 * 0.5**2 + 0.3  # [kg*m^2] of the link of one_link about its joint
WEIGHT = 2.0 * 0.5 * 9.81  # [N*m] of it, lying


@dataclass(frozen=True, slots=True)
class DrivenArm:
    """An arm drawn at random.

    Attributes:
        n: number of its joints ``j0`` ...
        driven: joints with elastic drives.
        text: with these drives.
        rigid: the same links and joints without drives and rotors.
    """

    n: int
    driven: tuple[int, ...]
    text: str
    rigid: str


def driven_arm(seed: int) -> DrivenArm:
    """Three to six joints, turning and sliding, some of them with elastic drives, the others with rotors alone."""
    rng = np.random.default_rng([seed, 36])
    n = 3 + seed % 4
    driven = tuple(i for i in range(n) if rng.random() < 0.7) or (0,)
    sliding = {i for i in range(n) if rng.random() < 0.3}
    return DrivenArm(n, driven, _draw(seed, n, driven, sliding), _draw(seed, n, (), sliding, rotors=False))


def _draw(seed: int, n: int, driven: Collection[int], sliding: set[int], rotors: bool = True) -> str:
    rng = np.random.default_rng(seed)
    parts, drives, control, carrier = ['<link name="world"/>'], [], [], "world"
    for i in range(n):
        axis, center, xyz, rpy = (_words(values) for values in (*rng.normal(size=(3, 3)), rng.uniform(-2, 2, 3)))
        A = rng.normal(size=(3, 3))
        points = A @ A.T * 0.02 + 0.01 * np.eye(3)
        I = np.trace(points) * np.eye(3) - points  # noqa: E741 (of a body: of points)
        mass, rotor, stiffness, damping = rng.uniform((0.5, 0.2, 500.0, 0.0), (4.0, 1.5, 5000.0, 3.0))
        moments = f'ixx="{I[0, 0]}" ixy="{I[0, 1]}" ixz="{I[0, 2]}" iyy="{I[1, 1]}" iyz="{I[1, 2]}" izz="{I[2, 2]}"'
        parts.append(
            f'<link name="l{i}"><inertial><origin xyz="{center}"/><mass value="{mass}"/><inertia {moments}/></inertial>'
            f'</link><joint name="j{i}" type="{"prismatic" if i in sliding else "revolute"}"><parent link="{carrier}"/>'
            f'<child link="l{i}"/><origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="{axis}"/>'
            '<limit lower="-3" upper="3" velocity="5" effort="100"/></joint>'
        )
        armature = f'<param name="armature">{rotor}</param>' if rotors else ""
        control.append(f'<joint name="j{i}"><command_interface name="effort"/>{armature}</joint>')
        if i in driven:
            drives.append(
                f'<elastic_drive joint="j{i}" stiffness="{stiffness}" damping="{damping}" link_encoder="e{i}"/>'
            )
        carrier = f"l{i}"
    parts.append(f'<link name="tool0"/><joint name="t" type="fixed"><parent link="{carrier}"/><child link="tool0"/>')
    parts.append('<origin xyz="0.2 0.1 0.3"/></joint>')
    sensor = f'<sensor name="wrist"><state_interface name="force.x"/><param name="frame_id">{carrier}</param></sensor>'
    return (
        f'<robot name="driven_{seed}">{"".join(parts)}<ros2_control name="arm" type="system">{"".join(control)}{sensor}'
        f"</ros2_control><flexibility>{''.join(drives)}</flexibility></robot>"
    )


def one_link(stiffness: float = 2000.0, damping: float = 0.0, rotor: float = 0.4, more: str = "") -> str:
    """One link of 2 kg, lying along x and turning about -y, behind an elastic drive; ``more``: further attributes."""
    return (
        '<robot name="one"><link name="world"/><link name="arm"><inertial><origin xyz="0.5 0 0"/><mass value="2"/>'
        '<inertia ixx="0.3" ixy="0" ixz="0" iyy="0.3" iyz="0" izz="0.3"/></inertial></link>'
        '<joint name="hinge" type="revolute"><parent link="world"/><child link="arm"/><axis xyz="0 -1 0"/>'
        '<limit lower="-3" upper="3" velocity="5" effort="100"/></joint>'
        '<link name="tool0"/><joint name="tip" type="fixed"><parent link="arm"/><child link="tool0"/>'
        '<origin xyz="1 0 0"/></joint>'
        '<ros2_control name="one" type="system"><joint name="hinge"><command_interface name="effort"/>'
        f'<param name="armature">{rotor!r}</param></joint></ros2_control>'
        f'<flexibility><elastic_drive joint="hinge" stiffness="{stiffness!r}" damping="{damping!r}" {more}/>'
        "</flexibility></robot>"
    )


def _words(values: object) -> str:
    return " ".join(repr(float(value)) for value in np.asarray(values))


def with_drives(text: str, drives: dict[str, tuple[float, float, float]]) -> str:
    """A robot without ``<ros2_control>`` whose joints get drives, by name: stiffness, damping and rotor inertia."""
    robot = ElementTree.fromstring(text)
    control = ElementTree.SubElement(robot, "ros2_control", name="arm", type="system")
    flexibility = robot.find("flexibility")
    if flexibility is None:
        flexibility = ElementTree.SubElement(robot, "flexibility")
    for name, (stiffness, damping, rotor) in drives.items():
        joint = ElementTree.SubElement(control, "joint", name=name)
        ElementTree.SubElement(joint, "command_interface", name="effort")
        ElementTree.SubElement(joint, "param", name="armature").text = repr(rotor)
        ElementTree.SubElement(
            flexibility, "elastic_drive", joint=name, stiffness=repr(stiffness), damping=repr(damping)
        )
    return ElementTree.tostring(robot, encoding="unicode")
