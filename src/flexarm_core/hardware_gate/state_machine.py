r"""StateMachine: the state of the gate, why it is in it, and the status that it reports.

::

    WAITING --good reference--> RUNNING --no usable input--> STOPPING --good input again, recovery_samples--> RUNNING
       \------no reference within reference_timeout--------->/

    RUNNING, STOPPING --the supervisor trips--> TRIPPED --acknowledge--> STOPPING

A stop that only the lateness of the gate's own process explains is no trip: it ends by itself once the arm has come to
rest and the machine is punctual (:class:`~flexarm_core.hardware_gate.lateness.Lateness`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from flexarm_core.hardware_gate.supervisor import Supervisor
from flexarm_core.hardware_gate.timing import Timing
from flexarm_core.records import quick


class GateState(Enum):
    """State of the gate's state machine."""

    WAITING = "waiting for the first reference"
    RUNNING = "running"
    STOPPING = "controlled stop"
    TRIPPED = "tripped"


MACHINE_LATE = "as the machine is late"  # at the end of reasons that only the machine explains
NOT_LED = "no joint reference has come yet"  # reason of a stop that only holds the arm until the first one
STOPPED = (GateState.STOPPING, GateState.TRIPPED)


@quick
@dataclass(frozen=True, slots=True)
class GateStatus:
    """Status of the gate.

    Attributes:
        state: state of the state machine.
        reason: why the gate stopped or tripped, or empty.
        limited: joints whose command was changed, each with the limit that required it.
        stops: number of controlled stops since the reset.
        trips: number of trips since the reset.
        blind: whether no believable measurement is available now.
        fallback: whether another controller should take over the drives: the gate cannot brake the arm.
    """

    state: GateState
    reason: str
    limited: tuple[str, ...]
    stops: int
    trips: int
    blind: bool
    fallback: bool


class StateMachine:
    """Keeps the state, and what prevents a stop from ending.

    Attributes:
        state, reason, stops, trips, fallback: see :class:`GateStatus`.
        good: number of good references since the stop began.
        interrupted: whether good input does not end the stop.
        contested: why the source of the commands is ambiguous, empty if it is not.
        ending: whether the arm is braked and held until the reset.
    """

    def __init__(self, supervisor: Supervisor, timing: Timing, begin_braking: Callable[[], None]) -> None:
        """Wait for the first reference; ``begin_braking`` is called when the arm must be braked from now on."""
        self._supervisor, self._timing, self._begin_braking = supervisor, timing, begin_braking
        self.reset()

    def reset(self) -> None:
        """Wait for the first reference."""
        self.state, self.reason, self.contested = GateState.WAITING, "", ""
        self.stops = self.trips = self.good = 0
        self._began = self._unseen = 0.0
        self.fallback = self.interrupted = self.ending = False

    @property
    def stopped(self) -> bool:
        """Whether the arm is braked and held."""
        return self.state in STOPPED

    @property
    def seen(self) -> bool:
        """Whether states show what the stop has done: where they are late, commands may be, too."""
        return not 0.0 <= self._timing.now() - self._began < self._unseen

    def run(self) -> None:
        """Follow references."""
        self.state, self.reason, self.good = GateState.RUNNING, "", 0

    def stop(self, reason: str, *, counted: bool = True, timing: bool = False) -> None:
        """Begin a stop; one for a matter of timing does not count to ``max_stops`` on a busy machine."""
        self.good = 0
        if self.stopped:
            if self.state is GateState.STOPPING and self.reason == NOT_LED != reason:
                self.reason = reason
                self.stops += counted
            return
        led = self.state is GateState.RUNNING
        self.state, self.reason = GateState.STOPPING, reason
        self._brake()
        self.stops += counted
        if led and not (self.ending or (timing and self._timing.busy)):
            failed = self._supervisor.on_stop(self._timing.now())
            if failed:
                self.trip(f"{failed}, the last one: {reason}")

    def _brake(self) -> None:
        self._began, self._unseen = self._timing.now(), 2.0 * self._timing.age
        self._begin_braking()

    def trip(self, reason: str, *, fallback: bool = False) -> None:
        """Stop until a user acknowledges it."""
        self.fallback = self.fallback or fallback
        if self.state is GateState.TRIPPED:
            return
        if self.state is not GateState.STOPPING:
            self.stops += 1
            self._brake()
        self.trips += 1
        self.state, self.reason = GateState.TRIPPED, reason

    def give_up(self, reason: str, *, excused: bool, fallback: bool = True) -> None:
        """Trip; if only the machine was late (``excused``), stop until the arm rests and the machine is punctual."""
        self.fallback = self.fallback or fallback
        if not excused:
            self.trip(reason)
        elif self.state is not GateState.TRIPPED and not self._timing.lateness.suspended:
            self.stop(reason, timing=True)
            self.reason = f"{reason}, {MACHINE_LATE}"
            self._timing.lateness.suspend()

    def recover(self) -> None:
        """Let good references end a stop that only lateness explained."""
        self.fallback, self.good = False, 0

    def acknowledge(self) -> None:
        """Let good references end a trip's stop."""
        self.fallback = False
        if self.state is GateState.TRIPPED:
            self.state, self.reason, self.good = GateState.STOPPING, "reset, waiting for good references", 0
            self._brake()
