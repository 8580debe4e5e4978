"""BaseWrenchZero: the bias that an arm at rest shows, for the service zero_wrench."""

from __future__ import annotations

from collections import deque

import numpy as np

from flexarm_core.errors import InputError
from flexarm_core.types import Array, BaseWrenchEstimate

REST = 1e-2  # [rad/s | m/s] velocity below which a joint counts as at rest
KEPT = 200  # samples at rest of which the mean is taken


class BaseWrenchZero:
    """Keeps what the model does not explain while the arm rests and nothing touches it."""

    def __init__(self) -> None:
        """Begin without any sample."""
        self.reset()

    def reset(self) -> None:
        """Forget earlier samples."""
        self._residuals: deque[Array] = deque(maxlen=KEPT)
        self._why_not = "no joint state has come yet"

    def take(self, estimate: BaseWrenchEstimate, velocity: Array) -> None:
        """Take an estimate and the joints' velocities (n,) at its stamp [rad/s | m/s]."""
        speed = float(np.abs(velocity).max())
        if not estimate.valid:
            self._why_not = f"there is no valid reading: {', '.join(estimate.left_out)}"
        elif speed > REST:
            self._why_not = f"the arm moves at {speed:.3f} rad/s or m/s; it must be at rest, below {REST}"
        elif estimate.contact:
            self._why_not = "something touches the arm, or the bias is too large to tell it from a contact: calibrate"
        else:
            self._why_not = ""
            self._residuals.append(estimate.residual_wrench)
            return
        self._residuals.clear()

    def residual(self) -> Array:
        """Mean unexplained wrench (6,) since the arm rests, robot on base, sensor frame [N, N*m].

        Raises:
            InputError: the arm does not rest, something touches it, or there is no reading.
        """
        if self._why_not:
            raise InputError(self._why_not)
        mean: Array = np.mean(self._residuals, axis=0)
        return mean
