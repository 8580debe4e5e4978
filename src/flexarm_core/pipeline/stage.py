"""Stage: what a pipeline asks of one."""

from __future__ import annotations

from typing import Protocol

from flexarm_core.pipeline.tick import Tick


class Stage(Protocol):
    """One step of a tick, made of a concern's core object.

    Attributes:
        name: of the node that does the same in a process of its own.
    """

    name: str

    def reset(self) -> None:
        """Forget earlier ticks."""

    def update(self, tick: Tick) -> None:
        """Take what the tick holds and add to it.

        Raises:
            InputError: what the tick holds is not usable: nothing is added.
        """
