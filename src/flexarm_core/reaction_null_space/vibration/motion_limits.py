"""MotionLimits: penalty on joint limit violations of a joint-position spline, for a quadratic model.

Positions, velocities and accelerations are linear in the spline coefficients, so the limits that a step would violate
are known before the step is taken. The penalty of a step counts the limits violated now and those that the step itself
would violate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexarm_core.types import Array


@dataclass(frozen=True, slots=True)
class MotionBounds:
    """Bounds of the joint motion.

    Attributes:
        lower, upper: (n,) position limits.
        velocity, acceleration: (n,) limits on the magnitudes.
    """

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array


class MotionLimits:
    """Limits on the coefficients (c, n) of one spline at given times."""

    def __init__(self, bounds: MotionBounds, position: Array, velocity: Array, acceleration: Array) -> None:
        """Set up.

        Args:
            bounds: bounds of the joint motion.
            position: (t, c) matrix that maps coefficients to positions.
            velocity: (t, c) matrix that maps coefficients to velocities.
            acceleration: (t, c) matrix that maps coefficients to accelerations.
        """
        self._basis = np.concatenate((position, velocity, acceleration))
        each = [len(position)] * 3
        self._low = np.repeat([bounds.lower, -bounds.velocity, -bounds.acceleration], each, axis=0)
        self._high = np.repeat([bounds.upper, bounds.velocity, bounds.acceleration], each, axis=0)
        self._size = np.repeat([np.ones_like(bounds.lower), bounds.velocity, bounds.acceleration], each, axis=0)

    def passed(self, coefficients: Array) -> NDArray[np.bool_]:
        """Return (2, 3 t, n) which lower and which upper limits are violated."""
        values = self._basis @ coefficients
        return np.array((values < self._low, values > self._high))

    def penalty(self, coefficients: Array, unit: float) -> float:
        """Return the sum of squared violations in units of ``unit`` [rad | m], or of ``unit`` times the rate limit."""
        values = self._basis @ coefficients
        beyond = np.maximum(values - self._high, 0.0) + np.maximum(self._low - values, 0.0)
        return float(((beyond / (unit * self._size)) ** 2).sum())

    def add(self, coefficients: Array, counted: NDArray[np.bool_], unit: float, square: Array, gradient: Array) -> None:
        """Add the contribution of the limits (2, 3 t, n) to the quadratic model about coefficients (c, n).

        Args:
            coefficients: (c, n) expansion point of the model.
            counted: limits that count, as returned by :meth:`passed`.
            unit: as in :meth:`penalty`.
            square: (c, n, c, n) half the second derivative; the contribution is added.
            gradient: (c, n) half the gradient; the contribution is added.
        """
        values = self._basis @ coefficients
        for side, limit in ((counted[0], self._low), (counted[1], self._high)):
            for joint in np.flatnonzero(side.any(axis=0)):
                rows = side[:, joint]
                size = unit * self._size[rows, joint]
                slopes = self._basis[rows] / size[:, None]
                square[:, joint, :, joint] += slopes.T @ slopes
                gradient[:, joint] += slopes.T @ ((values[rows, joint] - limit[rows, joint]) / size)
