"""Pipeline: any stages of one arm in one process, in the order in which the nodes would answer each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.pipeline.gate_stage import GateStage
from flexarm_core.pipeline.stage import Stage
from flexarm_core.pipeline.tick import Tick
from flexarm_core.types import Array, CartesianReference, FlexibleSample, FlexibleState, JointReference


class Pipeline:
    """Observers, deciding and acting stages in order, and the gate behind them; in lockstep with its samples.

    A stage that refuses its input gives no reference, and the gate begins a controlled stop at once, where separate
    processes would only fall silent and be stopped by its time-out. Stages behind it still see the sample.
    """

    def __init__(
        self,
        stages: Sequence[Stage],
        gate: GateStage,
        carry: Callable[[CartesianReference], CartesianReference] | None = None,
    ) -> None:
        """Chain the stages.

        Args:
            stages: in order, the gate left out.
            gate: the last step before the hardware.
            carry: what a tool reference goes through between two stages; None: nothing. A message, for one: its unit
                quaternion differs from a rotation matrix in the last digits.

        Raises:
            ConfigError: two stages of one name.
        """
        names = [stage.name for stage in (*stages, gate)]
        if len(set(names)) < len(names):
            raise ConfigError(f"stages need names of their own, got {', '.join(names)}")
        self.stages, self.gate, self._carry = tuple(stages), gate, carry
        self.reset()

    def reset(self) -> None:
        """Reset every stage."""
        self.gate.reset()
        self.reset_stages()

    def reset_stages(self) -> None:
        """Reset every stage but the gate, as a new time base begins."""
        for stage in self.stages:
            stage.reset()
        self._before: JointReference | None = None
        self._flexible: FlexibleState | None = None

    def tick(self, sample: FlexibleSample, age: float | None = None) -> Tick:
        """One sample -> one command, and what every stage made of it.

        Args:
            sample: measured.
            age: of the sample when it came, by the clock that its stamp is of [s]; None: not known.
        """
        tick = Tick(sample, self.gate.elastic, age, self._before)
        for stage in self.stages:
            tool = tick.tool
            try:
                stage.update(tick)
            except InputError as error:
                tick.refused[stage.name] = str(error)
            if self._carry is not None and tick.tool is not None and tick.tool is not tool:
                tick.tool = self._carry(tick.tool)
        self.gate.update(tick)
        if tick.joints is not None:
            self._before = tick.joints
        if tick.flexible is not None:
            self._flexible = tick.flexible
        return tick

    def brake(self, sample: FlexibleSample, age: float | None = None) -> Array | None:
        """Command (n,) of a gate that ends, for a sample that no other stage sees any more."""
        tick = Tick(sample, self.gate.elastic, age, flexible=self._flexible)
        self.gate.update(tick)
        return tick.command

    def refuse(self, stamp: int, reason: str) -> Array | None:
        """A measurement came that is no sample: the command (n,) of a stop without measurements, None before the first.

        Args:
            stamp: of the measurement [ns].
            reason: what is wrong with it.
        """
        return self.gate.gate.on_unusable_state(stamp, reason)
