"""Correction of a Kalman filter by channels, over the state and the disturbances of the sampling period.

The covariance ``P`` of ``s = [y; yd; d]`` includes the correlation of the disturbances ``d`` with the state, and a
reading is ``H s`` plus independent noise. Therefore a sensor that measures ``d`` also corrects the state for the effect
of ``d``::

    S = H P H^T + R      G = P H^T S^-1      s += G nu      P = (1 - G H) P (1 - G H)^T + G R G^T
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flexarm_core.flexible_dynamics.estimation.covariance import deviate, shrink
from flexarm_core.flexible_dynamics.estimation.measurements import Channel
from flexarm_core.types import Array


class Correction:
    """Stacked channels of one sampling period.

    Attributes:
        innovation: (r,) readings minus predictions.
    """

    def __init__(self, channels: Sequence[Channel], size: int) -> None:
        """Stack the channels.

        Args:
            channels: one or more channels.
            size: size of the covariance: 2N, or 2N + d with the disturbances of the sampling period.
        """
        self.innovation = np.concatenate([channel.innovation for channel in channels])
        self._R = np.concatenate([channel.variance for channel in channels])
        self._H = np.zeros((len(self._R), size))
        first, row = [], 0
        for channel in channels:
            end, known = row + len(channel.innovation), channel.jacobian.shape[1]
            self._H[row:end, :known] = channel.jacobian
            if channel.feedthrough is not None:
                self._H[row:end, known:] = channel.feedthrough
            first.append(row)
            row = end
        self._first, self._HP = np.array(first), np.empty_like(self._H)

    def deviations(self, P: Array) -> Array:
        """Compute the largest innovation of each channel, in standard deviations, at covariance ``P``.

        :meth:`correct` uses the same covariance.
        """
        deviations = np.empty(len(self._first))
        deviate(self._H, self._R, self.innovation, self._first, P, self._HP, deviations)
        self._P = P
        return deviations

    def keep(self, kept: Sequence[bool]) -> None:
        """Keep only the marked channels."""
        rows = np.repeat(kept, np.diff([*self._first, len(self._R)]))
        self.innovation, self._R = self.innovation[rows], self._R[rows]
        self._H, self._HP = self._H[rows], self._HP[rows]

    def correct(self, state: Array) -> tuple[Array, Array, Array]:
        """Compute the corrected state (2N,), its covariance, and the variance (r,) of the innovation.

        Requires :meth:`deviations`; the disturbances of the sampling period are dropped.
        """
        state, known = state.copy(), len(state)
        P, variance = np.empty((known, known)), np.empty(len(self._R))
        shrink(self._H, self._R, self._HP, self.innovation, self._P, state, P, variance)
        return state, P, variance
