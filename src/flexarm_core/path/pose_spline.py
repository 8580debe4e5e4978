"""A smooth piece of a tool path through many poses.

Over a parameter v that grows from pose to pose by ``sqrt(|dp|^2 + (c |phi|)^2)``, ``c`` the characteristic length
[m/rad], the position is a cubic spline with continuous second derivative and the orientation scipy's RotationSpline
(rotation vectors as cubics of v; angular rate and acceleration are continuous). Both pass exactly through every pose.
The path coordinate is then::

    ds/dv = k sqrt(|p_v|^2 + (c |w_v|)^2 + e^2),   k so that the whole is max(arc length, c angle turned)

with a small e, so that s also grows where the spline reverses and stands for a moment. The inverse v(s) is itself taken
as a cubic spline, so that derivatives with respect to s are exact ones of what :meth:`SplineSegment.poses` gives::

    p' = p_v v',  p'' = p_vv v'^2 + p_v v''        (w alike)
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

# v is so scaled that the speed is about 1; where the spline is slower than this, s runs on without it.
STANDSTILL = 0.3
# Of the inverse v(s), between two poses.
PIECES = 16


class SplineSegment:
    """Spline through poses, over its own coordinate s from 0 to ``length`` [m]."""

    def __init__(self, positions: Array, rotations: Array, characteristic_length: float) -> None:
        """Fit the spline.

        Args:
            positions: (p, 3), the first is where the piece begins [m].
            rotations: (p, 3, 3).
            characteristic_length: that weighs turns against distances [m/rad].

        Raises:
            InputError: fewer than two poses, successive poses that are one or half a turn apart.
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
        self._inverse, self.length = self._reparametrised(v, characteristic_length)
        self.knots = self._inverse.x[::PIECES].copy()

    @property
    def end(self) -> tuple[Array, Array]:
        """Pose at the end."""
        return self._end

    def poses(self, s: Array) -> tuple[Array, Array]:
        """Positions (g, 3) and rotations (g, 3, 3) at s (g,)."""
        v = np.asarray(self._inverse(s))
        return np.asarray(self._position(v)), self._rotations(v)

    def motions(self, s: Array) -> tuple[Array, Array]:
        """First and second derivatives (g, 6) at s (g,)."""
        v, v1, v2 = (np.asarray(self._inverse(s, order)) for order in (0, 1, 2))
        rate, acceleration = self._velocities(v), self._accelerations(v)
        return rate * v1[:, None], acceleration * v1[:, None] ** 2 + rate * v2[:, None]

    def _rotations(self, v: Array) -> Array:
        if self._turns is None:
            return np.broadcast_to(self._end[1], (len(v), 3, 3)).copy()
        return np.asarray(self._turns(v).as_matrix())

    def _velocities(self, v: Array) -> Array:
        """Derivatives (g, 6) with respect to v."""
        return self._spatial(v, 1)

    def _accelerations(self, v: Array) -> Array:
        """Second derivatives (g, 6) with respect to v."""
        return self._spatial(v, 2)

    def _spatial(self, v: Array, order: int) -> Array:
        found = np.zeros((len(v), 6))
        found[:, :3] = self._position(v, order)
        if self._turns is not None:
            # scipy gives them in the axes of the turning body; the cross term w x w of the change of axes vanishes.
            found[:, 3:] = np.einsum("gij,gj->gi", self._rotations(v), self._turns(v, order))
        return found

    def _reparametrised(self, v: Array, characteristic_length: float) -> tuple[CubicSpline, float]:
        """Inverse v(s) and length, by Gauss's rule with three points on each piece."""
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
