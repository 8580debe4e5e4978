"""Any robot on a base that gives way in six directions, as URDF text."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence

import numpy as np

DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")
ELASTIC = tuple(f"elastic_{direction}" for direction in DIRECTIONS)
AXES = {"x": "1 0 0", "y": "0 1 0", "z": "0 0 1"}
WEIGHTLESS = (0.0, 0.0, 0.0)


def on_elastic_base(
    text: str,
    stiffness: Sequence[float] = (5e3,) * 6,
    damping: Sequence[float] = (5.0,) * 6,
    mass: float = 15.0,
    inertia: float = 0.5,
    locked: Sequence[str] = (),
) -> str:
    """Put a robot on six elastic joints ``elastic_x`` .. ``elastic_rz`` between a new root and its own.

    Args:
        text: URDF of a robot with a rigid base.
        stiffness: (6,) [N/m], [N*m/rad].
        damping: (6,) [N*s/m], [N*m*s/rad].
        mass: of the platform that carries the robot [kg].
        inertia: of it, about every axis [kg*m^2].
        locked: joints that are fixed, fingers for instance.
    """
    robot = ElementTree.fromstring(text)
    children = {joint.find("child").get("link") for joint in robot.findall("joint")}  # type: ignore[union-attr]
    root = next(link.get("name") for link in robot.findall("link") if link.get("name") not in children)
    for link in robot.findall("link"):
        for tag in ("visual", "collision"):
            for part in link.findall(tag):
                link.remove(part)
    for tag in ("flexibility", "gazebo", "transmission", "ros2_control"):
        for part in robot.findall(tag):
            robot.remove(part)
    for joint in robot.findall("joint"):
        if joint.get("name") in locked:
            joint.set("type", "fixed")
            for tag in ("limit", "mimic", "dynamics", "axis", "safety_controller"):
                for part in joint.findall(tag):
                    joint.remove(part)
    parts, parent = ['<link name="elastic_root"/>'], "elastic_root"
    for name, direction in zip(ELASTIC, DIRECTIONS, strict=True):
        last = name == ELASTIC[-1]
        weight, inert = (mass, inertia) if last else (1e-3, 1e-6)
        kind = "revolute" if direction.startswith("r") else "prismatic"
        child = f"{name}_link"
        parts.append(
            f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
            f'<axis xyz="{AXES[direction[-1]]}"/><limit lower="-0.5" upper="0.5" effort="0" velocity="100"/></joint>'
            f'<link name="{child}"><inertial><mass value="{weight}"/><inertia ixx="{inert}" ixy="0" ixz="0"'
            f' iyy="{inert}" iyz="0" izz="{inert}"/></inertial></link>'
        )
        parent = child
    parts.append(
        f'<joint name="platform" type="fixed"><parent link="{parent}"/><child link="{root}"/></joint><flexibility>'
    )
    parts += [
        f'<elastic_joint name="{name}" stiffness="{k!r}" damping="{d!r}"/>'
        for name, k, d in zip(ELASTIC, map(float, stiffness), map(float, damping), strict=True)
    ]
    parts.append("</flexibility>")
    robot.extend(ElementTree.fromstring(f"<robot>{''.join(parts)}</robot>"))
    return ElementTree.tostring(robot, encoding="unicode")


def with_wrong_inertia(text: str, rng: np.random.Generator, error: float = 0.1) -> str:
    """The same robot, mass and inertia of every link scaled by a factor of its own, ``1 - error`` or ``1 + error``."""
    robot = ElementTree.fromstring(text)
    for inertial in robot.iter("inertial"):
        factor = 1.0 + error * float(rng.choice((-1.0, 1.0)))
        for tag in ("mass", "inertia"):
            part = inertial.find(tag)
            assert part is not None
            for name, value in part.attrib.items():
                part.set(name, repr(float(value) * factor))
    return ElementTree.tostring(robot, encoding="unicode")
