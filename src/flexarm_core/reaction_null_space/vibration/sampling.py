"""Sampling: sampling period, delays and drives between the controller equations and the arm."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.reaction_null_space.vibration.led_joints import LONGEST_GAP

DRIVES = ("effort", "velocity", "position")


@dataclass(frozen=True, slots=True)
class Sampling:
    """Period and delays of a closed loop.

    Delays count from the sensor to the motor, whatever their cause: filters, transport, or a command that takes effect
    one period later. They are rounded up to whole periods.

    Attributes:
        period: sampling period; commands are held constant for one period [s].
        delay: delay of the joint positions and velocities [s].
        base_delay: delay of the base deflection and its rate [s]; None: equal to ``delay``.
        rate_from_differences: whether the base rate is computed as the difference of two deflection samples.
        drive: type of command that the motors accept: ``effort``, ``velocity`` or ``position``.
        drive_bandwidth: bandwidth w of velocity drives with the response ``w / (s + w)``, and of position drives with
            the response ``w^2 / (s + w)^2`` [rad/s].
    """

    period: float
    delay: float = 0.0
    base_delay: float | None = None
    rate_from_differences: bool = False
    drive: str = "effort"
    drive_bandwidth: float = 200.0

    def __post_init__(self) -> None:
        """Raise ConfigError for invalid values."""
        if not 0.0 < self.period <= LONGEST_GAP:
            raise ConfigError(f"period must lie in (0, {LONGEST_GAP}] s, got {self.period}")
        for name, value in (("delay", self.delay), ("base_delay", self.base_delay)):
            if value is not None and not (np.isfinite(value) and value >= 0.0):
                raise ConfigError(f"{name} must be a number >= 0, got {value}")
        if self.drive not in DRIVES:
            raise ConfigError(f"drive '{self.drive}' is unknown; valid: {', '.join(DRIVES)}")
        if not (np.isfinite(self.drive_bandwidth) and self.drive_bandwidth > 0.0):
            raise ConfigError(f"drive_bandwidth must be positive, got {self.drive_bandwidth}")

    @property
    def joint_samples(self) -> int:
        """Return the joint delay in whole periods."""
        return self._samples(self.delay)

    @property
    def base_samples(self) -> int:
        """Return the base delay in whole periods."""
        return self._samples(self.delay if self.base_delay is None else self.base_delay)

    def _samples(self, delay: float) -> int:
        return math.ceil(delay / self.period - 1e-6)

    def __str__(self) -> str:
        """Return a text for users: ``a delay of 4 ms at 250 Hz``."""
        text = f"a delay of {1e3 * self.delay:.3g} ms"
        if self.base_delay is not None and self.base_delay != self.delay:
            text += f" (base {1e3 * self.base_delay:.3g} ms)"
        return f"{text} at {1.0 / self.period:.4g} Hz"
