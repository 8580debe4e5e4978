"""HardwareGateConfig: settings of the gate."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.hardware_gate.supervisor import SupervisorConfig

COMMAND_MODES = ("effort", "velocity", "position")
STATE_AGE, SWINGING_AGE = 0.02, 0.01  # [s] that effort mode bears over a rigid and over an elastic base
UNSEEN_CHANGE = 0.25  # share of its velocity limit by which a joint may change its velocity between two states


@dataclass(frozen=True, slots=True)
class HardwareGateConfig:
    """Settings of the gate; all times but those of stamps are of its own monotonic clock.

    Attributes:
        command_mode: ``effort``, ``velocity`` or ``position``.
        period: nominal time between two commands [s].
        reference_timeout: age of the newest reference at which a stop begins [s].
        state_timeout: age of the newest usable state at which a stop without measurements begins [s].
        state_age: age on arrival of several states, or by which commands act late, at which effort mode stops [s];
            0: STATE_AGE, over an elastic base SWINGING_AGE.
        blind_time: time without a usable state for which a prediction by the model is believed, effort mode [s].
        recovery_samples: consecutive good references that end a stop.
        hold_frequency: bandwidth of the servo that brakes and holds during a stop in effort mode [rad/s].
        base_measured: whether joint states tell how an elastic base moves.
        lockstep: whether each state is answered by exactly one command, from the reference with the same stamp. Only
            stamps count then: for a simulation that waits for every answer.
        supervisor: what trips the gate.
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
        """Raise ConfigError for values that have no meaning."""
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
        """Time between two states in which an effort may stay in force [s].

        It is the time in which a joint changes its velocity by UNSEEN_CHANGE of its limit, and at least 1.5 periods.
        """
        bearable = UNSEEN_CHANGE * float((limits.velocity / limits.acceleration).min())
        return min(max(bearable, 1.5 * self.period), self.state_timeout)

    def bearable_age(self, *, elastic_base: bool) -> float:
        """Age that effort mode bears [s]: what answers a base that swings comes too late the sooner."""
        return self.state_age or (SWINGING_AGE if elastic_base else STATE_AGE)

    def horizon(self) -> float:
        """Time that a command may stay in force, for which it is judged [s]: one command may be lost on its way."""
        return self.period if self.lockstep else 2.0 * self.period
