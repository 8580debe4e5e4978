"""Parts of SDF: poses, inertias and shapes."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence

import numpy as np

from flexarm_core.robot.transforms import roll_pitch_yaw_to_rotation
from flexarm_core.types import Array
from flexarm_sim.mujoco.inertia import quaternion

Element = ElementTree.Element
NO_MASS, NO_INERTIA = 1e-6, 1e-9  # [kg], [kg*m^2] of a link without any, which sdformat refuses or takes for 1 kg
THINNEST = 1e-9  # smallest principal moment of inertia as a fraction of the largest


def add(parent: Element, tag: str, text: str) -> Element:
    """Add an element with a text."""
    child = ElementTree.SubElement(parent, tag)
    child.text = text
    return child


def numbers(*values: float | Array) -> str:
    """Return numbers in full precision, separated by spaces."""
    return " ".join(repr(float(value)) for given in values for value in np.ravel(given))


def pose(tag: Element, transform: Array, relative_to: str = "", turn: Sequence[float] | None = None) -> None:
    """Add the pose of a transform (4, 4).

    Args:
        tag: element that gets the pose.
        transform: the transform.
        relative_to: frame; empty for the default.
        turn: quaternion x y z w in place of the rotation of the transform.
    """
    if turn is None:
        w, x, y, z = quaternion(transform[:3, :3])
        turn = (x, y, z, w)
    child = add(tag, "pose", numbers(transform[:3, 3], *turn))
    child.set("rotation_format", "quat_xyzw")
    if relative_to:
        child.set("relative_to", relative_to)


def inertial(tag: Element, mass: float, center: Array, inertia: Array) -> None:
    """Add mass, center of mass (3,) and inertia (3, 3) about it; sdformat refuses those of a point or a thin rod."""
    if not mass > 0.0:
        mass, center, inertia = NO_MASS, np.zeros(3), NO_INERTIA * np.eye(3)
    moments, axes = np.linalg.eigh(inertia)
    moments = np.maximum(moments, max(THINNEST * moments[2], 1e-3 * NO_INERTIA))
    if moments[2] > (1.0 - 1e-9) * (moments[0] + moments[1]):  # a flat body: round-off must not exceed the bound
        moments[2] = (1.0 - 1e-9) * (moments[0] + moments[1])
    inertia = axes @ np.diag(moments) @ axes.T
    child = ElementTree.SubElement(tag, "inertial")
    add(child, "pose", numbers(center, np.zeros(3)))
    add(child, "mass", numbers(mass))
    matrix = ElementTree.SubElement(child, "inertia")
    for name, i, j in (("ixx", 0, 0), ("ixy", 0, 1), ("ixz", 0, 2), ("iyy", 1, 1), ("iyz", 1, 2), ("izz", 2, 2)):
        add(matrix, name, numbers(inertia[i, j]))


def shape_tag(tag: Element, kind: str, size: Sequence[float]) -> None:
    """Add the geometry of a box, cylinder (radius, length) or sphere."""
    inner = ElementTree.SubElement(ElementTree.SubElement(tag, "geometry"), kind)
    names = {"box": (), "cylinder": ("radius", "length"), "sphere": ("radius",)}[kind]
    if kind == "box":
        add(inner, "size", numbers(*size))
    for name, value in zip(names, size, strict=False):
        add(inner, name, numbers(value))


def copied(link: Element, kind: str) -> Iterator[tuple[Array, Element]]:
    """Yield transform and SDF geometry of each ``<collision>`` or ``<visual>`` of a URDF link."""
    for collision in link.findall(kind):
        transform, origin = np.eye(4), collision.find("origin")
        if origin is not None:
            transform[:3, 3] = _triple(origin, "xyz")
            transform[:3, :3] = roll_pitch_yaw_to_rotation(*_triple(origin, "rpy"))
        holder = ElementTree.Element(kind)
        for shape in collision.findall("geometry/*"):
            if shape.tag == "mesh":
                mesh = ElementTree.SubElement(ElementTree.SubElement(holder, "geometry"), "mesh")
                add(mesh, "uri", shape.get("filename", "").replace("package://", "model://"))
                add(mesh, "scale", shape.get("scale", "1 1 1"))
            elif shape.tag == "box":
                shape_tag(holder, "box", [float(word) for word in shape.get("size", "").split()])
            elif shape.tag in ("cylinder", "sphere"):
                named = ("radius", "length") if shape.tag == "cylinder" else ("radius",)
                shape_tag(holder, shape.tag, [float(shape.get(name, "nan")) for name in named])
        geometry = holder.find("geometry")
        if geometry is not None:
            yield transform, geometry


def _triple(tag: Element, attribute: str) -> list[float]:
    return [float(word) for word in tag.get(attribute, "0 0 0").split()]
