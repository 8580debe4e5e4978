"""The order of one tick, written once: reference -> vibration controller -> gate.

The nodes run the same updates in the same order in separate processes; a test holds both equal.
"""

from __future__ import annotations

from dataclasses import dataclass

from flexarm_core.errors import InputError
from flexarm_core.hardware_gate.gate import HardwareGate
from flexarm_core.path.line import LinePath
from flexarm_core.reaction_null_space.vibration_controller import VibrationController
from flexarm_core.types import ArmState, Array, BaseReaction, CartesianReference


@dataclass(frozen=True, slots=True)
class Tick:
    """What one tick gave.

    Attributes:
        command: (n,) for the hardware, or None where the gate gave none.
        reference: tool reference, or None without a path.
        reaction: base reaction, or None where the controller refused its input.
    """

    command: Array | None
    reference: CartesianReference | None
    reaction: BaseReaction | None


class Pipeline:
    """All stages of one arm in one process, in lockstep with its states."""

    def __init__(self, path: LinePath | None, controller: VibrationController, gate: HardwareGate) -> None:
        """Chain the stages; without a path the controller's task must be ``none``."""
        self.path, self.controller, self.gate = path, controller, gate
        self.reset()

    def reset(self) -> None:
        """Reset every stage."""
        if self.path is not None:
            self.path.reset()
        self.controller.reset()
        self.gate.reset()

    def tick(self, state: ArmState) -> Tick:
        """One measured state -> one command."""
        try:
            answer = self.gate.on_state(state)
        except InputError as error:
            return Tick(self.gate.on_unusable_state(state.stamp, str(error)), None, None)
        reference, reaction = None, None
        try:
            if self.path is not None:
                if not self.path.begun:
                    tool = self.controller.model.tool_kinematics(state, self.path.config.frame)
                    self.path.begin(state.stamp, tool.position, tool.rotation)
                reference = self.path.update(state.stamp)
            joints, reaction = self.controller.update(state, reference)
            command = self.gate.on_reference(joints)
        except InputError as error:
            command = self.gate.on_unusable_reference(str(error))
        return Tick(answer if answer is not None else command, reference, reaction)
