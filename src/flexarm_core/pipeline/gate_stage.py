"""GateStage: the hardware gate as the last stage of a tick."""

from __future__ import annotations

from dataclasses import replace

from flexarm_core.errors import InputError
from flexarm_core.hardware_gate.gate import HardwareGate
from flexarm_core.pipeline.stage import Stage
from flexarm_core.pipeline.tick import Tick


class GateStage(Stage):
    """Answers every sample: follow the reference, stop if a stage rejected its input, or wait for a reference.

    Attributes:
        gate: hardware gate.
        source: source of the base deflection, one of ``BASE_STATES``.
    """

    name = "hardware_gate"

    def __init__(self, gate: HardwareGate, source: str = "joint_states") -> None:
        """Bind the stage to a gate and to a source of the base deflection, one of ``BASE_STATES``."""
        self.gate, self.source = gate, source

    @property
    def elastic(self) -> int:
        """Number of elastic joints of the base."""
        return self.gate.model.m

    def reset(self) -> None:
        """Wait for the first reference."""
        self.gate.reset()

    def lag(self, delay: float, base: float = 0.0) -> None:
        """Let the gate count a delay [s] of the measured velocities."""
        self.gate.lag(delay)

    def update(self, tick: Tick) -> None:
        """Pass the state, then the reference, to the gate; unusable input does not raise."""
        gate = self.gate
        try:
            state, turned = tick.arm_state(self.source), tick.sample.turned
            if turned is not None:  # the gate counts turns itself, and commands in those that the encoders report
                state = replace(state, position=state.position + turned)
            gate.on_effort(state, tick.sample.effort)
            answer = gate.on_state(state, tick.age)
        except InputError as error:
            tick.refused[self.name] = str(error)
            tick.command = gate.on_unusable_state(tick.stamp, str(error))
            return
        if self.source == "none" and self.elastic:
            bent = tick.flexible if tick.flexible is not None else tick.sample
            if bent.deflection is not None and bent.deflection_rate is not None:
                gate.on_base(bent.deflection, bent.deflection_rate)
        command = None
        try:
            if tick.joints is not None:
                command = gate.on_reference(tick.joints)
            elif tick.refused:
                command = gate.on_unusable_reference("; ".join(f"{name}: {why}" for name, why in tick.refused.items()))
        except InputError as error:
            tick.refused[self.name] = str(error)
            command = gate.on_unusable_reference(str(error))
        tick.command = answer if answer is not None else command
