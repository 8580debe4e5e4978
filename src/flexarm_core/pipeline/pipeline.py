"""Pipeline: stages of one arm in one process, in the order in which separate nodes would answer each other."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from flexarm_core.compilation import no_compilation
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.pipeline.gate_stage import GateStage
from flexarm_core.pipeline.stage import Stage, advance, finish
from flexarm_core.pipeline.tick import Tick
from flexarm_core.types import Array, FlexibleSample, FlexibleState, JointReference


class Pipeline:
    """Runs the stages in order and the gate last, once for each sample (lockstep).

    If a stage rejects its input or fails, it gives no reference and the gate begins a controlled stop at once; in
    separate processes the stage would fall silent and the gate would stop by its timeout. Later stages still get the
    sample.

    Attributes:
        stages: stages in order, without the gate.
        gate: last stage before the hardware.
        refuses_compilation: whether a stage that would have a kernel compiled fails instead: against the clock the gate
            would have no sample for as long as that takes. The gate itself may compile, because nothing can replace it.
    """

    def __init__(self, stages: Sequence[Stage], gate: GateStage) -> None:
        """Chain the stages.

        Args:
            stages: stages in order, without the gate.
            gate: last stage before the hardware.

        Raises:
            ConfigError: two stages have the same name.
        """
        names = [*(stage.name for stage in stages), gate.name]
        if len(set(names)) < len(names):
            raise ConfigError(f"stages need names of their own, got {', '.join(names)}")
        self.stages, self.gate = tuple(stages), gate
        self.refuses_compilation = False
        self._leaders: set[str] = set()  # stages that have given joint references
        self.reset()

    def reset(self) -> None:
        """Reset every stage and the gate."""
        self.gate.reset()
        self.reset_stages()

    def reset_stages(self) -> None:
        """Reset every stage except the gate, for a new time base."""
        for stage in self.stages:
            stage.reset()
        self._before: JointReference | None = None
        self._flexible: FlexibleState | None = None

    def tick(self, sample: FlexibleSample, age: float | None = None, **given: Any) -> Tick:
        """Process one sample; return the tick with the command and the results of every stage.

        :meth:`lead` and :meth:`answer` are its two halves, if no other thread may use the gate during the second.

        Args:
            sample: measurements.
            age: age of the sample on arrival, by the clock that set its stamp [s]; None: unknown.
            given: fields of the tick that are not given by a stage: ``tool``, ``joints``, ``flexible``.
        """
        tick = self.lead(sample, age, **given)
        self.answer(tick)
        return tick

    def lead(self, sample: FlexibleSample, age: float | None = None, **given: Any) -> Tick:
        """Return the tick of a sample with the results of every stage but the gate; arguments as in :meth:`tick`."""
        tick = Tick(sample, self.gate.elastic, age, self._before, **given)
        tick.bring_near(self.gate.gate.model.turns)
        with no_compilation if self.refuses_compilation else nullcontext():
            for stage in self.stages:
                self._advance(stage, tick)
        return tick

    def answer(self, tick: Tick) -> None:
        """Let the gate add its command to a tick."""
        self.gate.update(tick)
        if tick.joints is not None:
            self._before = tick.joints
        if tick.flexible is not None:
            self._flexible = tick.flexible

    def _advance(self, stage: Stage, tick: Tick) -> None:
        try:
            advance(stage, tick)
            if stage.name in tick.given:
                self._leaders.add(stage.name)
        except Exception as error:  # a defect of one stage must not hide the joint state from the gate
            known = isinstance(error, InputError)
            tick.refused[stage.name] = str(error) if known else f"internal error: {type(error).__name__}: {error}"
            if "joints" in stage.needs or stage.name in self._leaders:
                tick.joints = None  # not led past the stage, just as in a process of its own

    def after(self) -> dict[str, str]:
        """Prepare the next tick, when the command of this one is out; return the errors by the names of the stages."""
        return finish(self.stages)

    def brake(self, sample: FlexibleSample, age: float | None = None) -> Array | None:
        """Return the command (n,) of the gate alone, which brakes the arm at the end; other stages are skipped."""
        tick = Tick(sample, self.gate.elastic, age, flexible=self._flexible)
        self.gate.update(tick)
        return tick.command

    def refuse(self, stamp: int, reason: str) -> Array | None:
        """Return the command (n,) of a stop without measurements, for an unusable sample; None before the first state.

        Args:
            stamp: stamp of the measurement [ns].
            reason: why the measurement is unusable.
        """
        return self.gate.gate.on_unusable_state(stamp, reason)
