"""Correction of a Kalman filter by channels, over the state and the disturbances of the tick.

With ``s = [y; yd; d]``, whose covariance ``P`` says how the disturbances ``d`` moved the state, a reading is ``H s``
plus noise of its own. So a sensor that feels ``d`` corrects the state for what it has just been pushed by::

    S = H P H^T + R      G = P H^T S^-1      s += G nu      P = (1 - G H) P (1 - G H)^T + G R G^T
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flexarm_core.flexible_dynamics.estimation.covariance import deviate, shrink
from flexarm_core.flexible_dynamics.estimation.measurements import Channel
from flexarm_core.types import Array


class Correction:
    """Channels of a tick, one above the other.

    Attributes:
        innovation: (r,) readings less predictions.
    """

    def __init__(self, channels: Sequence[Channel], size: int) -> None:
        """Stack them.

        Args:
            channels: at least one.
            size: of the covariance, 2N, or 2N + d with the disturbances of the tick.
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
        """Largest innovation of each channel, in standard deviations, at a covariance: that of the correction."""
        deviations = np.empty(len(self._first))
        deviate(self._H, self._R, self.innovation, self._first, P, self._HP, deviations)
        self._P = P
        return deviations

    def keep(self, kept: Sequence[bool]) -> None:
        """Go on with some of the channels."""
        rows = np.repeat(kept, np.diff([*self._first, len(self._R)]))
        self.innovation, self._R = self.innovation[rows], self._R[rows]
        self._H, self._HP = self._H[rows], self._HP[rows]

    def correct(self, state: Array) -> tuple[Array, Array, Array]:
        """Corrected state (2N,) and its covariance, and the variance (r,) of the innovation.

        After :meth:`deviations`; the disturbances of the tick are forgotten.
        """
        state, known = state.copy(), len(state)
        P, variance = np.empty((known, known)), np.empty(len(self._R))
        shrink(self._H, self._R, self._HP, self.innovation, self._P, state, P, variance)
        return state, P, variance
