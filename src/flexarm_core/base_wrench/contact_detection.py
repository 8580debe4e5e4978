"""ContactDetection: detects contact of the arm with its environment from the residual wrench."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, NamedTuple

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


class ContactSettings(NamedTuple):
    """See :class:`ContactDetectionConfig`."""

    force: float
    torque: float
    bandwidth: float


class ContactState(NamedTuple):
    """What lasts from wrench to wrench; zero at the beginning."""

    low: Annotated[Array, 6]  # low-passed residual wrench
    touching: Annotated[Array, 1]  # whether there is a contact


@kernel
def detect_contact(settings: ContactSettings, state: ContactState, residual: Array, dt: float) -> bool:
    """Process a residual wrench (6,), ``dt`` [s] after the previous one; return whether there is a contact.

    Low-pass and thresholds with hysteresis.
    """
    low, touching = state
    share = 1.0 - math.exp(-settings.bandwidth * dt)
    for i in range(6):
        low[i] += share * (residual[i] - low[i])
    level = RELEASE if touching[0] > 0.0 else 1.0
    pushed = 0.0 < level * settings.force < math.sqrt(low[0] ** 2 + low[1] ** 2 + low[2] ** 2)
    pushed = pushed or 0.0 < level * settings.torque < math.sqrt(low[3] ** 2 + low[4] ** 2 + low[5] ** 2)
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
