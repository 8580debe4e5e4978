"""Rotations and inertias as MuJoCo wants them, in full precision."""

from __future__ import annotations

import mujoco
import numpy as np

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.robot.dynamics_check import TRIANGLE
from flexarm_core.types import Array

MINIMUM_INERTIA = 1e-12  # [kg*m^2] MuJoCo rejects moving bodies below 1e-15; replaces the zeros of a point mass


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


def set_inertia(body: mujoco.MjsBody, link: str, mass: float, center_of_mass: Array, inertia: Array) -> None:
    """Set principal moments and axes, computed here in full precision: MuJoCo's own reduction stops at 1e-12.

    Args:
        body: body to which they are given.
        link: name of the link, for the message.
        mass: mass [kg].
        center_of_mass: (3,) center of mass [m].
        inertia: (3, 3) inertia about the center of mass [kg*m^2].

    Raises:
        RobotDescriptionError: the inertia is not physical.
    """
    if mass == 0.0 and not inertia.any():
        body.ipos = np.zeros(3)  # else MuJoCo gives a body without mass a center of mass away from its origin
        return
    moments, axes = np.linalg.eigh(inertia)
    if moments[2] - moments[0] < 1e-12 * moments[2]:
        axes = np.eye(3)  # a sphere has no preferred axes: avoid round-off
    lacking = moments[2] - moments[0] - moments[1]
    if lacking > TRIANGLE * moments[2]:  # what the reader of the description bears is borne here, too
        raise RobotDescriptionError(
            f"link '{link}': principal moments of inertia {moments} break the triangle inequality (the largest"
            " exceeds the sum of the others): no body of positive mass has them, correct <inertia>"
        )
    moments = np.maximum(moments, MINIMUM_INERTIA)
    moments[2] = min(moments[2], moments[0] + moments[1])  # flat bodies reach this bound, and rounding exceeds it
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] = -axes[:, 0]
    body.mass, body.ipos = mass, center_of_mass
    body.inertia, body.iquat = moments, quaternion(axes)
