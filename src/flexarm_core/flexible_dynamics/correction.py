"""Correction of a Kalman filter by channels, over the state and the disturbances of the tick.

With ``s = [y; yd; d]``, whose covariance ``P`` says how the disturbances ``d`` moved the state, a reading is ``H s``
plus noise of its own. So a sensor that feels ``d`` corrects the state for what it has just been pushed by::

    S = H P H^T + R      G = P H^T S^-1      s += G nu      P = (1 - G H) P (1 - G H)^T + G R G^T
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from flexarm_core.flexible_dynamics.measurements import Channel
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
        self._first, row = [], 0
        for channel in channels:
            end, known = row + len(channel.innovation), channel.jacobian.shape[1]
            self._H[row:end, :known] = channel.jacobian
            if channel.feedthrough is not None:
                self._H[row:end, known:] = channel.feedthrough
            self._first.append(row)
            row = end

    def deviations(self, P: Array) -> Array:
        """Largest innovation of each channel, in standard deviations."""
        variance = ((self._H @ P) * self._H).sum(axis=1) + self._R
        return np.maximum.reduceat(np.abs(self.innovation) / np.sqrt(variance), self._first)

    def keep(self, kept: Sequence[bool]) -> None:
        """Go on with some of the channels."""
        lengths = np.diff([*self._first, len(self._R)])
        rows: NDArray[np.bool_] = np.repeat(kept, lengths)
        self.innovation, self._R, self._H = self.innovation[rows], self._R[rows], self._H[rows]
        self._first = list(np.cumsum([0, *lengths[list(kept)]])[:-1])

    def correct(self, state: Array, P: Array) -> tuple[Array, Array, Array]:
        """Corrected state and its covariance, and the variance (r,) of the innovation.

        Args:
            state: (2N,) predicted.
            P: of the size that was told; the disturbances of the tick are forgotten.
        """
        H, R = self._H, self._R
        HP = H @ P
        S = HP @ H.T
        S.flat[:: len(S) + 1] += R
        gain = np.linalg.solve(S, HP).T[: len(state)]
        rest = -gain @ H
        rest.flat[:: len(P) + 1] += 1.0
        P = rest @ P @ rest.T + (gain * R) @ gain.T
        return state + gain @ self.innovation, 0.5 * (P + P.T), S.diagonal().copy()
