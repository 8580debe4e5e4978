"""Outcome of a case, and the bars that it missed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

SPEED_BAR, BLIND_BAR = 1.1, 1.5  # times the joint's speed limit or earlier speed
STOP_BAR = 0.1  # [s] of the monotonic clock, from the fault to the start of the stop
BLIND_TIME = 0.3  # [s] blind time after which the fallback must be requested
SILENCE = 0.1  # [s] longest time without a command
AHEAD = 0.4  # [s] at the speed limit: largest lead of a position command over the arm
SAG = 0.15  # [s] at the speed limit: farthest that a joint may leave a posture that its law holds
REST = 0.05  # fraction of the speed limit up to which a joint is at rest
POSITION_BAR = 0.02  # [s] at the speed limit: farthest beyond a position limit, apart from what no braking could avoid
# Times the acceleration limit. In effort mode a joint beyond its speed limit is braked by up to 2.5 times that, masses
# and friction are others than told; in position mode the servo of the drive catches up with its command.
ACCELERATION_BAR = {"effort": 2.5, "velocity": 1.2, "position": 2.5}


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
        position_excess: how far a joint was beyond a position limit, without the part that no braking could avoid, as a
            time at the speed limit [s].
        acceleration_ratio: largest mean acceleration of a joint over 20 ms relative to its limit, while the gate has
            timely measurements and its commands reach the drives.
        base_ratio: largest deflection of the base relative to the limit of its elastic joint.
        base_ignored: whether the gate did not trip within STOP_BAR although the base was beyond that limit.
        sag: how far a joint left the posture that its law holds, as a time at the speed limit [s].
        bad_commands: number of commands that are not finite or exceed the effort limits.
        bad_start: whether the first command is far from what holds the arm.
        unlatched: number of trips that ended without a reset.
        mislabeled: number of stops and trips that are no errors on ``/diagnostics``, or errors where nothing is wrong.
        resumed_early: whether the gate resumed although a fault that must stop it lasted, or the arm was not slow yet.
        not_resumed: whether the gate does not run although it should: at the start, or after a fault that has passed.
        silences: number of periods longer than SILENCE without a command, unless control has ended or the drives brake.
        stop_delay: time from the fault to the stop [s]; None if there was no stop.
        must_stop: whether a stop was required.
        unexplained: number of stops without a fault that explains them.
        reason: reason of the stop.
        named: whether the reason names the cause; None if there was no stop that a fault explains.
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
    position_excess: float = 0.0
    acceleration_ratio: float = 0.0
    base_ratio: float = 0.0
    base_ignored: bool = False
    sag: float = 0.0
    bad_commands: int = 0
    bad_start: bool = False
    unlatched: int = 0
    mislabeled: int = 0
    resumed_early: bool = False
    not_resumed: bool = False
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
        """Whether the arm was too fast, did not come to rest or stay there, or its command was too far ahead."""
        return bool({"too fast", "too far ahead", "not at rest", "did not stay at rest"} & set(self.missed))

    @property
    def leaves_limits(self) -> bool:
        """Whether a joint was driven beyond a position limit."""
        return not self.position_excess <= POSITION_BAR

    @property
    def too_hard(self) -> bool:
        """Whether a joint accelerated by more than is promised."""
        return not self.acceleration_ratio <= ACCELERATION_BAR[self.mode]

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
            ("beyond a position limit", self.leaves_limits),
            ("too much acceleration", self.too_hard),
            ("did not stay at rest", not self.sag <= SAG),
            ("base beyond its limit", self.base_ignored),
            ("bad commands", self.bad_commands > 0),
            ("bad start", self.bad_start),
            ("trip not latched", self.unlatched > 0),
            ("wrong level", self.mislabeled > 0),
            ("resumed early", self.resumed_early),
            ("not resumed", self.not_resumed),
            ("cause not named", self.named is False),
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
            f" speed ratio {self.speed_ratio:.3g}, acceleration ratio {self.acceleration_ratio:.3g},"
            f" stop after {delay} ({self.reason or 'no reason'}), {after};"
            f" MISSED: {', '.join(self.missed) or 'nothing'}"
        )


def names_cause(patterns: list[str], reason: str) -> bool:
    """Return whether a reason matches the pattern of one of the faults."""
    return any(re.search(pattern, reason, re.IGNORECASE) for pattern in patterns if pattern)
