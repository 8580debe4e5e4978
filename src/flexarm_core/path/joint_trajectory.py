"""JointTrajectory: interpolates trajectory points; gives position, velocity and acceleration at any time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.interpolate import BPoly, CubicSpline

from flexarm_core.errors import InputError
from flexarm_core.types import Array, JointReference


class JointTrajectory:
    """Trajectory through points; it starts at the current arm position and holds the last point after its end.

    Points with velocities are joined by cubic polynomials, points with velocities and accelerations by quintic
    polynomials (as in the joint trajectory controller of ros2_control). Points with positions only are joined by a
    cubic spline with zero velocity at both ends, because linear interpolation would need infinite accelerations.
    """

    def __init__(
        self,
        start: Array,
        times: Sequence[float],
        positions: Array,
        velocities: Array | None = None,
        accelerations: Array | None = None,
    ) -> None:
        """Fit the polynomials.

        Args:
            start: (n,) joint positions at time 0, at rest; used if the first point is later than 0 s [rad | m].
            times: (p,) times of the points, strictly increasing, not negative [s].
            positions: (p, n) joint positions [rad | m].
            velocities: (p, n) joint velocities [rad/s | m/s], or None.
            accelerations: (p, n) joint accelerations [rad/s^2 | m/s^2], or None; they need velocities.

        Raises:
            InputError: there are no points, the times do not increase, accelerations without velocities, or arrays of
                wrong shape or not finite.
        """
        n = len(start)
        moments = np.array(times, dtype=float)
        rows = [positions, *(row for row in (velocities, accelerations) if row is not None)]
        if accelerations is not None and velocities is None:
            raise InputError("trajectory: points with accelerations need velocities")
        for name, row in zip(("positions", "velocities", "accelerations"), rows, strict=False):
            if row.shape != (len(moments), n) or not np.isfinite(row).all():
                raise InputError(f"trajectory: {name} must be {len(moments)} points of {n} finite numbers")
        if not len(moments) or not np.isfinite(moments).all() or moments[0] < 0.0 or (np.diff(moments) <= 0.0).any():
            raise InputError("trajectory: needs points at rising times, the first at 0 s or later")
        if moments[0] > 0.0:
            moments = np.concatenate(([0.0], moments))
            rows = [np.vstack((first, row)) for first, row in zip((start, 0 * start, 0 * start), rows, strict=False)]
        self._end = float(moments[-1])
        self._last = rows[0][-1]
        if len(moments) == 1:
            self._curve: CubicSpline | BPoly | None = None
        elif len(rows) == 1:
            self._curve = CubicSpline(moments, rows[0], bc_type="clamped")
        else:
            self._curve = BPoly.from_derivatives(moments, np.stack(rows, axis=1))

    @property
    def duration(self) -> float:
        """Time of the last point [s]."""
        return self._end

    def sample(self, stamp: int, time: float) -> JointReference:
        """Return the reference at a time [s] after the start, with the given stamp [ns]."""
        still = np.zeros(len(self._last))
        if self._curve is None or time >= self._end:
            return JointReference(stamp, self._last.copy(), still, still.copy())
        at = max(0.0, time)
        return JointReference(stamp, *(np.asarray(self._curve(at, order)) for order in (0, 1, 2)))
