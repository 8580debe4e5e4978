"""Orientations of a path: checks, difference, and rotation about a fixed axis.

With ``[phi]x`` the cross-product matrix, the rotation by the rotation vector ``phi = angle axis`` is::

    exp(phi) = 1 + sin(angle) [axis]x + (1 - cos(angle)) [axis]x^2

The geodesic between two orientations on SO(3), ``R(r) = exp(r phi) R(0)`` with ``phi = log(R(1) R(0)^T)``, is a
rotation about a fixed axis at a constant rate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from flexarm_core.errors import InputError
from flexarm_core.types import Array

ORTHONORMAL_TOLERANCE = 1e-6
# Closer than this to half a turn [rad], rounding errors decide on the direction of the rotation.
HALF_TURN_TOLERANCE = 1e-6


def checked_vector(value: object, name: str) -> Array:
    """Return three finite numbers as a new array (3,).

    Raises:
        InputError: the shape is wrong, or a value is not finite.
    """
    try:
        vector = np.array(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be three finite numbers, got {value!r}") from error
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise InputError(f"{name} must be three finite numbers, got {vector.tolist()}")
    return vector


def checked_rotation(value: object, name: str) -> Array:
    """Return a rotation matrix (3, 3) with small deviations from orthonormality removed.

    Raises:
        InputError: the shape is wrong, a value is not finite, or the matrix is not a rotation.
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
    # One step of the Newton-Schulz iteration for the polar factor: it about squares the deviation.
    return matrix @ (1.5 * np.eye(3) - 0.5 * matrix.T @ matrix)


def rotation_between(start: Array, end: Array, name: str = "turn") -> Array:
    """Return the rotation vector (3,) [rad] ``log(R_end R_start^T)``, in the frame in which both rotations are given.

    Raises:
        InputError: the rotations are half a turn apart, so that the shortest rotation is not unique.
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
    """Rotation from the orientation ``rotation`` about a fixed axis at a constant rate.

    Attributes:
        rotation: (3, 3) orientation at the start.
        vector: (3,) axis times total angle, with any number of revolutions [rad].
    """

    rotation: Array
    vector: Array

    @property
    def angle(self) -> float:
        """Total angle [rad]."""
        return float(np.linalg.norm(self.vector))

    def rotations(self, part: Array) -> Array:
        """Return the orientations (g, 3, 3) ``exp(part vector) rotation`` at fractions (g,) of the rotation, 0 to 1."""
        angle = self.angle
        if angle == 0.0:
            return np.broadcast_to(self.rotation, (len(part), 3, 3)).copy()
        x, y, z = self.vector / angle
        K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        once, twice = K @ self.rotation, K @ K @ self.rotation
        turned = (angle * part)[:, None, None]
        return np.asarray(self.rotation + np.sin(turned) * once + (1.0 - np.cos(turned)) * twice)
