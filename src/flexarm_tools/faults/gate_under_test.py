"""GateUnderTest: the core gate as its node or a control loop drives it, in whatever time the campaign has."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexarm_core.errors import InputError
from flexarm_core.hardware_gate.status import GateState
from flexarm_core.pipeline.gate_stage import GateStage
from flexarm_core.pipeline.pipeline import Pipeline
from flexarm_core.pipeline.tick import Tick
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array, FlexibleSample, JointReference
from flexarm_nodes.hardware_gate.gate import HardwareGateNode
from flexarm_nodes.hardware_gate.parameters import hardware_gate
from flexarm_tools.faults.fault import LOOP, State

NAMES = {
    GateState.WAITING: "waiting",
    GateState.RUNNING: "running",
    GateState.STOPPING: "stopping",
    GateState.TRIPPED: "tripped",
}
TICK = 0.01  # [s] between two looks at the watchdogs
Answer = Callable[[ArmState], JointReference | None]


@dataclass(frozen=True, slots=True)
class Seen:
    """What the gate says of itself.

    Attributes:
        state: ``waiting``, ``running``, ``stopping`` or ``tripped``.
        reason: of a stop.
        stops: begun so far.
        blind: whether it has no believable measurement.
        fallback: whether it wants the drives switched to the fallback controller.
    """

    state: str
    reason: str
    stops: int
    blind: bool = False
    fallback: bool = False


class SourceStage:
    """The source of references as a stage of a control loop."""

    name = "source"

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def reset(self) -> None:
        """Nothing is kept."""

    def update(self, tick: Tick) -> None:
        """Answer the state of the tick; a lost reference is one that is not given."""
        sample = tick.sample
        none = np.zeros(0)
        deflection = none if sample.deflection is None else sample.deflection
        rate = none if sample.deflection_rate is None else sample.deflection_rate
        reference = self._answer(ArmState(sample.stamp, sample.position, sample.velocity, deflection, rate))
        if reference is not None:
            tick.give_joints(self.name, reference)


def gate_values(mode: str, rate: float) -> dict[str, Any]:
    """Parameters of a gate as they are shipped, but for mode and rate."""
    defaults = {row.name: row.default for row in HardwareGateNode.PARAMETERS}
    return defaults | {"command_mode": mode, "rate": float(rate)}


class GateUnderTest:
    """The core gate behind the interface that the campaign needs; every method returns a command (n,) or None."""

    def __init__(self, model: ArmModel, mode: str, rate: float, layout: str, answer: Answer) -> None:
        """Make it with the parameters that are shipped.

        Args:
            model: what the gate is told of the arm.
            mode: of its commands.
            rate: of states [Hz].
            layout: as a node, or last stage of a control loop.
            answer: the source of references, for a control loop.
        """
        self._now = 0.0
        self.gate = hardware_gate(gate_values(mode, rate), model)
        self.gate._clock = lambda: self._now
        self.gate.reset()
        self.loop = layout == LOOP
        self._pipeline = Pipeline([SourceStage(answer)], GateStage(self.gate)) if self.loop else None

    @property
    def seen(self) -> Seen:
        """What the gate says of itself."""
        status = self.gate.status
        return Seen(NAMES[status.state], status.reason, status.stops, status.blind, status.fallback)

    def on_state(self, state: State, now: float, clock: float) -> Array | None:
        """A joint state arrives, at a time of the monotonic clock and of the ROS clock [s]."""
        self._now = now
        try:
            if not isinstance(state, ArmState):
                raise InputError("joint state lacks joint_1")
            age = clock - state.stamp * 1e-9
            if self._pipeline is None:
                return self.gate.on_state(state, age)
            sample = FlexibleSample(
                state.stamp, state.position, state.velocity, np.full(self.gate.model.n, np.nan),
                state.deflection, state.deflection_rate,
            )  # fmt: skip
            return self._pipeline.tick(sample, age).command
        except InputError as error:
            return self.gate.on_unusable_state(state.stamp, str(error))

    def on_reference(self, reference: JointReference, now: float) -> Array | None:
        """A reference arrives, where the gate is a node."""
        self._now = now
        try:
            return self.gate.on_reference(reference)
        except InputError as error:
            return self.gate.on_unusable_reference(str(error))

    def on_tick(self, now: float, clock: float) -> Array | None:
        """Called every TICK."""
        self._now = now
        return self.gate.on_tick()

    def end(self, reason: str, now: float) -> Array | None:
        """Control is to end: the arm is braked first."""
        self._now = now
        self.gate.end(reason)
        return None

    @property
    def ended(self) -> bool:
        """Whether the arm is at rest after an end, so that nothing more is commanded."""
        return self.gate.at_rest

    def reset(self, now: float) -> None:
        """``~/reset``, which may be refused."""
        self._now = now
        with suppress(InputError):
            self.gate.acknowledge()
