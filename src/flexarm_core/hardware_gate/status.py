"""GateStatus: what the gate says of itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class GateState(Enum):
    """What the gate is doing."""

    WAITING = "waiting for the first reference"
    RUNNING = "running"
    STOPPING = "controlled stop"
    TRIPPED = "tripped"


STOPPED = (GateState.STOPPING, GateState.TRIPPED)


@dataclass(frozen=True, slots=True)
class GateStatus:
    """What the gate reports.

    Attributes:
        state: of the state machine.
        reason: why it stops or tripped, or empty.
        limited: names of joints whose command had to change, with the limit that did it.
        stops: controlled stops begun since the reset.
        trips: how often the supervisor tripped since the reset.
        blind: whether there is no believable measurement now.
        fallback: whether the drives should be given to another controller: the gate cannot brake the arm.
    """

    state: GateState
    reason: str
    limited: tuple[str, ...]
    stops: int
    trips: int
    blind: bool
    fallback: bool
