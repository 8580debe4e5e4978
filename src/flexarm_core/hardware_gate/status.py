"""GateStatus: the status that the gate reports."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class GateState(Enum):
    """State of the gate's state machine."""

    WAITING = "waiting for the first reference"
    RUNNING = "running"
    STOPPING = "controlled stop"
    TRIPPED = "tripped"


NOT_LED = "no joint reference has come yet"  # reason of a stop that only holds the arm until the first one
STOPPED = (GateState.STOPPING, GateState.TRIPPED)


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
