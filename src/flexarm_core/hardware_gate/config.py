"""HardwareGateConfig: settings of the hardware gate."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.hardware_gate.supervisor import SupervisorConfig

COMMAND_MODES = ("effort", "velocity", "position")
STATE_AGE, SWINGING_AGE = 0.02, 0.01  # [s] maximum state age in effort mode for a rigid and for an elastic base
UNSEEN_CHANGE = 0.25  # fraction of its velocity limit by which the velocity of a joint may change between two states


@dataclass(frozen=True, slots=True)
class HardwareGateConfig:
    """Settings of the hardware gate; all times except those of stamps are measured by the gate's monotonic clock.

    Attributes:
        command_mode: ``effort``, ``velocity`` or ``position``.
        period: nominal time between two commands [s].
        reference_timeout: age of the newest reference at which a stop begins [s].
        state_timeout: age of the newest usable state at which a stop without measurements begins [s].
        state_age: age of several states on arrival, or delay of the commands, at which effort mode stops [s];
            0: STATE_AGE, or SWINGING_AGE for an elastic base.
        blind_time: longest time without a usable state for which the model prediction is used, effort mode [s].
        recovery_samples: consecutive good references that end a stop.
        hold_frequency: bandwidth of the servo that brakes and holds during a stop in effort mode [rad/s].
        base_measured: whether joint states contain the motion of an elastic base.
        lockstep: whether each state is answered by exactly one command, from the reference with the same stamp. Only
            stamps count then: for a simulation that waits for every answer.
        supervisor: thresholds that trip the gate.
    """

    command_mode: str = "effort"
    period: float = 0.001
    reference_timeout: float = 0.08
    state_timeout: float = 0.08
    state_age: float = 0.0
    blind_time: float = 0.3
    recovery_samples: int = 5
    hold_frequency: float = 20.0
    base_measured: bool = True
    lockstep: bool = False
    supervisor: SupervisorConfig = field(default_factory=SupervisorConfig)

    def __post_init__(self) -> None:
        """Raise ConfigError for invalid values."""
        if self.command_mode not in COMMAND_MODES:
            raise ConfigError(f"command_mode '{self.command_mode}' is unknown; valid: {', '.join(COMMAND_MODES)}")
        if not (np.isfinite(self.state_age) and self.state_age >= 0.0):
            raise ConfigError(f"state_age must be >= 0, got {self.state_age}")
        for name in ("period", "reference_timeout", "state_timeout", "blind_time", "hold_frequency"):
            if not (np.isfinite(getattr(self, name)) and getattr(self, name) > 0.0):
                raise ConfigError(f"{name} must be > 0, got {getattr(self, name)}")
        if self.recovery_samples < 1:
            raise ConfigError(f"recovery_samples must be >= 1, got {self.recovery_samples}")

    def patience(self, limits: JointLimits) -> float:
        """Return the longest time between two states during which an effort may stay in force [s].

        In this time a joint changes its velocity by UNSEEN_CHANGE of its limit; it is at least 1.5 periods and at most
        ``state_timeout``.
        """
        bearable = UNSEEN_CHANGE * float((limits.velocity / limits.acceleration).min())
        return min(max(bearable, 1.5 * self.period), self.state_timeout)

    def bearable_age(self, *, elastic_base: bool) -> float:
        """Return the maximum state age in effort mode [s]; it is smaller for an elastic base, which oscillates."""
        return self.state_age or (SWINGING_AGE if elastic_base else STATE_AGE)

    def horizon(self) -> float:
        """Return the time a command may stay in force [s]: one period in lockstep, else two (one may be lost)."""
        return self.period if self.lockstep else 2.0 * self.period
