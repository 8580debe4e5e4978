"""ContactDetection: detects contact of the arm with its environment from the residual wrench."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from flexarm_core.compiled import kernel
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


@kernel
def detect_contact(
    dt: float, force: float, torque: float, bandwidth: float, residual: Array, low: Array, touching: Array
) -> bool:
    """Process a residual wrench (6,), ``dt`` [s] after the previous one; return whether there is a contact.

    Low-pass and thresholds with hysteresis: for the thresholds see :class:`ContactDetectionConfig`.

    Args:
        dt: time since the previous wrench [s].
        force: force threshold [N].
        torque: torque threshold [N*m].
        bandwidth: bandwidth of the low-pass [rad/s].
        residual: (6,) residual wrench [N, N*m].
        low: (6,) low-passed residual wrench; zero at the beginning, changed in place.
        touching: (1,) 1 during a contact; changed in place.
    """
    share = 1.0 - math.exp(-bandwidth * dt)
    for i in range(6):
        low[i] += share * (residual[i] - low[i])
    level = RELEASE if touching[0] > 0.0 else 1.0
    pushed = 0.0 < level * force < math.sqrt(low[0] ** 2 + low[1] ** 2 + low[2] ** 2)
    pushed = pushed or 0.0 < level * torque < math.sqrt(low[3] ** 2 + low[4] ** 2 + low[5] ** 2)
    touching[0] = 1.0 if pushed else 0.0
    return pushed


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
