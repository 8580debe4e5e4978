"""MotionLimits: how far a spline of joint positions goes beyond limits, as a penalty for a quadratic model.

Positions, velocities and accelerations are linear in the spline's coefficients, so what a step would pass is known
before it is taken: the penalty of a step counts the limits that are passed now, and those that the step itself would.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexarm_core.types import Array


@dataclass(frozen=True, slots=True)
class MotionBounds:
    """What the joints' motion must keep.

    Attributes:
        lower, upper: (n,) positions.
        velocity, acceleration: (n,) magnitudes.
    """

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array


class MotionLimits:
    """Limits of one spline's coefficients (c, n) at some times."""

    def __init__(self, bounds: MotionBounds, position: Array, velocity: Array, acceleration: Array) -> None:
        """Set up.

        Args:
            bounds: of the joints.
            position: (t, c) coefficients -> positions.
            velocity: (t, c) coefficients -> velocities.
            acceleration: (t, c) coefficients -> accelerations.
        """
        self._basis = np.concatenate((position, velocity, acceleration))
        each = [len(position)] * 3
        self._low = np.repeat([bounds.lower, -bounds.velocity, -bounds.acceleration], each, axis=0)
        self._high = np.repeat([bounds.upper, bounds.velocity, bounds.acceleration], each, axis=0)
        self._size = np.repeat([np.ones_like(bounds.lower), bounds.velocity, bounds.acceleration], each, axis=0)

    def passed(self, coefficients: Array) -> NDArray[np.bool_]:
        """(2, 3 t, n) which lower and upper limits are passed."""
        values = self._basis @ coefficients
        return np.array((values < self._low, values > self._high))

    def penalty(self, coefficients: Array, unit: float) -> float:
        """Sum of the squares of what goes beyond: positions [rad | m], others as share of their limits, by a unit."""
        values = self._basis @ coefficients
        beyond = np.maximum(values - self._high, 0.0) + np.maximum(self._low - values, 0.0)
        return float(((beyond / (unit * self._size)) ** 2).sum())

    def add(self, coefficients: Array, counted: NDArray[np.bool_], unit: float, square: Array, gradient: Array) -> None:
        """Add what limits (2, 3 t, n) contribute to the quadratic model about coefficients (c, n).

        Args:
            coefficients: where the model is made.
            counted: limits that count, as :meth:`passed` says.
            unit: as in :meth:`penalty`.
            square: (c, n, c, n) half the second derivative, added to.
            gradient: (c, n) half the gradient, added to.
        """
        values = self._basis @ coefficients
        for side, limit in ((counted[0], self._low), (counted[1], self._high)):
            for joint in np.flatnonzero(side.any(axis=0)):
                rows = side[:, joint]
                size = unit * self._size[rows, joint]
                slopes = self._basis[rows] / size[:, None]
                square[:, joint, :, joint] += slopes.T @ slopes
                gradient[:, joint] += slopes.T @ ((values[rows, joint] - limit[rows, joint]) / size)
