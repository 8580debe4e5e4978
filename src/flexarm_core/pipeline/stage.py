"""Stage: interface of a pipeline stage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from flexarm_core.pipeline.tick import Tick


class Stage(Protocol):
    """One processing step of a tick.

    A stage may also have ``observe(tick)``: what it does with a sample that has no references yet, before ``update``. A
    node of the stage runs it at once, and ``update`` when the references have come, if ever, with another tick of the
    same sample; a pipeline runs both (:func:`advance`).

    A stage may also have ``after()``: what it prepares for the next tick once the results of this one are sent. Results
    must not depend on whether it was called.

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


def advance(stage: Stage, tick: Tick) -> None:
    """Let a stage observe a tick, if it does that, and update it.

    Raises:
        InputError: an input is not usable.
    """
    observe = getattr(stage, "observe", None)
    if observe is not None:
        observe(tick)
    stage.update(tick)


def finish(stages: Sequence[Stage]) -> dict[str, str]:
    """Let the stages prepare the next tick, when the command is out; return the errors by the names of the stages."""
    errors: dict[str, str] = {}
    for stage in stages:
        after = getattr(stage, "after", None)
        if after is not None:
            try:
                after()
            except Exception as error:  # a defect of one stage must not keep the others from it
                errors[stage.name] = f"internal error: {type(error).__name__}: {error}"
    return errors
