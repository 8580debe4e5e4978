"""Outcome of a case, and the bars that it missed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

SPEED_BAR, BLIND_BAR = 1.1, 1.5  # times the joint's speed limit or earlier speed
STOP_BAR = 0.1  # [s] of the monotonic clock, from the fault to the start of the stop
BLIND_TIME = 0.3  # [s] blind time after which the fallback must be requested
SILENCE = 0.1  # [s] longest time without a command
AHEAD = 0.4  # [s] at the speed limit: largest lead of a position command over the arm
REST = 0.05  # fraction of the speed limit up to which a joint is at rest


@dataclass(slots=True)
class Outcome:
    """Outcome of one case.

    Attributes:
        seed: seed that reproduces the case.
        kind: kind of the fault; for a pair both, joined with a plus.
        where: ``core`` or ``node``.
        arm, mode, layout, rate: setting of the case.
        description: description of the fault.
        blind: whether the bar for blind cases applies: effort mode without plausible or timely measurements.
        speed_ratio: largest joint speed relative to its limit, or to the speed when a command could first react to the
            fault, if that was higher.
        ahead: largest lead of a position command over the arm, as a time at the speed limit [s].
        bad_commands: number of commands that are not finite or exceed the effort limits.
        silences: number of periods longer than SILENCE without a command, unless control has ended or the drives brake.
        stop_delay: time from the fault to the stop [s]; None if there was no stop.
        must_stop: whether a stop was required.
        unexplained: number of stops without a fault that explains them.
        reason: reason of the stop.
        named: whether the reason names the cause; None if there was no stop to name.
        at_rest: whether the arm is at rest where required; None if not required.
        fallback_delay: time from the fault to the request for the fallback [s]; None if there was no request.
        needs_fallback: whether a request for the fallback is required.
        recovery: ``runs on``, ``resumes``, ``latched, resumes after reset``, ``latched``, ``ended``, ``stopped``; for
            invalid limits ``refused`` or ``accepted``.
        refused: whether a configuration with invalid limits was rejected.
        notes: further remarks, such as stops before the fault.
        late_machine: whether the machine itself was late, so that the case is not valid.
    """

    seed: int
    kind: str
    where: str
    arm: str
    mode: str
    layout: str
    rate: int
    description: str
    blind: bool = False
    speed_ratio: float = 0.0
    ahead: float = 0.0
    bad_commands: int = 0
    silences: int = 0
    stop_delay: float | None = None
    must_stop: bool = False
    unexplained: int = 0
    reason: str = ""
    named: bool | None = None
    at_rest: bool | None = None
    fallback_delay: float | None = None
    needs_fallback: bool = False
    recovery: str = ""
    refused: bool = False
    late_machine: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def speed_bar(self) -> float:
        """Bar that applies to the speed ratio."""
        return BLIND_BAR if self.blind else SPEED_BAR

    @property
    def runs_away(self) -> bool:
        """Whether the arm was too fast, did not come to rest, or its position command was too far ahead."""
        return not self.speed_ratio <= self.speed_bar or self.at_rest is False or self.ahead > AHEAD

    @property
    def late_stop(self) -> bool:
        """Whether a required stop was late or missing."""
        return self.must_stop and not (self.stop_delay is not None and self.stop_delay <= STOP_BAR)

    @property
    def late_fallback(self) -> bool:
        """Whether a required request for the fallback was late or missing."""
        most = BLIND_TIME + STOP_BAR
        return self.needs_fallback and not (self.fallback_delay is not None and self.fallback_delay <= most)

    @property
    def missed(self) -> tuple[str, ...]:
        """Bars that the case missed."""
        found = (
            ("too fast", not self.speed_ratio <= self.speed_bar),
            ("too far ahead", self.ahead > AHEAD),
            ("not at rest", self.at_rest is False),
            ("bad commands", self.bad_commands > 0),
            ("silent", self.silences > 0),
            ("late stop", self.late_stop),
            ("late fallback", self.late_fallback),
            ("unexplained stop", self.unexplained > 0),
        )
        return tuple(name for name, is_missed in found if is_missed)

    def line(self) -> str:
        """Return one line for the list of missed cases."""
        delay = "none" if self.stop_delay is None else f"{self.stop_delay:.3f} s"
        after = ", ".join([self.recovery, *self.notes])
        return (
            f"seed {self.seed}: {self.where} {self.arm} {self.mode} {self.layout} {self.rate} Hz; {self.description};"
            f" speed ratio {self.speed_ratio:.3g}, stop after {delay} ({self.reason or 'no reason'}), {after};"
            f" MISSED: {', '.join(self.missed) or 'nothing'}"
        )


def names_cause(patterns: list[str], reason: str) -> bool:
    """Return whether a reason matches the pattern of one of the faults."""
    return any(re.search(pattern, reason, re.IGNORECASE) for pattern in patterns if pattern)
