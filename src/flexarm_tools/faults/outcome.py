"""What came of a case, and which bars it missed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

SPEED_BAR, BLIND_BAR = 1.1, 1.5  # times the limit of the joint, or of what its speed was
STOP_BAR = 0.1  # [s] of a monotonic clock, from the fault to the begin of the stop
BLIND_TIME = 0.3  # [s] blind, after which the fallback must be asked for
SILENCE = 0.1  # [s] without a command that is too long
AHEAD = 0.4  # [s] at the speed limit that a position command may be ahead of the arm: what it does when released
REST = 0.05  # share of the speed limit at which a joint is at rest


@dataclass(slots=True)
class Outcome:
    """One case.

    Attributes:
        seed: that draws it anew.
        kind: of the fault; of a pair both, with a plus.
        where: ``core`` or ``node``.
        arm, mode, layout, rate: of the case.
        said: of the fault.
        blind: whether it is judged as one without measurements: effort mode, no believable measurement.
        speed_ratio: greatest joint speed over its limit, or over what it was, if faster, when a command could first
            answer the fault.
        ahead: farthest that a position command was ahead of the arm, as a time at the speed limit [s].
        bad_commands: commands that are no finite numbers within the effort limits.
        silences: periods of more than SILENCE without a command, a stop's end or a fallback.
        stop_delay: from the fault to the stop [s]; None where none began.
        must_stop: whether one had to begin.
        unexplained: stops without a fault that explains them.
        reason: of the stop.
        named: whether the reason names the cause; None where there was no stop to name.
        at_rest: whether the arm is at rest where it should be; None where it need not be.
        fallback_delay: from the fault to the wish for the fallback [s]; None where none was.
        needs_fallback: whether it must be wished for.
        recovery: ``runs on``, ``resumes``, ``latched, resumes after reset``, ``latched``, ``ended``, ``stopped``.
        refused: of a configuration, that it was refused.
        notes: what else there is to say, as stops before the fault.
        late_machine: whether the machine itself was late, so that the case says nothing.
    """

    seed: int
    kind: str
    where: str
    arm: str
    mode: str
    layout: str
    rate: int
    said: str
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
        """Its bar of the speed ratio."""
        return BLIND_BAR if self.blind else SPEED_BAR

    @property
    def runs_away(self) -> bool:
        """Whether the arm was faster than it may, or does not come to rest."""
        return not self.speed_ratio <= self.speed_bar or self.at_rest is False or self.ahead > AHEAD

    @property
    def late_stop(self) -> bool:
        """Whether a stop that had to begin came late, or not at all."""
        return self.must_stop and not (self.stop_delay is not None and self.stop_delay <= STOP_BAR)

    @property
    def late_fallback(self) -> bool:
        """Whether the fallback that was needed came late, or not at all."""
        most = BLIND_TIME + STOP_BAR
        return self.needs_fallback and not (self.fallback_delay is not None and self.fallback_delay <= most)

    @property
    def missed(self) -> tuple[str, ...]:
        """The bars that it misses."""
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
        """One line, for a list of what went wrong."""
        delay = "none" if self.stop_delay is None else f"{self.stop_delay:.3f} s"
        after = ", ".join([self.recovery, *self.notes])
        return (
            f"seed {self.seed}: {self.where} {self.arm} {self.mode} {self.layout} {self.rate} Hz; {self.said};"
            f" speed ratio {self.speed_ratio:.3g}, stop after {delay} ({self.reason or 'no reason'}), {after};"
            f" MISSED: {', '.join(self.missed) or 'nothing'}"
        )


def names_cause(patterns: list[str], reason: str) -> bool:
    """Whether a reason contains what one of the faults must be called."""
    return any(re.search(pattern, reason, re.IGNORECASE) for pattern in patterns if pattern)
