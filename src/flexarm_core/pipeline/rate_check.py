"""RateCheck: whether measured rates fit the measured positions of the same source."""

from __future__ import annotations

from collections import deque

import numpy as np

from flexarm_core.types import Array

WINDOW, SAMPLES = 0.5, 16  # [s] and number of samples that are judged, at least
MOST = 1024  # number of samples that are judged, however short they take
LEAST = 1e-3  # [rad | m] standard deviation of positions that move enough to be judged
SMOOTH = 0.5  # largest von Neumann ratio of positions that move; that of white noise is 2, of a slow motion 0
EXPLAINED = 0.5  # share of the variance that the rates must explain


class RateCheck:
    """Compares positions with the integral of their rates.

    The positions ``x_k`` of a window move if their standard deviation is at least LEAST and they are not mere noise:
    ``sum (x_k+1 - x_k)^2 <= SMOOTH sum (x_k - mean)^2`` (von Neumann, 1941). With the integral ``y_k`` of the rates by
    trapezoids, ``var(x - y) <= (1 - EXPLAINED) var(x)`` must hold for each that moves. Zeros, the other sign and most
    other frames do not; rates that are late by ``tau`` do up to ``omega tau = 0.7``.

    Attributes:
        unexplained: largest ``var(x - y) / var(x)`` of the last window; 0: nothing moved.
    """

    def __init__(self) -> None:
        """Start without samples."""
        self._samples: deque[tuple[int, Array, Array]] = deque(maxlen=MOST)
        self.unexplained = 0.0

    @property
    def holds(self) -> bool:
        """Whether the rates explained the motion of the last window."""
        return self.unexplained <= 1.0 - EXPLAINED

    def reset(self) -> None:
        """Discard the samples and the result."""
        self._samples.clear()
        self.unexplained = 0.0

    def add(self, stamp: int, position: Array, rate: Array) -> None:
        """Take positions (m,) [rad | m] and rates (m,) [rad/s | m/s] of a stamp [ns]; a gap begins a new window."""
        samples = self._samples
        if samples and not 0 < stamp - samples[-1][0] <= WINDOW * 1e9:
            self.reset()
        samples.append((stamp, position, rate))
        if len(samples) < SAMPLES or ((stamp - samples[0][0]) * 1e-9 < WINDOW and len(samples) < MOST):
            return
        at = np.array([one[0] - stamp for one in samples]) * 1e-9
        x, rates = np.array([one[1] for one in samples]), np.array([one[2] for one in samples])
        steps = 0.5 * (rates[1:] + rates[:-1]) * np.diff(at)[:, None]
        y = np.concatenate((np.zeros((1, x.shape[1])), np.cumsum(steps, axis=0)))
        variance = x.var(axis=0)
        roughness = (np.diff(x, axis=0) ** 2).sum(axis=0)
        moves = (variance >= LEAST**2) & (roughness <= SMOOTH * len(x) * variance)
        self.unexplained = float(max((x - y).var(axis=0)[moves] / variance[moves], default=0.0))
        for _ in range(len(samples) // 2):
            samples.popleft()
