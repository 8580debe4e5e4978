"""Smooth segment of a tool path through several poses.

The parameter v increases from pose to pose by ``sqrt(|dp|^2 + (c |phi|)^2)``, with the characteristic length ``c``
[m/rad]. The position is a cubic spline of v with continuous second derivative, the orientation a scipy RotationSpline
(rotation vectors as cubics of v; angular rate and acceleration are continuous). Both pass exactly through every pose.
The path coordinate is::

    ds/dv = k sqrt(|p_v|^2 + (c |w_v|)^2 + e^2),   k such that the length is max(arc length, c * rotation angle)

with a small e, so that s also increases where the spline reverses and its speed is zero. The inverse v(s) is
represented by a cubic spline, so that the derivatives with respect to s are exact for :meth:`SplineSegment.poses`::

    p' = p_v v',  p'' = p_vv v'^2 + p_v v''        (w in the same way)
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation, RotationSpline

from flexarm_core.errors import InputError
from flexarm_core.path.pose_segments import COINCIDENT
from flexarm_core.path.rotations import rotation_between
from flexarm_core.types import Array

# e in the equation above; v is scaled so that the speed of the spline is about 1.
STANDSTILL = 0.3
# Polynomials of the inverse v(s) between two poses.
PIECES = 16


class SplineSegment:
    """Spline through poses, over its own coordinate s from 0 to ``length`` [m]."""

    def __init__(self, positions: Array, rotations: Array, characteristic_length: float) -> None:
        """Fit the spline.

        Args:
            positions: (p, 3) positions, the first at the start of the segment [m].
            rotations: (p, 3, 3) rotations.
            characteristic_length: length that corresponds to one radian [m/rad].

        Raises:
            InputError: there are fewer than two poses, or successive poses are equal or half a turn apart.
        """
        if len(positions) < 2:
            raise InputError("spline: needs at least one pose after the first")
        turns = np.array(
            [
                rotation_between(before, after, f"spline, pose {i + 1} to pose {i + 2}")
                for i, (before, after) in enumerate(pairwise(rotations))
            ]
        )
        angles = np.linalg.norm(turns, axis=1)
        chords = np.hypot(np.linalg.norm(np.diff(positions, axis=0), axis=1), characteristic_length * angles)
        if (chords < COINCIDENT).any():
            i = int(np.argmin(chords))
            raise InputError(f"spline: poses {i + 1} and {i + 2} are the same (the first is where it starts)")
        v = np.concatenate(([0.0], np.cumsum(chords)))
        self._end = positions[-1], rotations[-1]
        self._position = CubicSpline(v, positions)
        self._turns = None if angles.max() < 1e-12 else RotationSpline(v, Rotation.from_matrix(rotations))
        self._inverse, self.length = self._reparametrized(v, characteristic_length)
        self.knots = self._inverse.x[::PIECES].copy()

    @property
    def end(self) -> tuple[Array, Array]:
        """Position (3,) [m] and rotation (3, 3) at the end."""
        return self._end

    def poses(self, s: Array) -> tuple[Array, Array]:
        """Return positions (g, 3) [m] and rotations (g, 3, 3) at s (g,) [m]."""
        v = np.asarray(self._inverse(s))
        return np.asarray(self._position(v)), self._rotations(v)

    def motions(self, s: Array) -> tuple[Array, Array]:
        """Return first and second derivatives (g, 6) with respect to s at s (g,) [m]."""
        v, v1, v2 = (np.asarray(self._inverse(s, order)) for order in (0, 1, 2))
        rate, acceleration = self._velocities(v), self._accelerations(v)
        return rate * v1[:, None], acceleration * v1[:, None] ** 2 + rate * v2[:, None]

    def _rotations(self, v: Array) -> Array:
        if self._turns is None:
            return np.broadcast_to(self._end[1], (len(v), 3, 3)).copy()
        return np.asarray(self._turns(v).as_matrix())

    def _velocities(self, v: Array) -> Array:
        """Return the first derivatives (g, 6) with respect to v."""
        return self._spatial(v, 1)

    def _accelerations(self, v: Array) -> Array:
        """Return the second derivatives (g, 6) with respect to v."""
        return self._spatial(v, 2)

    def _spatial(self, v: Array, order: int) -> Array:
        found = np.zeros((len(v), 6))
        found[:, :3] = self._position(v, order)
        if self._turns is not None:
            # scipy returns them in the body frame; the term w x w from the rotation of the body frame is zero.
            found[:, 3:] = np.einsum("gij,gj->gi", self._rotations(v), self._turns(v, order))
        return found

    def _reparametrized(self, v: Array, characteristic_length: float) -> tuple[CubicSpline, float]:
        """Return the inverse v(s) and the length, by three-point Gauss quadrature in each of ``PIECES`` intervals."""
        nodes, weights = np.polynomial.legendre.leggauss(3)
        edges = np.concatenate([np.linspace(a, b, PIECES, endpoint=False) for a, b in pairwise(v)] + [v[-1:]])
        half = 0.5 * np.diff(edges)
        points = (edges[:-1] + half)[:, None] + half[:, None] * nodes
        rate = self._velocities(points.ravel()).reshape(len(half), 3, 6)
        linear = np.linalg.norm(rate[..., :3], axis=2)
        angular = characteristic_length * np.linalg.norm(rate[..., 3:], axis=2)
        speed = np.sqrt(linear**2 + angular**2 + STANDSTILL**2)
        total = [float(half @ (measure @ weights)) for measure in (linear, angular, speed)]
        scale = max(total[:2]) / total[2]
        s = np.concatenate(([0.0], np.cumsum(scale * half * (speed @ weights))))
        ends = np.linalg.norm(self._velocities(v[[0, -1]]) * np.repeat((1.0, characteristic_length), 3), axis=1)
        slopes = 1.0 / (scale * np.hypot(ends, STANDSTILL))
        return CubicSpline(s, edges, bc_type=((1, slopes[0]), (1, slopes[1]))), float(s[-1])
