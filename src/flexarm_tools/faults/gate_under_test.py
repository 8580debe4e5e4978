"""GateUnderTest: the core gate, driven as in its node or in a control loop, in the campaign's time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexarm_core.errors import InputError
from flexarm_core.hardware_gate.state_machine import NOT_LED, STOPPED, GateState
from flexarm_core.pipeline.gate_stage import GateStage
from flexarm_core.pipeline.pipeline import Pipeline
from flexarm_core.pipeline.stage import Stage
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
TICK = 0.01  # [s] period of the watchdog checks
Answer = Callable[[ArmState], JointReference | None]


@dataclass(frozen=True, slots=True)
class Seen:
    """Status reported by the gate."""

    state: str  # `waiting`, `running`, `stopping` or `tripped`
    reason: str  # reason for a stop
    stops: int  # number of stops begun so far
    blind: bool = False  # whether it has no plausible measurement
    fallback: bool = False  # whether it requests that the drives are switched to the fallback controller
    error: bool = False  # whether it reports an error
    trips: int = 0  # number of trips so far


class SourceStage(Stage):
    """Source of references as a stage of a control loop."""

    name = "source"

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def reset(self) -> None:
        """Do nothing: the stage has no state."""

    def update(self, tick: Tick) -> None:
        """Give a reference for the state of the tick; a lost reference is not given."""
        sample = tick.sample
        none = np.zeros(0)
        deflection = none if sample.deflection is None else sample.deflection
        rate = none if sample.deflection_rate is None else sample.deflection_rate
        reference = self._answer(ArmState(sample.stamp, sample.position, sample.velocity, deflection, rate))
        if reference is not None:
            tick.give_joints(self.name, reference)


def gate_values(mode: str, rate: float) -> dict[str, Any]:
    """Return the default parameters of a gate, with this command mode and rate."""
    defaults = {row.name: row.default for row in HardwareGateNode.PARAMETERS}
    return defaults | {"command_mode": mode, "rate": float(rate)}


class GateUnderTest:
    """The core gate with the interface that the campaign needs; ``on_...`` methods return a command (n,) or None."""

    def __init__(self, model: ArmModel, mode: str, rate: float, layout: str, answer: Answer) -> None:
        """Create the gate with default parameters.

        Args:
            model: model of the arm as known to the gate.
            mode: command mode.
            rate: rate of joint states [Hz].
            layout: separate node, or last stage of a control loop.
            answer: source of references for a control loop.
        """
        self._now = 0.0
        values = gate_values(mode, rate) | {"fallback_controller": "drives"}
        self.gate = hardware_gate(values, model, clock=lambda: self._now)
        self.loop = layout == LOOP
        self._pipeline = Pipeline([SourceStage(answer)], GateStage(self.gate)) if self.loop else None

    @property
    def seen(self) -> Seen:
        """Status reported by the gate."""
        status = self.gate.status
        error = status.state in STOPPED and status.reason not in ("", NOT_LED)
        return Seen(
            NAMES[status.state], status.reason, status.stops, status.blind, status.fallback, error, status.trips
        )  # fmt: skip

    def wait(self, duration: float) -> None:
        """Let time pass during a tick: a stage before the gate takes this long [s]."""
        self._now += duration

    def on_state(self, state: State, now: float, clock: float) -> Array | None:
        """Handle a joint state, at these times of the monotonic clock and of the ROS clock [s]."""
        self._now = max(self._now, now)
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
        """Handle a reference that arrives at a gate node."""
        self._now = max(self._now, now)
        try:
            return self.gate.on_reference(reference)
        except InputError as error:
            return self.gate.on_unusable_reference(str(error))

    def was_late(self, late: float, now: float) -> None:
        """Let time pass in which the process of the gate got no processor, until now, for this long [s]."""
        self._now = max(self._now, now)
        self.gate.was_late(late)

    def on_tick(self, now: float, clock: float) -> Array | None:
        """Check the watchdogs; called every TICK."""
        self._now = max(self._now, now)
        return self.gate.on_tick()

    def end(self, reason: str, now: float) -> Array | None:
        """End control: the gate brakes the arm first."""
        self._now = max(self._now, now)
        self.gate.end(reason)
        return None

    @property
    def ended(self) -> bool:
        """Whether the arm is at rest after an end request, so that no more commands are given."""
        return self.gate.at_rest

    def reset(self, now: float) -> None:
        """Request a reset as with ``~/reset``; the gate may reject it."""
        self._now = max(self._now, now)
        with suppress(InputError):
            self.gate.acknowledge()
