"""HardwareGateConfig: settings of the hardware gate."""

from __future__ import annotations

from dataclasses import dataclass, field

from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.hardware_gate.supervisor import SupervisorConfig
from flexarm_core.settings import Settings, setting

COMMAND_MODES = ("effort", "velocity", "position")
STATE_AGE, SWINGING_AGE = 0.02, 0.01  # [s] maximum state age in effort mode for a rigid and for an elastic base
UNSEEN_CHANGE = 0.25  # fraction of its velocity limit by which the velocity of a joint may change between two states


@dataclass(frozen=True, slots=True)
class HardwareGateConfig(Settings):
    """Settings of the hardware gate; all times except those of stamps are measured by the gate's monotonic clock.

    Attributes:
        supervisor: thresholds that trip the gate.
    """

    # fmt: off
    command_mode: str = setting("effort", "type of the commands", choices=COMMAND_MODES)
    period: float = setting(0.001, "nominal time between two commands", "s", 1e-9)
    reference_timeout: float = setting(0.08,
        "age of the newest joint reference at which a controlled stop begins", "s", 1e-4)
    state_timeout: float = setting(0.08, "age of the newest joint state at which a stop begins", "s", 1e-4)
    max_state_age: float = setting(0.0,
        "age of joint states, or delay of commands, at which effort mode stops; 0: 0.02 s, or 0.01 s on an elastic"
        " base", "s", 0.0)
    blind_time: float = setting(0.3,
        "longest time without usable joint states that effort mode bridges by braking on its model before the gate"
        " trips", "s", 1e-3)
    recovery_samples: int = setting(5, "number of consecutive valid references that end a stop", "", 1)
    hold_frequency: float = setting(20.0,
        "bandwidth of the servo that brakes and holds the arm during a stop in effort mode", "rad/s", 0.1)
    fallback: bool = setting(False, "whether a fallback controller gets the drives when the gate asks for it")
    base_measured: bool = setting(True, "whether joint states contain the motion of an elastic base")
    lockstep: bool = setting(False,
        "send exactly one command per joint state and measure time by stamps only, for a lockstep simulation")
    supervisor: SupervisorConfig = field(default_factory=SupervisorConfig)
    # fmt: on

    def patience(self, limits: JointLimits) -> float:
        """Return the longest time between two states during which an effort may stay in force [s].

        In this time a joint changes its velocity by UNSEEN_CHANGE of its limit; it is at least 1.5 periods and at most
        ``state_timeout``.
        """
        bearable = UNSEEN_CHANGE * float((limits.velocity / limits.acceleration).min())
        return min(max(bearable, 1.5 * self.period), self.state_timeout)

    def bearable_age(self, *, elastic_base: bool) -> float:
        """Return the maximum state age in effort mode [s]; it is smaller for an elastic base, which oscillates."""
        return self.max_state_age or (SWINGING_AGE if elastic_base else STATE_AGE)

    def horizon(self) -> float:
        """Return the time a command may stay in force [s]: one period in lockstep, else two (one may be lost)."""
        return self.period if self.lockstep else 2.0 * self.period
