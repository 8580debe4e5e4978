"""JointPath: joint positions as a function of the path coordinate, interpolated by quintic polynomials."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import InputError
from flexarm_core.types import Array


@dataclass(frozen=True, slots=True)
class JointPath:
    """Joint positions as a function of the path coordinate: quintic polynomials, continuous in the second derivative.

    A coordinate at which the derivatives are discontinuous (a corner) appears twice in the grid: the first entry has
    the derivatives from below, the second those from above.

    Attributes:
        grid: (g,) path coordinates, non-decreasing [m].
        position: (g, n) joint positions [rad | m].
        first: (g, n) first derivatives with respect to the path coordinate.
        second: (g, n) second derivatives with respect to the path coordinate.
    """

    grid: Array
    position: Array
    first: Array
    second: Array

    def __post_init__(self) -> None:
        """Raise InputError for arrays that do not fit or are not finite."""
        steps = np.diff(self.grid) if np.ndim(self.grid) == 1 else np.zeros(0)
        if not len(steps) or not (steps >= 0.0).all() or steps[0] == 0.0 or steps[-1] == 0.0:
            raise InputError("joint path: the grid needs at least two coordinates [m], not falling, its ends once each")
        if ((steps[1:] == 0.0) & (steps[:-1] == 0.0)).any():
            raise InputError("joint path: a coordinate stands in the grid at most twice")
        for name in ("position", "first", "second"):
            array = getattr(self, name)
            if array.ndim != 2 or array.shape != (len(self.grid), self.position.shape[1]):
                raise InputError(f"joint path: {name} must have one row for each of {len(self.grid)} coordinates")
            if not np.isfinite(array).all():
                at = self.grid[~np.isfinite(array).all(axis=1)][0]
                raise InputError(f"joint path: {name} is not finite at s = {at:.6g} m")

    def sample(self, grid: Array) -> tuple[Array, Array, Array]:
        """Return position, first and second derivative (k, n) at coordinates (k,).

        If a coordinate appears twice in succession, the first row has the derivatives from below, the second those from
        above.
        """
        index = np.searchsorted(self.grid, grid, side="right") - 1
        before = np.append(grid[1:] == grid[:-1], False)
        index[before] = np.searchsorted(self.grid, grid[before], side="left") - 1
        i = np.clip(index, 0, len(self.grid) - 2)
        i = np.where(self.grid[i + 1] > self.grid[i], i, i - 1)  # never a zero-length interval
        h = (self.grid[i + 1] - self.grid[i])[:, None]
        r = (grid - self.grid[i])[:, None] / h
        d = self.position[i + 1] - self.position[i]
        v0, v1 = h * self.first[i], h * self.first[i + 1]
        a0, a1 = h**2 * self.second[i], h**2 * self.second[i + 1]
        c3 = 10.0 * d - 6.0 * v0 - 4.0 * v1 - 1.5 * a0 + 0.5 * a1
        c4 = -15.0 * d + 8.0 * v0 + 7.0 * v1 + 1.5 * a0 - a1
        c5 = 6.0 * d - 3.0 * v0 - 3.0 * v1 - 0.5 * a0 + 0.5 * a1
        position = self.position[i] + r * (v0 + r * (0.5 * a0 + r * (c3 + r * (c4 + r * c5))))
        first = (v0 + r * (a0 + r * (3.0 * c3 + r * (4.0 * c4 + r * 5.0 * c5)))) / h
        second = (a0 + r * (6.0 * c3 + r * (12.0 * c4 + r * 20.0 * c5))) / h**2
        return position, first, second
