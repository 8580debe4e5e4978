"""ContactDetection: detects contact of the arm with its environment from the residual wrench."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from flexarm_core.entrance import finite
from flexarm_core.settings import Settings, setting
from flexarm_core.types import Array

RELEASE = 0.5  # fraction of the threshold below which a contact ends


@dataclass(frozen=True, slots=True)
class ContactDetectionConfig(Settings):
    """Thresholds on the low-passed residual wrench."""

    # fmt: off
    force: float = setting(10.0,
        "residual force, not explained by the model, from which a contact is detected; 0: forces are ignored", "N", 0.0)
    torque: float = setting(5.0,
        "residual torque about the origin of the sensor from which a contact is detected; 0: torques are ignored",
        "N*m", 0.0)
    bandwidth: float = setting(60.0,
        "bandwidth of the low-pass filter of the residual wrench for contact detection", "rad/s", 1e-6)
    # fmt: on


class ContactDetection:
    """Low-pass and thresholds with hysteresis.

    Attributes:
        wrench: (6,) low-passed residual wrench [N, N*m].
        touching: whether there is a contact.
    """

    def __init__(self, config: ContactDetectionConfig) -> None:
        """Start without contact."""
        self.config = config
        self.reset()

    def reset(self) -> None:
        """Discard earlier samples."""
        self.wrench = np.zeros(6)
        self.touching = False

    def update(self, residual: Array, dt: float) -> bool:
        """Process a residual wrench (6,) [N, N*m], ``dt`` [s] after the previous one.

        Returns:
            Whether there is a contact.
        """
        config = self.config
        level = RELEASE if self.touching else 1.0
        self.wrench = self.wrench + (1.0 - math.exp(-config.bandwidth * dt)) * (residual - self.wrench)
        fx, fy, fz, nx, ny, nz = self.wrench.tolist()
        pushed = 0.0 < level * config.force < math.hypot(fx, fy, fz)
        self.touching = pushed or 0.0 < level * config.torque < math.hypot(nx, ny, nz)
        return self.touching


def nearest_point(wrench: Array) -> Array:
    """Return the point (3,) nearest to the origin on the line of action of the force of a wrench (6,) [m].

    ``p = f x n / |f|^2``; NaN if the force is zero.
    """
    wrench = finite("wrench", wrench, 6)
    force, torque = wrench[:3], wrench[3:]
    square = float(force @ force)
    if square == 0.0:
        return np.full(3, np.nan)
    return np.cross(force, torque) / square
