"""Orientations of a path: checked, compared, and turned about a fixed axis.

With ``[phi]x`` the matrix of the cross product, a turn by the rotation vector ``phi = angle axis`` is::

    exp(phi) = 1 + sin(angle) [axis]x + (1 - cos(angle)) [axis]x^2

The shortest way between two orientations on SO(3), ``R(r) = exp(r phi) R(0)`` with ``phi = log(R(1) R(0)^T)``, turns at
a constant rate about one axis.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from flexarm_core.errors import InputError
from flexarm_core.types import Array

ORTHONORMAL_TOLERANCE = 1e-6
# Nearer than this to half a turn [rad], rounding decides which way round is the shorter one.
HALF_TURN_TOLERANCE = 1e-6


def checked_vector(value: object, name: str) -> Array:
    """Three finite numbers as an array (3,), which is the caller's own copy.

    Raises:
        InputError: another shape, or values that are not finite.
    """
    try:
        vector = np.array(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be three finite numbers, got {value!r}") from error
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise InputError(f"{name} must be three finite numbers, got {vector.tolist()}")
    return vector


def checked_rotation(value: object, name: str) -> Array:
    """Rotation matrix (3, 3), made orthonormal to rounding.

    Raises:
        InputError: another shape, values that are not finite, or a matrix that is no rotation.
    """
    try:
        matrix = np.array(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be a rotation matrix (3, 3), got {value!r}") from error
    if matrix.shape != (3, 3) or not np.isfinite(matrix).all():
        raise InputError(f"{name} must be a rotation matrix (3, 3) of finite numbers, got {matrix.tolist()}")
    deviation = float(np.abs(matrix @ matrix.T - np.eye(3)).max())
    if deviation > ORTHONORMAL_TOLERANCE or np.linalg.det(matrix) < 0.0:
        raise InputError(f"{name} is not a rotation matrix: R R^T differs from 1 by {deviation:.3g}, or R mirrors")
    # One step of the polar iteration: what was within the tolerance is then within its square.
    return matrix @ (1.5 * np.eye(3) - 0.5 * matrix.T @ matrix)


def rotation_between(start: Array, end: Array, name: str = "turn") -> Array:
    """Rotation vector (3,) [rad] of the shortest way, ``log(R_end R_start^T)``, in the axes in which both are given.

    Raises:
        InputError: half a turn, for which the way is not unique.
    """
    vector = np.asarray(Rotation.from_matrix(end @ start.T).as_rotvec())
    if np.linalg.norm(vector) > np.pi - HALF_TURN_TOLERANCE:
        raise InputError(
            f"{name}: the orientations are half a turn apart, so there are two shortest ways;"
            " give an orientation in between"
        )
    return vector


@dataclass(frozen=True, slots=True)
class Turn:
    """Orientation that turns from ``rotation`` about one fixed axis, at a constant rate.

    Attributes:
        rotation: (3, 3) at the beginning.
        vector: (3,) axis times angle of the whole turn, of any number of revolutions [rad].
    """

    rotation: Array
    vector: Array

    @property
    def angle(self) -> float:
        """Of the whole turn [rad]."""
        return float(np.linalg.norm(self.vector))

    def rotations(self, part: Array) -> Array:
        """Orientations (g, 3, 3) after parts (g,) of the turn, 0 to 1: ``exp(part vector) rotation``."""
        angle = self.angle
        if angle == 0.0:
            return np.broadcast_to(self.rotation, (len(part), 3, 3)).copy()
        x, y, z = self.vector / angle
        K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        once, twice = K @ self.rotation, K @ K @ self.rotation
        turned = (angle * part)[:, None, None]
        return np.asarray(self.rotation + np.sin(turned) * once + (1.0 - np.cos(turned)) * twice)
