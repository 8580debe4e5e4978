"""Correction of a Kalman filter by channels, over the state and the disturbances of the tick.

With ``s = [y; yd; d]``, whose covariance ``P`` says how the disturbances ``d`` moved the state, a reading is ``H s``
plus noise of its own. So a sensor that feels ``d`` corrects the state for what it has just been pushed by::

    S = H P H^T + R      G = P H^T S^-1      s += G nu      P = (1 - G H) P (1 - G H)^T + G R G^T
"""

from __future__ import annotations

import numpy as np

from flexarm_core.flexible_dynamics.measurements import Channel
from flexarm_core.types import Array


def correct(state: Array, P: Array, channels: list[Channel]) -> tuple[Array, Array, Array, Array]:
    """Corrected state and its covariance, innovation (c,) and its variance (c,).

    Args:
        state: (2N,) predicted.
        P: (2N, 2N), or (2N + d, 2N + d) with the disturbances of the tick, which are forgotten.
        channels: what corrects, at least one.
    """
    H = np.vstack([_whole_jacobian(channel, len(P)) for channel in channels])
    innovation = np.concatenate([channel.innovation for channel in channels])
    R = np.concatenate([channel.variance for channel in channels])
    S = H @ P @ H.T + np.diag(R)
    gain = np.linalg.solve(S, H @ P).T[: len(state)]
    rest = np.eye(len(state), len(P)) - gain @ H
    P = rest @ P @ rest.T + (gain * R) @ gain.T
    return state + gain @ innovation, 0.5 * (P + P.T), innovation, np.diag(S).copy()


def deviations(channel: Channel, P: Array) -> float:
    """Largest innovation of a channel, in standard deviations."""
    H = _whole_jacobian(channel, len(P))
    variance = np.einsum("ij,jk,ik->i", H, P, H) + channel.variance
    return float(np.max(np.abs(channel.innovation) / np.sqrt(variance)))


def _whole_jacobian(channel: Channel, size: int) -> Array:
    """(c, size) of a channel over ``[y; yd]`` and, where the covariance has them, the disturbances."""
    H = np.zeros((len(channel.jacobian), size))
    known = channel.jacobian.shape[1]
    H[:, :known] = channel.jacobian
    if channel.feedthrough is not None:
        H[:, known:] = channel.feedthrough
    return H
