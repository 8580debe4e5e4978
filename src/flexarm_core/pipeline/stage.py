"""Stage: base class of a pipeline stage."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from flexarm_core.pipeline.tick import Tick


class Stage(ABC):
    """One processing step of a tick.

    Attributes:
        name: name of the node that does the same in a separate process.
        source: source of the base deflection, one of ``BASE_STATES``; empty: the stage does not use it.
        base_delay: age of the rates of the base that the stage gives, beyond that of their sample [s].
    """

    name: str
    source: str = ""
    base_delay: float = 0.0

    @property
    def needs(self) -> frozenset[str]:
        """Inputs of the tick that a sample has to wait for, with the present settings: tool, joints, flexible."""
        return frozenset()

    @property
    def refusal(self) -> str:
        """Why references are not followed at present; empty: they are."""
        return ""

    @property
    def observes(self) -> bool:
        """Whether the stage has an ``observe`` of its own."""
        return type(self).observe is not Stage.observe

    @abstractmethod
    def reset(self) -> None:
        """Forget earlier ticks."""

    def lag(self, delay: float, base: float = 0.0) -> None:  # noqa: B027
        """Count delays where gains are checked for a delay; gains that are not stable are refused at the next sample.

        Args:
            delay: of the measured velocities [s].
            base: of the rates of the base in a flexible state [s].
        """

    def observe(self, tick: Tick) -> None:  # noqa: B027
        """Process the part of a sample that needs no references, before ``update``.

        A node of the stage calls it at once, and ``update`` when the references have come, with another tick of the
        same sample; a pipeline calls both (:func:`advance`).

        Raises:
            InputError: the sample is not usable.
        """

    @abstractmethod
    def update(self, tick: Tick) -> None:
        """Read the inputs from the tick and add the results to it.

        Raises:
            InputError: an input is not usable; nothing is added.
        """

    def after(self) -> None:  # noqa: B027
        """Prepare the next tick, once the results of this one are sent; results do not depend on it."""


def advance(stage: Stage, tick: Tick) -> None:
    """Let a stage observe a tick, and update it.

    Raises:
        InputError: an input is not usable.
    """
    stage.observe(tick)
    stage.update(tick)


def finish(stages: Sequence[Stage]) -> dict[str, str]:
    """Let the stages prepare the next tick, when the command is out; return the errors by the names of the stages."""
    errors: dict[str, str] = {}
    for stage in stages:
        try:
            stage.after()
        except Exception as error:  # a defect of one stage must not keep the others from it
            errors[stage.name] = f"internal error: {type(error).__name__}: {error}"
    return errors
