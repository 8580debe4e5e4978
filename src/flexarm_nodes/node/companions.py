"""Companions: what has to come beside a joint state, of the same stamp, before it can be answered."""

from __future__ import annotations

from collections.abc import Callable

LOST_AFTER = 10  # joint states in a row without a companion after which none waits for it


class Companions:
    """Which messages of a stamp have come: the order of messages on different topics is not guaranteed.

    A companion that has not come for a while is not waited for, until it comes again with the stamp of a joint state.
    """

    def __init__(self, names: Callable[[], tuple[str, ...]]) -> None:
        """Ask ``names`` at every joint state which companions are expected."""
        self._names = names
        self.reset()

    def reset(self) -> None:
        """Forget what came."""
        self._newest: dict[str, int] = {}
        self._missed: dict[str, int] = {}
        self._answered = -1

    def came(self, name: str, stamp: int) -> None:
        """A companion of a stamp [ns] has come, fit for use or not."""
        self._newest[name] = max(stamp, self._newest.get(name, -1))
        if stamp == self._answered:
            self._missed[name] = 0  # late, but of the right stamps: it can be waited for again

    def complete(self, stamp: int) -> bool:
        """Whether nothing is to be waited for at a joint state of this stamp [ns]."""
        return all(
            self._newest.get(name, -1) >= stamp or self._missed.get(name, 0) >= LOST_AFTER for name in self._names()
        )

    def answer(self, stamp: int) -> None:
        """The joint state of this stamp [ns] is answered now."""
        self._answered = stamp
        for name in self._names():
            self._missed[name] = 0 if self._newest.get(name, -1) >= stamp else self._missed.get(name, 0) + 1
