"""Sampling: sampling period, delays and drives between the controller equations and the arm."""

from __future__ import annotations

import math
from dataclasses import dataclass

from flexarm_core.errors import ConfigError
from flexarm_core.reaction_null_space.vibration.led_joints import LONGEST_GAP
from flexarm_core.settings import Settings, setting

DRIVES = ("effort", "velocity", "position")


@dataclass(frozen=True, slots=True)
class Sampling(Settings):
    """Period and delays of a closed loop.

    Delays count from the sensor to the motor, whatever their cause: filters, transport, or a command that takes effect
    one period later. They are rounded up to whole periods. Velocity drives of bandwidth w have the response
    ``w / (s + w)``, position drives ``w^2 / (s + w)^2``.

    Attributes:
        period: sampling period; commands are held constant for one period [s].
        base_delay: delay of the base deflection and its rate [s]; None: equal to ``delay``.
        rate_from_differences: whether the base rate is computed as the difference of two deflection samples.
    """

    # fmt: off
    period: float
    delay: float = setting(0.0, "delay from the sensors to the motors for which gains are checked", "s", 0.0, 1.0)
    base_delay: float | None = None
    rate_from_differences: bool = False
    drive: str = setting("effort",
        "type of command that the drives take, for which gains are checked: effort, velocity or position",
        choices=DRIVES)
    drive_bandwidth: float = setting(200.0,
        "bandwidth of velocity and position drives for which gains are checked", "rad/s", 1e-3)
    # fmt: on

    def check(self) -> None:
        """Raise ConfigError for a period or a delay of the base that cannot be."""
        if not 0.0 < self.period <= LONGEST_GAP:
            raise ConfigError(f"period must lie in (0, {LONGEST_GAP}] s, got {self.period}")
        if self.base_delay is not None and not 0.0 <= self.base_delay < math.inf:
            raise ConfigError(f"base_delay must be a number >= 0, got {self.base_delay}")

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
