"""Numbers, rotations and inertias in MJCF notation, in full precision."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.types import Array

MINIMUM_INERTIA = 1e-12  # [kg*m^2] MuJoCo rejects moving bodies below 1e-15; replaces the zeros of a point mass


def number_text(*numbers: float) -> str:
    """Return numbers as the text of one attribute, with all digits of a double."""
    return " ".join(repr(float(number)) for number in numbers)


def quaternion(rotation: Array) -> Array:
    """Return the unit quaternion ``[w, x, y, z]`` of a rotation matrix, an eigenvector (Bar-Itzhack 2000)."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = rotation
    matrix = np.array(
        [
            [xx + yy + zz, zy - yz, xz - zx, yx - xy],
            [zy - yz, xx - yy - zz, xy + yx, xz + zx],
            [xz - zx, xy + yx, yy - xx - zz, yz + zy],
            [yx - xy, xz + zx, yz + zy, zz - xx - yy],
        ]
    )
    if np.array_equal(rotation, np.eye(3)):
        return np.array([1.0, 0.0, 0.0, 0.0])
    found: Array = np.linalg.eigh(matrix)[1][:, -1]
    return found if found[0] >= 0.0 else -found


def add_inertial(body: ElementTree.Element, link: str, mass: float, center_of_mass: Array, inertia: Array) -> None:
    """Add principal moments and axes, computed here in full precision: MuJoCo's own reduction stops at 1e-12.

    Args:
        body: MJCF body to which they are added.
        link: name of the link, for the message.
        mass: mass [kg].
        center_of_mass: (3,) center of mass [m].
        inertia: (3, 3) inertia about the center of mass [kg*m^2].

    Raises:
        RobotDescriptionError: the inertia is not physical.
    """
    if mass == 0.0 and not inertia.any():
        # explicit: MuJoCo gives a body without <inertial> a center of mass away from its origin
        ElementTree.SubElement(body, "inertial", pos="0 0 0", mass="0", diaginertia="0 0 0")
        return
    moments, axes = np.linalg.eigh(inertia)
    if moments[2] - moments[0] < 1e-12 * moments[2]:
        axes = np.eye(3)  # a sphere has no preferred axes: avoid round-off
    lacking = moments[2] - moments[0] - moments[1]
    if lacking > 1e-6 * moments[2]:
        raise RobotDescriptionError(
            f"link '{link}': principal moments of inertia {moments} break the triangle inequality (the largest"
            " exceeds the sum of the others): no body of positive mass has them, correct <inertia>"
        )
    moments = np.maximum(moments, MINIMUM_INERTIA)
    moments[2] = min(moments[2], moments[0] + moments[1])  # flat bodies reach this bound, and round-off exceeds it
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] = -axes[:, 0]
    ElementTree.SubElement(
        body,
        "inertial",
        pos=number_text(*center_of_mass),
        mass=number_text(mass),
        diaginertia=number_text(*moments),
        quat=number_text(*quaternion(axes)),
    )
