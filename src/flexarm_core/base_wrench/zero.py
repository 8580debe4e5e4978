"""BaseWrenchZero: the mean wrench that the model does not explain, while the arm rests."""

from __future__ import annotations

from collections import deque

import numpy as np

from flexarm_core.errors import InputError
from flexarm_core.types import Array, BaseWrenchEstimate

REST = 1e-2  # [rad/s | m/s] velocity below which a joint counts as at rest
KEPT = 200  # number of samples at rest that are averaged


class BaseWrenchZero:
    """Averages the residual wrench, which the model does not explain, while the arm is at rest without contact."""

    def __init__(self) -> None:
        """Start without samples."""
        self.reset()

    def reset(self) -> None:
        """Discard earlier samples."""
        self._residuals: deque[Array] = deque(maxlen=KEPT)
        self._newest: tuple[BaseWrenchEstimate, float] | None = None

    def take(self, estimate: BaseWrenchEstimate, speed: float) -> None:
        """Take an estimate and the largest joint velocity at its stamp [rad/s | m/s]."""
        self._newest = estimate, speed
        if estimate.valid and speed <= REST and not estimate.contact:
            self._residuals.append(estimate.residual_wrench)
        else:
            self._residuals.clear()

    def residual(self) -> Array:
        """Return the mean residual wrench (6,) since the arm is at rest, robot on base, sensor frame [N, N*m].

        Raises:
            InputError: the arm is not at rest, there is a contact, or there is no reading.
        """
        if self._newest is None:
            raise InputError("no joint state has come yet")
        estimate, speed = self._newest
        if not estimate.valid:
            raise InputError(f"there is no valid reading: {', '.join(estimate.left_out)}")
        if not speed <= REST:
            raise InputError(f"the arm moves at {speed:.3f} rad/s or m/s; it must be at rest, below {REST}")
        if estimate.contact:
            raise InputError("something touches the arm, or the bias is too large to tell it from a contact: calibrate")
        mean: Array = np.mean(self._residuals, axis=0)
        return mean
