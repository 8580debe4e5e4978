"""Companions: messages that must arrive with the same stamp as a joint state before that joint state is processed."""

from __future__ import annotations

from collections.abc import Callable

STRAY = 1_000_000_000  # [ns] a stamp that is further ahead of a later message was wrong, or the clock was set back
LOST_AFTER = 10  # consecutive joint states without a companion after which it is no longer waited for


class Companions:
    """Tracks which messages of a stamp have arrived, since the order of messages on different topics is not guaranteed.

    A companion that was missing at LOST_AFTER consecutive joint states is no longer waited for, until it arrives again
    with the stamp of a joint state. If companions have arrived with slightly other stamps than joint states, as from a
    simulator or from a sensor with its own clock, they count as arrived within ``tolerance`` from then on.

    Attributes:
        tolerance: largest difference of stamps between a joint state and its companions [ns].
    """

    def __init__(self, names: Callable[[], tuple[str, ...]]) -> None:
        """Store ``names``, which is called at every joint state and returns the names of the expected companions."""
        self._names = names
        self.reset()

    def reset(self) -> None:
        """Forget all messages that arrived."""
        self._newest: dict[str, int] = {}
        self._missed: dict[str, int] = {}
        self._answered = -1
        self._beside: set[str] = set()  # companions with stamps of their own
        self.tolerance = 0

    def came(self, name: str, stamp: int) -> None:
        """Record that a companion of a stamp [ns] has arrived, whether it is usable or not."""
        newest = self._newest.get(name, -1)
        self._newest[name] = stamp if newest - stamp > STRAY else max(stamp, newest)
        if abs(stamp - self._answered) <= self.tolerance:
            self._missed[name] = 0  # late, but with a matching stamp: joint states can wait for it again

    def wait_once(self, name: str) -> None:
        """Wait for a companion at one joint state only, unless it arrives with that: it may never arrive."""
        self._missed[name] = LOST_AFTER - 1

    def forget(self, name: str) -> None:
        """Forget that a companion has arrived: its stamp was wrong."""
        self._newest.pop(name, None)

    def complete(self, stamp: int) -> bool:
        """Return whether a joint state of this stamp [ns] has to wait for no companion."""
        return not self.missing(stamp)

    def missing(self, stamp: int) -> list[str]:
        """Return the names of the companions that a joint state of this stamp [ns] has to wait for."""
        return [
            name
            for name in self._names()
            if self._newest.get(name, -1) < stamp - (self.tolerance if name in self._beside else 0)
            and self._missed.get(name, 0) < LOST_AFTER
        ]

    def answer(self, stamp: int) -> None:
        """Record that the joint state of this stamp [ns] is processed now."""
        self._answered = stamp
        for name in self._names():
            newest = self._newest.get(name, -1)
            if stamp - self.tolerance <= newest < stamp:
                self._beside.add(name)
            self._missed[name] = 0 if newest >= stamp - self.tolerance else self._missed.get(name, 0) + 1
