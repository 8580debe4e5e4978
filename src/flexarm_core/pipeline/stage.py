"""Stage: interface of a pipeline stage."""

from __future__ import annotations

from typing import Protocol

from flexarm_core.pipeline.tick import Tick


class Stage(Protocol):
    """One processing step of a tick.

    Attributes:
        name: name of the node that does the same in a separate process.
    """

    name: str

    @property
    def needs(self) -> frozenset[str]:
        """Inputs of the tick that a sample has to wait for, with the present settings: tool, joints, flexible."""

    def reset(self) -> None:
        """Forget earlier ticks."""

    def update(self, tick: Tick) -> None:
        """Read the inputs from the tick and add the results to it.

        Raises:
            InputError: an input is not usable; nothing is added.
        """
